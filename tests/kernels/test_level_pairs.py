from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.pairs.row_pairs import squared_gaps
from tolerances import ROUNDING

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(-4, 4), st.integers(1, 3)), min_size=1, max_size=14
)


@given(ROWS)
def test_it_is_the_sum_over_pairs_of_different_clusters(rows):
    level, cluster, value, mass = (np.array(column) for column in zip(*rows, strict=True))
    gaps, masses = squared_gaps(level, cluster, value.astype(float), mass.astype(float), 3)
    for k in range(3):
        own = [(c, v, m) for lev, c, v, m in rows if lev == k]
        pairs = [(a, b) for a, b in itertools.permutations(own, 2) if a[0] != b[0]]
        assert masses[k] == sum(m for *_, m in own)
        if not pairs:
            assert np.isnan(gaps[k])
            continue
        expected = sum(a[1] * b[1] for a, b in pairs) / sum(a[2] * b[2] for a, b in pairs)
        assert gaps[k] == pytest.approx(expected, abs=ROUNDING * 100)  # squares of sums cancel
