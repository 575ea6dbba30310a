"""Compiled on first use, and nothing that a user can do makes compiled code crash, hang or fail to load."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from calibrant.kernels import compiled as module
from calibrant.kernels.compiled import COMPILE_FROM, any_order, compiled, many_calls, worth_compiling


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


@pytest.mark.parametrize("on", [True, False])
def test_garbage_is_collected_after_compiling_if_it_was_before(on):
    seen = []

    @module._uncollected()
    def compile_(fails):
        seen.append(gc.isenabled())
        if fails:
            raise ValueError("not compiled")

    (gc.enable if on else gc.disable)()
    try:
        compile_(False)
        with pytest.raises(ValueError, match="not compiled"):
            compile_(True)
        assert gc.isenabled() == on
    finally:
        gc.enable()
    assert seen == [False, False]


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
    assert called is total._inner
    assert called.targetoptions["fastmath"] == {"contract", "reassoc"}
    assert mean._fast.targetoptions["fastmath"] == set()


TWICE = """
from calibrant.kernels.compiled import compiled

@compiled
def twice(x):
    return 2 * x

print(twice(3), sum(twice._fast.stats.cache_hits.values()))
"""
DAMAGES = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "garbage": lambda data: os.urandom(len(data)),
    "another pickle": lambda data: b"\x80\x04K\x01.",
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_cache_is_begun_anew(tmp_path, suffix):
    script, kept = tmp_path / "script.py", tmp_path / "kept"
    script.write_text(TWICE)

    def answer():
        done = subprocess.run(
            [sys.executable, script],
            env=os.environ | {"NUMBA_CACHE_DIR": str(kept)},
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert not done.stderr
        return done.stdout.split()

    assert answer() == ["6", "0"]
    for name, damage in DAMAGES.items():
        for file in kept.rglob(f"*.{suffix}"):
            file.write_bytes(damage(file.read_bytes()))
        assert answer() == ["6", "0"], name
    assert answer() == ["6", "1"]


@pytest.mark.parametrize("failure", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_full_or_read_only_disk_costs_the_cache_alone(monkeypatch, tmp_path, failure):
    def fails(*_):
        raise OSError(failure, os.strerror(failure))

    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_data", fails)
    assert compiled(doubled)(3) == 6
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_index", fails)
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._load_index", fails)
    assert compiled(doubled)(3.0) == 6


@pytest.mark.slow
def test_a_cache_directory_that_is_a_file_is_done_without(tmp_path):
    (tmp_path / "kept").write_text("")
    (tmp_path / "script.py").write_text(TWICE)
    here = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "HOME": str(tmp_path / "kept"), "XDG_CACHE_HOME": "/proc/1"}
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], env=os.environ | here, capture_output=True, timeout=60, check=False
    )
    assert done.stdout.split()[:1] == [b"6"], done.stderr


WITHOUT_NUMBA = """
import sys, warnings
if {missing}: sys.modules["numba"] = None
import numpy as np, calibrant as cal
from calibrant.kernels.compiled import many_calls
rng = np.random.default_rng(0)
p = rng.random(60)
y = rng.random(60) < p
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    with many_calls():
        found = [cal.is_calibrated(y, p, n_draws=39).p_value, cal.maps.PiecewiseLinear().fit(y, p).apply(p).sum()]
    found += [cal.ks_error(y, p).value, cal.maps.Isotonic().fit(y, p).apply(p).sum()]
print(*found)
print([str(w.message) for w in told])
"""


@pytest.mark.slow
def test_without_numba_the_answers_are_slower_and_the_same():
    done = [run(WITHOUT_NUMBA.format(missing=missing), 120) for missing in (True, False)]
    without, with_it = (each.stdout.splitlines() for each in done)
    found, expected = (list(map(float, each[0].split())) for each in (without, with_it))
    assert found == pytest.approx(expected, rel=1e-9), done  # exponentials of another library end the search elsewhere
    assert with_it[1] == "[]"
    assert without[1].count("Numba cannot be imported") == 1
    assert "Install numba" in without[1]


def test_many_calls_of_one_thread_are_not_those_of_another():
    inside, seen = threading.Event(), []

    def other():
        inside.wait(10)
        seen.append(worth_compiling(1))

    thread = threading.Thread(target=other)
    thread.start()
    with many_calls():
        seen.append(worth_compiling(1))
        inside.set()
        thread.join()
    assert seen == [True, False]
    assert not worth_compiling(1)


def test_compiling_is_announced_once_and_on_a_terminal_alone(monkeypatch, capsys):
    module._announce.cache_clear()
    module._announce()
    assert capsys.readouterr().err == ""
    module._announce.cache_clear()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    module._announce()
    module._announce()
    assert capsys.readouterr().err.count("compiles its loops") == 1


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


@pytest.mark.slow
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
    assert answer(by=15) == (36, 0)  # longer: Python itself may take a file of the same size and second for the same


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


@pytest.mark.slow
def test_arrays_changed_after_they_were_checked_do_not_crash_the_process():
    """Data are not copied, so the user can still write to them; the answer may then be nonsense or an error."""
    code = "from calibrant.kernels.rows import buckets\nbin_sums.COMPILE_FROM = buckets.BUCKETS_FROM = 1\n"
    for name, change in CHANGED.items():
        calls = ["partial(cal.ece, view='classwise')" if "2)" in change else "cal.ece"]
        if "2)" not in change:
            calls += ["cal.ks_error", "cal.binned_error", "cal.sweep_error", "cal.mmce", "cal.smooth_error"]
        for call in calls:
            code += f"{change}\nprint({name!r}, {call!r}, flush=True)\nwith suppress(Exception): ({call})(said)\n"
    done = run(code + "print('all')", 180)
    assert done.returncode >= 0, f"killed by signal {-done.returncode} at {done.stdout.splitlines()[-1:]}"
    assert done.stdout.splitlines()[-1:] == ["all"], done.stderr


def test_a_form_in_numpy_is_for_small_inputs():
    @compiled
    def filled(found):
        found[:] = 1.0

    @filled.in_numpy
    def _filled(found):
        found[:] = 2.0

    small, large = np.empty(5), np.empty(COMPILE_FROM)
    filled(small)
    filled(large)
    assert (small == 2).all()
    assert (large == 1).all()
    with many_calls():
        filled(small)
    assert (small == 1).all()


TESTS = """
import sys, numpy as np, calibrant as cal
from calibrant.methods import methods
rng = np.random.default_rng(0)
p, rows = rng.random(60).round(2), rng.dirichlet(np.ones(3), 60)
y, classes = (rng.random(60) < p).astype(int), rng.integers(0, 3, 60)
grouped = cal.Predictions(y, p, groups=np.arange(60) // 3)
for name, test in methods("test").items():
    test.function(y, p)
    test.function(classes, rows)
    test.function(y, p, weights=1 + p)
    test.function(y, p, method="asymptotic") if "asymptotic" in test.ways else None
cal.is_calibrated(grouped, cluster="same"), cal.is_calibrated(grouped, cluster="any")
cal.is_calibrated(classes, rows, view="canonical")
cal.diagnose(y, p), cal.diagnose(classes, rows), cal.where(y, p)
cal.audit(grouped, {"f": p > 0.5, "x": rng.random(60)}, cluster="any")
print("numba" in sys.modules)
"""


@pytest.mark.slow
def test_tests_of_small_data_never_wait_for_a_compiler():
    done = run(TESTS, 120)
    assert done.stdout.strip() == "False", done


@pytest.mark.parametrize("there", [True, False])
def test_when_a_form_that_gives_the_same_numbers_is_compiled(monkeypatch, there):
    few, many, loaded = np.zeros(10), np.zeros(module.LONG), []
    monkeypatch.setattr(module, "_loaded", loaded)
    monkeypatch.setattr(module, "_there", lambda: there)
    monkeypatch.setattr(module, "_numba", lambda: loaded.append(None) or object())

    def calls(one, array):
        """So many calls until it is ready; None where it never is."""
        return next((i for i in range(2000) if one.ready(array)), None)

    enough = module.ENOUGH_WORK / (module.LONG + module.CALL)
    assert calls(compiled(doubled), few) is None  # few numbers load no compiler
    first = calls(compiled(doubled), many)
    assert first == (int(module.MANY_TIMES * enough) if there else None)
    loaded[:] = [None]
    assert calls(compiled(doubled), many) == int(enough)
    assert calls(compiled(doubled), few) == module.ENOUGH_WORK // (module.CALL + 10)
    expecting = compiled(doubled)
    expecting.expect(many)
    assert expecting.ready(many)
    assert not expecting.ready(np.zeros(module.LONG, np.float32))
