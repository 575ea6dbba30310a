"""One property for every method with a state: any split into parts, merged in any order, gives the answer of one pass."""

import math
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.methods import method, methods
from calibrant.results import Estimate
from calibrant.verbs.collect import collect

CLOSE = 1e-9
"""Sums of the same numbers in another order; fits stop at their own tolerance."""

QUICK = {"regret": {"n_draws": 0}}


def one_event(kind, seed=0, n=120):
    rng = np.random.default_rng(seed)
    probs = rng.beta(0.7, 0.6, n)
    if kind == "ties":
        probs = probs.round(1)
    if kind == "float32":
        probs = probs.astype(np.float32)
    weights = rng.integers(1, 4, n) if kind == "weights" else None
    return (rng.random(n) < probs**1.4).astype(int), probs, weights


def several_classes(seed=0, n=120, k=4):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.6), n)
    return np.array([rng.choice(k, p=p) for p in probs**1.2 / (probs**1.2).sum(1, keepdims=True)]), probs


def parted(labels, probs, weights, cuts, order):
    """The rows in parts, each collected by itself, then merged in the given order."""
    bounds = [0, *sorted(cuts), len(labels)]
    parts = [slice(a, b) for a, b in pairwise(bounds) if b > a]
    states = [collect(labels[r], probs[r], counts=None if weights is None else weights[r]) for r in parts]
    states = [states[i] for i in np.argsort(order[: len(states)])]
    while len(states) > 1:
        states.append(states.pop(0).merge(states.pop(0)))
    return states[0]


def numbers(result, path=""):
    """Every number of a result, by where it stands."""
    if isinstance(result, bool) or result is None or isinstance(result, str):
        return
    if isinstance(result, (int, float, np.number)):
        yield path, float(result)
    elif isinstance(result, np.ndarray):
        yield from numbers(result.tolist(), path)
    elif isinstance(result, (list, tuple)):
        for i, each in enumerate(result):
            yield from numbers(each, f"{path}[{i}]")
    elif isinstance(result, dict) or hasattr(result, "items"):
        for key, each in result.items():
            yield from numbers(each, f"{path}.{key}")
    elif is_dataclass(result):
        for each in fields(result):
            yield from numbers(getattr(result, each.name), f"{path}.{each.name}")


def assert_same(found, expected, close=CLOSE):
    mine, theirs = dict(numbers(found)), dict(numbers(expected))
    assert mine.keys() == theirs.keys()
    worst = max(mine, key=lambda key: 0 if mine[key] == theirs[key] else abs(mine[key] - theirs[key]))
    assert all(math.isclose(mine[k], theirs[k], rel_tol=close, abs_tol=close) or mine[k] == theirs[k] or (mine[k] != mine[k] and theirs[k] != theirs[k])
               for k in mine), (worst, mine[worst], theirs[worst])  # fmt: skip


def with_state(kind, *names):
    return [each for each in methods(kind).values() if each.state in names]


splits = {"cuts": st.lists(st.integers(1, 119), max_size=5, unique=True), "order": st.permutations(range(6))}


@cache
def in_one_pass(function, kind):
    labels, probs, weights = one_event(kind)
    return function(labels, probs, counts=weights, **QUICK.get(function.__name__, {}))


def check_estimator(function, kind, cuts, order):
    state = parted(*one_event(kind), cuts, order)
    assert_same(function(state, **QUICK.get(function.__name__, {})), in_one_pass(function, kind))


@pytest.mark.some(6)
@pytest.mark.parametrize("kind", ["plain", "ties", "weights", "float32"])
@pytest.mark.parametrize("name", [each.name for each in with_state("estimator", "pooled")])
@settings(max_examples=4)
@given(**splits)
def test_estimators(name, kind, cuts, order):
    check_estimator(methods("estimator")[name].function, kind, cuts, order)


@pytest.mark.some(36)
@pytest.mark.parametrize("kind", ["plain", "ties", "weights", "float32"])
@pytest.mark.parametrize("name", [each.name for each in with_state("clinical estimator", "pooled")])
@settings(max_examples=4)
@given(**splits)
def test_clinical_estimators(name, kind, cuts, order):
    check_estimator(methods("clinical estimator")[name].function, kind, cuts, order)


def wrong(labels, probs=None, *, counts=None):
    """An estimator that claims a state, yet depends on the order of rows."""
    predictions = cal.Predictions(labels, probs, counts=counts) if probs is not None else cal.predictions.admit(labels)
    event = predictions.event("binary")
    return Estimate("wrong", "wrong", float(event.probs[0]), event.n)


def test_a_false_claim_is_found():
    register = method("estimator", name="wrong", state="pooled")
    with pytest.raises(AssertionError):
        check_estimator(register(wrong), "plain", [100], range(6))
    from calibrant import methods as home

    del home._REGISTER["estimator"]["wrong"]


@pytest.mark.parametrize("name", [each.name for each in with_state("estimator", "class grid")])
@settings(max_examples=8)
@given(cuts=splits["cuts"], order=splits["order"])
def test_class_grids(name, cuts, order):
    labels, probs = several_classes()
    function = methods("estimator")[name].function
    assert_same(function(parted(labels, probs, None, cuts, order)), function(labels, probs))


@pytest.mark.some(6)
@pytest.mark.parametrize("name", [each.name for each in with_state("estimator", "pooled")])
def test_the_top_class_of_several(name):
    labels, probs = several_classes()
    function = methods("estimator")[name].function
    state = parted(labels, probs, None, [50, 170], [2, 0, 1])
    if name == "skce":
        pytest.skip("pairs of whole vectors need the rows")
    options = QUICK.get(function.__name__, {}) | ({} if name == "root_brier" else {"view": "top"})
    found, expected = function(state, **options), function(labels, probs, **options)
    if name == "root_brier":
        assert math.isclose(found.value, expected.value, rel_tol=CLOSE)
    else:
        assert_same(found, expected)


def both(function, **options):
    """What a function says of merged parts and of all rows."""
    rows = one_event("ties")
    return function(parted(*rows, [30, 80], [1, 2, 0]), **options), function(*rows[:2], **options)


@pytest.mark.parametrize("name", [each.name for each in methods("test").values()])
def test_tests(name):
    options = {"view": "binary"} if name in ("skce", "is_calibrated") else {}
    assert_same(*both(methods("test")[name].function, **options))


INTERVALS = [cal.calibration_error_interval, cal.cumulative_interval, cal.squared_error_interval]
BANDS = [cal.simultaneous_band, cal.consistency_band, cal.confidence_band]


@pytest.mark.parametrize(
    "function", [*INTERVALS, *BANDS, cal.diagnose, cal.where, cal.decompose], ids=lambda f: f.__name__
)
def test_intervals_bands_and_verbs(function):
    assert_same(*both(function))


@pytest.mark.parametrize("name", [each.name for each in with_state("map", "pooled")])
def test_maps_of_one_event(name):
    rows = one_event("ties")
    state = parted(*rows, [30, 80], [1, 2, 0])
    data = cal.Predictions(*rows[:2])
    fitted, expected = cal.recalibrate(state, method=name), cal.recalibrate(data, method=name)
    assert_same(fitted.parameters, expected.parameters, 1e-7)
    assert_same(cal.compare(state, expected), cal.compare(data, expected))


@pytest.mark.parametrize("name", [*methods("score")])
def test_scores_of_several_classes(name):
    labels, probs = several_classes()
    score = methods("score")[name].function()
    assert_same(score.score(parted(labels, probs, None, [1, 50, 80], [2, 0, 3, 1])), score.score(labels, probs))
