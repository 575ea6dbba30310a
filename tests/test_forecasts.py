"""Forecasts of a real number at the door, and the questions one can ask of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm

import calibrant as cal
from calibrant import InputError
from calibrant.forecasts import (
    BentForecasts,
    Forecasts,
    GaussianForecasts,
    QuantileForecasts,
    SampleForecasts,
    admit_forecasts,
)
from calibrant.maps import QuantileRecalibration
from calibrant.score import CRPS
from kinds_of_forecasts import every_kind
from tolerances import ROUNDING, STANDARD_ERRORS


@pytest.fixture
def gaussian(rng):
    mean, variance = rng.normal(size=50), rng.gamma(2.0, 1.0, 50)
    return GaussianForecasts(rng.normal(mean, np.sqrt(variance)), mean, variance)


def test_gaussians_answer_as_scipy_does(gaussian):
    there = norm(gaussian.mean, np.sqrt(gaussian.variance))
    np.testing.assert_allclose(gaussian.cdf(0.3), there.cdf(0.3), atol=ROUNDING)
    np.testing.assert_allclose(gaussian.cdf(gaussian.labels), there.cdf(gaussian.labels), atol=ROUNDING)
    np.testing.assert_allclose(gaussian.quantile(0.9), there.ppf(0.9), atol=ROUNDING)
    np.testing.assert_allclose(gaussian.quantile(gaussian.pit()), gaussian.labels, atol=1e-9)  # far out digits are lost
    np.testing.assert_allclose(gaussian.z, (gaussian.labels - gaussian.mean) / np.sqrt(gaussian.variance))


@pytest.mark.parametrize("kind", ["Gaussian", "bent", "quantile", "sample"])
def test_the_pit_of_a_right_model_is_uniform_and_of_a_narrow_one_is_not(kind, rng):
    assert kstest(every_kind(rng)[kind].pit(), "uniform").pvalue > 1e-3
    assert kstest(every_kind(rng, width=0.5)[kind].pit(), "uniform").pvalue < 1e-6


@pytest.mark.parametrize("kind", ["Gaussian", "bent", "quantile", "sample"])
def test_quantile_and_cdf_undo_each_other(kind, rng):
    forecasts = every_kind(rng, 60)[kind]
    for level in (0.06, 0.3, 0.5, 0.94):
        at = forecasts.quantile(level)
        assert (forecasts.cdf(at) >= level - ROUNDING).all()
        assert (forecasts.cdf_before(at) <= level + ROUNDING).all()


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", ["Gaussian", "bent", "quantile", "sample"])
def test_draws_and_nodes_have_the_mean_and_variance_of_the_forecast(kind, rng):
    forecasts = every_kind(rng, 30)[kind]
    drawn = np.array([forecasts.draw(rng) for _ in range(4000)])
    error = np.sqrt(forecasts.variance / 4000)
    assert (np.abs(drawn.mean(axis=0) - forecasts.mean) < STANDARD_ERRORS * error).all()
    points, shares = forecasts.nodes()
    assert shares.sum() == pytest.approx(1, abs=ROUNDING)
    exact = kind in ("Gaussian", "sample")
    np.testing.assert_allclose(
        points @ shares, forecasts.mean, atol=1e-10 if exact else 1e-2
    )  # 200 equally likely points
    spread = (points - forecasts.mean[:, None]) ** 2 @ shares
    np.testing.assert_allclose(spread, forecasts.variance, rtol=1e-10 if exact else 0.05)


def test_an_unbent_forecast_is_the_gaussian(gaussian):
    same = BentForecasts(gaussian, [0, 0.2, 1], [0, 0.2, 1])
    np.testing.assert_allclose(same.mean, gaussian.mean, atol=ROUNDING)
    np.testing.assert_allclose(same.variance, gaussian.variance, atol=ROUNDING)
    np.testing.assert_allclose(same.cdf(0.1), gaussian.cdf(0.1), atol=ROUNDING)
    np.testing.assert_allclose(same.quantile(0.3), gaussian.quantile(0.3), atol=ROUNDING)


@pytest.mark.slow
def test_mean_and_variance_of_a_bent_forecast_are_integrals(gaussian):
    fitted = QuantileRecalibration().fit(gaussian)
    bent = fitted.apply(gaussian)
    z = np.union1d(np.linspace(-9, 9, 2_000_001), bent.knots[1:-1])  # smooth within every step
    steps = np.diff(np.interp(norm.cdf(z), fitted.x, fitted.y))
    middle = (z[1:] + z[:-1]) / 2
    first = (middle * steps).sum()
    second = ((middle - first) ** 2 * steps).sum()
    np.testing.assert_allclose(bent.mean, gaussian.mean + first * np.sqrt(gaussian.variance), atol=1e-9)
    np.testing.assert_allclose(bent.variance, second * gaussian.variance, rtol=1e-9)


def test_quantiles_by_hand():
    forecasts = QuantileForecasts([0.0, 1.0, 2.5, 9.0], [0.2, 0.5, 0.8], [[1.0, 2.0, 4.0]] * 4)
    assert forecasts.cdf(1.5)[0] == pytest.approx(0.35)
    assert (forecasts.cdf(0.9)[0], forecasts.cdf(1.0)[0], forecasts.cdf_before(1.0)[0]) == (0.0, 0.2, 0.0)
    assert (forecasts.cdf_before(4.0)[0], forecasts.cdf(4.0)[0], forecasts.cdf(5.0)[0]) == (
        pytest.approx(0.8),
        1.0,
        1.0,
    )
    assert forecasts.mean[0] == pytest.approx(0.2 * 1 + 0.3 * 1.5 + 0.3 * 3 + 0.2 * 4)
    low, high = forecasts.pit_range()
    assert low.tolist() == [0, 0, 0.5, 0.8]
    assert high.tolist() == [0.2, 0.5, 0.8, 1]
    np.testing.assert_allclose(forecasts.quantile(0.65), 3.0)
    with pytest.raises(InputError, match=r"level must lie between the outermost quantiles, 0.2 and 0.8; it is 0.1"):
        forecasts.quantile(0.1)


def test_one_quantile_is_enough():
    forecasts = QuantileForecasts([0.0, 2.0], [0.5], [1.0, 1.0])
    assert forecasts.quantile(0.5).tolist() == [1.0, 1.0]
    assert forecasts.cdf(1.0).tolist() == [1.0, 1.0]
    assert forecasts.mean.tolist() == [1.0, 1.0]
    assert forecasts.variance.tolist() == [0.0, 0.0]


def test_equal_quantiles_are_a_jump():
    forecasts = QuantileForecasts([1.0], [0.2, 0.5, 0.8], [[1.0, 1.0, 2.0]])
    low, high = forecasts.pit_range()
    assert (low[0], high[0]) == (0.0, 0.8)
    assert (forecasts.cdf_before(1.0)[0], forecasts.cdf(1.0)[0]) == (0.0, 0.5)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(-6, 6))
def test_the_rank_of_a_label_among_samples(samples, label):
    forecasts = SampleForecasts([label], [samples])
    low, high = forecasts.pit_range()
    m = len(samples)
    assert low[0] == sum(x < label for x in samples) / (m + 1)
    assert high[0] == (sum(x <= label for x in samples) + 1) / (m + 1)
    assert low[0] <= forecasts.pit(3)[0] <= high[0]
    assert forecasts.cdf(label)[0] == sum(x <= label for x in samples) / m
    for level in (0.1, 0.3, 0.5, 1 / 3, 0.9):
        smallest = min(x for x in samples if sum(y <= x for y in samples) / m >= level - 1e-9)
        assert forecasts.quantile(level)[0] == smallest


def test_a_drawn_pit_is_the_same_for_the_same_seed(rng):
    forecasts = every_kind(rng)["sample"]
    assert np.array_equal(forecasts.pit(1), forecasts.pit(1))
    assert not np.array_equal(forecasts.pit(1), forecasts.pit(2))


@pytest.mark.parametrize("kind", ["Gaussian", "bent", "quantile", "sample"])
def test_some_rows(kind, rng):
    forecasts = every_kind(rng, 20)[kind]
    for which in (slice(3, 9), np.arange(20) % 2 == 0, [5, 2]):
        part = forecasts.rows(which)
        assert type(part) is type(forecasts)
        assert np.array_equal(part.labels, forecasts.labels[which])
        np.testing.assert_allclose(part.mean, forecasts.mean[which])
        np.testing.assert_allclose(part.cdf(part.labels), forecasts.cdf(forecasts.labels)[which])
    with pytest.raises(InputError, match="which must choose at least one row"):
        forecasts.rows([])


def test_weights_and_groups_travel_with_the_rows():
    forecasts = GaussianForecasts([1, 2, 3], [1, 2, 3], [1, 1, 1], weights=[1, 0, 2], groups=["a", "b", "b"])
    assert repr(forecasts) == "GaussianForecasts(2 rows, weights, groups)"  # one of weight 0 is none
    assert forecasts.labels.tolist() == [1, 3]
    assert forecasts.weights == pytest.approx(np.array([1, 2]) * 3 / 5)
    part = forecasts.rows([1])
    assert part.weights is None  # one weight tells nothing
    assert part.groups.tolist() == ["b"]


def test_counts_repeat_rows():
    forecasts = GaussianForecasts([1, 2, 3], [4, 5, 6], [1, 2, 3], counts=[1, 0, 2], groups=["a", "b", "c"])
    assert repr(forecasts) == "GaussianForecasts(3 rows, groups)"
    assert forecasts.labels.tolist() == [1, 3, 3]
    assert forecasts.mean.tolist() == [4, 6, 6]
    assert forecasts.variance.tolist() == [1, 3, 3]
    assert forecasts.groups.tolist() == ["a", "c", "c"]
    assert forecasts.weights is None
    both = GaussianForecasts([1, 2, 3], [4, 5, 6], [1, 2, 3], counts=[1, 0, 2], weights=[1, 9, 2])
    assert both.labels.tolist() == [1, 3, 3]
    assert both.weights == pytest.approx(np.array([1, 2, 2]) * 5 / 9)


def test_forecasts_show_what_they_are(gaussian):
    assert len(gaussian) == 50
    assert repr(BentForecasts(gaussian, [0, 0.5, 1], [0, 0.4, 1])) == "BentForecasts(50 rows, 3 knots)"


def test_what_is_held_cannot_be_written_to(gaussian):
    for array in (gaussian.labels, gaussian.mean, gaussian.variance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_the_users_arrays_stay_theirs():
    mean = np.zeros(2)
    GaussianForecasts([1.0, 2.0], mean, [1.0, 1.0])
    mean[0] = 5.0


def test_other_gaussians_of_the_same_rows(gaussian):
    made = gaussian.with_gaussian(gaussian.mean + 1, gaussian.variance, made_by="a map")
    assert made.source == (gaussian, "a map")
    assert made.labels is gaussian.labels
    with pytest.raises(InputError, match=r"mean must hold one number per row, 50 in all"):
        gaussian.with_gaussian([1.0], [1.0])


def test_predictions_is_the_way_in():
    assert isinstance(cal.Predictions.from_gaussian([1], [1], [1]), GaussianForecasts)
    assert repr(cal.Predictions.from_quantiles([1], [0.5], [[1]])) == "QuantileForecasts(1 row, 1 level)"
    assert repr(cal.Predictions.from_samples([1], [[1, 2]], counts=[2])) == "SampleForecasts(2 rows, 2 samples)"


nan = float("nan")
WRONG = {
    "variance 0": (GaussianForecasts, ([1, 2], [1, 2], [1, 0]), r"variance must be positive; variance\[1\] is 0"),
    "NaN label": (GaussianForecasts, ([1, nan], [1, 2], [1, 1]), r"labels must be finite; labels\[1\] is nan"),
    "NaN mean": (GaussianForecasts, ([1, 2], [nan, 2], [1, 1]), r"mean must be finite; mean\[0\] is nan"),
    "lengths": (GaussianForecasts, ([1, 2, 3], [1, 2], [1, 1]), r"labels must hold one number per row, 2 in all"),
    "empty": (GaussianForecasts, ([], [], []), r"mean must hold at least one row"),
    "words": (GaussianForecasts, (["a"], [1], [1]), r"labels must hold numbers"),
    "crossing": (
        QuantileForecasts,
        ([1, 1], [0.1, 0.9], [[0, 1], [2, 1]]),
        r"values must not fall from one level to the next; row 1 has 2.0 at 0.1 and 1.0 at 0.9",
    ),
    "levels": (QuantileForecasts, ([1], [0.9, 0.1], [[0, 1]]), r"levels must rise, strictly between 0 and 1"),
    "level 1": (QuantileForecasts, ([1], [0.5, 1.0], [[0, 1]]), r"levels must rise, strictly between 0 and 1"),
    "columns": (
        QuantileForecasts,
        ([1], [0.1, 0.9], [[0, 1, 2]]),
        r"values must have 2 columns, one per level; it has 3",
    ),
    "far": (
        GaussianForecasts,
        ([1, 1e200], [1, 2], [1, 1]),
        r"labels must lie within ±1e\+150; labels\[1\] is 1e\+200",
    ),
    "narrow": (GaussianForecasts, ([1, 1], [1, 2], [1, 1e-200]), r"variance must be at least 1e-150; variance\[1\]"),
    "far sample": (SampleForecasts, ([1], [[0, -1e200]]), r"samples must lie within ±1e\+150; samples\[0, 1\]"),
    "NaN sample": (SampleForecasts, ([1], [[0, nan]]), r"samples must be finite; samples\[0, 1\] is nan"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_data_are_refused(case):
    with pytest.raises(InputError, match=case[2]):
        case[0](*case[1])


def test_wrong_questions_are_refused(gaussian):
    for level in (0.0, 1.0, -1.0):
        with pytest.raises(InputError, match="level must lie between 0 and 1"):
            gaussian.quantile(level)
    with pytest.raises(InputError, match="at must be a number, or one per row; it is 'far'"):
        gaussian.cdf("far")
    with pytest.raises(InputError, match=r"at must hold one number per row, 50 in all"):
        gaussian.cdf([1.0, 2.0])
    with pytest.raises(InputError, match=r"forecasts must be forecasts of a real number; it is a list.*from_gaussian"):
        admit_forecasts([1, 2])


class Uniform(Forecasts):
    """A kind of one's own: uniform around a centre."""

    kind = "uniform"
    per_row = ("centre",)

    def __init__(self, labels, centre):
        self.centre = np.asarray(centre, dtype=float)
        self._fill(labels, len(self.centre), None, None, None)

    @property
    def outputs(self):
        return self.centre[:, None]

    @property
    def mean(self):
        return self.centre

    @property
    def variance(self):
        return np.full(self.n, 1 / 12)

    def cdf(self, at):
        return np.clip(self._column(at, "at") - self.centre + 0.5, 0, 1)

    def quantile(self, level):
        return self.centre - 0.5 + self._levels(level)


@pytest.mark.slow
def test_everything_works_for_a_kind_of_ones_own(rng):
    centre = rng.normal(size=200)
    forecasts = Uniform(centre + rng.random(200) - 0.5, centre)
    found = cal.diagnose(forecasts)
    assert found.calibrated is None
    apart = np.abs(forecasts.labels - centre)
    exact = apart**2 + 1 / 12  # of a uniform number on [−½, ½], for a label inside
    np.testing.assert_allclose(CRPS().rows(forecasts), exact, atol=1e-4)  # 200 levels
    assert cal.compare(forecasts, Uniform(forecasts.labels, centre + 0.3)).verdict == "worse"
