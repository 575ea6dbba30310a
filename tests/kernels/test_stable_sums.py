"""Running sums."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.sums import stable_sums as sums


@pytest.mark.parametrize("n", [1, 2, 500])
def test_running_sums_are_those_of_cumsum_to_the_last_bit(rng, monkeypatch, n):
    columns = rng.normal(size=n), rng.random(n)
    expected = [np.concatenate([[0.0], np.cumsum(terms)]) for terms in columns]
    assert np.array_equal(sums.running(*columns), expected)
    monkeypatch.setattr(sums, "COMPILE_FROM", 1)
    assert np.array_equal(sums.running(*columns), expected)
    monkeypatch.setattr(sums, "add_up", sums.add_up.plain)
    assert np.array_equal(sums.running(*columns), expected)
