"""Rows in an order of their own."""

import numpy as np

from calibrant import Predictions
from calibrant.predictions.content import in_own_order


def test_it_depends_on_what_rows_hold(rng):
    probs = rng.dirichlet(np.ones(4), 50)
    probs[25:] = probs[:25]  # ties, told apart by label, weight or group
    weights, groups = rng.integers(1, 4, 50).astype(float), rng.integers(0, 9, 50)
    rows = Predictions(rng.integers(0, 4, 50), probs, weights=weights, groups=groups)
    once, other = in_own_order(rows), in_own_order(rows.rows(rng.permutation(50)))
    for name in ("probs", "labels", "weights", "groups"):
        np.testing.assert_array_equal(getattr(once, name), getattr(other, name))
        np.testing.assert_array_equal(getattr(in_own_order(once), name), getattr(once, name))
    assert not np.array_equal(np.sort(once.probs[:, 0]), once.probs[:, 0])  # shuffled, not sorted
