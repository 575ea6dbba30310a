"""The roles of the columns of forecasts: a mean and a variance, quantiles, or samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from calibrant.files.columns import NONE, FileColumns, Header, known_as
from calibrant.inputs import listed
from calibrant.problems import InputError

MAX_SHOWN = 5
"""Columns of quantiles up to which all are listed."""

_STATED = re.compile(r"(.*?)[_. -]??(?<!\d)(\d*\.\d+|\d{1,3})(%?)")
"""A name that ends in a number: its prefix, the number, and a percent sign."""
_PREFIXES = ("q", "quantile", "p", "pct", "percentile")
_KNOWN = {before + prefix for before in ("", "y", "pred") for prefix in _PREFIXES}
"""Prefixes of columns that are found without being named: q05, p90, quantile_0.5, pred_q05."""

Levels = dict[str, float]
"""Names of columns with their levels, from low to high."""


@dataclass(frozen=True, slots=True)
class ForecastColumns(FileColumns):
    """The columns of forecasts: those of `predicted` are a mean and its spread, quantiles, or samples."""

    kind: str = "Gaussian"
    """one of `Gaussian`, `quantiles` and `samples`"""
    levels: tuple[float, ...] | None = None
    """the increasing levels of quantiles"""
    squared: bool = False
    """does the second column of Gaussian forecasts hold variances, rather than standard deviations?"""

    @property
    def roles(self) -> dict[str, str | None]:
        """Column names by the arguments they become; quantiles and samples have many."""
        spread = "variance" if self.squared else "std"
        pair = dict(zip(("mean", spread), self.predicted, strict=True)) if self.kind == "Gaussian" else {}
        return {"labels": self.label, **pair, **self.beside}

    def described(self) -> dict[str, str]:
        if self.kind == "Gaussian":
            return {role: repr(self.roles[role]) for role in ("mean", "variance" if self.squared else "std")}
        if self.levels is None:
            return {self.kind: self.ends + (f" ({len(self.predicted)} columns)" if len(self.predicted) > 2 else "")}
        each = [f"{name!r} ({level:g})" for name, level in zip(self.predicted, self.levels, strict=True)]
        return {self.kind: ", ".join(each) if len(each) <= MAX_SHOWN else f"{each[0]} … {each[-1]}"}

    def reworded(self, text: str) -> str:
        """`mean[3]` as a row, arguments as columns; where quantiles cross, columns instead of levels."""
        text = re.sub(r"(?<=; )[^;]*\[(\d+)\](?= is )", r"row \1", text)
        text = re.sub(r"(?<=; )[^;]*\[(\d+), (\d+)\](?= is )", r"row \1, place \2", text)
        for role, name in self.roles.items():
            text = re.sub(rf"^{role}\b", f"column {name!r}", text)
        if self.kind == "Gaussian":
            return text
        names = {f"{level:g}": name for name, level in zip(self.predicted, self.levels or (), strict=False)}
        text = re.sub(r"(?<= at )\S+?(?=( and |\. ))", lambda found: repr(names.get(found[0], found[0])), text)
        text = re.sub(r"^values\b", f"columns {self.ends}", text.replace(" at '", " in '"))
        return text.replace("np.sort(values, axis=1)", "Sort the quantiles of each row")


def choose_forecasts(
    header: Header, others: dict[str, str | None], gaussian: dict[str, str | None], quantiles: Any, samples: Any
) -> ForecastColumns:
    """The kind of forecasts and the role of each column, by its name or as the caller gives it.

    `others` are the columns given for labels, weights and groups, `gaussian` those for
    mean, variance and std.
    """
    predicted = {"quantiles": quantiles, "samples": samples, **gaussian}
    given = [role for role, columns in predicted.items() if columns is not None]
    if len(given) > 1 and given[0] not in gaussian:
        raise InputError(given[0], f"and {given[1]} cannot both be given", advice="Name the one to use")
    if others["label"] == NONE:
        raise header.lacks("for the labels", "label='NAME'")
    if given and given[0] in gaussian:
        return choose_gaussian(header, others, **gaussian)
    found: dict[str, Any] = header.others(**others)
    rest = [name for name in header.names if name not in found.values() and not known_as(name, *others)]
    if samples is not None:
        _check_names("samples", samples)
        columns = Header(rest, header.file).given("samples", samples).columns
        check_once("samples", columns)
        return ForecastColumns(columns, **found, kind="samples")
    if quantiles is None:
        levels = _found_quantiles(rest, header)
    else:
        _check_names("quantiles", quantiles)
        levels = given_quantiles(quantiles, Header(rest, header.file))
    if not levels:
        return choose_gaussian(header, others)
    return ForecastColumns(tuple(levels), **found, kind="quantiles", levels=tuple(levels.values()))


def _check_names(argument: str, given: Any) -> None:
    """Refuse anything but a string or several strings."""
    texts = isinstance(given, str) or (isinstance(given, Collection) and all(isinstance(name, str) for name in given))
    if not texts or not given:
        raise InputError(argument, "must name columns", f"it is {given!r}")


def _found_quantiles(rest: list[str], header: Header) -> Levels:
    """Columns of quantiles among the rest; none where there are only those of Gaussian forecasts."""
    sets = quantile_sets(rest)
    means, spreads = ([n for n in header.names if known_as(n, *roles)] for roles in (("mean",), ("variance", "std")))
    if not sets and not means and not spreads:
        raise header.lacks("for the mean or for quantiles", "mean='NAME', quantiles='NAMES' or samples='NAMES'")
    if not sets or ((means or spreads) and not is_clear(sets[0])):
        return {}
    shown = ",".join(sets[0])
    if means and spreads:
        advice = f"Say which: quantiles='{shown}' or mean='{means[0]}'"
        raise InputError("quantiles", f"and a mean with a variance are both in {header.file}", advice=advice)
    if len(sets) > 1 and is_clear(sets[0]):
        found = f"{header.file} has {' and '.join(listed(each) for each in sets)}"
        raise InputError("quantiles", "must be one set of columns", found, f"Say which: quantiles='{shown}'")
    return stated_levels(sets[0], header.file)


def choose_gaussian(
    header: Header,
    others: dict[str, str | None],
    mean: str | None = None,
    variance: str | None = None,
    std: str | None = None,
) -> ForecastColumns:
    """The role of each column of Gaussian forecasts."""
    if variance is not None and std is not None:
        raise InputError("variance", "and std cannot both be given", advice="Name the one to use")
    found: dict[str, Any] = header.others(**others)
    centre = header.column("mean", mean)
    if centre is None:
        raise header.lacks("for the mean", "mean='NAME'")
    squares = None if std is not None else header.column("variance", variance)
    spread = squares or header.column("std", std)
    if spread is None:
        raise header.lacks("for the variance", "variance='NAME' or std=")
    return ForecastColumns((centre, spread), **found, squared=squares is not None)


def given_quantiles(given: Any, header: Header) -> Levels:
    """The columns, with levels, that a mapping, a list, `"q05=0.05,q95=0.95"` or a pattern refers to."""
    pairs = _pairs(given, header)
    check_once("quantiles", [name for name, _ in pairs])
    silent = [name for name, level in pairs if level is None]
    stated = stated_levels(silent, header.file) if silent else {}
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
        prefix = re.sub(r"[_. -]", "", found[1]).lower() if found else ""
        # a bare number needs a percent sign, or to be a share such as 0.05
        if found and (prefix in _KNOWN or (not found[1] and (found[3] or Decimal(found[2]) < 1))):
            sets.setdefault(prefix, []).append(name)
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
    advice = f"Write the level of each, as in quantiles='{each}', or choose other columns"
    raise InputError("quantiles", "must have names that state different levels between 0 and 1", found, advice)


def _pairs(given: Any, header: Header) -> list[tuple[str, Any]]:
    """Columns with the level that the caller gives, or None where the name must state it."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, str) and (header.named(given) is not None or not re.search("[,=]", given)):
        return [(name, None) for name in header.given("quantiles", given).columns]
    else:
        parts = [(part, *part.rpartition("=")) for part in (given.split(",") if isinstance(given, str) else given)]
        pairs = [(n, level) if sign and header.named(part) is None else (part, None) for part, n, sign, level in parts]
    return [(header.known("quantiles", part), level) for part, level in pairs]


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
    """The ways to read the numbers in names as levels: fractions, percent, decimal digits, or counts."""
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
    """025, 975: decimal digits, if equally long, padded to two digits, or without trailing zeros."""
    alike = len(set(map(len, texts))) == 1
    to_two = all(len(text) == 2 or (len(text) > 2 and not text.endswith("0")) for text in texts)
    bare = not any(text.endswith("0") for text in texts)
    fits = all(map(str.isdecimal, texts)) and (alike or to_two or bare)
    return tuple(float(f"0.{text}") for text in texts) if fits else ()


def _as_counts(texts: list[str]) -> tuple[float, ...]:
    """1, 2, 3: quartiles; 1 … 9: deciles."""
    counted = {str(k + 1) for k in range(len(texts))}
    return tuple(int(text) / (len(texts) + 1) for text in texts) if set(texts) == counted else ()
