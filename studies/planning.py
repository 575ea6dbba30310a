"""Do the formulas of `plan` hold what they promise? Power and width by formula beside simulated ones, and miss rates of estimators.

Worlds have Beta scores and true rate p^d where p is predicted, with d such that the true error is as stated. Tests by formula take their
threshold from the world's calibrated twin. Plans by simulation are in `studies/plans_simulated.py`.
"""

from __future__ import annotations

from functools import partial

import calibrant as cal
from calibrant.simulate import calibrated_world, power_world
from calibrant.simulate.power import detection, detection_table
from calibrant.verbs.planning.check import shown
from calibrant.verbs.planning.plan import plan
from calibrant.verbs.planning.power_laws import NORMAL, SquaredLaw, Variance, cube_root
from calibrant.verbs.planning.quantities import RMS
from studies.frame import Page, cpu_seconds

REPLICATIONS, QUICK = 1000, 40
SCORES = {
    "uniform": (1.0, 1.0),
    "Beta(0.46, 0.46)": (6 / 13, 6 / 13),
    "Beta(3, 1)": (3.0, 1.0),
    "CIFAR-10, Beta(2.78, 0.05)": (2.7752, 0.0478),
}
"""The second has p(1 − p) = 0.12 on average; the last is the confident network of Roelofs et al. 2022."""
CASES = {200: (0.08,), 1000: (0.037, 0.072), 5000: (0.0167, 0.019)}
"""Rows, and true RMS errors to find."""
OTHERS = {
    "mean absolute error, bins": {"norm": 1, "statistic": "binned"},
    "gap of one sign, Kuiper": {"statistic": "kuiper"},
    "mean gap": {"statistic": "mean_gap"},
}
WIDTHS = {
    "mean gap": {"width": 0.05, "statistic": "mean_gap"},
    "Brier score": {"width": 0.05, "statistic": "brier"},
    "observed rate": {"width": 0.05, "statistic": "rate"},
}
PAPER = {
    "equal width, 15": partial(cal.binned_error, bins=cal.EqualWidth(15), norm=2),
    "equal mass, 15": partial(cal.binned_error, bins=cal.EqualMass(15), norm=2),
    "sweep": partial(cal.sweep_error, norm=2),
    "debiased, equal mass": partial(cal.binned_error, norm=2, debiased=True, root=False, clip=False),
}


def power_rows(n_data_sets, seed):
    """RMS errors: power by the χ² law, by the normal law, and simulated."""
    rows = []
    for name, scores in SCORES.items():
        law = SquaredLaw.of(Variance(calibrated_world(scores).scores))
        for n, errors in CASES.items():
            worlds = [power_world(error, scores, norm=2) for error in errors]
            for error, found in zip(
                errors, detection(RMS.statistic(n), worlds, n, 0.05, n_data_sets, seed), strict=True
            ):
                normal = NORMAL.cdf(n * error**2 / (2 * cube_root(n)) ** 0.5 / law.mean - NORMAL.inv_cdf(0.95))
                cells = (law.power(n, error, 0.05), normal)
                simulated = shown("power", found.power, found.miss_error)
                rows.append((name, f"{law.mean:.3f}", f"{n:,}", f"{error:g}", *(f"{c:.1%}" for c in cells), simulated))
    return rows


def other_rows(n_data_sets, seed):
    """Other statistics at the rows that their plan asks for."""
    rows = []
    for scores in ("uniform", "Beta(3, 1)"):
        for name, options in OTHERS.items():
            found = plan(
                error=0.04,
                world=calibrated_world(SCORES[scores]),
                check=True,
                n_data_sets=n_data_sets,
                seed=seed,
                **options,
            )
            rows.append(
                (scores, name, f"{found.n:,}", f"{found.reached:.1%}", found.check.at(found.n), found.check.rows_text())
            )
    return rows


def width_rows(n_data_sets, seed):
    rows = []
    for name, options in WIDTHS.items():
        found = plan(world=calibrated_world((3.0, 1.0)), check=True, n_data_sets=n_data_sets, seed=seed, **options)
        rows.append((name, f"{found.n:,}", f"{found.reached:.4f}", found.check.at(found.n), found.check.rows_text()))
    return rows


def published_rows():
    """The smallest error detected with power 80 % where p(1 − p) is 0.12: by the normal law, and by χ² for equal and for Beta scores."""
    equal = SquaredLaw.of(Variance(None, 0.12))
    spread = SquaredLaw.of(Variance(calibrated_world(SCORES["Beta(0.46, 0.46)"]).scores))
    return [
        (
            f"{n:,}",
            *(
                f"{e:.4f}"
                for e in (
                    equal.normal_detectable(n, 0.8, 0.05),
                    equal.detectable(n, 0.8, 0.05),
                    spread.detectable(n, 0.8, 0.05),
                )
            ),
        )
        for n in (1000, 5000, 10_000)
    ]


def table(title, heads, rows, note=""):
    lines = [f"## {title}", "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(
        [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), "", *([note, ""] if note else [])]
    )


INTRO = """# Plans, by formula and simulated

Written by `calibrant study planning`: {n_data_sets:,} data sets of each world and of its calibrated twin, seed {seed}. 5 % false alarms.
± is one Monte-Carlo standard error, that of the threshold included.
"""


def run(job):
    n_data_sets, start = QUICK if job.quick else REPLICATIONS, cpu_seconds()
    worlds = [power_world(error, norm=2) for error in (0.02, 0.05, 0.1)]
    figure = detection_table(
        detection(
            PAPER, worlds, [200] if job.quick else [200, 500, 1000, 5000], n_data_sets=n_data_sets // 2, seed=job.seed
        )
    )
    parts = [
        INTRO.format(n_data_sets=n_data_sets, seed=job.seed),
        table(
            "The debiased RMS error over ⌈n^(1/3)⌉ bins",
            ("scores", "mean p(1 − p)", "n", "true RMS", "power, χ² law", "power, normal law", "simulated"),
            power_rows(n_data_sets, job.seed),
            "The normal law is n = (z_α + z_β)·√(2B)·v̄/θ². It has the threshold too low and leaves out how much an error adds to the spread.",
        ),
        table(
            "The smallest RMS error detected with power 80 %, p(1 − p) = 0.12",
            ("n", "normal law", "χ² law, p(1 − p) the same everywhere", "χ² law, Beta(0.46, 0.46) scores"),
            published_rows(),
        ),
        table(
            "Rows for an error of 0.04 at power 80 %",
            ("scores", "statistic", "rows by formula", "power by formula", "simulated", "rows by the simulation"),
            other_rows(n_data_sets // 2, job.seed),
        ),
        table(
            "Rows for an interval 0.05 wide, Beta(3, 1) scores",
            ("interval of", "rows by formula", "width by formula", "mean width simulated", "rows by the simulation"),
            width_rows(n_data_sets // 4, job.seed),
        ),
        table(
            "Miss rates, uniform scores (Roelofs et al. 2022, Figure 5)", figure.columns, figure.texts(), figure.note
        ),
        f"It took {cpu_seconds() - start:.0f} s of CPU time.",
    ]
    return Page.of("\n".join(parts))
