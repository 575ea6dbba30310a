"""The c-statistic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import t as student

from calibrant import InputError
from calibrant.estimate.clinical.concordance import c_statistic, newcombe
from naive import clinical as naive
from tolerances import ROUNDING


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.random(n).round(1)
    return (rng.random(n) < probs).astype(int), probs


@pytest.mark.parametrize("seed", range(4))
def test_pairs_one_by_one(seed):
    labels, probs = rows(seed=seed)
    found = c_statistic(labels, probs, level=0.9)
    value, variance = naive.c_statistic(labels, probs)
    assert found.value == pytest.approx(value, abs=ROUNDING)
    parts = naive.placements(labels, probs)
    each = [np.var(part, ddof=1) / len(part) for part in parts]
    degrees = sum(each) ** 2 / sum(v**2 / (len(part) - 1) for v, part in zip(each, parts, strict=True))
    half = student.ppf(0.95, degrees) * math.sqrt(variance) / (value * (1 - value))
    centre = math.log(value / (1 - value))
    ends = [1 / (1 + math.exp(-(centre + sign * half))) for sign in (-1, 1)]
    assert (found.interval.low, found.interval.high) == pytest.approx(ends, abs=1e-9)


def test_a_perfect_ranking_has_one_end():
    found = c_statistic([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    assert (found.value, found.interval.high) == (1.0, 1.0)
    low = found.interval.low
    assert 1 - low == pytest.approx(1.959963984540054 * newcombe(low, 0.5, 6), abs=1e-9)
    turned = c_statistic([1, 1, 1, 0, 0, 0], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    assert turned.interval.high == pytest.approx(1 - low, abs=1e-9)
    one = c_statistic([0, 0, 1, 0], [0.1, 0.2, 0.3, 0.6])  # one event: its variance is not known
    assert one.interval.low < one.value < one.interval.high


def test_one_class_has_no_pairs():
    with pytest.raises(InputError, match="labels must hold events and non-events"):
        c_statistic([0, 0], [0.1, 0.2])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rate", "apart"), [(100, 0.3, 1.0), (400, 0.1, 2.0)])
def test_coverage(n, rate, apart):
    rng, hits, draws, truth = np.random.default_rng(12), 0, 1000, float(ndtr(apart / math.sqrt(2)))
    for _ in range(draws):
        labels = rng.random(n) < rate
        if not 0 < labels.sum() < n:
            continue
        probs = ndtr(rng.normal(size=n) + apart * labels - 1)
        hits += truth in c_statistic(labels, probs).interval
    assert abs(hits / draws - 0.95) < 3.5 * math.sqrt(0.95 * 0.05 / draws)
