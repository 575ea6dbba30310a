"""What a field of saved data must be, declared beside it: `x: Annotated[Floats, Shape("cuts+1"), Within(0, 1), Rising()]`.

Types, and what they say of shapes and of None, are read from the annotation itself. `Record` checks every field when it
is read from a file; the tests of bad input are made from the same declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

MAX = float(np.finfo(np.float64).max)
BIG = 1e150
"""Numbers up to this can be squared, and summed, without overflow."""

Values = Mapping[str, Any]
"""All fields of the record that is checked."""


class Constraint:
    """A condition on the value of a field."""

    turn: ClassVar[int] = 1
    """shapes are checked first, entries then, conditions on several fields last"""

    def flaw(self, name: str, value: Any, values: Values, /) -> str | None:
        """What is wrong, as "must …; x[3] is 1.5", or None."""
        raise NotImplementedError


def first(name: str, value: Any, bad: Any) -> str | None:
    """The first entry that is wrong, with its index; None if there is none."""
    if not _any(bad):
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{name}{list(at) if at else ''} is {np.asarray(value)[at]}"


def _any(bad: Any) -> bool:
    """`np.any` in a fifth of its time."""
    each = np.asarray(bad)
    return bool(each.size and each.item(each.argmax()))


@dataclass(frozen=True)
class Within(Constraint):
    """Numbers between two ends, both allowed; infinity is only where an end is, NaN never."""

    low: float = -MAX
    high: float = MAX

    def flaw(self, name: str, value: Any, _: Values, /) -> str | None:
        fits = self._fits(value)
        found = None if fits is True else first(name, value, np.logical_not(fits))
        return found and f"must {self._words()}; {found}"

    def _fits(self, value: Any) -> Any:
        return (value >= self.low) & (value <= self.high)

    def _words(self) -> str:
        if self.high < MAX:
            return f"lie in [{self.low:g}, {self.high:g}]"
        return "be finite" if self.low == -MAX else f"be at least {self.low:g}" + " and finite" * (self.high == MAX)


@dataclass(frozen=True)
class Above(Within):
    """The same without the lower end."""

    low: float = 0.0

    def _fits(self, value: Any) -> Any:
        return (value > self.low) & (value <= self.high)

    def _words(self) -> str:
        return f"be above {self.low:g}" + (f" and at most {self.high:g}" if self.high < MAX else " and finite")


Probability = Annotated[float, Within(0, 1)]
"""A p-value or a level."""


@dataclass(frozen=True)
class AtMost(Constraint):
    """No larger than another field, entry by entry."""

    other: str
    turn: ClassVar[int] = 2

    def flaw(self, name: str, value: Any, values: Values, /) -> str | None:
        found = first(name, value, np.asarray(value) > values[self.other])
        return found and f"must not exceed {self.other}; {found}"


@dataclass(frozen=True)
class Rising(Constraint):
    """In increasing order."""

    strictly: bool = True

    def flaw(self, name: str, value: Any, _: Values, /) -> str | None:
        low, high = np.asarray(value)[:-1], np.asarray(value)[1:]
        falls = high <= low if self.strictly else high < low
        found = first(name, value, np.concatenate([[False], falls])) if _any(falls) else None
        return found and f"must {'increase' if self.strictly else 'not decrease'}; {found}"


@dataclass(frozen=True)
class SumsTo(Constraint):
    """Entries, or those of each row, that add up to a number."""

    total: float = 1.0
    within: float = 1e-9

    def flaw(self, name: str, value: Any, _: Values, /) -> str | None:
        sums = np.sum(value, axis=-1)
        found = first(f"the sum of {name}", sums, np.abs(sums - self.total) > self.within)
        return found and f"must sum to {self.total:g}; {found}"


class Shape(Constraint):
    """The shape of an array, or the length of a list: a number, a field that is as long ("cuts", "cuts+1"), None for any.

    Parameters
    ----------
    *sizes
        One size per dimension.
    least
        The smallest number of entries.
    other
        Another shape that is allowed.
    """

    turn: ClassVar[int] = 0

    def __init__(self, *sizes: int | str | None, least: int = 0, other: Shape | None = None) -> None:
        self.sizes, self.least, self.other = sizes or (None,), least, other

    def flaw(self, name: str, value: Any, values: Values, /) -> str | None:
        shape = value.shape if isinstance(value, np.ndarray) else (len(value),)
        wanted = tuple(_size(size, values) for size in self.sizes)
        fits = len(shape) == len(wanted) and all(w in (None, s) for w, s in zip(wanted, shape, strict=True))
        fits |= shape == (0,) and wanted[0] == 0  # lists do not say how many columns no rows have
        if (fits and len(value) >= self.least) or (self.other and not self.other.flaw(name, value, values)):
            return None
        sizes, numbers = (", ".join("any" if each is None else str(each) for each in s) for s in (self.sizes, wanted))
        named = f" = ({numbers})" * (numbers != sizes) + f" and at least {self.least} entries" * (self.least > 0)
        return f"must have the shape ({sizes}){named}; its shape is {shape}"


def _size(size: int | str | None, values: Values) -> int | None:
    if not isinstance(size, str):
        return size
    field, _, more = size.partition("+")
    return len(values[field]) + int(more or 0)


class OneOf(Constraint):
    """One of a few values.

    Parameters
    ----------
    *choices
        The values.
    """

    def __init__(self, *choices: Any) -> None:
        self.choices = choices

    def flaw(self, __: str, value: Any, _: Values, /) -> str | None:
        known = any(type(value) is type(choice) and value == choice for choice in self.choices)
        return None if known else f"must be {' or '.join(map(repr, self.choices))}; it is {value!r:.60}"


@dataclass(frozen=True)
class Distinct(Constraint):
    """Names that differ from one another."""

    def flaw(self, name: str, value: Any, _: Values, /) -> str | None:
        for i, each in enumerate(value):
            if each is None or isinstance(each, dict) or (isinstance(each, float) and np.isnan(each)):
                return f"must be names or numbers; {name}[{i}] is {each!r:.60}"
        seen = {each: i for i, each in reversed([*enumerate(value)])}
        twice = next((i for i, each in enumerate(value) if seen[each] != i), None)
        return None if twice is None else f"must be distinct; {name}[{twice}] is {value[twice]!r:.60} again"


class Like(Constraint):
    """A record, or records, whose fields equal those of this one.

    Parameters
    ----------
    *names
        The fields.
    """

    def __init__(self, *names: str) -> None:
        self.names = names

    def flaw(self, name: str, value: Any, values: Values, /) -> str | None:
        for each in self.names:
            if getattr(value, each) != values[each]:
                return f"must have the same {each}; {name}.{each} is {getattr(value, each)!r:.60}"
        return None


@dataclass(frozen=True)
class Holds(Constraint):
    """What no other constraint can say: its words, and a function of the fields that it names as its parameters."""

    words: str
    test: Callable[..., Any]
    turn: ClassVar[int] = 2

    def flaw(self, name: str, value: Any, values: Values, /) -> str | None:
        return None if bool(self.test(**values)) else f"{self.words}; {name} is {value!r:.60}"
