"""Are two sets of predictions for the same rows, and is one a map of the other?"""

from __future__ import annotations

import numpy as np

from calibrant.arrays import common_index
from calibrant.forecasts import Forecasts
from calibrant.maps import BySegment, MixtureMap
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.score import CRPS, Rule
from calibrant.types import Array, Indices


def check_same_rows(before: Predictions, after: Predictions) -> None:
    """Both must be for the same rows: same labels, classes and weights.

    Parameters
    ----------
    before, after
        The predictions.
    """
    if before.outputs.shape != after.outputs.shape:
        raise InputError(
            "after", "must have the shape of before", f"{after.outputs.shape} is not {before.outputs.shape}"
        )
    if [str(c) for c in before.classes] != [str(c) for c in after.classes]:
        other = f"{after.classes} is not {before.classes}"
        raise InputError("after", "must have the classes of before, in the same order", other)
    if before.soft != after.soft:
        raise InputError("after", "must have the labels of before", "one has classes, the other shares")
    _check_same_labels(before, after)


def check_same_forecasts(before: Forecasts, after: Forecasts, rule: Rule) -> None:
    """Both must have the same labels and weights, in forms that the score can compare.

    Parameters
    ----------
    before, after
        The forecasts.
    rule
        The score that compares them.
    """
    if before.n != after.n:
        raise InputError("after", f"must have the {before.n} rows of before", f"it has {after.n}")
    _check_same_labels(before, after)
    if isinstance(rule, CRPS):
        rule.check_alike(before, after)


def _check_same_labels(before: Predictions | Forecasts, after: Predictions | Forecasts) -> None:
    common_index(before=before, after=after)
    if not np.array_equal(before.labels, after.labels):
        row = int(np.argmax((before.labels != after.labels).reshape(before.n, -1).any(axis=1)))
        seen, advice = f"{before.labels[row]} and {after.labels[row]}", "Compare the same rows in the same order"
        raise InputError("after", "must have the labels of before", f"row {row} differs: {seen}", advice)
    same = (before.weights is None) == (after.weights is None)
    if not same or (before.weights is not None and not np.array_equal(before.weights, after.weights)):  # type: ignore[arg-type]
        raise InputError("after", "must have the weights of before")


def how_injective(
    before: Predictions | Forecasts, after: Predictions | Forecasts, stated: bool | None = None
) -> tuple[bool | None, str]:
    """Does the change keep different predictions different, and how is that known?

    From the map if it is known, or from the user. Rows alone can only refute it: two
    models with continuous scores look like a map and its inverse.

    Parameters
    ----------
    before, after
        Predictions or forecasts for the same rows.
    stated
        What the user says; None if nothing.
    """
    if after.source is not None and after.source[0] is before:
        used = after.source[1]
        if isinstance(used, BySegment):
            return None, "the map uses the segments of the rows beside their predictions"
        if isinstance(used, MixtureMap) and not used.injective and not used.single:
            return None, "a mixture of such maps need not keep different predictions different, nor merge any"
        if used.injective:
            return True, f"{used.method} does by construction"
        n_old, n_new = _n_distinct(before), _n_distinct(after)
        if n_new < n_old:
            return False, f"{n_old:,} distinct predictions before {used.method}, {n_new:,} after"
        return None, f"{used.method} need not keep different predictions different, though in these rows it does"
    n_old, n_new, is_map = _distinct(before, after)
    if not is_map:
        if stated:
            found = "equal predictions before differ after"
            raise InputError("injective", "cannot be True", found, "These are not the output of a map")
        return None, "equal predictions before differ after, so this is not a map of the predictions alone"
    if n_new < n_old:
        return False, f"{n_old:,} distinct predictions before, {n_new:,} after"
    if stated is not None:
        return stated, "as stated"
    if np.array_equal(_told(before), _told(after)):
        return True, "none has changed"
    return None, "these rows cannot distinguish a map of the predictions from another model"


def _told(given: Predictions | Forecasts) -> Array:
    """What was predicted, as numbers."""
    return given.probs if isinstance(given, Predictions) else given.outputs


def _n_distinct(given: Predictions | Forecasts) -> int:
    """Distinct predictions; plain ones of one event are pooled, as what splits a score needs that too."""
    told = _told(given)
    if told.ndim > 1:
        return int(row_ids(told).max()) + 1
    if isinstance(given, Predictions) and given.weights is None and not given.soft:
        return len(given.event("binary").pooled)
    return len(np.unique(told))


def _distinct(before: Predictions | Forecasts, after: Predictions | Forecasts) -> tuple[int, int, bool]:
    """Distinct predictions before and after, and whether equal ones stay equal."""
    old, new = _told(before), _told(after)
    return _distinct_numbers(old, new) if old.ndim == new.ndim == 1 else _distinct_rows(old, new)


def _distinct_rows(old: Array, new: Array) -> tuple[int, int, bool]:
    """Distinct rows before and after, and whether equal ones stay equal."""
    first, then = row_ids(old), row_ids(new)
    n_old, n_new = int(first.max()) + 1, int(then.max()) + 1
    return n_old, n_new, len(np.unique(first.astype(np.int64) * n_new + then)) == n_old


def _distinct_numbers(old: Array, new: Array) -> tuple[int, int, bool]:
    """The same for numbers: a single sort, where the order stays."""
    order = np.argsort(old)
    first, then = old[order], new[order]
    other = first[1:] != first[:-1]
    is_map = bool((other | (then[1:] == then[:-1])).all())
    kept = then[np.append(True, other)] if is_map else then
    steps = kept[1:] - kept[:-1]
    ordered = is_map and bool((steps > 0).all() or (steps < 0).all())
    return 1 + int(other.sum()), len(kept) if ordered else len(np.unique(kept)), is_map


def row_ids(probs: Array) -> Indices:
    """A number per row such that equal rows, and only they, share it.

    Parameters
    ----------
    probs
        One number or one vector per row.
    """
    rows: Array = np.ascontiguousarray(probs) + 0.0  # −0 is 0
    if rows.ndim == 2:
        rows = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    return np.unique(rows, return_inverse=True)[1].ravel()
