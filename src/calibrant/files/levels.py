"""Columns of quantiles: the level of each, as the caller gives it or as its name states it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from calibrant.files.columns import given_columns, named, unknown
from calibrant.inputs import listed
from calibrant.problems import InputError

_STATED = re.compile(r"(.*?)[_. -]??(?<!\d)(\d*\.\d+|\d{1,3})(%?)")
"""A name that ends in a number: its prefix, the number, and a percent sign."""
_PREFIXES = ("q", "quantile", "p", "pct", "percentile")
_KNOWN = {before + prefix for before in ("", "y", "pred") for prefix in _PREFIXES}
"""Prefixes of columns that are found without being named: q05, p90, quantile_0.5, pred_q05."""

Levels = dict[str, float]
"""Names of columns with their levels, from low to high."""


def given_quantiles(given: Any, names: Sequence[str], file: str) -> Levels:
    """The columns that a mapping, a list, `"q05=0.05,q95=0.95"`, a prefix or a pattern refers to, with their levels."""
    pairs = _pairs(given, names, file)
    check_once("quantiles", [name for name, _ in pairs])
    silent = [name for name, level in pairs if level is None]
    stated = stated_levels(silent, file) if silent else {}
    return _rising({name: stated[name] if level is None else _level(name, level) for name, level in pairs})


def check_once(argument: str, names: Sequence[str]) -> None:
    """Refuse a column that is named again."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(argument, "must name each column once", f"{twice[0]!r} comes twice")


def quantile_sets(names: Sequence[str]) -> list[list[str]]:
    """The columns whose names seem to state levels, by prefix; only the unambiguous sets if there are any."""
    sets: dict[str, list[str]] = {}
    for name in names:
        found = _STATED.fullmatch(name.strip())
        if found and _is_known(*found.groups()):
            sets.setdefault(_bare(found[1]), []).append(name)
    return [each for each in sets.values() if is_clear(each)] or list(sets.values())


def is_clear(names: Sequence[str]) -> bool:
    """Is there one way to read the names as levels?"""
    return len(_readings(names)) == 1


def stated_levels(names: Sequence[str], file: str) -> Levels:
    """The levels that names state; an error where they state none, or not clearly."""
    silent = [name for name in names if not _STATED.fullmatch(name.strip())]
    readings = [] if silent else _readings(names)
    if len(readings) == 1:
        return _rising(dict(zip(names, readings[0], strict=True)))
    found = f"{file} has {listed(silent or names)}"
    if readings:
        found += f", which can mean {' or '.join(listed(levels) for levels in readings)}"
    each = ",".join(f"{name}=LEVEL" for name in (silent or names)[:2])
    raise InputError(
        "quantiles",
        "must have names that state different levels between 0 and 1",
        found,
        f"Write the level of each, as in quantiles='{each}', or choose other columns",
    )


def _is_known(before: str, number: str, percent: str) -> bool:
    """A bare number needs a percent sign, or to be a share such as 0.05."""
    return _bare(before) in _KNOWN or (not before and bool(percent or Decimal(number) < 1))


def _bare(before: str) -> str:
    return re.sub(r"[_. -]", "", before).lower()


def _pairs(given: Any, names: Sequence[str], file: str) -> list[tuple[str, Any]]:
    """Columns with the level that the caller gives, or None where the name must state it."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, str) and (named(given, names) is not None or not re.search("[,=]", given)):
        return [(name, None) for name in given_columns("quantiles", given, names, file).columns]
    else:
        pairs = [_split(part, names) for part in (given.split(",") if isinstance(given, str) else given)]
    return [(_column(part, names, file), level) for part, level in pairs]


def _split(part: str, names: Sequence[str]) -> tuple[str, str | None]:
    """A name, or a name and its level."""
    name, sign, level = part.rpartition("=")
    return (name, level) if sign and named(part, names) is None else (part, None)


def _column(part: str, names: Sequence[str], file: str) -> str:
    name = named(part, names)
    if name is None:
        raise unknown("quantiles", part, names, file)
    return name


def _level(name: str, given: Any) -> float:
    try:
        level = float(given)
    except (TypeError, ValueError):
        level = -1.0
    if not 0 < level < 1:
        expected = "must give each column a level between 0 and 1"
        raise InputError("quantiles", expected, f"{name!r} has {given!r}", "Write 0.05 for 5%")
    return level


def _rising(levels: Levels) -> Levels:
    """In the order of the levels, which must differ."""
    ordered = sorted(levels.items(), key=lambda pair: pair[1])
    for (name, level), (other, same) in pairwise(ordered):
        if level == same:
            raise InputError("quantiles", "must have different levels", f"{name!r} and {other!r} are both at {level:g}")
    return dict(ordered)


def _readings(names: Sequence[str]) -> list[tuple[float, ...]]:
    """The different ways to read the numbers in names as levels: fractions, percent, decimal digits, or counts."""
    found = (_STATED.fullmatch(name.strip()) for name in names)
    texts = ["".join(each.groups()[1:]) for each in found if each]
    ways = dict.fromkeys(way(texts) for way in (_as_fractions, _as_percent, _as_digits, _as_counts))
    return [levels for levels in ways if len(set(levels)) == len(names) and all(0 < level < 1 for level in levels)]


def _as_fractions(texts: list[str]) -> tuple[float, ...]:
    """0.05, .95."""
    return tuple(map(float, texts)) if all("." in text and not text.endswith("%") for text in texts) else ()


def _as_percent(texts: list[str]) -> tuple[float, ...]:
    """5%, 97.5%; 5, 97.5 where none is below 1."""
    values = [Decimal(text.rstrip("%")) for text in texts]
    signs = {text.endswith("%") for text in texts}
    fits = signs == {True} or (signs == {False} and min(values) >= 1)
    return tuple(float(value / 100) for value in values) if fits else ()


def _as_digits(texts: list[str]) -> tuple[float, ...]:
    """025, 975: decimal digits, if all are equally long, or padded to two digits, or without trailing zeros."""
    alike = len(set(map(len, texts))) == 1
    to_two = all(len(text) == 2 or (len(text) > 2 and not text.endswith("0")) for text in texts)
    bare = not any(text.endswith("0") for text in texts)
    fits = all(map(str.isdecimal, texts)) and (alike or to_two or bare)
    return tuple(float(f"0.{text}") for text in texts) if fits else ()


def _as_counts(texts: list[str]) -> tuple[float, ...]:
    """1, 2, 3: quartiles; 1 … 9: deciles."""
    counted = {str(k + 1) for k in range(len(texts))}
    return tuple(int(text) / (len(texts) + 1) for text in texts) if set(texts) == counted else ()
