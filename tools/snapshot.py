"""Numbers of every public method on fixed data, written to a file or compared with one to 1e-12.

Usage: `python tools/snapshot.py write FILE` before a change of the code, `python tools/snapshot.py compare FILE` after it.
The cases are in `snapshot_methods.py` and `snapshot_worlds.py`. Sentences are recorded but not compared.
"""
# ruff: noqa: E402

from __future__ import annotations

import os

for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

import snapshot_methods  # noqa: F401
import snapshot_worlds  # noqa: F401
from snapshot_cases import CASES, SEEN, public_names

TOLERANCE = 1e-12
LONGEST = 40
"""longer arrays are recorded by their sums and by half as many of their entries"""
TIMES = ("seconds",)
"""fields that differ from run to run"""

Flat = dict[str, "float | str"]


def flattened(value: Any, path: str = "") -> Iterator[tuple[str, float | str]]:
    """Every number and every text in a result, each with its path."""
    SEEN.update(base.__name__ for base in type(value).__mro__)
    if value is None:
        return
    if isinstance(value, bool | int | float | np.bool_ | np.number):
        yield path, float(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        yield from _array(value, path)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in (each for each in fields(value) if each.name not in TIMES):
            yield from flattened(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from flattened(each, f"{path}.{key}")
    elif isinstance(value, list | tuple | np.ndarray):
        plain = all(isinstance(each, bool | int | float | np.number) for each in value)
        if plain and len(value) > LONGEST:
            yield from _array(np.asarray(value, dtype=float), path)
        else:
            for i, each in enumerate(value):
                yield from flattened(each, f"{path}[{i}]")
    else:
        yield from _other(value, path)


def _other(value: Any, path: str) -> Iterator[tuple[str, float | str]]:
    """Predictions and forecasts by what they say; a monitor by its state; anything else by its text."""
    for attribute in ("outputs", "state"):
        if hasattr(value, attribute) and not callable(getattr(value, attribute)):
            yield from flattened(getattr(value, attribute), f"{path}.{attribute}")
            return
    yield path, str(value)[:60]


def _array(values: np.ndarray, path: str) -> Iterator[tuple[str, float | str]]:
    flat = values.astype(np.float64).ravel()
    entries = np.arange(flat.size)
    if flat.size > LONGEST:
        entries = np.linspace(0, flat.size - 1, LONGEST // 2).astype(int)
        finite = np.where(np.isfinite(flat), flat, 0.0)
        yield f"{path}.size", float(flat.size)
        yield f"{path}.sum", math.fsum(finite)
        yield f"{path}.squares", math.fsum(finite**2)
    for i in entries:
        yield f"{path}[{i}]", float(flat[i])


def computed() -> dict[str, Flat]:
    found: dict[str, Flat] = {}
    seconds: dict[str, float] = {}
    for case, call in CASES.items():
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[case] = dict(flattened(call()))
        except Exception as problem:
            SEEN.update(base.__name__ for base in type(problem).__mro__)
            found[case] = {"error": f"{type(problem).__name__}: {problem}"[:200]}
        seconds[case] = time.perf_counter() - start
    slowest = sorted(seconds, key=lambda case: -seconds[case])[:8]
    print(f"{sum(seconds.values()):.0f} s; slowest:", ", ".join(f"{case} {seconds[case]:.1f}" for case in slowest))
    return found


def apart(old: float, new: float) -> float:
    """The distance, absolute or relative, whichever is smaller; 0 for the same infinity and for two NaN."""
    if old == new or (math.isnan(old) and math.isnan(new)):
        return 0.0
    if not (math.isfinite(old) and math.isfinite(new)):
        return math.inf
    return abs(old - new) / max(1.0, abs(old), abs(new))


def numbers(case: Flat) -> dict[str, float]:
    return {path: value for path, value in case.items() if not isinstance(value, str)}


def differences(old: Flat, new: Flat) -> list[tuple[str, float]]:
    """Where a case differs, and by how much; fields that moved are looked for among all numbers of the case."""
    if "error" in new:
        return [] if "error" in old else [(f"raises {new['error']}", math.inf)]
    before, after = numbers(old), numbers(new)
    if before.keys() == after.keys():
        found = [(f"{path}: {before[path]!r} → {after[path]!r}", apart(before[path], after[path])) for path in before]
        return [each for each in found if each[1] > TOLERANCE]
    left = sorted(after.values(), key=_order)
    return list(_missing(sorted(before.items(), key=lambda item: _order(item[1])), left))


def _order(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value)


def _missing(old: list[tuple[str, float]], left: list[float]) -> Iterator[tuple[str, float]]:
    """Old numbers without a partner among the new ones: both in order, each new number used once."""
    at = 0
    for path, value in old:
        while at < len(left) and apart(value, left[at]) > TOLERANCE and _order(left[at]) < _order(value):
            at += 1
        if at < len(left) and apart(value, left[at]) <= TOLERANCE:
            at += 1
        else:
            nearest = min((apart(value, each) for each in left), default=math.inf)
            yield f"{path}: {value!r} is gone", nearest


def compare(path: Path) -> int:
    old, new = json.loads(path.read_text()), computed()
    wrong = 0
    for case, before in old.items():
        found = differences(before, new[case]) if case in new else [("the case is gone", math.inf)]
        if found:
            wrong += 1
            worst = max(found, key=lambda each: each[1])
            print(f"{case}: {len(found)} differ, largest by {worst[1]:.3g}: {worst[0]}")
        elif "error" in before and "error" not in new[case]:
            print(f"{case}: raised before, now does not")
    moved = sum(numbers(old[case]).keys() != numbers(new[case]).keys() for case in old if case in new)
    print(f"{len(old)} cases, {wrong} differ; {moved} have other fields; {len(new.keys() - old.keys())} are new")
    return int(wrong > 0)


def write(path: Path) -> int:
    found = computed()
    path.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n")
    raised = {case: flat["error"] for case, flat in found.items() if "error" in flat}
    for case, text in raised.items():
        print(f"{case}: {text}")
    count = sum(len(numbers(flat)) for flat in found.values())
    print(f"{len(found)} cases, {count} numbers, {len(raised)} raise")
    print("public names not covered:", ", ".join(sorted(set(public_names()) - SEEN)) or "none")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in {"write", "compare"}:
        sys.exit(__doc__)
    sys.exit({"write": write, "compare": compare}[sys.argv[1]](Path(sys.argv[2])))
