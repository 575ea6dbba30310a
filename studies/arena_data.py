"""Outputs of trained models for the arena: data sets from folders, six models each, kept in a cache.

Sets come from `*.npz` files (`X`, `y`), from `*.dat` files (commas, the class last, as KEEL has them), from
scikit-learn, and as outputs of models (`probs` or `logits` with `labels`).
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FEWEST_ROWS = 800
"""Rows a set must have: enough to train on, to calibrate on and to judge by."""

TRAINED_ON, MOST_TRAINED_ON = 0.4, 5000
"""Share of the rows a model is trained on, and the most of them."""

RAREST = 20
"""Rows a class must have; rarer classes are left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """Probabilities of one trained model for rows it has not seen."""

    data: str
    model: str
    labels: np.ndarray
    probs: np.ndarray

    @property
    def n_classes(self) -> int:
        """Two for one column."""
        return 2 if self.probs.ndim == 1 else self.probs.shape[1]


def models(n_columns: int) -> dict[str, Callable[[], Any]]:
    """Six models that err in different ways, at scikit-learn's defaults where these will do."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def scaled(last: Any) -> Any:
        return make_pipeline(StandardScaler(), last)

    width = 64 if n_columns > 8 else 32
    return {
        "logistic": lambda: scaled(LogisticRegression(max_iter=500)),
        "naive Bayes": lambda: scaled(GaussianNB()),
        "neighbours": lambda: scaled(KNeighborsClassifier(20)),
        "forest": lambda: RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
        "boosting": lambda: HistGradientBoostingClassifier(max_iter=100, random_state=0),
        "network": lambda: scaled(MLPClassifier((width, width), max_iter=150, random_state=0)),
    }


def tables(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, columns and classes of every set of a folder, in the order of their names."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".npz":
            held = np.load(path, allow_pickle=False)
            if "X" in held:
                yield path.stem, held["X"].astype(np.float64), held["y"]
        elif path.suffix == ".dat":
            yield path.stem, *_keel(path)


def _keel(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Columns and classes of a KEEL file; words become indicators."""
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line[:1] not in "@"]
    cells = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
    width = len(cells[0])
    kept = [row for row in cells if len(row) == width and "?" not in row and "<null>" not in row]
    return np.hstack([_columns([row[j] for row in kept]) for j in range(width - 1)]), np.array([r[-1] for r in kept])


def _columns(values: list[str]) -> np.ndarray:
    try:
        return np.array(values, dtype=np.float64)[:, None]
    except ValueError:
        words = sorted(set(values))
        return np.array(
            [[float(value == word) for word in words[: len(words) - (len(words) == 2)]] for value in values]
        )


def of_scikit_learn() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Its own sets of enough rows that need no network."""
    from sklearn.datasets import load_breast_cancer, load_digits

    for name, load in (("breast_cancer", load_breast_cancer), ("digits", load_digits)):
        found = load()
        yield name, found.data, found.target


def trained(name: str, x: np.ndarray, y: np.ndarray, cache: Path) -> Iterator[Outputs]:
    """The outputs of every model on the rows it was not trained on, from the cache where they are there."""
    values, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, values[counts >= RAREST])
    x, y = x[kept], np.unique(y[kept], return_inverse=True)[1].ravel()
    if len(y) < FEWEST_ROWS or y.max() < 1:
        return
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    order = rng.permutation(len(y))
    train = np.zeros(len(y), dtype=bool)
    train[order[: min(MOST_TRAINED_ON, int(TRAINED_ON * len(y)))]] = True
    for c in range(int(y.max()) + 1):  # every class is known to the model
        if not (train & (y == c)).any():
            train[order[y[order] == c][0]] = True
    for model, make in models(x.shape[1]).items():
        path = cache / f"{name}--{model.replace(' ', '_')}.npz"
        if not path.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                probs = make().fit(x[train], y[train]).predict_proba(x[~train])
            np.savez_compressed(path, labels=y[~train], probs=probs[:, 1] if y.max() == 1 else probs)
        found = np.load(path)
        yield Outputs(name, model, found["labels"], found["probs"])


def given(folder: Path) -> Iterator[Outputs]:
    """Outputs of models that lie in a folder as `probs` or `logits` with `labels`."""
    for path in sorted(folder.glob("*.npz")):
        held = np.load(path, allow_pickle=False)
        if "labels" not in held or not {"probs", "logits"} & set(held.files):
            continue
        probs = held["probs"].astype(np.float64) if "probs" in held else _softmax(held["logits"].astype(np.float64))
        if probs.ndim == 2:
            probs = probs / probs.sum(axis=1, keepdims=True)
            probs = probs[:, 1] if probs.shape[1] == 2 else probs
        if len(probs) >= FEWEST_ROWS:
            yield Outputs(path.stem, "given", held["labels"].astype(int), probs)


def _softmax(z: np.ndarray) -> np.ndarray:
    if z.ndim == 1:
        return 1 / (1 + np.exp(-z))
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
