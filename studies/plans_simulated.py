"""Do simulated plans hold what they promise? Those of the test that `diagnose` runs, and of intervals of the calibration error.

Plans are checked by calls of `is_calibrated`, and of the intervals, on data sets that took no part in them.
"""

from __future__ import annotations

import numpy as np

from calibrant.simulate import EmpiricalWorld, bent_world, calibrated_world, power_world
from calibrant.simulate.curves import CellCurve
from calibrant.verbs.planning.check import p_value_of
from calibrant.verbs.planning.plan import plan
from calibrant.verbs.planning.quantities import RMS, planned_data
from studies.frame import Page, cpu_seconds
from studies.planning import SCORES, table

TESTED = {
    "uniform": (0.05,),
    "Beta(0.46, 0.46)": (0.03,),
    "CIFAR-10, Beta(2.78, 0.05)": (0.08, 0.03),
}
"""True RMS errors that `is_calibrated` is to detect."""
PLACES = np.linspace(0, 1, 4001)
SHAPES = {
    "p^d": None,
    "slope in log-odds": None,
    "wave, 1 period": np.sin(2 * np.pi * PLACES),
    "wave, 6 periods": np.sin(12 * np.pi * PLACES),
    "only above 0.9": -1.0 * (PLACES > 0.9),
    "only in 0.70 to 0.75": -1.0 * ((PLACES > 0.7) & (PLACES < 0.75)),
}
"""Errors of the same RMS, 0.05, over uniform scores."""
CHECKED = 300
"""Data sets on which a simulated plan is checked."""
DRAWS = 999
"""Null draws of a check; with 199 the test has some points less power than with its default."""


def power_of_test(world, n, n_data_sets, seed):
    """How often `is_calibrated` itself rejects."""
    found = [
        p_value_of(world.sample(n, np.random.default_rng((seed, n, k))), DRAWS) <= 0.05 for k in range(n_data_sets)
    ]
    power = float(np.mean(found))
    return f"{power:.1%} ± {max(power * (1 - power) / n_data_sets, 0.25 / n_data_sets**2) ** 0.5:.1%}"


def test_rows(n_data_sets, seed):
    """Plans for `is_calibrated` beside those by the law of the error over bins."""
    rows = []
    for name, errors in TESTED.items():
        scores = calibrated_world(SCORES[name])
        for error in errors:
            old, new = plan(error=error, world=scores, statistic="binned").n, plan(error=error, world=scores)
            world = power_world(error, scores, norm=2)
            powers = [power_of_test(world, n, n_data_sets, seed) for n in (old, new.n)]
            rows.append((name, f"{error:g}", f"{old:,}", powers[0], f"{new.n:,} ± {new.errors['n']:,.0f}", powers[1]))
    return rows


def shape_rows(n_data_sets, seed):
    """Errors of one size and several shapes."""
    rows, grid = [], (np.arange(2000) + 0.5) / 2000
    for name, away in SHAPES.items():
        if away is None:
            world = bent_world(0.05, grid, family="power" if name == "p^d" else "tempered", norm=2)
        else:
            size = 0.05 / np.sqrt((np.interp(grid, PLACES, away) ** 2).mean())
            world = EmpiricalWorld(grid, CellCurve(PLACES, size * away))
        found = plan(world=world)
        power = power_of_test(world, found.n, n_data_sets, seed)
        rows.append((name, f"{found.error:.4f}", f"{found.n:,} ± {found.errors['n']:,.0f}", power))
    return rows


def interval_rows():
    """Plans of the width of intervals of the calibration error."""
    rows = []
    for name in ("uniform", "CIFAR-10, Beta(2.78, 0.05)"):
        world = calibrated_world(SCORES[name])
        for norm, width in ((2, 0.05), (2, 0.02), (1, 0.05)):
            law = RMS.width_law(RMS, planned_data(None, world, None, "auto"), 0.0)
            formula = f"{law.needed(width, 0.95):,}" if norm == 2 else "–"
            found = plan(width=width, norm=norm, world=world, n_data_sets=300, check=True)
            n = f"{found.n:,} ± {found.errors['n']:,.0f}"
            rows.append(
                (name, "RMS" if norm == 2 else "mean absolute", f"{width:g}", formula, n, found.check.at(found.n))
            )
    return rows


INTRO = """# Plans by simulation, checked

Written by `calibrant study plans_simulated`. 5 % false alarms, power 80 %. Checks are {checked} data sets that took no part in the plan, seed
{seed}, {draws} null draws for each; ± is one Monte-Carlo standard error.
"""


def run(job):
    start = cpu_seconds()
    if job.quick:
        world = calibrated_world(SCORES["uniform"])
        found = plan(width=0.2, world=world, n_data_sets=5, check=True)
        return Page.of(
            f"# Plans by simulation, checked\n\nRows for an interval 0.2 wide: {found.n}, mean width there {found.check.at(found.n)}."
        )
    checked = CHECKED
    parts = [
        INTRO.format(checked=CHECKED, seed=job.seed, draws=DRAWS),
        table(
            "Rows for `is_calibrated`, the test of `diagnose`, at power 80 %",
            (
                "scores",
                "true RMS",
                "rows by the law of the error over bins",
                "power of `is_calibrated` there",
                "rows planned",
                "power of `is_calibrated` there",
            ),
            test_rows(checked, job.seed),
            f"Powers are those of `is_calibrated` with {DRAWS} null draws on other data sets.",
        ),
        table(
            "Rows for errors of the same RMS and other shapes, uniform scores, power 80 %",
            ("shape of the error", "true RMS", "rows planned", "power of `is_calibrated` there"),
            shape_rows(checked, job.seed),
        ),
        table(
            "Rows for an interval of the calibration error of a calibrated model",
            ("scores", "error", "width", "rows by formula", "rows planned, simulated", "mean width on other data sets"),
            interval_rows(),
            "The formula takes the squares of bins as normal: with few misses per bin it asks for too many rows.",
        ),
        f"It took {cpu_seconds() - start:.0f} s of CPU time.",
    ]
    return Page.of("\n".join(parts))
