"""Does `auto` harm a model that needs no repair? Calibrated worlds of any confidence, base rate and number of classes.

Labels are drawn from the predictions, `auto` is fitted, and its expected log loss on fresh predictions is compared with the
smallest possible, that of the predictions themselves. Nothing is drawn for the labels of fresh rows, so that the excess of one fit is
exact but for the fresh predictions.
"""

from __future__ import annotations

import zlib

import numpy as np

import calibrant as cal
from studies.frame import Page, table

SIZES = (20, 50, 100, 300, 1000)
FITS, FRESH = 60, 4000

ONE_EVENT = {
    "one event, mean 0.5, spread": (0.5, 2.0),
    "one event, mean 0.5, nearly sure": (0.5, 0.1),
    "one event, mean 0.9": (0.9, 2.0),
    "one event, mean 0.99": (0.99, 2.0),
    "one event, mean 0.999": (0.999, 5.0),
    "one event, mean 0.9999": (0.9999, 5.0),
    "one event, rate 0.01": (0.01, 20.0),
    "one event, rate 0.001": (0.001, 2.0),
}
"""Mean and concentration of a beta distribution of predictions."""

SEVERAL = {
    f"{k} classes, spread {scale:g}": (k, scale)
    for k, scale in ((3, 1.0), (3, 8.0), (5, 40.0), (10, 2.0), (10, 10.0), (20, 1.0), (20, 6.0))
}
"""Number of classes and standard deviation of the logits."""

WORLDS = ONE_EVENT | SEVERAL

GROUPED, GROUP = (
    ("one event, mean 0.5, spread", "one event, mean 0.9", "3 classes, spread 1", "10 classes, spread 2"),
    5,
)
"""Worlds that are also tried with rows in groups of so many: all rows of a group have the same predictions and the same outcome."""


def predictions(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Predictions of n rows of a world."""
    if name in ONE_EVENT:
        mean, size = ONE_EVENT[name]
        return rng.beta(mean * size, (1 - mean) * size, n)
    k, scale = SEVERAL[name]
    z = rng.normal(size=(n, k)) * scale
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def expected_loss(truth: np.ndarray, said: np.ndarray) -> float:
    """Mean expected log loss of predictions where the true probabilities are known."""
    if truth.ndim == 1:
        truth, said = (np.stack([1 - each, each], axis=1) for each in (truth, said))
    logs = np.log(said, out=np.zeros_like(said), where=truth > 0)
    return float(-(truth * logs).sum(axis=1).mean())


def excess(name: str, n: int, n_fits: int, seed: int, method: object = "auto", group: int = 1) -> list[list[float]]:
    """For every fit, the excess over the smallest expected loss on fresh rows, and that loss."""
    rng, found = np.random.default_rng([seed, n, zlib.crc32(name.encode())]), []
    for _ in range(n_fits):
        p, fresh = predictions(name, n // group, rng), predictions(name, FRESH, rng)
        columns = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
        labels = (rng.random(len(p))[:, None] > np.cumsum(columns, axis=1)).sum(axis=1).clip(0, columns.shape[1] - 1)
        groups, classes = np.repeat(np.arange(len(p)), group), tuple(range(columns.shape[1]))
        rows = labels[groups], p[groups]
        given = cal.Predictions(*rows, classes=classes, groups=groups if group > 1 else None)
        least = expected_loss(fresh, fresh)
        found.append([expected_loss(fresh, cal.recalibrate(given, method).apply(fresh)) - least, least])
    return found


def run(job):
    sizes, n_fits, worlds = (SIZES, FITS, WORLDS) if not job.quick else ((20,), 2, list(WORLDS)[:2])
    cases = {f"{name}, {n} rows": (name, n, n_fits, job.seed) for name in worlds for n in sizes}
    grouped = [(name, n) for name in GROUPED for n in sizes if name in worlds]
    cases |= {
        f"{name}, {n} rows in groups of {GROUP}": (name, n, n_fits, job.seed, "auto", GROUP) for name, n in grouped
    }
    found = {key: np.array(each) for key, each in job.parts(excess, cases).items()}
    lines, harmed = [], 0
    for key, values in found.items():
        least, mean = values[:, 1].mean(), values[:, 0].mean()
        error, limit = values[:, 0].std(ddof=1) / len(values) ** 0.5, max(0.003, 0.01 * least)
        harmed += mean > limit
        verdict = "above" if mean > limit else "within"
        lines.append(
            (key, f"{least:.4f}", f"{mean:.5f} ± {error:.5f}", f"{limit:.4f}", verdict, f"{values[:, 0].max():.4f}")
        )
    worst = max(each[:, 0].max() for each in found.values())
    text = f"""{__doc__.split(chr(10))[0]} {len(found)} settings, {n_fits} fits each.

The mean excess (± standard error) exceeds the larger of 1 % and 0.003 nats in {harmed} of {len(found)} settings. The largest excess of a
single fit is {worst:.4f} nats."""
    heads = ("world", "smallest loss", "mean excess", "limit", "", "largest")
    return Page("Does auto harm what needs no repair?", text + "\n\n" + table(heads, lines))
