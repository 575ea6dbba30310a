"""Monotonic sweep: by hand, against plain loops, and where its compiled part takes over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import calibrant as cal
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from calibrant.bins import number
from naive import binned, data
from naive import sweep as naive
from naive.binning import SPLITS
from naive.rows import counted, written_out
from tolerances import ROUNDING

RULES = {"mass": EqualMass, "width": EqualWidth}
ROUNDED = st.integers(0, 12).map(lambda i: i / 12)


def test_rates_that_first_fall_with_four_bins():
    labels, probs = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.6, 0.7, 0.9]
    # 2 bins: 1/3, 2/3; 3 bins: 0, 1/2, 1; 4 bins cut after rows 1, 3, 4: 0, 1/2, 0 falls
    found = cal.sweep_error(labels, probs)
    assert found.settings["n_bins"] == 3
    assert found.value == pytest.approx((0.15 + 0 + 0.2) / 3, abs=ROUNDING)


def test_rates_that_fall_at_once_leave_one_bin():
    found = cal.sweep_error([1, 0], [0.1, 0.8])
    assert found.settings["n_bins"] == 1
    assert found.value == pytest.approx(0.05, abs=ROUNDING)


def test_equal_rates_count_as_rising():
    assert cal.sweep_error([1] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]).settings["n_bins"] == 5


def test_empty_bins_are_skipped_in_the_check():
    # equal width: with 2 bins the second is empty, with 10 the rates are 0, 1 with empty bins between and after
    assert cal.sweep_error([0, 0, 1, 1], [0.05, 0.06, 0.25, 0.26], bins=cal.EqualWidth).settings["n_bins"] == 4


def test_the_sweep_stops_at_the_first_fall_although_more_bins_would_rise_again():
    labels, probs = [0, 1, 1, 0, 0, 1], [0.1, 0.2, 0.3, 0.8, 0.8, 0.8]
    # 2 bins: 2/3, 1/3 falls; 3 bins keep the tie together: 1/2, 1, 1/3 …
    assert cal.sweep_error(labels, probs).settings["n_bins"] == 1


@given(data.events(most=14).map(counted), st.sampled_from(["mass", "width"]), st.sampled_from([1, 2, "max"]))
def test_it_is_that_of_plain_loops(said, rule, norm):
    found = cal.sweep_error(said.labels, said.probs, bins=RULES[rule], norm=norm, root=False, counts=said.weights)
    y, p = written_out(said.labels, said.probs, said.weights)
    n_bins = naive.n_bins(p, y, rule)
    assert found.settings["n_bins"] == n_bins
    assert found.value == pytest.approx(binned.power(naive.RULES[rule](p, n_bins), p, y, None, norm), abs=ROUNDING)


@given(st.lists(st.tuples(ROUNDED, st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=14))
def test_shares_as_labels_are_those_of_plain_loops(rows):
    p, y = np.array(rows).T
    for rule, bins in RULES.items():
        found = cal.sweep_error(Predictions(y, p, soft=True), bins=bins)
        assert found.settings["n_bins"] == naive.n_bins(p, y, rule)


@given(data.events().map(counted), st.sampled_from(["mass", "width"]), st.sampled_from([1, 2]), st.booleans())
def test_the_value_is_the_binned_error_with_as_many_bins(said, rule, norm, debiased):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    options = {"norm": norm, "debiased": debiased}
    found = cal.sweep_error(made, bins=RULES[rule], **options)
    again = cal.binned_error(made, bins=RULES[rule](found.settings["n_bins"]), **options)
    # under the root of norm 2, rounding of 1e-16 shows as 1e-8
    assert found.value**norm == pytest.approx(again.value**norm, abs=ROUNDING)


@given(data.matrices(most=12).map(counted), st.sampled_from(["mass", "width"]))
def test_class_by_class_each_class_has_its_own_number_of_bins(said, rule):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    found = cal.sweep_error(made, bins=RULES[rule], view="classwise")
    each = [cal.sweep_error(made, bins=RULES[rule], view=k) for k in range(said.probs.shape[1])]
    assert list(found.settings["n_bins"]) == [one.settings["n_bins"] for one in each]
    assert found.value == pytest.approx(np.mean([one.value for one in each]), abs=ROUNDING)


@given(data.events(most=14).map(counted), st.sampled_from([*RULES]), st.sampled_from([1, 2, 5]))
def test_the_long_sweep_is_that_of_plain_loops(said, rule, switch):
    y, p = written_out(said.labels, said.probs, said.weights)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(number, "SHORT_SWEEP", switch)
        found = cal.sweep_error(said.labels, said.probs, bins=RULES[rule], counts=said.weights)
    assert found.settings["n_bins"] == naive.n_bins(p, y, rule)


@pytest.mark.parametrize("rule", RULES)
def test_where_the_long_sweep_takes_over_does_not_matter(monkeypatch, rng, rule):
    p = rng.random((30, 400)).round(2)
    slope = rng.choice([20.0, 60.0, 200.0, 1e4], 30)[:, None]  # from few bins to nearly one a row
    y = (rng.random((30, 400)) < expit(slope * (p - 0.5))).astype(int)
    whole = [cal.sweep_error(*rows, bins=RULES[rule]) for rows in zip(y, p, strict=True)]
    counts = [found.settings["n_bins"] for found in whole]
    assert min(counts) < 10
    assert max(counts) > 50
    for switch in (1, 3, 20):
        monkeypatch.setattr(number, "SHORT_SWEEP", switch)
        assert [cal.sweep_error(*rows, bins=RULES[rule]) for rows in zip(y, p, strict=True)] == whole


@pytest.mark.parametrize("count", [300, 20_000, 200_000])
def test_a_table_of_counts_is_swept_like_its_rows(count):
    # 0.2 and 0.3 part, and the rates fall, only when every row has a bin of its own
    found = cal.sweep_error([0, 1, 0], [0.1, 0.2, 0.3], counts=[count, 1, 1])
    assert found.settings["n_bins"] == count + 1


def test_a_fall_between_zero_and_its_neighbour_ends_a_long_sweep():
    # rates ½, 0, 1 at 0, 0.003 and 0.9: with 334 equal widths, 0.003 leaves the first bin
    labels, probs = [0, 1] * 100 + [0] * 100 + [1] * 200, [0.0] * 200 + [0.003] * 100 + [0.9] * 200
    assert cal.sweep_error(labels, probs, bins=cal.EqualWidth).settings["n_bins"] == 333


def test_a_sweep_that_never_falls_ends(monkeypatch):
    monkeypatch.setattr(number, "MOST_BINS", 1000)
    found = cal.sweep_error([0, 1, 0, 1], [0.2, 0.2, 0.7, 0.7], counts=[8e9, 2e9, 3e9, 7e9])
    assert found.settings["n_bins"] == 1000
    assert found.value == pytest.approx(0, abs=ROUNDING)


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="norm must be a number from 1 to 100, or 'max'"):
        cal.sweep_error([0, 1], [0.2, 0.7], norm=0.5)


@pytest.mark.parametrize("bins", [15, EqualMass(15), "mass", cal.Edges], ids=str)
def test_a_rule_is_given_without_a_number(bins):
    with pytest.raises(
        InputError, match=r"bins must be EqualMass or EqualWidth, without a number; it is .*chosen by the data"
    ):
        cal.sweep_error([0, 1], [0.2, 0.7], bins=bins)


@pytest.mark.parametrize("ties", SPLITS)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=30))
def test_the_sweep_over_ranks_is_that_of_plain_loops(ties, rows):
    p, y = [v / 9 for v, _ in rows], [int(hit) for _, hit in rows]
    found = cal.sweep_error(y, p, ties=ties, norm=2)
    count = naive.n_bins(p, y, ties)
    assert found.settings["n_bins"] == count
    assert found.value == pytest.approx(binned.power(SPLITS[ties](p, count), p, y, None, 2) ** 0.5, abs=ROUNDING)
    assert found.settings["ties"] == ties


def test_conventions_for_ties_differ_where_forecasts_are_coarse(rng):
    # 92 forecasts in steps of a tenth: three ways to share out equal ones, three numbers
    p = rng.integers(0, 11, 92) / 10
    y = (rng.random(92) < p**1.5).astype(int)
    values = {ties: cal.sweep_error(y, p, ties=ties).value for ties in ("keep", "split", "caltrain", "array_split")}
    assert len(set(values.values())) > 1


def test_ties_can_be_split_in_equal_mass_bins_without_weights_only():
    with pytest.raises(InputError, match="ties can be split in equal-mass bins only; bins is EqualWidth"):
        cal.sweep_error([0, 1], [0.2, 0.6], bins=EqualWidth, ties="split")
    with pytest.raises(InputError, match="ties must be kept with counts or weights; it is 'caltrain'"):
        cal.sweep_error([0, 1], [0.2, 0.6], ties="caltrain", weights=[1.0, 2.0])
    with pytest.raises(InputError, match="ties must be one of"):
        cal.sweep_error([0, 1], [0.2, 0.6], ties="drop")
