"""An estimate is a number."""

from __future__ import annotations

import math
import operator
import statistics
from fractions import Fraction
from numbers import Real

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.results import Estimate

SMALL, LARGE = (Estimate("error", "error", value, 10) for value in (0.25, 2.5))
OPERATIONS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("other", [LARGE, 3, 1.5, True, Fraction(1, 2), np.float64(1.5), np.float32(0.5), np.int64(2)])
def test_operators_are_those_of_the_value(name, other):
    operate = getattr(operator, name)
    for pair in ((SMALL, other), (other, SMALL)):
        found = operate(*pair)
        assert found == operate(*map(float, pair))
        assert isinstance(found, bool | float | np.generic)


@pytest.mark.parametrize("name", ["neg", "pos", "abs"])
def test_signs_are_those_of_the_value(name):
    assert getattr(operator, name)(SMALL) == getattr(operator, name)(SMALL.value)


def test_numbers_are_rounded_and_converted():
    assert (float(LARGE), int(LARGE), math.floor(LARGE), math.ceil(LARGE), math.trunc(LARGE)) == (2.5, 2, 2, 3, 2)
    assert (round(SMALL, 1), round(LARGE)) == (0.2, 2)
    assert isinstance(round(LARGE), int)
    assert (f"{SMALL:.3f}", f"{SMALL:.1%}", f"{SMALL}") == ("0.250", "25.0%", str(SMALL))
    assert math.isclose(SMALL, 0.25)
    assert math.sqrt(SMALL) == 0.5
    assert isinstance(SMALL, Real)


def test_lists_of_estimates_are_lists_of_numbers():
    both = [LARGE, SMALL]
    assert sum(both) == 2.75
    assert sorted(both) == [SMALL, LARGE]
    assert max(both) is LARGE
    assert min(both) is SMALL
    assert np.asarray(both).dtype == np.float64
    assert (np.mean(both), np.std(both), np.median(both)) == (1.375, 1.125, 1.375)
    assert statistics.fmean(both) == 1.375
    assert pd.Series(both).astype(float).mean() == 1.375
    assert pd.Series(both).mean() == 1.375
    assert pd.DataFrame({"error": both}).astype(float)["error"].tolist() == [2.5, 0.25]


def test_arrays_keep_their_own_arithmetic():
    values = np.array([1.0, 2.0])
    for found in (values - SMALL, -(SMALL - values)):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, [0.75, 1.75])
    assert np.asarray(SMALL, dtype=np.float32).dtype == np.float32
    assert (SMALL * pd.Series([1, 2])).tolist() == [0.25, 0.5]


@pytest.mark.parametrize("other", ["1", None, [1], 1j])
def test_what_is_no_number_is_refused(other):
    for operate in (operator.add, operator.lt):
        with pytest.raises(TypeError, match=r"not supported|unsupported|can only"):
            operate(SMALL, other)


def test_numbers_are_equal_by_value_and_estimates_by_content():
    same, other = Estimate("error", "error", 0.25, 10), Estimate("error", "error", 0.25, 11)
    assert SMALL == 0.25 == SMALL
    assert SMALL != 0.5
    assert np.float64(0.25) == SMALL
    assert pytest.approx(0.25) == SMALL
    assert same == SMALL
    assert other != SMALL
    assert SMALL != "0.25"
    assert SMALL.to_data() != SMALL
    assert len({SMALL, same, 0.25, hash(SMALL) == hash(0.25)}) == 2
    nans = [Estimate("error", "error", math.nan, 10) for _ in range(2)]
    assert nans[0] == nans[1]
    assert hash(nans[0]) == hash(nans[1])


def test_an_estimator_scores_in_scikit_learn(rng):
    linear_model, metrics = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.metrics")
    from sklearn.model_selection import cross_val_score

    x = rng.normal(size=(200, 2))
    y = (rng.random(200) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    scorer = metrics.make_scorer(cal.ece, response_method="predict_proba", greater_is_better=False)
    assert (cross_val_score(linear_model.LogisticRegression(), x, y, scoring=scorer) < 0).all()
