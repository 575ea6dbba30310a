"""Cumulative tests: does the running sum of errors stray farther than a random walk?"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.detect.about import AboutTest
from calibrant.inputs import check_choice
from calibrant.predictions import admit
from calibrant.resampling import statistics
from calibrant.resampling.exact import exact_result, planned
from calibrant.resampling.formulas import asymptotic_result, brownian_max_p_value, brownian_range_p_value
from calibrant.resampling.rows import Atoms, atoms_of, cluster_kind, refuse_cluster
from calibrant.results import TestResult


def cumulative_test(
    labels: Any,
    probs: Any = None,
    *,
    statistic: Literal["range", "max"] = "range",
    method: Literal["exact", "brownian"] = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: Any = None,
    weights: Any = None,
    seed: int = 0,
) -> TestResult:
    """Do errors pile up along the predictions? Kuiper's range (ECCE-R) or the KS maximum (ECCE-MAD) of the running sum.

    No bins, no tuning. `brownian` takes the running sum as a Brownian motion, which it is for many rows without ties; with ties or
    few rows the p-value is too large. `parts` holds the statistic in units of σ = √Σp(1 − p) / n.

    `cluster`: as in `is_calibrated`, for `exact`.

    Examples
    --------
    >>> from calibrant.detect import cumulative_test
    >>> found = cumulative_test([0, 1, 1], [0.2, 0.5, 0.6], statistic="max", method="brownian")
    >>> round(found.statistic, 6)
    0.233333
    """
    check_choice("statistic", statistic, ("range", "max"))
    check_choice("method", method, ("exact", "brownian"))
    predictions = admit(labels, probs, weights=weights)
    kind, atoms = cluster_kind(predictions, cluster), atoms_of(predictions, view, cluster)
    chosen = statistics.cumulative(atoms, statistic)
    if method == "exact":
        plan = planned(n_draws, "random", seed, kind, len(atoms.p))
        return exact_result(atoms, chosen, plan, "cumulative", chosen.title, {"statistic": statistic})
    refuse_cluster(kind, method)
    sigma = walk_sd(atoms)
    law = brownian_range_p_value if statistic == "range" else brownian_max_p_value
    return asymptotic_result(
        atoms, chosen, "cumulative", "brownian", lambda value: law(value / sigma) if sigma else 1.0, {"sigma": sigma}
    )


def walk_sd(atoms: Atoms) -> float:
    """√Σw²p(1 − p) / Σw: the standard deviation of the last running sum."""
    return float(np.sqrt(atoms.variance.sum())) / atoms.total


ABOUT = AboutTest(
    name="cumulative",
    title="Kuiper's range",
    function=cumulative_test,
    sees="errors of one sign over a stretch of predictions, and shifts",
    views=("binary", "top", "class k"),
    methods=("exact", "brownian"),
    cost="one sort; rows times draws if exact",
    source="Arrieta-Ibarra et al. 2022; Kuiper 1960",
    also_called=("kuiper", "ks", "ECCE-R", "ECCE-MAD"),
)
