"""Cox's test: do log-odds need another intercept or slope?"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.interval.formulas import chi_square_p_value
from calibrant.kernels.fit.log_odds_line import LogOddsRows
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.resampling import statistics
from calibrant.resampling.exact import Exact, Formula, named_test
from calibrant.resampling.rows import Atoms, atoms_of
from calibrant.results import TestResult
from calibrant.types import Cluster, Floats, Seed


@method(
    "test",
    name="cox",
    title="Cox's χ²",
    views=ONE_EVENT,
    ways=("exact", "likelihood", "score"),
    also_called=("calibration slope", "recalibration test"),
)
def cox_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact", "likelihood", "score"] | Exact = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
) -> TestResult:
    """Are the predictions shifted, too extreme or not extreme enough?

    A regression of the labels on the log-odds has intercept 0 and slope 1 if the model
    is calibrated. Predictions of 0 and 1 have no log-odds and are left out of the fit.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    method
        `"exact"` ranks the score statistic among null draws; `Exact(...)` says how.
        `"score"` takes it as χ² with 2 degrees of freedom. `"likelihood"` fits
        intercept and slope and takes twice the gain in log-likelihood as χ² with 2
        degrees of freedom: Cox's recalibration test. The fit is in `parts`; a slope
        below 1 is over-confident. The last two need many rows.
    view, n_draws, cluster, seed
        As in `is_calibrated`; clusters need an exact p-value.

    Notes
    -----
    Power against: shifts, and predictions that are too extreme or not extreme enough.
    Cost: one sort; rows times draws if exact.
    Source: Cox 1958.

    Examples
    --------
    >>> import calibrant as cal
    >>> labels, probs = [0] * 4 + [1] * 6 + [0] * 6 + [1] * 4, [0.8] * 10 + [0.2] * 10
    >>> found = cal.detect.cox_test(labels, probs, method="likelihood")
    >>> round(found.parts["slope"], 4), round(found.statistic, 3), round(found.p_value, 4)
    (0.2925, 4.186, 0.1233)
    """
    atoms = atoms_of(admit(labels, probs, counts=counts, weights=weights), view, cluster)
    laws = {"likelihood": _likelihood, "score": _score}
    return named_test("cox", atoms, statistics.cox(atoms), laws, (method, n_draws, seed))


def _degrees(atoms: Atoms) -> int:
    """Degrees of freedom: one prediction has no slope."""
    return 1 if len(np.unique(atoms.p[atoms.variance > 0])) == 1 else 2


def _score(atoms: Atoms, value: float, _: Floats) -> Formula:
    return Formula(chi_square_p_value(value, _degrees(atoms)), {"degrees": _degrees(atoms)})


def _likelihood(atoms: Atoms, _: float, __: Floats) -> Formula:
    """The likelihood ratio of the fitted line against intercept 0 and slope 1."""
    if atoms.fixed:
        raise InputError("weights", "must be left out for a likelihood ratio", advice="Use method='exact'")
    rows = LogOddsRows.of(atoms.p, atoms.weight, atoms.hits)
    if not len(rows.odds):
        raise InputError("probs", "must not all be 0 or 1", advice="Use method='exact'")
    degrees = _degrees(atoms)
    fit = rows.line() if degrees == 2 else rows.level(0.0)
    # with one prediction only the intercept is fitted, relative to its log-odds
    shift, slope = fit.coefficients if degrees == 2 else (fit.coefficients[0] - rows.odds[0], 1.0)
    value = max(0.0, 2 * (rows.loss(0.0, 1.0) - rows.loss(shift, slope)))
    p, parts = (
        chi_square_p_value(value, degrees),
        {"intercept": float(shift), "slope": float(slope), "degrees": degrees},
    )
    title, law = "Cox's likelihood ratio χ²", f"χ² with {degrees} degrees of freedom"
    separated = "labels are separated by the predictions: the fit does not converge"
    return Formula(p, parts, value, title, law, (separated,) * (not fit.converged))
