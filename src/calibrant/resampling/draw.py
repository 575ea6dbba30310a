"""Statistics on many null draws: small states collected in parallel, then finished all at once.

A statistic is two functions. `collect` turns a block of draws, `(R, rows)`, into a few
numbers per draw, `(R, J)`; `finish` turns these into one. Statistics that share a
`collect` share its work. The observed errors go through the same functions as the drawn
ones: row 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiler_loaded, many_calls, worth_compiling
from calibrant.kernels.draws.null_draws import replicate_seeds
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.progress import counted
from calibrant.resampling.cells import CellDraws, Cells, cells_of
from calibrant.resampling.null import ALL_ROWS, LabelDraws, Null, SignFlips
from calibrant.types import Array, Floats, Indices

BLOCK_ERRORS = 1 << 16
"""Errors drawn at a time: half a megabyte, which stays in a core's cache."""

COMPILE_FROM_ERRORS, LOAD_FROM_ERRORS = 2_500_000, 12_500_000
"""Errors of all draws from which compiled loops draw and add them, and from which they
do so in a process that has to import Numba first: below, NumPy takes less time."""

PART_ROWS, PART_DRAWS = 8192, 8
"""Rows and draws whose errors are drawn at a time where one draw of all rows would leave the cache."""

PART_CELLS = 1024
"""Cells that are drawn at a time: their tables stay in a core's cache."""

LARGEST = 1e300
"""Statistics beyond this count as this."""


@dataclass(frozen=True, slots=True, eq=False)
class Along:
    """A `collect` that goes along the rows, which may come part by part."""

    kernel: Callable[..., None]
    """adds the errors of some rows to what the `(R, width)` numbers hold"""
    width: int
    arguments: Callable[[slice], tuple[Any, ...]]
    """what the kernel needs to know of some rows beside their errors"""
    of_cells: Callable[[Cells], Along] | None = None
    """the same along cells of many rows; None where every row matters"""
    cuts: Indices | None = None
    """where cells must end for that: the atoms before which they do"""

    def __call__(self, errors: Any) -> Floats:
        found = np.zeros((len(errors), self.width))
        self.add(errors, ALL_ROWS, found)
        return found

    def add(self, errors: Any, rows: slice, found: Floats) -> None:
        """Go on with the errors of these rows."""
        self.kernel(errors, *self.arguments(rows), found)


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """A number that is large where a model is not calibrated.

    Parameters
    ----------
    name, title
        The names in settings and beside the number.
    collect
        `(R, rows)` errors, p − y summed over the labels of each row, to `(R, J)`
        numbers per draw; for a test of all classes it is given labels. It runs in
        threads, so it must not share state.
    finish
        These numbers to the statistic, `(R,)`.
    words
        What the observed numbers, `(J,)`, say about the model.
    parts
        The observed numbers under names, for the result's `parts`.
    serial
        True if `collect` must not run in several threads at once.
    weight
        How much its p-value counts among those of other statistics, ranked jointly.
    """

    name: str
    title: str
    collect: Callable[[Any], Floats]
    finish: Callable[[Floats], Floats] = lambda states: states[:, 0]
    words: Callable[[Floats], str] = lambda state: ""  # noqa: ARG005
    parts: Callable[[Floats], dict[str, Any]] = lambda state: {}  # noqa: ARG005
    serial: bool = False
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Values of the statistics, `(1 + M, S)`, and what was observed; row 0 is observed, as it is ranked."""

    values: Floats
    observed: Floats
    """the statistics of all rows, `(S,)`: row 0, unless that is read from cells"""
    states: tuple[Floats, ...]
    """the observed state of each statistic, of all rows"""


def drawn(null: Null, statistics: Sequence[Statistic], n_draws: int, seed: int, in_cells: bool = False) -> Drawn:
    """The observed values and those of `n_draws` null draws.

    With `in_cells`, many independent rows are drawn and ranked in cells, if every
    statistic can be read from them.
    """
    collects = list(dict.fromkeys(statistic.collect for statistic in statistics))
    coarse = _in_cells(null, collects) if in_cells else None
    if coarse is None:
        states = _states(null, collects, statistics, n_draws, seed)
        values = _finished(statistics, states)
        return Drawn(values, values[0], tuple(states[each.collect][0] for each in statistics))
    cells, along = coarse
    found = _states(cells, along, statistics, n_draws, seed)
    with many_calls(loops_pay(n_draws * len(cells.observed))):
        values = _finished(statistics, {c: found[other] for c, other in zip(collects, along, strict=True)})
    rows = {collect: collect(null.observed[None]) for collect in collects}
    return Drawn(values, _finished(statistics, rows)[0], tuple(rows[each.collect][0] for each in statistics))


def _in_cells(null: Null, collects: Sequence[Any]) -> tuple[CellDraws, list[Along]] | None:
    """The null and what is collected, in cells; None if that cannot be done for all, or would save little."""
    along = [each for each in collects if isinstance(each, Along) and each.of_cells is not None]
    if len(along) < len(collects):
        return None
    cells = cells_of(null, [each.cuts for each in along if each.cuts is not None])
    return None if cells is None else (cells.null(), [each.of_cells(cells) for each in along if each.of_cells])


def _states(
    null: Null, collects: Sequence[Any], statistics: Sequence[Statistic], n_draws: int, seed: int
) -> dict[Any, Floats]:
    """What every `collect` finds, `(1 + M, J)`; row 0 of what was observed."""
    seeds, observed = replicate_seeds(seed, n_draws), null.observed

    serial = any(statistic.serial for statistic in statistics)
    work = n_draws * len(observed)
    many, always = not serial and loops_pay(work), not serial and worth_compiling(work, LOAD_FROM_ERRORS)
    null.draws(seeds[:0])  # tables are made once, before several threads ask for them

    along = [collect for collect in collects if isinstance(collect, Along)]
    part_rows, part_draws, most = _part_size(null)
    by_parts = len(observed) > most and len(along) == len(collects)

    def part(block: slice) -> list[Floats]:
        with many_calls(many):  # in its own thread
            if by_parts:
                return _along(null, seeds[block], along, part_rows)
            errors = null.draws(seeds[block])
            return [collect(errors) for collect in collects]

    rows = part_draws if by_parts else max(1, BLOCK_ERRORS // len(observed))
    blocks = [slice(start, start + rows) for start in range(0, n_draws, rows)]
    later = map(part, blocks) if serial else over_blocks(n_draws, part, rows)
    with many_calls(always):  # what was observed is added up the same way whatever the process did before
        first = [collect(observed[None]) for collect in collects]
    parts = [first, *counted(later, len(blocks))]
    return {c: np.concatenate([part[i] for part in parts]) for i, c in enumerate(collects)}


def _part_size(null: Null) -> tuple[int, int, float]:
    """Rows and draws of a part, and from how many rows there are parts."""
    if isinstance(null, CellDraws):
        return PART_CELLS, max(1, BLOCK_ERRORS // PART_CELLS), PART_CELLS
    return PART_ROWS, PART_DRAWS, BLOCK_ERRORS if isinstance(null, LabelDraws | SignFlips) else np.inf


def _along(null: Any, seeds: Any, collects: Sequence[Along], part_rows: int) -> list[Floats]:
    """The states of some draws, a part of the rows at a time."""
    found, n = [np.zeros((len(seeds), collect.width)) for collect in collects], len(null.observed)
    for start in range(0, n, part_rows):
        rows = slice(start, min(start + part_rows, n))
        errors = null.draws(seeds, rows)
        for collect, state in zip(collects, found, strict=True):
            collect.add(errors, rows, state)
    return found


def loops_pay(errors: int) -> bool:
    """Do compiled loops take less time for so many errors of all draws?"""
    return worth_compiling(errors, COMPILE_FROM_ERRORS if compiler_loaded() else LOAD_FROM_ERRORS)


def values_of(statistics: Sequence[Statistic], errors: Floats) -> Floats:
    """The values of the statistics, `(R, S)`, on given errors, `(R, rows)`."""
    return _finished(statistics, {c: c(errors) for c in dict.fromkeys(each.collect for each in statistics)})


def _finished(statistics: Sequence[Statistic], states: dict[Any, Floats]) -> Floats:
    """Collected states to values, `(R, S)`."""
    with np.errstate(over="ignore"):  # an error where almost none was possible
        values = np.stack([statistic.finish(states[statistic.collect]) for statistic in statistics], axis=1)
    return np.minimum(values, LARGEST)


def content_seed(seed: int, *arrays: Array | None) -> tuple[int, float]:
    """A seed and a uniform number from the data and the user's seed: same data, same answer."""
    digest = hashlib.blake2b(str(seed).encode(), digest_size=16)
    for array in arrays:
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    found = digest.digest()
    return int.from_bytes(found[:8], "little"), int.from_bytes(found[8:], "little") / 2**64
