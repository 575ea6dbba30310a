"""Spiegelhalter's test: is the Brier score what the predictions imply?"""

from __future__ import annotations

from typing import Any, Literal

from calibrant.interval.formulas import normal_p_value
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.resampling import statistics
from calibrant.resampling.exact import Exact, Formula, named_test
from calibrant.resampling.rows import atoms_of
from calibrant.results import TestResult
from calibrant.types import Cluster, Seed


@method("test", name="spiegelhalter", title="Spiegelhalter's z", views=ONE_EVENT, ways=("exact", "normal"))
def spiegelhalter_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact", "normal"] | Exact = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
) -> TestResult:
    """Is the Brier score what a calibrated model would get?

    The statistic is |Z|, Z = Σ(y − p)(1 − 2p) / √Σ(1 − 2p)²p(1 − p). It has power
    against predictions that are too extreme, or not extreme enough, and none against a
    shift of all predictions around 0.5.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    method
        `"exact"` ranks |Z| among null draws; `Exact(...)` says how. `"normal"` takes Z
        as normal, which needs many rows whose labels are uncertain.
    view, n_draws, cluster, seed
        As in `is_calibrated`; clusters need an exact p-value.

    Notes
    -----
    Power against: predictions that are too extreme or not extreme enough; blind to
      shifts around 0.5.
    Cost: one sort, and rows times draws if exact.
    Source: Spiegelhalter 1986.

    Examples
    --------
    >>> import calibrant as cal
    >>> probs = [0.9, 0.8, 0.2, 0.1, 0.3, 0.7]
    >>> found = cal.detect.spiegelhalter_test([0, 0, 1, 1, 0, 1], probs, method="normal")
    >>> round(found.statistic, 4), found.finding
    (3.9595, 'predictions are too extreme (over-confident)')
    """
    atoms = atoms_of(admit(labels, probs, counts=counts, weights=weights), view, cluster)
    laws = {"normal": lambda _, value, __: Formula(normal_p_value(value))}
    return named_test("spiegelhalter", atoms, statistics.spiegelhalter(atoms), laws, (method, n_draws, seed))
