"""Bayesian binning: an average of histograms, weighted by their posterior probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from calibrant.inputs import check_positive
from calibrant.kernels.rows.pooling import mass_cuts
from calibrant.maps.binary import BinaryRecipe, doubts, margin
from calibrant.maps.calibration_map import Fit, map_recipe, map_record
from calibrant.maps.steps import StepMap
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices

NEGLIGIBLE = 1e-12
"""Binnings with less than this share of the best one's probability are left out."""

EACH, STEP, MOST = 10_000, 1.01, 100_000
"""Every number of bins up to 10 000 is tried, then steps of 1 %, at most 100 000 bins: those of 10¹² rows."""


@map_recipe("bayesian_binning", state="pooled")
class BayesianBinning(BinaryRecipe):
    """An average of equal-mass histograms, weighted by their marginal likelihoods (BBQ, Naeini et al. 2015).

    A bin's height is the posterior mean of its rate, so no probability is 0. Binnings that
    ties make equal count once.

    Parameters
    ----------
    prior_rows
        In a binning of B bins each rate has a Beta prior worth `prior_rows`/B rows, centred
        on the middle of its bin and at least ½/(n+1) away from 0 and 1.
    reach
        The numbers of bins run from n^⅓/`reach` to n^⅓·`reach`: each up to 10 000, then in
        steps of 1 %, to 100 000 at most.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.BayesianBinning().fit([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9])
    >>> bool(fitted.apply([0.1])[0] < 0.2 < 0.8 < fitted.apply([0.9])[0])
    True
    """

    prior_rows: float = 2.0
    reach: float = 10.0

    def __post_init__(self) -> None:
        check_positive("prior_rows", self.prior_rows)
        if check_positive("reach", self.reach) < 1:
            raise InputError("reach", "must be at least 1", f"it is {self.reach!r}")

    def fit_event(self, predictions: Predictions) -> BayesianBinningMap:
        """A marginal likelihood for each binning; the average of their heights is again a step function."""
        pooled = predictions.event("binary").pooled
        cuts, heights = averaged(list(self._binnings(pooled)))
        fit = Fit(predictions.n, cautions=doubts(pooled))
        return BayesianBinningMap(predictions.classes, True, fit, pooled.values[cuts[1:-1] - 1], heights)

    def _binnings(self, pooled: Pooled) -> Iterator[ScoredBins]:
        below, hits = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (pooled.weight, pooled.hits))
        numbers = numbers_of_bins(pooled.total, self.reach)
        every = (np.unique(mass_cuts(below[1:], n, pooled.allowance)) for n in numbers)
        for cuts in {cuts.tobytes(): cuts for cuts in every}.values():
            yield scored(pooled.values, below, hits, cuts, self.prior_rows)


@map_record
class BayesianBinningMap(StepMap):
    """The average of many step functions, which is one."""

    method: ClassVar[str] = "bayesian_binning"


def numbers_of_bins(rows: float, reach: float) -> list[int]:
    """From n^⅓/`reach` to n^⅓·`reach`, but no more than rows."""
    middle = math.cbrt(rows)
    fewest = min(max(1, math.floor(middle / reach)), MOST)
    most = max(fewest, math.floor(min(math.ceil(min(middle * reach, MOST)), rows)))
    found = list(range(fewest, min(most, EACH) + 1)) or [fewest]
    while found[-1] < most:
        found.append(min(math.ceil(found[-1] * STEP), most))
    return found


class ScoredBins(NamedTuple):
    """Cuts between distinct predictions, posterior means and the log marginal likelihood."""

    cuts: Indices
    heights: Floats
    score: float


def scored(values: Floats, below: Floats, hits: Floats, cuts: Indices, prior_rows: float) -> ScoredBins:
    """Σ ln B(α + h, β + n − h) − ln B(α, β) over the bins; `below` and `hits` are cumulative from 0."""
    from scipy.special import betaln

    n = np.diff(below[cuts])
    h = np.clip(np.diff(hits[cuts]), 0, n)
    edges = np.concatenate([[0.0], values[cuts[1:-1] - 1], [1.0]])
    nearest = margin(float(below[-1]), True)
    centre = np.clip((edges[:-1] + edges[1:]) / 2, nearest, 1 - nearest)
    strength = prior_rows / len(n)
    a, b = strength * centre, strength * (1 - centre)
    score = float((betaln(a + h, b + (n - h)) - betaln(a, b)).sum())
    return ScoredBins(cuts, (a + h) / (strength + n), score)


def averaged(binnings: list[ScoredBins]) -> tuple[Indices, Floats]:
    """All cuts of the binnings that matter, and the average height between them."""
    scores = np.array([found.score for found in binnings])
    share = np.exp(scores - scores.max())
    share[share < NEGLIGIBLE] = 0
    share /= share.sum()
    used = [(found, weight) for found, weight in zip(binnings, share, strict=True) if weight]
    cuts = np.unique(np.concatenate([found.cuts for found, _ in used]))
    heights = np.zeros(len(cuts) - 1)
    for found, weight in used:
        heights += weight * np.repeat(found.heights, np.diff(np.searchsorted(cuts, found.cuts)))
    return cuts, np.minimum(heights, 1.0)  # rounding alone could exceed it
