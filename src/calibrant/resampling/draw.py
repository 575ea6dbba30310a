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
from calibrant.resampling.null import ALL_ROWS, LabelDraws, Null, SignFlips
from calibrant.types import Array, Floats

BLOCK_ERRORS = 1 << 16
"""Errors drawn at a time: half a megabyte, which stays in a core's cache."""

COMPILE_FROM_ERRORS, LOAD_FROM_ERRORS = 2_500_000, 12_500_000
"""Errors of all draws from which compiled loops draw and add them, and from which they
do so in a process that has to import Numba first: below, NumPy takes less time."""

PART_ROWS, PART_DRAWS = 8192, 8
"""Rows and draws whose errors are drawn at a time where one draw of all rows would leave the cache."""

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
    """Values of the statistics, `(1 + M, S)`, and the observed state of each; row 0 is observed."""

    values: Floats
    states: tuple[Floats, ...]


def drawn(null: Null, statistics: Sequence[Statistic], n_draws: int, seed: int) -> Drawn:
    """The observed values and those of `n_draws` null draws."""
    collects = list(dict.fromkeys(statistic.collect for statistic in statistics))
    seeds, observed = replicate_seeds(seed, n_draws), null.observed

    serial = any(statistic.serial for statistic in statistics)
    work = n_draws * len(observed)
    many, always = not serial and loops_pay(work), not serial and worth_compiling(work, LOAD_FROM_ERRORS)

    along = [collect for collect in collects if isinstance(collect, Along)]
    by_parts = len(observed) > BLOCK_ERRORS and len(along) == len(collects) and isinstance(null, LabelDraws | SignFlips)

    def part(block: slice) -> list[Floats]:
        with many_calls(many):  # in its own thread
            if by_parts:
                return _along(null, seeds[block], along)
            errors = null.draws(seeds[block])
            return [collect(errors) for collect in collects]

    rows = PART_DRAWS if by_parts else max(1, BLOCK_ERRORS // len(observed))
    blocks = [slice(start, start + rows) for start in range(0, n_draws, rows)]
    later = map(part, blocks) if serial else over_blocks(n_draws, part, rows)
    with many_calls(always):  # what was observed is added up the same way whatever the process did before
        first = [collect(observed[None]) for collect in collects]
    parts = [first, *counted(later, len(blocks))]
    states = {c: np.concatenate([part[i] for part in parts]) for i, c in enumerate(collects)}
    return Drawn(_finished(statistics, states), tuple(states[statistic.collect][0] for statistic in statistics))


def _along(null: Any, seeds: Any, collects: Sequence[Along]) -> list[Floats]:
    """The states of some draws, a part of the rows at a time."""
    found, n = [np.zeros((len(seeds), collect.width)) for collect in collects], len(null.observed)
    for start in range(0, n, PART_ROWS):
        rows = slice(start, min(start + PART_ROWS, n))
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
