"""The plan of an exact p-value: what it checks, and how many draws it takes."""

from __future__ import annotations

import pytest

from calibrant import InputError
from calibrant.resampling.exact import FEW_DRAWS, MANY_DRAWS, Exact


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n_draws": 18}, "n_draws must be a whole number, at least 19"),
        ({"ties": "mid"}, "ties must be one of 'random', 'count'; it is 'mid'"),
        ({"seed": -1}, "seed must be a whole number, at least 0"),
    ],
)
def test_fields_are_checked(fields, message):
    with pytest.raises(InputError, match=message):
        Exact(**fields)


def test_draws_are_many_where_they_take_seconds():
    assert Exact().sized(1000).n_draws == MANY_DRAWS
    assert Exact().sized(10**6).n_draws == FEW_DRAWS
    assert Exact(n_draws=50).sized(10**9) == Exact(n_draws=50)


def test_keywords_of_a_test_make_a_plan_unless_one_is_given():
    assert Exact.asked("exact", 99, 3, "count") == Exact(99, "count", 3)
    plan = Exact(seed=1)
    assert Exact.asked(plan) is plan
    with pytest.raises(InputError, match="method is an Exact, which holds n_draws, ties and seed"):
        Exact.asked(plan, n_draws=99)
