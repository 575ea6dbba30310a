"""Time and memory of every call, packages taking turns, each in a process of its own environment."""

from __future__ import annotations

import json
import math
import os
import select
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.field.environments import OWN, ROOT, Environment, wanted
from benchmarks.field.table import CALLS
from benchmarks.field.tasks import Shape, Task, make_data

FLOOR = "floor"
EQUAL = 6
"""Digits from which on two numbers count as equal; a smaller agreement needs its explanation."""

MEMORY_FROM = 100_000
"""Rows times classes from which memory is measured: below, a process's own fluctuation is larger."""


class Stopped(Exception):
    """A worker that did not answer in time, or died."""


class Process:
    """A worker in one environment; started when first asked, started anew after it was stopped."""

    def __init__(self, environment: Environment, one_core: bool, patience: float) -> None:
        self.environment, self.one_core, self.patience = environment, one_core, patience
        self.running: subprocess.Popen[str] | None = None
        self.holds = ""

    def start(self) -> subprocess.Popen[str]:
        command = [str(self.environment.python), "-m", "benchmarks.field.worker", self.environment.name]
        command.append("one" if self.one_core else "all")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.holds = ""
        return subprocess.Popen(command, text=True, cwd=ROOT, env=surroundings(self.one_core), **pipes)

    def ask(self, **command: Any) -> dict[str, Any]:
        self.running = self.running or self.start()
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        try:
            self.running.stdin.write(json.dumps(command) + "\n")
            self.running.stdin.flush()
            ready, _, _ = select.select([self.running.stdout], [], [], self.patience)
            line = self.running.stdout.readline() if ready else ""
        except OSError:
            line = ""
        if line:
            return json.loads(line)
        reason = "its process ended" if ready else f"no answer in {self.patience:g} s"
        self.stop()
        raise Stopped(reason)

    def ask_on(self, file: Path, **command: Any) -> dict[str, Any]:
        """Ask about data, sent first where the worker does not hold them."""
        if self.running is None or self.holds != file.stem:
            self.ask(do="data", name=file.stem, file=str(file))
            self.holds = file.stem
        return self.ask(data=file.stem, **command)

    def stop(self) -> None:
        if self.running is not None:
            with self.running as ending:  # closes its pipes and waits
                ending.kill()
        self.running = None


def surroundings(one_core: bool, **more: str) -> dict[str, str]:
    """Variables of a worker: the checkout's `benchmarks` can be imported, and the threads of libraries are as many as the cores."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")} if one_core else {}
    kept = {key: each for key, each in os.environ.items() if key not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    return kept | threads | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | more


@contextmanager
def processes(found: dict[str, Environment], one_core: bool, patience: float) -> Iterator[dict[str, Process]]:
    made = {name: Process(each, one_core, patience) for name, each in found.items() if not each.error}
    try:
        yield made
    finally:
        for each in made.values():
            each.stop()


@contextmanager
def files() -> Iterator[Any]:
    """A function from shapes to files that hold their data, written when first wanted."""
    with tempfile.TemporaryDirectory() as folder:

        def file(shape: Shape) -> Path:
            path = Path(folder) / f"{shape[0]}_{shape[1]}.npz"
            if not path.exists():
                np.savez(path, **make_data(shape))
            return path

        yield file


def measure_all(
    tasks: Sequence[tuple[Task, Sequence[Shape]]],
    workers: dict[str, Process],
    file: Any,
    rounds: int,
    slow: float,
    minutes: float,
) -> tuple[list[dict[str, Any]], list[tuple[str, Shape]]]:
    """Rows of every task, small sizes first, and what was left when the minutes were over.

    A package that failed, or took longer than `slow` milliseconds, is not asked at larger sizes.
    """
    stop, left = time.monotonic() + 60 * minutes, []
    rows: dict[str, list[dict[str, Any]]] = {task.name: [] for task, _ in tasks}
    given_up: set[tuple[str, str]] = set()
    for shape, task in sorted(
        ((shape, task.name) for task, shapes in tasks for shape in shapes),
        key=lambda each: math.prod(each[0]) or each[0][0],
    ):
        if time.monotonic() > stop:
            left.append((task, shape))
            continue
        names = [name for name in workers if (task, name) in CALLS and (task, name) not in given_up]
        names = [name for name in names if shape[0] <= CALLS[task, name].most]
        found = measure_shape(task, file(shape), names, workers, rounds, slow)
        for name, row in found.items():
            rows[task].append({"task": task, "n": shape[0], "k": shape[1], "peer": name} | row)
            if "error" in row or row["wall"] > slow:
                given_up.add((task, name))
        texts = ", ".join(said(name, row) for name, row in found.items())
        print(f"{task}, {shape[0]:,} × {shape[1]}: {texts}", flush=True)
    return [row for each in rows.values() for row in each], left


def said(name: str, row: dict[str, Any]) -> str:
    return f"{name} {row['error']}" if "error" in row else f"{name} {row['cores']:.3g} ms"


def measure_shape(
    task: str, file: Path, names: list[str], workers: dict[str, Process], rounds: int, slow: float
) -> dict[str, dict[str, Any]]:
    """First calls, then rounds in which the packages take turns, then memory."""
    found: dict[str, dict[str, Any]] = {}
    values: dict[str, Any] = {}
    for name in names:
        found[name], values[name] = first(workers[name], file, task)
    times: dict[str, list[dict[str, float]]] = {name: [] for name in names if "error" not in found[name]}
    floor = workers[OWN]
    ask(floor, file, do="first", task=FLOOR)
    times[FLOOR] = []
    for number in range(rounds):
        for name, each in times.items():
            if number < 2 or min(t["wall"] for t in each) < slow / rounds:  # one of them may have compiled something
                worker, what = (floor, FLOOR) if name == FLOOR else (workers[name], task)
                answer = ask(worker, file, do="time", task=what)
                if "error" in answer:
                    found[name] = {"error": answer["error"]}
                    break
                each.append(answer)
    for name, each in times.items():
        row = found.setdefault(name, {})
        if "error" not in row:
            for clock in ("wall", "cores"):
                low, middle, high = np.percentile([t[clock] for t in each], (25, 50, 75)).tolist()
                row |= {clock: middle, f"{clock}_low": low, f"{clock}_high": high}
            row["times"] = len(each)
            if name != FLOOR and file_cells(file) >= MEMORY_FROM:
                row |= ask(workers[name], file, do="memory", task=task)
    for name in names:
        if name != OWN and "error" not in found[name]:
            found[name] |= agreement(task, name, values, workers[OWN], file)
    return found


def file_cells(file: Path) -> int:
    rows, classes = map(int, file.stem.split("_"))
    return rows * max(classes, 1)


def ask(worker: Process, file: Path, **command: Any) -> dict[str, Any]:
    try:
        return worker.ask_on(file, **command)
    except Stopped as stopped:
        return {"error": str(stopped)}


def first(worker: Process, file: Path, task: str) -> tuple[dict[str, Any], Any]:
    answer = ask(worker, file, do="first", task=task)
    if "error" in answer:
        return {"error": answer["error"]}, None
    if not np.isfinite(answer["value"]).all():
        return {"error": "its result is not a number"}, None
    return {"first": answer["ms"]}, answer["value"]


def agreement(task: str, name: str, values: dict[str, Any], own: Process, file: Path) -> dict[str, Any]:
    """Digits to which a package's number is ours, asked its own question."""
    call, expected = CALLS[task, name], values.get(OWN)
    if call.against:
        expected = ask(own, file, do="first", task=call.against).get("value")
    if expected is None:
        return {}
    same = digits(values[name], expected)
    facts = {"differs": call.differs if same < EQUAL else "", "aside": call.aside}
    return {"digits": same} | {key: each for key, each in facts.items() if each}


def digits(theirs: Any, ours: Any) -> int:
    """Leading decimal digits that two numbers, or lists of numbers, share: of the largest difference over the largest number."""
    a, b = np.atleast_1d(np.asarray(theirs, float)), np.atleast_1d(np.asarray(ours, float))
    if a.shape != b.shape:
        return 0
    apart, size = float(np.abs(a - b).max()), float(np.abs(b).max())
    if apart == 0:
        return 16
    return max(0, min(16, math.floor(-math.log10(apart / size)))) if size else 0


def start_up(found: dict[str, Environment], file: Path, one_core: bool, times: int) -> list[dict[str, Any]]:
    """For each package: importing it, and a new process until its first number of 1000 rows; medians of CPU time."""
    rows = []
    for name, environment in found.items():
        row: dict[str, Any] = {"peer": name, "error": environment.error} if environment.error else {"peer": name}
        if not environment.error:
            row |= {
                "version": environment.version,
                "megabytes": environment.megabytes,
                "packages": len(environment.packages),
            }
            row |= {"import": imported(environment, wanted(name)[1], one_core, times)}
            if name == OWN:
                row["numpy"] = imported(environment, "numpy", one_core, times)
            if task := first_task(name):
                row |= {"task": task} | from_start(environment, task, file, one_core, times)
        rows.append(row)
        print(row, flush=True)
    return rows


def first_task(name: str) -> str:
    """ECE where a package has it, else the first thing that it has of one event."""
    has = [
        task
        for task, peer in CALLS
        if peer == name and "classes" not in task and task not in ("crps", "top", "classwise")
    ]
    return "ece" if "ece" in has else (has or [""])[0]


def imported(environment: Environment, module: str, one_core: bool, times: int) -> float:
    """Median CPU milliseconds of importing a module in a new process."""
    code = f"import time; a = time.process_time(); import {module}; print(1e3 * (time.process_time() - a))"
    command, around = [str(environment.python), "-c", code], surroundings(one_core)
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=around) for _ in range(times)
    ]
    return statistics.median(float(run.stdout.splitlines()[-1]) for run in runs)


def from_start(
    environment: Environment, task: str, file: Path, one_core: bool, times: int, **around: str
) -> dict[str, float]:
    """Median CPU milliseconds of a process that makes one call, and of that call on the clock."""
    command = [str(environment.python), "-m", "benchmarks.field.worker", environment.name, "one" if one_core else "all"]
    command += [task, str(file)]
    options = {"capture_output": True, "text": True, "cwd": ROOT, "env": surroundings(one_core, **around)}
    answers = []
    for _ in range(times):
        done = subprocess.run(command, check=False, **options)
        if done.returncode:
            return {}
        answers.append(json.loads(done.stdout.splitlines()[-1]))
    return {key: statistics.median(each[key] for each in answers) for key in ("first", "cores")}


def compiling(environment: Environment, tasks: list[str], file: Path, one_core: bool) -> list[dict[str, Any]]:
    """calibrant's first call of a new process, with an empty cache of compiled kernels and with a full one."""
    rows = []
    for task in tasks:
        with tempfile.TemporaryDirectory() as cache:
            empty, full = (from_start(environment, task, file, one_core, 1, NUMBA_CACHE_DIR=cache) for _ in range(2))
        rows.append({"task": task, "empty": empty.get("first"), "full": full.get("first")})
        print(rows[-1], flush=True)
    return rows
