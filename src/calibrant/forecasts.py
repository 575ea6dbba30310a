"""Forecasts: what was said about a real number and what came, and the questions one can ask of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant import inputs
from calibrant.predictions import chosen_rows
from calibrant.problems import InputError

Floats = NDArray[np.float64]

NODES = 200
"""Equally likely points that stand for a distribution where there is no closed form."""

HERMITE = 64
"""Points that stand for a Gaussian; exact for polynomials up to degree 127."""


class Forecasts(ABC):
    """A distribution for each of `n` real numbers, and the numbers that came: `labels`, `(n,)`.

    A kind of one's own gives `said`, `cdf`, `quantile`, `mean`, `variance` and `_take`; whatever has no closed form for
    it then goes through its quantiles.
    """

    kind: ClassVar[str] = "forecasts"
    labels: Floats
    weights: Floats | None
    groups: NDArray[Any] | None
    source: tuple[Forecasts, Any] | None
    """the forecasts and the map these were made of"""

    def _fill(self, labels: Any, n: int, weights: Any, groups: Any) -> None:
        self.labels = inputs.check_column(labels, "labels", n)
        self.weights = None if weights is None else inputs.check_weights(weights, n)
        self.groups = None if groups is None else inputs.check_groups(groups, n)
        self.source = None
        for array in (self.labels, self.weights, self.groups):
            if array is not None:
                array.flags.writeable = False

    @property
    def n(self) -> int:
        return len(self.labels)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        extras = [f"{self.n:,} row{'s' * (self.n != 1)}", *self._facts()]
        extras += ["weights"] if self.weights is not None else []
        extras += ["groups"] if self.groups is not None else []
        return f"{type(self).__name__}({', '.join(extras)})"

    def _facts(self) -> list[str]:
        """What else to print."""
        return []

    @property
    @abstractmethod
    def said(self) -> Floats:
        """What the model gave, `(n, k)`: equal rows are equal forecasts."""

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """The mean of each distribution."""

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """The variance of each distribution."""

    @abstractmethod
    def cdf(self, at: Any) -> Floats:
        """P(Y_i ≤ at_i) for one number, or one a row."""

    @abstractmethod
    def quantile(self, level: Any) -> Floats:
        """The value that each distribution stays below with probability `level`, one number or one a row."""

    @abstractmethod
    def _take(self, chosen: Any) -> Self:
        """The distributions of some rows, without labels."""

    def cdf_before(self, at: Any) -> Floats:
        """P(Y_i < at_i): less than `cdf` where a distribution jumps."""
        return self.cdf(at)

    def pit_range(self) -> tuple[Floats, Floats]:
        """Between which cumulative probabilities each label lies: the same twice for a continuous distribution."""
        return self.cdf_before(self.labels), self.cdf(self.labels)

    def pit(self, seed: int = 0) -> Floats:
        """The probability integral transform F_i(y_i), uniform on [0, 1] for a calibrated model.

        Where the distribution jumps at the label, or says nothing of its place, a point of the range is drawn with `seed`.
        """
        low, high = self.pit_range()
        if np.array_equal(low, high):
            return high
        drawn: Floats = low + np.random.default_rng(seed).random(self.n) * (high - low)
        return drawn

    def draw(self, rng: np.random.Generator) -> Floats:
        """A number from each distribution: what might have come if the model were right."""
        return self.quantile(np.clip(rng.random(self.n), np.finfo(float).tiny, 1 - 2**-53))

    def nodes(self) -> tuple[Floats, Floats]:
        """Points `(n, k)` and their probabilities `(k,)`, which stand for the distributions in sums."""
        levels = (np.arange(NODES) + 0.5) / NODES
        return np.stack([self.quantile(level) for level in levels], axis=1), np.full(NODES, 1 / NODES)

    def rows(self, which: Any) -> Self:
        """The forecasts of some rows: a mask, a slice or indices.

        Examples
        --------
        >>> from calibrant.forecasts import GaussianForecasts
        >>> GaussianForecasts([0.1, 0.9, 2.0], [0, 1, 2], [1, 1, 4]).rows(slice(1, 3)).mean
        array([1., 2.])
        """
        chosen = chosen_rows(which, self.labels, self.weights)
        part = self._take(chosen)
        part.labels = self.labels[chosen]
        part.weights = None if self.weights is None else self.weights[chosen]
        part.groups = None if self.groups is None else self.groups[chosen]
        part.source = None
        return part

    def _same_rows(self, other: Forecasts, made_by: Any) -> None:
        """Give `other` these rows' labels, weights and groups, and remember where it comes from."""
        other.labels, other.weights, other.groups = self.labels, self.weights, self.groups
        other.source = None if made_by is None else (self, made_by)

    def _column(self, values: Any, argument: str) -> Floats:
        """One number, or one a row, in float64."""
        if np.ndim(values) == 0:
            if isinstance(values, bool) or not isinstance(values, float | int | np.number) or np.isnan(values):
                raise InputError(argument, "must be a number, or one a row", f"it is {values!r}")
            return np.full(self.n, float(values))
        return inputs.check_column(values, argument, self.n)

    def _levels(self, level: Any) -> Floats:
        """Levels strictly between 0 and 1."""
        found = self._column(level, "level")
        outside = ~((found > 0) & (found < 1))
        if outside.any():
            raise InputError("level", "must lie between 0 and 1", f"it is {found[int(np.argmax(outside))]}")
        return found


def admit_forecasts(forecasts: Any) -> Forecasts:
    """Forecasts as they are: how every function of them takes its data."""
    if isinstance(forecasts, Forecasts):
        return forecasts
    raise InputError(
        "forecasts",
        "must be forecasts of a real number",
        f"it is a {type(forecasts).__name__}",
        "Use Predictions.from_gaussian, from_quantiles or from_samples",
    )


def _held(array: Any) -> Any:
    array.flags.writeable = False
    return array


class GaussianForecasts(Forecasts):
    """A mean and a variance for each row.

    Examples
    --------
    >>> from calibrant.forecasts import GaussianForecasts
    >>> said = GaussianForecasts([1.0, 0.0], mean=[0.0, 0.0], variance=[1.0, 4.0])
    >>> said.pit().round(4), said.quantile(0.5)
    (array([0.8413, 0.5   ]), array([0., 0.]))
    """

    kind: ClassVar[str] = "Gaussian"

    def __init__(self, labels: Any, mean: Any, variance: Any, *, weights: Any = None, groups: Any = None) -> None:
        self._set(inputs.check_column(mean, "mean"), variance)
        self._fill(labels, len(self._mean), weights, groups)

    def _set(self, mean: Floats, variance: Any) -> None:
        spread = inputs.check_column(variance, "variance", len(mean))
        inputs.check_all_positive(spread, "variance")
        self._mean, self._variance = _held(mean), _held(spread)

    @property
    def said(self) -> Floats:
        return np.stack([self._mean, self._variance], axis=1)

    @property
    def mean(self) -> Floats:
        return self._mean

    @property
    def variance(self) -> Floats:
        return self._variance

    @property
    def z(self) -> Floats:
        """Standardised residuals (y − μ)/σ."""
        return self.standardised(self.labels)

    def standardised(self, values: Floats) -> Floats:
        """(x − μ)/σ."""
        with np.errstate(over="ignore"):
            found: Floats = (values - self._mean) / np.sqrt(self._variance)
        return found

    def cdf(self, at: Any) -> Floats:
        from scipy.special import ndtr

        found: Floats = ndtr(self.standardised(self._column(at, "at")))
        return found

    def quantile(self, level: Any) -> Floats:
        from scipy.special import ndtri

        found: Floats = self._mean + np.sqrt(self._variance) * ndtri(self._levels(level))
        return found

    def draw(self, rng: np.random.Generator) -> Floats:
        """A Gaussian number each."""
        return self._mean + np.sqrt(self._variance) * rng.standard_normal(self.n)

    def nodes(self) -> tuple[Floats, Floats]:
        """Those of Gauss and Hermite."""
        x, w = np.polynomial.hermite_e.hermegauss(HERMITE)
        return self._mean[:, None] + np.sqrt(self._variance)[:, None] * x, w / w.sum()

    def with_gaussian(self, mean: Any, variance: Any, *, made_by: Any = None) -> GaussianForecasts:
        """The same rows with other means and variances, such as a map's output (`made_by` that map)."""
        changed = object.__new__(GaussianForecasts)
        changed._set(inputs.check_column(mean, "mean", self.n), variance)
        self._same_rows(changed, made_by)
        return changed

    def _take(self, chosen: Any) -> Self:
        part = object.__new__(type(self))
        part._mean, part._variance = _held(self._mean[chosen]), _held(self._variance[chosen])
        return part


class BentForecasts(Forecasts):
    """Gaussian forecasts whose cumulative probability a rising function has bent: F = R∘Φ((· − μ)/σ).

    R runs in straight lines through the knots `(x, y)`, from (0, 0) to (1, 1). Made by `QuantileRecalibration`.

    Examples
    --------
    >>> from calibrant.forecasts import BentForecasts, GaussianForecasts
    >>> said = BentForecasts(GaussianForecasts([0.0], [0.0], [1.0]), x=[0, 0.1, 0.9, 1], y=[0, 0.3, 0.7, 1])
    >>> bool(said.variance > 1), said.quantile(0.3).round(4)
    (True, array([-1.2816]))
    """

    kind: ClassVar[str] = "bent Gaussian"

    def __init__(self, base: GaussianForecasts, x: Any, y: Any, *, made_by: Any = None) -> None:
        self.base = base
        self.x, self.y = (np.array(knots, dtype=np.float64) for knots in (x, y))
        base._same_rows(self, made_by)

    def _facts(self) -> list[str]:
        return [f"{len(self.x)} knots"]

    @property
    def said(self) -> Floats:
        return self.base.said

    @property
    def knots(self) -> Floats:
        """Where R bends, in standard deviations from the mean; infinite at the ends."""
        from scipy.special import ndtri

        found: Floats = ndtri(self.x)
        return found

    @property
    def slopes(self) -> Floats:
        """Of R, piece by piece."""
        return np.diff(self.y) / np.diff(self.x)

    def _moments(self) -> tuple[float, float]:
        """Mean and variance of the standardised distribution, from those of the Gaussian's pieces."""
        z = self.knots
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        tilted = np.where(np.isfinite(z), z, 0.0) * density
        first = float(-(self.slopes * np.diff(density)).sum())
        second = float((self.slopes * (np.diff(self.x) - np.diff(tilted))).sum())
        return first, second - first**2

    @property
    def mean(self) -> Floats:
        return self.base.mean + np.sqrt(self.base.variance) * self._moments()[0]

    @property
    def variance(self) -> Floats:
        return self.base.variance * self._moments()[1]

    def cdf(self, at: Any) -> Floats:
        return np.interp(self.base.cdf(at), self.x, self.y)

    def quantile(self, level: Any) -> Floats:
        return self.base.quantile(np.interp(self._levels(level), self.y, self.x))

    def _take(self, chosen: Any) -> Self:
        part = object.__new__(type(self))
        part.base, part.x, part.y = self.base.rows(chosen), self.x, self.y
        return part


class QuantileForecasts(Forecasts):
    """Quantiles at the same `levels` for every row, `values` `(n, q)`; they must not cross.

    Between quantiles the distribution is taken to be even. Of what lies beyond the outermost nothing was said: their mass is
    put on them, and no quantile further out can be asked for. The PIT is drawn within the two levels around the label, so that
    a test of it tests the quantiles alone.

    Examples
    --------
    >>> from calibrant.forecasts import QuantileForecasts
    >>> said = QuantileForecasts([1.5, 9.0], [0.25, 0.5, 0.75], [[0, 1, 2], [0, 1, 2]])
    >>> said.cdf(1.5), said.quantile(0.5)
    (array([0.625, 0.625]), array([1., 1.]))
    """

    kind: ClassVar[str] = "quantile"

    def __init__(self, labels: Any, levels: Any, values: Any, *, weights: Any = None, groups: Any = None) -> None:
        self.levels = _held(checked_levels(levels))
        said = inputs.floats(values, "values").astype(np.float64)
        if said.ndim == 1:
            said = said[:, None]
        if said.shape[1] != len(self.levels):
            raise InputError("values", f"must have {len(self.levels)} columns, one a level", f"it has {said.shape[1]}")
        inputs.check_finite(said, "values")
        crossing = np.diff(said, axis=1) < 0
        if crossing.any():
            row, k = (int(i) for i in np.unravel_index(int(np.argmax(crossing)), crossing.shape))
            raise InputError(
                "values",
                "must not fall from one level to the next",
                f"row {row} has {said[row, k]} at {self.levels[k]:g} and {said[row, k + 1]} at {self.levels[k + 1]:g}",
                "np.sort(values, axis=1) if you agree",
            )
        self.values = _held(said)
        self._fill(labels, len(said), weights, groups)

    def _facts(self) -> list[str]:
        return [f"{len(self.levels)} level{'s' * (len(self.levels) != 1)}"]

    @property
    def said(self) -> Floats:
        return self.values

    @property
    def _masses(self) -> Floats:
        """Of the lowest quantile, of the pieces between quantiles, and of the highest."""
        return np.diff(self.levels, prepend=0.0, append=1.0)

    @property
    def mean(self) -> Floats:
        v = self.values
        middles = np.concatenate([v[:, :1], (v[:, :-1] + v[:, 1:]) / 2, v[:, -1:]], axis=1)
        found: Floats = middles @ self._masses
        return found

    @property
    def variance(self) -> Floats:
        v = self.values - self.mean[:, None]
        squares = (v[:, :-1] ** 2 + v[:, :-1] * v[:, 1:] + v[:, 1:] ** 2) / 3
        found: Floats = np.concatenate([v[:, :1] ** 2, squares, v[:, -1:] ** 2], axis=1) @ self._masses
        return found

    def cdf(self, at: Any) -> Floats:
        return self._cdf(self._column(at, "at"), False)

    def cdf_before(self, at: Any) -> Floats:
        return self._cdf(self._column(at, "at"), True)

    def _cdf(self, at: Floats, before: bool) -> Floats:
        v, x, last = self.values, at[:, None], len(self.levels) - 1
        below = ((v < x) if before else (v <= x)).sum(axis=1)  # quantiles to the left
        left, right = np.clip(below - 1, 0, last), np.clip(below, 0, last)
        low, high = (np.take_along_axis(v, k[:, None], axis=1)[:, 0] for k in (left, right))
        width = high - low
        part = np.divide(at - low, width, out=np.zeros(self.n), where=width > 0)
        inside = self.levels[left] + part * (self.levels[right] - self.levels[left])
        return np.where(below == 0, 0.0, np.where(below > last, 1.0, inside))

    def pit_range(self) -> tuple[Floats, Floats]:
        y, ends = self.labels[:, None], np.concatenate([[0.0], self.levels, [1.0]])
        return ends[(self.values < y).sum(axis=1)], ends[(self.values <= y).sum(axis=1) + 1]

    def quantile(self, level: Any) -> Floats:
        wanted = self._levels(level)
        beyond = (wanted < self.levels[0]) | (wanted > self.levels[-1])
        if beyond.any():
            ends = f"{self.levels[0]:g} and {self.levels[-1]:g}"
            raise InputError(
                "level", f"must lie between the outermost quantiles, {ends}", f"it is {wanted[int(np.argmax(beyond))]}"
            )
        return self._inverse(wanted)

    def _inverse(self, wanted: Floats) -> Floats:
        """Straight lines between the quantiles."""
        right = np.clip(np.searchsorted(self.levels, wanted), 1, max(len(self.levels) - 1, 1))
        right = np.minimum(right, len(self.levels) - 1)
        left = np.maximum(right - 1, 0)
        low, high = (np.take_along_axis(self.values, k[:, None], axis=1)[:, 0] for k in (left, right))
        width = self.levels[right] - self.levels[left]
        part = np.divide(wanted - self.levels[left], width, out=np.ones(self.n), where=width > 0)
        found: Floats = low + part * (high - low)
        return np.where(wanted == self.levels[right], high, found)

    def draw(self, rng: np.random.Generator) -> Floats:
        """From the distribution with its tails put on the outermost quantiles."""
        return self._inverse(np.clip(rng.random(self.n), self.levels[0], self.levels[-1]))

    def nodes(self) -> tuple[Floats, Floats]:
        """Equally likely points, the tails on the outermost quantiles."""
        levels = np.clip((np.arange(NODES) + 0.5) / NODES, self.levels[0], self.levels[-1])
        return np.stack([self._inverse(np.full(self.n, level)) for level in levels], axis=1), np.full(NODES, 1 / NODES)

    def _take(self, chosen: Any) -> Self:
        part = object.__new__(type(self))
        part.levels, part.values = self.levels, _held(self.values[chosen])
        return part


class SampleForecasts(Forecasts):
    """`m` draws for each row, `(n, m)`: a posterior predictive sample, or an ensemble. Kept in order of size.

    The distribution is that of the samples, each with probability 1/m; `variance` divides by m. The PIT is the rank of the label
    among samples and label, (rank − 1 + U)/(m + 1): exactly uniform if the label is one draw more of the same kind.

    Examples
    --------
    >>> from calibrant.forecasts import SampleForecasts
    >>> said = SampleForecasts([1.5, 9.0], [[3, 1, 2, 0], [3, 1, 2, 0]])
    >>> said.cdf(1.5), said.mean, said.quantile(0.5)
    (array([0.5, 0.5]), array([1.5, 1.5]), array([1., 1.]))
    """

    kind: ClassVar[str] = "sample"

    def __init__(self, labels: Any, samples: Any, *, weights: Any = None, groups: Any = None) -> None:
        drawn = inputs.floats(samples, "samples").astype(np.float64)
        if drawn.ndim == 1:
            drawn = drawn[:, None]
        inputs.check_finite(drawn, "samples")
        self.samples = _held(np.sort(drawn, axis=1))
        self._fill(labels, len(drawn), weights, groups)

    @property
    def n_samples(self) -> int:
        return self.samples.shape[1]

    def _facts(self) -> list[str]:
        return [f"{self.n_samples} sample{'s' * (self.n_samples != 1)}"]

    @property
    def said(self) -> Floats:
        return self.samples

    @property
    def mean(self) -> Floats:
        found: Floats = self.samples.mean(axis=1)
        return found

    @property
    def variance(self) -> Floats:
        found: Floats = self.samples.var(axis=1)
        return found

    def cdf(self, at: Any) -> Floats:
        found: Floats = (self.samples <= self._column(at, "at")[:, None]).mean(axis=1)
        return found

    def cdf_before(self, at: Any) -> Floats:
        found: Floats = (self.samples < self._column(at, "at")[:, None]).mean(axis=1)
        return found

    def pit_range(self) -> tuple[Floats, Floats]:
        y, places = self.labels[:, None], self.n_samples + 1
        return (self.samples < y).sum(axis=1) / places, ((self.samples <= y).sum(axis=1) + 1) / places

    def quantile(self, level: Any) -> Floats:
        """The smallest sample below or at which a share of `level` lies."""
        place = np.ceil(self._levels(level) * self.n_samples - ROUNDING).astype(np.intp) - 1
        return np.take_along_axis(self.samples, np.maximum(place, 0)[:, None], axis=1)[:, 0]

    def draw(self, rng: np.random.Generator) -> Floats:
        """One of the samples each."""
        return np.take_along_axis(self.samples, rng.integers(0, self.n_samples, self.n)[:, None], axis=1)[:, 0]

    def nodes(self) -> tuple[Floats, Floats]:
        """The samples."""
        return self.samples, np.full(self.n_samples, 1 / self.n_samples)

    def _take(self, chosen: Any) -> Self:
        part = object.__new__(type(self))
        part.samples = _held(self.samples[chosen])
        return part


ROUNDING = 1e-9
"""0.3·10 is 3, although floating point makes it a little more."""


def checked_levels(levels: Any) -> Floats:
    """Levels strictly between 0 and 1, rising."""
    found = inputs.check_column(levels, "levels")
    if (found <= 0).any() or (found >= 1).any() or (np.diff(found) <= 0).any():
        raise InputError("levels", "must rise, strictly between 0 and 1", f"they are {inputs.listed(found.tolist())}")
    return found
