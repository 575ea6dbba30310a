"""Reports of ten real sets of different kinds, to be looked at: every section of the page occurs in one of them at least.

Run: python tools/make_reports.py DATA FOLDER    (DATA holds the sets by the names below; FOLDER gets NAME.html for each)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal


def classes(data: Path, name: str) -> Any:
    """Probabilities or logits of all classes, or of one event."""
    found = np.load(data / f"{name}.npz")
    if "logits" in found:
        return cal.Predictions.from_logits(found["labels"], found["logits"].astype(np.float64))
    return cal.Predictions(found["labels"], found["probs"], normalize=found["probs"].ndim == 2)


def event(data: Path, name: str) -> Any:
    """The probability of the second of two classes."""
    both = classes(data, name)
    return cal.Predictions(both.labels, both.probs[:, 1])


def confidences(data: Path, name: str) -> Any:
    """How sure the model was of its answer, and whether it was right."""
    found = np.load(data / f"{name}.npz")
    if "conf" in found:
        right, sure = found["pred"] == found["labels"], found["conf"]
    else:
        every = classes(data, name)
        right, sure = every.probs.argmax(axis=1) == every.labels, every.probs.max(axis=1)
    answers = cal.Predictions(right, np.round(sure.astype(np.float64), 2))
    answers.is_confidence = True
    return answers


def groups(data: Path, name: str) -> Any:
    """A logistic regression on half of the rows, judged on the others, in quarters by a feature."""
    found = np.load(data / "tabular" / f"{name}.npz")
    x, y = found["X"].astype(np.float64), found["y"].astype(np.float64)
    x = np.c_[np.ones(len(x)), (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-12)]
    fitted, w = np.arange(len(x)) % 2 == 0, np.zeros(x.shape[1])
    for _ in range(12):
        p = 1 / (1 + np.exp(-x[fitted] @ w))
        hessian = (x[fitted].T * (p * (1 - p))) @ x[fitted] + np.eye(len(w))
        w += np.linalg.solve(hessian, x[fitted].T @ (y[fitted] - p) - w)
    p, first = 1 / (1 + np.exp(-x[~fitted] @ w)), x[~fitted, 1]
    quarter = np.searchsorted(np.quantile(first, [0.25, 0.5, 0.75]), first)
    return cal.Predictions(y[~fitted], p, groups=np.array([f"quarter {q + 1}" for q in quarter]))


def prices(data: Path, name: str) -> Any:
    """Least squares of log prices on half of the rows; Gaussian forecasts of the others, the spread of the residuals."""
    table = np.genfromtxt(data / f"{name}.csv", delimiter=",", skip_header=1)
    x, y = table[:, 4:12], np.log(table[:, -2])
    x = np.c_[np.ones(len(x)), (x - x.mean(axis=0)) / x.std(axis=0)]
    fitted = np.arange(len(x)) % 2 == 0
    w, *_ = np.linalg.lstsq(x[fitted], y[fitted], rcond=None)
    spread = np.var(y[fitted] - x[fitted] @ w)
    rest = x[~fitted] @ w
    return cal.Predictions.from_gaussian(y[~fitted], rest, np.full(len(rest), spread))


SETS: dict[str, tuple[Callable[[Path, str], Any], str]] = {
    "forecasts of games": (classes, "fte_nba_games"),
    "confident network, 10 classes": (classes, "kull_resnet110_c10_tst"),
    "100 classes": (classes, "ferrer_cifar100_resnet20"),
    "top labels of 1000 classes": (confidences, "toplabel_imagenet_tv_resnet101"),
    "answers of a language model": (confidences, "ferrer_agnews_gpt2"),
    "clinical": (event, "ferrer_pneumoniamnist_resnet50"),
    "few rows": (classes, "probably_species"),
    "rare events": (event, "ferrerpsr_spkr_verif_tst"),
    "groups": (groups, "house8L"),
    "forecasts of a number": (prices, "residential_building"),
}


def main(data: Path, folder: Path) -> None:
    """Write a report of each set, and say how long it took and how large it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (read, file) in SETS.items():
        start = time.process_time()
        path = folder / f"{name.replace(' ', '_').replace(',', '')}.html"
        cal.examine(read(data, file), name=name).save(path)
        print(
            f"{path.name:40} {time.process_time() - start:6.1f} CPU s {path.stat().st_size / 1e3:8.0f} kB", flush=True
        )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
