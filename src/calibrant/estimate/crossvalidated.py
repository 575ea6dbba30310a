"""Cross-validated bins: the number of bins that predicts held-out outcomes best."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from calibrant.bins import EqualMass
from calibrant.bins.number import MOST_CROSSVALIDATED, best_bins
from calibrant.estimate.binned import Options
from calibrant.estimate.chosen import Rule, chosen_error
from calibrant.inputs import check_count, check_seed, check_tolerance
from calibrant.kernels.rows.sorted_folds import FEWER_WITHIN
from calibrant.methods import EVERY_VIEW, estimator
from calibrant.norms import Norm
from calibrant.predictions import admit
from calibrant.results import Estimate
from calibrant.types import Seed


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
    max_bins: int = MOST_CROSSVALIDATED,
    tolerance: float = FEWER_WITHIN,
    seed: Seed = 0,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far off is the model, with the number of bins that predicts held-out rows best?

    For each number of bins the map "unit slope within each bin", p + ȳ_k − p̄_k, is fitted
    on all folds but one and its squared loss taken on the rest; the fewest bins within
    `tolerance` of the smallest loss are used. Rows are assigned to folds in order of their
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
    tolerance
        Fewer bins are taken if their loss is, relatively, this near the smallest; 0 takes
        the smallest.
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
    check_tolerance(tolerance)
    choose = partial(best_bins, n_folds=n_folds, most=max_bins, seed=check_seed(seed), tolerance=tolerance)
    options = Options(norm, debiased, root, clip, average)
    name, kind, how = "crossvalidated_error", "cross-validated ", f"by {n_folds}-fold cross-validation"
    return chosen_error(predictions, view, bins, choose, options, name=name, kind=kind, how=how)
