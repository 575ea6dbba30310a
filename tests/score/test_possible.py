"""Limits of scores: what is decided without cells is what the cells say."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.interval import Cells, LimitedMean, Moments, moments_of
from calibrant.score.passes import paired_moments, score_moments
from calibrant.score.possible import limited_pair, possible_mean, scored_rows

POWERS = (1.0, 3.0, 40.0, 1000.0)
"""How near 0 and 1 the probabilities are."""


def rows(seed: int, power: float, kind: str) -> cal.Predictions:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(300, 6000))
    if kind == "classes":
        probs = rng.dirichlet(np.full(4, 1 / power), n) + 1e-30
        labels = (probs.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(max=3)
        return cal.Predictions(labels, probs / probs.sum(axis=1, keepdims=True))
    p = np.where(rng.random(n) < 0.5, rng.random(n) ** power, 1 - rng.random(n) ** power).clip(1e-9, 1 - 1e-9)
    if kind == "zeros":
        p[:3] = 0.0
    labels = rng.random(n) < p
    if kind == "counts":
        return cal.Predictions(labels, p, counts=rng.integers(0, 40, n))
    return cal.Predictions(labels, p, weights=rng.random(n)) if kind == "weights" else cal.Predictions(labels, p)


def same(one: LimitedMean | Moments, other: LimitedMean | Moments) -> None:
    assert type(one) is type(other)
    (a, warnings), (b, others) = one.interval(0.95), other.interval(0.95)
    assert warnings == others
    assert a is not None
    assert b is not None
    np.testing.assert_allclose((a.low, a.high), (b.low, b.high), rtol=1e-12)


@pytest.mark.parametrize("kind", ["event", "classes", "zeros", "counts", "weights"])
def test_a_mean_without_cells_is_that_of_the_cells(kind: str) -> None:
    kinds = set()
    for seed, power in enumerate(POWERS):
        predictions = rows(seed, power, kind)
        for name in ("log", "brier"):
            score = cal.score.LogScore() if name == "log" else cal.score.BrierScore()
            scored, sums = (scored_rows(score, predictions) for _ in "12")
            found, by_cells = scored.mean(), sums.sums().mean()
            if kind != "weights":  # whose cells are finer where they decide
                same(found, by_cells)
            same(possible_mean(score, predictions, "canonical", score_moments(score, predictions, "canonical")), found)
            kinds.add(type(found))
    assert kinds == {Moments, LimitedMean} or kind in ("zeros", "weights")


@pytest.mark.parametrize("kind", ["event", "classes", "zeros", "counts"])
@pytest.mark.parametrize("extreme", [5, 300])
def test_the_upper_limit_needs_few_of_the_scores(kind: str, extreme: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.score.possible.EXTREME", extreme)
    few, of = False, Cells.of
    for seed, power in enumerate(POWERS):
        predictions, used = rows(seed, power, kind), []
        scored = scored_rows(cal.score.LogScore(), predictions)
        moments = moments_of(scored.values, scored.weights)
        if not np.isfinite(moments.mean):
            continue
        monkeypatch.setattr(Cells, "of", lambda x, w, of=Cells.of, used=used: used.append(len(x)) or of(x, w))
        found = scored.upper_limit(moments)
        monkeypatch.setattr(Cells, "of", of)
        every = scored.limits(moments)
        assert (found.upper, found.above) == pytest.approx((every.upper, every.above), rel=1e-12)
        few |= max(used) <= 2 * extreme
    assert few or kind == "zeros" or extreme == 5


def test_a_pair_without_cells_is_that_of_the_cells() -> None:
    kinds = set()
    for seed, power in enumerate(POWERS * 2):
        before = rows(seed, power, "event")
        after = before.with_probs(before.probs ** (1.02 if seed < len(POWERS) else 1.6))
        for score in (cal.score.LogScore(), cal.score.SphericalScore()):
            found, _ = limited_pair(score, before, after, paired_moments(score, before, after))
            old, new = (scored_rows(score, side) for side in (before, after))
            for one, other in zip(found, (old, new, new.blended(old, 1.0, -1.0)), strict=True):
                same(one, other.sums().mean())
                kinds.add(type(one))
    assert kinds == {Moments, LimitedMean}
