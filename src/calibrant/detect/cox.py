"""Cox's test: do log-odds need another intercept or slope?"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.detect.about import AboutTest
from calibrant.inputs import check_choice
from calibrant.kernels.fit.newton_logistic import fit_logistic
from calibrant.kernels.sums.stable_sums import inner
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.resampling import statistics
from calibrant.resampling.exact import LEVEL, exact_result, planned, weighting_settings
from calibrant.resampling.formulas import asymptotic_result, chi_square_p_value
from calibrant.resampling.null import null_cautions
from calibrant.resampling.rows import Atoms, atoms_of, cluster_kind, refuse_cluster
from calibrant.results import TestResult

Floats = NDArray[np.float64]

METHODS = ("exact", "likelihood", "score")


def cox_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact", "likelihood", "score"] = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: Any = None,
    weights: Any = None,
    seed: int = 0,
) -> TestResult:
    """Are the predictions shifted, too extreme or not extreme enough? Intercept 0 and slope 1 in a regression on log-odds.

    `exact` draws from the null of the score statistic; `score` takes it as χ² with 2 degrees of freedom. `likelihood` fits the
    intercept and the slope and takes twice the gain in log-likelihood as χ² with 2 degrees of freedom: Cox's recalibration test.
    The fit is in `parts`: slope below 1 is over-confident. Predictions of 0 and 1 have no log-odds and are left out of the fit.

    `cluster`: as in `is_calibrated`, for `exact`.

    Examples
    --------
    >>> from calibrant.detect import cox_test
    >>> labels, probs = [0] * 4 + [1] * 6 + [0] * 6 + [1] * 4, [0.8] * 10 + [0.2] * 10
    >>> found = cox_test(labels, probs, method="likelihood")
    >>> round(found.parts["slope"], 4), round(found.statistic, 3), round(found.p_value, 4)
    (0.2925, 4.186, 0.1233)
    """
    check_choice("method", method, METHODS)
    predictions = admit(labels, probs, weights=weights)
    kind, atoms = cluster_kind(predictions, cluster), atoms_of(predictions, view, cluster)
    statistic = statistics.cox(atoms)
    if method == "exact":
        plan = planned(n_draws, "random", seed, kind, len(atoms.p))
        return exact_result(atoms, statistic, plan, "cox", statistic.title, {})
    refuse_cluster(kind, method)
    degrees = 1 if len(np.unique(atoms.p[atoms.variance > 0])) == 1 else 2
    if method == "score":
        law = partial(chi_square_p_value, degrees=degrees)
        return asymptotic_result(atoms, statistic, "cox", "score", law, {"degrees": degrees})
    return _likelihood(atoms, degrees)


def _likelihood(atoms: Atoms, degrees: int) -> TestResult:
    if atoms.fixed:
        raise InputError("weights", "must be whole numbers for a likelihood ratio", advice="Use method='exact'")
    kept = (atoms.p > 0) & (atoms.p < 1)
    odds, weight, hits = statistics.bounded_log_odds(atoms.p)[kept], atoms.weight[kept], atoms.hits[kept]
    if not len(odds):
        raise InputError("probs", "must not all be 0 or 1", advice="Use method='exact'")
    columns = [np.ones(len(odds)), odds]
    fit = fit_logistic(np.stack(columns[:degrees], axis=1), weight, hits)
    alone = np.array([fit.coefficients[0] - odds[0], 1.0])  # the intercept, against the log-odds said
    fitted = alone if degrees == 1 else fit.coefficients

    def loss(eta: Floats) -> float:
        return inner(weight, np.logaddexp(0.0, eta)) - inner(hits, eta)

    value = max(0.0, 2 * (loss(odds) - loss(fitted[0] + fitted[1] * odds)))
    p_value = chi_square_p_value(value, degrees)
    shift, slope = float(fitted[0]), float(fitted[1])
    state = statistics.scores(atoms)(atoms.errors[None])[0]
    separated = () if fit.converged else ("labels are separated by the predictions: the fit has no end",)
    return TestResult(
        "cox",
        "Cox's likelihood ratio χ²",
        value,
        p_value,
        atoms.n,
        f"rows independent; χ² with {degrees} degrees of freedom, for many rows",
        {"view": atoms.view, "method": "likelihood"} | weighting_settings(atoms),
        {"intercept": shift, "slope": slope, "degrees": degrees},
        null_cautions(atoms) + separated,
        statistics.cox(atoms).words(state) if p_value <= LEVEL else "",
    )


ABOUT = AboutTest(
    name="cox",
    title="Cox's χ²",
    function=cox_test,
    sees="shifts, and predictions that are too extreme or not extreme enough",
    views=("binary", "top", "class k"),
    methods=METHODS,
    cost="one sort; rows times draws if exact",
    source="Cox 1958",
    also_called=("calibration slope", "recalibration test"),
)
