"""The likeliest class of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.types import Array

BLOCK_ENTRIES = 1 << 17
"""Entries that a core takes at a time: NumPy copies what it may not write to, and such copies stay in the cache."""

FEW_CLASSES = 48
"""Classes up to which NumPy, which starts anew for every row, is slower than a compiled loop …"""

COMPILE_FROM_ENTRIES = 1 << 23
"""… which is compiled for so many entries, and then serves fewer: the answer is the same."""


def top_class(probs: Array) -> tuple[Array, Array]:
    """The class with the largest probability in each row, the first of several, and that probability."""
    n, n_classes = probs.shape
    top, most = np.empty(n, dtype=np.int32), np.empty(n, probs.dtype)
    loop = n_classes <= FEW_CLASSES and (probs.size >= COMPILE_FROM_ENTRIES or first_largest.ready(probs))
    if loop:
        first_largest.expect(probs)

    def part(rows: slice) -> None:
        block = probs[rows]
        if loop:
            first_largest(block, top[rows], most[rows])
        else:
            top[rows] = block.argmax(axis=1)
            most[rows] = block[np.arange(len(block)), top[rows]]

    for _ in over_blocks(n, part, max(1, BLOCK_ENTRIES // n_classes)):
        pass
    return top, most


@compiled
def first_largest(probs: Any, top: Any, most: Any) -> None:
    """The place of the first largest number of each row, and that number."""
    for i in range(len(probs)):
        at, best = 0, probs[i, 0]
        for k in range(1, probs.shape[1]):
            if probs[i, k] > best:
                at, best = k, probs[i, k]
        top[i], most[i] = at, best
