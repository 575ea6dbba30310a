"""Worlds of several classes: closed forms, direct simulation, and bounds between errors."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import InputError
from calibrant.simulate import DirichletWorld, HiddenErrorWorld, LogisticNormalWorld, World, several
from tolerances import ROUNDING, STANDARD_ERRORS


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch):
    monkeypatch.setattr(several, "ENTRIES", 1_000_000)
    several._true_power.cache_clear()
    yield
    several._true_power.cache_clear()


def near(truth, exact):
    return abs(truth.value - exact) <= STANDARD_ERRORS * truth.parts["standard_error"] + ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("concentration", [[0.5, 0.5, 0.5], [2.0, 1.0, 0.5], [0.3, 0.1]])
def test_random_labels_have_errors_in_closed_form(concentration):
    """The truth is p + u (1/K − p): L2 by the moments of the Dirichlet distribution."""
    a, u = np.array(concentration), 0.3
    k, total = len(a), a.sum()
    mean = a / total
    squares = mean * (1 - mean) / (total + 1) + (mean - 1 / k) ** 2
    world = DirichletWorld(a, random=u)
    assert near(world.truth(2, "canonical"), u * np.sqrt(squares.sum()))
    assert near(world.truth(2, "classwise"), u * np.sqrt(squares.mean()))
    for j in range(k):
        assert near(world.truth(2, f"class {j}"), u * np.sqrt(squares[j]))


@pytest.mark.slow
def test_the_top_error_of_random_labels_follows_the_top_score():
    world = DirichletWorld([0.7, 0.7, 0.7, 0.7], random=0.25)
    top = world.rows(400_000, 9)[0].max(axis=1)
    error = 0.25 * top.std() / np.sqrt(len(top))
    truth = world.truth(1, "top")
    both = np.hypot(error, truth.parts["standard_error"])
    assert abs(truth.value - 0.25 * (top.mean() - 0.25)) < STANDARD_ERRORS * both
    assert truth.settings["method"] == "Monte Carlo"
    assert truth.n == 250_000


@pytest.mark.slow
def test_two_classes_are_one_event():
    """With K = 2 the truth given p is a curve: integrate it."""
    from scipy.integrate import quad
    from scipy.stats import beta

    def curve(p):
        return p**0.6 / (p**0.6 + (1 - p) ** 0.6)

    world = DirichletWorld([2.0, 1.5], power=0.6)
    exact, _ = quad(lambda p: abs(curve(p) - p) * beta.pdf(p, 2.0, 1.5), 0, 1, points=[0.5], epsabs=1e-10)
    assert near(world.truth(1, "class 0"), exact)
    assert near(world.truth(1, "canonical"), 2 * exact)
    assert near(world.truth(1, "top"), exact)


@pytest.mark.slow
def test_the_top_error_forgets_the_other_classes():
    """What matters given the top score is the mean over the rest: narrow bins of a plain simulation agree."""
    world = DirichletWorld([[4.0, 1.0, 1.0], [0.5, 0.5, 0.5]], power=0.5, shares=[1.0, 3.0])
    predicted, rates = world.rows(400_000, 5)
    at = predicted.argmax(axis=1)
    p, r = predicted.max(axis=1), rates[np.arange(len(at)), at]
    bins = (p * 100).astype(int)
    sums = np.bincount(bins, r - p)
    plain = np.abs(sums).sum() / len(p)
    truth = world.truth(1, "top")
    assert abs(truth.value - plain) < STANDARD_ERRORS * np.hypot(
        truth.parts["standard_error"], (r - p).std() / len(p) ** 0.5
    )


@pytest.mark.slow
@pytest.mark.parametrize("world", [DirichletWorld([1.0, 0.5, 0.2], power=0.6), LogisticNormalWorld(6, 0.5, 20.0)])
@pytest.mark.parametrize("norm", [1, 2])
def test_errors_bound_each_other(world, norm):
    """CE ≥ CWCE (summed over classes) and CE ≥ TCE (Gruber & Buettner, theorem 3.1)."""
    canonical, top = world.true_error(norm, "canonical"), world.true_error(norm, "top")
    summed = world.true_error(norm, "classwise") * world.n_classes ** (1 / norm)
    assert canonical > summed
    assert canonical > top > 0


@pytest.mark.some(18)
@pytest.mark.parametrize("world", [DirichletWorld([1.0, 0.5, 0.2]), LogisticNormalWorld(6)])
@pytest.mark.parametrize("view", ["auto", "top", "class 1", "classwise", "canonical"])
def test_calibrated_worlds_have_no_error(world, view):
    for norm in (1, 2):
        assert world.true_error(norm, view) == pytest.approx(0, abs=ROUNDING)


@pytest.mark.parametrize("world", [DirichletWorld([1.0, 0.5, 0.2], power=0.5, random=0.1), LogisticNormalWorld(5, 0.5)])
def test_labels_follow_the_true_distributions(world, rng):
    data = world.sample(20_000, 3)
    rates = world.rows(20_000, np.random.default_rng(3))[1]
    occurred = np.eye(world.n_classes)[data.labels]
    for weight in (np.ones(20_000), rates[:, 0]):
        gap = ((occurred - rates) * weight[:, None]).mean(axis=0)
        error = np.sqrt((rates * (1 - rates) * weight[:, None] ** 2).mean(axis=0) / 20_000)
        assert (np.abs(gap) <= STANDARD_ERRORS * error).all()


def test_the_simulated_network_of_100_classes_is_right_seven_times_in_eight():
    predicted, rates = LogisticNormalWorld().rows(10_000, 1)
    assert predicted.shape == (10_000, 100)
    assert abs(rates.max(axis=1).mean() - 0.876) < 0.01
    sharp, _ = LogisticNormalWorld(temperature=0.5).rows(10_000, 1)
    np.testing.assert_allclose(sharp, rates**2 / (rates**2).sum(axis=1, keepdims=True), atol=1e-9)


def test_tiny_concentrations_put_all_on_one_class(rng):
    predicted, _ = DirichletWorld([1e-5, 1e-5, 1e-5]).rows(2000, rng)
    np.testing.assert_allclose(predicted.sum(axis=1), 1, atol=ROUNDING)
    assert (predicted.max(axis=1) == 1).mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        DirichletWorld([[4.0, 1.0], [0.5, 0.5]], 0.5, 0.1, [1.0, 3.0]),
        LogisticNormalWorld(4, 0.7, 50.0, 6, 3),
    ],
)
def test_worlds_survive_json_and_seeds(world):
    again = World.from_json(world.to_json())
    assert again == world
    np.testing.assert_array_equal(again.sample(20, 1).labels, world.sample(20, 1).labels)
    assert world.truth(1, "top") is not None
    assert again.true_error() == world.true_error()


def test_words():
    assert (
        repr(DirichletWorld([1.0, 1.0]))
        == "DirichletWorld: 2 classes from a Dirichlet distribution, perfectly calibrated"
    )
    mixed = DirichletWorld([[1.0, 1.0], [2.0, 2.0]], power=0.5, random=0.25).describe()
    assert (
        mixed == "2 classes from a mixture of 2 Dirichlet distributions, true power 0.5000, 0.25 of the labels random"
    )
    assert "predicted at temperature 0.5000" in repr(LogisticNormalWorld(3, 0.5))


@pytest.mark.parametrize(
    ("argument", "make"),
    [
        ("concentration", lambda: DirichletWorld([1.0])),
        ("concentration", lambda: DirichletWorld([1.0, -1.0])),
        ("shares", lambda: DirichletWorld([1.0, 1.0], shares=[1.0, 2.0])),
        ("power", lambda: DirichletWorld([1.0, 1.0], power=0.0)),
        ("random", lambda: DirichletWorld([1.0, 1.0], random=1.5)),
        ("classes", lambda: LogisticNormalWorld(1)),
        ("temperature", lambda: LogisticNormalWorld(3, 0.0)),
        ("degrees", lambda: LogisticNormalWorld(3, degrees=2)),
        ("view", lambda: DirichletWorld([1.0, 1.0]).truth(1, "class 2")),
        ("norm", lambda: DirichletWorld([1.0, 1.0]).truth("max")),
    ],
)
def test_bad_arguments_are_refused(argument, make):
    with pytest.raises(InputError, match=f"^{argument} must"):
        make()


@pytest.mark.parametrize("norm", [1, 1.5, 2, 3, "max"])
@pytest.mark.parametrize(("k", "a"), [(3, 0.6), (10, 0.51)])
def test_the_hidden_error_is_seen_in_whole_vectors_only(k, a, norm):
    world = HiddenErrorWorld(k, a)
    probs, rates = np.full((k, k), (1 - a) / (k - 1)), np.zeros((k, k))
    for c in range(k):
        probs[c, c] = rates[c, c] = a
        rates[c, (c - 1) % k] = 1 - a
    drawn, truth = world.rows(500, 0)
    at = drawn.argmax(axis=1)
    np.testing.assert_allclose(drawn, probs[at])
    np.testing.assert_allclose(truth, rates[at])
    gaps = np.abs(probs - rates)
    canonical = gaps.max() if norm == "max" else (gaps**norm).sum(axis=1).mean() ** (1 / norm)
    assert world.true_error(norm, "canonical") == pytest.approx(canonical, abs=ROUNDING)
    for c in range(k):  # of each class, given its own probability
        for value in set(probs[:, c]):
            assert rates[probs[:, c] == value, c].mean() == pytest.approx(value)
    assert {world.true_error(norm, view) for view in ("top", "classwise", "class 1")} == {0.0}


def test_the_hidden_error_is_that_of_proposition_3_2():
    world = HiddenErrorWorld(10, 0.51)
    assert world.true_error(2, "canonical") == pytest.approx((1 - 1 / 9) ** 0.5 * 0.49, abs=ROUNDING)
    assert World.from_json(world.to_json()) == world
    for bad in ({"classes": 2}, {"confidence": 0.5}, {"confidence": 1.0}):
        with pytest.raises(InputError, match=next(iter(bad))):
            HiddenErrorWorld(**bad)
    with pytest.raises(InputError, match="view must be"):
        world.true_error(1, "class 10")
