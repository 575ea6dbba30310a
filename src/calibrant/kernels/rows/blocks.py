"""Long passes cut into blocks of fixed size, spread over the cores.

The cut does not depend on the number of cores, and the parts are added in order, so
neither does the answer. Parts must not call BLAS, which has threads of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

BLOCK_ROWS = 1 << 19
"""Long enough that starting a block costs nothing, short enough that a few million rows
occupy all cores."""


def n_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # imports logging: only when there is work to share

    return ThreadPoolExecutor(n_cores(), thread_name_prefix="calibrant")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked child has none of its parent's threads


def over_blocks(n: int, part: Callable[[slice], Any], block: int = BLOCK_ROWS) -> Iterator[Any]:
    """part(rows) for consecutive blocks of rows, in order.

    `part` must release the GIL to gain from a second core.
    """
    if n <= block:
        return map(part, (slice(0, n),))
    slices = [slice(start, min(start + block, n)) for start in range(0, n, block)]
    return _pool().map(part, slices) if n_cores() > 1 else map(part, slices)


def added_over_blocks(n: int, part: Callable[[slice], Any], block: int = BLOCK_ROWS) -> Any:
    """Σ part(rows) over blocks of rows, added in order."""
    return reduce(add, over_blocks(n, part, block))
