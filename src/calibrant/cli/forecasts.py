"""Forecasts of a real number: what the commands do once their columns were named, or found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import calibrant as cal
from calibrant import files
from calibrant.cli.data import Source, is_lake, say
from calibrant.cli.options import FORECAST_OPTIONS, GAUSSIAN_OPTIONS, STYLE_OPTIONS
from calibrant.files.columns import Columns
from calibrant.forecasts import Forecasts, GaussianForecasts
from calibrant.problems import InputError

if TYPE_CHECKING:
    from calibrant.maps import RegressionMap

SHARED = ("label", "counts", "weights", "groups", *STYLE_OPTIONS)
"""The column options that forecasts have in common with probabilities."""


def forecast_columns(columns: dict[str, Any], file: Path | None = None) -> dict[str, Any] | None:
    """The columns of forecasts, named or found in `file`, taken out of `columns`; or None."""
    named = {name: columns.pop(name, None) for name in FORECAST_OPTIONS}
    wrong = [name for name, given in columns.items() if given and name not in SHARED]
    style = {name: columns.get(name) for name in STYLE_OPTIONS}
    if not any(named.values()) and (wrong or file is None or is_lake(file) or not files.holds_quantiles(file, **style)):
        return None
    if wrong:
        raise click.UsageError(f"--{wrong[0]} is for probabilities of classes, not for forecasts of a number.")
    return named | {name: columns.get(name) for name in SHARED if name in columns}


def gaussian(forecasts: Forecasts) -> GaussianForecasts:
    """Refuse forecasts for which there is no map."""
    if not isinstance(forecasts, GaussianForecasts):
        raise no_map(f"{forecasts.kind}s")
    return forecasts


def no_map(argument: str) -> InputError:
    """The error for quantiles and samples that should be recalibrated."""
    advice = "Say mean='NAME' and variance='NAME', or widen or shift the forecasts at their source"
    return InputError(argument, "cannot be recalibrated", "maps are for Gaussian forecasts", advice)


def read(file: Path, columns: dict[str, Any]) -> tuple[Forecasts, Source]:
    """The forecasts in a file, and where they were found."""
    forecasts, chosen = files.read_forecasts(file, **columns)
    return forecasts, Source(str(file), chosen)


def recalibrate(file: Path, columns: dict[str, Any], method: str) -> tuple[RegressionMap, Source]:
    """A map of the forecasts in a file, and where they were found."""
    forecasts, source = read(file, columns)
    return cal.recalibrate(gaussian(forecasts), method), source


def pair(before: Path, after: Path, columns: dict[str, Any]) -> tuple[Any, Any, RegressionMap | None, Source]:
    """Forecasts before and after, the map between them, and where the first were found."""
    fitted = cal.load_map(after) if after.suffix.lower() == ".json" else None
    if fitted is not None and not isinstance(fitted, cal.maps.RegressionMap):
        raise click.UsageError(f"{after} is a map of probabilities, not of forecasts of a number.")
    first, source = read(before, columns)
    if fitted is not None:
        return first, fitted.apply(gaussian(first)), fitted, source
    second, taken = read(after, columns)
    if first.kind != second.kind:
        differ = f"{before} holds {first.kind} forecasts and {after} {second.kind} ones"
        raise click.UsageError(f"{differ}. Name columns of one kind.")
    return first, second, None, replace(source, after=taken)


def apply(fitted: RegressionMap, file: Path, columns: dict[str, Any], output: Path, force: bool) -> None:
    """Recalibrated variances, or standard deviations, in place of those in a file."""
    if not isinstance(fitted, cal.maps.VarianceMap):
        raise InputError("MAP", "must change variances to be applied to a file", f"it is {fitted.method}")
    found: Any = files.read_gaussian(
        file, **{name: columns.get(name) for name in (*GAUSSIAN_OPTIONS, "sep", "decimal")}
    )
    variance = fitted.apply(*found.values.T)[1]
    spread = variance if "variance" in found.columns.described() else np.sqrt(variance)
    spreads = replace(found, columns=Columns(found.columns.predicted[1:]))
    files.write(output, spreads, spread, overwrite=force)
    source = Source(str(file), found.columns)
    say(f"{source}\nWrote {output}: {len(spread):,} rows recalibrated by {fitted.method}.")
