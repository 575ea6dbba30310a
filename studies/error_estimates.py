"""Which estimate of the calibration error is closest to the truth, also where a model is wrong in one place only?

Writes studies/results/error_estimates.md: for each world and size the RMSE of `posterior_error` and of the binned
estimators, and its ratio to the best of them. Prior weights of the families of curves were chosen on the worlds "choosing"
and on the draws 500 to 609 of `studies/p3_synthetic.py`, with seeds 11, 12 and 101, and how norm 2 joins binned estimates on
"choosing" with seed 211; the page reports other worlds and another seed.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np

import calibrant as cal
from calibrant.estimate.posterior import root_mean_square
from calibrant.infer.error import least_error
from calibrant.infer.possible_curves import possible_curves
from calibrant.simulate import ShapeWorld, calibrated_world, named_world
from studies.error_worlds import WORLDS, ErrorWorld, between_lines, hill, uniform
from studies.frame import Page

SIZES = {300: 100, 1000: 200, 8000: 40, 20_000: 30}
"""Rows, and data sets of so many rows: most where the estimators are closest to each other, as the best of noisy figures is
too good."""
SMOOTH = {
    "choosing": {
        **{f"{shape} {error}": ShapeWorld(shape, error) for shape, error in (("square", 0.05), ("stairs", 0.05))},
        "beta1 0.02": ShapeWorld("beta1", 0.02),
        "resnet110_c10": named_world("resnet110_c10"),
        "hill": ErrorWorld(uniform, partial(hill, middle=0.3, width=0.2, by=0.2)),
        "hill, pointed": ErrorWorld(uniform, partial(between_lines, middle=0.65, width=0.2, by=-0.2)),
    },
    "reporting": {
        **{f"{shape} {error}": ShapeWorld(shape, error) for shape, error in (("sqrt", 0.05), ("stairs", 0.03))},
        "beta2 0.04": ShapeWorld("beta2", 0.04),
        "resnet110_c100": named_world("resnet110_c100"),
        "hill": ErrorWorld(uniform, partial(hill, middle=0.42, width=0.26, by=-0.18)),
        "calibrated, uniform": calibrated_world((1.0, 1.0)),
    },
}
"""Worlds whose curve is smooth, beside those whose error lies in one place."""

BINNED = {
    "debiased": lambda rows, norm: cal.binned_error(rows, norm=norm, debiased=True).value,
    "sweep": lambda rows, norm: cal.sweep_error(rows, norm=norm).value,
    "ECE, equal width": lambda rows, norm: cal.binned_error(rows, norm=norm, bins=cal.EqualWidth(15)).value,
    "ECE, equal mass": lambda rows, norm: cal.binned_error(rows, norm=norm).value,
}
SIMPLE = ("debiased", "sweep", "ECE, equal width")
"""In no world may the RMSE be twice that of the best of these, from 1000 rows on."""

LEAST = 1e-4
"""A smaller RMSE counts as this one: on calibrated data the posterior is often exactly 0."""


def posterior(rows, norm):
    """The value of `posterior_error`, without its interval."""
    event = rows.event("binary")
    value = root_mean_square(rows) if norm == 2 else float(np.median(possible_curves(event).errors(1)))
    return max(value, least_error(event, norm))


ESTIMATORS = {"posterior": posterior, **BINNED}


def cell(world, n, n_data_sets, rng):
    """RMSE and bias of each estimator, for norms 1 and 2: `(norms, estimators)` each."""
    probs, outcomes = world.draw(n, n_data_sets, rng)[:2]
    away = np.empty((2, len(ESTIMATORS), n_data_sets))
    for k, (p, y) in enumerate(zip(probs, np.asarray(outcomes, np.uint8), strict=True)):
        rows = cal.Predictions(y, p)
        for norm in (1, 2):
            away[norm - 1, :, k] = [estimate(rows, norm) - world.true_error(norm) for estimate in ESTIMATORS.values()]
    return np.sqrt((away**2).mean(axis=2)), away.mean(axis=2)


def page(found, norm):
    """Tables of one norm: the summary, then every world."""
    names, k = list(ESTIMATORS), norm - 1
    simple = [names.index(name) for name in SIMPLE]
    head = [
        "| n | " + " | ".join(names) + " | posterior: worst against debiased, sweep and ECE |",
        "|---" * (len(names) + 2) + "|",
    ]
    rows = [
        "| world | n | truth | " + " | ".join(names) + " | bias of posterior | ÷ best |",
        "|---" * (len(names) + 5) + "|",
    ]
    for n in sorted({n for _, n in found}):
        cells = {world: each for (world, size), each in found.items() if size == n}
        ratios = np.array([np.maximum(rmse[k], LEAST) / max(rmse[k].min(), LEAST) for _, (rmse, _) in cells.values()])
        worst = {world: rmse[k][0] / max(rmse[k][simple].min(), LEAST) for world, (_, (rmse, _)) in cells.items()}
        name = max(worst, key=worst.get)
        shown = " | ".join(f"{r:.2f}" for r in ratios.mean(axis=0))
        head.append(f"| {n:,} | {shown} | {worst[name]:.2f} ({name}) |")
        for world, (truth, (rmse, bias)) in cells.items():
            each = " | ".join(f"{1e3 * r:.2f}" for r in rmse[k])
            ratio = max(rmse[k][0], LEAST) / max(rmse[k].min(), LEAST)
            rows.append(f"| {world} | {n:,} | {1e3 * truth[k]:.1f} | {each} | {1e3 * bias[k][0]:+.2f} | {ratio:.2f} |")
    return "\n".join(head), "\n".join(rows)


def measured(which, name, n, n_data_sets, seed):
    """Truth, RMSE and bias of one world and size."""
    worlds = WORLDS[which] | SMOOTH[which]
    truth = [worlds[name].true_error(norm) for norm in (1, 2)]
    return [truth, cell(worlds[name], n, n_data_sets, np.random.default_rng([seed, n, list(worlds).index(name)]))]


def run(job):
    which = "reporting"
    names = list(WORLDS[which] | SMOOTH[which])
    names, sizes = (names[:2], {300: 2}) if job.quick else (names, SIZES)
    cases = {f"{name} {n}": (which, name, n, count, job.seed) for n, count in sizes.items() for name in names}
    parts = job.parts(measured, cases, cores=os.cpu_count())
    found = {case[1:3]: (part[0], np.array(part[1])) for case, part in zip(cases.values(), parts.values(), strict=True)}
    counts = ", ".join(f"{count} of {n:,} rows" for n, count in sizes.items())
    text = f"""# Estimates of the calibration error, also of errors in one place

Written by `calibrant study error_estimates` (seed {job.seed}, the same data sets for all estimators: {counts}
for each world). Worlds of `studies/error_worlds.py` ("{which}") and a few with smooth curves. Settings were chosen on other worlds and
seeds, except that the prior weight of fast waves was raised after a look at these worlds on another seed. RMSE and bias × 10³; *÷ best* is the ratio to the best estimator of that world and size, where an RMSE below 10⁻⁴ counts as
10⁻⁴. The summary holds the mean of these ratios over the worlds.
"""
    for norm in (1, 2):
        head, rows = page(found, norm)
        text += f"\n## Norm {norm}\n\n{head}\n\n{rows}\n"
    return Page.of(text)
