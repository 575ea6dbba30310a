"""The bound below the calibration error: rows signed by curves that were fitted to other rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm as normal
from scipy.stats import t as student

from calibrant import Predictions
from calibrant.infer.error_bound import N_FOLDS, SIGN_PRIORS, signed_rows
from calibrant.kernels.fit.log_odds_process import posteriors
from calibrant.kernels.logits import sigmoid
from tolerances import ROUNDING


def sample(rng, n=600):
    p = rng.random(n)
    return rng.random(n) < p**1.5, p


def rows_of(y, p, **mass):
    return signed_rows(Predictions(y, p, **mass).event())


def test_signs_come_from_the_other_folds(rng):
    """By hand, one fold and one prior at a time."""
    rows = rows_of(*sample(rng))
    for k in range(N_FOLDS):
        kept = rows.fold != k
        n, hits = (np.bincount(rows.cell[kept], w, len(rows.place)) for w in (np.ones(kept.sum()), rows.outcomes[kept]))
        found = posteriors(rows.place, n, hits, SIGN_PRIORS)
        share = np.exp(found.evidence - found.evidence.max())
        share /= share.sum()
        centre = share @ found.mean
        spread = np.sqrt(share @ (found.variance() + (found.mean - centre) ** 2))
        assert rows.centre[k] == pytest.approx(centre, abs=1e-6)  # Newton's last step
        assert rows.signs(1)[k] == pytest.approx(2 * normal.cdf((centre - rows.place) / spread) - 1, abs=1e-6)
        away = sigmoid(centre) - sigmoid(rows.place)
        assert rows.signs(2)[k] == pytest.approx(away / np.sqrt(rows.share @ away**2), abs=1e-5)


@pytest.mark.parametrize("norm", [1, 2])
def test_the_interval_is_students_with_fewer_rows(rng, norm):
    rows = rows_of(*sample(rng, 3000))
    signs = rows.signs(norm)
    noise = ((signs - signs.mean(axis=0)) ** 2).sum(axis=0)
    gaps = rows.outcomes - rows.probs
    values = signs[rows.fold, rows.cell] * gaps
    n = len(values) / (1 + (noise[rows.cell] @ gaps**2) / (values @ values))
    half = student.ppf(0.975, n - 1) * np.sqrt(values.var() / (n - 1))
    found = rows.interval(norm, 0.95)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=ROUNDING)


def test_a_fifth_of_the_rows_is_in_each_fold(rng):
    assert np.bincount(rows_of(*sample(rng)).fold).tolist() == [120] * 5


def test_equal_weights_are_none_and_counts_are_rows(rng):
    y, p = sample(rng, 300)
    p = np.round(p, 1)
    times = rng.integers(1, 5, 300)
    alone, weighed = rows_of(y, p), rows_of(y, p, weights=np.full(300, 7.0))
    counted, repeated = rows_of(y, p, counts=times), rows_of(np.repeat(y, times), np.repeat(p, times))
    for one, other in ((alone, weighed), (counted, repeated)):
        assert one.interval(1, 0.95).low == pytest.approx(other.interval(1, 0.95).low, abs=1e-9)  # Newton's last step


@pytest.mark.parametrize("ties", [False, True])
def test_unequal_weights_leave_fewer_rows(rng, ties):
    y, p = sample(rng, 2000)
    p = np.round(p, 2) if ties else p
    weights = rng.choice([1.0, 12.5], 2000)
    rows, plain = rows_of(y, p, weights=weights), rows_of(y, p)
    assert rows.weights.sum() == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    width, usual = (np.ptp([each.interval(1, 0.95).low, each.interval(1, 0.95).high]) for each in (rows, plain))
    assert usual * 1.2 < width < usual * 1.6  # (Σw)² / Σw² is 1160 of 2000 rows: 1.3 times as wide


def test_signs_that_are_all_noise_halve_the_rows():
    """A calibrated model: the jackknife finds the variance of the signs, about as large as their squares."""
    p = (np.arange(4000) + 0.5) / 4000
    factors = []
    for seed in range(6):
        rows = rows_of(np.random.default_rng(seed).random(4000) < p, p)
        signs = rows.signs(2)
        factors.append(1 + 5 * (signs.var(axis=0) @ rows.share) / (signs**2 @ rows.share).mean())
    assert 1.5 < np.mean(factors) < 2.5


@pytest.mark.parametrize(("y", "p"), [([1], [0.3]), ([0, 1], [0.0, 1.0]), ([1] * 40, [1.0] * 40), ([0] * 7, [0.5] * 7)])
def test_few_rows_and_certain_ones(y, p):
    found = rows_of(y, p).interval(1, 0.95)
    assert found is None or -1 <= found.low <= found.high <= 1
