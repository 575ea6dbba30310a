"""Compiled on first use, and nothing that a user can do makes compiled code crash, hang or fail to load."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from calibrant.kernels.compiled import any_order, compiled


def doubled(x):
    return 2 * x


@any_order
def total(values):
    found = 0.0
    for value in values:
        found += value
    return found


@compiled
def mean(values):
    return total(values) / len(values)


@compiled
def distance_from_mean(values, at):
    return abs(values[at] - mean(values))


def test_it_is_the_python_it_was_made_of():
    fast = compiled(doubled)
    assert fast(3) == fast.plain(3) == 6
    assert fast.__name__ == "doubled"


def test_it_compiles_where_nothing_can_be_cached(monkeypatch):
    """Read-only installations without a writeable home, as in many containers."""
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert compiled(doubled)(3) == 6


def test_compiled_code_calls_compiled_code_and_plain_code_plain_code(monkeypatch):
    values = np.array([1.0, 2.0, 6.0])
    assert distance_from_mean(values, 2) == distance_from_mean.plain(values, 2) == 3.0
    assert distance_from_mean.plain.__globals__["mean"] is mean.plain
    assert distance_from_mean.plain.__name__ == "distance_from_mean"
    monkeypatch.setattr(compiled, "__call__", None)  # nothing compiled is called on the way
    assert distance_from_mean.plain(values, 0) == 2.0


def test_a_callee_keeps_its_own_freedom():
    called = mean._fast.py_func.__globals__["total"]
    assert called is total._fast
    assert called.targetoptions["fastmath"] == {"contract", "reassoc"}
    assert mean._fast.targetoptions["fastmath"] == set()


CALLER = """
from calibrant.kernels.compiled import compiled
from callee import raised

@compiled
def twice_raised(x):
    return 2 * raised(x)

print(twice_raised(3), sum(twice_raised._fast.stats.cache_hits.values()))
"""
CALLEE = """
from calibrant.kernels.compiled import compiled

@compiled
def raised(x):
    return x + {by}
"""


def test_the_cache_serves_other_processes_and_knows_when_a_callee_changes(tmp_path):
    """Numba itself looks for changes in the caller's file only."""

    def answer(by):
        (tmp_path / "callee.py").write_text(CALLEE.format(by=by))
        done = subprocess.run(
            [sys.executable, tmp_path / "caller.py"], capture_output=True, text=True, timeout=60, check=True
        )
        return tuple(map(int, done.stdout.split()))

    (tmp_path / "caller.py").write_text(CALLER)
    assert answer(by=1) == (8, 0)
    assert answer(by=1) == (8, 1)
    assert answer(by=5) == (16, 0)


def run(code, seconds):
    """A script in a fresh process, which may crash or hang without taking the tests along."""
    start = (
        "from contextlib import suppress; from functools import partial; import numpy as np, calibrant as cal\n"
        "from calibrant.kernels.sums import bin_sums\n"
    )
    return subprocess.run(
        [sys.executable, "-c", start + code], capture_output=True, text=True, timeout=seconds, check=False
    )


CHANGED = {
    "probs of an event": "p = np.full(99, 0.5); said = cal.Predictions(np.zeros(99), p); p *= 1e9",
    "NaN": "p = np.full(99, 0.5); said = cal.Predictions(np.zeros(99), p); p *= np.nan",
    "labels": "p = np.full((99, 2), 0.5); y = np.zeros(99, np.int32); said = cal.Predictions(y, p); y += 10**9",
    "probs of classes": "p = np.full((99, 2), 0.5); said = cal.Predictions(np.zeros(99), p); p *= 1e9",
}


def test_arrays_changed_after_they_were_checked_do_not_crash_the_process():
    """Data are not copied, so the user can still write to them; the answer may then be nonsense or an error."""
    code = "from calibrant.kernels.rows import buckets\nfor module in (bin_sums, buckets): module.COMPILE_FROM = 1\n"
    for name, change in CHANGED.items():
        calls = ["partial(cal.ece, view='classwise')" if "2)" in change else "cal.ece"]
        if "2)" not in change:
            calls += ["cal.ks_error", "cal.binned_error", "cal.sweep_error", "cal.mmce", "cal.smooth_error"]
        for call in calls:
            code += f"{change}\nprint({name!r}, {call!r}, flush=True)\nwith suppress(Exception): ({call})(said)\n"
    done = run(code + "print('all')", 180)
    assert done.returncode >= 0, f"killed by signal {-done.returncode} at {done.stdout.splitlines()[-1:]}"
    assert done.stdout.splitlines()[-1:] == ["all"], done.stderr
