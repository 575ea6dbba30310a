"""Hosmer and Lemeshow's test on validation data: are bins off by more than chance?"""

from __future__ import annotations

from typing import Any, Literal

from calibrant.bins import Binning, EqualMass, bins_of
from calibrant.interval.formulas import chi_square_p_value
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.resampling import statistics
from calibrant.resampling.exact import Exact, Formula, named_test
from calibrant.resampling.rows import Atoms, atoms_of
from calibrant.results import TestResult, number
from calibrant.types import Cluster, Floats, Seed


@method(
    "test",
    name="hosmer_lemeshow",
    title="Hosmer–Lemeshow χ²",
    views=ONE_EVENT,
    ways=("exact", "chi2"),
    also_called=("HL", "Hosmer-Lemeshow"),
)
def hosmer_lemeshow_test(
    labels: Any,
    probs: Any = None,
    *,
    bins: int | Binning = 10,
    method: Literal["exact", "chi2"] | Exact = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
) -> TestResult:
    """Are there bins in which the model is off by more than chance?

    The statistic is Σ (Σ(p − y))² / Σp(1 − p) over bins. The model was not fitted on
    these rows, so with B bins it has B degrees of freedom, not B − 2. The variance of a
    bin is Σp(1 − p), not n·p̄(1 − p̄), which is larger.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    bins
        `EqualWidth(m)`, `EqualMass(m)` or `Edges([...])`.
    method
        `"exact"` ranks the statistic among null draws; `Exact(...)` says how. `"chi2"`
        needs several expected labels of either kind per bin, with a warning where too
        many bins have fewer than 5, or any fewer than 1.
    view, n_draws, cluster, seed
        As in `is_calibrated`; clusters need an exact p-value.

    Notes
    -----
    Power against: errors of any shape that are not much narrower than a bin.
    Cost: one sort; rows times draws if exact.
    Source: Hosmer & Lemeshow 1980.

    Examples
    --------
    >>> import calibrant as cal
    >>> labels, probs = [0] * 4 + [1] * 6 + [0] * 6 + [1] * 4, [0.8] * 10 + [0.2] * 10
    >>> found = cal.detect.hosmer_lemeshow_test(labels, probs, bins=cal.EqualWidth(2), method="chi2")
    >>> found.statistic, found.parts["degrees"], round(found.p_value, 4)
    (5.0, 2, 0.0821)
    """
    rule = bins_of(bins, EqualMass)

    def chi2(atoms: Atoms, value: float, _: Floats) -> Formula:
        degrees = statistics.filled_bins(atoms, rule)
        return Formula(chi_square_p_value(value, degrees), {"degrees": degrees}, warnings=_few(atoms, rule))

    atoms, settings = (
        atoms_of(admit(labels, probs, counts=counts, weights=weights), view, cluster),
        {"bins": rule.describe()},
    )
    made = statistics.hosmer_lemeshow(atoms, rule)
    return named_test("hosmer_lemeshow", atoms, made, {"chi2": chi2}, (method, n_draws, seed), settings)


def _few(atoms: Atoms, rule: Binning) -> tuple[str, ...]:
    """A warning by Cochran's rule: some bin expects fewer than 1 label of a kind, or a fifth of them fewer than 5."""
    expected = statistics.least_expected(atoms, rule)
    few = int((expected < 5).sum())
    if not few or (expected.min() >= 1 and few <= len(expected) / 5):
        return ()
    least = f"the least {number(float(expected.min()))}"
    return (
        f"{few} of {len(expected)} bins expect fewer than 5 labels of one kind, {least}: χ² is rough. Use method='exact'",
    )
