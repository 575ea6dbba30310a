"""One pass, compiled and not, gives what all rows at once give."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions
from calibrant.interval import mean
from calibrant.interval.mean import moments
from calibrant.score import passes
from calibrant.score.passes import paired_moments, score_moments
from registered import SCORES
from tolerances import ROUNDING

each = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
N = 700


@pytest.fixture(params=["compiled", "NumPy"])
def small_blocks(request, monkeypatch):
    """Blocks so small that there are many, by either road."""
    monkeypatch.setattr(passes, "COMPILE_FROM", 1 if request.param == "compiled" else 1 << 40)
    monkeypatch.setattr(passes, "CACHED_ROWS", 16)
    monkeypatch.setattr(passes, "BLOCK_ROWS", 64)
    monkeypatch.setattr(passes, "CACHED_NUMBERS", 60)
    monkeypatch.setattr(passes, "BLOCK_NUMBERS", 150)
    return request.param


@pytest.fixture(params=[np.float32, np.float64])
def cases(rng, request):
    """Predictions with and without counts and weights, whole blocks of which may be 0."""
    probs = rng.dirichlet(np.ones(3), N).astype(request.param)
    labels = rng.integers(0, 3, N)
    times = np.where(np.arange(N) < 150, 0, rng.integers(0, 3, N))
    made = {}
    for name, w in {"": {}, ", counts": {"counts": times}, ", weights": {"weights": times / 4}}.items():
        made[f"classes{name}"] = Predictions(labels, probs, **w)
        made[f"event{name}"] = Predictions(labels > 0, probs[:, 1], **w)
        made[f"columns{name}"] = Predictions(labels, np.asfortranarray(probs), **w)
    made["logits"] = Predictions.from_logits(labels, np.log(probs))
    made["event logits"] = Predictions.from_logits(labels > 0, np.log(probs[:, 1]))
    made["shares"] = Predictions(rng.dirichlet(np.ones(3), N), probs, soft=True)
    made["event shares"] = Predictions(rng.random(N), probs[:, 1], soft=True)
    return made


def assert_same(found, expected):
    assert found.rows == expected.rows
    assert found.weight == pytest.approx(expected.weight, rel=ROUNDING)
    assert found.mean == pytest.approx(expected.mean, abs=ROUNDING)
    assert found.squares == pytest.approx(expected.squares, rel=ROUNDING, abs=ROUNDING)


def all_at_once(values, said):
    """Moments of all rows; with weights those of as many equal rows as give the variance Σw²(x − mean)² / (Σw)²."""
    found = moments(values, said.weights)
    if said.squares is None or not np.isfinite(found.mean):
        return found
    variance = np.average(said.squares * (values - found.mean) ** 2) * len(values) / found.weight**2
    return found.of_rows(min(found.squares / found.weight / variance, found.rows))


@pytest.mark.some(6)
@each
def test_blocks_give_what_all_rows_give(score, cases, small_blocks):
    for said in cases.values():
        for view in ("canonical", "auto"):
            assert_same(score_moments(score, said, view), all_at_once(score.rows(said, view), said))


@pytest.mark.some(3)
@each
def test_a_pair_is_both_and_their_difference(score, cases, small_blocks):
    for name, before in cases.items():
        after = (
            before.with_probs(before.probs[::-1].copy()) if "logits" not in name else before.with_logits(-before.logits)
        )
        rows = [score.rows(said) for said in (before, after)]
        expected = [all_at_once(values, before) for values in (*rows, rows[1] - rows[0])]
        for found, wanted in zip(paired_moments(score, before, after), expected, strict=True):
            assert_same(found, wanted)


def test_one_side_of_logits_and_one_of_probabilities(rng, small_blocks):
    z = rng.normal(size=N)
    before = Predictions.from_logits(rng.integers(0, 2, N), z)
    after = before.with_probs(rng.random(N))
    for score in SCORES.values():
        found = paired_moments(score, before, after)[2]
        assert found.mean == pytest.approx((score.rows(after) - score.rows(before)).mean(), abs=ROUNDING)


def test_infinite_rows_are_told_by_the_means(small_blocks):
    labels = np.zeros(N, dtype=int)
    labels[[100, 600]] = 1
    sides = [Predictions(labels, np.where(np.arange(N) == row, 0.0, 0.5)) for row in (100, 600)]
    old, new, _ = paired_moments(SCORES["log"], *sides)
    assert old.mean == new.mean == math.inf
    with pytest.raises(cal.InputError, match=r"before must have a finite log score; row 100 gives probability 0"):
        cal.compare(*sides, score="log")
    assert cal.log_score(sides[1]).cautions == ("infinite: row 600 gives probability 0 to its label",)


def test_a_subclass_with_another_formula_does_not_inherit_the_loops(rng, small_blocks):
    class Doubled(cal.score.BrierScore):
        def of_labels(self, probs, labels):
            return 2 * super().of_labels(probs, labels)

    said = Predictions(rng.integers(0, 3, N), rng.dirichlet(np.ones(3), N))
    assert Doubled().score(said).value == pytest.approx(2 * cal.brier_score(said).value, abs=ROUNDING)


def test_a_score_of_forecasts_goes_block_by_block_too(rng, monkeypatch):
    y, m = rng.normal(size=(2, N))
    before, after = (Predictions.from_gaussian(y, m, np.full(N, v)) for v in (1.0, 2.0))
    from calibrant.score import CRPS, forecast_score

    monkeypatch.setattr(forecast_score, "CACHED_ROWS", 16)
    rows = [CRPS().rows(said) for said in (before, after)]
    for found, values in zip(
        forecast_score.skewed_pair(CRPS(), before, after), (*rows, rows[1] - rows[0]), strict=True
    ):
        assert_same(found.moments, moments(values, None))


def test_the_number_of_cores_does_not_change_the_answer(rng, monkeypatch, small_blocks):
    said = Predictions(rng.integers(0, 2, N), rng.random(N))
    found = [score_moments(score, said, "canonical") for score in SCORES.values()]
    monkeypatch.setattr("calibrant.kernels.rows.blocks.n_cores", lambda: 1)
    assert [score_moments(score, said, "canonical") for score in SCORES.values()] == found


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_many_values_are_compiled(rng, monkeypatch, weighted):
    values, weights = rng.normal(size=500), rng.integers(0, 3, 500).astype(float) if weighted else None
    expected = moments(values, weights)
    monkeypatch.setattr(mean, "COMPILE_FROM", 1)
    monkeypatch.setattr(mean, "CACHED_ROWS", 16)
    assert_same(mean.moments_of(values, weights), expected)


def test_no_array_as_long_as_the_data_is_made(rng):
    n = 1 << 20
    p = rng.random(n, dtype=np.float32)
    before = Predictions((rng.random(n) < p).astype(np.uint8), p)
    after = before.with_probs(1 - p)
    for score in ("brier", "log"):
        paired_moments(SCORES[score], before, after)
        tracemalloc.start()
        paired_moments(SCORES[score], before, after)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * n / 2  # half an array of float64, whatever the number of cores up to two
