"""Maps for regression: known parameters recovered, slopes right, quantiles uniform, degenerate data told."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import kstest, norm

import calibrant as cal
from calibrant import InputError, MapError, load_map
from calibrant.maps import QuantileMap, StdScalingMap, VariancePlattMap
from calibrant.maps.regression import admit_forecasts, platt_score
from calibrant.regression import QuantileRecalibration, StdScaling, VariancePlatt
from registered import FORECAST_METHODS
from tolerances import OPTIMISER, ROUNDING, STANDARD_ERRORS

each = pytest.mark.parametrize("method", FORECAST_METHODS.values(), ids=FORECAST_METHODS)


def drawn(rng, n, slope=2.0, offset=1.0):
    """Forecasts whose true variance is slope·σ² + offset."""
    mean, variance = rng.normal(size=n) * 5, rng.gamma(2.0, 1.0, n) + 0.05
    return rng.normal(mean, np.sqrt(slope * variance + offset)), mean, variance


def dawid_sebastiani(labels, mean, variance, counts=None):
    return np.average((mean - labels) ** 2 / variance + np.log(variance), weights=counts)


@pytest.mark.parametrize("truth", [(2.0, 1.0), (0.3, 4.0), (1.0, 0.0), (0.0, 3.0)])
def test_known_parameters_come_back_within_sampling_error(truth, rng):
    labels, mean, variance = drawn(rng, 20_000, *truth)
    fitted = VariancePlatt().fit(labels, mean, variance)
    true = truth[0] * variance + truth[1]
    # Fisher information of (w, b) for a Gaussian variance: Σ g gᵀ / (2 v²) with g = (σ², 1)
    g = np.stack([variance, np.ones_like(variance)])
    errors = np.sqrt(np.diag(np.linalg.inv((g / (2 * true**2)) @ g.T)))
    assert np.all(np.abs(np.array([fitted.slope, fitted.offset]) - truth) < STANDARD_ERRORS * errors)
    assert fitted.fit.converged
    assert fitted.fit.loss <= dawid_sebastiani(labels, mean, true) + ROUNDING


def test_it_is_the_minimum_of_the_naive_score(rng):
    labels, mean, variance = drawn(rng, 300)
    weights = rng.random(300)
    fitted = VariancePlatt().fit(labels, mean, variance, weights=weights)

    def score(logs):
        w, b = np.exp(logs)
        return dawid_sebastiani(labels, mean, w * variance + b, weights)

    found = minimize(score, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
    assert fitted.fit.loss <= found.fun + 1e-10  # the search of the twin stops there
    np.testing.assert_allclose([fitted.slope, fitted.offset], np.exp(found.x), rtol=1e-4)  # the score is flat to 1e-10


def test_the_slopes_of_the_score_are_its_differences(rng):
    data = admit_forecasts(*drawn(rng, 50), None, rng.random(50))
    for w, b in rng.uniform(0.2, 3, (10, 2)):
        step = 1e-6
        slopes = platt_score(data, w, b)[1]
        across = (platt_score(data, w + step, b)[0] - platt_score(data, w - step, b)[0]) / (2 * step)
        up = (platt_score(data, w, b + step)[0] - platt_score(data, w, b - step)[0]) / (2 * step)
        np.testing.assert_allclose(slopes, [across, up], atol=1e-7)  # the differences' own rounding


def test_scaling_by_hand():
    fitted = StdScaling().fit([3.0, 0.0], [0.0, 1.0], [9.0, 0.25], counts=[3, 1])
    assert fitted.scale == pytest.approx(math.sqrt((3 * 1 + 4) / 4), abs=ROUNDING)
    mean, variance = fitted.apply([5.0], [2.0])
    assert (mean[0], variance[0]) == (5.0, pytest.approx(3.5, abs=ROUNDING))


@given(st.integers(1, 30), st.integers(0, 1000))
def test_scaling_is_the_best_of_all_scalings(n, seed):
    rng = np.random.default_rng(seed)
    labels, mean, variance = drawn(rng, n)
    fitted = StdScaling().fit(labels, mean, variance)
    assert fitted.fit.loss == pytest.approx(dawid_sebastiani(labels, *fitted.apply(mean, variance)), abs=1e-9)
    for factor in (0.9, 1.1):
        assert fitted.fit.loss <= dawid_sebastiani(labels, mean, (factor * fitted.scale) ** 2 * variance)
    assert VariancePlatt().fit(labels, mean, variance).fit.loss <= fitted.fit.loss + ROUNDING


def test_quantiles_become_uniform_on_new_data(rng):
    def rows(n):
        mean, variance = rng.normal(size=n), rng.gamma(2.0, 1.0, n)
        return rng.standard_t(3, n) * 1.7 * np.sqrt(variance) + mean + 0.5 * np.sqrt(variance), mean, variance

    fitted = QuantileRecalibration().fit(*rows(50_000))
    labels, mean, variance = rows(2000)
    raw = norm.cdf(labels, mean, np.sqrt(variance))
    assert kstest(raw, "uniform").pvalue < 1e-6
    assert kstest(fitted.cdf(labels, mean, variance), "uniform").pvalue > 1e-3
    assert np.array_equal(fitted.cdf(labels, mean, variance), fitted.apply_pit(raw))


def test_quantile_and_cdf_undo_each_other(rng):
    labels, mean, variance = drawn(rng, 300)
    fitted = QuantileRecalibration().fit(labels, mean, variance)
    q = rng.uniform(0.02, 0.98, 300)
    np.testing.assert_allclose(fitted.cdf(fitted.quantile(q, mean, variance), mean, variance), q, atol=1e-9)


def test_half_of_the_data_lies_below_the_median(rng):
    labels, mean, variance = drawn(rng, 1001)
    fitted = QuantileRecalibration(n_points=2000).fit(labels, mean + 3, variance)
    below = labels < fitted.quantile(np.full(1001, 0.5), mean + 3, variance) - 1e-9
    assert below.mean() == pytest.approx(0.5, abs=1 / 1001)


def test_the_map_of_cumulative_probabilities_by_hand():
    fitted = QuantileRecalibration().fit_pit([0.2, 0.6, 0.2], counts=[1, 2, 1])
    np.testing.assert_allclose(fitted.x, [0, 0.2, 0.6, 1])
    np.testing.assert_allclose(fitted.y, [0, 0.25, 0.75, 1])
    np.testing.assert_allclose(fitted.apply_pit([0.0, 0.1, 0.4, 1.0]), [0, 0.125, 0.5, 1])


def test_many_points_are_thinned_out(rng):
    u = rng.beta(2, 3, 20_000)
    full, thin = (QuantileRecalibration(n_points=p).fit_pit(u) for p in (50_000, 200))
    assert len(thin.x) <= 202
    at = np.linspace(0, 1, 999)
    assert np.abs(full.apply_pit(at) - thin.apply_pit(at)).max() < 1 / 200


@pytest.mark.parametrize("u", [[0.0, 1.0], [0.0], [1.0, 1.0], [5e-324, 1 - 1e-17]])
def test_cumulative_probabilities_at_the_ends_are_no_obstacle(u):
    fitted = QuantileRecalibration().fit_pit(u)
    assert np.isfinite(fitted.apply_pit([0.0, 0.5, 1.0])).all()


@each
def test_weight_two_is_the_row_twice(method, rng):
    labels, mean, variance = drawn(rng, 60)
    times = rng.integers(0, 4, 60)
    weighted = method().fit(labels, mean, variance, times)
    repeated = method().fit(*(np.repeat(v, times) for v in (labels, mean, variance)))
    for name, value in weighted.parameters.items():
        np.testing.assert_allclose(value, repeated.parameters[name], atol=OPTIMISER)


@each
def test_maps_are_saved_and_loaded(method, rng, tmp_path):
    fitted = method().fit(*drawn(rng, 50))
    fitted.save(tmp_path / "map.json")
    assert load_map(tmp_path / "map.json") == fitted
    assert type(fitted).from_json(fitted.to_json()) == fitted
    assert FORECAST_METHODS[fitted.method] is method
    assert "fitted on 50 rows" in repr(fitted)
    assert fitted.injective
    assert fitted.n_parameters == sum(np.size(v) for v in fitted.parameters.values())


@each
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_few_rows_are_fitted_with_a_caution(method, n, rng):
    fitted = method().fit(*drawn(rng, n))
    assert any(f"{n} rows" in text for text in fitted.fit.cautions)


@pytest.mark.parametrize("method", [StdScaling, VariancePlatt])
def test_forecasts_without_error_keep_a_positive_variance(method):
    fitted = method().fit([1.0, 2.0], [1.0, 2.0], [1.0, 3.0])
    assert any("every label equals its mean" in text for text in fitted.fit.cautions)
    assert (fitted.apply([1.0, 2.0], [1.0, 3.0])[1] > 0).all()


def test_one_right_forecast_does_not_break_the_search(rng):
    labels, mean, variance = drawn(rng, 40)
    labels[0] = mean[0]
    variance[0] = 1e-12
    fitted = VariancePlatt().fit(labels, mean, variance)
    assert np.isfinite(fitted.fit.loss)
    assert fitted.fit.converged


def test_equal_variances_are_fitted(rng):
    labels = rng.normal(size=200)
    fitted = VariancePlatt().fit(labels, np.zeros(200), np.full(200, 0.5))
    assert fitted.apply([0.0], [0.5])[1][0] == pytest.approx(np.mean(labels**2), rel=OPTIMISER)


WRONG = {
    "variance 0": (([1, 2], [1, 2], [1.0, 0.0]), r"variance must be positive; variance\[1\] is 0\.0"),
    "negative variance": (([1, 2], [1, 2], [-2.0, 1.0]), r"variance must be positive; variance\[0\] is -2\.0"),
    "NaN": (([1, 2], [1, float("nan")], [1, 1]), r"mean must be finite; mean\[1\] is nan"),
    "lengths": (([1, 2, 3], [1, 2], [1, 1]), r"labels must hold one number per row, 2 in all; its shape is \(3,\)"),
    "variances missing": (
        ([1, 2], [1, 2], [1]),
        r"variance must hold one number per row, 2 in all; its shape is \(1,\)",
    ),
    "matrix": (([1, 2], [[1, 2], [3, 4]], [1, 1]), r"mean must hold one number per row; its shape is \(2, 2\)"),
    "counts": (([1, 2], [1, 2], [1, 1], [1, -1]), r"counts must not be negative"),
    "weights": (([1, 2], [1, 2], [1, 1], None, [1, -1]), r"weights must not be negative"),
    "words": ((["a", "b"], [1, 2], [1, 1]), r"labels must hold numbers"),
}


@each
@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_data_are_refused(method, case):
    with pytest.raises(InputError, match=case[1]):
        method().fit(*case[0])


def test_labels_beyond_squaring_are_refused():
    with pytest.raises(InputError, match=r"labels lie too far from mean to be squared; labels\[1\] is 1e\+140"):
        StdScaling().fit([0.0, 1e140], [0.0, 0.0], [1.0, 1e-140])


def test_weights_lost_in_rounding_leave_no_knot():
    weights = np.logspace(-12, 12, 12)
    fitted = QuantileRecalibration().fit_pit(np.linspace(0.95, 0.05, 12), weights=weights)
    assert (np.diff(fitted.y) > 0).all()
    assert abs(fitted.apply_pit([0.05])[0] - 0.5) < 0.01  # nearly all weight is on the last row


def test_columns_of_different_rows_are_refused():
    fitted = StdScaling().fit([1.0, -2.0], [0.0, 0.0], [1.0, 1.0])
    mean, variance = pd.Series([0.0, 1.0], index=[3, 4]), pd.Series([1.0, 2.0], index=[4, 3])
    with pytest.raises(InputError, match="variance must have the index of mean"):
        fitted.apply(mean, variance)


def test_shares_outside_the_unit_interval_are_refused():
    fitted = QuantileRecalibration().fit_pit([0.2, 0.7])
    with pytest.raises(InputError, match=r"q must lie in \[0, 1\]; q\[1\] is 1\.5"):
        fitted.quantile([0.5, 1.5], [0, 0], [1, 1])
    with pytest.raises(InputError, match=r"u must lie in \[0, 1\]; u\[0\] is -0\.1"):
        fitted.apply_pit([-0.1])


DAMAGED = {
    "scale": (lambda: StdScalingMap(scale=0.0), "scale must be above 0"),
    "slope": (lambda: VariancePlattMap(slope=0.0), "slope must be above 0"),
    "offset": (lambda: VariancePlattMap(offset=-1.0), "offset must be at least 0"),
    "words": (lambda: VariancePlattMap(slope="steep"), "slope must be a number"),
    "falling": (lambda: QuantileMap(x=[0, 0.5, 1], y=[0, 1.5, 1]), r"y must increase; y\[2\] is 1"),
    "lengths": (
        lambda: QuantileMap(x=[0, 0.5, 1], y=[0, 1]),
        r"y must have the shape \(x\) = \(3\); its shape is \(2,\)",
    ),
}


@pytest.mark.parametrize("case", DAMAGED.values(), ids=DAMAGED)
def test_damaged_maps_are_refused(case):
    with pytest.raises(MapError, match=case[1]):
        case[0]()


def test_public_names():
    assert (cal.regression.StdScaling, cal.regression.VariancePlatt) == (StdScaling, VariancePlatt)


def falling(rng, n=400):
    """Predicted variances whose true ones lie on 2σ² − 0.15, a line below 0 at the origin."""
    variance = rng.uniform(0.1, 2, n)
    return rng.normal(0, np.sqrt(2 * variance - 0.15)), np.zeros(n), variance


def test_signs_of_any_kind_find_the_best_line(rng):
    labels, mean, variance = falling(rng)
    usual, free = VariancePlatt().fit(labels, mean, variance), VariancePlatt("any").fit(labels, mean, variance)
    assert usual.offset == 0
    assert free.offset < 0
    assert free.fit.loss < usual.fit.loss

    def score(ends):  # heights at both ends
        line = np.interp(variance, [variance.min(), variance.max()], np.exp(ends))
        return np.mean(labels**2 / line + np.log(line))

    best = min(
        (
            minimize(score, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})
            for start in ([-2.0, 1.0], [0.0, 0.0])
        ),
        key=lambda one: one.fun,
    )
    assert free.fit.loss == pytest.approx(best.fun, abs=1e-9)
    assert (free.of_variance(variance) > 0).all()
    assert load_back(free) == free


def load_back(fitted):
    return cal.results.Record.from_json(fitted.to_json())


def test_a_falling_line_is_found_and_is_injective(rng):
    variance = rng.uniform(0.5, 2, 500)
    labels = rng.normal(0, np.sqrt(3 - variance))
    fitted = VariancePlatt("any").fit(labels, np.zeros(500), variance)
    assert fitted.slope < 0
    assert fitted.injective


def test_variances_that_would_turn_negative_are_refused(rng):
    fitted = VariancePlatt("any").fit(*falling(rng))
    below = -fitted.offset / fitted.slope / 2
    with pytest.raises(InputError, match=r"variance must stay positive; variance\[1\] is .* and would be -"):
        fitted.apply([0.0, 0.0], [1.0, below])
    with pytest.raises(InputError, match="signs must be one of 'positive', 'any'"):
        VariancePlatt("negative")


def test_equal_variances_are_scaled_whatever_the_signs():
    rows = [1.0, -2.0, 0.5], [0.0] * 3, [1.0] * 3
    assert VariancePlatt("any").fit(*rows).of_variance(np.ones(1)) == pytest.approx(1.75)
