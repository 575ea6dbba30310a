"""Predictions of files that do not fit into memory, read again for every pass of a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from calibrant.files.batches import Part, ahead, parts_of
from calibrant.files.columns import NONE, choose, worded
from calibrant.files.formats import check_distinct
from calibrant.files.reading import arrays, class_names, predictions_of
from calibrant.files.style import Style
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import FileError, InputError


class PredictionBatches:
    """Predictions of files, some rows at a time, in the same order whenever they are asked for.

    Made by `files.read_batches`; `recalibrate` fits a map of several classes to them.
    """

    def __init__(self, source: Any, columns: dict[str, Any], classes: Any, normalize: bool) -> None:
        self._style = Style.taken(columns)
        self._columns, self._classes, self._normalize = columns, class_names(classes), normalize
        self._parts = parts_of(source, self._style)
        first = self._parts[0]()
        if first.path is None:
            raise InputError("source", "must be files, which can be read again", f"it is {first.title}")
        self.title = first.title if len(self._parts) == 1 else f"{len(self._parts)} files"
        next(iter(self))  # columns that cannot be read are refused now

    def __iter__(self) -> Iterator[Predictions]:
        order, empty = self._classes, True
        for opened in self._parts:
            for rows in self._read(opened(), order):
                order = None if rows.is_binary else rows.classes
                yield rows
                empty = False
        if empty:
            raise FileError(f"cannot read {self.title}: there are no rows.")

    def __repr__(self) -> str:
        return f"PredictionBatches({self.title})"

    def _read(self, part: Part, order: tuple[Any, ...] | None) -> Iterator[Predictions]:
        chosen = choose(part.names, part.title, classes=self._classes, groups=NONE, **self._columns)
        check_distinct(part.names, chosen.used, part.title)
        for batch in ahead(part.batches(chosen.used)):
            with worded(part.title, chosen, batch.first):
                found, kept = arrays(batch.columns, chosen.used, self._style, chosen.predicted)
                if kept is not None and not kept.any():
                    continue
                options: dict[str, Any] = {"normalize": self._normalize, "style": self._style}
                rows = predictions_of(found, chosen, self._classes if order is None else order, **options)
            order = None if rows.is_binary else rows.classes
            yield rows


@checked
def read_batches(
    source: Any,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    logits: str | Sequence[str] | None = None,
    counts: str | None = None,
    classes: str | Sequence[Any] | None = None,
    normalize: bool = False,
    sep: str | None = None,
    decimal: Literal[".", ","] = ".",
    missing: Literal["error", "drop"] = "error",
    percent: bool = False,
    encoding: str | None = None,
) -> PredictionBatches:
    """Predictions of files of any size, for maps that are fitted by reading them several times.

    Parameters
    ----------
    source
        A path, a pattern such as `"lake/*.parquet"`, a folder, or several of these.
    label, probs, logits, counts, classes, normalize
        Columns and classes, as in `calibrant.read`. Files must agree in them.
    sep, decimal, missing, percent, encoding
        How values are written and what is done with missing ones, as in `calibrant.read`.

    Examples
    --------
    >>> import calibrant as cal, numpy as np, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> valid, _ = cal.example()
    >>> np.savez(folder / "rows.npz", label=valid.labels, probs=valid.probs)
    >>> fitted = cal.recalibrate(cal.files.read_batches(folder), "temperature")
    >>> round(fitted.temperature / cal.recalibrate(valid, "temperature").temperature, 6)
    1.0
    """
    columns: dict[str, Any] = {"label": label, "probs": probs, "logits": logits, "counts": counts}
    columns |= {"sep": sep, "decimal": decimal, "missing": missing, "percent": percent, "encoding": encoding}
    return PredictionBatches(source, columns, classes, normalize)
