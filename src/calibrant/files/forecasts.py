"""Gaussian forecasts of a real number from a file: a column of means and one of variances or standard deviations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import inputs
from calibrant.files.columns import NONE, Columns, find_column, none_found
from calibrant.files.formats import Store, open_store
from calibrant.files.values import load
from calibrant.forecasts import GaussianForecasts
from calibrant.problems import InputError


@dataclass(frozen=True, slots=True)
class ForecastColumns:
    """Which columns of a file play which role."""

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
class SaidForecasts:
    """The means and variances in a file, whatever came later."""

    path: Path
    columns: ForecastColumns
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def read_forecasts(path: str | Path, **columns: Any) -> tuple[GaussianForecasts, ForecastColumns]:
    """Gaussian forecasts and the columns they come from: `label`, `mean`, `variance` or `std`, `weights`, `groups`.

    Columns called `mean` or `mu`, `variance` or `var`, and `std` or `sigma`, are found without being named.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.files.forecasts import read_forecasts
    >>> path = pathlib.Path(tempfile.mkdtemp(), "prices.csv")
    >>> _ = path.write_text("y,mu,sigma\\n1.2,1.0,0.5\\n0.1,0.0,0.5\\n")
    >>> forecasts, found = read_forecasts(path)
    >>> forecasts.variance, str(found)
    (array([0.25, 0.25]), "labels from 'y', mean from 'mu', std from 'sigma'")
    """
    store = open_store(Path(path))
    chosen = choose_forecasts(store.names, str(path), **columns)
    with in_words_of(str(path), chosen):
        found, centre, spread = _loaded(store, chosen)
        options = {role: found[name] for role in ("weights", "groups") if (name := getattr(chosen, role))}
        return GaussianForecasts(found[chosen.label or ""], centre, spread, **options), chosen


def read_said_forecasts(path: str | Path, **columns: Any) -> SaidForecasts:
    """The means and variances in a file that need not hold labels."""
    store = open_store(Path(path))
    chosen = choose_forecasts(store.names, str(path), label=NONE, **columns)
    with in_words_of(str(path), chosen):
        _, centre, spread = _loaded(store, chosen)
        inputs.check_all_positive(spread, "variance")
    return SaidForecasts(Path(path), chosen, centre, spread)


def choose_forecasts(
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
    """The role of each column, from their names and what the caller says; `file` is for error texts."""
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


def _loaded(
    store: Store, chosen: ForecastColumns
) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64], NDArray[np.float64]]:
    """Columns by name, means, and variances."""
    roles = chosen.roles
    plain = Columns((chosen.mean, chosen.spread), label=chosen.label, weights=chosen.weights, groups=chosen.groups)
    found = load(store, plain)
    centre = inputs.check_column(found[chosen.mean], "mean")
    name = "variance" if "variance" in roles else "std"
    spread = inputs.check_column(found[chosen.spread], name, len(centre))
    inputs.check_all_positive(spread, name)
    return found, centre, spread if chosen.squared else spread**2


@contextmanager
def in_words_of(file: str, columns: ForecastColumns) -> Iterator[None]:
    """An InputError inside names the file and its columns instead of arguments."""
    try:
        yield
    except InputError as error:
        text, roles = str(error), columns.roles
        text = re.sub(r"\b(labels|mean|variance|std|weights|groups)\[(\d+)\]", r"row \2 (the first is 0)", text)
        for role, name in roles.items():
            text = re.sub(rf"^{role}\b", f"column {name!r}", text)
        body, _, advice = text.rpartition(". ")
        told = InputError(f"{file}:", body or advice.removesuffix("."), "", body and advice.removesuffix("."))
        told.argument = error.argument
        raise told from error
