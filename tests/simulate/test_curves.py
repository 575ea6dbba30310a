"""True curves against the formulas written out."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.simulate import Calibrated, LinearCurve, MapCurve, PowerCurve, ScaledCurve, TrueCurve, UniformWorld
from calibrant.simulate.curves import as_curve
from tolerances import ROUNDING

P = np.linspace(0.001, 0.999, 97)

FORWARD = {"logit": lambda c: np.log(c / (1 - c)), "log": np.log, "logflip": lambda c: np.log(1 - c)}


@pytest.mark.parametrize(
    ("link", "transform", "intercept", "slope"),
    [
        ("logit", "logit", -0.9, 0.4),
        ("logit", "logflip", -0.3, -0.35),
        ("logflip", "logflip", -0.24, 0.3),
        ("log", "log", -0.03, 1.3),
        ("logit", "log", 1.0, 2.0),
    ],
)
def test_the_link_of_the_curve_is_a_line_in_the_transform(link, transform, intercept, slope):
    rates = LinearCurve(link, transform, intercept, slope).rates(P, 1 - P)
    np.testing.assert_allclose(
        FORWARD[link](rates), intercept + slope * FORWARD[transform](P), rtol=1e-9
    )  # undoes 1 − c


def test_the_ends_are_limits():
    ends = np.array([0.0, 1.0])
    assert LinearCurve("logit", "logit", 0.5, 0.4).rates(ends, 1 - ends).tolist() == [0, 1]
    assert LinearCurve("logflip", "logflip", -1.0, 0.4).rates(ends, 1 - ends)[1] == 1
    assert LinearCurve("logit", "logit", 0.5, 0.0).rates(ends, 1 - ends) == pytest.approx(1 / (1 + np.exp(-0.5)))


def test_a_curve_is_cut_off_at_one():
    assert LinearCurve("log", "log", 0.2, 1.0).rates(np.array([0.9]), np.array([0.1])).tolist() == [1.0]


def test_scores_beyond_the_limits_are_read_as_at_them():
    curve = LinearCurve("logit", "logit", 0.0, 1.0, (0.01, 0.1))
    p = np.array([0.0, 0.005, 0.01, 0.5, 0.9, 0.99, 1.0])
    low, high = curve.rates(np.array([0.01]), np.array([0.99]))[0], curve.rates(np.array([0.9]), np.array([0.1]))[0]
    assert curve.rates(p, 1 - p)[:3] == pytest.approx(low)
    assert curve.rates(p, 1 - p)[3] == 0.5
    np.testing.assert_allclose(curve.rates(p[4:5], 1 - p[4:5]), high)
    assert (np.diff(curve.rates(p, 1 - p)) >= 0).all()


def test_the_complement_decides_where_p_has_rounded_to_one():
    p, q = np.ones(3), np.array([1e-20, 1e-40, 1e-60])
    rates = LinearCurve("logit", "logit", 0.0, 0.1).rates(p, q)
    np.testing.assert_allclose(1 - rates, q**0.1 / (1 + q**0.1), rtol=1e-9)


def test_powers_and_shares():
    assert PowerCurve(2.0).rates(P, 1 - P) == pytest.approx(P * P)
    assert ScaledCurve(0.9).rates(P, 1 - P) == pytest.approx(0.9 * P)
    assert Calibrated().rates(P, 1 - P) is P


def test_a_fitted_map_is_a_curve():
    fitted = cal.Platt().fit([0, 1, 0, 1, 1], [0.1, 0.4, 0.6, 0.7, 0.9])
    curve = as_curve(fitted)
    np.testing.assert_allclose(curve.rates(P.reshape(1, -1), 1 - P), fitted.apply(P)[None], atol=ROUNDING)
    assert "logistic" in curve.describe() or "platt" in curve.describe()


CURVES = [
    Calibrated(),
    LinearCurve("log", "log", -0.1, 1.2, (1e-9, 1e-8)),
    PowerCurve(3.0),
    ScaledCurve(0.5),
    MapCurve(cal.Isotonic().fit([0, 1, 1], [0.1, 0.4, 0.6])),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda c: type(c).__name__)
def test_curves_survive_json(curve):
    again = TrueCurve.from_json(curve.to_json())
    assert again == curve
    assert repr(again) == curve.describe()
    np.testing.assert_array_equal(again.rates(P, 1 - P), curve.rates(P, 1 - P))


def test_bad_parameters_are_refused():
    with pytest.raises(InputError, match="link must be one of"):
        LinearCurve("probit")
    with pytest.raises(InputError, match="must be finite"):
        LinearCurve(intercept=np.inf)
    with pytest.raises(InputError, match=r"limits must lie in \[0, 0.5\)"):
        LinearCurve(limits=(0.0, 0.6))
    with pytest.raises(InputError, match="exponent must be positive"):
        PowerCurve(0.0)
    with pytest.raises(InputError, match=r"factor must lie in \[0, 1\]"):
        ScaledCurve(1.5)
    with pytest.raises(InputError, match="a fitted map of a single event"):
        as_curve("isotonic")


def test_a_plain_function_is_a_true_curve():
    """A sigmoid of 10p − 5."""
    world = UniformWorld(calibration=lambda p: 1 / (1 + np.exp(5 - 10 * p)))
    grid = (np.arange(100_000) + 0.5) / 100_000
    assert world.true_error() == pytest.approx(np.abs(1 / (1 + np.exp(5 - 10 * grid)) - grid).mean(), abs=1e-8)
    assert world.curve([0.5]) == pytest.approx([0.5])
    assert "c = <lambda>(p)" in repr(world)
    assert world.sample(10, 0).n == 10
    with pytest.raises(InputError, match="calibration must be a TrueCurve or a fitted map to be saved"):
        world.to_json()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda p: 2 * p, r"must give rates in \[0, 1\]; it gives"),
        (lambda p: p[:-1], "must give a rate for each prediction"),
        ("square", "must be a TrueCurve, a fitted map of a single event, or a function"),
    ],
)
def test_functions_that_give_no_rates_are_refused(function, message):
    with pytest.raises(InputError, match=message):
        UniformWorld(calibration=function).draw(10, 1, 0)
