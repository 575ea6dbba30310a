"""Results as flat numbers under stable keys, for loggers, summaries and rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count
from numbers import Real
from typing import Any, Generic, Protocol, TypeVar


class Called(Protocol):
    """What can be looked up by other names than its key."""

    @property
    def also_called(self) -> tuple[str, ...]: ...


class Titled(Called, Protocol):
    """What has a key: an estimate or the result of a test."""

    @property
    def key(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...


C = TypeVar("C", bound=Called)
T = TypeVar("T", bound=Titled)

MOST_LISTED = 20
"""Keys in the text of an error."""


def slug(title: str) -> str:
    """A title as a key: lower case, with `_` between words; ASCII where anything of it is."""
    text = title.lower().replace("'", "")
    return re.sub(r"[^a-z0-9]+", "_", text).strip("_") or text


def flat(value: Any, key: str = "") -> dict[str, Any]:
    """The numbers of a value under keys joined by `/`; None, texts, arrays and lists are left out.

    Parameters
    ----------
    value
        A number, a record, or a mapping of these; the name "" stands for the key of the whole.
    key
        Put before each name.
    """
    if callable(own := getattr(value, "figures", None)):
        value = own()
    if isinstance(value, Mapping):
        pairs = ((f"{key}/{name}" if key and name else key or name, each) for name, each in value.items())
        return {name: number for start, each in pairs for name, number in flat(each, start).items()}
    return {key: value} if isinstance(value, Real) else {}


def keyed(results: Iterable[T]) -> dict[str, T]:
    """Results under unique keys.

    A repeated key has its view before it, `classwise/ece`, or a number behind it: later results never change the keys of
    earlier ones.

    Parameters
    ----------
    results
        Estimates or results of tests.
    """
    found: dict[str, T] = {}
    for each in results:
        found[_free(found, each.key, in_view(each))] = each
    return found


def by_slug(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values under their names as unique keys.

    Parameters
    ----------
    values
        Values by any names.
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        found[_free(found, slug(name))] = value
    return found


def _free(taken: Mapping[str, Any], *names: str) -> str:
    """The first of the names that is not taken, or the first with a number behind it."""
    numbered = (f"{names[0]}_{k}" for k in count(2))
    return next(name for name in chain(names, numbered) if name not in taken)


def in_view(result: Titled) -> str:
    """The key with the view before it."""
    return f"{slug(str(result.settings['view']))}/{result.key}" if "view" in result.settings else result.key


def looked_up(key: str, results: Mapping[str, C]) -> C:
    """The result with this key, or the one that is also called so.

    Parameters
    ----------
    key
        What is looked for.
    results
        The results by their keys.
    """
    if key in results:
        return results[key]
    found = {own: each for own, each in results.items() if key in each.also_called}
    if len(found) == 1:
        return next(iter(found.values()))
    listed = [repr(own) for own in found or results]
    listed[MOST_LISTED:] = [f"{len(listed) - MOST_LISTED:,} more"] if len(listed) > MOST_LISTED else []
    fact = "stands for several:" if found else "is not here; there are"
    raise KeyError(f"{key!r} {fact} {', '.join(listed)}")


class Keyed(Generic[C]):
    """Results by key, like a dict: `answer["ece"]`, `"ece" in answer`, iteration over the keys."""

    def results(self) -> Mapping[str, C]:
        """The results under unique keys, which stay the same from run to run."""
        raise NotImplementedError

    def keys(self) -> tuple[str, ...]:
        """The keys of the results."""
        return tuple(self.results())

    def __getitem__(self, key: str) -> C:
        """A result by its key, or by another name that only it has."""
        return looked_up(key, self.results())

    def __contains__(self, key: object) -> bool:
        try:
            return isinstance(key, str) and self[key] is not None
        except KeyError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.results())
