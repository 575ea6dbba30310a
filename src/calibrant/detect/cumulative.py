"""Cumulative tests: does the running sum of errors stray farther than a random walk?"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_statistic
from calibrant.interval.formulas import brownian_max_p_value, brownian_range_p_value
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.resampling import statistics
from calibrant.resampling.exact import Exact, Formula, named_test
from calibrant.resampling.rows import Atoms, atoms_of
from calibrant.results import TestResult
from calibrant.types import Cluster, Floats, Seed


@method(
    "test",
    name="cumulative",
    title="Kuiper's range",
    views=ONE_EVENT,
    ways=("exact", "brownian"),
    also_called=("kuiper", "ks", "ECCE-R", "ECCE-MAD"),
)
def cumulative_test(
    labels: Any,
    probs: Any = None,
    *,
    statistic: Literal["range", "kuiper", "max", "ks"] = "range",
    method: Literal["exact", "brownian"] | Exact = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
) -> TestResult:
    """Do errors of one sign add up along the predictions? No bins, no tuning.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    statistic
        Of the running sum of errors: `"range"` or `"kuiper"` (ECCE-R); or `"max"` or
        `"ks"`, its largest absolute value (Kolmogorov–Smirnov, ECCE-MAD).
    method
        `"exact"` ranks it among null draws; `Exact(...)` says how. `"brownian"` takes
        the running sum as a Brownian motion, which it is for many rows without ties;
        with ties or few rows the p-value is too large. `parts["sigma"]` is then √Σp(1 −
        p) / n.
    view, n_draws, cluster, seed
        As in `is_calibrated`; clusters need an exact p-value.

    Notes
    -----
    Power against: errors of one sign over a stretch of predictions, and shifts.
    Cost: one sort; rows times draws if exact.
    Source: Arrieta-Ibarra et al. 2022; Kuiper 1960.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = [0, 1, 1], [0.2, 0.5, 0.6]
    >>> found = cal.detect.cumulative_test(*data, statistic="max", method="brownian")
    >>> round(found.statistic, 6)
    0.233333
    """
    chosen = check_statistic(statistic, ("range", "max"))
    atoms = atoms_of(admit(labels, probs, counts=counts, weights=weights), view, cluster)
    made = statistics.cumulative(atoms, chosen)
    beyond = brownian_range_p_value if chosen == "range" else brownian_max_p_value

    def brownian(atoms: Atoms, value: float, _: Floats) -> Formula:
        sigma = walk_sd(atoms)
        return Formula(beyond(value / sigma) if sigma else 1.0, {"sigma": sigma})

    return named_test("cumulative", atoms, made, {"brownian": brownian}, (method, n_draws, seed), {"statistic": chosen})


def walk_sd(atoms: Atoms) -> float:
    """√Σw²p(1 − p) / Σw: the standard deviation of the last running sum."""
    return float(np.sqrt(atoms.variance.sum())) / atoms.total
