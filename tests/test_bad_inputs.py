"""Every public callable on every kind of bad input: an error that names the argument, or the right answer."""

from __future__ import annotations

import pytest

from bad_calls import more_calls
from bad_inputs import OPTIONS, calls
from bad_outcomes import bad_data, bad_options, odd_numbers, spellings
from bad_uses import uses

CALLS = {call.name: call for call in (*calls(), *more_calls(), *uses())}
DEAR = ("trust", "plot.forecast_plot", "plot.risk_coverage", "plot.reliability")
ASKED = [pytest.param(name, marks=pytest.mark.slow) if name in DEAR else name for name in CALLS]
"""calls that do much of their work before they find that an option is bad"""


@pytest.mark.some(6)
@pytest.mark.parametrize("name", CALLS)
def test_bad_data_are_refused(name):
    wrong = {title: found for title, found in bad_data(CALLS[name]) if found != "refused"}
    assert not wrong


@pytest.mark.some(5)
@pytest.mark.parametrize("name", ASKED)
def test_bad_options_are_refused(name):
    wrong = {title: found for title, found in bad_options(CALLS[name]) if found != "refused"}
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_odd_numbers_are_refused_or_used(name):
    wrong = {title: found for title, found in odd_numbers(CALLS[name]) if found not in ("refused", "answered")}
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_the_same_data_in_another_form_give_the_same_answer(name):
    assert not [title for title, equal in spellings(CALLS[name]) if not equal]


@pytest.mark.slow
def test_the_table_is_large():
    """Every callable takes some data, and there are ten thousand cases."""
    assert all(call.kinds() for call in CALLS.values())
    columns = sum(1 for call in CALLS.values() for kind in call.kinds() for _ in call.bad(kind))
    assert columns + len(OPTIONS) * sum(len(call.options) for call in CALLS.values()) > 10_000
