"""The posterior of the calibration error."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal


def drawn(rng, n, curve):
    p = rng.random(n)
    return (rng.random(n) < curve(p)).astype(int), p


def test_with_many_rows_it_is_the_true_error(rng):
    """c(p) = p² lies ∫ (p − p²) dp = 1/6 below p, its square ∫ (p − p²)² dp = 1/30, and at most ¼."""
    labels, p = drawn(rng, 200_000, np.square)
    for norm, truth in ((1, 1 / 6), (2, np.sqrt(1 / 30)), ("max", 1 / 4)):
        found = cal.posterior_error(labels, p, norm=norm)
        assert abs(found.value - truth) < 0.01
        assert found.interval.low < found.value < found.interval.high
        assert found.interval.high - found.interval.low < 0.03


def test_a_calibrated_model_is_given_no_error(rng):
    labels, p = drawn(rng, 3000, lambda p: p)
    found = cal.posterior_error(labels, p)
    assert found.interval.low == 0
    assert found.value < 0.005 < cal.ece(labels, p).value


def test_the_interval_shrinks_with_its_level_and_the_rows(rng):
    labels, p = drawn(rng, 5000, np.square)
    wide, narrow = (cal.posterior_error(labels, p, level=level).interval for level in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high
    few = cal.posterior_error(labels[:200], p[:200]).interval
    assert few.high - few.low > wide.high - wide.low


def test_the_order_of_rows_and_repetition_do_not_matter(rng):
    labels, p = drawn(rng, 500, np.square)
    once = cal.posterior_error(labels, p)
    order = rng.permutation(500)
    assert cal.posterior_error(labels[order], p[order]).value == pytest.approx(once.value, abs=1e-12)
    twice = cal.posterior_error(np.tile(labels, 2), np.tile(p, 2))
    assert cal.posterior_error(labels, p, counts=np.full(500, 2.0)).value == pytest.approx(twice.value, abs=1e-9)


def test_the_square_is_that_of_the_root(rng):
    labels, p = drawn(rng, 500, np.square)
    rooted, squared = (cal.posterior_error(labels, p, norm=2, root=root) for root in (True, False))
    assert rooted.value**2 == pytest.approx(squared.value, rel=1e-3)  # between two of the draws
    assert rooted.interval.high**2 == pytest.approx(squared.interval.high, rel=1e-3)


def test_what_is_refused(rng):
    labels, p = drawn(rng, 10, np.square)
    with pytest.raises(cal.InputError, match="norm"):
        cal.posterior_error(labels, p, norm=3)
    with pytest.raises(cal.InputError, match="level"):
        cal.posterior_error(labels, p, level=95)
