"""Fitted maps of every kind that has a formula, and rows to try them on."""

from __future__ import annotations

from functools import cache

import numpy as np

import calibrant as cal
from calibrant.kernels.logits import probabilities
from registered import METHODS

WITHOUT_FORMULA = {"kernel_density"}
THROUGH_PROBABILITIES = {
    "evolved_pieces",
    "evolved parabolas",
    "isotonic",
    "centered_isotonic",
    "top isotonic",
    "top platt",
    "top beta",
    "top quadratic",
}
"""Maps that magnify the rounding of a probability, by a steep line or near 1: in float32 they are given the same one"""

RECIPES = {name: recipe() for name, recipe in METHODS.items() if name not in WITHOUT_FORMULA} | {
    "plain histogram": cal.Histogram(cal.EqualWidth(1), bounded=False),
    "piecewise in probabilities": cal.maps.PiecewiseLinear("probability"),
    "beta without c": cal.Beta("ab"),
    "mixture": cal.Auto(candidates=("identity", "ensemble_temperature", "bent")),
    "diagonal": cal.maps.OrderPreserving("diagonal"),
    "invariant": cal.maps.OrderPreserving("invariant"),
    "evolved parabolas": cal.maps.EvolvedPieces(2, n_pieces=2),
}
RECIPES |= {"matrix": cal.maps.MatrixScaling(strength=0.01, intercept=0.01)}
RECIPES |= {"dirichlet": cal.Dirichlet(strength=0.01, intercept=0.01)}
TOP = {f"top {name}": cal.TopLabel(METHODS[name]()) for name in ("platt", "quadratic", "beta", "isotonic", "histogram")}

rng = np.random.default_rng(20261115)
EVENT = rng.normal(size=400) * 2
EVENT_LABELS = (rng.random(400) < 1 / (1 + np.exp(-0.6 * EVENT - 0.2))).astype(int)
ROWS = rng.normal(size=(400, 4)) * 2
ROW_LABELS = (0.6 * ROWS + rng.gumbel(size=ROWS.shape)).argmax(axis=1)
NEW_EVENT = np.concatenate([rng.normal(size=300) * 3, [0.0, 30.0, -30.0, 700.0, -700.0]])
NEW_ROWS = np.concatenate([rng.normal(size=(300, 4)) * 3, np.zeros((1, 4)), 90 * np.eye(4), 2000 * np.eye(4)[:2]])


@cache
def fitted(name, single, given="logits"):
    """The map of this recipe, fitted on logits or on probabilities."""
    recipe = RECIPES.get(name) or TOP[name]
    labels, z = (EVENT_LABELS, EVENT) if single else (ROW_LABELS, ROWS)
    return recipe.fit(labels, logits=z) if given == "logits" else recipe.fit(labels, probabilities(z))


CASES = [(name, single, given) for name in RECIPES for single in (True, False) for given in ("logits", "probs")]
CASES += [(name, False, "logits") for name in TOP]
IDS = [f"{name}, {'event' if single else 'classes'}, fitted on {given}" for name, single, given in CASES]


def new_logits(single, dtype):
    return (NEW_EVENT if single else NEW_ROWS).astype(dtype)


def new_probs(single, dtype):
    """Probabilities, those of 0 and 1 and ties among them."""
    p = probabilities(new_logits(single, dtype)).copy()
    if single:
        p[:3] = [0.0, 1.0, 0.5]
    else:
        p[:4] = [[0, 1, 0, 0], [0, 0.5, 0.5, 0], [0.25] * 4, [0.75, 0, 0, 0.25]]
    return p
