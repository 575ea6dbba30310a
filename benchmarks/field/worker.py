"""Runs one package's calls in its own environment: a command per line comes in as JSON, an answer per line goes out.

calls.py, fits.py and data.py are all that it needs beside a package and NumPy: calibrant is imported in its own environment only.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.field.calls import Call
from benchmarks.field.data import Data
from benchmarks.field.table import CALLS, FLOOR, number

LONG = 0.005
"""Seconds that a timing lasts at least: short calls are repeated in a loop."""


class Worker:
    """What one process keeps between commands: the data, and the calls made ready for them."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.data: dict[str, Data] = {}
        self.ready: dict[tuple[str, str], Callable[[], Any]] = {}

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do one command; what goes wrong in a package is an answer too."""
        try:
            return getattr(self, "do_" + command.pop("do"))(**command)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]}

    def do_data(self, name: str, file: str) -> dict[str, Any]:
        """Read arrays from a file and forget older ones."""
        self.ready.clear()
        with np.load(file) as found:
            self.data = {name: Data(**{key: found[key] for key in found.files})}
        return {}

    def call(self, task: str) -> Call:
        return FLOOR if task == "floor" else CALLS[task, self.peer]

    def do_first(self, task: str, data: str) -> dict[str, Any]:
        """Make a call ready, call it once, and give the number and the time of that first call."""
        call = self.call(task)
        run = call.make(self.data[data])
        start = time.perf_counter()
        found = run()
        took = time.perf_counter() - start
        self.ready[task, data] = run
        return {"value": number(call.read(found)), "ms": 1e3 * took}

    def do_time(self, task: str, data: str) -> dict[str, Any]:
        """Milliseconds of one call, on the clock and of all cores together."""
        run = self.ready[task, data]
        times, done = 1, 0
        while True:
            wall, cores = time.perf_counter(), time.process_time()
            for _ in range(times):
                run()
            wall, cores, done = time.perf_counter() - wall, time.process_time() - cores, times
            if wall >= LONG:
                return {"wall": 1e3 * wall / done, "cores": 1e3 * cores / done}
            times = max(2 * times, int(1.2 * LONG / max(wall / times, 1e-7)))

    def do_memory(self, task: str, data: str) -> dict[str, Any]:
        """Megabytes that a call adds at most to what the process holds before it."""
        run = self.ready[task, data]
        before = reset_peak()
        run()
        return {"mb": max(0.0, peak() - before)}

    def do_many(self, task: str, data: str, peer: str, seconds: float, least: int) -> dict[str, Any]:
        """The numbers of a call on each of many data sets, which are the rows of the arrays; after `least`, until time is over."""
        call, sets, values, start = CALLS[task, peer], self.data[data], [], math.inf
        for labels, probs in zip(sets.labels, sets.probs, strict=True):
            if len(values) >= least and time.process_time() - start > seconds:
                break
            values.append(number(call.read(call.make(Data(labels, probs))())))
            start = min(start, time.process_time())  # the first call imports and compiles
        return {"values": values}


def reset_peak() -> float:
    """Give freed memory back and forget the most ever held, where the system can; megabytes held now."""
    gc.collect()
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # else a call reuses what the one before it freed, and seems to need nothing
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return peak()
    return _status("VmRSS")


def peak() -> float:
    """The most megabytes that this process held."""
    try:
        return _status("VmHWM")
    except OSError:
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (1e6 if sys.platform == "darwin" else 1e3)


def _status(key: str) -> float:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split(key + ":")[1].split()[0]) * 1024 / 1e6


def once(worker: Worker, task: str, file: str) -> dict[str, Any]:
    """A process that does one thing: milliseconds of its first call, and of all cores since it started."""
    started = 1e3 * time.process_time()
    worker.do_data("once", file)
    first = worker.do_first(task, "once")
    return {"started": started, "first": first["ms"], "cores": 1e3 * time.process_time()}


def main(peer: str, cores: str, *single: str) -> None:
    """Serve until the commands end. What packages print goes to the log, not among the answers."""
    if cores == "one" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    worker = Worker(peer)
    found = (once(worker, *single) for _ in "1") if single else (worker.answer(json.loads(line)) for line in sys.stdin)
    for answer in found:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
