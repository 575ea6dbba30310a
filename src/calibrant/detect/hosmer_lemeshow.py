"""Hosmer and Lemeshow's test on validation data: are bins of similar predictions off by more than chance?"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from calibrant.bins import Binning, EqualMass
from calibrant.detect.about import AboutTest
from calibrant.inputs import check_choice
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.resampling import statistics
from calibrant.resampling.exact import exact_result, planned
from calibrant.resampling.formulas import asymptotic_result, chi_square_p_value
from calibrant.resampling.rows import atoms_of, cluster_kind, refuse_cluster
from calibrant.results import TestResult


def hosmer_lemeshow_test(
    labels: Any,
    probs: Any = None,
    *,
    bins: Binning = EqualMass(10),  # noqa: B008  (frozen)
    method: Literal["exact", "chi2"] = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: Any = None,
    weights: Any = None,
    seed: int = 0,
) -> TestResult:
    """Are there bins in which the model is off by more than chance? Σ (Σ(p − y))² / Σp(1 − p) over bins.

    The model was not fitted on these rows, so with B bins the statistic has B degrees of freedom, not B − 2. The variance of a bin
    is Σp(1 − p), not n·p̄(1 − p̄), which is larger. `chi2` needs several expected hits and misses a bin; `exact` needs nothing.

    `cluster`: as in `is_calibrated`, for `exact`.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.detect import hosmer_lemeshow_test
    >>> labels, probs = [0] * 4 + [1] * 6 + [0] * 6 + [1] * 4, [0.8] * 10 + [0.2] * 10
    >>> found = hosmer_lemeshow_test(labels, probs, bins=cal.EqualWidth(2), method="chi2")
    >>> found.statistic, found.parts["degrees"], round(found.p_value, 4)
    (5.0, 2, 0.0821)
    """
    check_choice("method", method, ("exact", "chi2"))
    if isinstance(bins, type) or not isinstance(bins, Binning):
        raise InputError("bins", "must be EqualWidth(m), EqualMass(m) or Edges([...])", f"it is {bins!r}")
    predictions = admit(labels, probs, weights=weights)
    kind, atoms = cluster_kind(predictions, cluster), atoms_of(predictions, view, cluster)
    statistic = statistics.hosmer_lemeshow(atoms, bins)
    if method == "exact":
        plan = planned(n_draws, "random", seed, kind, len(atoms.p))
        return exact_result(atoms, statistic, plan, "hosmer_lemeshow", statistic.title, {"bins": bins.describe()})
    refuse_cluster(kind, method)
    degrees = statistics.filled_bins(atoms, bins)
    law = partial(chi_square_p_value, degrees=degrees)
    return asymptotic_result(atoms, statistic, "hosmer_lemeshow", "chi2", law, {"degrees": degrees})


ABOUT = AboutTest(
    name="hosmer_lemeshow",
    title="Hosmer–Lemeshow χ²",
    function=hosmer_lemeshow_test,
    sees="errors of any shape that are not much narrower than a bin",
    views=("binary", "top", "class k"),
    methods=("exact", "chi2"),
    cost="one sort; rows times draws if exact",
    source="Hosmer & Lemeshow 1980",
    also_called=("HL", "Hosmer-Lemeshow"),
)
