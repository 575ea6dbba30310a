"""Labels and classes of predictions, checked: which class each label is, and which one each column is of."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from calibrant.arrays import column_names, to_numpy
from calibrant.inputs import check_finite, check_no_missing, check_row_sums, floats, listed, refuse, wrapped
from calibrant.kernels.rows.checks import all_below
from calibrant.problems import InputError
from calibrant.types import Array


def declaring(name: str, ndim: int) -> str:
    """How the classes of one column and of several are declared."""
    if ndim == 1:
        return wrapped("classes=(negative, positive)", name)
    return f"{wrapped('classes=classes', name)}, the classes in the order of the columns"


PROBABILITY = r"probs?|proba|probability|y_proba?"
"""How columns of probabilities begin."""

FAMILY = re.compile(rf"(?:{PROBABILITY}|p|logits?)(?:[_. -]|(?=\d))(.+)", re.IGNORECASE)
"""Columns of one class; the group is its name."""

NEGATIVE = ("0", "false", "no", "neg", "negative")
"""Names of the class that is not the event, where no classes are declared."""


def in_column_order(labels: Any, columns: tuple[Any, ...] | None) -> Array:
    """Labels as an array; one-hot columns named as those of the probabilities are put in their order."""
    found, names = to_numpy(labels, "labels"), column_names(labels)
    if found.ndim == 2 and names and columns and names != columns and set(names) == set(columns):
        check_distinct(columns)
        found = found[:, [names.index(name) for name in columns]]
    return found


def check_lengths(labels: Array, predicted: Array, name: str) -> None:
    """Labels and predictions must have as many rows."""
    if labels.ndim not in (1, 2):
        raise InputError("labels", "must have shape (n,), or (n, K) if one-hot", f"it has shape {labels.shape}")
    if not len(labels):
        raise InputError("labels", "must hold at least one row", "it is empty")
    if len(labels) != len(predicted):
        found = f"labels has {len(labels)}, {name} {len(predicted)}"
        raise InputError("labels", f"and {name} must have as many rows", found)


def check_swapped(labels: Any, probs: Array, soft: bool) -> None:
    """Refuse fractions as labels, with a guess at whether labels and probabilities were swapped."""
    if soft or (type(labels) is np.ndarray and labels.dtype.kind != "f"):
        return
    found = to_numpy(labels, "labels")
    if found.dtype.kind != "f" or not len(found):
        return
    fraction = (found != np.floor(found)) & np.isfinite(found)
    if fraction.any():
        advice = f"These look like probabilities. Labels come first; for shares in [0, 1] pass {wrapped('soft=True')}"
        if (probs == np.floor(probs)).all():
            advice = "Labels come first: did you swap labels and probs?"
        refuse(fraction, found, "labels", "must be classes", advice)


def class_order(
    classes: Any, columns: tuple[Any, ...] | None, labels: Array, n_classes: int, ndim: int
) -> tuple[Any, ...]:
    """The classes of the columns: declared, named by a table that the labels match, or 0 … K−1."""
    if classes is not None:
        named = to_numpy(classes, "classes")
        if named.ndim != 1:
            raise InputError("classes", "must be a list of names, one per column", f"its shape is {named.shape}")
        order = tuple(named.tolist())
        if len(order) != n_classes:
            pair = " (negative, positive)" if ndim == 1 else " as probs has columns"
            raise InputError("classes", f"must hold {n_classes} classes{pair}", f"it holds {len(order)}")
        return check_distinct(order)
    if columns is not None and len(columns) == n_classes and labels.ndim == 1 and ndim == 2:
        seen = set(np.unique(labels).tolist()) if labels.dtype.kind != "O" else set(labels.tolist())
        all_names = all(isinstance(c, str) for c in (*seen, *columns))
        if seen <= set(columns) or (all_names and seen & set(columns)):
            return check_distinct(columns)
    return tuple(range(n_classes))


CONFIDENCE = ("conf", "confidence")
"""Names of a column that holds how sure a model is of its answer."""


def is_confidence(name: Any) -> bool:
    """Is a column named as the confidence in an answer is? The event is then that the answer is right."""
    return str(name).strip().lower() in CONFIDENCE


def check_names_event(name: Any, classes: tuple[Any, ...], argument: str) -> None:
    """Refuse a lone column that is named after the negative class: it is not the probability of the event."""
    negative = {str(classes[0]).lower(), *(NEGATIVE if classes == (0, 1) else ())}
    named = FAMILY.fullmatch(str(name).strip())
    alone = isinstance(name, str | bool | np.bool_) and str(name).lower() in negative - {"0"}
    if alone or (named and named[1].lower() in negative):
        other, event = classes
        turned = f"(1 - {argument}).to_numpy()" if argument == "probs" else f"-{argument}.to_numpy()"
        how = wrapped(f"classes=({event!r}, {other!r})", argument)
        advice = f"Pass that of {event!r} or {turned}; or {how} if {other!r} is the event"
        raise InputError(
            argument, f"must be the column of {event!r}", f"{str(name)!r} is named after {other!r}", advice
        )


def check_distinct(classes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse classes of which two have the same name."""
    if len(set(classes)) != len(classes):
        twice = next(c for i, c in enumerate(classes) if c in classes[:i])
        raise InputError("classes", "must be distinct", f"{twice!r} occurs twice")
    return classes


def codes(labels: Array, classes: tuple[Any, ...], name: str, ndim: int, declared: bool) -> Array:
    """Labels as class indices: uint8 for two classes given as one column, else int32."""
    dtype: Any = np.uint8 if ndim == 1 else np.int32
    if labels.ndim == 2:
        return _from_one_hot(labels, len(classes)).astype(dtype)
    if labels.dtype.kind == "O":
        check_no_missing(labels, "labels")
        simpler = np.array(labels.tolist())  # strings or numbers, if they are all of one kind
        labels = labels if simpler.dtype.kind in "US" and not all(isinstance(v, str) for v in labels) else simpler
    plain = classes == tuple(range(len(classes)))
    if plain and labels.dtype.kind in "biuf":
        return _check_codes(labels, len(classes), name, ndim).astype(dtype, copy=False)
    if plain and not declared:
        advice = f"Pass {declaring(name, ndim)} (scikit-learn: model.classes_)"
        raise InputError("labels", "holds names", f"labels[0] is {labels[0]!s:.40}", advice)
    return _look_up(labels, classes).astype(dtype)


def _from_one_hot(labels: Array, n_classes: int) -> Array:
    if labels.shape[1] != n_classes:
        raise InputError("labels", f"must have {n_classes} columns if one-hot", f"it has {labels.shape[1]}")
    ones = np.asarray(labels == 1, dtype=bool) if labels.dtype.kind not in "US" else np.zeros(labels.shape, dtype=bool)
    bad = ~((np.asarray(labels == 0, dtype=bool) | ones).all(axis=1) & (ones.sum(axis=1) == 1))
    if bad.any():
        found = f"row {np.argmax(bad)} is {labels[np.argmax(bad)].tolist()}"
        raise InputError("labels", "must be one-hot if it has several columns", found, "Pass class indices")
    return ones.argmax(axis=1)


def _check_codes(labels: Array, n_classes: int, name: str, ndim: int) -> Array:
    if labels.dtype.kind == "f":
        check_finite(labels, "labels")
        refuse(labels != np.floor(labels), labels, "labels", "must be classes")
    if labels.dtype.kind == "b":
        return labels.view(np.uint8)
    if labels.dtype.kind in "iu" and labels.dtype.isnative and all_below(labels, n_classes):
        return labels.view(np.uint8) if labels.dtype == np.int8 else labels
    if labels.min() < 0 or labels.max() >= n_classes:
        several = f"must lie in 0 … {n_classes - 1}, as {name} has {n_classes} columns"
        expected, bad = "must be 0 or 1" if ndim == 1 else several, (labels < 0) | (labels >= n_classes)
        refuse(bad, labels, "labels", expected, f"Pass {declaring(name, ndim)}, if these are class names")
    return labels


def _look_up(labels: Array, classes: tuple[Any, ...]) -> Array:
    """The position of each label among the declared classes."""
    try:
        seen, inverse = np.unique(labels, return_inverse=True)
    except (TypeError, ArithmeticError) as error:  # no order: names among numbers, or a NaN among decimals
        found = "names and numbers are mixed" if isinstance(error, TypeError) else "there is a NaN among decimals"
        raise InputError("labels", "must be of one kind", found, "Pass strings or integers") from error
    order = {c: k for k, c in enumerate(classes)}
    positions: Array = np.array([order.get(label, -1) for label in seen.tolist()])[inverse]
    if (positions < 0).any():
        found = f"labels[{np.argmax(positions < 0)}] is {labels.tolist()[int(np.argmax(positions < 0))]!r}"
        raise InputError("labels", f"must be among the classes {listed(classes)}", found)
    return positions


def shares(labels: Array, ndim: int, n_classes: int) -> Array:
    """Soft labels: event shares `(n,)`, or class shares `(n, K)` whose rows sum to 1."""
    found = floats(labels, "labels")
    if found.ndim != ndim or (ndim == 2 and found.shape[1] != n_classes):
        columns = "one column" if ndim == 1 else f"{n_classes} columns"
        raise InputError("labels", f"must have {columns} of shares if soft=True")
    check_finite(found, "labels")
    refuse((found < 0) | (found > 1), found, "labels", "must lie in [0, 1]")
    return (check_row_sums(found, None, "labels") if ndim == 2 else found).astype(np.float64)
