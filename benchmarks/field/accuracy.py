"""Accuracy of estimators, coverage of intervals and false alarms of tests, ours and others', on worlds with a known truth."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.field.claims import ESTIMATORS, INTERVALS, LEVEL, TESTS
from benchmarks.field.measure import Process, ask
from benchmarks.field.table import CALLS

SEED = 22
ROWS = 1_000


def worlds() -> dict[str, Any]:
    """Of the scoreboard: calibrated, mildly and strongly overconfident, and one fitted to a real network."""
    from calibrant.simulate import bent_world, calibrated_world, named_world

    return {
        "calibrated, uniform scores": calibrated_world((1.0, 1.0)),
        "calibrated, scores of a network": named_world("resnet110_c10", calibrated=True),
        "tempered, error 0.02": bent_world(0.02, family="tempered"),
        "power, error 0.05": bent_world(0.05),
        "ResNet-110, CIFAR-10": named_world("resnet110_c10"),
    }


def accuracy(workers: dict[str, Process], n_data_sets: int, n_slow: int) -> list[dict[str, Any]]:
    """One row per world, task and package; the calls that cost a bootstrap each see `n_slow` data sets only."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, world) in enumerate(worlds().items()):
            for task in (*ESTIMATORS, *INTERVALS, *TESTS):
                count = n_slow if task in INTERVALS else n_data_sets
                file = Path(folder) / f"{number}_{count}.npz"
                if not file.exists():
                    probs, labels, _ = world.draw(ROWS, count, np.random.default_rng([SEED, number]))
                    np.savez(file, labels=labels, probs=np.clip(probs, 1e-9, 1 - 1e-9))
                for peer, worker in workers.items():
                    if (task, peer) in CALLS:
                        row = {"world": name, "task": task, "peer": peer, "n": ROWS}
                        rows.append(row | summary(task, world, ask(worker, file, do="many", task=task)))
                        print(rows[-1], flush=True)
    return rows


def summary(task: str, world: Any, answer: dict[str, Any]) -> dict[str, Any]:
    """Bias and root mean square error, or coverage, or the share of alarms, with its Monte-Carlo error."""
    if "error" in answer:
        return {"error": answer["error"]}
    values = np.asarray(answer["values"], float)
    if not np.isfinite(values).all():
        lost = int((~np.isfinite(values)).reshape(len(values), -1).any(axis=1).sum())
        return {"error": f"no number for {lost} of {len(values)} data sets"}
    if task in ESTIMATORS:
        truth = world.true_error(ESTIMATORS[task])
        apart = values - truth
        found = {"truth": truth, "bias": float(apart.mean()), "rmse": float(np.sqrt(np.mean(apart**2)))}
        return found | {"sets": len(values), "error_of_bias": float(apart.std(ddof=1) / np.sqrt(len(values)))}
    if task in INTERVALS:
        truth = world.true_error(INTERVALS[task])
        hits = (values[:, 0] <= truth) & (truth <= values[:, 1])
        found = {"truth": truth, "width": float(np.mean(values[:, 1] - values[:, 0]))}
    else:
        hits, found = values < 1 - LEVEL, {"truth": world.true_error(1)}
    share = float(hits.mean())
    return found | {
        "share": share,
        "sets": len(values),
        "error_of_share": float(np.sqrt(share * (1 - share) / len(values))),
    }
