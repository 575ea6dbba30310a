"""Are estimators off by what `trust` predicts? Real biases beside predicted ones, in worlds with errors in one place and waves.

Worlds of `studies/error_worlds.py` ("reporting"); settings were chosen on "choosing", with other seeds.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from calibrant.predictions import Predictions
from calibrant.simulate import named_world
from calibrant.simulate.measuring import named_all
from calibrant.simulate.possible import bias_over
from calibrant.verbs.trust import DOUBTFUL, bias_ranges, end_worlds, fitted_to
from studies.error_worlds import WORLDS
from studies.frame import Page, cpu_seconds

REAL, TRIED, DRAWN, N_CURVES = 200, 4, 80, 20
SIZES = (1000, 4000)
NAMES = (
    *(f"wave, {k} periods" for k in (1, 2, 3, 6)),
    "smooth tail",
    "bump",
    "narrow",
    "step",
    "spikes",
    "slope",
)
ESTIMATORS = named_all({"ECE": cal.ece, "debiased": partial(cal.binned_error, debiased=True)})[0]


def worlds():
    named = {name: WORLDS["reporting"][name] for name in NAMES}
    return named | {"resnet110_c10": named_world("resnet110_c10")}


def row(name, n, seed, tried, real=REAL):
    """Real bias, its prediction, both × 10³, and how often the range of `trust` holds the real one."""
    world, n_real = worlds()[name], real
    rng = np.random.default_rng((seed, n))
    probs, outcomes = world.draw(n, n_real, rng)[:2]
    data = [Predictions.borrowed(y, p) for y, p in zip(outcomes, probs, strict=True)]
    off = np.array([[float(one(each)) for each in data] for one in ESTIMATORS]) - world.true_error()
    real, error = off.mean(axis=1), off.std(axis=1, ddof=1) / n_real**0.5
    predicted, ranges, doubted = [], [], 0
    for k, each in enumerate(data[:tried]):
        fitted, check = fitted_to(each, k, N_CURVES)
        doubted += check.p_value <= DOUBTFUL
        found, by_curve = bias_over(ESTIMATORS, fitted.worlds, n, DRAWN, k, "")
        predicted.append([one.bias for one in found])
        ends = end_worlds(fitted, each, 1)
        ranges.append(bias_ranges(ESTIMATORS, ends, by_curve, n, DRAWN // N_CURVES, k))
    predicted, ranges = np.array(predicted), np.array(ranges)
    held = (ranges[:, 0] <= real) & (real <= ranges[:, 1])
    cells = [f"{1e3 * world.true_error():.1f}"]
    for j in range(len(ESTIMATORS)):
        cells.append(f"{1e3 * real[j]:+.1f} ± {1e3 * error[j]:.1f}")
        cells.append(f"{1e3 * predicted[:, j].mean():+.1f} ± {1e3 * predicted[:, j].std(ddof=1) / tried**0.5:.1f}")
        cells.append(f"{1e3 * ranges[:, 0, j].mean():+.0f} to {1e3 * ranges[:, 1, j].mean():+.0f}")
        cells.append(f"{held[:, j].sum()} of {tried}")
    return (name, f"{n:,}", *cells, f"{doubted} of {tried}"), ((predicted - real) ** 2, held)


def summed(n, judged):
    """Distance of the prediction, and how often the range holds the real bias, over all worlds."""
    squares, held = (np.concatenate(part) for part in zip(*judged, strict=True))
    share = held.mean(axis=0)
    error = np.sqrt(np.maximum(share * (1 - share), 0.25 / len(held)) / len(held))
    cells = zip(1e3 * np.sqrt(squares.mean(axis=0)), share, error, strict=True)
    return (f"{n:,}", *(text for d, s, e in cells for text in (f"{d:.1f}", f"{s:.0%} ± {e:.0%}")))


INTRO = """# How far estimators are off, really and as `trust` predicts

Written by `calibrant study trust` (seed {seed}). Real biases are those of {real} data sets; predictions are the mean over {tried} data sets, ±
one standard error, all × 10³. The range is that of `trust`, over nine of ten of {curves} curves that the data leave possible and with the errors at
both ends of the 95 % interval, on average over the data sets; "held" counts those in which it holds the real bias. "Doubted" counts data sets of
which `trust` says that no curve describes them.
"""
HEADS = ["world", "n", "truth"]
HEADS += [f"{e.name}, {what}" for e in ESTIMATORS for what in ("real", "predicted", "range", "held")] + ["doubted"]


def line(cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def run(job):
    start = cpu_seconds()
    names, sizes, tried, real = (
        (list(worlds())[:1], SIZES[:1], 2, 4) if job.quick else (list(worlds()), SIZES, TRIED, REAL)
    )
    cases = {f"{name} {n}": (name, n, job.seed + k, tried, real) for n in sizes for k, name in enumerate(names)}
    body, judged = [], {n: [] for n in sizes}
    for (cells, found), (_, n, *_) in zip(job.parts(row, cases).values(), cases.values(), strict=True):
        body.append(cells)
        judged[n].append(found)
    summary = [summed(n, each) for n, each in judged.items()]
    heads = ["n", *(f"{e.name}, {what}" for e in ESTIMATORS for what in ("distance", "range holds the real bias"))]
    text = "\n".join(
        [
            INTRO.format(seed=job.seed, real=REAL, tried=tried, curves=N_CURVES),
            "## Distance between predicted and real bias (RMS over worlds and data sets × 10³), and how often the range holds it\n",
            line(heads),
            "|" + "---|" * len(heads),
            *map(line, summary),
            "\n## World by world\n",
            line(HEADS),
            "|" + "---|" * len(HEADS),
            *map(line, body),
            f"\nIt took {cpu_seconds() - start:.0f} s of CPU time.",
        ]
    )
    return Page.of(text)
