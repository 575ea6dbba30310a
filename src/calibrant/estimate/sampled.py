"""Confidences that are themselves counted: the share of m samples that agree with an answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.estimate.selective import grouped_rows
from calibrant.inputs import check_count
from calibrant.kernels.pairs.row_pairs import squared_gaps
from calibrant.options import checked
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Table
from calibrant.types import Floats, Indices

WHOLE = 1e-3
"""How far k may be from a whole number: confidences are often printed with three digits."""


@checked
def sampled_error(
    labels: Any,
    probs: Any = None,
    *,
    n_samples: int,
    groups: Any = None,
    root: bool = True,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How wrong would shares of samples be with many samples? Corrects for few samples.

    A confidence k/m is a noisy estimate of π, the share among infinitely many samples: high
    values are too high on average, low ones too low, so even a perfectly calibrated π seems
    over-confident. Here one sample in turn is held out: the other m − 1 say which level a
    row belongs to, and the one held out, which estimates π, is compared with the outcome.
    The value is the root of the mean square of E[y − π | k of m − 1], from products of
    different rows, so that neither small m nor small n biases it upwards. It never exceeds
    the calibration error of π and is 0 if π is calibrated. A negative mean square keeps its
    sign under the root.

    `parts["levels"]` has the gap of each level; `parts["brier"]` an unbiased estimate of the
    Brier score of π; `parts["plain"]` the same error of k/m itself.

    When to trust it: the answer must not be chosen by its samples. One that is the most
    frequent of m has too high a share by selection: draw the answer separately, greedily or
    as one more sample.

    Parameters
    ----------
    labels, probs
        Was the answer right, and the share k/m of samples that agree; or one `Predictions`.
    n_samples
        m.
    groups
        Rows of the same group may depend on each other: products are of different groups.
    root
        `False` gives the square.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> share = rng.beta(2, 1, 4000)
    >>> stated, right = rng.binomial(5, share) / 5, rng.random(4000) < share
    >>> found = sampled_error(right, stated, n_samples=5)
    >>> found.value < 0.02, round(found.parts["plain"], 2)
    (True, 0.11)
    """
    predictions = grouped_rows(admit(labels, probs, counts=counts, weights=weights), groups)
    event = predictions.event(view)
    m = check_count(n_samples, "n_samples", 2)
    p, y = event.probs.astype(np.float64), event.outcomes.astype(np.float64)
    w = np.ones(len(p)) if event.weights is None else event.weights
    k = _counts(p, m)
    clusters = predictions.groups
    cluster = np.arange(len(event.probs)) if clusters is None else np.unique(clusters, return_inverse=True)[1].ravel()
    level, value, mass = _held_out(k, y, m, w)
    squares, masses = squared_gaps(level, np.concatenate([cluster, cluster]), value, mass, m)
    power = _mean(squares, masses)
    if np.isnan(power):
        raise InputError("labels", "must hold two rows of different groups on one level at least", "none has")
    plain = _mean(*squared_gaps(k, cluster, w * (k / m - y), w, m + 1))
    parts = {
        "plain": _rooted(plain) if root else plain,
        "brier": float(np.average((k / m - y) ** 2 - (k / m) * (1 - k / m) / (m - 1), weights=w)),
        "levels": _level_table(level, value, mass, m),
    }
    lost = float(masses[np.isnan(squares)].sum())
    cautions = (f"rows of weight {lost:.3g} have no partner on their level and are left out",) if lost > 0 else ()
    described = {"view": predictions.view(view), "n_samples": m, "root": root}
    title = ("RMS" if root else "squared") + f" calibration error of the share behind {m} samples"
    found = _rooted(power) if root else power
    return Estimate("sampled_error", title, found, event.n, None, None, described, parts, cautions)


def _mean(squares: Floats, masses: Floats) -> float:
    """The mean over the levels that have one; NaN if none has."""
    known = ~np.isnan(squares)
    return float(masses[known] @ squares[known]) / float(masses[known].sum()) if known.any() else np.nan


def _rooted(power: float) -> float:
    return float(np.sign(power) * np.sqrt(abs(power)))


def _counts(p: Floats, m: int) -> Indices:
    k = np.rint(p * m)
    off = np.abs(p * m - k) > WHOLE * m
    if off.any():
        row = int(np.argmax(off))
        raise InputError("probs", f"must be shares of {m} samples", f"probs[{row}] is {p[row]:g}, no multiple of 1/{m}")
    return k.astype(np.intp)


def _held_out(k: Indices, y: Floats, m: int, w: Floats) -> tuple[Indices, Floats, Floats]:
    """Each row twice, with its weight split between the two.

    Either a sample that disagreed is held out (share (m−k)/m, level k), or one that
    agreed (share k/m, level k−1).
    """
    level = np.concatenate([np.minimum(k, m - 1), np.maximum(k - 1, 0)])
    mass = np.concatenate([w * ((m - k) / m), w * (k / m)])
    value = mass * np.concatenate([-y, 1 - y])
    return level, value, mass


def _level_table(level: Indices, value: Floats, mass: Floats, m: int) -> Table:
    rows = np.bincount(level, mass, m)
    gaps = np.divide(np.bincount(level, value, m), rows, out=np.zeros(m), where=rows > 0)
    body = tuple((f"{j} of {m - 1}", f"{rows[j]:.4g}", float(gaps[j])) for j in range(m) if rows[j] > 0)
    note = "gap: share of agreeing samples minus share of right answers; positive is over-confident"
    return Table("By the other samples", ("agreed", "rows", "gap"), body, note)
