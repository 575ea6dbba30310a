"""How often is miscalibration missed at 5 % false alarms? (Roelofs et al. 2022, Figure 5)

Uniform scores, true rate c^d with d such that the true error (norm 2) is as stated; the threshold of an alarm comes from the calibrated twin.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import calibrant as cal
from calibrant.plot import miss_rates
from calibrant.simulate import Detection, detection, power_world
from studies.frame import Page, figure, table

ESTIMATORS = {
    "ECE, equal width": partial(cal.binned_error, bins=cal.EqualWidth(15), norm=2),
    "sweep, equal mass": partial(cal.sweep_error, norm=2),
    "debiased, equal mass": partial(cal.binned_error, norm=2, debiased=True),
}
ERRORS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15)
SIZES = (200, 500, 1000, 5000, 10_000)


def missed(n, errors, count, seed):
    """Miss rates at one size."""
    rows = detection(ESTIMATORS, [power_world(e, norm=2) for e in errors], [n], n_data_sets=count, seed=seed, workers=1)
    return [asdict(row) for row in rows]


def run(job):
    sizes, errors, count = (SIZES[:1], ERRORS[3:5], 30) if job.quick else (SIZES, ERRORS, 400)
    found = job.parts(missed, {f"n = {n}": (n, errors, count, job.seed) for n in sizes})
    rows = [Detection(**row) for part in found.values() for row in part]
    body = [
        (
            name,
            f"{n:,}",
            *(f"{100 * r.miss_rate:.0f} ± {100 * r.miss_error:.0f}" for r in rows if (r.estimator, r.n) == (name, n)),
        )
        for name in ESTIMATORS
        for n in sizes
    ]
    picture, axes = figure(len(ESTIMATORS))
    for ax, name in zip(axes, ESTIMATORS, strict=True):
        miss_rates([row for row in rows if row.estimator == name], over="true_rms", ax=ax)
        ax.set_title(name, fontsize=9)
    text = f"""Miss rates in per cent ± Monte-Carlo standard error over the true error (norm 2), {count} data sets of each world and of its calibrated twin.

{table(("estimator", "rows", *(f"{e:g}" for e in errors)), body)}

The paper states that over 10,000 rows are needed to detect an error of 2 %, and that with under 500 rows it must exceed 10 %; its figure is
drawn without numbers."""
    return Page("How often is miscalibration missed?", text, figures={"Miss rates": picture})
