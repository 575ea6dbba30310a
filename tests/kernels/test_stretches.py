"""Stretches that are right or moved: the evidence and the draws against every partition, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from calibrant.kernels.fit.stretches import FAR, LONGEST, RIGHT, SCALES, stretches
from calibrant.kernels.logits import sigmoid


def cells(rng, m=5, rows=40):
    z = np.sort(rng.normal(0, 2, m))
    w = rng.integers(1, rows, m).astype(float)
    return z, w, rng.binomial(w.astype(int), sigmoid(z + np.where(np.arange(m) > 2, -1.5, 0.0))).astype(float)


def log_density(x, z, w, s, scale):
    """Of a move x, against no move, without the constant of the prior."""
    likelihood = s * x - w * (np.logaddexp(0, z + x) - np.logaddexp(0, z))
    return likelihood.sum() - 0.5 * (x / scale) ** 2


def moved(z, w, s, scale):
    """Laplace's evidence, mode and spread of one stretch."""
    x = minimize_scalar(lambda x: -log_density(x, z, w, s, scale), bounds=(-24, 24), method="bounded").x
    mu = sigmoid(z + x)
    curved = (w * mu * (1 - mu)).sum()
    return log_density(x, z, w, s, scale) - 0.5 * np.log1p(scale**2 * curved), x, 1 / np.sqrt(curved + scale**-2)


def every_partition(z, w, s, hazard):
    """Evidence of each partition, and the mean move in each cell under it."""
    m, evidence, means = len(z), [], []
    for cut in itertools.product([False, True], repeat=m - 1):
        ends = np.flatnonzero([*cut, True]) + 1
        log, mean = float(np.log(np.where(cut, hazard, 1 - hazard)).sum()), np.zeros(m)
        for low, high in zip([0, *ends], ends, strict=False):
            each = [moved(z[low:high], w[low:high], s[low:high], scale)[:2] for scale in SCALES]
            parts = np.array([RIGHT, *((1 - RIGHT) / len(SCALES) * np.exp(e) for e, _ in each)])
            log += np.log(parts.sum())
            mean[low:high] = (parts[1:] @ [x for _, x in each]) / parts.sum()
        evidence.append(log)
        means.append(mean)
    share = np.exp(np.array(evidence) - np.logaddexp.reduce(evidence))
    return np.logaddexp.reduce(evidence), share @ np.array(means)


@pytest.mark.parametrize("hazard", [0.1, 0.6])
def test_the_evidence_and_the_mean_are_those_of_all_partitions(rng, hazard):
    z, w, s = cells(rng)
    found = stretches(z, w, s, np.array([0.3, hazard]))
    evidence, mean = every_partition(z, w, s, hazard)
    assert found.evidence[1] == pytest.approx(evidence, abs=1e-3)
    drawn = found.drawn(1, 20_000, rng)
    assert drawn.shape == (20_000, len(z))
    assert (np.abs(drawn.mean(axis=0) - mean) < 5 * drawn.std(axis=0) / np.sqrt(20_000) + 1e-3).all()


def test_one_stretch_alone_is_the_mean_over_all_short_ones(rng):
    m = 20
    z, w, s = cells(rng, m)
    widths = range(1, int(LONGEST * m) + 1)
    before = np.array([1 / width for width in widths]) / sum(1 / width for width in widths)
    chance, means = [], []
    for prior, width in zip(before, widths, strict=True):
        for low in range(m - width + 1):
            at = slice(low, low + width)
            evidence, x, _ = moved(z[at], w[at], s[at], SCALES[FAR])
            chance.append(prior / (m - width + 1) * np.exp(evidence))
            means.append(np.where((np.arange(m) >= low) & (np.arange(m) < low + width), x, 0.0))
    found = stretches(z, w, s, np.array([0.3]))
    assert found.evidence[1] == pytest.approx(np.log(sum(chance)), abs=1e-3)
    drawn = found.drawn(1, 20_000, rng)
    mean = np.array(chance) @ np.array(means) / sum(chance)
    assert (np.abs(drawn.mean(axis=0) - mean) < 5 * drawn.std(axis=0) / np.sqrt(20_000) + 1e-3).all()
    assert ((drawn != 0).sum(axis=1) <= LONGEST * m).all()


@pytest.mark.parametrize("rows", [1.0, 1e3, 1e9])
def test_a_move_is_found_at_any_size(rows):
    """The cubic between knots is as good as the sums themselves."""
    z, w = np.array([-1.0, 0.5, 2.0]), np.array([0.2, 0.5, 0.3]) * rows
    s = w * sigmoid(z + 0.83)
    found = stretches(z, w, s, np.array([0.1]))
    for k, scale in enumerate(SCALES):
        evidence, x, spread = moved(z, w, s, scale)
        assert found.move[k, 0, 2] == pytest.approx(x, abs=1e-4 + 0.05 * spread)
        assert found.spread[k, 0, 2] == pytest.approx(spread, rel=1e-3)
        assert np.isfinite(evidence)


def test_what_is_right_stays_right():
    """Hits as predicted: most draws leave every cell where it is."""
    z = np.linspace(-2, 2, 30)
    w = np.full(30, 500.0)
    drawn = stretches(z, w, w * sigmoid(z), np.array([0.02])).drawn(0, 500, np.random.default_rng(0))
    assert (drawn == 0).all(axis=1).mean() > 0.7


def test_no_hits_at_all_is_no_trouble():
    z, w = np.array([-9.0, 0.0, 9.0]), np.array([10.0, 20.0, 5.0])
    found = stretches(z, w, np.zeros(3), np.array([0.5]))
    assert np.isfinite(found.evidence).all()
    assert found.drawn(0, 100, np.random.default_rng(0))[:, 2].mean() < -5
