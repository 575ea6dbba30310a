"""Sums over all pairs of rows on an accelerator, Σ_ij κ(d(p_i, p_j))·⟨a_i, a_j⟩: tiled, O(n) memory.

With Triton one fused kernel: distances by differences in float32, so that equal rows are
at distance 0; inner products on the tensor cores in three passes of tf32 (`tf32x3`),
right to float32; sums of tiles in float64. Each pair of tiles is computed once. Without
Triton the same in blocks of torch operations, in float64.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from calibrant.progress import Report, reported
from calibrant.types import Floats, Indices

KINDS = {"tv": 0, "laplace": 1, "gaussian": 2}
"""exp(−½Σ|x|/ν), exp(−√Σx²/ν), exp(−Σx²/(2ν²))"""

TILE, WARPS = (64, 64), 4
"""Rows and columns of a tile of the fused kernel, and its warps; measured on an H200."""

BLOCK_PAIRS = 1 << 24
"""Pairs held at once without Triton: 128 MB of float64 each for distances and products."""

MOST_CLASSES = 64
"""Above, rows are too long for one tile, and blocks of torch operations are used."""

SHOW_FROM = 3_000_000
"""Rows from which sums take long enough to show their progress."""

CHUNK = 1 << 17
"""Columns per launch: what all programs read at a time stays in the cache, and progress is shown in between."""


def pair_sum(rows: Any, a: Any, kind: str, bandwidth: float, report: Report | None = None) -> float:
    """The sum over all pairs, i = j included, of tensors `(n, K)`.

    Parameters
    ----------
    rows, a
        Predictions and what is multiplied, on one device.
    kind
        The kernel, a key of KINDS.
    bandwidth
        ν.
    report
        Called with the share of tiles done.
    """
    fused = fused_kernel() if rows.is_cuda and rows.shape[1] <= MOST_CLASSES else None
    if fused is None:
        return _in_blocks(rows, a, kind, bandwidth, report)
    import torch

    n, k = rows.shape
    tile = max(TILE)
    padded = -(-n // tile) * tile
    p, errors = (torch.zeros(padded, max(16, _power(k)), dtype=torch.float32, device=rows.device) for _ in range(2))
    p[:n, :k], errors[:n, :k] = rows, a  # rows of the padding have no error, so they add nothing
    turned = p.T.contiguous()
    n_rows, n_columns = padded // TILE[0], padded // TILE[1]
    half = (n_rows + 1) // 2
    found = torch.zeros(half, dtype=torch.float64, device=rows.device)
    scale = {"tv": 0.5 / bandwidth, "laplace": 1 / bandwidth, "gaussian": 0.5 / bandwidth**2}[kind]
    chunks = range(0, n_columns, max(1, CHUNK // TILE[1]))
    for done, first in enumerate(chunks, 1):
        sizes = n_rows, first, min(first + chunks.step, n_columns), padded, scale * 1.4426950408889634
        fused[(half,)](
            p, turned, errors, found, *sizes, k, p.shape[1], KINDS[kind], *TILE, num_warps=WARPS, num_stages=2
        )
        if report is not None:
            torch.cuda.synchronize(rows.device)
            report(done, len(chunks))
    return float(found.sum())


def pair_sum_on(device: str, rows: Floats, a: Floats, kind: str, bandwidth: float) -> float:
    """`pair_sum` of NumPy arrays on a device; long sums show their progress."""
    import torch

    p, errors = (torch.as_tensor(each, device=device) for each in (rows, a))
    with reported(len(rows) >= SHOW_FROM, "sums over pairs") as report:
        return pair_sum(p, errors, kind, bandwidth, report)


def distinct_on(device: str, rows: Floats) -> tuple[Floats, Indices]:
    """The distinct rows in order, and which of them each row is: `np.unique` on a device."""
    import torch

    found, inverse = torch.unique(torch.as_tensor(rows, device=device), dim=0, return_inverse=True)
    return found.cpu().numpy(), inverse.cpu().numpy()


def loo_tiles_on(
    device: str, logs: Floats, scaled: Floats, offset: Floats, own: Floats, labels: Floats | None, at: Indices
) -> tuple[Floats, Floats, Floats]:
    """Sums of exp(logs_i·scaled_j + offset_j − top_i) over all rows j, `own_i` added for j = i.

    Returns the sums, the tops, and the means of the labels with these weights, if there are labels.

    Parameters
    ----------
    device
        The accelerator.
    logs, scaled, offset, own
        As in `row_pairs`.
    labels
        Shares of the classes, `(n, K)`, or None.
    at
        The rows i.
    """
    import torch

    x, y, beside, itself = (torch.as_tensor(each, device=device) for each in (logs, scaled, offset, own))
    shares = None if labels is None else torch.as_tensor(labels, dtype=torch.float64, device=device)
    chosen, masses, tops, rates = torch.as_tensor(at, device=device), [], [], []
    for i in chosen.split(max(1, BLOCK_PAIRS // len(logs))):
        log_kernel = torch.addmm(beside, x[i], y.T)
        log_kernel[torch.arange(len(i), device=device), i] += itself[i]
        top = log_kernel.amax(dim=1)
        weight = log_kernel.sub_(top[:, None]).exp_()
        masses.append(weight.sum(dim=1))
        tops.append(top)
        if shares is not None:
            rates.append(weight @ shares / masses[-1][:, None])
    joined = [torch.cat(each).cpu().numpy() for each in (masses, tops)]
    return joined[0], joined[1], torch.cat(rates).cpu().numpy() if rates else np.empty(0)


def _power(k: int) -> int:
    return 1 << (k - 1).bit_length()


def _in_blocks(rows: Any, a: Any, kind: str, bandwidth: float, report: Report | None) -> float:
    import torch

    p, errors = rows.double(), a.double()
    n = len(p)
    size = max(1, BLOCK_PAIRS // n)
    total = torch.zeros((), dtype=torch.float64, device=p.device)
    for start in range(0, n, size):
        block = slice(start, start + size)
        if kind == "tv":
            weight = torch.exp(torch.cdist(p[block], p, p=1) * (-0.5 / bandwidth))
        else:
            # by differences: near-equal rows lose their distance in |a|² + |b|² − 2a·b
            distance = torch.cdist(p[block], p, compute_mode="donot_use_mm_for_euclid_dist")
            weight = torch.exp(-distance / bandwidth if kind == "laplace" else distance**2 * (-0.5 / bandwidth**2))
        total += (weight * (errors[block] @ errors.T)).sum()
        if report is not None:
            report(min(start + size, n), n)
    return float(total)


@cache
def fused_kernel() -> Any:
    """The Triton kernel, or None where there is no Triton."""
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def pairs(
        p, turned, a, found, n_rows, first, last, n, scale,
        k: tl.constexpr, width: tl.constexpr, kind: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
    ):  # fmt: skip
        """A tile of rows, and its mirror image from the end: together they have as many pairs as any other two."""
        i = tl.program_id(0)
        inside = tl.arange(0, width)
        total = tl.load(found + i)
        for side in range(2):
            row = tl.where(side == 0, i, n_rows - 1 - i)
            begin = row * rows // columns  # the tile of columns that holds the rows themselves
            stop = tl.where((side == 1) & (row == i), begin, last)
            at = row * rows + tl.arange(0, rows)
            own = tl.load(a + at[:, None] * width + inside[None, :])
            sums = tl.zeros((rows, columns), dtype=tl.float32)
            for j in range(tl.maximum(begin, first), stop):
                other = j * columns + tl.arange(0, columns)
                distance = tl.zeros((rows, columns), dtype=tl.float32)
                for c in tl.static_range(k):
                    step = tl.load(p + at[:, None] * width + c) - tl.load(turned + c * n + other[None, :])
                    if kind == 0:
                        distance += tl.abs(step)
                    else:
                        distance += step * step
                if kind == 1:
                    distance = tl.sqrt(distance)
                errors = tl.load(a + other[None, :] * width + inside[:, None])
                product = tl.dot(own, errors, input_precision="tf32x3")
                twice = tl.where(j == begin, 1.0, 2.0)  # pairs of later tiles stand for both orders
                sums += tl.exp2(distance * -scale) * product * twice
                if j % 32 == 31:
                    total += tl.sum(tl.sum(sums, axis=1).to(tl.float64), axis=0)
                    sums = tl.zeros((rows, columns), dtype=tl.float32)
            total += tl.sum(tl.sum(sums, axis=1).to(tl.float64), axis=0)
        tl.store(found + i, total)

    return pairs
