"""A Gaussian process around the model's own log-odds: the most accurate map of a single event, with a band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.gaussian_process import Posteriors, posteriors
from calibrant.kernels.groups import mass_cuts
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.maps.bent_line import BentLineMap
from calibrant.maps.binary import BinaryRecipe, Floats, grouped_logits
from calibrant.maps.calibration_map import Fit
from calibrant.maps.piecewise import doubts_about, last_log_odds
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Curve, kind

CELLS = 100
"""Cells of equal mass; equal predictions are never split."""


@dataclass(frozen=True, slots=True)
class GaussianProcessMap(BinaryRecipe):
    """σ(z + f(z)) with f smooth and not far from 0: the mean over what the data leave possible.

    A hundred priors, from "no change" over straight lines to lively bends, are weighed by how well they foretell the data, and
    their posterior means averaged. The map is kept as a table on a hundred cells, with straight lines in log-odds between
    them. Nothing is random.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.GaussianProcessMap().fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8])
    >>> band = fitted.band(0.9)
    >>> bool((band.low < band.y).all() and (band.y < band.high).all())
    True
    """

    def fit_event(self, predictions: Predictions) -> GaussianProcessTable:
        """Rows into cells, one posterior a prior, then the mean."""
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
        found = posteriors(places, weight, hits)
        centre, spread = _moments(found)
        fit = Fit(predictions.n, cautions=doubts_about(said, float(groups.hits.sum()), groups.total, limit))
        line = places, _mean_log_odds(found), limit
        return GaussianProcessTable(predictions.classes, True, fit, *line, centre, spread, weight / weight.sum())


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
        calibrated model: 0.97 for a level of 0.9, 1500 rows) or less often (a map that sways by 0.06: 0.84).
        """
        if isinstance(level, bool) or not isinstance(level, float | int) or not 0 < level < 1:
            raise InputError("level", "must lie between 0 and 1", f"it is {level!r}")
        from statistics import NormalDist

        wide = NormalDist().inv_cdf((1 + level) / 2) * self.spread
        low, high = sigmoid(self.centre - wide), sigmoid(self.centre + wide)
        return Curve(sigmoid(self.knots), sigmoid(self.heights), low, high, self.support, float(level))


def _moments(found: Posteriors) -> tuple[Floats, Floats]:
    """Mean and standard deviation of η over all priors."""
    centre = found.share @ found.mean
    return centre, np.sqrt(found.share @ (found.variance + (found.mean - centre) ** 2))


def _mean_log_odds(found: Posteriors) -> Floats:
    """Log-odds of the posterior mean of σ(η), by quadrature; numerator and denominator apart, so that neither is lost."""
    from numpy.polynomial.hermite_e import hermegauss

    nodes, weights = hermegauss(9)
    eta = found.mean[:, :, None] + np.sqrt(found.variance)[:, :, None] * nodes
    share = found.share[:, None, None] * (weights / weights.sum())
    return np.log((share * sigmoid(eta)).sum(axis=(0, 2))) - np.log((share * sigmoid(-eta)).sum(axis=(0, 2)))
