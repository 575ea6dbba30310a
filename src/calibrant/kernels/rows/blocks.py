"""Long passes cut into blocks of fixed size, spread over the cores.

The cut does not depend on the number of cores, and the parts are added in order, so
neither does the answer. Parts must not call BLAS, which has threads of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache, reduce
from itertools import chain
from operator import add
from threading import current_thread
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.types import Array

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

BLOCK_ROWS = 1 << 19
"""Long enough that starting a block costs nothing, short enough that a few million rows
occupy all cores."""


THREADS = "calibrant"
"""How the names of the threads begin that share the blocks."""


def n_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # imports logging: only when there is work to share

    return ThreadPoolExecutor(n_cores(), thread_name_prefix=THREADS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked child has none of its parent's threads


def over_blocks(n: int, part: Callable[[slice], Any], block: int = BLOCK_ROWS) -> Iterator[Any]:
    """part(rows) for consecutive blocks of rows, in order; the first one where this is called, the others beside it.

    `part` must release the GIL to gain from a second core. A part that is itself cut
    into blocks does them by itself: all other threads may be waiting likewise.
    """
    if n <= block:
        return map(part, (slice(0, n),))
    slices = [slice(start, min(start + block, n)) for start in range(0, n, block)]
    alone = n_cores() == 1 or current_thread().name.startswith(THREADS)
    if alone:
        return map(part, slices)
    others = _pool().map(part, slices[1:])
    return chain(map(part, slices[:1]), others)


def added_over_blocks(n: int, part: Callable[[slice], Any], block: int = BLOCK_ROWS) -> Any:
    """Σ part(rows) over blocks of rows, added in order."""
    return reduce(add, over_blocks(n, part, block))


RUNS, LONGEST_RUN = 2, 8
"""Runs of blocks for each core, and blocks of one: a thread that takes single blocks spends its time on being woken, and
the last of few long ones is waited for."""


def row_by_row(function: Callable[[Array], Array], values: Array, block: int) -> Array:
    """function(values), of which each row depends on that row of `values` alone, in blocks of rows."""
    if len(values) <= block:
        return function(values)
    found = np.empty(values.shape, function(values[:1]).dtype)  # a row tells the precision; all blocks are shared
    n_blocks = -(-len(values) // block)

    def part(run: slice) -> None:
        for start in range(run.start * block, run.stop * block, block):
            found[start : start + block] = function(values[start : start + block])

    for _ in over_blocks(n_blocks, part, min(-(-n_blocks // (RUNS * n_cores())), LONGEST_RUN)):
        pass
    return found
