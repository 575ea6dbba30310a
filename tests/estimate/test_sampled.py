"""Confidences counted from samples: against holding samples out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.estimate.sampled import sampled_error
from calibrant.results import Estimate
from naive import answers as naive
from tolerances import ROUNDING

ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 5)), min_size=4, max_size=15)


@given(ROWS)
def test_it_holds_out_each_sample_in_turn(rows):
    labels, counts, groups = map(list, zip(*rows, strict=True))
    for clusters in (None, groups):
        expected = naive.held_out_square(labels, counts, 4, clusters or range(len(labels)))
        if expected is None:
            with pytest.raises(InputError, match="two rows of different groups on one level"):
                sampled_error(labels, np.array(counts) / 4, n_samples=4, groups=clusters)
        else:
            found = sampled_error(labels, np.array(counts) / 4, n_samples=4, groups=clusters, root=False)
            assert found.value == pytest.approx(expected, abs=ROUNDING)


def test_the_brier_score_is_that_of_the_share_behind():
    # k = 1 of 2 and right: (½ − 1)² − ¼/1 = 0; k = 2 of 2 and wrong: 1 − 0 = 1
    found = sampled_error([1, 0, 0], [0.5, 1.0, 1.0], n_samples=2)
    assert found.parts["brier"] == pytest.approx(2 / 3, abs=ROUNDING)


def test_certain_and_right_is_zero():
    assert sampled_error([1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0], n_samples=10).value == 0


def test_the_levels_are_told():
    found = sampled_error([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5], n_samples=2)
    (low, high) = found.parts["levels"].rows
    # level 0 of 1: an agreeing sample was held out, so the share is 1 there and half are right; level 1: the other way round
    assert low[0] == "0 of 1"
    assert low[2] == pytest.approx(0.5)
    assert high[2] == pytest.approx(-0.5)
    assert found.value == pytest.approx(naive.held_out_square([1, 1, 0, 0], [1] * 4, 2, range(4)) ** 0.5)
    assert Estimate.from_json(found.to_json()) == found


def test_printed_shares_of_three_digits_are_taken():
    assert sampled_error([1, 0, 1, 0], [0.333, 0.667, 0.333, 0.667], n_samples=3).settings["n_samples"] == 3


def test_what_it_refuses():
    with pytest.raises(InputError, match=r"probs must be shares of 4 samples; probs\[1\] is 0.3, no multiple of 1/4"):
        sampled_error([0, 1], [0.25, 0.3], n_samples=4)
    with pytest.raises(InputError, match="n_samples must be a whole number, at least 2"):
        sampled_error([0, 1], [0.0, 1.0], n_samples=1)
    with pytest.raises(InputError, match="two rows of different groups on one level"):
        sampled_error([0, 1], [0.5, 0.5], n_samples=2, groups=["a", "a"])


def test_counts_are_rows_repeated():
    counts, labels, probs = [2, 3, 1, 2], [0, 1, 1, 0], [0.5, 0.5, 0.0, 1.0]
    found = sampled_error(labels, probs, n_samples=2, counts=counts)
    assert found == sampled_error(list(np.repeat(labels, counts)), list(np.repeat(probs, counts)), n_samples=2)


def test_weights_are_those_of_pairs_and_levels():
    """Two samples: k = 0, 1, 2 agree. Every pair of rows on a level counts by the product of their weights."""
    labels, k, w = [0, 1, 1, 0, 1], [1, 2, 0, 1, 2], [1.0, 2.0, 0.5, 3.0, 1.5]
    found = sampled_error(labels, np.array(k) / 2, n_samples=2, root=False, weights=w)
    level, value, mass, row = [], [], [], []
    for i, (y, agreed, weight) in enumerate(zip(labels, k, w, strict=True)):
        for at, share, held_out in ((agreed, (2 - agreed) / 2, 0), (agreed - 1, agreed / 2, 1)):
            if share:
                level.append(at), value.append(weight * share * (held_out - y))
                mass.append(weight * share), row.append(i)
    total = weight_of_all = 0.0
    for at in (0, 1):
        own = [i for i in range(len(level)) if level[i] == at]
        pairs = [(i, j) for i in own for j in own if row[i] != row[j]]
        gap = sum(value[i] * value[j] for i, j in pairs) / sum(mass[i] * mass[j] for i, j in pairs)
        total += gap * sum(mass[i] for i in own)
        weight_of_all += sum(mass[i] for i in own)
    assert found.value == pytest.approx(total / weight_of_all, abs=ROUNDING)
