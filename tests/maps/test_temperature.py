"""Temperature scaling: the best T, told honestly when there is none, and applied without a change of rank."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions, Temperature
from calibrant.maps import TemperatureMap
from naive.scores import temperature_loss
from tolerances import OPTIMISER


def drawn(rng, n, n_classes, truth=2.0, scale=3.0):
    """Logits that are `truth` times too large, and labels; one class means a binary event."""
    z = rng.normal(size=(n, max(n_classes, 1))) * scale
    if n_classes == 1:
        return (rng.random(n) < 1 / (1 + np.exp(-z[:, 0] / truth))).astype(int), z[:, 0]
    noise = rng.gumbel(size=z.shape)
    return (z / truth + noise).argmax(axis=1), z


def best(labels, logits, counts=None):
    """ln T by golden section on the naive loss."""
    found = minimize_scalar(
        lambda v: temperature_loss(labels, logits, math.exp(v), counts),
        bounds=(-6.9, 6.9),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return found.x


@pytest.mark.parametrize("n_classes", [1, 2, 3, 10])
@pytest.mark.parametrize("truth", [0.3, 1.0, 4.0])
def test_it_is_the_minimum_of_the_naive_loss(rng, n_classes, truth):
    labels, logits = drawn(rng, 150, n_classes, truth)
    fitted = Temperature(penalty=None).fit(labels, logits=logits)
    assert math.log(fitted.temperature) == pytest.approx(best(labels, logits), abs=OPTIMISER)
    assert fitted.fit.loss == pytest.approx(temperature_loss(labels, logits, fitted.temperature), abs=1e-9)
    assert fitted.fit.converged
    assert fitted.fit.cautions == ()
    assert fitted.fit.n == 150


def test_by_hand():
    # three right and one wrong at ±z: σ(z/T) = 3/4, so T = z / ln 3
    fitted = Temperature(penalty=None).fit([1, 0, 1, 0], logits=[2.0, -2.0, 2.0, 2.0])
    assert fitted.temperature == pytest.approx(2 / math.log(3), abs=OPTIMISER)
    probs = Temperature(penalty=None).fit([1, 0, 1, 0], [0.9, 0.1, 0.9, 0.9])
    assert probs.temperature == pytest.approx(math.log(9) / math.log(3), abs=OPTIMISER)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 50, 1000])
def test_many_classes(rng, n_classes):
    labels, logits = drawn(rng, 300, n_classes, 1.7)
    fitted = Temperature(penalty=None).fit(labels, logits=logits)
    slope = 1e-3
    losses = [temperature_loss(labels, logits, fitted.temperature * math.exp(v)) for v in (-slope, 0, slope)]
    assert losses[1] < min(losses[0], losses[2])


def test_large_data_start_from_a_sample_and_end_at_the_minimum(rng):
    labels, logits = drawn(rng, 40_000, 3)
    fitted = Temperature(penalty=None).fit(labels, logits=logits)
    odds = logits - logits.max(axis=1, keepdims=True)

    def loss(v):
        z = odds * math.exp(-v)
        return float(np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(z)), labels]))

    found = minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-10}).x
    assert math.log(fitted.temperature) == pytest.approx(found, abs=OPTIMISER)


def test_a_sample_of_weightless_rows_is_no_obstacle(rng):
    labels, logits = drawn(rng, 20_000, 3)
    weights = np.ones(20_000)
    weights[:: 20_000 // 2048] = 0
    kept = weights > 0
    fitted = Temperature(penalty=None).fit(labels, logits=logits, counts=weights)
    assert fitted.temperature == pytest.approx(
        Temperature(penalty=None).fit(labels[kept], logits=logits[kept]).temperature, rel=OPTIMISER
    )


@pytest.mark.parametrize("n_classes", [1, 4])
def test_float32_is_close_to_float64(rng, n_classes):
    labels, logits = drawn(rng, 400, n_classes)
    wide = Temperature(penalty=None).fit(labels, logits=logits.astype(np.float32).astype(float)).temperature
    narrow = Temperature(penalty=None).fit(labels, logits=logits.astype(np.float32)).temperature
    assert narrow == pytest.approx(wide, rel=1e-5)  # entries are rounded to 24 bits


def test_weights_are_repeated_rows(rng):
    labels, logits = drawn(rng, 80, 3)
    times = rng.integers(0, 4, 80)
    weighted = Temperature(penalty=None).fit(labels, logits=logits, counts=times)
    repeated = Temperature(penalty=None).fit(np.repeat(labels, times), logits=np.repeat(logits, times, axis=0))
    assert weighted.temperature == pytest.approx(repeated.temperature, rel=OPTIMISER)


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_fitting_probabilities_takes_memory_for_their_logits_and_little_more(rng, dtype):
    probs = rng.dirichlet(np.ones(400), 2000).astype(dtype)
    said = Predictions(rng.integers(0, 400, 2000), probs)
    Temperature(penalty=None).fit(said)  # imports and caches
    tracemalloc.start()
    Temperature(penalty=None).fit(said)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * probs.nbytes


def test_probabilities_and_their_logits_fit_alike(rng):
    labels, logits = drawn(rng, 200, 4)
    said = Predictions.from_logits(labels, logits)
    assert Temperature(penalty=None).fit(labels, said.probs).temperature == pytest.approx(
        Temperature(penalty=None).fit(said).temperature, rel=OPTIMISER
    )


@given(some.logit_rows())
def test_it_is_positive_and_finite_and_no_worse_than_one(said):
    fitted = Temperature(penalty=None).fit(said.labels, logits=said.probs, counts=said.weights)
    assert 1e-3 * 0.999 <= fitted.temperature <= 1e3 * 1.001
    before = temperature_loss(said.labels, said.probs, 1.0, said.weights)
    after = temperature_loss(said.labels, said.probs, fitted.temperature, said.weights)
    assert after <= before + 1e-9 * (1 + before)


@given(some.logit_rows())
def test_no_other_temperature_within_the_bounds_is_better(said):
    fitted = Temperature(penalty=None).fit(said.labels, logits=said.probs, counts=said.weights)
    least = temperature_loss(said.labels, said.probs, fitted.temperature, said.weights)
    for t in (1e-3, 0.03, 0.3, 0.8, 1.3, 3.0, 30.0, 1e3):
        assert least <= temperature_loss(said.labels, said.probs, t, said.weights) + 1e-9 * (1 + least)


@given(some.predictions())
def test_any_probabilities_can_be_fitted_and_mended(said):
    fitted = Temperature(penalty=None).fit(said.labels, said.probs, counts=said.weights)
    mended = fitted.apply(said.probs)
    assert np.isfinite(fitted.temperature)
    assert ((mended >= 0) & (mended <= 1)).all()


# Data without a best temperature.


def test_separable_data_end_at_the_lower_bound():
    fitted = Temperature((0.01, 100), penalty=None).fit([0, 1, 1], logits=[-1.0, 2.0, 0.5])
    assert fitted.temperature == pytest.approx(0.01)
    assert fitted.fit.cautions == (
        "every row is fitted better the smaller T is; stopped at the bound 0.01. Use more validation data",
    )
    assert "caution: every row" in repr(fitted)


def test_hopeless_data_end_at_the_upper_bound():
    fitted = Temperature((0.01, 100), penalty=None).fit([1, 0, 0], logits=[-1.0, 2.0, 0.5])
    assert fitted.temperature == pytest.approx(100)
    assert fitted.fit.cautions == ("the predictions help less than a uniform guess; T stopped at the bound 100",)


def test_predictions_that_say_nothing_leave_t_at_one():
    for logits in ([[0.0, 0.0], [3.0, 3.0]], [0.0, 0.0]):
        fitted = Temperature(penalty=None).fit([0, 1], logits=logits)
        assert fitted.temperature == 1
        assert fitted.fit.cautions == (
            "every row gives all classes the same probability; T does not matter and was set to 1",
        )


def test_one_row_that_says_something_is_not_called_silent():
    fitted = Temperature(penalty=None).fit([0, 0], logits=[[0.0, 0.0], [1000.0, 0.0]])
    assert "every row gives all classes the same" not in repr(fitted)


# The penalty: outcomes of which a share of λ/(n + λ) is as predicted.


def softened(labels, probs, penalty):
    """The labels of the penalised fit, written out."""
    return (np.eye(probs.shape[1])[labels] * len(labels) + penalty * probs) / (len(labels) + penalty)


@pytest.mark.parametrize("penalty", [0.5, 2, 30.0])
def test_the_penalty_counts_rows_with_outcomes_as_predicted(rng, penalty):
    labels, logits = drawn(rng, 60, 3)
    said = Predictions.from_logits(labels, logits)
    fitted = Temperature(penalty=penalty).fit(said)
    shares = Predictions.from_logits(softened(labels, said.probs, penalty), logits, soft=True)
    assert fitted.temperature == pytest.approx(Temperature(penalty=None).fit(shares).temperature, rel=OPTIMISER)
    assert fitted.fit.loss == pytest.approx(temperature_loss(labels, logits, fitted.temperature), abs=1e-9)


@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("size", [0.01, 1.0, 30.0, 80.0, 1e4])
def test_rows_without_an_error_give_a_finite_temperature_inside_the_bounds(rng, size, dtype):
    labels = rng.integers(0, 5, 100)
    logits = (size * (np.eye(5)[labels] + 0.1 * rng.random((100, 5)))).astype(dtype)
    fitted = Temperature().fit(labels, logits=logits)
    gap = float(size * fitted.temperature**-1)
    assert 0.0011 < fitted.temperature <= 1
    assert gap < max(20, 1.2 * size)  # a chance of e^-20 after a hundred rows
    assert not any("bound" in text for text in fitted.fit.cautions)


def test_the_penalty_moves_the_optimum_by_a_share_that_falls_with_the_rows(rng):
    labels, logits = drawn(rng, 4000, 3)
    moved = [
        math.log(Temperature().fit(labels[:n], logits=logits[:n]).temperature)
        - math.log(Temperature(penalty=None).fit(labels[:n], logits=logits[:n]).temperature)
        for n in (250, 1000, 4000)
    ]
    assert 0 > moved[0] > -0.02
    assert [moved[0] / move for move in moved[1:]] == pytest.approx([4, 16], rel=0.3)


def test_a_wrong_penalty_is_refused():
    for wrong in (0, -1, math.inf, math.nan, True, "weak"):
        with pytest.raises(InputError, match="penalty must be a number of rows above 0 and up to"):
            Temperature(penalty=wrong)


def test_one_row_of_one_class():
    assert (
        Temperature(penalty=None)
        .fit([1], [0.7])
        .fit.cautions[0]
        .startswith("every row is fitted better the smaller T is")
    )
    assert Temperature(penalty=None).fit([0], [0.7]).fit.cautions[0].startswith("the predictions help less")


def test_probability_zero_of_what_happened_is_reported():
    fitted = Temperature(penalty=None).fit([1, 0, 1, 0], [0.0, 0.2, 0.9, 0.4])
    assert fitted.fit.cautions[0].startswith(
        "1 rows (first: row 0) give probability 0 to their label; 0 is read as 2.2e-16"
    )
    assert np.isfinite(fitted.temperature)


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_classes_of_probability_zero_take_no_part_in_the_fit(rng, dtype):
    # two classes share each row, the other 98 are exactly 0 and stay 0 at every temperature
    n, top = 400, rng.integers(0, 100, 400)
    other = (top + 1) % 100
    probs = np.zeros((n, 100), dtype=dtype)
    probs[np.arange(n), top], probs[np.arange(n), other] = 0.999, 0.001
    right = rng.random(n) < 0.55
    fitted = Temperature(penalty=None).fit(np.where(right, top, other), probs)
    binary = Temperature(penalty=None).fit(right, np.full(n, 0.999, dtype=dtype))
    assert fitted.temperature == pytest.approx(binary.temperature, rel=1e-4)
    mended = fitted.apply(probs)[np.arange(n), np.where(right, top, other)].astype(float)
    assert fitted.fit.loss == pytest.approx(-np.log(mended).mean(), rel=1e-4)


# Applied.


@given(some.logit_rows(), st.sampled_from([0.05, 0.7, 1.0, 3.0, 500.0]))
def test_rows_sum_to_one_and_ranks_are_kept(said, temperature):
    single = said.probs.ndim == 1
    fitted = TemperatureMap((0, 1) if single else tuple(range(said.probs.shape[1])), single, temperature=temperature)
    mended = fitted.apply(logits=said.probs)
    if single:
        order = np.argsort(said.probs, kind="stable")
        assert (np.diff(mended[order]) >= 0).all()
        assert ((said.probs > 0) == (mended > 0.5)).all() or (np.abs(said.probs / temperature) < 1e-15).any()
        return
    assert np.abs(mended.sum(axis=1) - 1).max() < 1e-12
    for z, p in zip(said.probs, mended, strict=True):
        assert (np.diff(p[np.argsort(z, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7, 3.0])
def test_no_class_overtakes_another_even_by_rounding(rng, dtype, temperature):
    base = rng.normal(size=(4000, 1)).astype(dtype)
    steps = rng.integers(0, 4, (4000, 5))
    z = base.copy()
    for _ in range(3):
        z = np.concatenate([z, np.nextafter(z[:, -1:], dtype(100))], axis=1)
    z = np.take_along_axis(z, steps % 4, axis=1)
    mended = TemperatureMap(tuple(range(5)), False, temperature=temperature).apply(logits=z)
    order = np.argsort(z, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(mended, order, axis=1), axis=1) >= 0).all()
    equal = np.diff(np.take_along_axis(z, order, axis=1), axis=1) == 0
    assert (np.diff(np.take_along_axis(mended, order, axis=1), axis=1)[equal] == 0).all()


@given(some.matrices(dtype=np.float64, weighted=False), st.sampled_from([0.3, 1.0, 2.5]))
def test_probabilities_and_logits_are_mended_alike(said, temperature):
    fitted = TemperatureMap(tuple(range(said.probs.shape[1])), False, temperature=temperature)
    positive = (said.probs + 0.01) / (said.probs + 0.01).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.apply(positive), fitted.apply(logits=np.log(positive)), atol=1e-14)


@given(some.events(dtype=np.float64, weighted=False), st.sampled_from([0.3, 1.0, 2.5]))
@example(some.Rows(np.array([1]), np.array([5e-324])), 3.0)
def test_one_column_and_two_columns_are_mended_alike(said, temperature):
    pair = np.stack([1 - said.probs, said.probs], axis=1)
    one = TemperatureMap((0, 1), True, temperature=temperature).apply(said.probs)
    two = TemperatureMap((0, 1), False, temperature=temperature).apply(pair)
    np.testing.assert_allclose(one, two[:, 1], atol=1e-14)


def test_zero_and_one_stay_as_close_as_the_precision_allows():
    least, most = np.finfo(float).tiny, 1 - np.finfo(float).epsneg
    for temperature in (0.1, 1.0, 50.0):
        fitted = TemperatureMap((0, 1), True, temperature=temperature)
        assert fitted.apply([0.0, 0.5, 1.0]).tolist() == [least, 0.5, most]
        rows = TemperatureMap((0, 1, 2), False, temperature=temperature).apply([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
        assert rows.tolist() == [[least, 0.5, 0.5], [least, least, 1]]


def test_the_loss_is_finite_even_where_the_impossible_happened(rng):
    probs = np.array([[0.0, 0.3, 0.7], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.0, 0.0, 1.0]])
    labels = np.array([0, 0, 2, 2])
    fitted = Temperature(penalty=None).fit(labels, probs)
    assert fitted.zero == np.finfo(float).eps
    mended = fitted.apply(probs)
    assert cal.log_score(labels, mended).value == pytest.approx(fitted.fit.loss, abs=1e-9)
    order = np.argsort(probs, axis=1, kind="stable")
    assert np.array_equal(np.argsort(mended, axis=1, kind="stable"), order)


def test_t_of_one_changes_nothing(rng):
    probs = rng.dirichlet(np.ones(5), 30)
    np.testing.assert_allclose(TemperatureMap(tuple(range(5)), False).apply(probs), probs, atol=1e-15)


def test_above_one_is_humbler():
    fitted = TemperatureMap((0, 1, 2), False, temperature=2.0)
    row = np.array([[0.64, 0.32, 0.04]])
    roots = np.sqrt(row)
    np.testing.assert_allclose(fitted.apply(row), roots / roots.sum(), atol=1e-15)


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_the_precision_is_that_of_the_input(dtype):
    fitted = TemperatureMap((0, 1), True, temperature=2.0)
    assert fitted.apply(np.array([0.2], dtype=dtype)).dtype == dtype
    assert fitted.apply(logits=np.array([0.2], dtype=dtype)).dtype == dtype


def test_masked_out_classes_stay_as_small_as_the_precision_allows():
    lowest = np.finfo(np.float32).min
    z = np.array([[1, 2, lowest], [0, 1, lowest]], dtype=np.float32)
    for temperature in (0.5, 2.0):
        mended = TemperatureMap((0, 1, 2), False, temperature=temperature).apply(logits=z)
        assert (mended[:, 2] == np.finfo(np.float32).tiny).all()
    assert np.isfinite(Temperature(penalty=None).fit([0, 1], logits=z).temperature)


def test_huge_logits_do_not_overflow():
    fitted = Temperature(penalty=None).fit([0, 1, 1], logits=[[1e200, -1e200], [1e200, -1e200], [-3.0, 2.0]])
    assert fitted.temperature == pytest.approx(1000)


def test_soft_labels_fit_the_expected_loss(rng):
    labels, logits = drawn(rng, 100, 3)
    hard = Temperature(penalty=None).fit(Predictions.from_logits(labels, logits))
    soft = Temperature(penalty=None).fit(Predictions.from_logits(np.eye(3)[labels], logits, soft=True))
    assert soft.temperature == pytest.approx(hard.temperature, rel=OPTIMISER)
    shares = np.full(100, 0.75)
    event = Temperature(penalty=None).fit(Predictions.from_logits(shares, np.full(100, 2.0), soft=True))
    assert event.temperature == pytest.approx(2 / math.log(3), rel=OPTIMISER)


@pytest.mark.parametrize("bounds", [(0, 10), (2, 10), (0.1, 0.5), (0.1, math.inf), (-1, 3), (float("nan"), 2), 5, (0.1,), ("a", "b"), None, (0.1, 2, 3)])  # fmt: skip
def test_wrong_bounds_are_refused(bounds):
    with pytest.raises(InputError, match=r"bounds must be \(low, high\) with 0 < low < 1 < high; it is"):
        Temperature(bounds=bounds)


FIT_WRONG = {
    "both": (([0, 1], [0.2, 0.7]), {"logits": [1.0, 2.0]}, r"probs or logits must be given, one of the two"),
    "neither": (([0, 1],), {}, r"probs or logits must be given, one of the two"),
    "more than predictions": ((Predictions([0, 1], [0.2, 0.7]), [0.2, 0.7]), {}, r"labels is a Predictions and carries its own data"),
    "weights beside predictions": ((Predictions([0, 1], [0.2, 0.7]),), {"weights": [1, 1]}, r"labels is a Predictions"),
    "logits as probs": (([0, 1], [-2.0, 3.0]), {}, r"probs must lie in \[0, 1\].*from_logits"),
}  # fmt: skip


@pytest.mark.parametrize("case", FIT_WRONG.values(), ids=FIT_WRONG)
def test_wrong_data_are_refused(case):
    with pytest.raises(InputError, match=case[2]):
        Temperature(penalty=None).fit(*case[0], **case[1])


def test_the_map_says_what_it_is(rng):
    fitted = cal.recalibrate(cal.example()[0], "temperature")
    assert fitted.method == "temperature"
    assert fitted.injective
    assert fitted.keeps_ranking
    assert fitted.keeps_accuracy
    assert fitted.n_parameters == 1
    assert fitted.parameters == {"temperature": fitted.temperature}
    assert repr(fitted).startswith("TemperatureMap(temperature=")
    assert repr(fitted).endswith("fitted on 898 rows)")
