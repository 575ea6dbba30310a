"""Estimates on many simulated data sets: in batches, on several cores, with progress, resumable."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.inputs import check_count, check_seed
from calibrant.kernels.compiled import many_calls
from calibrant.methods import find, method_of, methods
from calibrant.problems import FileError, InputError
from calibrant.progress import Progress, reported
from calibrant.results import Estimate
from calibrant.simulate.batch import Batch, batched
from calibrant.simulate.world import EventWorld, World
from calibrant.types import Floats, Seed


@dataclass(frozen=True, slots=True)
class Named:
    """An estimator that can be called, with the facts a comparison needs."""

    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        return self.function(*arguments, **{**self.options, **more})

    def option(self, name: str, default: Any) -> Any:
        """An option as it is set, or the function's default."""
        known = inspect.signature(self.function).parameters.get(name)
        unset = default if known is None or known.default is inspect.Parameter.empty else known.default
        return self.options.get(name, unset)

    @property
    def of_the_error(self) -> bool:
        """Does it estimate the true error of its norm? Functions that are not registered are taken to do so."""
        registered = method_of(self.function)
        return registered is None or bool(registered.of_the_error)


def named(estimator: Any, name: str | None = None, argument: str = "estimator") -> Named:
    """An estimator given as a function, as a partial of one, or by its name."""
    if isinstance(estimator, Named):
        return Named(name or estimator.name, estimator.function, estimator.options)
    if isinstance(estimator, str):
        registered = find("estimator", estimator)
        if registered is None:
            names = ", ".join(methods("estimator"))
            raise InputError(argument, f"must be one of {names}, or a function", f"it is {estimator!r}")
        return Named(name or registered.name, registered.function)
    if isinstance(estimator, partial):
        if estimator.args:
            raise InputError(argument, "must be a partial of keywords only", f"it fixes {estimator.args!r}")
        inner = named(estimator.func, None, argument)
        options = {**inner.options, **estimator.keywords}
        shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
        return Named(name or f"{inner.function.__name__}({shown})", inner.function, options)
    if not callable(estimator) or isinstance(estimator, type):
        needed = "must be a function (labels, probs), a partial of one, or a name"
        raise InputError(argument, needed, f"it is {estimator!r}")
    return Named(name or str(getattr(estimator, "__name__", repr(estimator))), estimator)


def named_all(estimators: Any, argument: str = "estimator") -> tuple[list[Named], bool]:
    """One estimator, a list of them, or a mapping of names to them; and whether it was one alone."""
    if isinstance(estimators, Mapping):
        return [named(each, name, argument) for name, each in estimators.items()], False
    if isinstance(estimators, list | tuple):
        return [named(each, None, argument) for each in estimators], False
    return [named(estimators, None, argument)], True


def sizes_of(sizes: Any, argument: str = "n") -> list[int]:
    """Whole numbers, at least one of them; a single one may come without a list."""
    found = [check_count(size, argument) for size in np.atleast_1d(np.asarray(sizes, dtype=object)).tolist()]
    if not found:
        raise InputError(argument, "must hold at least one number", "it is empty")
    return found


ROWS_PER_PART = 1 << 18
"""Rows drawn at once, so that a batch stays near the cache; the draws depend on this, not on the number of workers."""

DATA_SETS_PER_PART = 32

WORTH_WORKERS = 4_000_000
"""Rows times estimators from which on other processes are started at once."""

WORTH_SECONDS = 4.0
"""What is left of fewer is computed by other processes from so many seconds on, about as long as these take to start."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Estimates on simulated data sets: values and intervals `(E, R)`, and the total seconds of each estimator."""

    n: int
    values: Floats
    low: Floats
    high: Floats
    seconds: Floats

    @classmethod
    def of(cls, n: int, parts: Sequence[Floats]) -> Measured:
        """From parts, in order."""
        values, low, high, seconds = np.concatenate(parts, axis=2)
        return cls(n, values, low, high, seconds.sum(axis=1))


def measured(
    estimators: Sequence[Named],
    world: World,
    n: int,
    n_data_sets: int,
    seed: Seed,
    *,
    view: str = "auto",
    workers: int | None = None,
    progress: Progress = False,
    checkpoint: Any = None,
) -> Measured:
    """All estimators on the same simulated data sets.

    Parameters
    ----------
    estimators
        What to compute on each data set.
    world
        Where the data sets come from.
    n
        Rows per data set.
    n_data_sets
        Number of data sets.
    seed
        Seed; the same seed gives the same data sets, whatever the number of workers.
    view
        Passed to the estimators unless it is `"auto"`.
    workers
        Processes; by default one per core where there is much to compute.
    progress
        True: a bar on the terminal; a function is called with the numbers of steps done and
        of all.
    checkpoint
        File that keeps finished parts, so that the same call can be resumed.
    """
    if not estimators:
        raise InputError("estimator", "must name at least one estimator", "it is empty")
    check_count(n, "n")
    check_count(n_data_sets, "n_data_sets")
    seed = check_seed(seed)
    keys = parts_of(n, n_data_sets)
    if workers is None and n * n_data_sets * len(estimators) >= WORTH_WORKERS:
        workers = os.cpu_count() or 1
    kept = Checkpoint(checkpoint, estimators, world, view, seed)
    left = [key for key in keys if key not in kept.parts]
    parts = computed([(estimators, world, n, count, (seed, n, k), view) for _, count, k in left], workers)
    with reported(progress, f"{world.describe()}, n = {n:,}") as report:
        for done, (key, part) in enumerate(zip(left, parts, strict=True), len(keys) - len(left) + 1):
            kept.add(key, part)
            report(done, len(keys))
    return Measured.of(n, [kept.parts[key] for key in keys])


def parts_of(n: int, n_data_sets: int) -> list[tuple[int, int, int]]:
    """The parts that data sets are drawn in: rows, data sets and number of each."""
    step = int(np.clip(ROWS_PER_PART // n, 1, DATA_SETS_PER_PART))
    return [(n, min(step, n_data_sets - start), start // step) for start in range(0, n_data_sets, step)]


def computed(tasks: Sequence[Any], workers: int | None) -> Iterator[Floats]:
    """The parts in order, from this process or from several; None: from several where what is left is worth it.

    A task holds estimators, a world, rows and data sets, the seed and the view.
    """
    if workers is not None:
        check_count(workers, "workers")
    return _in_order(list(tasks), workers)


def _in_order(left: list[Any], workers: int | None) -> Iterator[Floats]:
    """The same; how long the parts take is seen from the shorter of the first two, of which one loads and compiles."""
    times: list[float] = []
    while left and (workers == 1 or len(left) == 1 or (workers is None and not _worth_sharing(times, len(left)))):
        start = time.perf_counter()
        part = _part(*left.pop(0))
        times.append(time.perf_counter() - start)
        yield part
    if left:
        from joblib import Parallel, delayed

        n_jobs = min(workers or os.cpu_count() or 1, len(left))
        yield from Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_part)(*task) for task in left)


def _worth_sharing(times: Sequence[float], n_left: int) -> bool:
    """Do so many more parts take long enough for other processes, by the times of those that are done?"""
    return len(times) >= 2 and min(times) * n_left > WORTH_SECONDS and (os.cpu_count() or 1) > 1


def _part(estimators: Sequence[Named], world: World, n: int, count: int, seed: tuple[int, ...], view: str) -> Floats:
    """`(4, E, count)`: value, interval and seconds of every estimator on some data sets."""
    generator = np.random.default_rng(seed)
    if event := isinstance(world, EventWorld):
        drawn: Any = Batch(*world.draw(n, count, generator)[:2])
    else:
        drawn = [world.sample(n, generator) for _ in range(count)]
    more = {} if view == "auto" else {"view": view}
    part = np.full((4, len(estimators), count), np.nan)
    for k, one in enumerate(estimators):
        start = time.perf_counter()
        values: Any = batched(one.function, one.options, drawn) if event else None
        if values is None:
            with many_calls():
                values = np.transpose([_ends(one(each, **more)) for each in (drawn.data_sets if event else drawn)])
        part[:3, k] = values
        part[3, k] = (time.perf_counter() - start) / count
    return part


def _ends(found: Any) -> tuple[float, float, float]:
    if isinstance(found, Estimate) and found.interval is not None:
        return found.value, found.interval.low, found.interval.high
    return float(found), np.nan, np.nan


class Checkpoint:
    """Finished parts, which are not computed again; kept in a file of JSON lines if there is a path."""

    def __init__(self, path: Any, estimators: Sequence[Named], world: World, view: str, seed: int) -> None:
        self.path = None if path is None else Path(path)
        self.parts: dict[tuple[int, int, int], Floats] = {}
        if self.path is None:
            return
        described = [(e.name, sorted((k, repr(v)) for k, v in e.options.items())) for e in estimators]
        text = json.dumps([described, world.to_data(), view, seed, ROWS_PER_PART], sort_keys=True)
        self.name = hashlib.sha256(text.encode()).hexdigest()[:16]
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot read the checkpoint {str(path)!r}: {error}") from error
        if lines and not lines[0].startswith('{"work": '):
            raise FileError(f"{str(path)!r} exists already and is no checkpoint. Choose another name.")
        for line in lines:
            try:
                data = json.loads(line)
            except json.JSONDecodeError:
                continue  # the line that was being written when the run was interrupted
            if data["work"] == self.name:
                self.parts[tuple(data["part"])] = np.array(data["found"], dtype=np.float64)

    def add(self, key: tuple[int, int, int], part: Floats) -> None:
        """Keep the part of (rows, data sets, position)."""
        self.parts[key] = part
        if self.path is not None:
            plain = np.where(np.isnan(part), np.array(None), part).tolist()
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"work": self.name, "part": key, "found": plain}) + "\n")
