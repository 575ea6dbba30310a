"""Counts are rows repeated; weights say how much a row matters, whatever their scale. For every method in the register."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import calibrant as cal
from calibrant.methods import methods

SCALES = (1e-6, 1e6)
QUICK = {"regret": {"n_draws": 0, "method": "platt"}, "interval_of": {}}
CLOSE = 1e-7
"""Fits stop at their own tolerance; sums run over the same numbers in another order."""


def event_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.beta(0.8, 0.7, n).round(3)
    return (rng.random(n) < probs**1.3).astype(int), probs


def class_rows(n, k=3, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.7), n)
    return np.array([rng.choice(k, p=p) for p in probs]), probs


def numbers(result, path=""):
    """Every number of a result, by where it stands; settings and drawn curves left out."""
    if result is None or isinstance(result, bool | str):
        return
    if isinstance(result, int | float | np.number):
        yield path, float(result)
    elif isinstance(result, np.ndarray | list | tuple):
        for i, each in enumerate(np.ravel(result).tolist() if isinstance(result, np.ndarray) else result):
            yield from numbers(each, f"{path}[{i}]")
    elif hasattr(result, "items"):
        for key, each in result.items():
            yield from numbers(each, f"{path}.{key}")
    elif is_dataclass(result):
        for each in fields(result):
            yield from numbers(getattr(result, each.name), f"{path}.{each.name}")


def assert_same(found, expected, close=CLOSE, but=()):
    """Equal numbers, but for those whose path holds one of the names."""
    mine, theirs = (
        {k: v for k, v in numbers(each) if not any(name in k for name in but)} for each in (found, expected)
    )
    assert mine.keys() == theirs.keys()
    for key, value in mine.items():
        assert value == pytest.approx(theirs[key], rel=close, abs=close, nan_ok=True), key


def needs_columns(about):
    return bool(about.views) and not {"binary", "class k", "canonical"} & set(about.views)


def data_for(about, n):
    return class_rows(n) if needs_columns(about) else event_rows(n)


ESTIMATORS = [each for kind in ("estimator", "clinical estimator") for each in methods(kind).values() if each.weights]
TESTS = list(methods("test").values())
SCORES = list(methods("score").values())
MAPS = [each for each in methods("map").values() if each.name not in ("matrix", "dirichlet")]


def of_samples(labels, probs, **mass):
    """Confidences as shares of 8 samples."""
    return cal.sampled_error(labels, np.round(8 * probs) / 8, n_samples=8, **mass)


def of_answers(labels, probs, **mass):
    return cal.assess_answers(labels, np.round(8 * probs) / 8, n_samples=8, **mass)


def of_updates(labels, probs, **mass):
    """A monitor; weights that differ are refused, see below."""
    return cal.Monitor().update(labels, probs, **mass).state


def other(name, function, **facts):
    return SimpleNamespace(kind="other", name=name, function=function, views=("binary",), **facts)


OTHERS = [
    other("selective_risk", cal.selective_risk),
    other("sampled_error", of_samples),
    other("assess_answers", of_answers),
]
"""what no register has"""
MONITOR = other("Monitor", of_updates)


def options(about):
    given = QUICK.get(about.name, {})
    return {k: v for k, v in given.items() if k in inspect.signature(about.function).parameters}


def measured(about, labels, probs, **mass):
    function = about.function().score if about.kind == "score" else about.function
    return function(labels, probs, **mass, **options(about))


def named(found):
    return [pytest.param(each, id=f"{each.kind}-{each.name}") for each in found]


EVERY = [*ESTIMATORS, *TESTS, *SCORES, *OTHERS]
every = pytest.mark.parametrize("about", named(EVERY))
and_monitors = pytest.mark.parametrize("about", named([*EVERY, MONITOR]))


@pytest.mark.some(8)
@every
def test_the_scale_of_weights_changes_nothing(about):
    labels, probs = data_for(about, 90)
    weights = np.random.default_rng(1).exponential(size=90) + 0.05
    expected = measured(about, labels, probs, weights=weights)
    for scale in SCALES:
        assert_same(measured(about, labels, probs, weights=scale * weights), expected)


@pytest.mark.some(6)
@and_monitors
def test_equal_weights_say_nothing(about):
    labels, probs = data_for(about, 60)
    assert_same(measured(about, labels, probs, weights=np.full(60, 80.0)), measured(about, labels, probs), 0)


def counted_rows(about, n, seed=2):
    """Rows with counts, and the same rows repeated."""
    labels, probs = data_for(about, n)
    counts = np.random.default_rng(seed).integers(0, 4, n)
    return (labels, probs, counts), (np.repeat(labels, counts), np.repeat(probs, counts, axis=0))


@pytest.mark.some(8)
@and_monitors
def test_counts_are_rows_repeated(about):
    (labels, probs, counts), repeated = counted_rows(about, 80)
    assert_same(measured(about, labels, probs, counts=counts), measured(about, *repeated))


@pytest.mark.slow
@pytest.mark.parametrize("about", named([each for each in ESTIMATORS if each.state]))
def test_counts_are_rows_repeated_also_in_many_rows(about):
    (labels, probs, counts), repeated = counted_rows(about, 14_000)
    assert counts.sum() > 1 << 14
    assert_same(measured(about, labels, probs, counts=counts), measured(about, *repeated), 1e-6)


def fitted(about, labels, probs, **mass):
    return cal.recalibrate(cal.Predictions(labels, probs, **mass), about.name)


@pytest.mark.parametrize("about", named(MAPS))
def test_maps_do_not_depend_on_the_scale_of_weights(about):
    labels, probs = event_rows(150)
    weights = np.random.default_rng(1).exponential(size=150) + 0.05
    expected = fitted(about, labels, probs, weights=weights).apply(probs)
    for scale in SCALES:
        np.testing.assert_allclose(
            fitted(about, labels, probs, weights=scale * weights).apply(probs), expected, atol=1e-5
        )


@pytest.mark.parametrize("about", named(MAPS))
def test_maps_of_counts_are_those_of_rows_repeated(about):
    labels, probs = event_rows(100)
    counts = np.random.default_rng(2).integers(0, 4, 100)
    found = fitted(about, labels, probs, counts=counts).apply(probs)
    expected = fitted(about, np.repeat(labels, counts), np.repeat(probs, counts)).apply(probs)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("weight", [1e-300, 1e15, 1e300])
def test_any_scale_is_one_scale(weight):
    labels, probs = event_rows(50)
    assert_same(cal.ece(labels, probs, weights=np.full(50, weight)), cal.ece(labels, probs), 0)
    halves = np.where(np.arange(50) % 2, 1.0, 0.5)
    assert_same(cal.ece(labels, probs, weights=halves * weight), cal.ece(labels, probs, weights=halves))


@pytest.mark.parametrize(
    ("mass", "text"),
    [
        ({"counts": [0.5] + [1] * 19}, "counts must be whole numbers of rows; counts\\[0\\] is 0.5"),
        ({"counts": [-1] + [1] * 19}, "counts must not be negative"),
        ({"counts": [1e16] + [1] * 19}, "counts must sum to at most 1e\\+15"),
        ({"counts": [0] * 20}, "counts must not all be zero"),
        ({"weights": [0.0] * 20}, "weights must not all be zero"),
        ({"weights": [1e-200] + [1.0] * 19}, "weights must not differ by more than a factor of 1e100"),
        ({"weights": [np.nan] + [1.0] * 19}, "weights must be finite"),
        ({"weights": [1.0] * 19 + [0.0], "counts": [0] * 19 + [1]}, "weights must not all be zero"),
    ],
)
def test_what_is_no_mass_is_refused(mass, text):
    labels, probs = event_rows(20)
    with pytest.raises(cal.InputError, match=text):
        cal.Predictions(labels, probs, **mass)


def test_rows_of_weight_0_are_left_out():
    labels, probs = event_rows(40)
    weights = np.where(np.arange(40) < 30, 1.7, 0.0)
    assert_same(cal.diagnose(labels, probs, weights=weights), cal.diagnose(labels[:30], probs[:30]))


def test_spread_weights_widen_an_interval():
    labels, probs = event_rows(400)
    weights = np.where(np.arange(400) % 4 == 0, 10.0, 1.0)
    plain, weighted = (cal.mean_gap(labels, probs, weights=w).interval for w in (None, weights))
    assert weighted.high - weighted.low > 1.3 * (plain.high - plain.low)


@pytest.mark.slow
def test_both_at_once():
    """Counts repeat a row with its weight."""
    labels, probs = event_rows(60)
    rng = np.random.default_rng(4)
    counts, weights = rng.integers(1, 4, 60), rng.exponential(size=60) + 0.1
    repeated = np.repeat(labels, counts), np.repeat(probs, counts)
    for function in (cal.ece, cal.mean_gap, cal.brier_score, cal.skce, cal.is_calibrated, cal.ks_error):
        both = function(labels, probs, counts=counts, weights=weights)
        assert_same(
            both, function(*repeated, weights=np.repeat(weights, counts)), but=("p_value", "parts", "statistic")
        )


@pytest.mark.some(6)
@pytest.mark.parametrize("about", named([*ESTIMATORS, *SCORES]))
def test_weights_of_some_rows_have_a_scale_of_their_own(about):
    labels, probs = data_for(about, 90)
    weights = np.random.default_rng(3).exponential(size=90) + 0.05
    function = about.function().score if about.kind == "score" else about.function
    part = cal.Predictions(labels, probs, weights=weights).rows(slice(0, 50))
    assert_same(function(part, **options(about)), measured(about, labels[:50], probs[:50], weights=weights[:50]))
    equal = cal.Predictions(labels, probs, weights=np.where(np.arange(90) < 50, 3.3, 1.0)).rows(slice(0, 50))
    assert_same(function(equal, **options(about)), measured(about, labels[:50], probs[:50]))


def test_a_monitor_refuses_weights_that_differ():
    labels, probs = event_rows(20)
    weights = np.where(np.arange(20) < 5, 0.0, 2.0)
    assert_same(of_updates(labels, probs, weights=weights), of_updates(labels[5:], probs[5:]), 0)
    with pytest.raises(cal.InputError, match=r"weights must all be equal in a monitor; .* a bet is placed before"):
        cal.Monitor().update(labels, probs, weights=weights + np.arange(20))
    with pytest.raises(cal.InputError, match=r"Pass counts= .* or watch rows that matter in their own Monitor"):
        cal.Monitor().update(cal.Predictions(labels, probs, weights=1 + probs))
