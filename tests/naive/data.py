"""Rows to compare with plain loops: the awkward ones of the shared strategies, and ordinary ones drawn by a seed.

Shrinking draws towards few and equal rows, on which two different rules often agree; a seed does not shrink.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import strategies as some

SHAPES = ((1, 1), (2, 1), (0.5, 0.5))
SEEDS = st.integers(0, 2**32 - 1)


def _weights(rng: np.random.Generator, n: int) -> Any:
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] = 1
    return weights if rng.random() < 0.5 else None


@st.composite
def ordinary_events(draw: st.DrawFn, most: int = 40, weighted: bool = True) -> some.Rows:
    """Predictions without ties, or rounded to fifths or twentieths, 0 and 1 among them."""
    rng = np.random.default_rng(draw(SEEDS))
    n, steps = int(rng.integers(most // 2, most + 1)), int(rng.choice([0, 5, 20]))
    p = rng.beta(*SHAPES[rng.integers(3)], n)
    p = np.round(p * steps) / steps if steps else p
    labels = (rng.random(n) < p ** rng.choice([0.5, 1, 2])).astype(int)
    return some.Rows(labels, p.astype(draw(st.sampled_from(some.DTYPES))), _weights(rng, n) if weighted else None)


@st.composite
def ordinary_matrices(draw: st.DrawFn, most: int = 25, weighted: bool = True) -> some.Rows:
    """Two to five classes, without ties or as shares of ten."""
    rng = np.random.default_rng(draw(SEEDS))
    n, n_classes = int(rng.integers(most // 2, most + 1)), int(rng.integers(2, 6))
    probs = rng.dirichlet(np.ones(n_classes), n)
    if rng.random() < 0.5:
        probs = rng.multinomial(10, probs) / 10
    labels = np.array([rng.choice(n_classes, p=row) for row in probs])
    dtype = draw(st.sampled_from(some.DTYPES))
    return some.Rows(labels, probs.astype(dtype), _weights(rng, n) if weighted else None)


def events(most: int = 40, weighted: bool = True) -> st.SearchStrategy[some.Rows]:
    """Either kind of event."""
    return st.one_of(some.events(most=most, weighted=weighted), ordinary_events(most=most, weighted=weighted))


def matrices(most: int = 25, weighted: bool = True) -> st.SearchStrategy[some.Rows]:
    """Either kind of matrix."""
    return st.one_of(some.matrices(most=most, weighted=weighted), ordinary_matrices(most=most, weighted=weighted))
