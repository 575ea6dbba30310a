"""Label-binned calibration error: each prediction against the rate of its bin, never below the binned error."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.bins import Binning, BinSums, EqualMass, bins_of
from calibrant.bins.binning import settings
from calibrant.estimate.binned import Options, collect
from calibrant.methods import EVERY_VIEW, estimator
from calibrant.norms import Norm, mean_power, norm_of_name
from calibrant.predictions import Event, admit
from calibrant.results import ClassTable, Estimate


@estimator("label_binned", "label-binned calibration error", views=EVERY_VIEW)
def label_binned_error(
    labels: Any,
    probs: Any = None,
    *,
    bins: int | Binning = 15,
    norm: Norm = 1,
    root: bool = True,
    view: Any = "auto",
    average: Literal["mean", "sum"] = "mean",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far is each prediction from the observed rate of its bin?

    (1/n Σ_i |p_i − ȳ_k(i)|^α)^(1/α), with ȳ_k(i) the observed rate in the bin of row i.
    Predictions are not averaged within a bin, so errors of opposite sign do not cancel; but
    a calibrated model with wide bins shows an error too.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    bins
        Number of equal-mass bins, or a rule for bins.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square, any
        number from 1 to 100; `"max"` the largest.
    root
        Take the α-th root; `False` gives the mean power, the squared error for norm 2.
    view
        `binary`, `top`, `class k` or `classwise`; `auto` is `binary` for one column and
        `top` for several.
    average
        For `classwise`: `mean` divides by the number of classes, `sum` does not; the root
        is taken afterwards.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean distance of a prediction from the observed rate of its bin.
    Bias: up: noise in the rates, and the width of the bins.
    Cost: two passes for equal width and given edges, one sort for equal mass.
    Source: Roelofs et al. 2022, eq. 3.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.label_binned_error([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8], bins=cal.EqualWidth(2)).value
    0.25
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    options = Options(norm, root=root, average=average)
    name = predictions.view(view)
    rule = bins_of(bins, EqualMass)
    state = collect(predictions, rule, name)
    events = list(predictions.class_events()) if name == "classwise" else [predictions.event(name)]
    powers = np.array([row_powers(event, state, k, norm) for k, event in enumerate(events)])
    value, hits = options.overall(powers), state.sums[..., 3].sum(axis=-1)
    parts: dict[str, Any] = {"bins": state.table()}
    if name == "classwise":
        parts = {"classes": ClassTable(predictions.classes, options.rooted(powers), hits)}
    described = {"view": name, "bins": rule.describe(), "rule": settings(rule), "norm": norm, "root": root}
    title = f"label-binned {norm_of_name(options.norm, root)}error"
    return Estimate("label_binned_error", title, value, predictions.n, settings=described, parts=parts)


def row_powers(event: Event, state: BinSums, k: int, norm: Norm) -> float:
    """(1/n) Σ w_i |p_i − ȳ_k(i)|^α, or the largest distance of any row."""
    index = state.bins.index(event)
    inside = (index >= 0) & (index < state.sums.shape[1])
    rate = state.label_rate[k][np.where(inside, index, 0)]
    distance = np.where(inside, np.abs(event.probs - rate), 0.0)
    return mean_power(distance, norm, event.weights)
