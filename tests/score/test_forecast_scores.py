"""Scores of forecasts of a real number."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, ttest_1samp

import calibrant as cal
from calibrant import InputError
from calibrant.forecasts import BentForecasts, GaussianForecasts, QuantileForecasts, SampleForecasts
from calibrant.maps import QuantileRecalibration
from calibrant.score import (
    CRPS,
    DawidSebastianiScore,
    ForecastScore,
    GaussianLogScore,
    IntervalScore,
    PinballScore,
    crps,
    dawid_sebastiani_score,
    gaussian_log_score,
    interval_score,
    pinball_score,
)
from calibrant.score.forecast_score import check_forecast_score
from naive import forecasts as naive
from registered import FORECAST_SCORES
from tolerances import ROUNDING, STANDARD_ERRORS

each = pytest.mark.parametrize("score", FORECAST_SCORES.values(), ids=FORECAST_SCORES)
numbers, spreads = st.floats(-20, 20), st.floats(0.01, 100)


def gaussians(rng, n=60):
    mean, variance = rng.normal(size=n), rng.gamma(2.0, 1.0, n)
    return GaussianForecasts(rng.normal(mean, 1.3 * np.sqrt(variance)), mean, variance)


def test_by_hand():
    said = GaussianForecasts([1.0, 3.0], [0.0, 1.0], [1.0, math.e])
    np.testing.assert_allclose(DawidSebastianiScore().rows(said), [1, 4 / math.e + 1], atol=ROUNDING)
    expected = -norm(said.mean, np.sqrt(said.variance)).logpdf(said.labels)
    np.testing.assert_allclose(GaussianLogScore().rows(said), expected, atol=ROUNDING)
    quantiles = QuantileForecasts([5.0], [0.2, 0.5], [[1.0, 6.0]])
    assert PinballScore().rows(quantiles)[0] == pytest.approx((0.2 * 4 + 0.5 * 1) / 2, abs=ROUNDING)
    assert CRPS().rows(quantiles)[0] == pytest.approx(0.2 * 4 + 0.5 * 1, abs=ROUNDING)
    assert IntervalScore(0.8).rows(QuantileForecasts([-1.0], [0.1, 0.9], [[0.0, 3.0]]))[0] == pytest.approx(3 + 10)


@given(numbers, spreads, numbers)
def test_the_crps_of_a_gaussian_is_its_integral(mean, variance, label):
    sd = math.sqrt(variance)
    low, high = min(mean - 12 * sd, label - 1), max(mean + 12 * sd, label + 1)
    found = CRPS().rows(GaussianForecasts([label], [mean], [variance]))[0]
    expected = naive.crps_by_integral(lambda x: norm.cdf(x, mean, sd), label, low, high)
    assert found == pytest.approx(expected, abs=(high - low) / 200_000)  # a step of the grid


def test_the_crps_of_a_bent_forecast_is_its_integral(rng):
    said = gaussians(rng, 40)
    bent = QuantileRecalibration().fit(said).apply(said)
    found = CRPS().rows(bent)
    for i in range(0, 40, 5):
        row, sd = bent.rows([i]), math.sqrt(said.variance[i])
        low, high = said.mean[i] - 10 * sd, said.mean[i] + 10 * sd

        def cdf(x, row=row):
            return np.interp(norm.cdf(row.base.standardised(x)), row.x, row.y)

        assert found[i] == pytest.approx(
            naive.crps_by_integral(cdf, said.labels[i], low, high), abs=(high - low) / 200_000
        )


def test_the_crps_of_an_unbent_forecast_is_the_gaussians(rng):
    said = gaussians(rng)
    same = BentForecasts(said, [0, 0.1, 0.7, 1], [0, 0.1, 0.7, 1])
    np.testing.assert_allclose(CRPS().rows(same), CRPS().rows(said), atol=ROUNDING)


@given(st.lists(numbers, min_size=2, max_size=7), numbers, st.booleans())
def test_the_crps_of_samples_is_that_of_plain_loops(samples, label, fair):
    found = CRPS(fair=fair).rows(SampleForecasts([label], [samples]))[0]
    assert found == pytest.approx(naive.ensemble_crps(label, samples, fair), abs=1e-11)


@given(st.lists(numbers, min_size=1, max_size=6), numbers)
def test_the_crps_of_samples_is_the_integral_of_their_steps(samples, label):
    cdf = SampleForecasts([0.0], [samples])
    points = np.sort([*samples, label])
    heights = np.array([cdf.cdf(x)[0] for x in points[:-1]])
    expected = (np.diff(points) * (heights - (points[:-1] >= label)) ** 2).sum()
    assert CRPS().rows(SampleForecasts([label], [samples]))[0] == pytest.approx(expected, abs=1e-11)


@given(st.lists(numbers, min_size=3, max_size=3), numbers)
def test_pinball_is_that_of_plain_loops(values, label):
    levels, values = (0.1, 0.45, 0.8), sorted(values)
    found = PinballScore().rows(QuantileForecasts([label], levels, [values]))[0]
    assert found == pytest.approx(naive.pinball(label, values, levels), abs=ROUNDING * 100)


def test_many_quantiles_come_close_to_the_integral(rng):
    said = gaussians(rng)
    levels = (np.arange(2000) + 0.5) / 2000
    np.testing.assert_allclose(CRPS(levels=levels).rows(said), CRPS().rows(said), atol=1e-3)  # 2000 levels
    fewer = levels[::10]
    quantiles = QuantileForecasts(
        said.labels, fewer, norm.ppf(fewer, said.mean[:, None], np.sqrt(said.variance)[:, None])
    )
    np.testing.assert_allclose(CRPS().rows(quantiles), CRPS(levels=fewer).rows(said), atol=1e-10)


def test_the_interval_score_is_that_of_its_quantiles(rng):
    said = gaussians(rng)
    pair = PinballScore([0.1, 0.9]).rows(said)
    np.testing.assert_allclose(IntervalScore(0.8).rows(said), 2 * pair / 0.1, rtol=1e-12)


# Expected score, entropy and divergence.


@each
@given(numbers, spreads, numbers, spreads)
def test_expected_less_entropy_is_a_divergence(score, m1, v1, m2, v2):
    said, truth = GaussianForecasts([0.0], [m1], [v1]), GaussianForecasts([0.0], [m2], [v2])
    divergence = score.divergence(said, truth)[0]
    scale = max(abs(score.expected(said, truth)[0]), 1)
    assert divergence >= -ROUNDING * scale
    assert divergence == pytest.approx(score.expected(said, truth)[0] - score.entropy(truth)[0], abs=ROUNDING * scale)
    assert score.divergence(truth, truth)[0] == 0
    assert score.entropy(truth)[0] >= score.infimum


@each
@given(numbers, spreads, numbers, spreads)
def test_only_the_truth_scores_as_well_as_the_truth(score, m1, v1, m2, v2):
    said, truth = GaussianForecasts([0.0], [m1], [v1]), GaussianForecasts([0.0], [m2], [v2])
    far = abs(m1 - m2) / math.sqrt(v2) > 0.1 or abs(math.log(v1 / v2)) > 0.2
    assert not far or score.divergence(said, truth)[0] > 1e-6 * math.sqrt(v2)


@each
def test_the_expected_score_is_the_mean_over_what_may_come(score, rng):
    said, truth = GaussianForecasts([0.0], [0.3], [2.0]), GaussianForecasts([0.0], [-0.5], [0.7])
    labels = rng.normal(-0.5, math.sqrt(0.7), 200_000)
    many = GaussianForecasts(labels, np.full(200_000, 0.3), np.full(200_000, 2.0))
    rows = score.rows(many)
    error = rows.std() / math.sqrt(len(rows))
    assert abs(rows.mean() - score.expected(said, truth)[0]) < STANDARD_ERRORS * error


@each
def test_samples_as_the_truth_are_summed_over(score, rng):
    said, points = gaussians(rng, 1), rng.normal(size=9)
    truth = SampleForecasts([0.0], [points])
    mean = np.mean([score.of_labels(said, np.array([x]))[0] for x in points])
    assert score.expected(said, truth)[0] == pytest.approx(mean, abs=1e-10)


def test_the_divergence_of_the_log_score_is_kullbacks():
    said, truth = GaussianForecasts([0.0], [1.0], [2.0]), GaussianForecasts([0.0], [0.0], [0.5])
    expected = (math.log(2 / 0.5) + 0.5 / 2 + 1 / 2 - 1) / 2
    assert GaussianLogScore().divergence(said, truth)[0] == pytest.approx(expected, abs=ROUNDING)
    assert DawidSebastianiScore().divergence(said, truth)[0] == pytest.approx(2 * expected, abs=ROUNDING)


def test_the_divergence_of_the_crps_is_the_squared_distance_of_the_functions():
    said, truth = GaussianForecasts([0.0], [1.0], [2.0]), GaussianForecasts([0.0], [0.0], [0.5])
    x = np.linspace(-15, 15, 100_001)
    expected = np.trapezoid((norm.cdf(x, 1, math.sqrt(2)) - norm.cdf(x, 0, math.sqrt(0.5))) ** 2, x)
    assert CRPS().divergence(said, truth)[0] == pytest.approx(expected, abs=1e-9)  # the grid


# As an estimate.


def gaussian_and_certain(labels):
    return GaussianForecasts(labels, np.zeros(len(labels)), np.ones(len(labels)))


def quantile_and_certain(labels):
    return QuantileForecasts(labels, [0.05, 0.5, 0.95], np.tile([-1.645, 0.0, 1.645], (len(labels), 1)))


@each
def test_the_interval_knows_the_long_tail_and_the_order_does_not_matter(score, rng):
    said = gaussians(rng, 40)
    found = score.score(said, level=0.8)
    usual = ttest_1samp(score.rows(said), 0).confidence_interval(0.8)
    assert found.interval.high > usual.high
    assert found.interval.low > usual.low - 0.02 * (usual.high - usual.low)
    other = score.score(said.rows(rng.permutation(40)), level=0.8)
    for part in (lambda e: e.value, lambda e: e.interval.low, lambda e: e.interval.high):
        assert part(other) == pytest.approx(part(found), abs=ROUNDING * 100)


@pytest.mark.parametrize("forecasts", [gaussian_and_certain, quantile_and_certain], ids=["Gaussian", "quantile"])
def test_the_interval_score_does_not_collapse_where_no_label_was_outside(forecasts):
    found = cal.score.interval_score(forecasts(np.linspace(-1, 1, 50)))
    assert found.interval.low == pytest.approx(found.value)
    assert found.value + 0.1 < found.interval.high < found.value + 2


@each
def test_the_unit_of_the_labels_does_not_matter(score, rng):
    said = gaussians(rng, 40)
    large = GaussianForecasts(said.labels * 1000, said.mean * 1000, said.variance * 1e6)
    one, other = score.score(said), score.score(large)
    logarithmic = {"dawid_sebastiani": 2 * math.log(1000), "gaussian_log": math.log(1000)}
    shift, factor = (logarithmic[score.name], 1.0) if score.name in logarithmic else (0.0, 1000.0)
    for end in ("low", "high"):
        assert getattr(other.interval, end) == pytest.approx(factor * getattr(one.interval, end) + shift, rel=1e-9)


@each
def test_weight_two_is_the_row_twice(score, rng):
    said, times = gaussians(rng, 40), rng.integers(0, 4, 40)
    weighted = GaussianForecasts(said.labels, said.mean, said.variance, counts=times)
    found, expected = score.score(weighted), score.score(said.rows(np.repeat(np.arange(40), times)))
    assert found.value == pytest.approx(expected.value, abs=ROUNDING)
    assert found.interval.high == pytest.approx(expected.interval.high, abs=ROUNDING)


@each
def test_blocks_give_what_one_block_gives(score, rng, monkeypatch):
    from calibrant.score import forecast_score as module

    said = gaussians(rng, 300)
    weighted = GaussianForecasts(said.labels, said.mean, said.variance, counts=np.arange(300) // 100)
    whole = [score.score(each) for each in (said, weighted)]
    monkeypatch.setattr(module, "CACHED_NUMBERS", 32)
    for found, expected in zip([score.score(each) for each in (said, weighted)], whole, strict=True):
        assert found.value == pytest.approx(expected.value, abs=ROUNDING)
        assert found.interval.low == pytest.approx(expected.interval.low, abs=ROUNDING)


@each
def test_a_score_survives_as_json(score, rng):
    found = score.score(gaussians(rng))
    assert cal.results.Estimate.from_json(found.to_json()) == found


def test_functions_are_their_classes(rng):
    said = gaussians(rng)
    pairs = (
        (crps(said, fair=True), CRPS(fair=True)),
        (dawid_sebastiani_score(said), DawidSebastianiScore()),
        (gaussian_log_score(said), GaussianLogScore()),
        (interval_score(said, coverage=0.5), IntervalScore(0.5)),
        (pinball_score(said, levels=[0.3]), PinballScore([0.3])),
    )
    for found, score in pairs:
        assert found == score.score(said)


def test_one_row_has_no_interval():
    found = crps(GaussianForecasts([1.0], [0.0], [1.0]))
    assert found.interval is None
    assert found.cautions == ("one row has no interval",)


# By name, by kind, and what is refused.


def test_the_usual_score_depends_on_the_kind(rng):
    said = gaussians(rng)
    assert check_forecast_score("auto", said).name == "dawid_sebastiani"
    quantiles = QuantileForecasts([1.0], [0.3, 0.6], [[0.0, 1.0]])
    assert check_forecast_score("auto", quantiles).levels == (0.3, 0.6)
    assert check_forecast_score("auto", SampleForecasts([1.0], [[0.0]])).name == "crps"


@pytest.mark.parametrize("score", ["brier", None, 3, CRPS, cal.score.BrierScore()])
def test_an_unknown_score_is_refused(score, rng):
    with pytest.raises(InputError, match=r"score must be one of 'crps', .*, or a ForecastScore"):
        check_forecast_score(score, gaussians(rng))


def test_scores_of_no_variance_are_refused():
    with pytest.raises(InputError, match=r"must have positive variances for this score; row 1 has none"):
        dawid_sebastiani_score(SampleForecasts([1.0, 1.0], [[0.0, 1.0], [2.0, 2.0]]))


def test_options_are_checked():
    with pytest.raises(InputError, match="coverage must lie between 0 and 1; it is 90"):
        IntervalScore(90)
    with pytest.raises(InputError, match="levels must rise"):
        PinballScore([0.9, 0.1])
    with pytest.raises(InputError, match="at least two samples per row for the fair CRPS"):
        crps(SampleForecasts([1.0], [[0.0]]), fair=True)
    with pytest.raises(InputError, match="level must lie between the outermost quantiles"):
        interval_score(QuantileForecasts([1.0], [0.2, 0.8], [[0.0, 1.0]]))
    with pytest.raises(InputError, match="forecasts must be forecasts of a real number"):
        crps([1.0])


class Quadratic(ForecastScore):
    """(y − μ)⁴, proper for no mean, but a score of one's own all the same."""

    def of_labels(self, forecasts, labels):
        return (labels - forecasts.mean) ** 4


def test_a_score_of_ones_own_is_one_method(rng):
    said = gaussians(rng)
    assert (Quadratic().name, Quadratic().title) == ("Quadratic", "Quadratic")
    np.testing.assert_allclose(Quadratic().entropy(said), 3 * said.variance**2, rtol=1e-9)  # the fourth moment
    found = cal.compare(said, said.with_gaussian(said.mean + 9, said.variance), score=Quadratic())
    assert found.verdict == "worse"
    with pytest.raises(InputError, match="finite infimum; that of Quadratic is -inf"):
        cal.upper_bound(said, score=Quadratic())
