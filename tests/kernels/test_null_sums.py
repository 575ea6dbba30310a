"""Sums over blocks of errors against the same written out: compiled, in plain Python and in NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from calibrant.kernels.draws.null_sums import (
    bridges,
    class_hits,
    class_sums,
    courses,
    fading_pairs,
    high_low,
    pairs_between,
    picked_sums,
    rising_gains,
    same_class_pairs,
    sums_between,
    turned_pairs,
    weighed_sums,
)
from tolerances import ROUNDING


@pytest.fixture
def errors(rng):
    return rng.normal(size=(3, 23))


def close(a, b):
    assert a == pytest.approx(b, abs=ROUNDING * 100)  # sums of two dozen numbers of size 1, in another order


def test_sums_between_cuts(run, errors):
    cuts = np.array([1, 1, 4, 11, 20])
    found = np.zeros((3, 4))
    run(sums_between)(errors, cuts, found)
    close(found, np.stack([errors[:, a:b].sum(axis=1) for a, b in pairwise(cuts)], axis=1))


def test_weighed_sums(run, errors, rng):
    factors, found = rng.normal(size=(2, 23)), np.zeros((3, 2))
    run(weighed_sums)(errors, factors, found)
    close(found, errors @ factors.T)


@pytest.fixture
def gaps(rng):
    p = np.sort(rng.integers(0, 12, 23) / 12)  # ties
    return np.diff(p, append=1.0)


def test_the_course_is_read_where_the_prediction_rises(run, errors, gaps):
    found = np.zeros((3, 5))
    run(courses)(errors, gaps, found)
    for r in range(3):
        sums = np.cumsum(errors[r])
        seen = np.concatenate([[0.0], sums[gaps > 0], sums[-1:]])
        close(found[r], [seen.max(), seen.min(), sums[-1], gaps @ sums, gaps @ sums**2])


def test_the_highest_the_lowest_and_the_last_of_a_course(run, errors):
    found = np.zeros((3, 3))
    run(high_low)(errors, found)
    sums = np.concatenate([np.zeros((3, 1)), np.cumsum(errors, axis=1)], axis=1)
    close(found, np.stack([sums.max(axis=1), sums.min(axis=1), sums[:, -1]], axis=1))


def test_errors_may_come_part_by_part(run, errors, rng):
    cuts, factors, gaps = np.array([0, 3, 9, 23]), rng.normal(size=(2, 23)), rng.random(23) + 0.1
    whole, parts = ([np.zeros((3, width)) for width in (3, 2, 5, 3)] for _ in range(2))
    for found, ends in ((whole, [0, 23]), (parts, [0, 4, 6, 17, 23])):
        for rows in (slice(*each) for each in pairwise(ends)):
            part = errors[:, rows].copy()
            run(sums_between)(part, np.clip(cuts - rows.start, 0, part.shape[1]), found[0])
            run(weighed_sums)(part, factors[:, rows].copy(), found[1])
            run(courses)(part, gaps[rows], found[2])
            run(high_low)(part, found[3])
    for one, other in zip(whole, parts, strict=True):
        close(one, other)


def test_the_bridge_is_tied_down_at_both_ends(run, errors, gaps):
    time = np.linspace(0, 1, 24)[1:]
    found = np.empty((3, 2))
    run(bridges)(errors, gaps, time, found)
    for r in range(3):
        sums = np.cumsum(errors[r])
        close(found[r], [sums[-1], np.abs(sums - time * sums[-1])[gaps > 0].max()])


def test_pairs_of_different_rows_in_a_bin(run, rng):
    p = np.sort(rng.random(23))
    y = rng.integers(0, 2, (3, 23))
    e, cuts, scale = p - y, np.array([0, 5, 6, 15, 23]), rng.random(4)
    found = np.empty(3)
    run(pairs_between)(e, p * (1 - p), -(1 - 2 * p), cuts, scale, found)
    for r in range(3):
        expected = 0.0
        for b in range(4):
            rows = range(cuts[b], cuts[b + 1])
            expected += scale[b] * sum(e[r, i] * e[r, j] for i in rows for j in rows if i != j)
        close(found[r], expected)


def test_fading_pairs_are_a_laplace_kernel(run, errors, rng):
    p = np.sort(rng.random(23))
    fades, found = np.exp(-np.diff(p, prepend=p[:1]) / 0.3), np.empty(3)
    run(fading_pairs)(errors, fades, found)
    kernel = np.exp(-np.abs(p[:, None] - p) / 0.3)
    close(found, np.einsum("ri,ij,rj->r", errors, kernel, errors))


def test_hits_and_sums_of_classes(run, rng):
    labels, slots, table = rng.integers(0, 3, (2, 15)), rng.integers(0, 7, (15, 3)), rng.normal(size=(15, 3))
    hits, sums = np.zeros((2, 7)), np.empty(2)
    run(class_hits)(labels, slots, np.ones(len(slots)), hits)
    run(picked_sums)(labels, table, sums)
    for r in range(2):
        chosen = slots[np.arange(15), labels[r]]
        close(hits[r], np.bincount(chosen, minlength=7))
        close(sums[r], table[np.arange(15), labels[r]].sum())


def test_pairs_of_one_class_and_pairs_with_signs(run, rng):
    kappa = rng.random((15, 15))
    kappa = kappa + kappa.T
    labels, signs = rng.integers(0, 3, (2, 15)), rng.choice([-1.0, 1.0], (2, 15))
    same, turned = np.empty(2), np.empty(2)
    run(same_class_pairs)(kappa, labels, 3, same)
    run(turned_pairs)(kappa, signs, turned)
    off = kappa - np.diag(np.diag(kappa))
    for r in range(2):
        close(same[r], off[labels[r][:, None] == labels[r]].sum())
        close(turned[r], signs[r] @ off @ signs[r])


def test_rising_rates_have_the_largest_likelihood(run, rng):
    weight = rng.integers(1, 6, 7).astype(float)
    hits = np.floor(rng.random((4, 7)) * (weight + 1))
    found = np.empty(4)
    run(rising_gains)(hits, weight, found)
    for r in range(4):
        mean = {(a, b): hits[r, a:b].sum() / weight[a:b].sum() for a in range(7) for b in range(a + 1, 8)}
        rates = np.array([max(min(mean[a, b] for b in range(i + 1, 8)) for a in range(i + 1)) for i in range(7)])
        yes, no = np.log(np.where(rates > 0, rates, 1)), np.log(np.where(rates < 1, 1 - rates, 1))
        close(found[r], hits[r] @ yes + (weight - hits[r]) @ no)


def test_sums_of_each_class(run, rng):
    labels, table = rng.integers(0, 3, (4, 9)).astype(np.int32), rng.normal(size=(9, 3, 2))
    sums = np.zeros((4, 3, 2))
    run(class_sums)(labels, table, sums)
    for r in range(4):
        close(sums[r], np.array([table[labels[r] == k, k].sum(axis=0) for k in range(3)]))
