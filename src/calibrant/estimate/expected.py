"""What will plain ECE read at another sample size, and how much of it is noise?"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.bins import Binning, EqualWidth, bins_of
from calibrant.estimate.binned import collect
from calibrant.inputs import check_choice, check_count
from calibrant.kernels.sums.folded_normal import folded_normal_mean
from calibrant.methods import estimator
from calibrant.predictions import admit
from calibrant.results import Estimate


@estimator("expected_ece", "expected ECE", of_the_error=False)
def expected_ece(
    labels: Any,
    probs: Any = None,
    *,
    n: int | None = None,
    bins: int | Binning = 15,
    norm: Literal[1, 2] = 1,
    root: bool = True,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """What would plain ECE be on average with `n` rows like these?

    Each bin's gap is taken as normal around the observed gap, with variance
    (V_conf + ȳ(1−ȳ))/n_k, where V_conf is the variance of the predictions in the bin; the mean
    of its absolute value has a closed form. `noise_floor` is the same for a perfectly
    calibrated model. As n grows the value falls to the observed gap: the difference is what
    noise adds.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    n
        Number of rows; by default as many as there are.
    bins
        Number of equal-width bins, or a rule for bins.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square.
    root
        Take the α-th root; `False` gives the squared error for norm 2.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean of the plain binned error over samples of a given size.
    Bias: up: the gaps seen here are noisy themselves.
    Cost: one pass.
    Source: Gruber & Buettner 2022, Prop. 3.3.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.expected_ece(test, n=100) > cal.expected_ece(test, n=100_000)
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = predictions.event(view)
    if n is not None:
        check_count(n, "n")
    check_choice("norm", norm, (1, 2))
    rule = bins_of(bins, EqualWidth)
    state = collect(predictions, rule, predictions.view(view))
    size = float(state.total[0] * (1 if n is None else n / event.n))
    share = state.weight[0] / state.total[0]
    gap, rate = (state.mean_prob - state.label_rate)[0], state.label_rate[0]
    rows = share * size
    part = np.divide(1.0, rows, out=np.zeros_like(rows), where=rows > 0)
    if state.squares is not None:  # n rows with weights like these
        part = np.divide(state.total[0] / size, state.rows[0], out=np.zeros_like(rows), where=state.rows[0] > 0)
    variance = part * (state.prob_variance[0] + rate * (1 - rate))
    null = part * state.mean_variance[0]
    power = float(share @ (gap**2 + variance if norm == 2 else folded_normal_mean(gap, np.sqrt(variance))))
    floor = float(share @ (null if norm == 2 else folded_normal_mean(np.zeros_like(gap), np.sqrt(null))))
    value, floor = (np.sqrt(power), float(np.sqrt(floor))) if norm == 2 and root else (power, floor)
    n = event.n if n is None else n
    described = {"view": predictions.view(view), "bins": rule.describe(), "norm": norm, "n": n, "root": root}
    title = f"ECE expected at n = {n:,}"
    return Estimate("expected_ece", title, value, event.n, None, floor, described, {"bins": state.table()})
