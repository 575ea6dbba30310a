"""Errors class by class: SCE, ACE, TACE and CWCE, one family with a table of classes behind each number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant.bins import Binning, EqualMass, EqualWidth, bins_of
from calibrant.bins.equal_mass import Ties
from calibrant.estimate.binned import Options, binned_error, collect, finish
from calibrant.inputs import check_choice, check_count
from calibrant.kernels.logits import row_blocks
from calibrant.methods import estimator
from calibrant.norms import Norm
from calibrant.predictions import Event, MultilabelPredictions, Predictions, admit
from calibrant.problems import InputError
from calibrant.results import ClassRanges, ClassTable, Estimate
from calibrant.types import Floats

CLASSWISE: dict[str, Any] = {"views": ("classwise",), "of_the_error": False}


@estimator("static", "SCE", "SCE", state="class grid", **CLASSWISE)
def static_error(
    labels: Any, probs: Any = None, *, bins: int | Binning = 15, counts: Any = None, weights: Any = None
) -> Estimate:
    """How far off is each class's probability on average? SCE: equal-width bins per class.

    `parts["classes"]` holds the error of each class. With many classes most probabilities
    are near 0 and calibrated, and the mean is small: look at the classes, or at
    `thresholded_error`.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    bins
        Number of equal-width bins per class, or a rule for bins; with a state, a number
        that divides its cells.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean gap of each class's probability over equal-width bins, averaged over
      classes.
    Bias: up near calibration.
    Cost: one pass over the matrix.
    Source: Nixon et al. 2019, sec. 5.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> found = cal.static_error(test)
    >>> found.parts["classes"].worst(1)[0][0]
    8
    """
    predictions = several_columns(labels, probs, counts, weights)
    found = binned_error(predictions, bins=bins_of(bins, EqualWidth), view="classwise", average="mean")
    return replace(found, name="static_error", title="SCE")


@estimator("classwise", "CWCE", "CWCE", state="class grid", **CLASSWISE)
def classwise_error(
    labels: Any,
    probs: Any = None,
    *,
    bins: int | Binning = 15,
    norm: Norm = 2,
    debiased: bool = False,
    root: bool = True,
    clip: bool = True,
    average: Literal["mean", "sum"] = "sum",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far off are all class probabilities? CWCE: errors summed over classes before the root.

    (Σ_k Σ_b n_b/n · |p̄ − ȳ|^p)^(1/p), with p = `norm`.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    bins
        Rule for the bins of each class; a state has equal-width cells only.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square, any
        number from 1 to 100; `"max"` the largest.
    debiased
        Subtract the part of the error that sampling noise adds, for norms 1 and 2.
    root
        Take the α-th root; `False` gives the mean power, the squared error for norm 2.
    clip
        Raise a debiased value below 0 to 0; `root=False, clip=False` gives the signed,
        unbiased square.
    average
        `sum` over classes, or `mean`; the root is taken afterwards.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: norm of the gaps of all classes' probabilities, summed over classes
      before the root.
    Bias: up near calibration.
    Cost: one pass over the matrix for equal width, one sort per class for equal mass.
    Source: Gruber & Buettner 2022, C.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.classwise_error(test) > cal.classwise_error(test, debiased=True)
    True
    """
    predictions = several_columns(labels, probs, counts, weights)
    options = Options(norm, debiased, root, clip, average)
    found = finish(
        collect(predictions, bins_of(bins, EqualWidth), "classwise"), "classwise", predictions.classes, options
    )
    return replace(found, name="classwise_error", title=f"{'debiased ' if debiased else ''}CWCE ({average})")


@estimator("adaptive", "ACE", "ACE", state="", **CLASSWISE)
def adaptive_error(
    labels: Any,
    probs: Any = None,
    *,
    bins: int = 15,
    ties: Ties = "keep",
    divide_by: Literal["filled", "all"] = "filled",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far off is each class's probability, over equal-mass ranges? ACE.

    1/(K·R) Σ_k Σ_r |p̄ − ȳ| over R equal-mass ranges of each class's probabilities: every
    non-empty range counts the same. `parts["ranges"]` holds the smallest and the largest
    probability of each range, and `parts["left_out_by_ece"]` the share of the probabilities
    that ECE, which looks at the top class alone, leaves out.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`.
    bins
        R, number of ranges per class.
    ties
        `"keep"` never splits equal probabilities; `"split"` cuts the sorted rows at
        floor(i·n/R), as Nixon et al. do. The other ways of `EqualMass` are known too.
    divide_by
        What the sum of a class is divided by: the `"filled"` ranges, or `"all"` R, of
        which those without rows, which ties or a threshold leave, add 0.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean gap over equal-mass ranges of each class's probabilities.
    Bias: up near calibration.
    Cost: one sort per class.
    Source: Nixon et al. 2019, sec. 5.2.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> 0 < cal.adaptive_error(test).value < 0.1
    True
    """
    predictions = several_columns(labels, probs, counts, weights)
    return _over_ranges(predictions, EqualMass(check_count(bins, "bins"), ties), None, divide_by)


@estimator("thresholded", "TACE", "TACE", state="", **CLASSWISE)
def thresholded_error(
    labels: Any,
    probs: Any = None,
    *,
    threshold: float = 0.01,
    bins: int = 15,
    ties: Ties = "keep",
    divide_by: Literal["filled", "all"] = "filled",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """ACE over the probabilities above a threshold only: TACE. Leaves out the many near 0.

    `parts` as in `adaptive_error`: of the probabilities above the threshold,
    `left_out_by_ece` is the share that is not of the top class.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`.
    threshold
        Probabilities at or below it are left out.
    bins
        Number of equal-mass ranges per class.
    ties, divide_by
        As in `adaptive_error`.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: ACE over the probabilities above a threshold.
    Bias: up near calibration.
    Cost: one sort per class.
    Source: Nixon et al. 2019, A.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.thresholded_error(test, threshold=0.01) > cal.adaptive_error(test)
    True
    """
    predictions = several_columns(labels, probs, counts, weights)
    if not 0 <= threshold < 1:
        raise InputError("threshold", "must lie in [0, 1)", f"it is {threshold!r}")
    return _over_ranges(predictions, EqualMass(check_count(bins, "bins"), ties), threshold, divide_by)


def several_columns(labels: Any, probs: Any, counts: Any, weights: Any) -> Predictions:
    """Predictions with one column per class."""
    predictions = admit(labels, probs, counts=counts, weights=weights)
    if predictions.is_binary:
        raise InputError("probs", "must have one column per class", "it has a single column", "Use binned_error")
    return predictions


def _over_ranges(predictions: Predictions, rule: EqualMass, threshold: float | None, divide_by: str) -> Estimate:
    check_choice("divide_by", divide_by, ("filled", "all"))
    k, r = predictions.n_classes, rule.n_bins
    values, empty = np.zeros(k), []
    low, high, weight = np.zeros((k, r)), np.zeros((k, r)), np.zeros((k, r))
    for c, whole in enumerate(predictions.class_events()):
        event = above(whole, threshold)
        if event is None:
            empty.append(str(predictions.classes[c]))
            continue
        state = rule.collect(event)
        gaps = np.abs(state.mean_prob - state.label_rate)[0][state.weight[0] > 0]
        values[c] = gaps.sum() / (r if divide_by == "all" else len(gaps))
        (low[c], high[c]), weight[c] = rule.ranges(event), state.weight[0]
    cautions = (f"no probability above the threshold for {len(empty)} classes, first {empty[0]}",) if empty else ()
    described = {"view": "classwise", "bins": f"{r} equal-mass ranges", "average": "mean", "n_bins": r}
    described |= {} if rule.ties == "keep" else {"ties": rule.ties}
    described |= {} if divide_by == "filled" else {"divide_by": divide_by}
    described |= {} if threshold is None else {"threshold": threshold}
    parts: dict[str, Any] = {
        "classes": ClassTable(predictions.classes, values, class_weights(predictions)),
        "ranges": ClassRanges(predictions.classes, low, high, weight),
    }
    if not isinstance(predictions, MultilabelPredictions):  # which have no top class
        parts["left_out_by_ece"] = left_out_by_ece(predictions, threshold)
    name, title = ("adaptive_error", "ACE") if threshold is None else ("thresholded_error", "TACE")
    return Estimate(name, title, values.mean(), predictions.n, settings=described, parts=parts, cautions=cautions)


def left_out_by_ece(predictions: Predictions, threshold: float | None) -> float:
    """Of the probabilities above a threshold, the share that is not of its row's top class; 0 if none is above."""
    if threshold is None:
        return 1 - 1 / predictions.n_classes
    probs, w = predictions.probs, predictions.weights
    counted, tops = np.empty(len(probs)), predictions.event("top").probs.astype(np.float64) > threshold
    for rows in row_blocks(*probs.shape):
        counted[rows] = np.count_nonzero(probs[rows].astype(np.float64) > threshold, axis=1)
    total = float(counted.sum() if w is None else w @ counted)
    return 0.0 if total == 0 else 1 - float(tops.sum() if w is None else w @ tops) / total


def above(event: Event, threshold: float | None) -> Event | None:
    """The rows of an event whose probability exceeds the threshold, if there is one; None if there are none."""
    if threshold is None:
        return event
    kept = event.probs.astype(np.float64) > threshold
    mass = None if event.mass is None else event.mass.rows(kept)
    if not (kept.any() if mass is None else mass.weights.any()):
        return None
    columns = event.probs[kept], event.outcomes[kept]
    if mass is None:
        return Event(*columns, None, event.name)
    return Event(*columns, mass.weights, event.name, counted=mass.n, squares=mass.squares)


def class_weights(predictions: Predictions) -> Floats:
    """Weight of the rows whose label is each class."""
    found = predictions.observed
    if found.ndim == 2:
        w = np.ones(len(found)) if predictions.weights is None else predictions.weights
        return np.asarray(w @ found)
    return np.bincount(found, predictions.weights, minlength=predictions.n_classes).astype(np.float64)
