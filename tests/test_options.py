"""Options are what their annotations say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.inputs import check_count
from calibrant.options import checked, fits, kind_of


@checked
def some(
    data: Any, *, root: bool = True, n: int = 1, norm: Literal[1, 2, "max"] = 1, width: float | None = None
) -> str:
    """What it is told."""
    check_count(n, "n", 3) if n != 1 else None
    return f"{root} {n} {norm} {width}"


def test_good_options_come_through():
    assert some(0, root=np.True_, n=np.int8(4), norm="max", width=np.float32(0.5)) == "True 4 max 0.5"
    assert some(0, norm=np.int64(2), width=1) == "True 1 2 1"
    assert some.__doc__ == "What it is told."


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"root": 1}, "root must be True or False; it is 1."),
        ({"root": "no"}, "root must be True or False; it is 'no'."),
        ({"norm": 3}, "norm must be 1 or 2 or 'max'; it is 3."),
        ({"norm": True}, "norm must be 1 or 2 or 'max'; it is True."),
        ({"width": "wide"}, "width must be a number or None; it is 'wide'."),
        ({"width": float("nan")}, "width must be a number or None; it is nan."),
        ({"n": "x"}, "n must be a whole number, at least 3; it is 'x'."),  # the function's own check knows more
    ],
)
def test_other_options_are_refused(options, text):
    with pytest.raises(InputError) as caught:
        some(0, **options)
    assert str(caught.value) == text


def test_the_fields_of_a_class_are_its_options():
    @checked
    @dataclass(frozen=True, slots=True)
    class Recipe:
        bounded: bool = True

    assert Recipe(False).bounded is False
    with pytest.raises(InputError, match="bounded must be True or False"):
        Recipe("yes")


def test_types_in_words():
    assert kind_of(str | Callable[..., Any] | None) == "a string or a Callable or None"
    assert fits(len, Callable[..., Any])
    assert not fits(3, list[int])
    assert fits(object(), "not a type")


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (tuple[float, float], [(0, 0.5), [1.0, 2], np.ones(2)], [(1.0,), (1, 2, 3), ("a", None), "ab", {1: 2}, {1, 2}]),
        (tuple[float, ...], [(), (1, 2, 3)], [("a",), b"ab", 3]),
        (Sequence[int], [[1, 2], (), np.arange(3), range(2)], [[1.5], "12", {1: 2}, 3]),
        (tuple[Any, ...], [(), ["a", None]], ["a", 3]),
        (Callable[..., Any], [len], [int, 3]),
    ],
)
def test_entries_of_lists_and_tuples_are_checked(hint, good, bad):
    assert all(fits(value, hint) for value in good)
    assert not any(fits(value, hint) for value in bad)


def test_counts_have_an_end():
    with pytest.raises(InputError, match=r"n_bins must be at most 2,147,483,647; it is 1e\+30"):
        check_count(10**30)


def test_public_functions_are_checked():
    with pytest.raises(InputError, match=r"root must be True or False; it is 'x'"):
        cal.binned_error([0, 1], [0.1, 0.2], root="x")
    with pytest.raises(InputError, match=r"everywhere must be True or False"):
        cal.confidence_band([0, 1], [0.1, 0.2], everywhere=None)


def test_arguments_after_a_star_are_not_taken_for_the_next_option():
    @checked
    def joined(first: str, *others: str, mark: bool = False) -> str:
        return first + "".join(others) + "!" * mark

    assert joined("a", "b", "c", mark=True) == "abc!"
    with pytest.raises(InputError, match="mark must be True or False"):
        joined("a", "b", mark="c")


def test_entries_of_an_array_of_objects_are_checked():
    @checked
    def counted(rows: Sequence[Fraction]) -> int:
        return len(rows)

    assert counted(np.array([Fraction(1, 2)])) == 1
    with pytest.raises(InputError, match="rows must be a Sequence"):
        counted(np.array([0.5]))
