"""Which errors bound which (Gruber & Buettner 2022, Theorem 3.1), on small worlds whose truth is known exactly."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import EqualMass, EqualWidth, Predictions
from tolerances import ROUNDING

ROOT = 1e-8
"""Between roots, where rounding of 1e-16 shows as 1e-8."""


@dataclass(frozen=True)
class World:
    """The model says row f with probability mass/Σmass, and then class k happens with probability q_k. All f differ."""

    mass: list[int]
    said: list[tuple[float, ...]]
    truth: list[tuple[float, ...]]

    def predictions(self):
        """The population itself: masses as weights, true shares as labels."""
        return Predictions(self.truth, self.said, counts=self.mass, soft=True)

    def top(self):
        """(mass, confidence, probability of being right) of each row; the lowest class wins a tie."""
        best = [row.index(max(row)) for row in self.said]
        return [(w, f[k], q[k]) for w, f, q, k in zip(self.mass, self.said, self.truth, best, strict=True)]

    def one(self, k):
        return [(w, f[k], q[k]) for w, f, q in zip(self.mass, self.said, self.truth, strict=True)]

    # True errors, without roots.

    def canonical(self, p):
        rows = zip(self.mass, self.said, self.truth, strict=True)
        total = sum(w * sum(abs(a - b) ** p for a, b in zip(f, q, strict=True)) for w, f, q in rows)
        return total / sum(self.mass)

    def brier(self):
        """E Σ_k (f_k − [Y = k])² = E Σ_k q_k (1 − f_k)² + (1 − q_k) f_k²."""
        rows = zip(self.mass, self.said, self.truth, strict=True)
        total = sum(w * sum(b * (1 - a) ** 2 + (1 - b) * a**2 for a, b in zip(f, q, strict=True)) for w, f, q in rows)
        return total / sum(self.mass)


def given_prediction(rows):
    """{p: (mass, E[p − P(Y|p)])} with equal predictions pooled, in order."""
    pooled = defaultdict(lambda: [0, 0.0])
    for w, p, q in rows:
        pooled[p][0] += w
        pooled[p][1] += w * (p - q)
    return {p: (w, r / w) for p, (w, r) in sorted(pooled.items())}


def true_error(rows, p):
    pooled = given_prediction(rows).values()
    return sum(w * abs(gap) ** p for w, gap in pooled) / sum(w for w, _ in pooled)


def true_ks(rows):
    pooled = given_prediction(rows).values()
    return max(map(abs, accumulate(w * gap for w, gap in pooled))) / sum(w for w, _ in pooled)


PARTS = st.lists(st.integers(0, 8), min_size=3, max_size=3).filter(any)
SHARES = PARTS.map(lambda parts: tuple(part / sum(parts) for part in parts))


@st.composite
def worlds(draw):
    said = draw(st.lists(SHARES, min_size=1, max_size=8, unique=True))
    calibrated = draw(st.integers(0, 5)) == 0
    truth = said if calibrated else draw(st.lists(SHARES, min_size=len(said), max_size=len(said)))
    mass = draw(st.lists(st.integers(2, 6), min_size=len(said), max_size=len(said)))
    return World(mass, said, truth)


@given(worlds(), st.sampled_from([1.0, 1.5, 2.0]))
def test_the_root_brier_score_is_above_the_canonical_error_and_that_above_all_others(world, p):
    root = 1 / p
    canonical = world.canonical(p) ** root
    assert 3 ** (1 / p - 1 / 2) * sqrt(world.brier()) >= canonical - ROOT
    assert canonical >= sum(true_error(world.one(k), p) for k in range(3)) ** root - ROOT
    assert canonical >= true_error(world.top(), p) ** root - ROOT
    assert true_error(world.top(), p) ** root >= true_error(world.top(), 1) - ROOT
    assert true_error(world.top(), 1) >= true_ks(world.top()) - ROUNDING


@given(worlds(), st.sampled_from([1, 2]))
def test_estimates_of_a_whole_population_are_its_true_errors(world, p):
    made, own_bin = world.predictions(), EqualMass(sum(world.mass))
    top = cal.binned_error(made, bins=own_bin, norm=p, root=False)
    assert top.value == pytest.approx(true_error(world.top(), p), abs=ROUNDING)
    assert cal.ks_error(made).value == pytest.approx(true_ks(world.top()), abs=ROUNDING)
    each = cal.classwise_error(made, bins=own_bin, norm=p, root=False)
    assert each.value == pytest.approx(sum(true_error(world.one(k), p) for k in range(3)), abs=ROUNDING)
    assert cal.root_brier(made).value ** 2 == pytest.approx(world.brier(), abs=ROUNDING)
    # a kernel so narrow that a row sees only its own copies; e^−100 of the nearest other
    whole = cal.canonical_error(made, norm=p, root=False, bandwidth=1e-6)
    assert whole.value == pytest.approx(world.canonical(p), abs=1e-9)  # exponents near 1e8 are rounded at 1e-8


@given(worlds(), st.sampled_from([1, 2]), st.integers(1, 15), st.booleans())
def test_our_estimates_of_a_population_keep_the_order(world, p, n_bins, mass):
    made, own_bin = world.predictions(), EqualMass(sum(world.mass))
    canonical = cal.canonical_error(made, norm=p, bandwidth=1e-6).value
    top = cal.binned_error(made, bins=own_bin, norm=p).value
    assert 3 ** (1 / p - 1 / 2) * cal.root_brier(made).value >= canonical - ROOT
    assert canonical >= cal.classwise_error(made, bins=own_bin, norm=p).value - ROOT
    assert canonical >= top - ROOT
    first = cal.binned_error(made, bins=own_bin).value
    assert top >= first - ROOT
    rule = EqualMass(n_bins) if mass else EqualWidth(n_bins)
    below = [
        cal.ks_error(made),
        cal.binned_error(made, bins=rule),
        cal.mmce(made),
        cal.smooth_error(made),
        cal.sweep_error(made),
    ]
    for lower in below:
        assert 0 <= lower.value <= first + ROOT, lower.name


@given(some.matrices(dtype=np.float64, most=15))
def test_any_sample_is_a_population_of_its_own(said):
    """Rows pooled by what was said, with the shares of what happened as truth."""
    weights = np.ones(said.n) if said.weights is None else said.weights
    pooled = defaultdict(lambda: np.zeros(said.probs.shape[1]))
    for row, label, w in zip(said.probs.tolist(), said.labels, weights, strict=True):
        pooled[tuple(row)][label] += w
    canonical = sum(
        counts.sum() * (np.array(f) - counts / counts.sum()) ** 2 for f, counts in pooled.items() if counts.any()
    )
    made = Predictions(said.labels, said.probs, counts=said.weights)
    bound = sqrt(canonical.sum() / weights.sum())
    assert cal.root_brier(made).value >= bound - ROOT
    for rule in (EqualWidth(15), EqualMass(7)):
        assert bound >= cal.classwise_error(made, bins=rule).value - ROOT
        assert bound >= cal.binned_error(made, bins=rule, norm=2).value - ROOT
    assert bound >= cal.ks_error(made).value - ROOT


@given(worlds(), st.sampled_from([1, 2]), st.integers(1, 15), st.booleans(), st.sampled_from(["top", "classwise"]))
def test_the_label_binned_error_is_above_the_binned(world, p, n_bins, mass, view):
    made, rule = world.predictions(), EqualMass(n_bins) if mass else EqualWidth(n_bins)
    lower = cal.binned_error(made, bins=rule, norm=p, view=view, root=False).value
    assert cal.label_binned_error(made, bins=rule, norm=p, view=view, root=False).value >= lower - ROUNDING


def saying_the_accuracy(world):
    """Gruber & Buettner 2022, D.2: the top class gets the model's accuracy, the others share the rest."""
    right = sum(w * q for w, _, q in world.top()) / sum(world.mass)
    said = np.full((len(world.said), 3), (1 - right) / 2)
    said[np.arange(len(said)), np.argmax(world.said, axis=1)] = right
    return right, Predictions(world.truth, said, counts=world.mass, soft=True)


@given(worlds())
def test_saying_the_accuracy_fools_every_error_of_the_top_class(world):
    right, fooled = saying_the_accuracy(world)
    if right < 1 / 3 + 1e-6:
        return  # it would no longer be the top class
    for error in (cal.ece, cal.binned_error, cal.ks_error, cal.mmce, cal.sweep_error, cal.smooth_error):
        assert error(fooled).value == pytest.approx(0, abs=1e-7), error.__name__  # MMCE is a root


def test_saying_the_accuracy_does_not_fool_the_canonical_error():
    # class 1 or 2 is said for sure, and is right six times in ten; class 0 happens otherwise
    world = World([5, 5], [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0)], [(0.4, 0.6, 0.0), (0.4, 0.0, 0.6)])
    _, fooled = saying_the_accuracy(world)  # (0.2, 0.6, 0.2) and (0.2, 0.2, 0.6)
    assert cal.ece(fooled).value == pytest.approx(0, abs=ROUNDING)
    assert cal.canonical_error(fooled, bandwidth=1e-3).value == pytest.approx(0.4, abs=1e-9)
    assert cal.classwise_error(fooled, norm=1).value == pytest.approx(0.4, abs=ROUNDING)
