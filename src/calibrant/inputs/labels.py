"""Labels: class indices, class names, one-hot rows, or shares of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.arrays import column_names, to_numpy
from calibrant.inputs.numbers import FloatArray, check_finite, check_no_missing, check_row_sums, floats, refuse
from calibrant.inputs.options import listed
from calibrant.problems import InputError
from calibrant.types import Array

IntArray = Array


def in_column_order(labels: Any, columns: tuple[Any, ...] | None) -> Array:
    """Labels as an array; one-hot columns that carry the names of the probabilities' columns are put in their order."""
    found, names = to_numpy(labels, "labels"), column_names(labels)
    if found.ndim == 2 and names and columns and names != columns and set(names) == set(columns):
        check_distinct(columns)
        found = found[:, [names.index(name) for name in columns]]
    return found


def check_lengths(labels: Array, predicted: FloatArray, name: str) -> None:
    """Labels and predictions must have as many rows."""
    if labels.ndim not in (1, 2):
        raise InputError("labels", "must have shape (n,), or (n, K) if one-hot", f"it has shape {labels.shape}")
    if not len(labels):
        raise InputError("labels", "must hold at least one row", "it is empty")
    if len(labels) != len(predicted):
        lengths = f"labels has {len(labels)}, {name} {len(predicted)}"
        raise InputError("labels", f"and {name} must have as many rows", lengths)


def check_swapped(labels: Any, probs: FloatArray, soft: bool) -> None:
    """Refuse fractions as labels, with a guess at whether labels and probabilities were swapped."""
    found = np.asarray(to_numpy(labels, "labels"))
    if soft or found.dtype.kind != "f" or not len(found):
        return
    fraction = (found != np.floor(found)) & np.isfinite(found)
    if fraction.any():
        advice = (
            "Labels come first: did you swap labels and probs?"
            if (probs == np.floor(probs)).all()
            else "These look like probabilities. Labels come first; for shares in [0, 1] pass soft=True"
        )
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


def check_distinct(classes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse classes of which two have the same name."""
    if len(set(classes)) != len(classes):
        twice = next(c for i, c in enumerate(classes) if c in classes[:i])
        raise InputError("classes", "must be distinct", f"{twice!r} occurs twice")
    return classes


def codes(labels: Array, classes: tuple[Any, ...], name: str, ndim: int, declared: bool) -> IntArray:
    """Labels as class indices: uint8 for two classes given as one column, else int32."""
    dtype: Any = np.uint8 if ndim == 1 else np.int32
    if labels.ndim == 2:
        return _from_one_hot(labels, len(classes)).astype(dtype)
    if labels.dtype.kind == "O":
        check_no_missing(labels, "labels")
        labels = _same_kind(labels)
    plain = classes == tuple(range(len(classes)))
    if plain and labels.dtype.kind in "biuf":
        return _check_codes(labels, len(classes), name, ndim).astype(dtype, copy=False)
    if plain and not declared:
        pair = "classes=(negative, positive)" if ndim == 1 else "classes= in the order of the columns"
        advice = f"Pass {pair} (scikit-learn: model.classes_)"
        raise InputError("labels", "holds names", f"labels[0] is {labels[0]!s:.40}", advice)
    return _look_up(labels, classes).astype(dtype)


def _same_kind(labels: Array) -> Array:
    """Objects as strings or numbers, if they are all of one kind."""
    simpler = np.array(labels.tolist())
    return labels if simpler.dtype.kind in "US" and not all(isinstance(v, str) for v in labels) else simpler


def _from_one_hot(labels: Array, n_classes: int) -> IntArray:
    if labels.shape[1] != n_classes:
        raise InputError("labels", f"must have {n_classes} columns if one-hot", f"it has {labels.shape[1]}")
    ones = np.asarray(labels == 1, dtype=bool) if labels.dtype.kind not in "US" else np.zeros(labels.shape, dtype=bool)
    bad = ~((np.asarray(labels == 0, dtype=bool) | ones).all(axis=1) & (ones.sum(axis=1) == 1))
    if bad.any():
        row = int(np.argmax(bad))
        found = f"row {row} is {labels[row].tolist()}"
        raise InputError("labels", "must be one-hot if it has several columns", found, "Pass class indices")
    return ones.argmax(axis=1)


def _check_codes(labels: Array, n_classes: int, name: str, ndim: int) -> Array:
    if labels.dtype.kind == "f":
        check_finite(labels, "labels")
        refuse(labels != np.floor(labels), labels, "labels", "must be classes")
    if labels.dtype.kind == "b":
        return labels.view(np.uint8)
    if labels.min() < 0 or labels.max() >= n_classes:
        if ndim == 1:
            expected, classes = "must be 0 or 1", "classes=(negative, positive)"
        else:
            expected = f"must lie in 0 … {n_classes - 1}, as {name} has {n_classes} columns"
            classes = "classes= in the order of the columns"
        bad = (labels < 0) | (labels >= n_classes)
        refuse(bad, labels, "labels", expected, f"Pass {classes} if these are class names")
    return labels


def _look_up(labels: Array, classes: tuple[Any, ...]) -> IntArray:
    """The position of each label among the declared classes."""
    try:
        seen, inverse = np.unique(labels, return_inverse=True)
    except TypeError as error:
        mixed = "names and numbers are mixed"
        raise InputError("labels", "must be of one kind", mixed, "Pass strings or integers") from error
    order = {c: k for k, c in enumerate(classes)}
    positions: IntArray = np.array([order.get(label, -1) for label in seen.tolist()])[inverse]
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        found = f"labels[{row}] is {labels.tolist()[row]!r}"
        raise InputError("labels", f"must be among the classes {listed(classes)}", found)
    return positions


def shares(labels: Array, ndim: int, n_classes: int) -> FloatArray:
    """Soft labels: event shares `(n,)`, or class shares `(n, K)` whose rows sum to 1."""
    found = floats(labels, "labels").astype(np.float64)
    if found.ndim != ndim or (ndim == 2 and found.shape[1] != n_classes):
        columns = "one column" if ndim == 1 else f"{n_classes} columns"
        raise InputError("labels", f"must have {columns} of shares if soft=True")
    check_finite(found, "labels")
    refuse((found < 0) | (found > 1), found, "labels", "must lie in [0, 1]")
    return check_row_sums(found, None, "labels") if ndim == 2 else found
