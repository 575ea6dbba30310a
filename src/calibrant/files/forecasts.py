"""Forecasts of a real number from a file: columns of means and variances, of quantiles, or of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calibrant import inputs
from calibrant.files.columns import NONE, Header, has_probabilities, worded
from calibrant.files.forecast_columns import ForecastColumns, choose_forecasts, choose_gaussian, is_clear, quantile_sets
from calibrant.files.formats import open_store
from calibrant.files.reading import Predicted, load
from calibrant.files.style import Style
from calibrant.forecasts import Forecasts, GaussianForecasts, QuantileForecasts, SampleForecasts
from calibrant.types import Array


def read_forecasts(
    path: str | Path,
    *,
    label: str | None = None,
    mean: str | None = None,
    variance: str | None = None,
    std: str | None = None,
    quantiles: Any = None,
    samples: Any = None,
    counts: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
    **style: Any,
) -> tuple[Forecasts, ForecastColumns]:
    """Forecasts from a file, and the columns they come from.

    Parameters
    ----------
    path
        A CSV, Parquet, Arrow/Feather, NPZ or JSON-lines file.
    label
        The column of observed numbers, if it is not called `label`, `y` or the like.
    mean, variance, std
        Columns of Gaussian forecasts: a mean with a variance or a standard deviation.
        Columns called `mean` or `mu`, `variance` or `var`, and `std` or `sigma` are found
        without being named.
    quantiles
        Columns with their levels: a mapping, `"q05=0.05,q95=0.95"`, or names that state
        the levels, in a list, joined by commas or as a pattern such as `"q*"`. Columns
        called `q0.05`, `q05`, `p90`, `quantile_0.5` or `0.05` are found where there is
        one way to read them.
    samples
        Columns of draws: names, a prefix, or a pattern such as `"member_*"`. A pattern
        leaves out labels, weights and groups.
    counts, weights, groups
        As in `GaussianForecasts`. Columns of counts and weights are used only if named.
        A column called `group` is used; `"none"` leaves it out.
    **style
        `sep`, `decimal` and `missing`, as for `read`.

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
    store = open_store(Path(path), Style.taken(style))
    others = {"label": label, "counts": counts, "weights": weights, "groups": groups}
    gaussian = {"mean": mean, "variance": variance, "std": std}
    chosen = choose_forecasts(Header(store.names, str(path)), others, gaussian, quantiles, samples)
    found, chosen, rows = load(store, chosen)
    with worded(str(path), chosen, rows=rows):
        labels = found[chosen.label or ""]
        options: dict[str, Any] = {role: found[name] for role, name in chosen.beside.items() if name}
        if chosen.kind == "Gaussian":
            return GaussianForecasts(labels, *_gaussian(found, chosen), **options), chosen
        if chosen.levels is None:
            return SampleForecasts(labels, _matrix(found, chosen), **options), chosen
        return QuantileForecasts(labels, chosen.levels, _matrix(found, chosen), **options), chosen


def _matrix(found: dict[str, Array], chosen: ForecastColumns) -> Array:
    """Quantiles or samples, `(n, k)`. One column of samples may hold a list per row."""
    first = found[chosen.predicted[0]]
    if chosen.levels is None and len(chosen.predicted) == 1 and first.ndim == 2:
        name = f"column {chosen.predicted[0]!r}"
        inputs.check_finite(inputs.floats(first, name), name)
        return first
    parts = [inputs.check_column(found[name], f"column {name!r}", len(first)) for name in chosen.predicted]
    return np.stack(parts, axis=1)


def _gaussian(found: dict[str, Array], chosen: ForecastColumns) -> tuple[Array, Array]:
    """Means and variances."""
    centre, role = inputs.check_column(found[chosen.predicted[0]], "mean"), "variance" if chosen.squared else "std"
    spread = inputs.check_column(found[chosen.predicted[1]], role, len(centre))
    inputs.check_all_positive(spread, role)
    with np.errstate(over="ignore", under="ignore"):  # 0 and infinity are refused with the other values
        return centre, spread if chosen.squared else spread**2


def holds_quantiles(path: str | Path, **style: Any) -> bool:
    """Do names of several columns state the levels of quantiles, while none is named for probabilities?"""
    names = open_store(Path(path), Style.taken(style)).names
    return not has_probabilities(names) and any(len(each) > 1 and is_clear(each) for each in quantile_sets(names))


def read_gaussian(path: str | Path, **columns: Any) -> Predicted:
    """Means and variances, `(n, 2)`, from a file with or without labels; options as for `read_forecasts`."""
    style = Style.taken(columns)
    store = open_store(Path(path), style)
    chosen = choose_gaussian(Header(store.names, str(path)), {"label": NONE}, **columns)
    found, chosen, _ = load(store, chosen)
    with worded(str(path), chosen):
        values = np.stack(_gaussian(found, chosen), axis=1)
        inputs.check_all_positive(values[:, 1], "variance")
    return Predicted(Path(path), chosen, values, style=style)
