"""Pairs of rows and sums of bins on a GPU: seconds, error against float64, memory, beside torchmetrics.

Run where torch sees a GPU: python -m benchmarks.device [FILE]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import calibrant as cal
from calibrant.adapt.torch import Meter
from calibrant.kernels.pairs import device_pairs
from calibrant.kernels.sums import device_bins


def rows(n: int, k: int = 10, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels and softmax rows of an overconfident model."""
    made = torch.Generator(device="cuda").manual_seed(seed)
    p = torch.softmax(3 * torch.randn(n, k, device="cuda", generator=made), dim=1)
    truth = torch.softmax(torch.log(p) * 0.7, dim=1)
    return torch.multinomial(truth, 1, generator=made)[:, 0], p


def seconds(call: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    """Median time after one call to warm up, and what it returned."""
    found, times = call(), []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        found = call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeats // 2], found


def errors(y: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """Truth minus prediction."""
    return torch.nn.functional.one_hot(y, p.shape[1]).to(p.dtype) - p


def pairs() -> list[str]:
    """Sums over pairs: accuracy on rows of which some are equal, then time."""
    y, p = rows(20_000)
    p[10_000:12_000] = p[:2_000]
    lines = ["| what | rows × classes | seconds | relative error | peak MiB |", "|---|---|---|---|---|"]
    for kind in device_pairs.KINDS:
        a = errors(y, p)
        exact, own = device_pairs._in_blocks(p, a, kind, 0.5, None), float((a.double() ** 2).sum())
        took, found = seconds(lambda a=a, kind=kind: device_pairs.pair_sum(p, a, kind, 0.5))
        lines.append(f"| pairs, {kind} | 20 000 × 10 | {took:.4f} | {abs(found - exact) / abs(exact - own):.1e} | |")
    for n in (100_000, 1_000_000):
        y, p = rows(n)
        a = errors(y, p)
        for kind in device_pairs.KINDS:
            torch.cuda.reset_peak_memory_stats()
            took, _ = seconds(lambda a=a, p=p, kind=kind: device_pairs.pair_sum(p, a, kind, 0.5), 3)
            peak = torch.cuda.max_memory_allocated() / 2**20
            lines.append(f"| pairs, {kind} | {n:,} × 10 | {took:.4f} | | {peak:,.0f} |")
        for kind in ("tv", "laplace"):
            took, found = seconds(lambda y=y, p=p, kind=kind: cal.skce(y, p, kernel=kind), 1)
            given, _ = seconds(lambda y=y, p=p, kind=kind: cal.skce(y, p, kernel=kind, bandwidth=0.5), 1)
            lines.append(f"| `skce`, {kind}, bandwidth given | {n:,} × 10 | {given:.3f} | | |")
            lines.append(f"| `skce`, {kind}, median bandwidth | {n:,} × 10 | {took:.3f} | | |")
    y, p = rows(100_000)
    took, found = seconds(lambda: cal.canonical_error(y, p), 1)
    lines.append(f"| `canonical_error` with its bandwidth | 100,000 × 10 | {took:.3f} | | |")
    few = slice(0, 3000)
    on_cpu = cal.canonical_error(y[few].cpu(), p[few].cpu()).value
    off = abs(cal.canonical_error(y[few], p[few]).value - on_cpu) / on_cpu
    lines.append(f"| `canonical_error` against the CPU | 3 000 × 10 | | {off:.1e} | |")
    for kind in ("tv", "laplace", "gaussian"):
        one, other = (cal.skce(y[few].to(to), p[few].to(to), kernel=kind).value for to in ("cuda", "cpu"))
        lines.append(f"| `skce`, {kind}, against the CPU | 3 000 × 10 | | {abs(one - other) / abs(other):.1e} | |")
    return lines


def bins() -> list[str]:
    """Sums of 15 equal-width bins, and torchmetrics on the same tensors."""
    lines = ["| what | rows × classes | ms | copy of the predictions, ms |", "|---|---|---|---|"]
    for n, k in ((50_000, 1000), (50_000, 100), (10_000_000, 1)):
        y, p = rows(n, k) if k > 1 else (None, torch.rand(n, device="cuda"))
        y = (torch.rand(n, device="cuda") < p).long() if y is None else y
        copy, size = 1e3 * seconds(p.clone, 20)[0], f"{n:,} × {k}"
        for name, call in (
            ("sums of bins", lambda y=y, p=p: device_bins.bin_sums(p, y, 15)),
            ("scatter in torch", lambda y=y, p=p: device_bins._scattered(p, y, 15)),
            ("`Meter.update`", lambda y=y, p=p, k=k: Meter("top" if k > 1 else "binary").cuda().update(y, p)),
        ):
            lines.append(f"| {name} | {size} | {1e3 * seconds(call, 10)[0]:.3f} | {copy:.3f} |")
        try:
            from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error
        except ImportError:
            lines.append(f"| torchmetrics | {size} | not installed | |")
            continue
        if k > 1:
            took, _ = seconds(lambda y=y, p=p, k=k: multiclass_calibration_error(p, y, k, n_bins=15), 5)
        else:
            took, _ = seconds(lambda y=y, p=p: binary_calibration_error(p, y, n_bins=15), 5)
        lines.append(f"| torchmetrics, top label or event | {size} | {1e3 * took:.3f} | {copy:.3f} |")
    return lines


def main() -> None:
    """Print the tables, and write them to a file if one is named."""
    title = f"# On a GPU\n\n{torch.cuda.get_device_name()}, torch {torch.__version__}; `python -m benchmarks.device`."
    text = "\n".join([title, "", "## Pairs of rows", "", *pairs(), "", "## Bins", "", *bins(), ""])
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
