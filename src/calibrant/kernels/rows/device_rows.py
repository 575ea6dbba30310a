"""Rows on an accelerator, checked in one pass over them: one event, or several classes, whose top is found as well."""

from __future__ import annotations

from functools import cache
from typing import Any

TILE, MOST_COLUMNS = 2048, 1024
"""Numbers that a program reads at a time, and columns among them; measured on an H200."""

EVENT_ROWS = 4096
"""Rows of one event that a program reads."""


def top_of_rows(p: Any, y: Any, tolerance: float) -> tuple[Any, Any] | None:
    """The highest probability of each row, and whether its class happened: the lowest class index wins a tie.

    None where a number lies outside [0, 1], a row's sum is off 1, or a label is no class; and without Triton.

    Parameters
    ----------
    p
        Probabilities `(n, K)`, a tensor of float32 on a GPU.
    y
        Class indices `(n,)`, a tensor of integers there.
    tolerance
        How far a row's sum may be off.
    """
    if (kernels := _kernels()) is None:
        return None
    import torch

    n, width = p.shape
    columns = min(1 << (width - 1).bit_length(), MOST_COLUMNS)
    rows = max(1, TILE // columns)
    top, hit = torch.empty(n, dtype=p.dtype, device=p.device), torch.empty(n, dtype=torch.uint8, device=p.device)
    bad = torch.zeros(1, dtype=torch.int32, device=p.device)
    kernels[1][(-(-n // rows),)](p.contiguous(), y.contiguous(), top, hit, bad, n, width, tolerance, rows, columns)
    return (top, hit) if bad.item() == 0 else None


def is_event(p: Any, y: Any) -> bool | None:
    """Do all probabilities lie in [0, 1], and are all labels 0 or 1? None without Triton.

    Parameters
    ----------
    p, y
        Tensors `(n,)` on a GPU, of floats and of integers.
    """
    if (kernels := _kernels()) is None:
        return None
    import torch

    bad = torch.zeros(1, dtype=torch.int32, device=p.device)
    kernels[0][(-(-p.shape[0] // EVENT_ROWS),)](p.contiguous(), y.contiguous(), bad, p.shape[0], EVENT_ROWS)
    return bad.item() == 0


@cache
def _kernels() -> Any:
    """The Triton kernels of one event and of several classes, or None where there is no Triton."""
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def event_rows(p, y, bad, n, rows: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        x, label = tl.load(p + row, mask=row < n, other=0.0), tl.load(y + row, mask=row < n, other=0)
        right = (x >= 0) & (x <= 1) & (label >= 0) & (label <= 1)  # NaN is neither
        if tl.min(right.to(tl.int32), axis=0) == 0:
            tl.atomic_max(bad, 1)

    @triton.jit
    def top_rows(p, y, top, hit, bad, n, width, tolerance, rows: tl.constexpr, columns: tl.constexpr):
        row = tl.program_id(0) * rows + tl.arange(0, rows)
        there, start = row < n, row.to(tl.int64) * width
        best = tl.full((rows,), -1.0, dtype=tl.float32)
        place = tl.zeros((rows,), dtype=tl.int32)
        total = tl.zeros((rows,), dtype=tl.float64)
        wrong = tl.zeros((rows,), dtype=tl.int32)
        for first in range(0, width, columns):
            at = first + tl.arange(0, columns)
            inside = there[:, None] & (at < width)[None, :]
            x = tl.load(p + start[:, None] + at[None, :], mask=inside, other=0.0)
            found, where = tl.max(x, axis=1, return_indices=True, return_indices_tie_break_left=True)
            place = tl.where(found > best, where + first, place)
            best = tl.maximum(best, found)
            total += tl.sum(x.to(tl.float64), axis=1)
            wrong = tl.maximum(wrong, tl.max(((x >= 0) & (x <= 1)).to(tl.int32) ^ 1, axis=1))  # NaN is neither
        label = tl.load(y + row, mask=there, other=0)
        near = (tl.abs(total - 1) <= tolerance) | (row >= n)
        wrong = tl.where(near & (label >= 0) & (label < width), wrong, 1)
        if tl.max(wrong, axis=0) > 0:
            tl.atomic_max(bad, 1)
        tl.store(top + row, best, mask=there)
        tl.store(hit + row, (label == place).to(tl.uint8), mask=there)

    return event_rows, top_rows
