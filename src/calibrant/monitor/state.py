"""The state of a monitor: a record of bounded size that can be saved, sent and merged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.draws.betting import CAP, place_bets, start_tail
from calibrant.monitor.alternatives import GRID, N_BETS, N_LOCAL, N_OVERALL, N_REGIONS, WEIGHTS, bets_on, in_words
from calibrant.predictions import Event
from calibrant.problems import InputError
from calibrant.results import Record, kind
from calibrant.results.constraints import BIG, MAX, AtMost, Holds, OneOf, Shape, Within
from calibrant.types import Floats

CHUNK = 4096
"""Rows whose ratios are in memory at a time."""
COMPILE_FROM = 10_000
"""Rows of an update above which the loop is compiled: below, plain Python takes less
time than loading compiled code."""
MOST_BLOCKS = 128
"""Blocks of rows in a state, to locate a change; when there are more, neighbours are joined."""
PRODUCT_SHARE = 0.25
"""Share of the stake on all regions being off at once, each in its own direction."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class MonitorState(Record):
    """Evidence so far: arrays with one entry per bet, and blocks of rows in order of time."""

    numbers: ClassVar[Within | None] = Within(0, MAX)

    view: str = "auto"
    grid: Annotated[int, OneOf(GRID)] = GRID
    n: Annotated[int, Within(0)] = 0
    wealth: Annotated[Floats, Shape(N_BETS)] = field(default_factory=lambda: np.zeros(N_BETS))
    """of bets that start at some row, weighted by the prior of the start"""
    restarted: Annotated[Floats, Shape(N_BETS)] = field(default_factory=lambda: np.zeros(N_BETS))
    """Σ over all rows a bet could start at"""
    block_sums: Annotated[Floats, Shape("block_rows", N_BETS), Within(-BIG, BIG)] = field(
        default_factory=lambda: np.zeros((0, N_BETS))
    )
    """(B, bets): Σ of log-ratios"""
    block_rows: Annotated[
        NDArray[np.int64],
        Shape(),
        Within(1),
        Holds("must add up to n", lambda n, block_rows, **_: sum(block_rows.tolist()) == n),
    ] = field(default_factory=lambda: np.zeros(0, np.int64))
    block_values: Annotated[Floats, Shape("block_rows")] = field(default_factory=lambda: np.zeros(0))
    """e-value at the end of each block"""
    block_marks: Annotated[tuple[str | int | float | None, ...], Shape("block_rows")] = ()
    """the `mark` of each block's first row"""
    width: Annotated[int, Within(1)] = 1
    """rows of a full block"""
    peak: Annotated[float, Within(1)] = 1.0
    """highest e-value so far"""
    peak_row: Annotated[int, Within(0), AtMost("n")] = 0
    """rows so far when it occurred"""
    restart_peak: float = 0.0
    contradicted: Annotated[int, Within(0), AtMost("n")] = 0
    """predictions of exactly 0 or 1 that did not come true"""
    grouped: Annotated[int, Within(0), AtMost("n")] = 0
    """rows that came with groups of several rows"""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "block_sums", self.block_sums.reshape(-1, N_BETS))

    @property
    def sums(self) -> Floats:
        """Log-ratios of all rows."""
        total: Floats = self.block_sums.sum(axis=0)
        return total

    @property
    def e_value(self) -> float:
        return evidence(self.n, float(WEIGHTS @ self.wealth), float(_products(self.sums)[-1]))

    def __repr__(self) -> str:
        return f"MonitorState({self.n:,} rows in {len(self.block_rows)} blocks)"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Change(Record):
    """When calibration was lost: an estimate."""

    row: int
    """rows before the change, at the start of a block"""
    earliest: int
    latest: int
    """change points between these explain the data nearly as well"""
    mark: Any
    """the `mark` given with that row"""
    log_ratio: float
    """how much better a change there explains the data than calibration, in nats"""
    direction: str

    def __repr__(self) -> str:
        mark = "" if self.mark is None else f" ({self.mark})"
        return f"since about row {self.row:,}{mark}, {self.earliest:,} to {self.latest:,}: {self.direction}"


def evidence(n: Any, mixed: Any, product: Any) -> Any:
    """The e-value: a mixture over bets and their starts, and the product over regions.

    Bets that have not started yet are included.
    """
    return (1 - PRODUCT_SHARE) * (start_tail(n) + mixed) + PRODUCT_SHARE * product


def updated(state: MonitorState, event: Event, mark: Any, grouped: int = 0) -> MonitorState:
    """The state after some more rows."""
    run = place_bets if event.n >= COMPILE_FROM else place_bets.plain
    wealth = np.stack([state.wealth, state.restarted])
    single = np.exp(np.minimum(state.sums, np.log(CAP)))[N_OVERALL:].reshape(N_REGIONS, N_LOCAL)
    product = _products(state.sums)
    blocks = _Blocks(state)
    peak, restart_peak, n = (state.peak, state.peak_row), state.restart_peak, state.n
    for start in range(0, event.n, CHUNK):
        rows = slice(start, start + CHUNK)
        part = Event(event.probs[rows], event.outcomes[rows], None, event.name)
        logs, regions = bets_on(part)
        after = n + np.arange(1, part.n + 1)
        starts = start_tail(after - 1) - start_tail(after)
        path = np.empty((part.n, 3))
        with np.errstate(over="ignore"):  # wealth beyond the largest number is set to the cap
            run(np.exp(logs), starts, WEIGHTS, regions, wealth, single, product, path)
        values = evidence(after, path[:, 0], path[:, 2])
        best = int(np.argmax(values))
        peak = max(peak, (float(values[best]), int(after[best])), key=lambda found: found[0])
        restart_peak = max(restart_peak, float(path[:, 1].max()))
        blocks.add(logs, values, mark)
        n += part.n
    contradicted = int((np.isin(event.probs, (0, 1)) & (event.probs != event.outcomes)).sum())
    warned = state.contradicted + contradicted, state.grouped + grouped
    return MonitorState(event.name, GRID, n, wealth[0], wealth[1], *blocks.kept(), *peak, restart_peak, *warned)


def _products(sums: Floats) -> Floats:
    """The mean over each region's bets, and last their product."""
    single = np.exp(np.minimum(sums[..., N_OVERALL:], np.log(CAP))).reshape(*sums.shape[:-1], N_REGIONS, N_LOCAL)
    means = 0.5 + 0.5 * single.mean(axis=-1)
    product = np.exp(np.minimum(np.log(means).sum(axis=-1, keepdims=True), np.log(CAP)))
    return np.concatenate([means, product], axis=-1)


class _Blocks:
    """Blocks that rows are added to; pairs are joined when there are too many."""

    def __init__(self, state: MonitorState) -> None:
        self.sums = [*state.block_sums.copy()]
        self.rows, self.marks = [*map(int, state.block_rows)], [*state.block_marks]
        self.values = state.block_values.tolist()
        self.width = state.width

    def add(self, logs: Floats, values: Floats, mark: Any) -> None:
        """Fill the last block, then start new ones; `values` is the evidence after each row."""
        while len(self.rows) - (self._free() - len(logs)) // self.width > MOST_BLOCKS:
            self.join()
        head = min(self._free(), len(logs))
        if head:
            self.sums[-1] = self.sums[-1] + logs[:head].sum(axis=0)
            self.rows[-1] += head
            self.values[-1] = float(values[head - 1])
        starts = np.arange(head, len(logs), self.width)
        if len(starts):
            self.sums += [*np.add.reduceat(logs, starts, axis=0)]
            self.rows += np.diff(np.append(starts, len(logs))).tolist()
            self.values += values[np.append(starts[1:], len(logs)) - 1].tolist()
            self.marks += [mark] * len(starts)

    def _free(self) -> int:
        """Rows that the last block can still take."""
        return max(self.width - self.rows[-1], 0) if self.rows else 0

    def join(self) -> None:
        """Make one block of every two."""
        self.width *= 2
        pairs = range(0, len(self.rows), 2)
        self.sums = [np.sum(self.sums[i : i + 2], axis=0) for i in pairs]
        self.rows = [sum(self.rows[i : i + 2]) for i in pairs]
        self.values = [self.values[i : i + 2][-1] for i in pairs]
        self.marks = [self.marks[i] for i in pairs]

    def kept(self) -> tuple[Floats, NDArray[np.int64], Floats, tuple[Any, ...], int]:
        sums = np.array(self.sums).reshape(-1, N_BETS)
        return sums, np.array(self.rows, dtype=np.int64), np.array(self.values), tuple(self.marks), self.width


def merged(first: MonitorState, then: MonitorState, beside: bool) -> MonitorState:
    """Both parts: `then` came after `first`, or ran at the same time (`beside`)."""
    if first.grid != then.grid:
        raise InputError("other", "must bet on the same alternatives", "it was made by another version")
    if first.n and then.n and first.view != then.view:
        raise InputError("other", "must watch the same question", f"{then.view!r} is not {first.view!r}")
    if not first.n or not then.n:
        return first if first.n else then
    return _side_by_side(first, then) if beside else _one_after_another(first, then)


def _one_after_another(first: MonitorState, then: MonitorState) -> MonitorState:
    n = first.n + then.n
    courses = np.cumsum(then.block_sums, axis=0)
    with np.errstate(over="ignore"):
        # (B, bets): wealth of the bets started in the first part, at the ends of later blocks
        grown = np.minimum(first.wealth * np.exp(courses), CAP)
        last = float(start_tail(n - 1) - start_tail(n))  # the smallest prior of a start in the later part
        wealth = np.minimum(grown[-1] + last * then.restarted, CAP)
        restarted = np.minimum(first.restarted * np.exp(courses[-1]) + then.restarted, CAP)
    ends = first.n + np.cumsum(then.block_rows)
    grown[-1] = wealth
    values = evidence(ends, grown @ WEIGHTS, _products(first.sums + courses)[:, -1])
    best = int(np.argmax(values))
    peak = max((first.peak, first.peak_row), (float(values[best]), int(ends[best])), key=lambda found: found[0])
    restart_peak = max(first.restart_peak, then.restart_peak, float(WEIGHTS @ restarted))
    blocks = _Blocks(first)
    blocks.sums += [*then.block_sums]
    blocks.rows += [*map(int, then.block_rows)]
    blocks.values += values.tolist()
    blocks.marks += [*then.block_marks]
    blocks.width = max(first.width, then.width)
    while len(blocks.rows) > MOST_BLOCKS:
        blocks.join()
    warned = first.contradicted + then.contradicted, first.grouped + then.grouped
    return MonitorState(first.view, GRID, n, wealth, restarted, *blocks.kept(), *peak, restart_peak, *warned)


def _side_by_side(first: MonitorState, then: MonitorState) -> MonitorState:
    """Only bets started at the first row have a meaning for both; there is one block."""
    n, sums = first.n + then.n, first.sums + then.sums
    grown = np.exp(np.minimum(sums, np.log(CAP)))
    wealth = float(start_tail(0) - start_tail(1)) * grown
    now = float(evidence(n, float(WEIGHTS @ wealth), float(_products(sums)[-1])))
    block = sums[None], np.array([n]), np.array([now]), (None,), max(first.width, then.width, n)
    warned = first.contradicted + then.contradicted, first.grouped + then.grouped
    return MonitorState(first.view, GRID, n, wealth, grown, *block, max(now, 1.0), n, float(WEIGHTS @ grown), *warned)


NEAR = 3.0
"""Change points whose log-ratio is within this of the best are reported as possible too."""


def likeliest_change(state: MonitorState) -> Change:
    """The change point and the bet that explain the data best, among the starts of blocks."""
    later = np.cumsum(state.block_sums[::-1], axis=0)[::-1] + np.log(WEIGHTS)
    best = later.max(axis=1)
    start = int(np.argmax(best))
    befores = np.concatenate([[0], np.cumsum(state.block_rows)])
    near = np.flatnonzero(best >= best[start] - NEAR)
    rows = int(befores[start]), int(befores[near[0]]), int(befores[near[-1] + 1]) - 1
    bet = int(np.argmax(later[start]))
    gain = float(best[start] - np.log(WEIGHTS[bet]))
    return Change(*rows, state.block_marks[start], gain, in_words(bet, state.view))
