"""A Gaussian process around the predicted log-odds: the most accurate map of a single event, with a band."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.interval import normal_quantile
from calibrant.kernels.fit.knot_paths import Bent
from calibrant.kernels.fit.log_odds_process import Posteriors, posteriors, refitted
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.kernels.rows.pooling import pooled_cuts
from calibrant.maps.binary import BentLineMap, BinaryRecipe, last_log_odds, line_doubts, pooled_logits
from calibrant.maps.calibration_map import ARRAY, Fit, map_recipe, map_record
from calibrant.maps.folds import Folds, continued
from calibrant.predictions import Predictions
from calibrant.results import Curve
from calibrant.results.constraints import BIG, Shape, SumsTo, Within
from calibrant.types import Bools, Floats, Indices

CELLS = 100
"""Cells of equal mass; equal predictions are never split."""

STRAIGHT = 0.85
"""Prior weight of all straight lines when one map is to be as close as possible to the truth. Chosen on separate
simulated data: see studies/piecewise.py."""

OPEN = 0.5
"""The same for the band, where bends that the data cannot rule out count."""


MATTERS = 0.03
"""The share, in that of the largest, from which a prior is fitted again without each fold."""


@map_recipe("gaussian_process", state="pooled")
class GaussianProcessMap(BinaryRecipe):
    """σ(z + f(z)) with a smooth f near 0: the posterior mean.

    A hundred priors, from "no change" over straight lines to strong bends, are weighted by
    their marginal likelihood, and their posterior means averaged. The map is kept as a
    table on a hundred cells, with straight lines in log-odds between them. Nothing is
    random.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.GaussianProcessMap().fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8])
    >>> band = fitted.band(0.9)
    >>> bool((band.low < band.y).all() and (band.y < band.high).all())
    True
    """

    def fit_event(self, predictions: Predictions) -> GaussianProcessTable:
        """Rows into cells, one posterior per prior, then the mean."""
        return table_of(predictions, believed(predictions))

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """All folds at once, over the cells of all rows and the priors that matter there."""
        every = folded.every
        if not every.is_binary or every.squares is not None:
            return BinaryRecipe.held_out(self, folded, fitted)  # super() does not know a class with slots
        belief = believed(folded.given)
        weight, hits = belief.parts(every, folded.fold)
        mine = weight[: folded.n_judged], hits[: folded.n_judged]
        every_sum = weight.sum(axis=0), hits.sum(axis=0)
        others = every_sum[0] - mine[0], every_sum[1] - mine[1]
        lines = belief.lines(*others, belief.matter(*mine), every_sum)
        x = every.outputs.astype(np.float64)
        z = np.clip(x if every.logits is not None else log_odds(x), -belief.limit, belief.limit)
        return sigmoid(continued(z, folded.fold, lines)[folded.judged])


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Cells in log-odds, the share of the rows in each, and the posterior of every prior."""

    places: Floats
    support: Floats
    found: Posteriors
    limit: float
    cautions: tuple[str, ...]
    starts: Floats
    """the smallest prediction of each cell with rows"""
    empty: int
    """cells without rows before these"""

    def parts(self, rows: Predictions, part: Indices) -> tuple[Floats, Floats]:
        """Weight and hits `(parts, cells)` of rows that each lie in one part."""
        event, n_cells = rows.event("binary"), len(self.places)
        cell = np.searchsorted(self.starts[1:], rows.outputs.astype(np.float64), side="right") + self.empty
        mass = np.ones(len(cell)) if event.weights is None else event.weights
        at, n_parts = part * n_cells + cell, int(part.max()) + 1
        terms = (each.astype(np.float64) for each in (mass, mass * event.outcomes))
        weight, hits = (np.bincount(at, each, n_parts * n_cells).astype(np.float64) for each in terms)
        return weight.reshape(n_parts, n_cells), hits.reshape(n_parts, n_cells)

    def matter(self, weight: Floats, hits: Floats, least: float = MATTERS) -> Bools:
        """The priors that decide the maps without each of some parts, `(parts, cells)`: of at least such a share.

        The evidence of the rest is about that of all rows less what the part itself says.
        """
        eta = self.found.mean
        said = hits @ eta.T - weight @ np.logaddexp(0.0, eta).T
        share = np.stack([replace(self.found, evidence=self.found.evidence - each).share(STRAIGHT) for each in said])
        used: Bools = (share > least * share.max(axis=1, keepdims=True)).any(axis=0)
        return used

    def lines(self, weight: Floats, hits: Floats, used: Bools, known: tuple[Floats, Floats]) -> list[Bent]:
        """The maps of similar data over these cells, `(data sets, cells)`, by the priors `used`; `known` are the sums here."""
        each = refitted(self.places, weight, hits, used, (self.found.mean, *known))
        return [Bent(self.places, _mean_log_odds(found, found.share(STRAIGHT))) for found in each]


def believed(predictions: Predictions) -> Belief:
    """Rows into cells, and one posterior per prior, computed once per event."""
    if predictions.logits is not None:
        kept: Belief = predictions.kept("belief", lambda: _believed(predictions))
        return kept
    found: Belief = predictions.event("binary").kept("belief", lambda: _believed(predictions))
    return found


def _believed(predictions: Predictions) -> Belief:
    limit = last_log_odds(predictions)
    logits = predictions.logits is not None
    pooled = pooled_logits(predictions) if logits else predictions.event("binary").pooled
    x = pooled.values if logits else log_odds(pooled.values)
    z = np.clip(x, -limit, limit)
    cuts = np.unique(pooled_cuts(pooled, CELLS))[:-1]
    weight, sums = (np.add.reduceat(v, cuts) for v in (pooled.weight, pooled.weight * z))
    places = np.maximum.accumulate(np.clip(sums / weight, z[0], z[-1]))  # equal ones must not fall by rounding
    low, high = int(z[0] < places[0] - NEAR), int(z[-1] > places[-1] + NEAR)
    places = np.concatenate([z[:1][:low], places, z[-1:][:high]])  # the ends of the data are cells without weight
    told = pooled.effective(cuts)
    rows, hits = (np.pad(np.add.reduceat(v, cuts), (low, high)) for v in (told.weight, told.hits))
    cautions = line_doubts(x, float(pooled.hits.sum()), pooled.total, limit)
    support = np.pad(weight / weight.sum(), (low, high))
    return Belief(places, support, posteriors(places, rows, hits), limit, cautions, pooled.values[cuts], low)


def table_of(predictions: Predictions, belief: Belief) -> GaussianProcessTable:
    """The posterior mean as a map."""
    found = belief.found
    share = found.share(OPEN)
    used = np.flatnonzero(share > NEGLIGIBLE)
    centre = share @ found.mean  # mean and standard deviation of the log-odds over all priors
    spread = np.sqrt(share[used] @ (found.variance(used) + (found.mean[used] - centre) ** 2))
    line = belief.places, _mean_log_odds(found, found.share(STRAIGHT)), belief.limit
    fit = Fit(predictions.n, cautions=belief.cautions)
    return GaussianProcessTable(predictions.classes, True, fit, *line, centre, spread, belief.support)


NEAR = 1e-9
"""Cells closer than this are one."""


@map_record
class GaussianProcessTable(BentLineMap):
    """Straight lines in log-odds, slope one beyond; `centre` and `spread` are of the posterior."""

    centre: Annotated[Floats, Shape("knots")] = ARRAY
    spread: Annotated[Floats, Shape("knots"), Within(0, BIG)] = ARRAY
    support: Annotated[Floats, Shape("knots"), Within(0, 1), SumsTo(1)] = ARRAY

    method: ClassVar[str] = "gaussian_process"

    def band(self, level: float = 0.95) -> Curve:
        """The map at its cells, with a pointwise credible band.

        The probability is over all maps the priors allow. For one given map the band may
        hold more often (a calibrated model) or less often (a map that oscillates).

        Parameters
        ----------
        level
            Probability with which the true rate lies in the band, cell by cell.
        """
        wide = normal_quantile(level) * self.spread
        low, high = sigmoid(self.centre - wide), sigmoid(self.centre + wide)
        return Curve(sigmoid(self.knots), sigmoid(self.heights), low, high, self.support, float(level))


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Of the quadrature of a standard normal distribution, with weights that add up to 1."""
    from numpy.polynomial.hermite_e import hermegauss

    nodes, weights = hermegauss(9)
    return nodes, weights / weights.sum()


def _mean_log_odds(found: Posteriors, share: Floats) -> Floats:
    """Log-odds of the posterior mean of σ(η), by quadrature of numerator and denominator."""
    nodes, weights = _nodes()
    used = np.flatnonzero(share > NEGLIGIBLE)
    eta = found.mean[used, :, None] + np.sqrt(found.variance(used))[:, :, None] * nodes
    small = np.exp(-np.abs(eta))
    large = 1 / (1 + small)
    small *= large  # σ(−|η|) and σ(|η|)
    rises = eta >= 0
    tiny = np.finfo(np.float64).tiny  # a mean that no float can hold
    above, below = (
        np.einsum("g,gmq,q->m", share[used], np.where(side, large, small), weights) for side in (rises, ~rises)
    )
    return np.log(np.maximum(above, tiny)) - np.log(np.maximum(below, tiny))


NEGLIGIBLE = 1e-12
"""A prior of a smaller share changes nothing."""
