"""Predictions from a file, with or without labels."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from calibrant import inputs
from calibrant.files.arrow import to_numpy
from calibrant.files.columns import NONE, Columns, FileColumns, UnknownColumn, choose, worded
from calibrant.files.formats import Store, check_distinct, file_errors, open_store
from calibrant.files.style import PLAIN, Style, complete
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.predictions.labels import check_names_event, is_confidence
from calibrant.problems import FileError, InputError
from calibrant.types import Array, Bools


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predictions in a file that need not hold labels."""

    path: Path
    columns: FileColumns
    values: Array
    classes: tuple[Any, ...] | None = None
    """the classes of the columns, if the file or the caller names them"""
    style: Style = PLAIN
    """how the file writes its values"""


@checked
def read(
    path: str | Path,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    logits: str | Sequence[str] | None = None,
    pred: str | None = None,
    counts: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
    classes: str | Iterable[Any] | None = None,
    normalize: bool = False,
    soft: bool = False,
    sep: str | None = None,
    decimal: Literal[".", ","] = ".",
    missing: Literal["error", "drop"] = "error",
    percent: bool = False,
    encoding: str | None = None,
) -> Predictions:
    """Predictions from a CSV, Parquet, Arrow/Feather, NPZ or JSON-lines file, or a log of answers.

    Logs of language models are read as they are written: samples of lm-evaluation-harness
    (softmax of the choices' log-likelihoods, groups are documents), Inspect logs (`.eval`,
    `.json`) and chat completions with log-probabilities. Nested fields of JSON are columns
    named by their path, `grade.score`.

    Parameters
    ----------
    path
        The file; its ending is its format.
    label
        The column of labels, if it is not called `label`, `y_true`, `target` or the like.
        Names that also mean other things (`event`, `died`, `risk`, `score`) are used where
        no column has a clearer one.
    probs, logits
        The columns of predictions: one (of numbers, or of lists with a number per class),
        several in a list or joined by commas, a prefix, or a pattern such as `"prob_*"`.
        If neither is given and both are found, probabilities are used.
    pred
        The predicted class beside a column of confidences: the event is that the
        prediction is right. Found beside `conf` and `confidence`.
    counts, weights, groups
        As in `Predictions`. Columns of counts and weights are used only if they are named;
        one called `group` is used, unless `groups="none"`.
    classes
        The classes in the order of the columns; for one column `(negative, positive)`.
        Columns such as `prob_cat` name their classes themselves. Labels that are numbers,
        where classes are names, are positions among the classes.
    normalize, soft
        As in `Predictions`.
    sep, decimal
        Of a text table: the character between fields, if it is not a comma (in `.tsv` a
        tab), and the decimal mark.
    missing
        `"drop"` leaves out rows that have no value in a column that is read, and warns of
        their number; by default they are refused.
    percent
        Are probabilities given in per cent, as 95 or `"95%"`?
    encoding
        Of a text file, such as `"latin-1"`; by default UTF-8, or what its byte-order mark
        declares.

    Examples
    --------
    >>> import calibrant as cal, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "animals.csv")
    >>> _ = path.write_text("label,prob_cat,prob_dog\\ncat,0.8,0.2\\ndog,0.4,0.6\\n")
    >>> cal.Predictions.read(path).classes
    ('cat', 'dog')
    """
    columns = {"label": label, "probs": probs, "logits": logits, "pred": pred}
    columns |= {"counts": counts, "weights": weights, "groups": groups}
    style = {"sep": sep, "decimal": decimal, "missing": missing, "percent": percent, "encoding": encoding}
    found, chosen = read_with_columns(path, classes=classes, normalize=normalize, soft=soft, **columns, **style)
    warn_of_dropped(str(path), chosen)
    return found


def warn_of_dropped(file: str, chosen: FileColumns) -> None:
    """Warn the caller of a public function that rows were dropped.

    Parameters
    ----------
    file
        What was read.
    chosen
        Its columns.
    """
    if chosen.dropped:
        warnings.warn(f"{file}: {chosen.dropped_rows()}", UserWarning, stacklevel=4)


def read_with_columns(
    path: str | Path, *, classes: Any = None, normalize: bool = False, soft: bool = False, **columns: Any
) -> tuple[Predictions, Columns]:
    """The predictions in a file and the columns they come from; options as for `read`."""
    style = Style.taken(columns)
    store, order = open_store(Path(path), style), class_names(classes)
    chosen = choose(store.names, str(path), classes=order, **columns)
    found, chosen, rows = load(store, chosen)
    with worded(str(path), chosen, rows=rows):
        predictions = predictions_of(found, chosen, order, normalize=normalize, soft=soft, style=style)
    return predictions, chosen


def predictions_of(
    found: dict[str, Array],
    chosen: Columns,
    order: tuple[Any, ...] | None = None,
    *,
    normalize: bool = False,
    soft: bool = False,
    style: Style = PLAIN,
) -> Predictions:
    """The predictions in the columns of a file, or of some of its rows.

    Parameters
    ----------
    found
        The columns by name.
    chosen
        Their roles.
    order
        The classes in the order of the columns, if the caller names them.
    normalize, soft
        As in `Predictions`.
    style
        How the numbers are written.
    """
    predicted = stacked(found, chosen, style)
    order = None if chosen.pred else order or chosen.classes
    _check_lone(predicted, chosen, order)
    labels, declared = matched(truth_of(found, chosen), order, predicted, soft)
    options: dict[str, Any] = {"classes": declared, "soft": soft}
    options |= {role: found[name] for role, name in chosen.beside.items() if name}
    if chosen.logits:
        predictions = Predictions.from_logits(labels, predicted, **options)
    else:
        predictions = Predictions(labels, predicted, normalize=normalize, **options)
    if order is not None and declared is None:
        predictions.classes = order  # labels are positions; these are the names
    named = chosen.pred is not None or is_confidence(chosen.predicted[0])
    predictions.is_confidence = predicted.ndim == 1 and named
    return predictions


def read_predicted(path: str | Path, *, classes: Any = None, normalize: bool = False, **columns: Any) -> Predicted:
    """The predictions in a file that need not hold labels; options as for `read`."""
    style = Style.taken(columns)
    store, order = open_store(Path(path), style), class_names(classes)
    chosen = choose(store.names, str(path), label=NONE, classes=order, **columns)
    found, chosen, _ = load(store, chosen)
    with worded(str(path), chosen):
        values = inputs.floats(stacked(found, chosen, style), "logits" if chosen.logits else "probs")
        _check_lone(values, chosen, order)
        if chosen.logits:
            inputs.check_finite(values, "logits")
        else:
            inputs.check_probabilities(values)
            values = inputs.check_row_sums(values, normalize) if values.ndim == 2 else values
    return Predicted(Path(path), chosen, values, order or chosen.classes, style)


def _check_lone(predicted: Array, chosen: Columns, classes: tuple[Any, ...] | None) -> None:
    """One column of numbers is of the event, unless its name tells otherwise."""
    if predicted.ndim == 1 and len(chosen.predicted) == 1 and not chosen.pred:
        pair = classes if classes is not None and len(classes) == 2 else (0, 1)
        check_names_event(chosen.predicted[0], pair, "logits" if chosen.logits else "probs")


def class_names(classes: Any) -> tuple[Any, ...] | None:
    """The classes that a caller named: several, or one text of them joined by commas."""
    if classes is None:
        return None
    parts = [part.strip() for part in classes.split(",")] if isinstance(classes, str) else classes
    found = tuple(part.item() if isinstance(part, np.generic) else part for part in parts)
    if not found:
        raise InputError("classes", "must name every class", "it is empty", "Leave it out if columns name them")
    inputs.check_no_missing(np.array([*found, ""], dtype=object), "classes")
    return found


def read_features(path: str | Path, names: str | None, chosen: Columns, style: Style = PLAIN) -> Any:
    """The columns of a file to form segments from: those named, or all that the predictions do not use."""
    store = open_store(Path(path), style)
    wanted = [name.strip() for name in names.split(",")] if names else [n for n in store.names if n not in chosen.used]
    unknown = [name for name in wanted if name not in store.names]
    if unknown or not wanted:
        among = f"{unknown[0]!r} is not among {inputs.listed(store.names)}" if unknown else ""
        raise UnknownColumn("by", f"must name columns of {path}", among or "all are used by the predictions")
    check_distinct(store.names, wanted, store.path)
    with file_errors("read", store.path):
        table = store.load([*wanted, *(name for name in chosen.used if name not in wanted)], [])
        kept = complete(table, chosen.used, chosen.predicted) if chosen.dropped or chosen.abstained else None
        if isinstance(table, dict):
            return {name: table[name] if kept is None else table[name][kept] for name in wanted}
        return table.select(wanted) if kept is None else table.select(wanted).filter(kept)


C = TypeVar("C", bound=FileColumns)


def load(store: Store, chosen: C) -> tuple[dict[str, Array], C, Array | None]:
    """The chosen columns as arrays, by name; the columns with the number of rows dropped; the rows kept, if not all."""
    check_distinct(store.names, chosen.used, store.path)
    answered = None
    with file_errors("read", store.path):
        table = store.load(chosen.used, [])
        if store.style.abstentions != "refuse":
            answered = complete(table, chosen.predicted, chosen.predicted)
            table = _filtered(table, chosen.used, answered)
            chosen = replace(chosen, abstained=int((~answered).sum()))
        rows = None if answered is None else np.flatnonzero(answered)
        with worded(str(store.path), chosen, rows=rows):
            found, kept = arrays(table, chosen.used, store.style, chosen.predicted)
    chosen = replace(chosen, meaning=store.meaning, dropped=0 if kept is None else int((~kept).sum()))
    if answered is not None:
        answered[answered] = True if kept is None else kept
        kept = answered
    if not len(found[chosen.predicted[0]]):
        left = chosen.dropped + chosen.abstained
        why = f"all {left:,} rows have missing values" if left else "it holds no rows"
        raise FileError(f"cannot read {str(store.path)!r}: {why}.")
    return found, chosen, None if kept is None else np.flatnonzero(kept)


def arrays(
    columns: Mapping[str, Any], names: Sequence[str], style: Style, numbers: Sequence[str] = ()
) -> tuple[dict[str, Array], Bools | None]:
    """Columns as NumPy arrays, without the rows that the style drops, and which rows were kept, if not all.

    Parameters
    ----------
    columns
        Arrow or NumPy columns by name.
    names
        Those to convert.
    style
        What to do with missing values.
    numbers
        Those that hold numbers.
    """
    kept = complete(columns, names, numbers) if style.missing == "drop" else None
    if kept is None or kept.all():
        return {name: to_numpy(columns[name], name) for name in names}, None
    return {name: to_numpy(each, name) for name, each in _filtered(columns, names, kept).items()}, kept


def _filtered(columns: Mapping[str, Any], names: Sequence[str], kept: Bools) -> dict[str, Any]:
    """Some rows of some columns."""
    cut = ((name, columns[name]) for name in names)
    return {name: each[kept] if isinstance(each, np.ndarray) else each.filter(kept) for name, each in cut}


def stacked(found: dict[str, Array], chosen: Columns, style: Style = PLAIN) -> Array:
    """The predictions: `(n,)` or `(n, K)`."""
    argument = "logits" if chosen.logits else "probs"
    parts = [style.numbers(found[name], argument) for name in chosen.predicted]
    if len({part.shape for part in parts}) > 1:
        raise InputError(argument, "must have as many rows in every column")
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)


def truth_of(found: dict[str, Array], chosen: Columns) -> Array:
    """The labels, or whether the predicted class equals them."""
    labels = found[chosen.label or ""]
    if chosen.pred is None:
        return labels
    predicted = found[chosen.pred]
    if (labels.dtype.kind in "OUS") != (predicted.dtype.kind in "OUS") or labels.shape != predicted.shape:
        expected, advice = (
            f"must hold classes as column {chosen.pred!r} does",
            "Pass pred='none' if it is not the predicted class",
        )
        raise InputError("labels", expected, f"one holds {labels.item(0)!r}, the other {predicted.item(0)!r}", advice)
    return np.asarray(labels == predicted)


def matched(
    labels: Array, classes: tuple[Any, ...] | None, predicted: Array, soft: bool
) -> tuple[Array, tuple[Any, ...] | None]:
    """Labels with the classes to declare for them; None if the labels are positions already."""
    n_classes = predicted.shape[1] if predicted.ndim == 2 else 2
    if classes is None or soft or len(set(classes)) != n_classes:
        return labels, classes
    if labels.dtype.kind in "OUS" and labels.ndim == 1:
        position = {str(c): k for k, c in enumerate(classes)}
        found = np.fromiter((position.get(label, -1) for label in labels.tolist()), np.int32, len(labels))
        return (found, None) if (found >= 0).all() else (labels, tuple(position))
    return labels, None if labels.ndim == 2 else _numbers(classes)


def _numbers(classes: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Class names as numbers or truth values, or None if they are words."""
    ways: dict[str, Callable[[str], Any]] = {r"-?\d+": int, r"-?\d+\.\d*": float, "false|true": "true".__eq__}
    names = [str(c).lower() for c in classes]
    numbers = [next((way(n) for form, way in ways.items() if re.fullmatch(form, n)), None) for n in names]
    return None if None in numbers else tuple(numbers)
