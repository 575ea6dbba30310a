"""The likeliest class of each row, by NumPy and by a compiled loop."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.rows import top_class as module


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 10, 60])
def test_the_first_of_the_largest_is_found_however_it_is_looked_for(monkeypatch, dtype, n_classes):
    rng = np.random.default_rng(0)
    probs = rng.integers(0, 7, (500, n_classes)).astype(dtype) / 7  # many ties
    probs.flags.writeable = False
    expected = [row.index(max(row)) for row in probs.tolist()]
    found = [module.top_class(probs)]
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 3 * n_classes)
    found.append(module.top_class(probs))
    monkeypatch.setattr(module, "COMPILE_FROM_ENTRIES", 1)
    found.append(module.top_class(probs))
    top, most = np.empty(500, dtype=np.int32), np.empty(500, dtype)
    module.first_largest.plain(probs, top, most)
    for at, largest in (*found, (top, most)):
        assert at.tolist() == expected
        assert np.array_equal(largest, probs.max(axis=1))
