"""The bias of seven estimators on ten realistic worlds, and when they are perfectly calibrated (Roelofs et al. 2022, Figures 4 and 6).

Run: python -m studies.roelofs [--quick]    (writes studies/results/roelofs.md)

Scores follow the paper's fitted Beta distributions, outcomes its fitted calibration curves (Figure 4) or the scores themselves
(Figure 6); ten sizes from 100 to 10,000, a thousand data sets each; errors of norm 2, bins fifteen where a number is needed.
`posterior_error`, which the paper does not have, is measured beside them on fewer data sets.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

import calibrant as cal
from calibrant.simulate import bias, named_world
from calibrant.simulate.families import NAMED_WORLDS

RESULTS = Path(__file__).parent / "results" / "roelofs.md"
SIZES = tuple(int(n) for n in np.round(np.geomspace(100, 10_000, 10)))
REPLICATIONS, OURS = 1000, 60
SEED = 2022
DATA_SETS = {"CIFAR-10": "c10", "CIFAR-100": "c100", "ImageNet": "imgnet"}

WIDTH = cal.EqualWidth(15)
SEVEN = {
    "equal width, binned": partial(cal.binned_error, bins=WIDTH, norm=2),
    "equal mass, binned": partial(cal.binned_error, norm=2),
    "equal width, debiased": partial(cal.binned_error, bins=WIDTH, norm=2, debiased=True),
    "equal mass, debiased": partial(cal.binned_error, norm=2, debiased=True),
    "equal width, sweep": partial(cal.sweep_error, bins=cal.EqualWidth, norm=2),
    "equal mass, sweep": partial(cal.sweep_error, norm=2),
    "kernel density": partial(cal.density_error, norm=2),
}
POSTERIOR = {"posterior median": partial(cal.posterior_error, norm=2)}


def panel(name, calibrated, estimators, sizes, n_data_sets):
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    world = named_world(name, calibrated=calibrated)
    return [(name, row) for row in bias(estimators, world, list(sizes), n_data_sets, SEED, workers=1)]


def panels(calibrated, estimators, sizes, n_data_sets):
    """All ten worlds, shared by the cores."""
    tasks = (delayed(panel)(name, calibrated, estimators, sizes, n_data_sets) for name in NAMED_WORLDS)
    return [row for part in Parallel(n_jobs=os.cpu_count())(tasks) for row in part]


def table(rows, sizes):
    """Mean |bias| over the worlds of each data set, × 10³, with the Monte-Carlo error of the mean."""
    heads = ("estimator", "data set", *(f"{n:,}" for n in sizes))
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for data, ending in DATA_SETS.items():
        for name in dict.fromkeys(r.estimator for _, r in rows):
            cells = []
            for n in sizes:
                each = [r for w, r in rows if r.estimator == name and r.n == n and w.endswith(f"_{ending}")]
                bias, error = (
                    np.mean([r.bias for r in each]),
                    np.sqrt(np.sum([r.mean_error**2 for r in each])) / len(each),
                )
                cells.append(f"{1e3 * bias:+.1f} ± {1e3 * error:.1f}")
            lines.append(f"| {name} | {data} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def sized(rows, name, sizes=None):
    """Mean |bias| of an estimator over worlds and sizes, × 10³."""
    return 1e3 * np.mean([abs(r.bias) for _, r in rows if r.estimator == name and (sizes is None or r.n in sizes)])


def orderings(wrong, right):
    """The paper's statements, as these figures have them."""
    small = [n for n in SIZES if n <= 1000]
    lines = []
    for kind in ("binned", "debiased", "sweep"):
        ew, em = sized(wrong, f"equal width, {kind}"), sized(wrong, f"equal mass, {kind}")
        lines.append(f"- {kind}: mean |bias| {em:.2f} with equal mass, {ew:.2f} with equal width.")
    few = {name: sized(wrong, name, small) for name in SEVEN}
    best = sorted(few, key=few.get)
    lines.append(
        "- Miscalibrated, at most 1,000 rows, mean |bias|: " + ", ".join(f"{n} {few[n]:.2f}" for n in best) + "."
    )
    calm = {name: sized(right, name) for name in (*SEVEN, *POSTERIOR)}
    lines.append(
        "- Calibrated, all sizes: " + ", ".join(f"{n} {calm[n]:.2f}" for n in sorted(calm, key=calm.get)) + "."
    )
    ours = sized(wrong, "posterior median")
    lines.append(
        f"- Miscalibrated, all sizes: posterior median {ours:.2f}, "
        + ", ".join(f"{n} {sized(wrong, n):.2f}" for n in SEVEN)
        + "."
    )
    return "\n".join(lines)


def main(arguments):
    quick = "--quick" in arguments
    sizes, count, ours = (SIZES[:2], 20, 4) if quick else (SIZES, REPLICATIONS, OURS)
    start = time.perf_counter()
    wrong = panels(False, SEVEN, sizes, count)
    took = time.perf_counter() - start
    right = panels(True, SEVEN, sizes, count)
    wrong += panels(False, POSTERIOR, sizes, ours)
    right += panels(True, POSTERIOR, sizes, ours)
    text = f"""# Bias on ten realistic worlds

Written by `python -m studies.roelofs` (seed {SEED}). {count:,} data sets a world and size, {ours} for the posterior median; norm 2. Bias × 10³,
averaged over the worlds of a data set, ± its Monte-Carlo standard error. The first table took {took:.0f} s on {os.cpu_count()} cores (seven estimators).

## What the figures say

{orderings(wrong, right)}

## Miscalibrated (Figure 4)

{table(wrong, sizes)}

## Perfectly calibrated (Figure 6)

{table(right, sizes)}
"""
    print(text)
    if not quick:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
