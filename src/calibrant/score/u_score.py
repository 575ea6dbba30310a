"""Proper U-scores: scores of several rows at a time, which can see calibration alone (Gruber & Buettner 2022, appendix F)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice, check_positive
from calibrant.interval import around, normal_quantile
from calibrant.kernels.logits import two_columns
from calibrant.kernels.sums.stable_sums import inner
from calibrant.predictions import Event, Predictions, admit
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.rule import Named
from calibrant.types import Floats

TILE = 128
"""Rows and columns of a tile of pairs: 128 kB stay in a core's cache, and a product so small wakes no other threads."""


MOST_TUPLES, TUPLES_AT_ONCE = 1 << 20, 1 << 14
"""Sets of rows that are all scored; of more, so many are drawn. And how many are scored in one call."""


class UScore(Named):
    """A score of `order` rows at a time, two unless said otherwise: everything else follows.

    Of two rows, define `of_pairs`: S(P, P', Q, Q') must be the same when the two rows
    change places, and linear in Q and in Q', which stand for the labels: rows of one-hot
    labels, of shares, or of true distributions. So it is also the expected score. Of any
    other number of rows, set `order` and define `of_tuples`, with the same properties;
    order 1 is an ordinary proper score.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> class Apart(cal.score.UScore):  # every pair counts the same: the squared mean gap
    ...     title = "squared mean gap"
    ...     def of_pairs(self, probs, truth, others, other_truth):
    ...         return (probs - truth) @ (others - other_truth).T
    >>> round(Apart().score([1, 0, 1], [0.9, 0.2, 0.7]).value, 6)  # of −0.1, 0.2 and −0.3: (−0.02 + 0.03 − 0.06)·2/3
    -0.033333
    >>> class Cubic(cal.score.UScore):  # the mean over three rows of the product of their gaps
    ...     title, order = "cubed mean gap", 3
    ...     def of_tuples(self, probs, truth):
    ...         return np.prod(probs - truth, axis=1)[:, 1]
    >>> round(Cubic().score([1, 0, 1], [0.9, 0.2, 0.7]).value, 6)
    0.006
    """

    order: ClassVar[int] = 2
    """rows at a time"""

    @property
    def _has_pairs(self) -> bool:
        return self.order == 2 and type(self).of_pairs is not UScore.of_pairs

    def of_pairs(self, probs: Floats, truth: Floats, others: Floats, other_truth: Floats) -> Floats:
        """S of every row `(a, K)` with every other row `(b, K)`, as `(a, b)`."""
        raise NotImplementedError("define of_pairs; or set order and define of_tuples")

    def of_tuples(self, probs: Floats, truth: Floats) -> Floats:
        """S of each set of rows: `(m, order, K)` predictions and labels, as `(m,)`."""
        if not self._has_pairs:
            raise NotImplementedError(f"define of_tuples for scores of {self.order} rows")
        pairs = (self.of_pairs(p[:1], t[:1], p[1:], t[1:]) for p, t in zip(probs, truth, strict=True))
        return np.array([float(each[0, 0]) for each in pairs])

    def entropy(self, truth: Floats, other_truth: Floats | None = None) -> Floats:
        """g: the score of the truth itself, of all pairs of `(a, K)` and `(b, K)`, or of sets of rows `(m, order, K)`."""
        if other_truth is None:
            return self.of_tuples(truth, truth)
        return self.of_pairs(truth, truth, other_truth, other_truth)

    def divergence(
        self, probs: Floats, truth: Floats, others: Floats | None = None, other_truth: Floats | None = None
    ) -> Floats:
        """d = S − g, of pairs or of sets of rows. Its mean over independent rows, not every single one, is at least 0."""
        if others is None or other_truth is None:
            return self.of_tuples(probs, truth) - self.entropy(truth)
        return self.of_pairs(probs, truth, others, other_truth) - self.entropy(truth, other_truth)

    def score(
        self,
        labels: Any,
        probs: Any = None,
        *,
        view: Any = "canonical",
        level: float = 0.95,
        counts: Any = None,
        weights: Any = None,
    ) -> Estimate:
        """The mean over sets of `order` different rows: unbiased, and possibly negative.

        The interval is Student's with the jackknife's error, order²/n of the variance of
        the rows' own means. For a calibrated model, where the errors of pairs cancel, it is
        too wide rather than too short. Where there are more than a million sets of three
        or more rows, a million of them are drawn, with a caution.

        Parameters
        ----------
        labels
            Classes, one per row, or a `Predictions`, which carries everything else.
        probs
            Predicted probabilities: one column for an event, or one per class.
        view
            `"canonical"` for all classes, or the view of a yes/no question.
        level
            Confidence of the interval.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        predictions = admit(labels, probs, counts=counts, weights=weights)
        normal_quantile(level)
        name = "canonical" if view == "canonical" else predictions.event(view).name
        p, truth = share_rows(predictions, None if name == "canonical" else predictions.event(name))
        w = np.ones(len(p)) if predictions.weights is None else predictions.weights
        kept = w > 0
        spread = w if predictions.spread is None else predictions.spread
        rows = p[kept], truth[kept], w[kept], spread[kept]
        few: tuple[str, ...] = ()
        if self._has_pairs:
            value, error, n = self._jackknife(*rows)
        else:
            value, error, n, few = self._over_sets(*rows)
        few += () if error is not None else (f"{NUMBERS.get(self.order, self.order)} rows have no interval",)
        interval = None if error is None else around(value, error, n - 1, level, "jackknife, Student t")
        named, described = f"{self.name}_score", {"view": name, "score": self.name, **self.describe()}
        return Estimate(named, self.title, value, predictions.n, interval, None, described, {}, few)

    def _jackknife(self, p: Floats, truth: Floats, w: Floats, spread: Floats) -> tuple[float, float | None, float]:
        """Mean over pairs, its error, and the number of rows."""
        n = float(w.sum())
        if n < 2:
            raise InputError("labels", "must hold at least two rows for a score of pairs", f"it holds {n:g}")
        sums, own = self._sums(p, truth, w)
        unit = spread / w  # the weight of one copy
        means = (sums - unit * own) / (n - unit)  # of each row with all others
        value = inner(w, means) / n
        if n <= 2:
            return value, None, n
        squares = inner(spread, (means - value) ** 2)
        return value, 2 * (squares * (n - 1) / n) ** 0.5 / (n - 2), n

    def _over_sets(
        self, p: Floats, truth: Floats, w: Floats, spread: Floats
    ) -> tuple[float, float | None, float, tuple[str, ...]]:
        """Mean over sets of `order` rows, its error by the jackknife, the number of rows, and a caution if sets were drawn."""
        unit, r = spread / w, self.order  # the weight of one copy
        copies = np.repeat(np.arange(len(p)), np.round(w / unit).astype(np.intp))
        u = unit[copies]
        n, rows = float(u.sum()), len(copies)
        if rows < r:
            raise InputError("labels", f"must hold at least {r} rows for a score of {r} rows", f"it holds {rows}")
        total, mass, of_row, mass_of_row = 0.0, 0.0, np.zeros(rows), np.zeros(rows)
        drawn = math.comb(rows, r) > MOST_TUPLES
        for sets in _drawn_sets(rows, r) if drawn else _all_sets(rows, r):
            at = copies[sets]
            weight = np.prod(u[sets], axis=1)
            values = weight * self.of_tuples(p[at], truth[at])
            total, mass = total + float(values.sum()), mass + float(weight.sum())
            of_row += np.bincount(sets.ravel(), np.repeat(values, r), rows)
            mass_of_row += np.bincount(sets.ravel(), np.repeat(weight, r), rows)
        value = total / mass
        caution = (f"{MOST_TUPLES:,} of the sets of {r} rows were drawn",) if drawn else ()
        if rows == r:
            return value, None, n, caution
        own = np.divide(of_row, mass_of_row, out=np.full(rows, value), where=mass_of_row > 0) - value
        return value, r * (inner(u * u, own**2) * (n - 1) / n) ** 0.5 / (n - r), n, caution

    def _sums(self, p: Floats, truth: Floats, w: Floats) -> tuple[Floats, Floats]:
        """For each row, Σ_j w_j S_ij over all rows, and S_ii; tile by tile, each pair once, in O(n) memory."""
        n = len(p)
        blocks = [slice(start, min(start + TILE, n)) for start in range(0, n, TILE)]
        total, own = np.zeros(n), np.empty(n)
        for i, rows in enumerate(blocks):
            for others in blocks[i:]:
                tile = self.of_pairs(p[rows], truth[rows], p[others], truth[others])
                total[rows] += (tile * w[others]).sum(axis=1)
                if others is rows:
                    own[rows] = np.diagonal(tile)
                else:
                    total[others] += (tile * w[rows, None]).sum(axis=0)
        return total, own


NUMBERS = {1: "one", 2: "two", 3: "three"}


def _all_sets(n: int, order: int) -> Iterator[Any]:
    """Every set of so many of n rows, some at a time: `(m, order)`."""
    every = combinations(range(n), order)
    while part := list(islice(every, TUPLES_AT_ONCE)):
        yield np.array(part, dtype=np.intp)


def _drawn_sets(n: int, order: int) -> Iterator[Any]:
    """`MOST_TUPLES` sets of so many different rows, drawn with one seed."""
    generator = np.random.default_rng(0)
    left = MOST_TUPLES
    while left:
        found = generator.integers(n, size=(TUPLES_AT_ONCE, order))
        ranked = np.sort(found, axis=1)
        found = found[(np.diff(ranked, axis=1) > 0).all(axis=1)][:left]
        left -= len(found)
        yield found


def share_rows(predictions: Predictions, event: Event | None = None) -> tuple[Floats, Floats]:
    """Probabilities and labels as rows of class shares, `(n, K)`: of all classes, or of an event and its complement."""
    if event is None and predictions.is_binary:
        event = predictions.event()
    if event is not None:
        return two_columns(event.probs.astype(np.float64)), two_columns(event.outcomes.astype(np.float64))
    p, labels = predictions.probs.astype(np.float64), predictions.labels
    return p, labels.astype(np.float64) if predictions.soft else np.eye(p.shape[1])[labels]


def _apart(rows: Floats, others: Floats, squared: bool) -> Floats:
    """Σ_k |x_k − x'_k| or its squares for all pairs; class by class, so that memory is that of the tile."""
    total = np.zeros((len(rows), len(others)))
    for k in range(rows.shape[1]):
        step = rows[:, k, None] - others[:, k]
        total += step * step if squared else np.abs(step)
    return total


@dataclass(frozen=True, slots=True)
class Kernel:
    """κ as a function of a distance: total variation ½‖·‖₁ or the Euclidean distance."""

    squared: bool
    """takes sums of squares rather than of absolute differences"""
    of: Any
    """(bandwidth, tile of sums) → κ"""
    distance: Any
    """(tile of sums) → distance, for the median"""
    line: float
    """distance of (1−p, p) and (1−q, q) in units of |p − q|"""


def _tv(bandwidth: float, sums: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.exp(-0.5 * (sums / bandwidth))


def _laplace(bandwidth: float, squares: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.exp(-np.sqrt(squares) / bandwidth)


def gaussian(bandwidth: float, squares: Floats) -> Floats:
    """exp(−‖·‖₂²/(2ν²))."""
    with np.errstate(over="ignore"):
        return np.exp(-0.5 * (squares / bandwidth / bandwidth))


KERNELS = {
    "tv": Kernel(False, _tv, lambda sums: sums / 2, 1.0),
    "laplace": Kernel(True, _laplace, np.sqrt, 2**0.5),
    "gaussian": Kernel(True, gaussian, np.sqrt, 2**0.5),
}


class KernelScore(UScore):
    """κ(P, P')·⟨P − e_y, P' − e_y'⟩, whose mean is the squared kernel calibration error, SKCE.

    The entropy is 0, and the constant forecast P(Y) scores 0 as well: the score sees
    calibration and nothing of sharpness. The bandwidth is fixed beforehand, so that the
    mean is exactly unbiased; `skce` takes it from the data unless it is given.

    Parameters
    ----------
    kernel
        `"tv"`, `"laplace"` or `"gaussian"`, as in `skce`, or a positive definite
        function of two sets of rows, `(a, K)` and `(b, K)`, that gives κ as `(a, b)`.
    bandwidth
        Of a kernel given by its name.

    Examples
    --------
    >>> import calibrant as cal
    >>> labels, probs = [1, 0, 1], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]
    >>> found = cal.score.KernelScore("gaussian", bandwidth=0.5).score(labels, probs)
    >>> abs(found.value - cal.skce(labels, probs, kernel="gaussian", bandwidth=0.5).value) < 1e-12
    True
    >>> mine = cal.score.KernelScore(lambda rows, others: (rows @ others.T) ** 2)
    >>> round(mine.score(labels, probs).value, 6)
    -0.057013
    """

    name, title = "kernel", "SKCE"

    def __init__(
        self,
        kernel: Literal["tv", "laplace", "gaussian"] | Callable[[Floats, Floats], Floats] = "tv",
        bandwidth: float = 1.0,
    ) -> None:
        if not callable(kernel):
            check_choice("kernel", kernel, tuple(KERNELS))
        self.kernel, self.bandwidth = kernel, check_positive("bandwidth", bandwidth)

    def of_pairs(self, probs: Floats, truth: Floats, others: Floats, other_truth: Floats) -> Floats:
        """κ times the inner product of the residuals."""
        if callable(self.kernel):
            near = self.kernel(probs, others)
        else:
            kernel = KERNELS[self.kernel]
            near = kernel.of(self.bandwidth, _apart(probs, others, kernel.squared))
        return near * ((probs - truth) @ (others - other_truth).T)

    def describe(self) -> dict[str, Any]:
        """The kernel, by its name."""
        if callable(self.kernel):
            return {"kernel": getattr(self.kernel, "__name__", repr(self.kernel))}
        return {"kernel": self.kernel, "bandwidth": self.bandwidth}
