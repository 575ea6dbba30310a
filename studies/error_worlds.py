"""Worlds with a known error that lies in one place, waves, or stands on few predictions: for intervals and estimators.

Each family has two sets of parameters. Settings are chosen on `WORLDS["choosing"]`; figures are reported on
`WORLDS["reporting"]`, with other seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.simulate import DirichletWorld

FINE = 1 << 20
"""Points of the midpoint rule for a true error."""


@dataclass(frozen=True, eq=False)
class ErrorWorld:
    """Predictions are a function of a uniform number (their quantiles), true rates a function of the prediction."""

    quantile: Callable
    curve: Callable
    errors: dict = field(default_factory=dict, repr=False)

    def draw(self, n, n_data_sets, rng):
        """Predictions, outcomes and true rates, each `(n_data_sets, n)`."""
        rng = np.random.default_rng(rng)
        probs = self.quantile(rng.random((n_data_sets, n)))
        rates = np.clip(self.curve(probs), 0.0, 1.0)
        return probs, (rng.random(probs.shape) < rates).view(np.uint8), rates

    def true_error(self, norm=1):
        """(E|c(p) − p|^α)^(1/α)."""
        if norm not in self.errors:
            p = self.quantile((np.arange(FINE) + 0.5) / FINE)
            self.errors[norm] = float(np.mean(np.abs(np.clip(self.curve(p), 0.0, 1.0) - p) ** norm) ** (1 / norm))
        return self.errors[norm]


def uniform(u, low=0.0, high=1.0):
    return low + (high - low) * u


def log_uniform(u, low, high):
    return low * (high / low) ** u


def high(u, power):
    """Beta(power, 1): most predictions are high."""
    return u ** (1 / power)


def sure(u, low, high):
    """Near 1: 1 − p is spread evenly over orders of magnitude."""
    return 1 - log_uniform(u, low, high)


def atoms(u, values, shares=None):
    """A few values, equally often if no shares are given."""
    shares = np.full(len(values), 1 / len(values)) if shares is None else np.asarray(shares)
    return np.asarray(values)[np.searchsorted(np.cumsum(shares)[:-1], u, side="right")]


def spiked(u, at_0, at_1):
    """Shares of the predictions at exactly 0 and 1; the others uniform."""
    return np.clip((u - at_0) / (1 - at_0 - at_1), 0.0, 1.0)


def shifted(p, by):
    """Log-odds moved; 0 and 1 stay."""
    return sigmoid(log_odds(p) + by)


def sloped(p, slope, near=1e-4):
    """Log-odds multiplied, 0 and 1 taken as `near`."""
    return sigmoid(slope * log_odds(np.clip(p, near, 1 - near)))


def between(p, low, high, by):
    """Off by a constant in a stretch, right elsewhere."""
    return p + by * ((p > low) & (p < high))


def hill(p, middle, width, by):
    """Off by most in the middle of a stretch, smoothly right at its ends."""
    return p + by * (1 + np.cos(2 * np.pi * np.clip((p - middle) / width, -0.5, 0.5))) / 2


def between_lines(p, middle, width, by):
    """The same with straight sides."""
    return p + by * np.clip(1 - np.abs(p - middle) / (width / 2), 0.0, 1.0)


def dropping(p, start, by):
    """Right up to `start`, then smoothly down to `by` below 1."""
    x = np.clip((p - start) / (1 - start), 0.0, 1.0)
    return p - by * x * x * (3 - 2 * x)


def waving(p, periods, size, turn=0.0):
    return p + size * np.sin(2 * np.pi * (periods * p + turn))


def at_ends(p, inside, at_0, at_1):
    """Rates of their own at exactly 0 and 1."""
    return np.where(p == 0, at_0, np.where(p == 1, at_1, inside(p)))


def same(p):
    return p


def only(value):
    return lambda p: np.full_like(p, value)


def _world(quantile, curve, **settings):
    return ErrorWorld(quantile, partial(curve, **settings) if settings else curve)


def _waves(size, turn, low, high):
    return {
        f"wave, {periods} periods": _world(
            partial(uniform, low=low, high=high), waving, periods=periods, size=size, turn=turn
        )
        for periods in (1, 2, 3, 6)
    }


def _constant(pairs):
    return {f"constant {p}, true {c}": _world(partial(atoms, values=[p]), only(c)) for p, c in pairs}


WORLDS = {
    "choosing": {
        **_constant([(0.001, 0.01), (0.995, 0.97), (0.1, 0.14), (0.03, 0.03)]),
        "rare": _world(partial(log_uniform, low=0.001, high=0.01), shifted, by=0.7),
        "very confident": _world(partial(sure, low=1e-4, high=0.01), shifted, by=-1.5),
        "spikes": _world(partial(spiked, at_0=0.2, at_1=0.3), partial(at_ends, inside=same, at_0=0.05, at_1=0.95)),
        "verbal": _world(partial(atoms, values=[0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]), sloped, slope=0.6, near=0.02),
        "smooth tail": _world(uniform, dropping, start=0.85, by=0.2),
        "tail": _world(uniform, between, low=0.85, high=1.1, by=-0.2),
        "tail of high": _world(partial(high, power=3.0), between, low=0.95, high=1.1, by=-0.1),
        "bump": _world(uniform, between, low=0.4, high=0.5, by=-0.2),
        "narrow": _world(uniform, between, low=0.6, high=0.63, by=-0.4),
        "step": _world(uniform, between, low=0.5, high=0.92, by=0.08),
        **_waves(0.08, 0.25, 0.1, 0.9),
        "slope": _world(uniform, sloped, slope=0.7),
        "calibrated": _world(uniform, same),
        "calibrated, high": _world(partial(high, power=2.5), same),
        "calibrated, verbal": _world(partial(atoms, values=[0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95]), same),
        "calibrated, confident": _world(partial(sure, low=1e-3, high=0.3), same),
        "shift of high": _world(partial(high, power=2.0), shifted, by=-0.3),
        "steep slope": _world(uniform, sloped, slope=1.25),
        "narrow, low": _world(uniform, between, low=0.12, high=0.165, by=0.33),
        "very narrow": _world(uniform, between, low=0.33, high=0.36, by=0.35),
        "very narrow, low": _world(uniform, between, low=0.11, high=0.13, by=0.5),
        "very narrow, middle": _world(uniform, between, low=0.45, high=0.47, by=-0.4),
        "narrow, high": _world(partial(high, power=2.0), between, low=0.8, high=0.84, by=-0.35),
        "bump, low": _world(uniform, between, low=0.25, high=0.37, by=0.15),
        "small wave": _world(uniform, waving, periods=1.5, size=0.05, turn=0.1),
        "large wave": _world(uniform, waving, periods=2.5, size=0.13, turn=0.6),
        "wave, 4.5 periods": _world(partial(uniform, low=0.05, high=0.95), waving, periods=4.5, size=0.12, turn=0.7),
        "wave, 5 periods": _world(uniform, waving, periods=5, size=0.1, turn=0.3),
        "wave, 7 periods": _world(uniform, waving, periods=7, size=0.09, turn=0.15),
        "low tail": _world(uniform, between, low=-0.1, high=0.12, by=0.12),
    },
    "reporting": {
        **_constant([(0.002, 0.006), (0.001, 0.004), (0.99, 0.96), (0.05, 0.02), (0.5, 0.58), (0.98, 0.98)]),
        "rare": _world(partial(log_uniform, low=0.001, high=0.01), shifted, by=1.1),
        "rare, calibrated": _world(partial(log_uniform, low=0.001, high=0.01), same),
        "very confident": _world(partial(sure, low=1e-4, high=0.01), shifted, by=-2.2),
        "spikes": _world(
            partial(spiked, at_0=0.1, at_1=0.15),
            partial(at_ends, inside=partial(sloped, slope=0.75), at_0=0.03, at_1=0.9),
        ),
        "verbal": _world(partial(atoms, values=[0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1]), sloped, slope=0.7, near=0.01),
        "verbal, calibrated": _world(partial(atoms, values=[0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]), same),
        "smooth tail": _world(uniform, dropping, start=0.9, by=0.25),
        "tail": _world(uniform, between, low=0.9, high=1.1, by=-0.15),
        "tail of high": _world(partial(high, power=2.0), between, low=0.92, high=1.1, by=-0.12),
        "bump": _world(uniform, between, low=0.7, high=0.75, by=-0.3),
        "narrow": _world(uniform, between, low=0.3, high=0.34, by=0.4),
        "step": _world(uniform, between, low=0.0, high=0.35, by=0.1),
        **_waves(0.1, 0.0, 0.0, 1.0),
        "slope": _world(uniform, sloped, slope=1.4),
        "flat slope": _world(uniform, sloped, slope=0.75),
    },
}
"""Families of one event by name, each `ErrorWorld`, for choosing settings and for reporting."""

CLASS_WORLDS = {
    "choosing": {k: DirichletWorld(np.full(k, 2.0 / k), power=0.7) for k in (3, 10, 100)},
    "reporting": {k: DirichletWorld(np.full(k, 1.5 / k), power=0.8, random=0.05) for k in (3, 10, 100)},
}
"""Worlds of several classes, by their number."""
