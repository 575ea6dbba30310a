"""Softmax of many rows in compiled passes around NumPy's exponential, with a look for classes that rounding has tied.

The bits are those of NumPy's form: maxima do not depend on an order, differences and quotients are rounded alike, and
sums are taken in NumPy's order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calibrant.kernels.compiled import compiled, in_caller
from calibrant.kernels.logits import FEW_COLUMNS
from calibrant.types import Array, Indices

MOST_COLUMNS = 128
"""Up to here NumPy adds a row in one go, eight sums side by side; longer rows it halves."""

PLACES = 1 << 14
"""Places where numbers of a row leave their mark, by their last bits; a power of two. They fit in a core's nearest cache."""


class Bits(NamedTuple):
    """How floats of a precision are read as whole numbers."""

    signed: Any
    unsigned: Any
    shift: Any
    """leaves the sign"""
    mask: Any
    """all bits but the sign"""
    tiny: Any
    """the least normal number"""


def _bits(floats: Any, signed: Any, unsigned: Any) -> Bits:
    info = np.iinfo(signed)
    return Bits(np.dtype(signed), np.dtype(unsigned), signed(info.bits - 1), signed(info.max), np.finfo(floats).tiny)


BITS: dict[Any, Bits] = {
    np.dtype(np.float32): _bits(np.float32, np.int32, np.uint32),
    np.dtype(np.float64): _bits(np.float64, np.int64, np.uint64),
}


def is_quick(logits: Array, out: Array) -> bool:
    """Can `softmax_into` work on arrays like these, and are its loops compiled, or worth it by now?"""
    known = logits.dtype == out.dtype and logits.dtype in BITS and 0 < logits.shape[1] <= MOST_COLUMNS
    return known and logits.flags.c_contiguous and below_maxima.ready(logits, out)


def softmax_into(logits: Array, t: Any, out: Array) -> Indices:
    """Write softmax(z/t) of finite logits, no number below the least normal one; the rows in which some are equal."""
    bits, marks, tied = BITS[logits.dtype], np.zeros(PLACES, np.uint16), np.zeros(len(logits), bool)
    below_maxima(logits, logits.view(bits.signed), bits.shift, bits.mask, t, np.empty(1, bits.signed), out)
    np.exp(out, out)
    into_shares(out, bits.tiny, FEW_COLUMNS)
    find_ties(out.view(bits.unsigned), marks, tied)
    return np.flatnonzero(tied)


@in_caller
def largest_at(ordinals: Any, shift: Any, mask: Any) -> Any:
    """The largest of a row of floats, read as whole numbers: those of negative ones are turned round, which keeps the order.

    Whole numbers are compared in vectors; floats, of which one may be NaN, are not.
    """
    most = ordinals[0] ^ ((ordinals[0] >> shift) & mask)
    for j in range(np.uintp(len(ordinals))):
        most = max(most, ordinals[j] ^ ((ordinals[j] >> shift) & mask))
    return most ^ ((most >> shift) & mask)


@compiled
def below_maxima(logits: Any, ordinals: Any, shift: Any, mask: Any, t: Any, held: Any, out: Any) -> None:
    """(z − max z)/t of each row; `ordinals` are the bits of the logits, `held` has room for those of one number."""
    as_float = held.view(logits.dtype)
    for i in range(np.uintp(len(logits))):
        row, into = logits[i], out[i]
        held[0] = largest_at(ordinals[i], shift, mask)
        most = as_float[0]
        for j in range(np.uintp(len(row))):
            into[j] = (row[j] - most) / t


@in_caller
def row_sum(row: Any, few: int) -> Any:
    """A row's sum in NumPy's order: column by column where `row_sums` adds so, else eight sums side by side."""
    n, eight = np.uintp(len(row)), np.uintp(8)
    if n <= few:
        total = row[0]
        for j in range(np.uintp(1), n):
            total += row[j]
        return total
    a, b, c, d, e, f, g, h = row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
    stop = np.uintp(n - n % eight)
    for j in range(eight, stop, eight):
        a, b, c, d = a + row[j], b + row[j + np.uintp(1)], c + row[j + np.uintp(2)], d + row[j + np.uintp(3)]
        e, f = e + row[j + np.uintp(4)], f + row[j + np.uintp(5)]
        g, h = g + row[j + np.uintp(6)], h + row[j + np.uintp(7)]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for j in range(stop, n):
        total += row[j]
    return total


@compiled
def has_ties(bits: Any, mark: Any, marks: Any) -> bool:
    """Are two numbers of a row equal? Each leaves the row's mark at a place; where one finds it, those before it are looked at."""
    last, found = np.uint32(len(marks) - 1), 0
    for j in range(np.uintp(len(bits))):
        own = bits[j]
        place = np.uintp(own & last)
        if marks[place] == mark and found == 0:  # to leave the loop would take the compiler's code more time
            for i in range(j):
                found += bits[i] == own
        marks[place] = mark
    return found > 0


@compiled
def into_shares(values: Any, tiny: Any, few: int) -> None:
    """Each row over its sum, in place; none below `tiny`."""
    for i in range(np.uintp(len(values))):
        row = values[i]
        total = row_sum(row, few)
        for j in range(np.uintp(len(row))):
            share = row[j] / total
            row[j] = share if share > tiny else tiny


@compiled
def find_ties(bits: Any, marks: Any, tied: Any) -> None:
    """Which rows hold equal numbers, told by their bits. In a pass of its own, which takes less time than one with the sums."""
    most = np.uintp(65535)
    for i in range(np.uintp(len(bits))):
        if i > 0 and i % most == 0:  # marks begin anew
            for j in range(np.uintp(len(marks))):
                marks[j] = 0
        tied[i] = has_ties(bits[i], np.uint16(i % most + np.uintp(1)), marks)
