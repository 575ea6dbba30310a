"""The checks of large arrays, in one pass over the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.blocks import over_blocks

BLOCK_ENTRIES = 1 << 21


def all_in_unit_interval(values: NDArray[Any]) -> bool:
    """Does every float lie in [0, 1]? May say no to a negative zero.

    Floats from 0 to 1 order like their bits; negative numbers, larger ones, infinities and NaN all have larger bits, read as
    unsigned integers. So one maximum decides.
    """
    bits = values.view(np.uint32 if values.dtype == np.float32 else np.uint64)
    one = np.ones(1, values.dtype).view(bits.dtype)[0]
    return all(top <= one for top in over_blocks(len(bits), lambda rows: bits[rows].max(), _rows(values)))


def row_sums(values: NDArray[Any]) -> NDArray[np.float64]:
    """Σ_k of each row: a quick sum in the precision of the data, done again in float64 where it is not 1 to five digits."""
    parts = over_blocks(len(values), lambda rows: values[rows].sum(axis=1), _rows(values))
    sums = np.concatenate(list(parts)).astype(np.float64)
    doubtful = np.abs(sums - 1) > 1e-5
    if doubtful.any():
        sums[doubtful] = values[doubtful].sum(axis=1, dtype=np.float64)
    return sums


def _rows(values: NDArray[Any]) -> int:
    return max(1, BLOCK_ENTRIES // (values.size // len(values)))
