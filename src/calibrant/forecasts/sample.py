"""Sample forecasts: draws from each distribution, or the members of an ensemble."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from calibrant import inputs
from calibrant.arrays import read_only
from calibrant.forecasts.base import Forecasts, checked_matrix, counted
from calibrant.types import Floats, Seed

ROUNDING = 1e-9
"""0.3·10 is 3, although floating point makes it a little more."""


class SampleForecasts(Forecasts):
    """Draws for each row: a posterior predictive sample, or an ensemble. Kept in increasing order.

    The distribution is that of the m samples, each with probability 1/m; `variance`
    divides by m. The PIT is the rank of the label among samples and label,
    (rank − 1 + U)/(m + 1): exactly uniform if the label is one more draw from the same
    distribution.

    Parameters
    ----------
    labels
        The numbers observed, `(n,)`.
    samples
        The draws, `(n, m)`.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.
    groups
        The cluster of each row, if rows depend on each other.

    Examples
    --------
    >>> from calibrant.forecasts import SampleForecasts
    >>> forecasts = SampleForecasts([1.5, 9.0], [[3, 1, 2, 0], [3, 1, 2, 0]])
    >>> forecasts.cdf(1.5), forecasts.mean, forecasts.quantile(0.5)
    (array([0.5, 0.5]), array([1.5, 1.5]), array([1., 1.]))
    """

    kind: ClassVar[str] = "sample"
    per_row: ClassVar[tuple[str, ...]] = ("samples",)

    def __init__(
        self, labels: Any, samples: Any, *, counts: Any = None, weights: Any = None, groups: Any = None
    ) -> None:
        self.samples: Floats = read_only(np.sort(checked_matrix(samples, "samples"), axis=1))
        self._fill(labels, len(self.samples), counts, weights, groups, samples=samples)

    @property
    def n_samples(self) -> int:
        return self.samples.shape[1]

    def _facts(self) -> list[str]:
        return [counted(self.n_samples, "sample")]

    @property
    def outputs(self) -> Floats:
        return self.samples

    @property
    def mean(self) -> Floats:
        return np.asarray(self.samples.mean(axis=1))

    @property
    def variance(self) -> Floats:
        return np.asarray(self.samples.var(axis=1))

    def cdf(self, at: Any) -> Floats:
        return np.asarray((self.samples <= self._column(at, "at")[:, None]).mean(axis=1))

    def cdf_before(self, at: Any) -> Floats:
        return np.asarray((self.samples < self._column(at, "at")[:, None]).mean(axis=1))

    def pit_range(self) -> tuple[Floats, Floats]:
        y, places = self.labels[:, None], self.n_samples + 1
        return (self.samples < y).sum(axis=1) / places, ((self.samples <= y).sum(axis=1) + 1) / places

    def quantile(self, level: Any) -> Floats:
        """The smallest sample with at least a share of `level` of the samples at or below it."""
        place = np.ceil(self._levels(level) * self.n_samples - ROUNDING).astype(np.intp) - 1
        return self.samples[np.arange(len(self.labels)), np.maximum(place, 0)]

    def draw(self, seed: Seed) -> Floats:
        n = len(self.labels)
        return self.samples[np.arange(n), inputs.generator_of(seed).integers(0, self.n_samples, n)]

    def nodes(self) -> tuple[Floats, Floats]:
        """The samples, equally likely."""
        return self.samples, np.full(self.n_samples, 1 / self.n_samples)
