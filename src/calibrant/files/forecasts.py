"""Forecasts of a real number from a file: columns of means and variances, of quantiles, or of samples."""

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
from calibrant.files.columns import NONE, Columns, has_probabilities
from calibrant.files.forecast_columns import ForecastColumns, ManyColumns, choose_forecasts, choose_gaussian
from calibrant.files.formats import Store, open_store
from calibrant.files.levels import is_clear, quantile_sets
from calibrant.files.values import load
from calibrant.forecasts import Forecasts, GaussianForecasts, QuantileForecasts, SampleForecasts
from calibrant.problems import InputError


@dataclass(frozen=True, slots=True)
class SaidForecasts:
    """The means and variances in a file, whatever came later."""

    path: Path
    columns: ForecastColumns
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def read_forecasts(path: str | Path, **columns: Any) -> tuple[Forecasts, ForecastColumns | ManyColumns]:
    """Forecasts and the columns they come from: `label`, what was said, `weights`, `groups`.

    What was said is one of three kinds. `mean` with `variance` or `std` are Gaussian forecasts; columns called `mean` or `mu`,
    `variance` or `var`, and `std` or `sigma`, are found without being named. `quantiles` are columns with their levels: a
    mapping, `"q05=0.05,q95=0.95"`, or names that state them, in a list, joined by commas or as a pattern such as `"q*"`;
    columns called `q0.05`, `q05`, `p90`, `quantile_0.5` or `0.05` are found where there is one way to read them. `samples` are
    columns of draws: names, a prefix, or a pattern such as `"member_*"`. A pattern leaves out labels, weights and groups.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.files.forecasts import read_forecasts
    >>> path = pathlib.Path(tempfile.mkdtemp(), "prices.csv")
    >>> _ = path.write_text("y,mu,sigma\\n1.2,1.0,0.5\\n0.1,0.0,0.5\\n")
    >>> forecasts, found = read_forecasts(path)
    >>> forecasts.variance, str(found)
    (array([0.25, 0.25]), "labels from 'y', mean from 'mu', std from 'sigma'")
    >>> _ = path.write_text("y,q05,q95\\n1.2,0.5,1.5\\n0.1,-0.4,0.6\\n")
    >>> forecasts, found = read_forecasts(path)
    >>> forecasts, str(found)
    (QuantileForecasts(2 rows, 2 levels), "labels from 'y', quantiles from 'q05' (0.05), 'q95' (0.95)")
    """
    store = open_store(Path(path))
    chosen = choose_forecasts(store.names, str(path), **columns)
    with in_words_of(str(path), chosen):
        if isinstance(chosen, ForecastColumns):
            found, centre, spread = _loaded(store, chosen)
            return GaussianForecasts(found[chosen.label or ""], centre, spread, **_options(found, chosen)), chosen
        found = load(store, Columns(chosen.said, label=chosen.label, weights=chosen.weights, groups=chosen.groups))
        labels, said, options = found[chosen.label or ""], _matrix(found, chosen), _options(found, chosen)
        if chosen.levels is None:
            return SampleForecasts(labels, said, **options), chosen
        return QuantileForecasts(labels, chosen.levels, said, **options), chosen


def _options(found: dict[str, NDArray[Any]], chosen: ForecastColumns | ManyColumns) -> dict[str, NDArray[Any]]:
    return {role: found[name] for role in ("weights", "groups") if (name := chosen.roles[role])}


def _matrix(found: dict[str, NDArray[Any]], chosen: ManyColumns) -> NDArray[Any]:
    """Quantiles or samples, `(n, k)`. One column of samples may hold a list a row."""
    first = found[chosen.said[0]]
    if chosen.levels is None and len(chosen.said) == 1 and first.ndim == 2:
        name = f"column {chosen.said[0]!r}"
        inputs.check_finite(inputs.floats(first, name), name)
        return first
    parts = [inputs.check_column(found[name], f"column {name!r}", len(first)) for name in chosen.said]
    return np.stack(parts, axis=1)


def holds_quantiles(path: str | Path) -> bool:
    """Do several columns of a file state the levels of quantiles in their names, while none is named for probabilities?"""
    names = open_store(Path(path)).names
    return not has_probabilities(names) and any(len(each) > 1 and is_clear(each) for each in quantile_sets(names))


def read_said_forecasts(path: str | Path, **columns: Any) -> SaidForecasts:
    """The means and variances in a file that need not hold labels."""
    store = open_store(Path(path))
    chosen = choose_gaussian(store.names, str(path), label=NONE, **columns)
    with in_words_of(str(path), chosen):
        _, centre, spread = _loaded(store, chosen)
        inputs.check_all_positive(spread, "variance")
    return SaidForecasts(Path(path), chosen, centre, spread)


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
def in_words_of(file: str, columns: ForecastColumns | ManyColumns) -> Iterator[None]:
    """An InputError inside names the file and its columns instead of arguments."""
    try:
        yield
    except InputError as error:
        text = re.sub(r"(?<=; )[^;]*\[(\d+)\](?= is )", r"row \1", str(error))
        text = re.sub(r"(?<=; )[^;]*\[(\d+), (\d+)\](?= is )", r"row \1, place \2", text)
        for role, name in columns.roles.items():
            text = re.sub(rf"^{role}\b", f"column {name!r}", text)
        if isinstance(columns, ManyColumns):
            text = _in_words_of_quantiles(text, columns)
        text = re.sub(r"(?<=; )row \d+(, place \d+)?", r"\g<0> (the first is 0)", text)
        body, _, advice = text.rpartition(". ")
        told = InputError(f"{file}:", body or advice.removesuffix("."), "", body and advice.removesuffix("."))
        told.argument = error.argument
        raise told from error


def _in_words_of_quantiles(text: str, columns: ManyColumns) -> str:
    """Where quantiles cross, the columns instead of the levels."""
    names = {f"{level:g}": name for name, level in zip(columns.said, columns.levels or (), strict=False)}
    text = re.sub(r"(?<= at )\S+?(?=( and |\. ))", lambda found: repr(names.get(found[0], found[0])), text)
    text = re.sub(r"^values\b", f"columns {columns.ends}", text.replace(" at '", " in '"))
    return text.replace("np.sort(values, axis=1)", "Sort the quantiles of each row")
