"""Spiegelhalter's test: is the Brier score what the predictions promise?"""

from __future__ import annotations

from typing import Any, Literal

from calibrant.detect.about import AboutTest
from calibrant.inputs import check_choice
from calibrant.predictions import admit
from calibrant.resampling import statistics
from calibrant.resampling.exact import exact_result, planned
from calibrant.resampling.formulas import asymptotic_result, normal_p_value
from calibrant.resampling.rows import atoms_of, cluster_kind, refuse_cluster
from calibrant.results import TestResult


def spiegelhalter_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact", "normal"] = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: Any = None,
    weights: Any = None,
    seed: int = 0,
) -> TestResult:
    """Is the Brier score what a calibrated model would get? |Z|, Z = Σ(y − p)(1 − 2p) / √Σ(1 − 2p)²p(1 − p).

    It sees predictions that are too extreme, or not enough. It is blind to a shift of all predictions around 0.5. `normal` takes Z
    as normal, which needs many rows whose labels are uncertain.

    `cluster`: as in `is_calibrated`, for `exact`.

    Examples
    --------
    >>> from calibrant.detect import spiegelhalter_test
    >>> found = spiegelhalter_test([0, 0, 1, 1, 0, 1], [0.9, 0.8, 0.2, 0.1, 0.3, 0.7], method="normal")
    >>> round(found.statistic, 4), found.finding
    (3.9595, 'predictions are too extreme (over-confident)')
    """
    check_choice("method", method, ("exact", "normal"))
    predictions = admit(labels, probs, weights=weights)
    kind, atoms = cluster_kind(predictions, cluster), atoms_of(predictions, view, cluster)
    statistic = statistics.spiegelhalter(atoms)
    if method == "exact":
        plan = planned(n_draws, "random", seed, kind, len(atoms.p))
        return exact_result(atoms, statistic, plan, "spiegelhalter", statistic.title, {})
    refuse_cluster(kind, method)
    return asymptotic_result(atoms, statistic, "spiegelhalter", "normal", normal_p_value)


ABOUT = AboutTest(
    name="spiegelhalter",
    title="Spiegelhalter's z",
    function=spiegelhalter_test,
    sees="predictions that are too extreme or not extreme enough; blind to shifts around 0.5",
    views=("binary", "top", "class k"),
    methods=("exact", "normal"),
    cost="one sort, and rows times draws if exact",
    source="Spiegelhalter 1986",
)
