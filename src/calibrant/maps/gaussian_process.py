"""A Gaussian process around the model's own log-odds: the most accurate map of a single event, with a band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.interval import normal_quantile
from calibrant.kernels.fit.log_odds_process import Posteriors, posteriors
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.kernels.rows.pooling import mass_cuts
from calibrant.maps.bent_line import BentLineMap
from calibrant.maps.binary import BinaryRecipe, Floats, grouped_logits
from calibrant.maps.calibration_map import Fit
from calibrant.maps.piecewise import doubts_about, last_log_odds
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.results import Curve, kind

CELLS = 100
"""Cells of equal mass; equal predictions are never split."""

STRAIGHT = 0.85
"""What straight lines weigh together before the data are seen, when one map is to be as close as possible to the truth. Chosen on
simulated data of their own: see studies/piecewise.py."""

OPEN = 0.5
"""The same when it is asked what is possible: bends that the data cannot rule out count."""


@method("map", name="gaussian_process", state="pooled")
@dataclass(frozen=True, slots=True)
class GaussianProcessMap(BinaryRecipe):
    """σ(z + f(z)) with f smooth and not far from 0: the mean over what the data leave possible.

    A hundred priors, from "no change" over straight lines to lively bends, are weighed by how well they foretell the data, and
    their posterior means averaged. The map is kept as a table on a hundred cells, with straight lines in log-odds between
    them. Nothing is random.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.GaussianProcessMap().fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8])
    >>> band = fitted.band(0.9)
    >>> bool((band.low < band.y).all() and (band.y < band.high).all())
    True
    """

    def fit_event(self, predictions: Predictions) -> GaussianProcessTable:
        """Rows into cells, one posterior a prior, then the mean."""
        return table_of(predictions, believed(predictions))


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What the rows leave possible: cells in log-odds, the share of the rows in each, and the posterior of every prior."""

    places: Floats
    support: Floats
    found: Posteriors
    limit: float
    cautions: tuple[str, ...]


def believed(predictions: Predictions) -> Belief:
    """Rows into cells, and one posterior a prior; known already if it was asked for before."""
    if predictions.logits is not None:
        return _believed(predictions)
    found: Belief = predictions.event("binary").kept("belief", lambda: _believed(predictions))
    return found


def _believed(predictions: Predictions) -> Belief:
    limit = last_log_odds(predictions)
    logits = predictions.logits is not None
    groups = grouped_logits(predictions) if logits else predictions.event("binary").groups
    said = groups.values if logits else log_odds(groups.values)
    z = np.clip(said, -limit, limit)
    cuts = np.unique(mass_cuts(groups.below(), CELLS, groups.allowance))[:-1]
    weight, hits, sums = (np.add.reduceat(v, cuts) for v in (groups.weight, groups.hits, groups.weight * z))
    places = np.clip(sums / weight, z[0], z[-1])
    low, high = int(z[0] < places[0] - NEAR), int(z[-1] > places[-1] + NEAR)
    places = np.concatenate([z[:1][:low], places, z[-1:][:high]])  # the ends of the data are cells without weight
    weight, hits = np.pad(weight, (low, high)), np.pad(hits, (low, high))
    cautions = doubts_about(said, float(groups.hits.sum()), groups.total, limit)
    return Belief(places, weight / weight.sum(), posteriors(places, weight, hits), limit, cautions)


def table_of(predictions: Predictions, belief: Belief) -> GaussianProcessTable:
    """The mean over what is possible, as a map."""
    centre, spread = _moments(belief.found, belief.found.share(OPEN))
    line = belief.places, _mean_log_odds(belief.found, belief.found.share(STRAIGHT)), belief.limit
    fit = Fit(predictions.n, cautions=belief.cautions)
    return GaussianProcessTable(predictions.classes, True, fit, *line, centre, spread, belief.support)


NEAR = 1e-9
"""Cells closer than this are one."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class GaussianProcessTable(BentLineMap):
    """Straight lines between points in log-odds, slope one beyond; `centre` and `spread` are those of the posterior there."""

    centre: NDArray[np.float64] = ()  # type: ignore[assignment]
    spread: NDArray[np.float64] = ()  # type: ignore[assignment]
    support: NDArray[np.float64] = ()  # type: ignore[assignment]

    method: ClassVar[str] = "gaussian_process"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("centre", "spread", "support")

    def band(self, level: float = 0.95) -> Curve:
        """The map at its cells, and between which rates the true one lies with probability `level`, cell by cell.

        The probability is that over all maps the priors think possible. For one given map the band may hold more often (a
        calibrated model) or less often (a map that sways to and fro).
        """
        wide = normal_quantile(level) * self.spread
        low, high = sigmoid(self.centre - wide), sigmoid(self.centre + wide)
        return Curve(sigmoid(self.knots), sigmoid(self.heights), low, high, self.support, float(level))


def _moments(found: Posteriors, share: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of η over all priors."""
    centre = share @ found.mean
    return centre, np.sqrt(share @ (found.variance + (found.mean - centre) ** 2))


def _mean_log_odds(found: Posteriors, share: Floats) -> Floats:
    """Log-odds of the posterior mean of σ(η), by quadrature; numerator and denominator apart, so that neither is lost."""
    from numpy.polynomial.hermite_e import hermegauss

    nodes, weights = hermegauss(9)
    heard = share > SILENT
    eta = found.mean[heard, :, None] + np.sqrt(found.variance[heard])[:, :, None] * nodes
    each = share[heard, None, None] * (weights / weights.sum())
    return np.log((each * sigmoid(eta)).sum(axis=(0, 2))) - np.log((each * sigmoid(-eta)).sum(axis=(0, 2)))


SILENT = 1e-12
"""A prior of a smaller share changes nothing."""
