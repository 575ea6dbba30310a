"""Squared kernel calibration error: published values, and all pairs one by one."""

from __future__ import annotations

import math
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions
from calibrant.estimate import skce as module
from naive import binned, data
from naive import skce as naive
from naive.rows import counted, one_hot, two_classes, written_out
from tolerances import ROUNDING

KERNELS = ("tv", "laplace", "gaussian")
SURE = [[1.0, 0.0], [0.0, 1.0]]
GAUSSIAN = {"kernel": "gaussian", "bandwidth": 1.0}


# CalibrationErrors.jl, test/skce.jl: SqExponentialKernel ⊗ WhiteKernel, targets counted from 1.


def test_two_sure_and_wrong_rows():
    assert cal.skce([1, 0], SURE, **GAUSSIAN).value == pytest.approx(-2 / math.e, abs=ROUNDING)
    assert cal.skce([1, 0], SURE, estimator="biased", **GAUSSIAN).value == pytest.approx(1 - 1 / math.e, abs=ROUNDING)


def test_one_sure_row_right_and_one_wrong():
    assert cal.skce([0, 0], SURE, estimator="biased", **GAUSSIAN).value == pytest.approx(0.5, abs=ROUNDING)
    assert cal.skce([0, 0], SURE, **GAUSSIAN).value == pytest.approx(0, abs=ROUNDING)


def test_an_event_is_two_classes():
    # errors (0.2, −0.2) and (−0.4, 0.4): ⟨,⟩ = −0.16, TV = 0.4 = its own median
    assert cal.skce([1, 0], [0.8, 0.4]).value == pytest.approx(-0.16 / math.e, abs=ROUNDING)
    pair = [[0.2, 0.8], [0.6, 0.4]]
    assert cal.skce([1, 0], pair).value == pytest.approx(-0.16 / math.e, abs=ROUNDING)


# Against plain loops.


def median_or_given(name, rows, given):
    """Where the median is ordinary, or 1 in the place of 0; tiny medians have their own test."""
    if given is not None:
        return given
    found = naive.median_distance(name, rows)
    distances = [naive.DISTANCES[name](p, q) for p, q in combinations(rows, 2)]
    middle = np.median(distances) if distances else 0.0
    assume(middle == 0 or middle > 1e-3)  # rounding of a distance is 1e-16, of d/ν then at most 1e-13
    return found


WIDTHS = st.sampled_from([None, 1.0, 0.1, 0.01])


@given(data.matrices(most=12).map(counted), st.sampled_from(KERNELS), WIDTHS)
def test_the_whole_distribution_is_that_of_plain_loops(said, name, width):
    labels, probs = written_out(said.labels, said.probs.astype(float).tolist(), said.weights)
    truth = one_hot(labels, said.probs.shape[1])
    nu = median_or_given(name, probs, width)
    options = {"kernel": name, "bandwidth": width, "counts": said.weights}
    biased = cal.skce(said.labels, said.probs, estimator="biased", **options)
    assert biased.settings["bandwidth"] == pytest.approx(nu, rel=ROUNDING)
    assert biased.value == pytest.approx(naive.biased(name, truth, probs, nu), abs=ROUNDING)
    if len(labels) > 1:
        found = cal.skce(said.labels, said.probs, **options)
        assert found.value == pytest.approx(naive.unbiased(name, truth, probs, nu), abs=ROUNDING)


@given(data.events(most=15).map(counted), st.sampled_from(KERNELS), WIDTHS)
def test_an_event_is_that_of_plain_loops(said, name, width):
    truth, probs = two_classes(*written_out(said.labels, said.probs, said.weights))
    nu = median_or_given(name, probs, width)
    options = {"kernel": name, "bandwidth": width, "counts": said.weights}
    biased = cal.skce(said.labels, said.probs, estimator="biased", **options)
    assert biased.settings["bandwidth"] == pytest.approx(nu, rel=ROUNDING)
    assert biased.value == pytest.approx(naive.biased(name, truth, probs, nu), abs=ROUNDING)
    if len(probs) > 1:
        found = cal.skce(said.labels, said.probs, **options)
        assert found.value == pytest.approx(naive.unbiased(name, truth, probs, nu), abs=ROUNDING)


@given(data.matrices(most=12).map(counted), st.sampled_from(KERNELS), st.sampled_from(["top", "class 1"]))
def test_top_and_class_views_are_those_of_plain_loops(said, name, view):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    p, y = binned.top(said.labels, said.probs) if view == "top" else binned.one_class(said.labels, said.probs, 1)
    truth, probs = two_classes(*written_out(y, p, said.weights))
    nu = median_or_given(name, probs, None)
    found = cal.skce(made, view=view, kernel=name, estimator="biased")
    assert found.value == pytest.approx(naive.biased(name, truth, probs, nu), abs=ROUNDING)


@given(
    st.one_of(data.matrices(weighted=False, most=14), data.events(weighted=False, most=14)),
    st.sampled_from(KERNELS),
    st.integers(2, 5),
)
def test_blocks_are_those_of_plain_loops(said, name, size):
    assume(said.n >= size)
    if said.probs.ndim == 1:
        truth, probs = two_classes(said.labels, said.probs)
    else:
        truth, probs = one_hot(said.labels, said.probs.shape[1]), said.probs.astype(float).tolist()
    found = cal.skce(said.labels, said.probs, estimator="block", block_size=size, kernel=name, bandwidth=0.3)
    assert found.value == pytest.approx(naive.block(name, truth, probs, 0.3, size), abs=ROUNDING)
    assert found.settings["n_blocks"] == said.n // size


@given(some.soft_matrices(), st.sampled_from(KERNELS))
def test_shares_as_labels_are_those_of_plain_loops(said, name):
    made = Predictions(said.labels, said.probs, soft=True)
    found = cal.skce(made, kernel=name, bandwidth=0.5, estimator="biased")
    assert found.value == pytest.approx(
        naive.biased(name, said.labels.tolist(), said.probs.tolist(), 0.5), abs=ROUNDING
    )


@given(data.events(most=15).map(counted), st.sampled_from(KERNELS))
def test_one_column_and_two_are_the_same(said, name):
    pair = np.stack([1 - said.probs.astype(float), said.probs.astype(float)], axis=1)
    options = {"kernel": name, "bandwidth": 0.2, "estimator": "biased", "counts": said.weights}
    one, two = (cal.skce(said.labels, probs, **options).value for probs in (said.probs, pair))
    assert one == pytest.approx(two, abs=ROUNDING)


@given(data.matrices(most=12).map(counted))
def test_the_biased_value_is_never_negative_and_its_floor_is_the_diagonal_if_calibrated(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    found = cal.skce(made, estimator="biased")
    assert found.value >= -ROUNDING
    _, probs = written_out(said.labels, said.probs.astype(float).tolist(), said.weights)
    floor = sum(1 - sum(p * p for p in row) for row in probs) / len(probs) ** 2
    assert found.noise_floor == pytest.approx(floor, abs=1e-6)  # float32 rows sum to 1 within 1e-7


# Bandwidth.


@pytest.mark.slow
def test_the_median_of_many_rows_comes_from_sampled_pairs(monkeypatch, rng):
    probs = rng.dirichlet(np.ones(3), 400)
    labels = rng.integers(0, 3, 400)
    exact = cal.skce(labels, probs).settings["bandwidth"]
    monkeypatch.setattr(module, "EXACT_MEDIAN_ROWS", 10)
    sampled = [cal.skce(labels, probs, seed=seed).settings["bandwidth"] for seed in (0, 0, 1)]
    assert sampled[0] == sampled[1] != sampled[2]
    # the median of m pairs has a standard error of 1/(2 f √m), here about 0.001
    assert sampled == pytest.approx([exact] * 3, rel=0.01)


def test_distances_of_long_rows_are_taken_few_pairs_at_a_time(monkeypatch, rng):
    probs = rng.dirichlet(np.ones(100), 200)
    labels = rng.integers(0, 100, 200)
    together = cal.skce(labels, probs).settings["bandwidth"]
    tracemalloc.start()
    monkeypatch.setattr(module, "PAIR_ENTRIES", 1000)
    few = cal.skce(labels, probs).settings["bandwidth"]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert few == together
    assert most < 8e6  # all pairs at once take 16 MB for their differences alone


def test_a_median_of_zero_gives_way_to_one():
    found = cal.skce([0, 1, 1], [0.5, 0.5, 0.5])
    assert found.settings["bandwidth"] == 1
    assert "the median distance is 0, and the bandwidth was set to 1" in found.cautions[0]


def test_a_row_of_weight_zero_has_no_distance_to_others():
    found = cal.skce([0, 0], [[0.25] * 4, [0.0, 0.0, 0.0, 1.0]], counts=[1, 0], estimator="biased")
    assert found.settings["bandwidth"] == 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("probs", [[0.0, 1e-200, 3e-200], [0.0, 0.0, 5e-324, 5e-324, 1.0], [1e-160, 2e-160, 1.0]])
def test_a_tiny_median_of_saturated_predictions_gives_a_number(kernel, probs):
    found = cal.skce([0, 1, 1, 0, 1][: len(probs)], probs, kernel=kernel)
    assert math.isfinite(found.value)


# Blocks.


def test_blocks_have_an_interval_and_say_what_they_leave_out(rng):
    p = rng.random(41)
    found = cal.skce(rng.random(41) < p, p, estimator="block")
    assert found.interval.low < found.value < found.interval.high
    assert found.cautions[-1] == "1 rows do not fill a block and are not used"


@pytest.mark.parametrize("size", [1, 0, -2, 5])
def test_a_block_holds_two_rows_or_more(size):
    with pytest.raises(InputError, match="block_size must be at least 2 and at most the number of rows; it is"):
        cal.skce([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], estimator="block", block_size=size)


def test_blocks_repeat_rows_and_take_no_weights():
    counted = cal.skce([0, 1, 1], [0.1, 0.2, 0.7], estimator="block", counts=[1, 2, 1])
    assert counted == cal.skce([0, 1, 1, 1], [0.1, 0.2, 0.2, 0.7], estimator="block")
    with pytest.raises(InputError, match=r"weights must be left out with estimator='block'\. Use estimator='unbiased'"):
        cal.skce([0, 1], [0.1, 0.2], estimator="block", weights=[1, 2])


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="estimator must be one of 'unbiased', 'biased', 'block'; it is 'linear'"):
        cal.skce([0, 1], [0.1, 0.2], estimator="linear")
    with pytest.raises(InputError, match="kernel must be one of 'tv', 'laplace', 'gaussian'; it is 'rbf'"):
        cal.skce([0, 1], [0.1, 0.2], kernel="rbf")
    for bandwidth in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="bandwidth must be positive and finite; it is"):
            cal.skce([0, 1], [0.1, 0.2], bandwidth=bandwidth)
    with pytest.raises(InputError, match="labels must hold at least two rows for the unbiased estimator; it holds 1"):
        cal.skce([1], [0.5])
