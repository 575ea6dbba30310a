"""Which columns of a file of forecasts play which role: a mean and a variance, quantiles, or samples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from calibrant.files.columns import NONE, find_column, given_columns, known_as, none_found
from calibrant.files.levels import Levels, check_once, given_quantiles, is_clear, quantile_sets, stated_levels
from calibrant.inputs import listed
from calibrant.problems import InputError

MOST_SHOWN = 5
"""Columns of quantiles up to which all are listed."""


@dataclass(frozen=True, slots=True)
class ForecastColumns:
    """Which columns of a file of Gaussian forecasts play which role."""

    mean: str
    spread: str
    squared: bool
    """does `spread` hold variances, rather than standard deviations?"""
    label: str | None = None
    weights: str | None = None
    groups: str | None = None

    @property
    def roles(self) -> dict[str, str | None]:
        """Column names by the arguments they become."""
        spread = "variance" if self.squared else "std"
        return {
            "labels": self.label,
            "mean": self.mean,
            spread: self.spread,
            "weights": self.weights,
            "groups": self.groups,
        }

    def __str__(self) -> str:
        return ", ".join(f"{role} from {name!r}" for role, name in self.roles.items() if name)


@dataclass(frozen=True, slots=True)
class ManyColumns:
    """Which columns of a file hold quantiles or samples, and which play the other roles."""

    said: tuple[str, ...]
    levels: tuple[float, ...] | None = None
    """the levels of quantiles, rising; None for samples"""
    label: str | None = None
    weights: str | None = None
    groups: str | None = None

    @property
    def roles(self) -> dict[str, str | None]:
        """Column names by the arguments they become, apart from what was said."""
        return {"labels": self.label, "weights": self.weights, "groups": self.groups}

    @property
    def ends(self) -> str:
        """The first and the last column of quantiles or samples."""
        return " … ".join(dict.fromkeys((repr(self.said[0]), repr(self.said[-1]))))

    @property
    def shown(self) -> str:
        """The columns of quantiles with their levels, or of samples with their number."""
        if self.levels is None:
            return self.ends + (f" ({len(self.said)} columns)" if len(self.said) > 2 else "")
        each = [f"{name!r} ({level:g})" for name, level in zip(self.said, self.levels, strict=True)]
        return ", ".join(each) if len(each) <= MOST_SHOWN else f"{each[0]} … {each[-1]}"

    def __str__(self) -> str:
        found = {"labels": None, "samples" if self.levels is None else "quantiles": self.shown}
        found |= {role: name and repr(name) for role, name in self.roles.items()}
        return ", ".join(f"{role} from {words}" for role, words in found.items() if words)


def choose_forecasts(
    names: list[str],
    file: str,
    *,
    label: str | None = None,
    mean: str | None = None,
    variance: str | None = None,
    std: str | None = None,
    quantiles: Any = None,
    samples: Any = None,
    weights: str | None = None,
    groups: str | None = None,
) -> ForecastColumns | ManyColumns:
    """The kind of forecasts and the role of each column, from names and what the caller says; `file` is for error texts."""
    gaussian = {"mean": mean, "variance": variance, "std": std}
    others = {"label": label, "weights": weights, "groups": groups}
    said = {"quantiles": quantiles, "samples": samples} | gaussian
    given = [role for role, columns in said.items() if columns is not None]
    if len(given) > 1 and given[0] not in gaussian:
        raise InputError(given[0], f"and {given[1]} cannot both be given", advice="Name the one to use")
    if given and given[0] in gaussian:
        return choose_gaussian(names, file, **gaussian, **others)
    chosen = {role: find_column(role, column, names, file) for role, column in others.items()}
    if chosen["label"] is None:
        raise none_found(names, file, "for the labels", "label='NAME'")
    rest = [name for name in names if name not in chosen.values() and not known_as(name, *others)]
    if samples is not None:
        return ManyColumns(_samples(samples, rest, file), None, **chosen)
    levels = _found_quantiles(rest, names, file) if quantiles is None else _quantiles(quantiles, rest, file)
    if not levels:
        return choose_gaussian(names, file, **gaussian, **others)
    return ManyColumns(tuple(levels), tuple(levels.values()), **chosen)


def _samples(given: Any, names: list[str], file: str) -> tuple[str, ...]:
    _check_names("samples", given)
    found = given_columns("samples", given, names, file).said
    check_once("samples", found)
    return found


def _quantiles(given: Any, names: list[str], file: str) -> Levels:
    _check_names("quantiles", given)
    return given_quantiles(given, names, file)


def _check_names(argument: str, given: Any) -> None:
    """Names of columns: a text, or some texts."""
    texts = isinstance(given, str) or (isinstance(given, Collection) and all(isinstance(name, str) for name in given))
    if not texts or not given:
        raise InputError(argument, "must name columns", f"it is {given!r}")


def _found_quantiles(rest: list[str], names: list[str], file: str) -> Levels:
    """Columns of quantiles found among the rest; none where there are only those of Gaussian forecasts."""
    sets = quantile_sets(rest)
    gaussian = any(known_as(name, "mean", "variance", "std") for name in names)
    if not sets and not gaussian:
        options = "mean='NAME', quantiles='NAMES' or samples='NAMES'"
        raise none_found(names, file, "for the mean or for quantiles", options)
    if not sets or (gaussian and not is_clear(sets[0])):
        return {}
    shown = ",".join(sets[0])
    if _is_gaussian(names):
        mean = next(name for name in names if known_as(name, "mean"))
        advice = f"Say which: quantiles='{shown}' or mean='{mean}'"
        raise InputError("quantiles", f"and a mean with a variance are both in {file}", advice=advice)
    if len(sets) > 1 and is_clear(sets[0]):
        found = f"{file} has {' and '.join(listed(each) for each in sets)}"
        raise InputError("quantiles", "must be one set of columns", found, f"Say which: quantiles='{shown}'")
    return stated_levels(sets[0], file)


def _is_gaussian(names: list[str]) -> bool:
    """Are there columns named for a mean, and for a variance or a standard deviation?"""
    return all(any(known_as(name, *roles) for name in names) for roles in (("mean",), ("variance", "std")))


def choose_gaussian(
    names: list[str],
    file: str,
    *,
    label: str | None = None,
    mean: str | None = None,
    variance: str | None = None,
    std: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
) -> ForecastColumns:
    """The role of each column of Gaussian forecasts."""
    if variance is not None and std is not None:
        raise InputError("variance", "and std cannot both be given", advice="Name the one to use")
    truth = find_column("label", label, names, file)
    if truth is None and label != NONE:
        raise none_found(names, file, "for the labels", "label='NAME'")
    centre = find_column("mean", mean, names, file)
    if centre is None:
        raise none_found(names, file, "for the mean", "mean='NAME'")
    spread = None if std is not None else find_column("variance", variance, names, file)
    squared = spread is not None
    spread = find_column("std", std, names, file) if spread is None else spread
    if spread is None:
        raise none_found(names, file, "for the variance", "variance='NAME' or std=")
    others = (
        None if truth is None else find_column(role, given, names, file)
        for role, given in (("weights", weights), ("groups", groups))
    )
    return ForecastColumns(centre, spread, squared, truth, *others)
