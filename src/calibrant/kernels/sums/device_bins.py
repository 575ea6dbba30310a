"""Sums of equal-width bins on an accelerator, one pass over the predictions.

With Triton, of one event or few classes each lane keeps its own sums of all that lies
above each edge: no index, no scatter, no atomics; bins are differences of these sums,
which are added up in float64. Of one event a number counts both rows and hits. Of more classes than bins most predictions lie in the first
bin, since they sum to one: a lane keeps the sums of that bin, and the few others are added
in float64 where they belong. Without Triton, a scatter of torch operations.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from calibrant.types import Floats

COLUMNS, UNROLL, PROGRAMS = 128, 2, 528
"""Of few classes: columns of a program, lines that it reads at once, and programs; measured on an H200."""

ONE_LANES, ONE_UNROLL, ONE_PROGRAMS, ONE_WARPS = 64, 4, 1056, 2
"""The same of one event."""

HIT = 1 << 12
"""A row counts 1, and a hit so much more: in float32 a lane can take in this many rows, less one."""

LANES, LINES, SHORT_PROGRAMS, STAGES = 64, 2, 4224, 3
"""The same of many classes: columns of a program of one warp, lines that it reads at once, programs, and reads under way."""

MOST_BINS = 32
"""Edges whose sums fit into the registers of a lane."""


def edges_below(n_bins: int, dtype: Any) -> Floats:
    """For each inner edge the largest number of the dtype that is not above it: p > edge is the same of both."""
    edges = np.arange(1, n_bins) / n_bins
    rounded = edges.astype(dtype)
    return np.where(rounded > edges, np.nextafter(rounded, dtype(0)), rounded)


def bin_sums(probs: Any, hits: Any, n_bins: int) -> Any:
    """(C, bins, 4), a tensor on the device of the predictions: Σ1, Σp, Σp², Σy of predictions `(n, C)` in equal-width bins, closed on the right.

    Parameters
    ----------
    probs
        A tensor `(n,)` or `(n, C)`.
    hits
        Outcomes, shaped as `probs`; or `(n,)` class indices.
    n_bins
        Number of bins.
    """
    import torch

    p = probs if probs.dtype in (torch.float32, torch.float64) else probs.float()
    sums = _fused(p, hits, n_bins) if p.is_cuda and p.dtype == torch.float32 else None
    return _scattered(p, hits, n_bins) if sums is None else sums


def group_bin_sums(probs: Any, hits: Any, n_bins: int, groups: Any, n_groups: int) -> Any:
    """(G, bins, 4), the same of one event for each group of rows.

    Parameters
    ----------
    probs, hits
        Predictions and outcomes, `(n,)`.
    n_bins
        Number of bins.
    groups
        The place of each row's group.
    n_groups
        Number of groups.
    """
    import torch

    wide = probs.double()
    terms = torch.stack([torch.ones_like(wide), wide, wide**2, hits.double()], dim=1)
    sums = torch.zeros(n_groups * n_bins, 4, dtype=torch.float64, device=probs.device)
    return sums.index_add_(0, groups * n_bins + _index(probs, n_bins), terms).reshape(n_groups, n_bins, 4)


def _index(p: Any, n_bins: int) -> Any:
    import torch

    edges = torch.as_tensor(edges_below(n_bins, np.dtype(str(p.dtype).removeprefix("torch.")).type), device=p.device)
    return torch.bucketize(p.contiguous(), edges)  # p > edge goes to the bin above


def _scattered(p: Any, hits: Any, n_bins: int) -> Any:
    import torch

    columns = p.reshape(len(p), -1)
    classes = columns.shape[1]
    places = _index(columns, n_bins) + n_bins * torch.arange(classes, device=p.device)
    wide = columns.double().ravel()
    found = [torch.bincount(places.ravel(), weights, classes * n_bins) for weights in (None, wide, wide**2)]
    if hits.shape == p.shape:
        found.append(torch.bincount(places.ravel(), hits.reshape(columns.shape).double().ravel(), classes * n_bins))
    else:
        own = places.gather(1, hits.long()[:, None])[:, 0]
        found.append(torch.bincount(own, minlength=classes * n_bins))
    return torch.stack([each.double().reshape(classes, n_bins) for each in found], dim=-1)


def _fused(p: Any, hits: Any, n_bins: int) -> Any:
    """The same by the Triton kernel; None where it does not apply."""
    kernel = fused_kernel()
    several = p.ndim == 2 and p.shape[1] > 1
    if kernel is None or (several and hits.ndim == 2):
        return None
    import torch

    flat, y = p.contiguous(), (hits.long() if several else hits.reshape(-1).contiguous())
    if several and p.shape[1] > n_bins:
        return _many_classes(flat, y, n_bins)
    if n_bins > MOST_BINS or (not several and y.is_floating_point()):
        return None
    padded = max(16, 1 << (n_bins - 1).bit_length())
    edges = _edges_on(p.device, n_bins, padded)
    if not several:
        return _one_event(flat, y.view(torch.uint8) if y.dtype == torch.bool else y, edges)[None, :n_bins]
    lines, width = flat.shape
    blocks = -(-width // COLUMNS)
    splits = max(1, min(PROGRAMS // blocks, lines // UNROLL))
    out = torch.zeros(splits, 3, padded, blocks * COLUMNS, dtype=torch.float32, device=p.device)
    kernel[(blocks, splits)](flat, edges, out, width, lines, blocks * COLUMNS, padded, COLUMNS, UNROLL)
    above = out.sum(dim=0, dtype=torch.float64)[:, :n_bins, :width].permute(2, 1, 0)
    chosen = flat.gather(1, y[:, None])[:, 0]
    hits = torch.bincount(y * n_bins + _index(chosen, n_bins), minlength=width * n_bins).reshape(width, -1, 1)
    return torch.cat([_between(above), hits], dim=2)


def _between(above: Any) -> Any:
    """Sums of bins `(C, B, m)` from those above their lower edges."""
    sums = above.clone()
    sums[:, :-1] -= above[:, 1:]
    return sums


def _one_event(p: Any, y: Any, edges: Any) -> Any:
    """The same of one event, `(bins, 4)`, with empty bins behind."""
    import torch

    n = p.numel()
    splits = max(ONE_PROGRAMS, -(-n // (ONE_LANES * (HIT - 1))))
    out = torch.empty(splits, len(edges), 4, dtype=torch.float64, device=p.device)
    sizes = n, -(-n // ONE_LANES), len(edges), ONE_LANES, ONE_UNROLL, HIT
    one_event_kernel()[(splits,)](p, y, edges, out, *sizes, num_warps=ONE_WARPS)
    return out.sum(dim=0)


def _many_classes(p: Any, y: Any, n_bins: int) -> Any:
    """The same of more classes than bins."""
    import torch

    n, width = p.shape
    blocks = -(-width // LANES)
    splits = max(1, min(SHORT_PROGRAMS // blocks, n // 4))
    out = torch.zeros(width, n_bins, 4, dtype=torch.float64, device=p.device)
    edges = _edges_on(p.device, n_bins, n_bins + 1)
    many_classes_kernel()[(blocks, splits)](p, y, edges, out, n, width, n_bins, LANES, LINES, STAGES, num_warps=1)
    return out


@cache
def _edges_on(device: Any, n_bins: int, size: int) -> Any:
    """Lower edges of the bins, the first below all, then 2."""
    import torch

    edges = np.concatenate([[-1.0], edges_below(n_bins, np.float32), np.full(size - n_bins, 2.0)])
    return torch.as_tensor(edges.astype(np.float32), device=device)


@cache
def many_classes_kernel() -> Any:
    """The Triton kernel of more classes than bins."""
    import triton
    import triton.language as tl

    @triton.jit
    def place(x, edges, mask, n_bins: tl.constexpr):
        """The bin of a prediction: the nearest by product, and then by the edges themselves."""
        found = tl.minimum((x * n_bins).to(tl.int32), n_bins - 1)
        found = tl.maximum(found - tl.where(x > tl.load(edges + found, mask=mask, other=0.0), 0, 1), 0)
        return found + tl.where(x > tl.load(edges + found + 1, mask=mask, other=2.0), 1, 0)

    @triton.jit
    def many_classes(
        p, y, edges, out, n,
        width: tl.constexpr, n_bins: tl.constexpr, lanes: tl.constexpr, at_once: tl.constexpr, stages: tl.constexpr,
    ):  # fmt: skip
        """out[class, bin] = Σ1, Σp, Σp², Σy; programs share the lines of a block of classes, and then the labels."""
        at = tl.program_id(0) * lanes + tl.arange(0, lanes)
        split, splits, inside = tl.program_id(1), tl.num_programs(1), at < width
        per = (n + splits - 1) // splits
        first = tl.minimum(split * per, n)
        last = tl.minimum(first + per, n)
        lowest = tl.load(edges + 1)
        count = tl.zeros((at_once, lanes), dtype=tl.float32)
        total = tl.zeros((at_once, lanes), dtype=tl.float32)
        square = tl.zeros((at_once, lanes), dtype=tl.float32)
        for start in tl.range(first, last, at_once, num_stages=stages):
            line = start + tl.arange(0, at_once)
            there = (line < last)[:, None] & inside[None, :]
            x = tl.load(p + line.to(tl.int64)[:, None] * width + at[None, :], mask=there, other=0.0)
            above = x > lowest
            low = tl.where(above, 0.0, x)
            count += tl.where(above, 1.0, 0.0)
            total += low
            square += low * low
            if tl.max(tl.max(x, axis=1), axis=0) > lowest:
                cell = out + (at[None, :] * n_bins + place(x, edges, above, n_bins)) * 4
                wide = x.to(tl.float64)
                tl.atomic_add(cell, wide * 0 + 1, mask=above, sem="relaxed")
                tl.atomic_add(cell + 1, wide, mask=above, sem="relaxed")
                tl.atomic_add(cell + 2, (x * x).to(tl.float64), mask=above, sem="relaxed")
        cell = out + at * n_bins * 4
        tl.atomic_add(cell, (last - first).to(tl.float64) - tl.sum(count, axis=0), mask=inside, sem="relaxed")
        tl.atomic_add(cell + 1, tl.sum(total, axis=0).to(tl.float64), mask=inside, sem="relaxed")
        tl.atomic_add(cell + 2, tl.sum(square, axis=0).to(tl.float64), mask=inside, sem="relaxed")
        program = tl.program_id(0) * splits + split
        for start in range(program * lanes, n, lanes * splits * tl.num_programs(0)):
            row = start + tl.arange(0, lanes)
            there = row < n
            label = tl.load(y + row, mask=there, other=0)
            x = tl.load(p + row.to(tl.int64) * width + label, mask=there, other=0.0)
            cell = out + (label * n_bins + place(x, edges, there, n_bins)) * 4 + 3
            tl.atomic_add(cell, x.to(tl.float64) * 0 + 1, mask=there, sem="relaxed")

    return many_classes


@cache
def fused_kernel() -> Any:
    """The Triton kernel, or None where there is no Triton."""
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def above_edges(
        p, edges, out, width, lines, out_width, padded: tl.constexpr, columns: tl.constexpr, unroll: tl.constexpr
    ):  # fmt: skip
        """out[split, :, b, column] = Σ1, Σp, Σp² of the lines of a split above edge b, the first below all."""
        at = tl.program_id(0) * columns + tl.arange(0, columns)
        split, splits = tl.program_id(1), tl.num_programs(1)
        bins = tl.arange(0, padded)
        edge = tl.load(edges + bins)[:, None]
        per = (lines + splits - 1) // splits
        first = split * per
        last = tl.minimum(first + per, lines)
        count = tl.zeros((padded, columns), dtype=tl.float32)
        total = tl.zeros((padded, columns), dtype=tl.float32)
        square = tl.zeros((padded, columns), dtype=tl.float32)
        for start in range(first, last, unroll):
            for step in tl.static_range(unroll):
                line = start + step
                inside = (at < width) & (line < last)
                x = tl.load(p + line.to(tl.int64) * width + at, mask=inside, other=-2.0)[None, :]
                above = x > edge
                count += tl.where(above, 1.0, 0.0)
                total += tl.where(above, x, 0.0)
                square += tl.where(above, x * x, 0.0)
        size = padded * out_width
        base = out + split * 3 * size + bins[:, None] * out_width + at[None, :]
        tl.store(base, count)
        tl.store(base + size, total)
        tl.store(base + 2 * size, square)

    return above_edges


@cache
def one_event_kernel() -> Any:
    """The Triton kernel of one event."""
    import triton
    import triton.language as tl

    @triton.jit
    def one_event(
        p, y, edges, out, n, lines,
        padded: tl.constexpr, lanes: tl.constexpr, unroll: tl.constexpr, hit: tl.constexpr,
    ):  # fmt: skip
        """out[split, b] = Σ1, Σp, Σp², Σy of the rows of a split in bin b, by those above its edges, the first below all."""
        split, splits = tl.program_id(0), tl.num_programs(0)
        lane, bins = tl.arange(0, lanes), tl.arange(0, padded)
        edge = tl.load(edges + bins)[:, None]
        per = (lines + splits - 1) // splits
        first = split * per
        last = tl.minimum(first + per, lines)
        count = tl.zeros((padded, lanes), dtype=tl.float32)
        total = tl.zeros((padded, lanes), dtype=tl.float32)
        square = tl.zeros((padded, lanes), dtype=tl.float32)
        for start in range(first, last, unroll):
            for step in tl.static_range(unroll):
                line = start + step
                place = line.to(tl.int64) * lanes + lane
                inside = (place < n) & (line < last)
                x = tl.load(p + place, mask=inside, other=-2.0)
                happened = tl.load(y + place, mask=inside, other=0).to(tl.float32)
                above = (x[None, :] > edge).to(tl.float32)
                count += above * (1.0 + hit * happened)[None, :]
                total += above * x[None, :]
                square += above * (x * x)[None, :]
        hits = tl.floor(count / hit)
        base = out + (split * padded + bins) * 4
        tl.store(base, tl.sum((count - hit * hits).to(tl.float64), axis=1))
        tl.store(base + 1, tl.sum(total.to(tl.float64), axis=1))
        tl.store(base + 2, tl.sum(square.to(tl.float64), axis=1))
        tl.store(base + 3, tl.sum(hits.to(tl.float64), axis=1))
        tl.debug_barrier()  # of a program: the next bin's sums are read by other threads than wrote them
        at = split * padded * 4 + tl.arange(0, padded * 4)
        above = tl.load(out + at)
        higher = tl.load(out + at + 4, mask=tl.arange(0, padded * 4) < (padded - 1) * 4, other=0.0)
        tl.debug_barrier()
        tl.store(out + at, above - higher)

    return one_event
