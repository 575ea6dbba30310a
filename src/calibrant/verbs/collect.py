"""What can be kept of rows that cannot all be kept?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from calibrant.bins import EqualWidth
from calibrant.inputs import check_count
from calibrant.kernels.compiled import COMPILE_FROM
from calibrant.kernels.rows.cells import MOST_ROWS, N_CELLS, CellTable
from calibrant.methods import methods
from calibrant.options import checked
from calibrant.predictions import Event, MultilabelPredictions, Predictions, StatePredictions, admit
from calibrant.problems import InputError
from calibrant.score.possible import score_sums
from calibrant.state.pooled import Pooled
from calibrant.state.state import State
from calibrant.types import Array

HASH = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples spread over all bits: 2⁶⁴ divided by the golden ratio."""


@checked
def collect(
    labels: Any,
    probs: Any = None,
    *,
    views: Sequence[Any] | None = None,
    n_cells: int = N_CELLS,
    max_distinct: int | None = None,
    counts: Any = None,
    weights: Any = None,
    part: str | None = None,
    like: State | None = None,
) -> State:
    """Sum up rows into a state that can be merged, saved and asked like the rows themselves.

    Estimators, tests, intervals, maps of one event, `diagnose`, `recalibrate` and `compare` with a map take a state where
    they take predictions. For one event the answers are those of the rows: the distinct predictions with their counts
    and hits are all that these methods use. A state is as large as the number of distinct predictions.

    Parameters
    ----------
    labels, probs
        Truth first; or one `Predictions`, or a state, which is returned as it is.
    views
        The yes/no questions to keep: by default `binary` for one column, `top` for several (and `binary` too for two).
        `class k` adds one class.
    n_cells
        Equal-width cells per class for class-wise errors of several classes.
    max_distinct
        How many distinct predictions a view keeps; with more of them, those of a fine
        bucket are pooled (see `State`). None keeps all.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.
    part
        A name for these rows, such as a file's; no part can be merged twice. By default a name is made up.
    like
        A state whose views and cells are to be used.

    Examples
    --------
    >>> import calibrant as cal
    >>> state = cal.collect([0, 1, 1], [0.2, 0.7, 0.9], part="monday")
    >>> state = state.update([1, 0], [0.9, 0.4], part="tuesday")
    >>> cal.brier_score(state).n
    5
    """
    if isinstance(labels, State):
        given = {"probs": probs, "counts": counts, "weights": weights, "views": views, "part": part}
        for name, value in given.items():
            if value is not None:
                raise InputError(name, "must be left out", "labels is a state, which has its own", "Pass it alone")
        return labels
    if like is not None and probs is not None:
        labels = Predictions.borrowed(labels, probs, classes=like.classes, counts=counts, weights=weights)
        probs = counts = weights = None
    predictions = admit(labels, probs, counts=counts, weights=weights)
    _check(predictions)
    if part is not None and not isinstance(part, str):
        raise InputError("part", "must be a string", f"it is a {type(part).__name__}")
    check_count(n_cells, "n_cells")
    if max_distinct is not None:
        check_count(max_distinct, "max_distinct")
    if like is not None:
        views, max_distinct = like.views, like.max_distinct
        n_cells = n_cells if like.grid is None else like.grid.sums.shape[1]
    elif views is None:
        views = ("binary",) if predictions.is_binary else ("top", "binary")[: 2 if predictions.n_classes == 2 else 1]
    elif len(views) == 0:
        raise InputError("views", "must name at least one view", "it is empty")
    coarse = () if like is None else tuple(view for view in like.views if like.pooled(view).coarse)
    tables = {predictions.view(view): _pooled(predictions.event(view), view in coarse, max_distinct) for view in views}
    growing = {view: table for view, table in tables.items() if isinstance(table, CellTable)}
    pooled = {view: [table] if isinstance(table, Pooled) else [] for view, table in tables.items()}
    grid, scores = None, {}
    if not predictions.is_binary:
        grid = EqualWidth(n_cells).collect_classes(predictions)
        rules = {name: each.function() for name, each in methods("score").items()}
        scores = {name: score_sums(rule, predictions) for name, rule in rules.items()}
    named = part if part is not None else uuid4().hex[:12]
    facts = predictions.n, predictions.classes, predictions.is_binary
    state = State(*facts, pooled, grid, scores, (named,), predictions.precision, max_distinct)
    state.growing = growing
    return state


def take_in(state: State, predictions: Predictions) -> None:
    """More rows of the part that a state was collected from."""
    if grown(state, predictions):
        return
    more = collect(predictions, like=state)
    more.parts = ()
    state.add(more)


def grown(state: State, predictions: Predictions) -> bool:
    """Take rows of one event into buckets that the state keeps anyway, without a state of their own; else say False."""
    if not (predictions.is_binary and state.one_column and predictions.classes == state.classes):
        return False
    event, view = predictions.event("binary"), state.views[0]
    plain = event.weights is None and event.outcomes.dtype == np.uint8
    if not plain or predictions.groups is not None or max(event.n, state.n) < COMPILE_FROM:
        return False
    if view in state.growing and state.growing[view].n + event.n >= MOST_ROWS:
        state.pooled(view)
    if view not in state.growing:
        if not state.pooled(view).coarse:
            return False
        state.growing[view] = CellTable()
    state.growing[view].add(event.probs, event.outcomes)
    state.n, state.precision = state.n + event.n, max(state.precision, predictions.precision)
    return True


def _pooled(event: Event, coarse: bool, max_distinct: int | None) -> Pooled | CellTable:
    """The rows of an event by prediction; by bucket at once where there will be buckets in the end."""
    many = len(event.probs) >= COMPILE_FROM and event.weights is None and event.hard
    if many and (coarse or _many(event.probs, max_distinct)):
        table = CellTable()
        table.add(event.probs, event.outcomes)
        return table
    return event.pooled


def _many(probs: Array, max_distinct: int | None) -> bool:
    """Do the first rows hold more distinct predictions than may be kept? Certainly so if their hashes are more."""
    if max_distinct is None:
        return False
    bits = (4 * max_distinct).bit_length()
    rows = np.ascontiguousarray(probs[: 5 * max_distinct // 4], np.float64).view(np.uint64)
    seen = np.zeros(1 << bits, np.bool_)
    seen[((rows * HASH) >> np.uint64(64 - bits)).view(np.int64)] = True
    return int(np.count_nonzero(seen)) > max_distinct


def _check(predictions: Predictions) -> None:
    """Refuse what a state would lose."""
    if isinstance(predictions, StatePredictions):
        raise InputError("labels", "must be rows", "it is a state already", "Use state.merge(other)")
    if isinstance(predictions, MultilabelPredictions):
        advice = "Pass predictions.label(NAME) of each label"
        raise InputError("labels", "must be one class per row for a state", "these are multi-label predictions", advice)
    if predictions.soft:
        raise InputError(
            "labels", "must be classes for a state", "they are shares (soft labels), whose spread a state does not keep"
        )
    if predictions.groups is not None:
        raise InputError(
            "labels",
            "must have no groups for a state",
            "rows of a group are not kept together",
            "Pass Predictions without groups",
        )
    if predictions.squares is not None:
        why = "their scale is known only when all rows are"
        raise InputError("weights", "must be left out for a state", why, "Pass counts= if they are numbers of rows")
