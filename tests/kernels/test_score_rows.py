"""Compiled scores of rows are those of plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.sums import score_rows
from tolerances import ROUNDING


@pytest.fixture(params=[np.float32, np.float64])
def event(rng, request):
    probs = rng.random(203).astype(request.param)
    probs[:4] = 0, 0, 1, 1
    outcomes = (rng.random(203) < 0.5).astype(np.uint8)
    outcomes[:4] = 0, 1, 0, 1
    return probs, outcomes


@pytest.fixture(params=[np.float32, np.float64])
def matrix(rng, request):
    probs = rng.dirichlet(np.full(37, 0.3), 203)
    probs[:2] = np.eye(37)[[5, 36]]
    labels = rng.integers(0, 37, 203).astype(np.int32)
    labels[:2] = 5, 0
    return probs.astype(request.param), labels


roads = pytest.mark.parametrize("road", ["compiled", "plain"])


def written(kernel, road, *arguments):
    out = np.full(len(arguments[-1]), np.nan)
    (kernel if road == "compiled" else kernel.plain)(*arguments, out)
    return out


@roads
def test_squared_misses(event, road):
    probs, outcomes = event
    expected = [3 * (float(p) - int(y)) ** 2 for p, y in zip(probs, outcomes, strict=True)]
    assert written(score_rows.squared_misses, road, 3.0, *event) == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("times", [1.0, 2.0])
def test_squared_misses_in_numpy_are_the_same_numbers(event, times):
    out = np.full(len(event[0]), np.nan)
    score_rows.squares_in_numpy(times, *event, out)
    assert out.tolist() == written(score_rows.squared_misses, "compiled", times, *event).tolist()


@pytest.mark.parametrize("ready", [False, True])
def test_squares_are_the_same_numbers_in_either_form(event, monkeypatch, ready):
    monkeypatch.setattr(score_rows, "LOOPED_ROWS", 1)
    monkeypatch.setattr(score_rows.squared_misses, "ready", lambda *_: ready)
    found, out = (np.full(len(event[0]), np.nan) for _ in "12")
    score_rows.squares(2.0, *event, found)
    score_rows.squares_in_numpy(2.0, *event, out)
    assert found.tolist() == out.tolist()


@roads
def test_angles(event, road):
    probs, outcomes = (x.astype(float) for x in event)
    norm = np.hypot(probs, 1 - probs)
    expected = 1 - np.where(outcomes == 1, probs, 1 - probs) / norm
    assert written(score_rows.angles, road, *event) == pytest.approx(expected, abs=ROUNDING)


@roads
def test_squared_distances(matrix, road):
    probs, labels = matrix
    expected = ((probs.astype(float) - np.eye(37)[labels]) ** 2).sum(axis=1)
    assert written(score_rows.squared_distances, road, *matrix) == pytest.approx(expected, abs=ROUNDING)


@roads
def test_label_angles(matrix, road):
    probs, labels = matrix[0].astype(float), matrix[1]
    expected = 1 - probs[np.arange(203), labels] / np.linalg.norm(probs, axis=1)
    assert written(score_rows.label_angles, road, *matrix) == pytest.approx(expected, abs=ROUNDING)


@roads
def test_said_of_labels(matrix, road):
    probs, labels = matrix
    assert (written(score_rows.label_probs, road, *matrix) == probs[np.arange(203), labels]).all()


@pytest.mark.some(3)
@roads
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 203])
def test_ranked_distances(matrix, road, n):
    probs, labels = (x[:n] for x in matrix)
    below = probs.astype(float).cumsum(axis=1)[:, :-1]
    expected = ((below - (labels[:, None] <= np.arange(36))) ** 2).sum(axis=1)
    assert written(score_rows.ranked_distances, road, probs, labels) == pytest.approx(expected, abs=ROUNDING)


def test_nothing_cancels_near_a_certain_and_right_answer():
    tiny, yes = np.array([1e-9]), np.zeros(1, dtype=np.uint8)
    assert written(score_rows.angles, "compiled", tiny, yes)[0] == pytest.approx(
        0.5e-18, rel=1e-8
    )  # t²/2; t³ is left out
    assert written(score_rows.squared_misses, "compiled", 2.0, tiny, yes)[0] == pytest.approx(2e-18, rel=ROUNDING)


@pytest.mark.some(5)
@pytest.mark.parametrize("label", [37, 2**31 - 1, -1])
@pytest.mark.parametrize("name", ["squared_distances", "label_angles", "label_probs", "ranked_distances"])
def test_a_label_changed_after_it_was_checked_reads_inside_the_row(matrix, name, label):
    probs = matrix[0]
    out = written(getattr(score_rows, name), "compiled", probs, np.full(203, label, dtype=np.int32))
    assert np.isfinite(out).all()
