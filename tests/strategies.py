"""Data that tries to break things: ties, exact 0 and 1, values on bin edges, tiny n, one class, extreme weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

GRIDS = (1, 2, 3, 5, 7, 10, 15, 20, 49, 100)
DTYPES = (np.float64, np.float32)
FLOAT_DTYPES = ("float64", "float32", "float16", ">f8", ">f4", "longdouble")
LABEL_DTYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "float32", "float64", "object")


@dataclass(frozen=True)
class Rows:
    """Arguments for `Predictions`, checked by nobody yet."""

    labels: Any
    probs: Any
    weights: Any = None
    """how often each row occurred"""

    @property
    def n(self) -> int:
        return len(self.probs)

    @property
    def total(self) -> int:
        """Rows, repeated ones included."""
        return self.n if self.weights is None else int(self.weights.sum())


@st.composite
def values(draw: st.DrawFn, dtype: Any = np.float64) -> Any:
    """One probability: an end, a grid value k/B, its float neighbour, something tiny, or anything."""
    how = draw(st.sampled_from(("end", "grid", "neighbour", "tiny", "any")))
    if how == "end":
        return dtype(draw(st.sampled_from((0.0, -0.0, 1.0, 0.5))))
    if how == "tiny":
        tiny = draw(st.sampled_from((np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).eps)))
        return dtype(tiny) if draw(st.booleans()) else dtype(1) - dtype(tiny)
    if how == "any":
        return dtype(draw(st.floats(0, 1)))
    grid = draw(st.sampled_from(GRIDS))
    value = dtype(draw(st.integers(0, grid)) / grid)
    if how == "neighbour":
        value = np.nextafter(value, dtype(draw(st.sampled_from((0, 1)))))
    return dtype(value)


def sizes(most: int = 40) -> st.SearchStrategy[int]:
    """Often one to three rows."""
    return st.one_of(st.integers(1, 3), st.integers(1, most))


@st.composite
def weightings(draw: st.DrawFn, n: int) -> Any:
    """No counts, all the same, small ones with zeros, or counts far apart."""
    how = draw(st.sampled_from(("none", "same", "counts", "extreme")))
    if how == "none":
        return None
    if how == "same":
        return np.full(n, draw(st.sampled_from((1.0, 2.0, 5.0))))
    if how == "counts":
        weights = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=float)
    else:
        powers = draw(st.lists(st.sampled_from((None, 0, 7, 15)), min_size=n, max_size=n))
        weights = np.array([0.0 if power is None else 2.0**power for power in powers])
    if not weights.any():
        weights[draw(st.integers(0, n - 1))] = 1.0
    return weights


@st.composite
def importances(draw: st.DrawFn, n: int) -> Any:
    """Weights: all the same, fractions with zeros, or far apart."""
    how = draw(st.sampled_from(("same", "fractions", "extreme")))
    if how == "same":
        return np.full(n, draw(st.sampled_from((1e-300, 0.1, 1.0, 1e15))))
    if how == "fractions":
        weights = np.array(draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))) / 3
    else:
        powers = draw(st.lists(st.sampled_from((None, -30, 0, 0.5, 20)), min_size=n, max_size=n))
        weights = np.array([0.0 if power is None else 2.0**power for power in powers])
    if not weights.any():
        weights[draw(st.integers(0, n - 1))] = 0.3
    return weights


@st.composite
def pooled(draw: st.DrawFn, n: int, one: st.SearchStrategy[Any]) -> list[Any]:
    """n draws from a small pool, so that ties are common; a pool of one makes all rows equal."""
    pool = draw(st.lists(one, min_size=1, max_size=draw(st.sampled_from((1, 3, 40)))))
    return [pool[i] for i in draw(st.lists(st.integers(0, len(pool) - 1), min_size=n, max_size=n))]


@st.composite
def codes(draw: st.DrawFn, n: int, n_classes: int) -> Any:
    """Class indices; often all the same."""
    if draw(st.integers(0, 4)) == 0:
        return np.full(n, draw(st.integers(0, n_classes - 1)))
    return np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))


@st.composite
def events(draw: st.DrawFn, dtype: Any = None, weighted: bool = True, most: int = 40) -> Rows:
    """A binary event `(n,)`."""
    dtype = dtype or draw(st.sampled_from(DTYPES))
    n = draw(sizes(most))
    probs = np.array(draw(pooled(n, values(dtype))), dtype=dtype)
    return Rows(draw(codes(n, 2)), probs, draw(weightings(n)) if weighted else None)


@st.composite
def rows(draw: st.DrawFn, n_classes: int, dtype: Any) -> Any:
    """A row of K probabilities: shares of a small whole (ties, exact 0 and 1), or a softmax."""
    if draw(st.booleans()):
        parts = draw(st.lists(st.integers(0, 5), min_size=n_classes, max_size=n_classes).filter(any))
        return (np.array(parts) / sum(parts)).astype(dtype)
    logits = draw(st.lists(st.floats(-40, 40), min_size=n_classes, max_size=n_classes))
    shares = np.exp(np.array(logits) - max(logits))
    return (shares / shares.sum()).astype(dtype)


@st.composite
def matrices(draw: st.DrawFn, dtype: Any = None, weighted: bool = True, most: int = 25) -> Rows:
    """Several classes, `(n, K)` with K from 2 to 5."""
    dtype = dtype or draw(st.sampled_from(DTYPES))
    n, n_classes = draw(sizes(most)), draw(st.integers(2, 5))
    probs = np.array(draw(pooled(n, rows(n_classes, dtype))), dtype=dtype)
    return Rows(draw(codes(n, n_classes)), probs, draw(weightings(n)) if weighted else None)


def predictions(weighted: bool = True) -> st.SearchStrategy[Rows]:
    """Either shape."""
    return st.one_of(events(weighted=weighted), matrices(weighted=weighted))


@st.composite
def logit_rows(draw: st.DrawFn, dtype: Any = np.float64) -> Rows:
    """Logits `(n,)` or `(n, K)`, with ties, zeros and saturated values, in the place of `probs`."""
    n, n_classes = draw(sizes(25)), draw(st.integers(1, 5))
    one = st.one_of(
        st.sampled_from((0.0, -0.0, 1.0, -1.0, 30.0, 800.0, -800.0)), st.floats(-20, 20).map(lambda v: round(v, 2))
    )
    shape = (n,) if n_classes == 1 else (n, n_classes)
    flat = draw(pooled(n * n_classes, one))
    return Rows(draw(codes(n, max(2, n_classes))), np.array(flat, dtype=dtype).reshape(shape), draw(weightings(n)))


@st.composite
def soft_matrices(draw: st.DrawFn) -> Rows:
    """Class shares instead of classes."""
    said = draw(matrices(dtype=np.float64))
    shares = draw(pooled(said.n, rows(said.probs.shape[1], np.float64)))
    return Rows(np.array(shares), said.probs, said.weights)


@st.composite
def spelled(draw: st.DrawFn, said: Rows) -> Rows:
    """The same numbers in another accepted dtype, layout and container; values are such that no dtype rounds them."""
    probs = said.probs.astype(draw(st.sampled_from(FLOAT_DTYPES)))
    layout = draw(st.sampled_from(("C", "F", "strided", "list", "tuple", "column")))
    if layout == "F":
        probs = np.asfortranarray(probs)
    elif layout == "strided":
        probs = np.repeat(probs, 2, axis=0)[::2]
    elif layout == "list":
        probs = probs.tolist()
    elif layout == "tuple":
        probs = tuple(map(tuple, probs.tolist())) if probs.ndim == 2 else tuple(probs.tolist())
    elif layout == "column" and probs.ndim == 1:
        probs = probs[:, None]
    labels = said.labels
    form = draw(st.sampled_from(("codes", "one-hot", "column", "list")))
    n_classes = said.probs.shape[1] if said.probs.ndim == 2 else 2
    dtypes = LABEL_DTYPES if n_classes == 2 else LABEL_DTYPES[1:]
    if form == "one-hot":
        labels = np.eye(n_classes, dtype=draw(st.sampled_from(LABEL_DTYPES[:-1])))[labels]
    else:
        labels = labels.astype(draw(st.sampled_from(dtypes)))
        labels = labels[:, None] if form == "column" else labels.tolist() if form == "list" else labels
    return Rows(labels, probs, said.weights)


@st.composite
def exact_rows(draw: st.DrawFn) -> Rows:
    """Probabilities in eighths, exact in float16 and wider."""
    n, n_classes = draw(sizes(12)), draw(st.integers(1, 4))
    if n_classes == 1:
        probs = np.array(draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))) / 8
    else:
        cuts = draw(
            st.lists(
                st.lists(st.integers(0, 8), min_size=n_classes - 1, max_size=n_classes - 1), min_size=n, max_size=n
            )
        )
        probs = np.array([np.diff([0, *sorted(c), 8]) for c in cuts]) / 8
    return Rows(draw(codes(n, max(2, n_classes))), probs)
