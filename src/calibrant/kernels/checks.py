"""The checks of large arrays, in one pass over the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.blocks import over_blocks

ONE_CHECK, TWO_CHECKS = 1 << 21, 1 << 18
"""Entries a core takes at a time; for two checks they stay in its cache from the first to the second."""

SURE = 1e-5
"""A quick row sum this close to 1 needs no second look; float32 rounding at 1000 classes is a tenth of it."""


def all_in_unit_interval(values: NDArray[Any]) -> bool:
    """Does every float lie in [0, 1]? May say no to a negative zero."""
    return all(over_blocks(len(values), lambda rows: _in_unit_interval(values[rows]), _rows(values, ONE_CHECK)))


def _in_unit_interval(block: NDArray[Any]) -> bool:
    """Floats from 0 to 1 order like their bits; negative numbers, larger ones, infinities and NaN all have larger bits, read
    as unsigned integers. So one maximum decides.
    """
    bits = block.view(np.uint32 if block.dtype == np.float32 else np.uint64)
    return bool(bits.max() <= np.ones(1, block.dtype).view(bits.dtype)[0])


def rows_are_distributions(values: NDArray[Any]) -> bool:
    """Does every entry lie in [0, 1] and every row clearly sum to 1? One pass; a no calls for a closer look."""

    def part(rows: slice) -> bool:
        block = values[rows]
        return _in_unit_interval(block) and bool((np.abs(block.sum(axis=1) - 1) <= SURE).all())

    return all(over_blocks(len(values), part, _rows(values, TWO_CHECKS)))


def _rows(values: NDArray[Any], entries: int) -> int:
    return max(1, entries // (values.size // len(values)))
