"""Calibration error as a posterior: median and interval over all curves still possible."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.infer import calibration_error_interval
from calibrant.inputs import check_choice, check_level
from calibrant.kernels.logits import sigmoid
from calibrant.maps.gaussian_process import OPEN, Belief, believed, table_of
from calibrant.methods import estimator
from calibrant.predictions import admit, as_predictions
from calibrant.results import Estimate, Interval
from calibrant.types import Floats

DRAWS = 2000
"""Curves drawn from the posterior."""


@estimator("posterior", "calibration error, posterior median", "ECE_posterior", "GP error")
def posterior_error(
    labels: Any,
    probs: Any = None,
    *,
    norm: Literal[1, 2, "max"] = 1,
    root: bool = True,
    level: float = 0.95,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How large is the calibration error, as far as these rows can tell? No bins.

    A Gaussian process around the model's own log-odds (as in `GaussianProcessMap`) gives the
    posterior distribution of the calibration curve. The value is the posterior median of
    its error. "Calibrated" is among the possible curves, so the value of a calibrated model
    is near 0 instead of at a noise floor.

    For norms 1 and 2 the interval is the union of the posterior interval and of
    `calibration_error_interval`; its coverage is in `studies/results/scoreboard.md`. For
    `"max"`, and for soft labels, it is the posterior interval alone. The curve with its band
    is `parts["curve"]`. Curves are drawn with a fixed seed: the same rows give the same
    answer.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square;
        `"max"` the largest.
    root
        Take the α-th root; `False` gives the squared error for norm 2.
    level
        Confidence of the interval.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean distance between prediction and rate, over the curves the data leave
      possible.
    Bias: towards 0 where rows are few and the error is small.
    Cost: one sort and a hundred small fits.
    Source: posterior over calibration curves; this package.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(2000)
    >>> calibrated = cal.posterior_error(rng.random(2000) < probs, probs)
    >>> calibrated.value < 0.005 < cal.ece(rng.random(2000) < probs, probs).value
    True
    """
    check_choice("norm", norm, (1, 2, "max"))
    check_level(level)
    predictions = admit(labels, probs, counts=counts, weights=weights)
    rows = as_predictions(predictions.event(view))
    belief = believed(rows)
    away = rows.event("binary").kept("posterior distances", lambda: _distances(belief))
    errors = np.sort(away[:, belief.support > 0].max(axis=1) if norm == "max" else away**norm @ belief.support)
    if norm == 2 and root:
        errors = np.sqrt(errors)
    low, value, high = np.quantile(errors, [(1 - level) / 2, 0.5, (1 + level) / 2]).tolist()
    described = {"view": predictions.view(view), "norm": norm, "root": root}
    kind = {1: "", 2: "RMS " if root else "squared ", "max": "largest "}[norm]
    title = f"{kind}calibration error, posterior median"
    parts = {"curve": table_of(rows, belief).band(level)}
    interval = Interval(low, high, float(level), "posterior")
    if norm != "max" and not rows.soft:
        tested = calibration_error_interval(rows, norm=norm, level=level)
        ends = (tested.low, tested.high) if norm == 1 or root else (tested.low**2, tested.high**2)
        interval = Interval(min(low, ends[0]), max(high, ends[1]), float(level), "posterior and test inversion")
    return Estimate("posterior_error", title, value, rows.n, interval, None, described, parts, belief.cautions)


def _distances(belief: Belief) -> Floats:
    """|c(p) − p| in each cell, for curves c drawn from the posterior: `(DRAWS, cells)`, the same for every norm."""
    curves = sigmoid(belief.found.drawn(belief.found.share(OPEN), DRAWS, np.random.default_rng(0)))
    return np.abs(curves - sigmoid(belief.places))
