"""How a file writes its values: separators, decimal commas, per cent, missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from calibrant import inputs
from calibrant.files.encodings import blocks, check_encoding_name
from calibrant.problems import FileError, InputError
from calibrant.types import Array, Bools

TEXT = ("CSV", "JSON lines")
"""The formats that are text, and so have an encoding and may be compressed: `.gz` may follow their ending."""
ABSTENTIONS = ("refuse", "count", "drop")
NO_NUMBER = ("", "na", "n/a", "nan", "null", "none", "#n/a")
"""Texts that stand for a missing number, in lower case."""
SEPARATORS = ",;\t"
"""The separators that are recognised in a first line; a tab is shown as it is passed."""
_COMMA = re.compile(r"[-+]?\d*,\d+\s*%?")
"""A number with a decimal comma."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a file writes its values; the defaults are those of most files."""

    sep: str | None = None
    """between the fields of a text table; None: a comma, or a tab in .tsv"""
    decimal: str = "."
    missing: str = "error"
    """what is done with rows that have no value in a column in use: error, drop"""
    percent: bool = False
    """are probabilities written as 95 or 95%?"""
    encoding: str | None = None
    """of a text file; None: UTF-8, or what its byte-order mark declares"""
    abstentions: str = "refuse"
    """what is done with rows that have no prediction: refuse, count, drop; the last two leave them out"""

    def __post_init__(self) -> None:
        if self.sep in ("tab", "\\t"):
            object.__setattr__(self, "sep", "\t")
        if self.sep is not None and (
            len(self.sep) != 1 or self.sep.isalnum() or not self.sep.isascii() or self.sep in '."\r\n'
        ):
            raise InputError("sep", "must be one character, such as ';', or 'tab'", f"it is {self.sep!r}")
        inputs.check_choice("decimal", self.decimal, (".", ","))
        inputs.check_choice("missing", self.missing, ("error", "drop"))
        inputs.check_choice("abstentions", self.abstentions, ABSTENTIONS)
        object.__setattr__(self, "encoding", check_encoding_name(self.encoding))

    @classmethod
    def taken(cls, options: dict[str, Any]) -> Style:
        """The style among other options, from which it is removed; None stands for a default."""
        given = {field.name: options.pop(field.name, None) for field in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value is not None})

    def delimiter(self, path: Path) -> str:
        """The character between the fields of a text table."""
        return self.sep or ("\t" if ".tsv" in path.name.lower() else ",")

    def check_format(self, form: str) -> None:
        """Refuse options of text tables for a file of another format."""
        for name, given in (("sep", self.sep), ("decimal", self.decimal != ".")):
            if given and form != "CSV":
                raise InputError(name, "is for text tables only", f"the file is {form}", "Leave it out")
        if self.encoding and form not in TEXT:
            raise InputError("encoding", "is for text files only", f"the file is {form}", "Leave it out")

    def check_separator(self, path: Path) -> None:
        """Refuse a text table whose first line has no separator but another one, and say which."""
        opening = next(blocks(path, self.encoding), b"").decode("utf-8", "replace").splitlines()
        head = next((line for line in opening if line.strip()), "")
        used = self.delimiter(path)
        other = max(SEPARATORS, key=head.count)
        if used in head or other not in head:
            return
        commas = other != "," and any(
            _COMMA.fullmatch(part.strip(' "')) for line in opening[1:9] for part in line.split(other)
        )
        options = [f"sep={_shown(other)!r}"] + ["decimal=','"] * (commas and self.decimal == ".")
        facts = f"its first line has no {_shown(used)!r} but {head.count(other)} {_shown(other)!r}"
        raise FileError(f"cannot read {str(path)!r}: {facts}. Pass {' and '.join(options)}.")

    def numbers(self, column: Array, argument: str) -> Array:
        """Predictions as numbers; text and per cent are understood as far as the style says so.

        Parameters
        ----------
        column
            One column of a file, `(n,)` or `(n, K)`.
        argument
            Its name in error texts.
        """
        if column.dtype.kind in "OUS" and column.size:
            column = self._from_text(column, argument)
        found = inputs.floats(column, argument)
        if not self.percent:
            return found
        if argument != "probs":
            raise InputError("percent", "is for probabilities", f"the file has {argument}", "Leave it out")
        wrong = (found < 0) | (found > 100)
        inputs.refuse(wrong, found, argument, "must lie in [0, 100] if they are in per cent")
        return found / 100

    def _from_text(self, column: Array, argument: str) -> Array:
        """Texts such as 0.95, 95% or 0,95 as numbers; the first that is none is named with its row."""
        inputs.check_no_missing(column.astype(object), argument)
        texts = np.array([str(value).strip() for value in column.flat], dtype=object).reshape(column.shape)
        marked = np.array([text.endswith("%") for text in texts.flat]).reshape(column.shape)
        if not self.percent:
            inputs.refuse(marked, texts, argument, "must hold numbers", "Pass percent=True if they are in per cent")
        elif marked.any():
            inputs.refuse(~marked, texts, argument, "must all be written with % if any is")
        values = np.full(texts.size, np.nan)
        bad = np.zeros(texts.size, dtype=bool)
        for k, text in enumerate(texts.flat):
            written = text.rstrip("% ").replace(",", ".", 1) if self.decimal == "," else text.rstrip("% ")
            try:
                values[k] = float(written)
            except ValueError:
                bad[k] = True
        first = str(texts.flat[int(bad.argmax())])
        advice = "Pass decimal=',' if this is a decimal comma" if _COMMA.fullmatch(first) else ""
        inputs.refuse(bad.reshape(column.shape), texts, argument, "must hold numbers", advice)
        return values.reshape(column.shape)


PLAIN = Style()


def _shown(separator: str) -> str:
    return "tab" if separator == "\t" else separator


def complete(columns: Mapping[str, Any], names: Sequence[str], numbers: Sequence[str] = ()) -> Bools:
    """Which rows have a value in each of some columns.

    Parameters
    ----------
    columns
        Arrow or NumPy columns by name.
    names
        Those that matter.
    numbers
        Those of them that hold numbers: texts such as `N/A` are missing there too.
    """
    return ~np.logical_or.reduce([_blank(columns[name], name in numbers) for name in names])


def _blank(column: Any, number: bool = False) -> Bools:
    """Which rows are missing: null, NaN, an empty text, one for no number, or a list with any of these."""
    import pyarrow as pa

    if number and isinstance(column, pa.ChunkedArray | pa.Array) and str(column.type) in ("string", "large_string"):
        column = np.array(column.to_pylist(), dtype=object)
    if number and isinstance(column, np.ndarray) and column.dtype.kind in "OUS":
        texts = [value.strip().lower() if isinstance(value, str) else value for value in column.ravel().tolist()]
        column = np.array(texts, dtype=object).reshape(column.shape)
        column[np.isin(column.astype(str), NO_NUMBER)] = ""
    if not isinstance(column, np.ndarray):
        return _blank_arrow(column)
    if column.dtype.kind == "f":
        bad = np.isnan(column)
    elif column.dtype.kind in "OUS":
        bad = inputs.missing(column.astype(object)) | (column.astype(object) == "")
    else:
        return np.zeros(len(column), dtype=bool)
    return np.asarray(bad.reshape(len(column), -1).any(axis=1))


def _blank_arrow(column: Any) -> Bools:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    bad = pc.is_null(array, nan_is_null=pa.types.is_floating(array.type)).to_numpy(zero_copy_only=False)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        bad = bad | pc.fill_null(pc.equal(array, ""), True).to_numpy(zero_copy_only=False)
    elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        parents = pc.list_parent_indices(array).to_numpy(zero_copy_only=False)
        bad = bad.copy()
        bad[parents[_blank_arrow(pc.list_flatten(array))]] = True
    return np.asarray(bad)
