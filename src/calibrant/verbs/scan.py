"""How are predictions judged that do not fit into memory?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, Literal
from uuid import uuid4

import numpy as np

from calibrant.files.batches import Batch, Part, ahead, parts_of
from calibrant.files.columns import NONE, Columns, choose, worded
from calibrant.files.formats import check_distinct
from calibrant.files.reading import arrays, class_names, predictions_of, warn_of_dropped
from calibrant.files.style import Style, complete
from calibrant.inputs import check_count
from calibrant.kernels.rows.cells import N_CELLS, N_INDICES, cell_index
from calibrant.kernels.rows.pooling import grouped, mass_targets
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import FileError, InputError
from calibrant.progress import Report, reported
from calibrant.state.pooled import Pooled
from calibrant.state.state import State
from calibrant.types import Bools
from calibrant.verbs.collect import collect, grown, take_in

MAX_DISTINCT = 100_000
"""Distinct predictions that a scanned state keeps: some 3 MB."""


@checked
def scan(
    source: Any,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    logits: str | Sequence[str] | None = None,
    pred: str | None = None,
    counts: str | None = None,
    classes: str | Sequence[Any] | None = None,
    normalize: bool = False,
    sep: str | None = None,
    decimal: Literal[".", ","] = ".",
    missing: Literal["error", "drop"] = "error",
    percent: bool = False,
    encoding: str | None = None,
    segments: str | None = None,
    views: Sequence[Any] | None = None,
    n_cells: int = N_CELLS,
    max_distinct: int | None = MAX_DISTINCT,
    exact_bins: int | Sequence[int] | None = None,
    checkpoint: str | Path | None = None,
    progress: Any = True,
) -> Any:
    """Collect a state from files or streams of any size, in memory that does not grow with them.

    The state is taken wherever predictions are: `diagnose`, `compare`, `recalibrate`, tests, intervals, estimators.
    Up to `max_distinct` distinct predictions are kept, and answers are those of the rows; beyond, predictions are
    pooled in fine buckets. Sums of equal-width bins, mean gaps and the like are exact then too; what depends on the
    order of predictions within a bucket, such as the edges of equal-mass bins, is off by at most the bucket's share
    of the rows (`state.pooled(view).mixed_share`).

    Parameters
    ----------
    source
        A path, a pattern such as `"lake/*.parquet"`, a folder, or several of these: Parquet, CSV, Arrow, JSON lines,
        NPZ. Or anything with `__arrow_c_stream__` (Polars, DuckDB, pyarrow, Daft), a Polars LazyFrame, or an
        iterator of batches: Arrow data, frames or dicts of columns.
    label, probs, logits, pred, counts, classes, normalize
        Columns and classes, as in `calibrant.read`. Files must agree in them.
    sep, decimal, missing, percent, encoding
        How values are written and what is done with missing ones, as in `calibrant.read`.
    segments
        A column of segments: the answer is then a dict with a state for each of its values.
    views, n_cells, max_distinct
        As in `calibrant.collect`.
    exact_bins
        Numbers of equal-mass bins whose edges are to be exact where predictions are kept in buckets: files are read a
        second time, and the predictions of the buckets that hold an edge are kept.
    checkpoint
        A `.json` or `.arrow` file that the state is saved to after every file of the source. If it exists, what it
        holds is not read again.
    progress
        Show a bar on a terminal; or a function of (done, of) in bytes.

    Returns
    -------
    State, or dict of State if `segments` is given

    Examples
    --------
    >>> import calibrant as cal, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for day in ("monday", "tuesday"):
    ...     _ = (folder / f"{day}.csv").write_text("label,prob\\n1,0.8\\n0,0.3\\n")
    >>> cal.scan(folder)
    State(4 rows in 2 parts, binary event; binary: 2 distinct predictions)
    """
    columns: dict[str, Any] = {"label": label, "probs": probs, "logits": logits, "pred": pred, "counts": counts}
    columns["classes"] = classes
    columns |= {"sep": sep, "decimal": decimal, "missing": missing, "percent": percent, "encoding": encoding}
    settings = {"views": views, "n_cells": n_cells, "max_distinct": max_distinct}
    found, chosen = scan_with_columns(
        source,
        columns,
        normalize=normalize,
        segments=segments,
        exact_bins=exact_bins,
        checkpoint=checkpoint,
        progress=progress,
        **settings,
    )
    warn_of_dropped("scan", chosen)
    return found


def scan_with_columns(
    source: Any,
    columns: dict[str, Any],
    *,
    normalize: bool = False,
    segments: str | None = None,
    exact_bins: int | Sequence[int] | None = None,
    checkpoint: str | Path | None = None,
    progress: Any = True,
    **settings: Any,
) -> tuple[Any, Columns]:
    """What `scan` returns, and the columns that were read."""
    if settings.setdefault("max_distinct", MAX_DISTINCT) is not None:
        check_count(settings["max_distinct"], "max_distinct")
    if segments is not None and checkpoint is not None:
        raise InputError("checkpoint", "must be left out where segments= is given", "it holds one state")
    numbers = _numbers(exact_bins, segments)
    named = {name: value for name, value in columns.items() if name != "classes"}
    style = Style.taken(named)
    scanner = _Scanner(named, class_names(columns.get("classes")), normalize, segments, settings, style)
    opened = parts_of(source, style)
    saved = None if checkpoint is None else Path(checkpoint)
    if saved is not None and saved.exists():
        scanner.states[None] = State.load(saved)
    sizes: list[int] = []
    with reported(progress, "scanning", scanner.speed) as report:
        for open_part in opened:
            part = open_part()
            before = sum(sizes)
            sizes.append(part.size)
            of = int(sum(sizes) * len(opened) / len(sizes))  # parts still closed are taken to be as large
            chosen = scanner.choose(part)
            if not scanner.has(part):
                scanner.read(part, chosen, partial(_report, report, before, part.size, of))
                if saved is not None:
                    scanner.states[None].save(saved)
            report(sum(sizes), of)
        dropped = scanner.dropped
        if numbers:
            scanner.open_edges(part.part is not None, opened, numbers)
    return scanner.found(), replace(chosen, dropped=dropped)


def _numbers(exact_bins: Any, segments: Any) -> list[int]:
    """The numbers of equal-mass bins whose edges are to be exact."""
    if exact_bins is None:
        return []
    if segments is not None:
        raise InputError("exact_bins", "must be left out where segments= is given", "every segment has other edges")
    given = [exact_bins] if isinstance(exact_bins, int) else list(exact_bins)
    if not given:
        raise InputError("exact_bins", "must hold at least one number of bins", "it is empty")
    return [check_count(number, "exact_bins") for number in given]


def _report(report: Report, before: int, size: int, of: int, done: float) -> None:
    report(int(before + done * size), of)


class _Scanner:
    """States of the parts read so far, and what is known of their columns."""

    def __init__(
        self,
        named: dict[str, Any],
        classes: tuple[Any, ...] | None,
        normalize: bool,
        segments: str | None,
        settings: dict[str, Any],
        style: Style,
    ) -> None:
        self.named, self.classes, self.normalize, self.segments = named, classes, normalize, segments
        self.settings, self.style = settings, style
        self.states: dict[Any, State] = {}
        self.rows, self.dropped, self.began = 0, 0, perf_counter()

    def speed(self) -> str:
        """For the bar."""
        return f"{self.rows / max(perf_counter() - self.began, 1e-9):,.0f} rows/s"

    def has(self, part: Part) -> bool:
        """Was this part counted before? Refused if it was, and has changed since."""
        known = self.states[None].parts if None in self.states else ()
        if part.part is None or part.part in known:
            return part.part in known
        if any(each.rpartition("#")[0] == part.title for each in known):
            raise FileError(f"{part.title!r} has changed since it was counted. Start again without the checkpoint.")
        return False

    def choose(self, part: Part) -> Columns:
        """The columns of a part by their role."""
        return choose(part.names, part.title, classes=self.classes, groups=NONE, **self.named)

    def read(self, part: Part, chosen: Columns, report: Callable[[float], None]) -> None:
        """All rows of a part; its name is noted when the last is read."""
        if self.segments is not None and self.segments not in part.names:
            raise InputError("segments", f"must name a column of {part.title}", f"{self.segments!r} is none")
        wanted = self._wanted(chosen)
        check_distinct(part.names, wanted, part.title)
        own: dict[Any, State] = {}
        grew: dict[Any, State] = {}
        before = self.rows
        for batch in ahead(part.batches(wanted)):
            rows = None
            if self.style.missing == "drop":
                rows = np.flatnonzero(complete(batch.columns, wanted, chosen.predicted))
            with worded(part.title, chosen, batch.first, rows):
                for segment, found in self._segments(batch, chosen):
                    known = None if segment in own else self.states.get(segment)
                    if known is not None and grown(known, found):
                        grew[segment] = known
                    else:
                        self._take(own, segment, found, part)
            self.rows += batch.n
            report(batch.done)
        if not own and not grew:
            why = "it holds no rows" if self.rows == before else "all its rows have missing values"
            raise FileError(f"cannot read {part.title!r}: {why}.")
        with worded(part.title, chosen):
            for segment, state in own.items():
                if segment in self.states:
                    self.states[segment].add(state)
                else:
                    self.states[segment] = state
        for segment in grew.keys() - own.keys():
            grew[segment].parts += (part.part or uuid4().hex[:12],)

    def _wanted(self, chosen: Columns) -> tuple[str, ...]:
        """The columns that are read: those of the predictions, and that of the segments."""
        return tuple(dict.fromkeys((*chosen.used, *([self.segments] if self.segments else []))))

    def _segments(self, batch: Batch, chosen: Columns) -> Iterator[tuple[Any, Predictions]]:
        found, kept = arrays(batch.columns, self._wanted(chosen), self.style, chosen.predicted)
        if kept is not None:
            self.dropped += int((~kept).sum())
            if not kept.any():
                return
        known = next(iter(self.states.values()), None)
        order = self.classes if known is None or chosen.pred else known.classes
        rows = predictions_of(found, chosen, order, normalize=self.normalize, style=self.style)
        if self.segments is None:
            yield None, rows
            return
        values, index = np.unique(found[self.segments], return_inverse=True)
        for k, value in enumerate(values.tolist()):
            yield value, rows.rows(index == k)

    def _take(self, own: dict[Any, State], segment: Any, rows: Predictions, part: Part) -> None:
        if segment in own:
            take_in(own[segment], rows)
        else:
            own[segment] = collect(rows, part=part.part, like=self.states.get(segment), **self.settings)

    def open_edges(self, files: bool, opened: list[Callable[[], Part]], numbers: list[int]) -> None:
        """Read again, and keep all predictions of the buckets that hold an edge of that many equal-mass bins."""
        if not files:
            raise InputError("exact_bins", "needs files, which can be read twice", "the source is a stream")
        state = self.states[None]
        wanted = {view: _edge_cells(state.pooled(view), numbers) for view in state.views if state.pooled(view).coarse}
        exact: dict[str, list[Pooled]] = {view: [] for view in wanted}
        for open_part in opened:
            part = open_part()
            chosen = self.choose(part)
            for batch in ahead(part.batches(chosen.used)):
                for (_, rows), (view, cells) in product(self._segments(batch, chosen), wanted.items()):
                    event = rows.event(view)
                    inside = cells[cell_index(event.probs)]
                    if inside.any():
                        weights = None if event.weights is None else event.weights[inside]
                        exact[view].append(grouped(event.probs[inside], event.outcomes[inside], weights))
        for view, tables in exact.items():
            if tables:
                state.tables[view] = [state.pooled(view).opened(reduce(Pooled.merge, tables))]

    def found(self) -> Any:
        """The state, or those of the segments."""
        return (
            self.states[None]
            if self.segments is None
            else dict(sorted(self.states.items(), key=lambda item: str(item[0])))
        )


def _edge_cells(table: Pooled, numbers: list[int]) -> Bools:
    """Which buckets hold an edge of some numbers of equal-mass bins, and different predictions?"""
    low, high = table.low, table.high
    assert low is not None
    assert high is not None
    below, wanted = table.below(), np.zeros(N_INDICES, np.bool_)
    for number in numbers:
        at = np.minimum(np.searchsorted(below, mass_targets(table.total, number), side="right"), len(table) - 1)
        at = at[low[at] < high[at]]
        wanted[cell_index(table.values[at])] = True
    return wanted
