"""In which direction does a model err? Cells whose errors are known."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.verbs.faults import fault_of


def found(rate, p=None, n=200, confidence=False):
    """The fault of predictions with n rows each, whose outcomes have the rates that are given, to the row."""
    p = np.arange(0.05, 1.0, 0.05) if p is None else np.asarray(p)
    hits = np.round(n * np.asarray(rate(p)))
    y = np.concatenate([np.repeat([1, 0], [int(h), int(n - h)]) for h in hits])
    return fault_of(Predictions(y, np.repeat(p, n)).event(), confidence)


CASES = {
    "right": (lambda p: p, ("unclear", "")),
    "shifted up": (lambda p: sigmoid(log_odds(p) - 0.5), ("shift", "predicts too high")),
    "shifted down": (lambda p: sigmoid(log_odds(p) + 0.5), ("shift", "predicts too low")),
    "too steep": (
        lambda p: sigmoid(0.5 * log_odds(p)),
        ("slope", r"over-confident, too low below 0\.(4[5-9]|5\d) and too high above .*"),
    ),
    "too flat": (
        lambda p: sigmoid(1.6 * log_odds(p)),
        ("slope", r"under-confident, too high below 0\.(4[5-9]|5\d) and too low above .*"),
    ),
    "top": (
        lambda p: p - 0.2 * (p > 0.87),
        ("shape", "over-confident at the top only, too high above 0.88"),
    ),
    "bottom": (
        lambda p: p + 0.2 * (p < 0.12),
        ("shape", "over-confident at the bottom only, too low below 0.12"),
    ),
    "inside": (
        lambda p: p - 0.25 * ((p > 0.58) & (p < 0.72)),
        ("shape", "too high between 0.60 and 0.70, elsewhere no error to be seen"),
    ),
    "waves": (
        lambda p: np.clip(p + 0.15 * np.sin(4 * np.pi * p), 0.01, 0.99),
        ("shape", "too high in some places and too low in others, most clearly .*"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_known_errors(case):
    rate, (kind, words) = CASES[case]
    fault = found(rate)
    assert fault.kind == kind
    assert re.fullmatch(words, fault.words), fault.words


def test_confidences_are_over_or_under_confident():
    assert found(lambda p: p - 0.1, [0.5, 0.6, 0.7, 0.8, 0.9], confidence=True).words == "over-confident"
    mixed = found(lambda p: sigmoid(0.4 * log_odds(p) + 0.5), [0.5, 0.6, 0.7, 0.8, 0.9], confidence=True)
    assert re.fullmatch(r"under-confident below 0\.\d+ and over-confident above (it|0\.\d+)", mixed.words)


def test_mirrored_predictions_have_the_mirrored_fault():
    other = {"too high": "too low", "too low": "too high", "bottom": "top", "top": "bottom"}
    for case in ("shifted up", "top", "bottom"):
        rate, _ = CASES[case]
        mirrored = found(lambda p, rate=rate: 1 - rate(1 - p)).words
        words = found(rate).words
        assert all((word in words) == (other[word] in mirrored) for word in other)


def test_one_prediction_is_too_high_or_too_low():
    assert found(lambda p: p - 0.2, [0.5]).words == "predicts too high"
    assert found(lambda p: p + 0.0, [0.5]).words == ""


def test_certain_predictions_have_no_log_odds():
    assert fault_of(Predictions([0, 1, 1, 0], [0.0, 1.0, 1.0, 1.0]).event()).words == ""


def test_weights_and_counts_count(rng):
    p = rng.random(400)
    y, w = rng.random(400) < p**2, rng.integers(1, 4, 400)
    counted = fault_of(Predictions(y, p, counts=w).event())
    assert counted == fault_of(Predictions(np.repeat(y, w), np.repeat(p, w)).event())
    assert fault_of(Predictions(y, p, weights=np.full(400, 7.0)).event()) == fault_of(Predictions(y, p).event())


def test_over_and_under_confident_are_said_of_errors_that_change_sign_near_the_middle():
    """Steep, but right at 0.85 only: most predictions are too high though above a half, which is not under-confidence."""
    high = np.arange(0.5, 0.98, 0.02)
    words = found(lambda p: sigmoid(3 * (log_odds(p) - log_odds(0.85)) + log_odds(0.85)), high).words
    assert re.fullmatch(r"too high below 0\.\d+ and too low above it", words)
    rare = np.arange(0.02, 0.5, 0.03)
    assert found(lambda p: sigmoid(0.4 * log_odds(p) + 0.6 * log_odds(0.2)), rare).words.startswith("over-confident, ")


def test_two_stretches_off_the_same_way_are_neither_over_nor_under_confident():
    words = found(lambda p: p - 0.04 * (p < 0.3) - 0.15 * (p > 0.8), n=400).words
    assert "confident" not in words
    assert "too high" in words


def test_nothing_is_said_to_be_right_that_is_off_as_a_whole():
    """A shift that no cell shows by itself, beside a tail that shows."""
    words = found(lambda p: p - 0.025 - 0.22 * (p > 0.87)).words
    assert "only" not in words
    assert "elsewhere" not in words
    assert words.startswith("predicts too high")
