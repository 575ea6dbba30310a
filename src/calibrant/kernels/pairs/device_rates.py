"""Kernel estimates of the truth at each row from all others, on an accelerator: the sums of `row_pairs.loo_rates` there.

With Triton one fused kernel: a tile of rows meets all others, logarithms of the kernel as
products of float64, which they need as they are large and nearly cancel; weights relative
to the largest so far in float32, and their products with the labels on the tensor cores,
each number in parts that keep its digits; sums of tiles in float64. Without Triton the same in blocks of
torch operations, in float64. O(n) memory in both.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from calibrant.kernels.pairs.device_pairs import BLOCK_PAIRS, MOST_CLASSES, distinct_on
from calibrant.kernels.pairs.row_pairs import ROUNDING

ROWS, COLUMNS, WARPS = 64, 64, 4
"""Rows and columns of a tile, and its warps; measured on an H200."""

LOG2E = 1.4426950408889634


def loo_on(
    device: str, rows: Any, labels: Any, weight: Any, unit: Any, bandwidth: float, at: Any = None
) -> tuple[Any, Any]:
    """Ê[y | f_i] without row i, and ln of the kernel density at f_i without it, as tensors; see `row_pairs.loo_rates`.

    Parameters
    ----------
    device
        The accelerator.
    rows
        Predictions `(n, K)`.
    labels
        Shares of the classes, `(n, K)`; None where only densities are asked for.
    weight, unit
        Weight of all copies of a row, and of one, by default 1.
    bandwidth
        h.
    at
        The rows i, by default all.
    """
    import torch

    given = (rows, weight, np.ones(len(rows)) if unit is None else unit)
    p, w, one = (torch.as_tensor(each, dtype=torch.float64, device=device) for each in given)
    shares = None if labels is None else torch.as_tensor(labels, dtype=torch.float64, device=device)
    chosen = torch.arange(len(p), device=device) if at is None else torch.as_tensor(np.array(at), device=device)
    scaled = p / bandwidth
    norm = torch.lgamma(scaled + 1).sum(dim=1) - torch.lgamma(scaled.sum(dim=1) + p.shape[1])
    logs, offset, left = p.clamp(min=float(np.finfo(np.float64).tiny)).log(), w.log() - norm, w - one
    own = torch.where(left > ROUNDING * w, left, 0.0).log() - w.log()  # a row leaves its other copies
    others = (w.sum() - one)[chosen]
    fused = fused_kernel() if p.is_cuda and p.shape[1] < MOST_CLASSES else None
    sums = _in_blocks if fused is None else _fused
    mass, top, found = sums(logs, scaled, offset, own, shares, chosen)
    return None if shares is None else found / mass[:, None], mass.log() + top - others.log()


def sorted_rows_on(device: str, rows: Any) -> Any:
    """The order of rows by their columns, the first counting most: `np.lexsort` there."""
    import torch

    if rows.shape[1] > MOST_CLASSES:
        return torch.argsort(torch.as_tensor(distinct_on(device, rows)[1], device=device), stable=True)
    order = torch.arange(len(rows), device=device)
    for k in range(rows.shape[1] - 1, -1, -1):
        order = order[torch.argsort(rows[order, k], stable=True)]
    return order


def _in_blocks(logs: Any, scaled: Any, offset: Any, own: Any, shares: Any, chosen: Any) -> tuple[Any, Any, Any]:
    import torch

    masses, tops, sums = [], [], []
    for i in chosen.split(max(1, BLOCK_PAIRS // len(logs))):
        log_kernel = torch.addmm(offset, logs[i], scaled.T)
        log_kernel[torch.arange(len(i), device=i.device), i] += own[i]
        top = log_kernel.amax(dim=1)
        weight = log_kernel.sub_(top[:, None]).exp_()
        masses.append(weight.sum(dim=1))
        tops.append(top)
        if shares is not None:
            sums.append(weight @ shares)
    return torch.cat(masses), torch.cat(tops), torch.cat(sums) if sums else None


def _fused(logs: Any, scaled: Any, offset: Any, own: Any, shares: Any, chosen: Any) -> tuple[Any, Any, Any]:
    """The same by the Triton kernel, which takes logarithms to the base 2; the labels have a column of ones for the mass."""
    import torch

    (n, k), m, device = logs.shape, len(chosen), logs.device
    classes = 0 if shares is None else k
    depth, width = max(16, 1 << (k - 1).bit_length()), max(16, 1 << classes.bit_length())
    beside = torch.zeros(n, width, dtype=torch.float32, device=device)
    beside[:, classes] = 1
    if shares is not None:
        beside[:, :k] = shares
    top = torch.empty(m, dtype=torch.float64, device=device)
    sums = torch.empty(m, width, dtype=torch.float64, device=device)
    x, y = (torch.nn.functional.pad(each, (0, depth - k)) for each in (logs[chosen] * LOG2E, scaled))
    given = x, y, offset * LOG2E, (own * LOG2E)[chosen], beside, chosen, top, sums
    fused_kernel()[(-(-m // ROWS),)](*given, m, n, depth, width, ROWS, COLUMNS, num_warps=WARPS)
    return sums[:, classes], top / LOG2E, sums[:, :classes]


@cache
def fused_kernel() -> Any:
    """The Triton kernel, or None where there is no Triton."""
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def rates(
        logs, scaled, offset, own, beside, chosen, top_out, sums_out, m, n,
        depth: tl.constexpr, width: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
    ):  # fmt: skip
        """A tile of rows against all others: the largest log kernel, and Σ_j 2^(log kernel − largest)·beside_j."""
        i = tl.program_id(0) * rows + tl.arange(0, rows)
        there, deep, inside = i < m, tl.arange(0, depth), tl.arange(0, width)
        row = tl.load(chosen + i, mask=there, other=-1)
        itself = tl.load(own + i, mask=there, other=0.0)
        x = tl.load(logs + i[:, None] * depth + deep[None, :], mask=there[:, None], other=0.0)
        top = tl.full((rows,), -1e300, dtype=tl.float64)
        sums = tl.zeros((rows, width), dtype=tl.float64)
        for start in range(0, n, columns):
            j = start + tl.arange(0, columns)
            real = j < n
            y = tl.load(scaled + j[None, :] * depth + deep[:, None], mask=real[None, :], other=0.0)
            z = tl.dot(x, y, out_dtype=tl.float64) + tl.load(offset + j, mask=real, other=float("-inf"))[None, :]
            if (tl.min(row, axis=0) < start + columns) & (tl.max(row, axis=0) >= start):
                z += tl.where(row[:, None] == j[None, :], itself[:, None], 0.0)
            largest = tl.maximum(top, tl.max(z, axis=1))
            weight = tl.exp2((z - largest[:, None]).to(tl.float32))
            that = tl.load(beside + j[:, None] * width + inside[None, :], mask=real[:, None], other=0.0)
            part = tl.dot(weight, that, input_precision="tf32x3")
            sums = sums * tl.exp2((top - largest).to(tl.float32)).to(tl.float64)[:, None] + part.to(tl.float64)
            top = largest
        tl.store(top_out + i, top, mask=there)
        tl.store(sums_out + i[:, None] * width + inside[None, :], sums, mask=there[:, None])

    return rates
