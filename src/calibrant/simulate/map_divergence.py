"""How far a map is from the truth, and what its output is from calibrated (Kängsepp et al. 2023, Theorem 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import check_count, check_seed
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import Record, kind, number
from calibrant.score.score import check_score
from calibrant.simulate.any_map import function_of, maps_by_name
from calibrant.simulate.world import EventWorld
from calibrant.types import Floats, Seed

DRAWN = 200_000
"""Predictions on which a map is compared with the truth."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class MapDivergence(Record):
    """CMEE = CEAC + what the map merges, each with its Monte-Carlo error."""

    map: str
    world: str
    score: str
    n: int
    cmee: float
    """calibration map estimation error: E d(ĉ(p), c(p))"""
    cmee_error: float
    ceac: float
    """calibration error after calibration: E d(ĉ(p), P(Y | ĉ(p)))"""
    ceac_error: float
    merging: float
    """E d(P(Y | ĉ(p)), c(p)): what is lost where the map gives different predictions the same value"""
    merging_error: float

    @property
    def difference(self) -> float:
        """CMEE − CEAC − merging: 0 by Theorem 3, but for rounding and, where the map is not monotone, narrow bins."""
        return self.cmee - self.ceac - self.merging

    def __repr__(self) -> str:
        parts = f"{number(self.ceac)} of its output + {number(self.merging)} by merging"
        return f"{self.map} on {self.world}, {self.score}: divergence from the true curve {number(self.cmee)} = {parts}"


@checked
def map_divergence(
    map: Any,  # noqa: A002
    world: EventWorld,
    score: Any = "brier",
    n: int = DRAWN,
    seed: Seed = 0,
) -> MapDivergence:
    """How far is a fitted map from the true curve, and its output from calibrated?

    The divergence d(P, Q) of a proper score is what it costs to predict P where Q is true;
    those of all proper scores are the Bregman divergences. The mean divergence of the map
    from the true curve (CMEE) is that of its output from the rate given the output (CEAC),
    plus what it loses by giving different predictions the same value: Theorem 3 of Kängsepp
    et al. (2023).

    Parameters
    ----------
    map
        A fitted map of one event, an object that was fitted elsewhere, or a function of the
        predicted probabilities.
    world
        A world of one event.
    score
        A proper score or its name. The Brier score counts both classes, so its divergence
        is twice the squared distance.
    n
        Number of predictions drawn.
    seed
        Seed.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import ShapeWorld, map_divergence
    >>> found = map_divergence(lambda p: p.round(1), ShapeWorld("square", 0.05))
    >>> abs(found.difference) < 1e-12, found.merging > 0
    (True, True)
    """
    check_count(n, "n", 2)
    rule = check_score(score)
    ((name, given),) = maps_by_name({"map": map} if not isinstance(map, str) else [map]).items()
    of = function_of(given, name)
    (p, _, rates) = (part[0] for part in world.draw(n, 1, np.random.default_rng(check_seed(seed))))
    output = of(p)
    if output.min() < 0 or output.max() > 1:
        raise InputError("map", "must give probabilities", f"it gives {output[(output < 0) | (output > 1)][0]:.6g}")
    after = rates_given(output, p, rates)
    pairs = [np.stack([1 - each, each], axis=1) for each in (output, after, rates)]
    found = [rule.divergence(*both) for both in ((pairs[0], pairs[2]), (pairs[0], pairs[1]), (pairs[1], pairs[2]))]
    figures = [float(f) for each in found for f in (each.mean(), each.std(ddof=1) / math.sqrt(n))]
    shown = getattr(given, "method", None) or getattr(given, "__name__", None) or type(given).__name__
    return MapDivergence(str(shown), world.describe(), rule.name, n, *figures)


def rates_given(output: Floats, p: Floats, rates: Floats) -> Floats:
    """P(Y = 1 | the map's output) of each row: the mean rate of rows with the same output.

    A map that falls and rises gives the same value to predictions far apart, which no two
    of the rows share: there n^⅔ rows of nearly equal output are taken together, so that
    both the noise of their mean and their spread are small.
    """
    steps = np.diff(output[np.argsort(p, kind="stable")])
    order = np.argsort(output, kind="stable")
    new = np.concatenate([[True], np.diff(output[order]) > 0])
    starts = np.flatnonzero(new)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        cell = starts // round(len(p) ** (2 / 3))
        starts = starts[np.concatenate([[True], np.diff(cell) > 0])]
    sizes = np.diff(np.append(starts, len(output)))
    after = np.empty(len(output))
    after[order] = np.repeat(np.add.reduceat(rates[order], starts) / sizes, sizes)
    return after
