"""Predictions from a file, with or without labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant import inputs
from calibrant.files.columns import NONE, Columns, FileColumns, UnknownColumn, choose
from calibrant.files.formats import check_distinct, file_errors, open_store
from calibrant.files.values import load, matched, stacked, truth_of
from calibrant.files.wording import worded
from calibrant.predictions import Predictions
from calibrant.types import Array


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predictions in a file that need not hold labels."""

    path: Path
    columns: FileColumns
    values: Array
    classes: tuple[Any, ...] | None = None
    """the classes of the columns, if the file or the caller names them"""


def read(
    path: str | Path,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    logits: str | Sequence[str] | None = None,
    pred: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
    classes: str | Iterable[Any] | None = None,
    normalize: bool = False,
    soft: bool = False,
) -> Predictions:
    """Predictions from a CSV, Parquet, Arrow/Feather, NPZ or JSON-lines file.

    Parameters
    ----------
    path
        The file; its ending is its format.
    label
        The column of labels, if it is not called `label`, `y_true`, `target` or the like.
    probs, logits
        The columns of predictions: one (of numbers, or of lists with a number per class),
        several in a list or joined by commas, a prefix, or a pattern such as `"prob_*"`.
        If neither is given and both are found, probabilities are used.
    pred
        The predicted class beside a column of confidences: the event is that the
        prediction is right. Found beside `conf` and `confidence`.
    weights, groups
        As in `Predictions`. Columns called `weight` and `group` are used; `"none"` leaves
        them out.
    classes
        The classes in the order of the columns; for one column `(negative, positive)`.
        Columns such as `prob_cat` name their classes themselves. Labels that are numbers,
        where classes are names, are positions among the classes.
    normalize, soft
        As in `Predictions`.

    Examples
    --------
    >>> import calibrant as cal, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "animals.csv")
    >>> _ = path.write_text("label,prob_cat,prob_dog\\ncat,0.8,0.2\\ndog,0.4,0.6\\n")
    >>> cal.Predictions.read(path).classes
    ('cat', 'dog')
    """
    columns = {"label": label, "probs": probs, "logits": logits, "pred": pred, "weights": weights, "groups": groups}
    return read_with_columns(path, classes=classes, normalize=normalize, soft=soft, **columns)[0]


def read_with_columns(
    path: str | Path, *, classes: Any = None, normalize: bool = False, soft: bool = False, **columns: Any
) -> tuple[Predictions, Columns]:
    """The predictions in a file and the columns they come from; options as for `read`."""
    store = open_store(Path(path))
    order = _split(classes)
    chosen = choose(store.names, str(path), classes=order, **columns)
    with worded(str(path), chosen):
        found = load(store, chosen)
        predicted = stacked(found, chosen)
        order = None if chosen.pred else order or chosen.classes
        labels, declared = matched(truth_of(found, chosen), order, predicted, soft)
        options: dict[str, Any] = {"classes": declared, "soft": soft}
        options |= {role: found[name] for role in ("weights", "groups") if (name := getattr(chosen, role))}
        if chosen.logits:
            predictions = Predictions.from_logits(labels, predicted, **options)
        else:
            predictions = Predictions(labels, predicted, normalize=normalize, **options)
    if order is not None and declared is None:
        predictions.classes = order  # labels are positions; these are the names
    return predictions, chosen


def read_predicted(path: str | Path, *, classes: Any = None, normalize: bool = False, **columns: Any) -> Predicted:
    """The predictions in a file that need not hold labels; options as for `read`."""
    store = open_store(Path(path))
    order = _split(classes)
    chosen = choose(store.names, str(path), label=NONE, classes=order, **columns)
    with worded(str(path), chosen):
        values = inputs.floats(stacked(load(store, chosen), chosen), "logits" if chosen.logits else "probs")
        if chosen.logits:
            inputs.check_finite(values, "logits")
        else:
            inputs.check_probabilities(values)
            values = inputs.check_row_sums(values, normalize) if values.ndim == 2 else values
    return Predicted(Path(path), chosen, values, order or chosen.classes)


def _split(classes: Any) -> tuple[Any, ...] | None:
    if classes is None:
        return None
    parts = [part.strip() for part in classes.split(",")] if isinstance(classes, str) else classes
    return tuple(part.item() if isinstance(part, np.generic) else part for part in parts)


def read_features(path: str | Path, names: str | None, chosen: Columns) -> Any:
    """The columns of a file to form segments from: those named, or all that the predictions do not use."""
    store = open_store(Path(path))
    wanted = [name.strip() for name in names.split(",")] if names else [n for n in store.names if n not in chosen.used]
    unknown = [name for name in wanted if name not in store.names]
    if unknown or not wanted:
        among = f"{unknown[0]!r} is not among {inputs.listed(store.names)}" if unknown else ""
        raise UnknownColumn("by", f"must name columns of {path}", among or "all are used by the predictions")
    check_distinct(store, wanted)
    with file_errors("read", store.path):
        return store.load(wanted, [])
