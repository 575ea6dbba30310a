"""Do intervals hold the truth, and tests their level, where rows have weights? Worlds in which the truth is known."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import calibrant as cal
from studies.frame import Job, Page

SIZES = (100, 1000)
NAMES = ("mean_gap", "brier", "log", "L1", "L2", "KS", "false alarms")
TRUTH_ROWS = 2_000_000


def _uniform(rng: np.random.Generator, n: int) -> Any:
    return rng.random(n)


def _confident(rng: np.random.Generator, n: int) -> Any:
    return rng.beta(8, 0.8, n)


SCORES: dict[str, Callable[..., Any]] = {"uniform": _uniform, "confident": _confident}
RATES: dict[str, Callable[..., Any]] = {
    "calibrated": lambda p: p,
    "overconfident": lambda p: p**1.5,
    "waves": lambda p: np.clip(p + 0.1 * np.sin(9 * p), 0, 1),
}
WEIGHTS: dict[str, Callable[..., Any]] = {
    "lognormal": lambda rng, p: rng.lognormal(0, 1, len(p)),
    "rising with p": lambda rng, p: 0.05 + p**3,  # noqa: ARG005
    "few heavy": lambda rng, p: np.where(rng.random(len(p)) < 0.05, 20.0, 1.0),
    "heavy where p is low": lambda rng, p: np.where(p < np.quantile(p, 0.2), rng.exponential(8, len(p)), 1.0),
}


@cache
def truths(scores: str, rate: str, weights: str) -> dict[str, float]:
    """What the weighted population has, from many rows."""
    rng = np.random.default_rng(12345)
    p = SCORES[scores](rng, TRUTH_ROWS)
    q, w = RATES[rate](p), WEIGHTS[weights](rng, p)
    order = np.argsort(p)
    running = np.cumsum((w * (p - q))[order]) / w.sum()

    def mean(x: Any) -> float:
        return float(np.average(x, weights=w))

    return {
        "mean_gap": mean(p - q),
        "brier": mean(2 * (q * (1 - p) ** 2 + (1 - q) * p**2)),
        "log": mean(-(q * np.log(p) + (1 - q) * np.log1p(-p))),
        "L1": mean(np.abs(p - q)),
        "L2": mean((p - q) ** 2) ** 0.5,
        "KS": float(np.abs(running).max()),
    }


def intervals(y: Any, p: Any, w: Any) -> dict[str, Any]:
    """The intervals that are checked."""
    rows = cal.Predictions(y, p, weights=w)
    return {
        "mean_gap": cal.mean_gap(rows).interval,
        "brier": cal.brier_score(rows).interval,
        "log": cal.log_score(rows).interval,
        "L1": cal.calibration_error_interval(rows),
        "L2": cal.calibration_error_interval(rows, norm=2),
        "KS": cal.cumulative_interval(rows),
    }


def cell(scores: str, rate: str, weights: str, n: int, n_data_sets: int, seed: int) -> dict[str, int]:
    """Number of data sets whose interval holds the truth, and in which a test at 5 % rejects."""
    true, held = truths(scores, rate, weights), dict.fromkeys(NAMES, 0)
    rng = np.random.default_rng(
        [seed, *(list(each).index(key) for each, key in ((SCORES, scores), (RATES, rate), (WEIGHTS, weights))), n]
    )
    for _ in range(n_data_sets):
        p = SCORES[scores](rng, n)
        y = rng.random(n) < RATES[rate](p)
        w = WEIGHTS[weights](rng, p)
        for name, found in intervals(y, p, w).items():
            held[name] += int(found.low <= true[name] <= found.high)
        if rate == "calibrated":
            test = cal.is_calibrated(y, p, weights=w, n_draws=199, seed=int(rng.integers(1 << 30)))
            held["false alarms"] += int(test.rejects())
    return held


def page(found: list[Any], n_data_sets: int, seed: int) -> str:
    """The tables, in Markdown."""
    text = f"""# Do intervals and tests hold where rows have weights?

Written by `calibrant study weights`: {n_data_sets} data sets per cell, seed {seed}. Percent of data sets whose 95 %
interval holds the truth of the weighted population, and in which `is_calibrated` rejects a calibrated model at 5 %. A percentage of k
data sets has a standard error of about 22/√k.
"""
    text += _table("By weights and rows, over all worlds", found, ("weights", "n"), n_data_sets)
    return text + _table("By world, over all weights", found, ("scores", "rate", "n"), n_data_sets)


def _table(title: str, found: list[Any], by: tuple[str, ...], n_data_sets: int) -> str:
    places = [("scores", "rate", "weights", "n").index(name) for name in by]
    groups: dict[tuple[str, ...], list[Any]] = {}
    for key, held in found:
        groups.setdefault(tuple(key[place] for place in places), []).append((key[1], held))
    text = (
        f"\n## {title}\n\n| {' | '.join((*by, *NAMES))} | data sets |\n" + "|---" * (len(by) + len(NAMES) + 1) + "|\n"
    )
    for key, cells in groups.items():
        shown = []
        for name in NAMES:
            asked = [held for rate, held in cells if name != "false alarms" or rate == "calibrated"]
            percent = 100 * sum(held[name] for held in asked) / (len(asked) * n_data_sets) if asked else None
            shown.append("" if percent is None else f"{percent:.1f}")
        text += f"| {' | '.join((*key, *shown))} | {len(cells) * n_data_sets} |\n"
    return text


def run(job: Job) -> Page:
    keys = list(product(SCORES, RATES, WEIGHTS, SIZES))
    n_data_sets = 2 if job.quick else 100
    cases = {"|".join(map(str, key)): (*key, n_data_sets, job.seed) for key in (keys[:1] if job.quick else keys)}
    found = [(name.split("|"), held) for name, held in job.parts(cell, cases, cores=os.cpu_count() or 1).items()]
    return Page.of(page(found, n_data_sets, job.seed))
