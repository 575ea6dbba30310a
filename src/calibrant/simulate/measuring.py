"""Estimates on many simulated data sets: in batches, on several cores, with progress, resumable."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_count
from calibrant.kernels.compiled import many_calls
from calibrant.predictions import Predictions
from calibrant.results import Estimate
from calibrant.simulate.batch import Batch
from calibrant.simulate.batched import together
from calibrant.simulate.recipes import Named
from calibrant.simulate.world import EventWorld, World

Floats = NDArray[np.float64]

ROWS_A_PART = 1 << 18
"""Rows drawn at once, so that a batch stays near the cache; what is drawn depends on this, not on the workers."""

DATA_SETS_A_PART = 32

WORTH_WORKERS = 4_000_000
"""Rows times estimators from which other processes are asked to help."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What estimators said: values and intervals `(E, R)`, and the seconds each took in all."""

    n: int
    values: Floats
    low: Floats
    high: Floats
    seconds: Floats


def measured(
    estimators: Sequence[Named],
    world: World,
    n: int,
    replications: int,
    rng: int,
    *,
    view: str = "auto",
    workers: int | None = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Measured:
    """All estimators on the same simulated data sets."""
    check_count(n, "n")
    check_count(replications, "replications")
    check_count(rng, "rng", 0)
    step = int(np.clip(ROWS_A_PART // n, 1, DATA_SETS_A_PART))
    sizes = [min(step, replications - start) for start in range(0, replications, step)]
    if workers is None:
        workers = (os.cpu_count() or 1) if n * replications * len(estimators) >= WORTH_WORKERS else 1
    tasks = [(estimators, world, n, count, (rng, n, k), view) for k, count in enumerate(sizes)]
    kept = Kept(checkpoint, estimators, world, view, rng) if checkpoint is not None else None
    found: dict[int, Floats] = {
        k: part for k, t in enumerate(tasks) if kept and (part := kept.get(n, t[3], k)) is not None
    }
    left = [k for k in range(len(tasks)) if k not in found]
    with ExitStack() as stack:
        step_on = _shown(stack, f"{world.describe()}, n = {n:,}", len(tasks), len(found)) if progress else None
        for k, part in zip(left, _parts([tasks[k] for k in left], workers), strict=True):
            found[k] = part
            if kept:
                kept.add(n, tasks[k][3], k, part)
            if step_on:
                step_on()
    values, low, high, seconds = np.concatenate([found[k] for k in range(len(tasks))], axis=2)
    return Measured(n, values, low, high, seconds.sum(axis=1))


def _parts(tasks: list[Any], workers: int) -> Iterator[Floats]:
    """The parts in order, from this process or from several."""
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            yield part_of(*task)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=min(workers, len(tasks)), return_as="generator")(delayed(part_of)(*t) for t in tasks)


def part_of(estimators: Sequence[Named], world: World, n: int, count: int, seed: tuple[int, ...], view: str) -> Floats:
    """`(4, E, count)`: value, interval and seconds of every estimator on some data sets."""
    rng = np.random.default_rng(seed)
    found = np.full((4, len(estimators), count), np.nan)
    batch, sets = None, None
    if isinstance(world, EventWorld):
        probs, outcomes, _ = world.draw(n, count, rng)
        batch = Batch(probs, outcomes)
    else:
        sets = [world.sample(n, rng) for _ in range(count)]
    for k, one in enumerate(estimators):
        start = time.perf_counter()
        of = together(one.function, one.options) if batch is not None else None
        if of is not None and batch is not None:
            found[:3, k] = of(batch, one.options)
        else:
            sets = sets if sets is not None else _one_by_one(batch)
            more = {} if view == "auto" else {"view": view}
            with many_calls():
                found[:3, k] = np.transpose([_ends(one(predictions, **more)) for predictions in sets])
        found[3, k] = (time.perf_counter() - start) / count
    return found


def _one_by_one(batch: Batch | None) -> list[Predictions]:
    assert batch is not None  # a world of one event draws a batch
    return [Predictions(event.outcomes, event.probs) for event in batch.events()]


def _ends(found: Any) -> tuple[float, float, float]:
    if isinstance(found, Estimate) and found.interval is not None:
        return found.value, found.interval.low, found.interval.high
    return float(found), np.nan, np.nan


class Kept:
    """Finished parts in a file of JSON lines: what stands there is not done again."""

    def __init__(self, path: Any, estimators: Sequence[Named], world: World, view: str, rng: int) -> None:
        self.path = Path(path)
        described = [(e.name, sorted((k, repr(v)) for k, v in e.options.items())) for e in estimators]
        text = json.dumps([described, world.to_dict(), view, rng, ROWS_A_PART], sort_keys=True)
        self.name = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.found: dict[tuple[int, int, int], Floats] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            return  # the line that was being written when the work was cut
        if data["work"] == self.name:
            self.found[tuple(data["part"])] = np.array(data["found"], dtype=np.float64)

    def get(self, n: int, count: int, k: int) -> Floats | None:
        """A part that is done."""
        return self.found.get((n, count, k))

    def add(self, n: int, count: int, k: int, part: Floats) -> None:
        """Keep a part."""
        plain = np.where(np.isnan(part), np.array(None), part).tolist()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"work": self.name, "part": [n, count, k], "found": plain}) + "\n")


def _shown(stack: ExitStack, title: str, total: int, done: int) -> Callable[[], None]:
    """A progress bar, and how to move it on."""
    from rich.console import Console
    from rich.progress import Progress

    bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
    task = bar.add_task(title, total=total, completed=done)
    return lambda: bar.advance(task)
