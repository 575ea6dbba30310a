"""Sums over all pairs of rows on an accelerator, Σ_ij κ(d(p_i, p_j))·⟨a_i, a_j⟩: tiled, O(n) memory.

With Triton one fused kernel. Inner products are taken on the tensor cores from numbers
split into two halves of float16 each, which together have the digits of float32. Euclidean
distances come from such products too, |x|² + |y|² − 2xy, with the corner of the simplex
that both rows are nearest to as the origin; a tile with a pair so close that this loses its
digits is done again by differences. Sums of tiles are float64. Each pair of tiles is
computed once. Without Triton the same in blocks of torch operations, in float64.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from calibrant.progress import Report, reported
from calibrant.types import Floats, Indices

KINDS = {"tv": 0, "laplace": 1, "gaussian": 2}
"""exp(−½Σ|x|/ν), exp(−√Σx²/ν), exp(−Σx²/(2ν²))"""

TILE, WARPS = 64, 4
"""Rows and columns of a tile of the fused kernel, and its warps; measured on an H200."""

CLOSE = 1e-4
"""Squared distances below this share of |x|² + |y|² are taken by differences."""

LARGEST = 1e4
"""Scales up to which the rows fit into float16."""

BLOCK_PAIRS = 1 << 24
"""Pairs held at once without Triton: 128 MB of float64 each for distances and products."""

MOST_CLASSES = 64
"""Above, rows are too long for one tile, and blocks of torch operations are used."""

MOST_PLACES = (1 << 31) - (1 << 20)
"""Numbers that an index of 32 bits can reach."""

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
    small = rows.shape[1] <= MOST_CLASSES and 2 * len(rows) * max(16, _power(rows.shape[1])) < MOST_PLACES
    fused = fused_kernel() if rows.is_cuda and small else None
    if fused is None:
        return _in_blocks(rows, a, kind, bandwidth, report)
    import torch

    k, tiles = rows.shape[1], -(-len(rows) // TILE)
    given = _prepared(rows, a, kind, bandwidth, tiles * TILE)
    half = (tiles + 1) // 2
    found = torch.zeros(half, dtype=torch.float64, device=rows.device)
    chunks = range(0, tiles, max(1, CHUNK // TILE))
    for done, first in enumerate(chunks, 1):
        sizes = tiles, first, min(first + chunks.step, tiles), tiles * TILE, k, max(16, _power(k))
        fused[(half,)](*given, found, *sizes, KINDS[kind], TILE, CLOSE, num_warps=WARPS, num_stages=2)
        if report is not None:
            torch.cuda.synchronize(rows.device)
            report(done, len(chunks))
    return 2 * float(found.sum())


def _prepared(rows: Any, a: Any, kind: str, bandwidth: float, padded: int) -> tuple[Any, ...]:
    """What the fused kernel reads: rows sorted by their largest entry and scaled, so that the kernel is 2^−distance.

    Rows and the same from their nearest corner as origin, in two halves each; their squared norms; the class that all
    rows of a tile share; rows in float32, and turned; `a` in two halves of unit scale, and log₂ of the scales.
    """
    import torch

    (n, k), device = rows.shape, rows.device
    top = rows.argmax(dim=1)
    order = torch.argsort(top, stable=True)
    top, at = top[order], torch.arange(n, device=device)
    p, errors = (torch.zeros(padded, max(16, _power(k)), device=device) for _ in range(2))
    p[:n, :k], errors[:n, :k] = rows[order], a[order]  # rows of the padding have no error, so they add nothing
    corners = p.clone()
    corners[at, top] -= 1
    log2e = 1.4426950408889634
    scale = {"tv": 0.5 * log2e, "laplace": log2e, "gaussian": (0.5 * log2e) ** 0.5}[kind] / bandwidth
    both = torch.stack([p, corners]) * scale
    high, low = _halves(both if scale <= LARGEST else torch.zeros_like(both))
    norms = (high.double() + low.double()).square().sum(dim=-1).float()
    classes = torch.full((padded,), -1, device=device)
    classes[:n] = top
    classes = classes.reshape(-1, TILE)
    shared = torch.where((classes == classes[:, :1]).all(dim=1), classes[:, 0], -1)
    size = torch.frexp(errors.abs().amax(dim=1)).exponent
    own_high, own_low = _halves(torch.ldexp(errors, -size[:, None]))
    return high, low, norms, shared, both[0], both[0].T.contiguous(), own_high, own_low, size.float()


def _halves(x: Any) -> tuple[Any, Any]:
    """A tensor as the sum of two of float16."""
    high = x.half()
    return high, (x - high.float()).half()


def pair_sum_on(device: str, rows: Floats, a: Floats, kind: str, bandwidth: float) -> float:
    """`pair_sum` of NumPy arrays on a device; long sums show their progress."""
    import torch

    p, errors = (torch.as_tensor(each, device=device) for each in (rows, a))
    with reported(len(rows) >= SHOW_FROM, "sums over pairs") as report:
        return pair_sum(p, errors, kind, bandwidth, report)


def distinct_on(device: str, rows: Any) -> tuple[Any, Indices]:
    """The distinct rows in order, which stay on the device, and which of them each row is: `np.unique` there."""
    import torch

    found, inverse = torch.unique(torch.as_tensor(rows, device=device).double(), dim=0, return_inverse=True)
    return found, inverse.cpu().numpy()


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
        high, low, norms, shared, p, turned, own_high, own_low, sizes, found, tiles, first, last, n,
        k: tl.constexpr, width: tl.constexpr, kind: tl.constexpr, tile: tl.constexpr, close: tl.constexpr,
    ):  # fmt: skip
        """A tile of rows, and its mirror image from the end: together they have as many pairs as any other two."""
        i = tl.program_id(0)
        inside = tl.arange(0, width)
        total = tl.load(found + i)
        for side in range(2):
            row = tl.where(side == 0, i, tiles - 1 - i)
            stop = tl.where((side == 1) & (row == i), row, last)
            at = row * tile + tl.arange(0, tile)
            there = at[:, None] * width + inside[None, :]
            a_high, a_low, size = tl.load(own_high + there), tl.load(own_low + there), tl.load(sizes + at)
            corner = tl.load(shared + row)
            sums = tl.zeros((tile, tile), dtype=tl.float32)
            for j in range(tl.maximum(row, first), stop):
                other = j * tile + tl.arange(0, tile)
                that = other[None, :] * width + inside[:, None]
                differ = kind == 0
                distance = tl.zeros((tile, tile), dtype=tl.float32)
                if kind > 0:
                    origin = tl.where((corner >= 0) & (corner == tl.load(shared + j)), n, 0)
                    x_high, x_low = tl.load(high + origin * width + there), tl.load(low + origin * width + there)
                    y_high, y_low = tl.load(high + origin * width + that), tl.load(low + origin * width + that)
                    far = tl.load(norms + origin + at)[:, None] + tl.load(norms + origin + other)[None, :]
                    inner = tl.dot(x_high, y_high)
                    inner = tl.dot(x_high, y_low, acc=inner)
                    inner = tl.dot(x_low, y_high, acc=inner)
                    distance = far - 2.0 * inner
                    differ = tl.min(tl.min(distance - close * far, axis=1), axis=0) <= 0.0
                if differ:
                    distance = tl.zeros((tile, tile), dtype=tl.float32)
                    for c in tl.static_range(k):
                        step = tl.load(p + at[:, None] * width + c) - tl.load(turned + c * n + other[None, :])
                        distance += tl.abs(step) if kind == 0 else step * step
                if kind == 1:
                    distance = tl.sqrt(distance)
                b_high, b_low = tl.load(own_high + that), tl.load(own_low + that)
                product = tl.dot(a_high, b_high)
                product = tl.dot(a_high, b_low, acc=product)
                product = tl.dot(a_low, b_high, acc=product)
                weighed = tl.exp2(tl.load(sizes + other)[None, :] - distance) * product
                sums += weighed * tl.where(j == row, 0.5, 1.0)  # pairs of later tiles stand for both orders
                if j % 32 == 31:
                    total += tl.sum(tl.sum(sums, axis=1).to(tl.float64) * tl.exp2(size).to(tl.float64), axis=0)
                    sums = tl.zeros((tile, tile), dtype=tl.float32)
            total += tl.sum(tl.sum(sums, axis=1).to(tl.float64) * tl.exp2(size).to(tl.float64), axis=0)
        tl.store(found + i, total)

    return pairs
