"""The moving bridge, compiled and not."""

import numpy as np
import pytest

from calibrant.kernels.fit import isotonic as venn_abers
from calibrant.kernels.fit.isotonic import moving_bridge, rates_if_hit, rates_if_missed


def slowly(weight, hits):
    """max over a < i of min over b ≥ i of the mean with one more row that happened."""
    w, h = np.append(0, np.cumsum(weight)), np.append(0, np.cumsum(hits))
    k = len(weight)
    return [
        max(min((h[b] - h[a] + 1) / (w[b] - w[a] + 1) for b in range(i, k + 1)) for a in range(i))
        for i in range(1, k + 1)
    ]


@pytest.mark.parametrize("kind", ["ones", "counts", "shares"])
def test_both_kernels_are_the_formula(rng, kind, monkeypatch):
    for k in [*range(1, 12), 60]:
        weight = {"ones": np.ones(k), "counts": rng.integers(1, 9, k) * 1.0, "shares": rng.random(k) + 0.01}[kind]
        hits = weight * rng.random(k) if kind == "shares" else np.floor(weight * rng.integers(0, 2, k))
        for limit in (0, 1000):
            monkeypatch.setattr(venn_abers, "COMPILE_FROM_POINTS", limit)
            assert rates_if_hit(weight, hits) == pytest.approx(slowly(weight, hits), abs=1e-12)
            turned = slowly(weight[::-1], (weight - hits)[::-1])[::-1]
            assert rates_if_missed(weight, hits) == pytest.approx(1 - np.array(turned), abs=1e-12)


def test_compiled_and_plain_agree_to_the_last_bit(rng):
    weight, hits = np.ones(3000), rng.integers(0, 2, 3000) * 1.0
    w, h = np.append(0, np.cumsum(weight)), np.append(0, np.cumsum(hits))
    one, two = np.empty(3000), np.empty(3000)
    moving_bridge(w, h, np.empty(3000, dtype=np.intp), one)
    moving_bridge.plain(w, h, np.empty(3000, dtype=np.intp), two)
    assert np.array_equal(one, two)
