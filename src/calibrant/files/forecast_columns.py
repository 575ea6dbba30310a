"""The roles of the columns of forecasts: a mean and a variance, quantiles, or samples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from calibrant.files.columns import NONE, FileColumns, find_column, find_others, given_columns, known_as, none_found
from calibrant.files.levels import Levels, check_once, given_quantiles, is_clear, quantile_sets, stated_levels
from calibrant.inputs import listed
from calibrant.problems import InputError

MAX_SHOWN = 5
"""Columns of quantiles up to which all are listed."""


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
        return {"labels": self.label, **pair, "weights": self.weights, "groups": self.groups}

    def described(self) -> dict[str, str]:
        if self.kind == "Gaussian":
            return {role: repr(self.roles[role]) for role in ("mean", "variance" if self.squared else "std")}
        if self.levels is None:
            return {self.kind: self.ends + (f" ({len(self.predicted)} columns)" if len(self.predicted) > 2 else "")}
        each = [f"{name!r} ({level:g})" for name, level in zip(self.predicted, self.levels, strict=True)]
        return {self.kind: ", ".join(each) if len(each) <= MAX_SHOWN else f"{each[0]} … {each[-1]}"}


def choose_forecasts(
    names: list[str],
    file: str,
    others: dict[str, str | None],
    gaussian: dict[str, str | None],
    quantiles: Any = None,
    samples: Any = None,
) -> ForecastColumns:
    """The kind of forecasts and the role of each column, by its name or as the caller gives it.

    `file` is for error texts, `others` are the columns given for labels, weights and
    groups, `gaussian` those for mean, variance and std.
    """
    predicted = {"quantiles": quantiles, "samples": samples, **gaussian}
    given = [role for role, columns in predicted.items() if columns is not None]
    if len(given) > 1 and given[0] not in gaussian:
        raise InputError(given[0], f"and {given[1]} cannot both be given", advice="Name the one to use")
    if others["label"] == NONE:
        raise none_found(names, file, "for the labels", "label='NAME'")
    if given and given[0] in gaussian:
        return choose_gaussian(names, file, others, **gaussian)
    found = find_others(names, file, **others)
    rest = [name for name in names if name not in found.values() and not known_as(name, *others)]
    if samples is not None:
        _check_names("samples", samples)
        columns = given_columns("samples", samples, rest, file).columns
        check_once("samples", columns)
        return ForecastColumns(columns, **found, kind="samples")
    if quantiles is None:
        levels = _found_quantiles(rest, names, file)
    else:
        _check_names("quantiles", quantiles)
        levels = given_quantiles(quantiles, rest, file)
    if not levels:
        return choose_gaussian(names, file, others)
    return ForecastColumns(tuple(levels), **found, kind="quantiles", levels=tuple(levels.values()))


def _check_names(argument: str, given: Any) -> None:
    """Refuse anything but a string or several strings."""
    texts = isinstance(given, str) or (isinstance(given, Collection) and all(isinstance(name, str) for name in given))
    if not texts or not given:
        raise InputError(argument, "must name columns", f"it is {given!r}")


def _found_quantiles(rest: list[str], names: list[str], file: str) -> Levels:
    """Columns of quantiles among the rest; none where there are only those of Gaussian forecasts."""
    sets = quantile_sets(rest)
    means, spreads = ([n for n in names if known_as(n, *roles)] for roles in (("mean",), ("variance", "std")))
    if not sets and not means and not spreads:
        options = "mean='NAME', quantiles='NAMES' or samples='NAMES'"
        raise none_found(names, file, "for the mean or for quantiles", options)
    if not sets or ((means or spreads) and not is_clear(sets[0])):
        return {}
    shown = ",".join(sets[0])
    if means and spreads:
        advice = f"Say which: quantiles='{shown}' or mean='{means[0]}'"
        raise InputError("quantiles", f"and a mean with a variance are both in {file}", advice=advice)
    if len(sets) > 1 and is_clear(sets[0]):
        found = f"{file} has {' and '.join(listed(each) for each in sets)}"
        raise InputError("quantiles", "must be one set of columns", found, f"Say which: quantiles='{shown}'")
    return stated_levels(sets[0], file)


def choose_gaussian(
    names: list[str],
    file: str,
    others: dict[str, str | None],
    mean: str | None = None,
    variance: str | None = None,
    std: str | None = None,
) -> ForecastColumns:
    """The role of each column of Gaussian forecasts."""
    if variance is not None and std is not None:
        raise InputError("variance", "and std cannot both be given", advice="Name the one to use")
    found = find_others(names, file, **others)
    centre = find_column("mean", mean, names, file)
    if centre is None:
        raise none_found(names, file, "for the mean", "mean='NAME'")
    squares = None if std is not None else find_column("variance", variance, names, file)
    spread = squares or find_column("std", std, names, file)
    if spread is None:
        raise none_found(names, file, "for the variance", "variance='NAME' or std=")
    return ForecastColumns((centre, spread), **found, squared=squares is not None)
