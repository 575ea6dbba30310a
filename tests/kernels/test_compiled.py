"""Compiled on first use, and nothing that a user can do makes compiled code crash, hang or fail to load."""

from __future__ import annotations

import subprocess
import sys

from calibrant.kernels.compiled import compiled


def doubled(x):
    return 2 * x


def test_it_is_the_python_it_was_made_of():
    fast = compiled(doubled)
    assert fast(3) == fast.plain(3) == 6
    assert fast.__name__ == "doubled"


def test_it_compiles_where_nothing_can_be_cached(monkeypatch):
    """Read-only installations without a writeable home, as in many containers."""
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert compiled(doubled)(3) == 6


def run(code, seconds):
    """A script in a fresh process, which may crash or hang without taking the tests along."""
    start = (
        "from contextlib import suppress; from functools import partial; import numpy as np, calibrant as cal\n"
        "from calibrant.kernels import bin_sums, class_sums\n"
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
    code = "from calibrant.kernels import buckets, error_grid\nfor module in (bin_sums, class_sums, buckets, error_grid): module.COMPILE_FROM = 1\n"
    for name, change in CHANGED.items():
        calls = ["partial(cal.ece, view='classwise')" if "2)" in change else "cal.ece"]
        if "2)" not in change:
            calls += ["cal.ks_error", "cal.binned_error", "cal.sweep_error", "cal.mmce", "cal.smooth_error"]
        for call in calls:
            code += f"{change}\nprint({name!r}, {call!r}, flush=True)\nwith suppress(Exception): ({call})(said)\n"
    done = run(code + "print('all')", 180)
    assert done.returncode >= 0, f"killed by signal {-done.returncode} at {done.stdout.splitlines()[-1:]}"
    assert done.stdout.splitlines()[-1:] == ["all"], done.stderr
