"""Cross-validated bins: the number of bins that predicts held-out outcomes best."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from calibrant.bins import EqualMass
from calibrant.estimate.binned import Options
from calibrant.estimate.chosen import Rule, chosen_error
from calibrant.inputs import check_count, check_seed
from calibrant.kernels.rows.pooling import group_starts, in_order, mass_cuts, width_cuts
from calibrant.kernels.rows.sorted_folds import fewest_within, rows_in_folds
from calibrant.kernels.sums.stable_sums import inner
from calibrant.methods import EVERY_VIEW, estimator
from calibrant.norms import Norm
from calibrant.predictions import Event, admit
from calibrant.results import Estimate
from calibrant.types import Floats, Indices, Seed

MOST_BINS = 40
"""As in the paper's code."""


@estimator("crossvalidated", "cross-validated ECE", "ECE_CV", "ES_CV", views=EVERY_VIEW)
def crossvalidated_error(
    labels: Any,
    probs: Any = None,
    *,
    bins: Rule = EqualMass,
    norm: Norm = 1,
    debiased: bool = False,
    root: bool = True,
    clip: bool = True,
    view: Any = "auto",
    average: Literal["mean", "sum"] = "mean",
    n_folds: int = 10,
    max_bins: int = MOST_BINS,
    seed: Seed = 0,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far off is the model, with the number of bins that predicts held-out rows best?

    For each number of bins the map "unit slope within each bin", p + ȳ_k − p̄_k, is fitted
    on all folds but one and its squared loss taken on the rest; the fewest bins within
    0.1 % of the smallest loss are used. Rows are assigned to folds in order of their
    prediction, ties shuffled by `seed`, so their order does not matter. Whole-number weights
    count as rows; other weights stay with their row.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    bins
        The rule without a number, which is found: `EqualMass` or `EqualWidth`.
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
    view
        `binary`, `top`, `class k` or `classwise`; `auto` is `binary` for one column and
        `top` for several.
    average
        For `classwise`: `mean` divides by the number of classes, `sum` does not; the root
        is taken afterwards.
    n_folds
        Number of folds.
    max_bins
        Largest number of bins tried.
    seed
        Shuffles rows with equal predictions.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean gap between prediction and observed rate over the number of bins
      that predicts held-out rows best.
    Bias: up near calibration, less than with many bins.
    Cost: one sort, then two prefix sums per fold and O(b log n) for each number of bins
      b.
    Source: Kängsepp et al. 2023, sec. 3.2 and C.2.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.crossvalidated_error(test).settings["n_bins"] > 1
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    check_count(n_folds, "n_folds", 2)
    check_count(max_bins, "max_bins")
    choose = partial(best_bins, n_folds=n_folds, most=max_bins, seed=check_seed(seed))
    options = Options(norm, debiased, root, clip, average)
    named = {"name": "crossvalidated_error", "kind": "cross-validated ", "how": f"by {n_folds}-fold cross-validation"}
    return chosen_error(predictions, view, bins, choose, options, **named)


def best_bins(event: Event, bins: str, *, n_folds: int, most: int, seed: int) -> int:
    """The fewest bins whose held-out loss is within 0.1 % of the best."""
    return fewest_within(held_out_losses(event, bins, n_folds, most, seed)) + 1


def held_out_losses(event: Event, bins: str, n_folds: int, most: int, seed: int) -> Floats:
    """Mean squared held-out loss of the unit-slope map for 1, 2, …, most bins.

    On the held-out rows of a bin, with offset δ = ȳ − p̄ of its training rows and r = p − y, the loss is
    Σr² + 2δΣr + δ²n: two prefix sums per fold give every bin of every binning.
    """
    columns, w = (event.probs, event.outcomes), event.weights
    if event.mass is not None and event.squares is not None:  # copies of a row may lie in different folds
        at, mass = event.mass.single()
        columns, w = (event.probs[at], event.outcomes[at]), mass.weights
    p, y, w, fold = rows_in_folds(*in_order(*columns, w), n_folds, seed)
    starts, r = group_starts(p), p - y
    values, all_n, all_r = p[starts], _prefix(w, starts), _prefix(w * r, starts)
    losses = np.full(most, inner(w, r**2))
    for f in range(int(fold.max()) + 1):
        held = fold == f
        test_n, test_r = _prefix(w * held, starts), _prefix(w * r * held, starts)
        train_n, train_r = all_n - test_n, all_r - test_r
        for b in range(1, most + 1):
            losses[b - 1] += _fold_loss(values, train_n, train_r, test_n, test_r, b, bins)
    return losses / all_n[-1]


def _prefix(terms: Floats, starts: Indices) -> Floats:
    """Sums over the first 0, 1, …, G groups."""
    return np.concatenate([[0.0], np.cumsum(np.add.reduceat(terms, starts))])


def _fold_loss(
    values: Floats, train_n: Floats, train_r: Floats, test_n: Floats, test_r: Floats, n_bins: int, bins: str
) -> float:
    """Σ 2δΣr + δ²n over the bins; a bin without training rows keeps the identity, δ = 0."""
    cuts = mass_cuts(train_n[1:], n_bins, 1e-12 * train_n[-1]) if bins == "mass" else width_cuts(values, n_bins)
    n, r = np.diff(train_n[cuts]), np.diff(train_r[cuts])
    offset = np.divide(-r, n, out=np.zeros_like(r), where=n > 1e-12 * train_n[-1])
    return float((2 * offset * np.diff(test_r[cuts]) + offset**2 * np.diff(test_n[cuts])).sum())
