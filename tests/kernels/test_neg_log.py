"""−ln of probabilities, to the last place."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.sums.score_rows import label_surprises, surprises

MOST_ULPS = 1.5
"""What the module promises. Long doubles, where the system has them, tell fractions of a unit; else NumPy's own error comes on top."""
WIDER = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps
LIMIT = MOST_ULPS if WIDER else MOST_ULPS + 1


def drawn(rng, dtype, n):
    """Probabilities from all over: plain, tiny, almost 1, around √½ and the powers of two, and the ends."""
    parts = [
        rng.random(n),
        10.0 ** rng.uniform(-300, 0, n),
        1 - 10.0 ** rng.uniform(-16, 0, n),
        np.sqrt(0.5) * (1 + rng.uniform(-1e-6, 1e-6, n)),
        np.clip(2.0 ** rng.integers(-30, 1, n) * (1 + rng.uniform(-1e-7, 1e-7, n)), 0, 1),
        [0.0, 1.0, 0.5, np.nextafter(1, 0), np.finfo(np.float64).tiny, 5e-324],
    ]
    return np.concatenate(parts).astype(dtype)


def ulps_apart(found, probs, happened):
    wide = probs.astype(np.longdouble)
    with np.errstate(divide="ignore"):
        exact = -np.log(wide) if happened else -np.log1p(-wide)
    finite = np.isfinite(exact)
    assert (found[~finite] == np.inf).all()
    found, exact = found[finite], exact[finite]
    return float((np.abs(found - exact) / np.spacing(exact.astype(np.float64))).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("happened", [0, 1])
@pytest.mark.parametrize(("road", "n"), [("compiled", 100_000), ("plain", 300)])
def test_it_is_right_to_the_last_place(rng, dtype, happened, road, n):
    probs = drawn(rng, dtype, n)
    out = np.empty(len(probs))
    with np.errstate(over="ignore"):
        (surprises if road == "compiled" else surprises.plain)(probs, np.full(len(probs), happened, np.uint8), out)
    assert ulps_apart(out, probs, happened) <= LIMIT
    assert not np.signbit(out).any()


def test_a_certain_and_right_answer_is_no_surprise():
    out = np.empty(2)
    surprises(np.array([1.0, 0.0]), np.array([1, 0], dtype=np.uint8), out)
    assert out.tolist() == [0, 0]
    surprises(np.array([0.0, 1.0]), np.array([1, 0], dtype=np.uint8), out)
    assert out.tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_labels_it_reads_their_column(rng, dtype):
    probs, labels = rng.dirichlet(np.ones(5), 99).astype(dtype), rng.integers(0, 5, 99).astype(np.int32)
    out = np.empty(99)
    label_surprises(probs, labels, out)
    assert ulps_apart(out, probs[np.arange(99), labels], True) <= LIMIT
