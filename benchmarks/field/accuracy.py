"""Accuracy of estimators, coverage of intervals, size and power of tests, ours and others', on worlds with a known truth."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.field.claims import ESTIMATORS, INTERVALS, SIZE, TESTS
from benchmarks.field.environments import OWN
from benchmarks.field.measure import Process, ask
from benchmarks.field.rivals import SUN
from benchmarks.field.table import CALLS

SEED = 22
ROWS = 1_000
FEW_WORLDS = ("calibrated, uniform", "ResNet-110, CIFAR-10", "tail", "rare")
FAMILIES = ("tail", "rare", "rare, calibrated", "spikes", "bump", "narrow", "wave, 3 periods", "very confident")
NAMES = ("calibrated, uniform", "ResNet-110, CIFAR-10", *FAMILIES, "p^d, error 0.05", "calibrated, scores of a network")


@cache
def worlds() -> dict[str, Any]:
    """Of the scoreboard (calibrated, p^d, fitted to a network), and families whose error lies in one place, waves, or is of rare events.

    The families' parameters are those for reporting: no setting of calibrant was chosen on them.
    """
    from studies.error_worlds import WORLDS

    from calibrant.simulate import calibrated_world, named_world, power_world

    network = named_world("resnet110_c10")
    others = [WORLDS["reporting"][name] for name in FAMILIES]
    found = (calibrated_world((1.0, 1.0)), network, *others, power_world(0.05), calibrated_world(network))
    return dict(zip(NAMES, found, strict=True))


def accuracy(
    workers: dict[str, Process], n_data_sets: int, least: int, seconds: float, names: Collection[str], minutes: float
) -> list[dict[str, Any]]:
    """One row per world, task and package: `n_data_sets`, or as few as `least` where they take longer than `seconds`.

    No world is begun when the minutes are over.
    """
    rows, stop = [], time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, world) in enumerate(worlds().items()):
            if name not in names or time.monotonic() > stop:
                continue
            file = Path(folder) / f"{number}_{n_data_sets}.npz"
            probs, labels, _ = world.draw(ROWS, n_data_sets, np.random.default_rng([SEED, number]))
            np.savez(file, labels=labels, probs=probs)
            for task in (*ESTIMATORS, *INTERVALS, *TESTS):
                for peer in [asked for each, asked in CALLS if each == task]:
                    worker = workers.get(OWN if peer == SUN else peer)
                    if worker is not None:
                        asked = ask(worker, file, do="many", task=task, peer=peer, seconds=seconds, least=least)
                        row = {"world": name, "task": task, "peer": peer, "n": ROWS}
                        rows.append(row | summary(task, world, asked))
                        print(rows[-1], flush=True)
    return rows


def summary(task: str, world: Any, answer: dict[str, Any]) -> dict[str, Any]:
    """Bias and root mean square error, or coverage and width, or the share of alarms, each with its Monte-Carlo error."""
    if "error" in answer:
        return {"error": answer["error"]}
    values = np.asarray(answer["values"], float)
    count = len(values)
    if not np.isfinite(values).all():
        lost = int((~np.isfinite(values)).reshape(count, -1).any(axis=1).sum())
        return {"error": f"no number for {lost} of {count} data sets"}
    if task in ESTIMATORS:
        truth = world.true_error(ESTIMATORS[task])
        apart = values - truth
        rmse, of_square = float(np.sqrt(np.mean(apart**2))), standard_error(apart**2)
        found = {"truth": truth, "bias": float(apart.mean()), "error_of_bias": standard_error(apart)}
        return found | {"rmse": rmse, "error_of_rmse": of_square / (2 * rmse) if rmse else 0.0, "sets": count}
    if task in INTERVALS:
        truth, width = world.true_error(INTERVALS[task]), values[:, 1] - values[:, 0]
        hits = (values[:, 0] <= truth) & (truth <= values[:, 1])
        found = {"truth": truth, "width": float(width.mean()), "error_of_width": standard_error(width)}
    else:
        hits, found = values <= SIZE, {"truth": world.true_error(1)}
    kept = (hits.sum() + 1) / (count + 2)  # of a share of 0 or 1 the plain formula gives no error
    return found | {
        "share": float(hits.mean()),
        "error_of_share": float(np.sqrt(kept * (1 - kept) / count)),
        "sets": count,
    }


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
