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
    y, p = rows(10_000_000)
    for kind in ("tv", "laplace"):
        torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        cal.skce(y, p, kernel=kind)
        took, peak = time.perf_counter() - start, torch.cuda.max_memory_allocated() / 2**20
        lines.append(f"| `skce`, {kind}, median bandwidth | 10,000,000 × 10 | {took:.1f} | | {peak:,.0f} |")
    for n in (100_000, 1_000_000):
        y, p = rows(n)
        torch.cuda.reset_peak_memory_stats()
        took, _ = seconds(lambda y=y, p=p: cal.canonical_error(y, p, bandwidth=0.05), 1)
        peak = torch.cuda.max_memory_allocated() / 2**20
        lines.append(f"| `canonical_error`, bandwidth given | {n:,} × 10 | {took:.3f} | | {peak:,.0f} |")
        took, _ = seconds(lambda y=y, p=p: cal.canonical_error(y, p), 1)
        lines.append(f"| `canonical_error` with its bandwidth | {n:,} × 10 | {took:.3f} | | |")
    y, p = rows(3000)
    few = slice(0, 3000)
    for norm in (1, 2):
        on_cpu = cal.canonical_error(y.cpu(), p.cpu(), norm=norm).value
        off = abs(cal.canonical_error(y, p, norm=norm).value - on_cpu) / on_cpu
        lines.append(f"| `canonical_error`, norm {norm}, against the CPU | 3 000 × 10 | | {off:.1e} | |")
    for kind in ("tv", "laplace", "gaussian"):
        one, other = (cal.skce(y[few].to(to), p[few].to(to), kernel=kind).value for to in ("cuda", "cpu"))
        lines.append(f"| `skce`, {kind}, against the CPU | 3 000 × 10 | | {abs(one - other) / abs(other):.1e} | |")
    return lines


def in_a_row(call: Callable[[], Any], repeats: int = 20) -> float:
    """Milliseconds of a call among others like it, so that the next is ready when one ends; the least of five."""
    call()
    times = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / repeats)
    return min(times)


def bins() -> list[str]:
    """Sums of 15 equal-width bins, and torchmetrics on the same tensors."""
    lines = ["| what | rows × classes | ms | ms in a row | share of the bandwidth |", "|---|---|---|---|---|"]
    for n, k in ((50_000, 1000), (50_000, 100), (10_000_000, 1)):
        y, p = rows(n, k) if k > 1 else (None, torch.rand(n, device="cuda"))
        y = (torch.rand(n, device="cuda") < p).long() if y is None else y
        there = torch.empty_like(p)
        floor, size = in_a_row(lambda p=p, there=there: there.copy_(p)) / 2, f"{n:,} × {k}"
        lines.append(f"| copy, half of it: reading alone | {size} | | {floor:.4f} | 100 % |")
        meter = Meter("top" if k > 1 else "binary").cuda()
        for name, call in (
            ("sums of bins", lambda y=y, p=p: device_bins.bin_sums(p, y, 15)),
            ("scatter in torch", lambda y=y, p=p: device_bins._scattered(p, y, 15)),
            ("`Meter.update`", lambda y=y, p=p, meter=meter: meter.update(y, p)),
            ("`ece`, top or event", lambda y=y, p=p: cal.ece(y, p)),
            *([("`classwise_error`", lambda y=y, p=p: cal.classwise_error(y, p))] if k > 1 else ()),
        ):
            own = in_a_row(call)
            lines.append(f"| {name} | {size} | {1e3 * seconds(call, 10)[0]:.3f} | {own:.4f} | {floor / own:.0%} |")
        try:
            from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error
        except ImportError:
            lines.append(f"| torchmetrics | {size} | not installed | | |")
            continue
        if k > 1:
            took, _ = seconds(lambda y=y, p=p, k=k: multiclass_calibration_error(p, y, k, n_bins=15), 5)
        else:
            took, _ = seconds(lambda y=y, p=p: binary_calibration_error(p, y, n_bins=15), 5)
        lines.append(f"| torchmetrics, top label or event | {size} | {1e3 * took:.3f} | | |")
    return lines


def rest() -> list[str]:
    """Scores, states and the temperature of tensors, and the same after a copy to the CPU."""
    lines = ["| what | rows × classes | ms | after a copy, ms | relative difference |", "|---|---|---|---|---|"]
    for n, k in ((50_000, 1000), (1_000_000, 10)):
        y, p = rows(n, k)
        for name, call, value in (
            ("`brier_score`", cal.brier_score, float),
            ("`log_score`", cal.log_score, float),
            ("`collect`", cal.collect, lambda state: float(cal.classwise_error(state))),
            ("`Temperature().fit`", cal.Temperature().fit, lambda fitted: fitted.temperature),
        ):
            took, found = seconds(lambda call=call, y=y, p=p: call(y, p), 3)
            slow, copied = seconds(lambda call=call, y=y, p=p: call(y.cpu(), p.cpu()), 1)
            off = abs(value(found) / value(copied) - 1)
            lines.append(f"| {name} | {n:,} × {k} | {1e3 * took:.2f} | {1e3 * slow:.1f} | {off:.1e} |")
    return lines


def main() -> None:
    """Print the tables, and write them to a file if one is named."""
    title = f"# On a GPU\n\n{torch.cuda.get_device_name()}, torch {torch.__version__}; `python -m benchmarks.device`."
    text = "\n".join(
        [
            title,
            "",
            "## Pairs of rows",
            "",
            *pairs(),
            "",
            "## Bins",
            "",
            *bins(),
            "",
            "## Scores, states and maps",
            "",
            *rest(),
            "",
        ]
    )
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
