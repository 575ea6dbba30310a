"""Monotonic sweep: as many bins as keep the observed rates rising."""

from __future__ import annotations

from typing import Any, Literal

from calibrant.bins import EqualMass
from calibrant.bins.equal_mass import Ties, check_ties
from calibrant.bins.number import rising_bins, rising_ranks
from calibrant.estimate.binned import Options
from calibrant.estimate.chosen import Rule, chosen_error, rule_name
from calibrant.methods import EVERY_VIEW, estimator
from calibrant.norms import Norm
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Estimate


@estimator("sweep", "sweep ECE", "ECE_sweep", "ESweep", views=EVERY_VIEW)
def sweep_error(
    labels: Any,
    probs: Any = None,
    *,
    bins: Rule = EqualMass,
    ties: Ties = "keep",
    norm: Norm = 1,
    debiased: bool = False,
    root: bool = True,
    clip: bool = True,
    view: Any = "auto",
    average: Literal["mean", "sum"] = "mean",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far off is the model, with as many bins as keep the observed rates rising?

    Bins are added one by one, 2, 3, …, while the observed rates ȳ_1 ≤ … ≤ ȳ_b keep rising;
    the last such number is used. Empty bins are skipped in the check; there are never more
    bins than rows. `settings["n_bins"]` is the number.

    When to trust it: low bias for miscalibrated models at small n; it assumes that the true
    rates rise with the prediction.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    bins
        The rule without a number, which is found: `EqualMass` or `EqualWidth`.
    ties
        Of equal-mass bins: `"keep"`, or split as in `EqualMass`. `"caltrain"` is the sweep of
        the code that Roelofs et al. released, with at most n − 1 bins, `"array_split"` that of
        Kängsepp et al.
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
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean gap between prediction and observed rate over as many bins as keep
      the rates rising.
    Bias: small; up near calibration.
    Cost: one sort, then O(b log n) for each number of bins b tried.
    Source: Roelofs et al. 2022, algorithm 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.sweep_error([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.6, 0.7, 0.9])
    >>> found.settings["n_bins"], round(found.value, 4)
    (3, 0.1167)
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    options = Options(norm, debiased, root, clip, average)
    named: dict[str, Any] = {"name": "sweep_error", "kind": "sweep ", "how": "the most with rising rates", "ties": ties}
    if check_ties(ties) == "keep":
        return chosen_error(predictions, view, bins, rising_bins, options, **named)
    if rule_name(bins) != "mass":
        raise InputError("ties", "can be split in equal-mass bins only", f"bins is {bins.__name__}", "Use EqualMass")
    return chosen_error(predictions, view, bins, lambda event, _: rising_ranks(event, ties), options, **named)
