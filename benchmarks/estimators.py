"""How fast is every estimator, against other packages and against the least that its work can take? One run, all warm.

`NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" python -m benchmarks.estimators` writes results named `…_avx2`: on some
processors NumPy's AVX-512 sort is several times slower than its AVX2 sort, so goals in units of `np.sort` mean little there
without it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

import calibrant as cal
from benchmarks import estimators_peers as elsewhere
from benchmarks.estimators_peers import Data, Found, Peer
from benchmarks.harness import Report, best, commit

ROWS = 1_000_000
PAIR_ROWS = 10_000
MATRIX = (50_000, 1000)
CLASSES = 10
ROUNDS = 3
"""Times that all calls of a case are measured in turn, so that a busy moment hits them all."""

SLOW = 10_000.0
"""Milliseconds from which a call is measured in the first round only: what it shows may then be a busy moment."""

PATIENCE = 5000.0
"""Milliseconds after which an estimator is not measured on ten times as many rows."""

GROWTH = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SUFFIX = "_avx2" if "X86_V4" in os.environ.get("NPY_DISABLE_CPU_FEATURES", "") else ""
PACKAGES = ("scipy", "torch", "torchmetrics", "netcal", "relplot", "probcal", "MAPIE", "uncertainty-calibration")
PACKAGES += ("pycalib", "calzone-tool", "MCGrad", "calibre", "torch-uncertainty")

RSS = """
import json, sys, time
import calibrant as cal
from benchmarks.estimators import simplex
labels, probs = simplex(int(sys.argv[1]), int(sys.argv[2]))
cal.skce(labels[:3000], probs[:3000], bandwidth=0.5)
peak = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
before, start = peak(), time.perf_counter()
value = cal.skce(labels, probs).value
print(json.dumps({"seconds": time.perf_counter() - start, "before": before, "peak": peak(), "value": value}))
"""


@dataclass(frozen=True)
class Goal:
    """At least `factor` times faster than the fastest peer, or at most `factor` times the floor."""

    against: Literal["peer", "floor"]
    factor: float

    def __str__(self) -> str:
        return f"≥ {self.factor:g} × faster" if self.against == "peer" else f"≤ {self.factor:g} × floor"


@dataclass(frozen=True)
class Case:
    """An estimator, how large its input is, what it is measured against, and what was promised."""

    name: str
    size: str
    ours: Callable[[], Any]
    floor: tuple[str, Callable[[], Any]]
    found: Found = field(default_factory=Found)
    goal: Goal | None = None
    no_peer: str = "none has it"


def binary(n: int, seed: int = 1) -> Data:
    """An overconfident model with uniform scores: the log-odds are a quarter too large."""
    rng = np.random.default_rng(seed)
    probs = rng.random(n)
    rate = 1 / (1 + ((1 - probs) / probs) ** 0.8)
    return Data((rng.random(n) < rate).astype(np.uint8), probs)


def simplex(n: int, k: int, dtype: Any = np.float64, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities of an overconfident model with k classes."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((n, k), dtype=np.float32) * np.float32(2)
    labels = np.argmax(0.8 * logits + rng.gumbel(size=(n, k)).astype(np.float32), axis=1).astype(np.int32)
    return labels, cal.Predictions.from_logits(labels, logits.astype(dtype)).probs.copy()


def on_sums(data: Data) -> Iterator[Case]:
    y, p = data.labels, data.probs
    floor = ("np.sum of both", lambda: (np.sum(p), np.sum(y)))
    width, ten = cal.EqualWidth(15), Goal("peer", 10)
    squares = partial(cal.binned_error, y, p, bins=width, norm=2, debiased=True)
    means = partial(cal.binned_error, y, p, bins=width, debiased=True)
    yield Case("equal width", "10⁶", lambda: cal.ece(y, p), floor, elsewhere.equal_width(data), ten)
    yield Case("equal width, debiased, norm 2", "10⁶", squares, floor, elsewhere.debiased_root(data), ten)
    yield Case("equal width, debiased, norm 1", "10⁶", means, floor, elsewhere.debiased_mean(data), ten)
    yield Case("smooth", "10⁶", lambda: cal.smooth_error(y, p), floor, elsewhere.smooth(data), Goal("peer", 3))


def on_sorted_rows(data: Data) -> Iterator[Case]:
    y, p = data.labels, data.probs
    floor = ("np.sort", lambda: np.sort(p))
    span = partial(cal.ks_error, y, p, statistic="range")
    too_many = "all pairs: 8 TB of memory in the packages that have it"
    yield Case("KS", "10⁶", lambda: cal.ks_error(y, p), floor, elsewhere.largest_sum(data), Goal("peer", 10))
    yield Case("KS, range", "10⁶", span, floor, elsewhere.range_of_sums(data), Goal("peer", 10))
    mass = partial(cal.binned_error, y, p, bins=cal.EqualMass(15))
    yield Case("equal mass", "10⁶", mass, floor, elsewhere.equal_mass(data), Goal("peer", 4))
    yield Case("sweep", "10⁶", lambda: cal.sweep_error(y, p), floor, elsewhere.sweep(data), Goal("floor", 2))
    yield Case("MMCE", "10⁶", lambda: cal.mmce(y, p), floor, goal=Goal("floor", 3), no_peer=too_many)
    yield Case("density", "10⁶", lambda: cal.density_error(y, p), floor)
    yield Case("cross-validated", "10⁶", lambda: cal.crossvalidated_error(y, p), floor)


def on_pairs(data: Data) -> Iterator[Case]:
    y, p = data.labels, data.probs
    sort, width = ("np.sort", lambda: np.sort(p)), 0.25
    yield Case("MMCE", "10⁴", lambda: cal.mmce(y, p), sort, elsewhere.mean_embedding(data))
    one = partial(cal.skce, y, p, bandwidth=width)
    yield Case("SKCE, one event", "10⁴", one, sort, elsewhere.one_event_kernel(data, width))
    labels, probs = simplex(PAIR_ROWS, CLASSES)
    many = partial(cal.skce, labels, probs, bandwidth=width)
    pairs = ("np.exp of all pairs", partial(exponentials, len(probs)))
    plain = elsewhere.numpy_pairs(labels, probs, width)
    yield Case("SKCE", f"10⁴ × {CLASSES}", many, pairs, plain, Goal("peer", 5))
    yield Case("canonical", f"10⁴ × {CLASSES}", lambda: cal.canonical_error(labels, probs), pairs)


def on_matrix() -> Iterator[Case]:
    labels, probs = simplex(*MATRIX, dtype=np.float32)
    floor = ("np.sum of the matrix", lambda: np.sum(probs))
    ours, found = partial(cal.static_error, labels, probs), elsewhere.classwise(labels, probs)
    yield Case("class-wise equal width", "50 000 × 1000, float32", ours, floor, found, Goal("floor", 4))


def exponentials(n: int, tile: int = 64) -> None:
    numbers = np.full((tile, n), -0.5)
    for _ in range(0, n, tile):
        np.exp(numbers)


def least_times(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The shortest time of each call in milliseconds, over rounds in which they take turns."""
    times = dict.fromkeys(calls, math.inf)
    for number in range(ROUNDS):
        for name, call in calls.items():
            if number == 0 or times[name] < SLOW:
                times[name] = min(times[name], best(call, seconds=1.0, least=2))
    return times


def timed_once(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    return 1e3 * (time.perf_counter() - start), found


def measure(case: Case, table: Report, peers: Report, skipped: list[str]) -> None:
    print(f"-- {case.name}, {case.size}", flush=True)
    repeated = {peer.name: peer.call for peer in case.found.peers if not peer.once}
    times = least_times({"ours": case.ours, "floor": case.floor[1], **repeated})
    values = {peer.name: peer.read(peer.call()) for peer in case.found.peers if not peer.once}
    for peer in case.found.peers:
        if peer.once:
            times[peer.name], found = timed_once(peer.call)
            values[peer.name] = peer.read(found)
    ours, floor, value = times["ours"], times["floor"], case.ours().value
    same = [peer.name for peer in case.found.peers if not (peer.other or peer.private)]
    beside = [peer.name for peer in case.found.peers if peer.other or peer.private]
    fastest, relative = (min(names, key=times.__getitem__, default=None) for names in (same, beside))
    ratio = times[fastest] / ours if fastest else None
    achieved = ratio if case.goal and case.goal.against == "peer" else ours / floor
    first = (fastest, times[fastest], ratio) if fastest else (f"({case.no_peer})", "", "")
    second = (relative, times[relative] / ours) if relative else ("", "")
    goal = (str(case.goal or ""), _met(case.goal, achieved))
    table.add(case.name, case.size, ours, *first, *second, case.floor[0], floor, ours / floor, *goal)
    peers.add(case.name, case.size, "calibrant", ours, 1.0, f"{value:.9f}", "", "")
    for peer in case.found.peers:
        _add_peer(peers, case, peer, times[peer.name] / ours, times[peer.name], values[peer.name], value)
    skipped += [f"{case.name}: not measured, {reason}" for reason in case.found.skipped]


def _add_peer(peers: Report, case: Case, peer: Peer, ratio: float, took: float, value: float, default: float) -> None:
    expected = default if peer.ours is None else peer.ours().value
    notes = [peer.differs, "not public" if peer.private else "", "one run" if peer.once else ""]
    apart = f"{abs(value - expected):.1e}"
    peers.add(case.name, case.size, peer.name, took, ratio, f"{value:.9f}", apart, "; ".join(filter(None, notes)))


def _met(goal: Goal | None, achieved: float | None) -> str:
    if goal is None or achieved is None:
        return ""
    met = achieved >= goal.factor if goal.against == "peer" else achieved <= goal.factor
    return "yes" if met else "no"


def against_peers() -> None:
    table = Report(
        f"estimators{SUFFIX}",
        "The public call on plain arrays, checks included, against the fastest package that has the estimator and against the least "
        "its work can take. 10⁶ float64 probabilities and uint8 labels unless said.",
        (
            "estimator",
            "rows",
            "ours, ms",
            "fastest peer",
            "its ms",
            "× ours",
            "another definition, or not public",
            "× ours",
            "floor",
            "its ms",
            "ours ÷ floor",
            "goal",
            "met",
        ),
    )
    peers = Report(
        f"estimators_peers{SUFFIX}",
        "Every package measured, with its number. `apart` is its distance from ours, asked the same question where ours can be.",
        ("estimator", "rows", "package", "ms", "× ours", "value", "apart", "why apart"),
    )
    data, few, skipped = binary(ROWS), binary(PAIR_ROWS), []
    for cases in (on_sums(data), on_sorted_rows(data), on_pairs(few), on_matrix()):
        for case in cases:
            measure(case, table, peers, skipped)
    table.findings += [
        "`np.sort` of 10⁶ float64 here: " + _sorts(),
        "On some processors the AVX-512 `np.sort` is several times slower than the AVX2 one: there a goal in units of `np.sort` is met in "
        "earnest only in a run without AVX-512 (see the script), which slows `np.exp` too.",
        circumstances(),
        "torch-uncertainty: its calibration metrics are loaded without the rest of the package, which wants torchvision and lightning.",
        "Left out: the class-wise errors of classifier-calibration (a Python loop of 5·10⁷ steps) and torch-uncertainty (212 s in a "
        "trial: every class is added to what it stores); probmetrics calls relplot.",
    ]
    peers.findings += skipped or ["Every package could be imported."]
    table.write(PACKAGES)
    peers.write(PACKAGES)


def circumstances() -> str:
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return f"calibrant at commit {commit()}; load average at the end {load}, so other work may have shared the cores."


def _sorts() -> str:
    numbers = np.random.default_rng(0).random(ROWS)
    plain, keys, order = (
        best(lambda: np.sort(numbers)),
        best(lambda: np.sort(numbers.view(np.uint64))),
        best(lambda: np.argsort(numbers)),
    )
    disabled = os.environ.get("NPY_DISABLE_CPU_FEATURES", "") or "none"
    return f"{plain:.1f} ms; of the same bits as uint64 {keys:.1f}; `np.argsort` {order:.1f}. CPU features disabled: {disabled}."


def peak_bytes(call: Callable[[], Any]) -> int:
    """The most memory a call holds beyond its input; NumPy tells tracemalloc of every array."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def growth() -> None:
    report = Report(
        f"estimators_growth{SUFFIX}",
        "Time and memory as rows grow. Memory is the most that a call holds beyond its input (9 bytes a row).",
        ("estimator", "rows", "ms", "ns a row", "peak MB", "bytes a row"),
    )
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "np.sort": lambda y, p: np.sort(p),  # noqa: ARG005
        "equal width": cal.ece,
        "equal mass": lambda y, p: cal.binned_error(y, p, bins=cal.EqualMass(15)),
        "KS": cal.ks_error,
        "sweep": cal.sweep_error,
        "MMCE": cal.mmce,
        "smooth": cal.smooth_error,
        "SKCE, one event, bandwidth given": lambda y, p: cal.skce(y, p, bandwidth=0.25),
        "SKCE, one event": cal.skce,
        "density": cal.density_error,
        "cross-validated": cal.crossvalidated_error,
    }
    for name, call in calls.items():
        for n in GROWTH:
            data = binary(n)
            run = partial(call, data.labels, data.probs)
            took = best(run, seconds=1.0, least=2 if n >= ROWS else 5)
            peak = peak_bytes(run)
            report.add(name, f"{n:,}", took, 1e6 * took / n, peak / 1e6, peak / n)
            if took > PATIENCE:
                break
    found = large_kernel(100_000, CLASSES)
    report.findings.append(
        f"SKCE of 100,000 rows and {CLASSES} classes, once, in a fresh process: {found['seconds']:.1f} s, peak memory of the "
        f"process {found['peak']:.0f} MiB ({found['before']:.0f} before the call), value {found['value']:.3e}."
    )
    print(report.findings[-1])
    report.findings.append(circumstances())
    report.write(("scipy",))


def large_kernel(n: int, k: int) -> dict[str, float]:
    """SKCE at full size in a process of its own, with the most memory that it held, in MiB.

    Linux's VmHWM, since `ru_maxrss` would carry this process's own peak over into the new one.
    """
    done = subprocess.run([sys.executable, "-c", RSS, str(n), str(k)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    against_peers()
    growth()


if __name__ == "__main__":
    main()
