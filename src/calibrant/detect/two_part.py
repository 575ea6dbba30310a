"""The cumulative test in two parts: is the model right on average, and along the predictions?"""

from __future__ import annotations

from typing import Any, Literal

from calibrant.interval.formulas import chi_square_p_value, kolmogorov_p_value, normal_p_value
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.resampling import statistics
from calibrant.resampling.exact import Exact, Formula, named_test
from calibrant.resampling.rows import Atoms, atoms_of
from calibrant.results import TestResult
from calibrant.types import Cluster, Floats, Seed


@method(
    "test",
    name="two_part",
    title="two-part cumulative test",
    views=ONE_EVENT,
    ways=("exact", "asymptotic"),
    also_called=("cumulcalib",),
)
def two_part_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact", "asymptotic"] | Exact = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
) -> TestResult:
    """Is the model right on average, and right along the predictions apart from that?

    The running sum of errors, in units of its standard deviation and against its share
    of the variance, is a Brownian motion for many rows. Its last value is a normal Z;
    without the line to it, a Brownian bridge is left, independent of Z, whose largest
    distance from 0 is Kolmogorov's. Their p-values are combined by Fisher's method: −2
    ln(p₁p₂) is χ² with 4 degrees of freedom. `parts` has both.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    method
        `"exact"` ranks the combined statistic among null draws; `Exact(...)` says how.
        `"asymptotic"` uses the limits above, for many rows without ties.
    view, n_draws, cluster, seed
        As in `is_calibrated`; clusters need an exact p-value.

    Notes
    -----
    Power against: shifts, and errors of one sign over a stretch of predictions.
    Cost: one sort; rows times draws if exact.
    Source: Sadatsafavi & Petkau 2024.

    Examples
    --------
    >>> import calibrant as cal
    >>> probs = [0.1, 0.3, 0.5, 0.6, 0.8, 0.9]
    >>> found = cal.detect.two_part_test([0, 1, 1, 0, 1, 1], probs, method="asymptotic")
    >>> round(found.parts["z"], 4), round(found.parts["bridge"], 4)
    (0.7845, 0.6638)
    """
    atoms = atoms_of(admit(labels, probs, counts=counts, weights=weights), view, cluster)
    laws = {"asymptotic": _asymptotic}
    return named_test("two_part", atoms, statistics.two_part(atoms), laws, (method, n_draws, seed))


def _asymptotic(_: Atoms, value: float, state: Floats) -> Formula:
    parts = {"p_mean": normal_p_value(state[0]), "p_bridge": kolmogorov_p_value(float(state[1]))}
    return Formula(chi_square_p_value(value, 4), parts)
