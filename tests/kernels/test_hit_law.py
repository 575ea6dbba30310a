from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.draws import laws as hit_counts
from naive import answers as naive
from tolerances import ROUNDING

PROBS = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5])), min_size=1, max_size=12)


@given(PROBS)
def test_laws_and_tails_are_those_of_exact_sums(probs):
    law = hit_counts.hit_law(np.array(probs))
    assert law.tolist() == pytest.approx([float(term) for term in naive.hit_law(probs)], abs=ROUNDING)
    found, _ = hit_counts.two_sided(law)
    expected = [naive.two_sided(probs, hits) for hits in range(len(probs) + 1)]
    assert found.tolist() == pytest.approx(expected, abs=ROUNDING)


@given(st.floats(0, 1), st.integers(1, 15))
def test_equal_probabilities_are_binomial(p, n):
    law = hit_counts.hit_law(np.full(n, p))
    assert law.tolist() == pytest.approx([float(term) for term in naive.hit_law([p] * n)], abs=ROUNDING)


def test_many_events_by_fourier_transform(rng, monkeypatch):
    probs = rng.random(3000)
    direct = hit_counts.hit_law(probs)
    monkeypatch.setattr(hit_counts, "DIRECT", 64)
    np.testing.assert_allclose(hit_counts.hit_law(probs), direct, rtol=0, atol=1e-14)
    assert direct.sum() == pytest.approx(1, abs=ROUNDING)
    assert direct @ np.arange(3001) == pytest.approx(probs.sum(), rel=ROUNDING)


def test_what_cannot_happen_has_no_chance():
    assert hit_counts.two_sided(hit_counts.hit_law(np.array([1.0, 1.0, 1.0])))[0][2] == 0
    assert hit_counts.two_sided(hit_counts.hit_law(np.array([0.0, 0.5])))[0][2] == 0
    assert hit_counts.two_sided(hit_counts.hit_law(np.array([0.0, 0.0])))[0][0] == 1
