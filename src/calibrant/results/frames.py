"""Tables, bins, curves and answers as data frames of another library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from calibrant.problems import InputError, MissingExtra
from calibrant.results.record import Record

Library = Literal["pandas", "polars", "pyarrow"]


class Framed:
    """A record that is a table: `to_frame` gives one row per bin, point, class, estimate or segment."""

    __slots__ = ()

    def columns_of_rows(self) -> dict[str, Any]:
        """The columns: every field that is an array."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}

    def to_frame(self, library: Library = "pandas") -> Any:
        """A data frame with one row per entry.

        Parameters
        ----------
        library
            `"pandas"`, `"polars"` or `"pyarrow"`: whose frame.
        """
        return frame(self.columns_of_rows(), library)


def frame(columns: Mapping[str, Any], library: Library = "pandas") -> Any:
    """Columns as a data frame.

    Parameters
    ----------
    columns
        Values by name.
    library
        Whose frame.
    """
    if library not in get_args(Library):
        raise InputError("library", f"must be one of {', '.join(map(repr, get_args(Library)))}", f"it is {library!r}")
    try:
        module = import_module(library)
    except ImportError as error:
        raise MissingExtra(library, library, f"to_frame(library={library!r})") from error
    data = {name: _of_one_type(values) for name, values in columns.items()}
    return module.table(data) if library == "pyarrow" else module.DataFrame(data)


def _of_one_type(values: Any) -> Any:
    """Cells that are texts in some rows are texts in all, as columns of Polars and Arrow have one type."""
    if isinstance(values, np.ndarray):
        return values
    kinds = {type(value) for value in values if value is not None}
    mixed = not kinds <= {int, float} and len(kinds) > 1
    return [value if value is None or not mixed else str(value) for value in values]


def by_column(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows as columns; what a row lacks is None.

    Parameters
    ----------
    rows
        Cells by column, row by row.
    """
    found = list(rows)
    names = dict.fromkeys(name for each in found for name in each)
    return {name: [each.get(name) for each in found] for name in names}


def to_frame(results: Iterable[Record], library: Library = "pandas") -> Any:
    """Estimates, tests or other results of one kind as a data frame with one row each.

    Parameters
    ----------
    results
        Such as several estimates.
    library
        `"pandas"`, `"polars"` or `"pyarrow"`: whose frame.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.results import to_frame
    >>> frame = to_frame([cal.ece([0, 1, 1], [0.2, 0.7, 0.9]), cal.mean_gap([0, 1, 1], [0.2, 0.7, 0.9])])
    >>> frame[["key", "value", "n"]].round(3).values.tolist()
    [['ece', 0.2, 3], ['mean_gap', -0.067, 3]]
    """
    return frame(by_column(each.as_row() for each in results), library)
