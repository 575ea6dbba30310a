"""Platt's map, the quadratic one and beta calibration."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import calibrant as cal
from calibrant import InputError
from calibrant.kernels.fit.newton import fit_logistic, fit_logistic_each
from calibrant.maps import BetaMap, LogOddsMap
from tolerances import OPTIMISER, STANDARD_ERRORS


@pytest.fixture
def data(rng):
    z = rng.normal(0, 2, 2000)
    return (rng.random(2000) < expit(0.5 + 0.6 * z)).astype(int), expit(z)


def test_newton_finds_the_minimum(rng):
    features = np.stack([np.ones(300), rng.normal(size=300), rng.normal(size=300)], axis=1)
    hits = (rng.random(300) < expit(features @ [0.3, 1.0, -0.5])).astype(float)

    def loss(beta):
        eta = features @ beta
        return np.logaddexp(0, eta).sum() - hits @ eta

    found = fit_logistic(features, np.ones(300), hits)
    assert found.converged
    assert found.coefficients == pytest.approx(minimize(loss, np.zeros(3), tol=1e-12).x, abs=1e-5)
    assert found.loss * 300 <= loss(minimize(loss, np.zeros(3)).x) + 1e-6


def test_many_rows_in_any_order_have_the_same_minimum(rng):
    """The search begins at means of neighbours, which tell little where rows are not sorted."""
    z = rng.normal(0, 2, 20_000)
    features, hits = np.stack([np.ones(20_000), z], axis=1), (rng.random(20_000) < expit(z - 1)).astype(float)
    order = np.argsort(z)
    one, other = (fit_logistic(features[at], np.ones(20_000), hits[at]) for at in (order, slice(None)))
    assert one.converged
    assert one.coefficients == pytest.approx(other.coefficients, abs=1e-9)


def test_regressions_of_several_parts_are_those_of_each(rng):
    features = np.stack([np.ones(300), 3 * rng.normal(size=300), rng.normal(size=300) ** 2], axis=1)
    hits = (rng.random(300) < expit(features @ [0.3, 1.0, -0.5])).astype(float)
    weight = rng.exponential(size=(4, 300)) * (rng.random((4, 300)) < 0.8)
    near = fit_logistic(features, np.ones(300), hits).coefficients
    found, ended = fit_logistic_each(features, weight, weight * hits, near)
    assert ended.all()
    for mine, w in zip(found, weight, strict=True):
        assert mine == pytest.approx(fit_logistic(features, w, w * hits).coefficients, abs=1e-4)


def test_a_part_that_can_be_separated_is_said_to_have_no_end(rng):
    z = rng.normal(size=60)
    hits, weight = (z > 0).astype(float), np.ones((2, 60))
    noisy = np.where(rng.random(60) < 0.3, 1 - hits, hits)
    found, ended = fit_logistic_each(z[:, None], weight, np.stack([noisy, hits]), np.array([1.0]))
    assert ended[0]
    assert not ended[1] or found[1, 0] > 50


def test_platt_is_logistic_regression_on_smoothed_targets(data):
    labels, probs = data
    fitted = cal.Platt().fit(labels, probs)
    n1, n0 = labels.sum(), (1 - labels).sum()
    z = np.tile(logit(probs), 2)[:, None]
    target = np.where(labels == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000)
    peer.fit(z, np.repeat([1, 0], len(labels)), sample_weight=np.concatenate([target, 1 - target]))
    assert [fitted.intercept, fitted.slope] == pytest.approx([peer.intercept_[0], peer.coef_[0, 0]], abs=1e-4)


def test_platt_recovers_its_own_parameters(rng):
    z = rng.normal(0, 2, 100_000)
    fitted = cal.Platt().fit((rng.random(100_000) < expit(0.5 + 0.6 * z)).astype(int), logits=z)
    # the standard errors of intercept and slope from the information at the truth
    mu = expit(0.5 + 0.6 * z)
    x = np.stack([np.ones_like(z), z], axis=1)
    errors = np.sqrt(np.diag(np.linalg.inv((x.T * (mu * (1 - mu))) @ x)))
    assert np.abs([fitted.intercept - 0.5, fitted.slope - 0.6] / errors).max() < STANDARD_ERRORS


@pytest.mark.parametrize("variant", ["abm", "am", "ab"])
def test_beta_minimises_the_log_score(data, variant):
    labels, probs = data
    fitted = cal.Beta(variant, penalty=None).fit(labels, probs)
    best = cal.log_score(labels, fitted.apply(probs)).value
    for a, b, c in np.array([fitted.a, fitted.b, fitted.c]) + 0.02 * np.array(
        [[1, 1, 0], [-1, -1, 0], [0, 0, 1], [0, 0, -1]]
    ):
        other = BetaMap((0, 1), True, fitted.fit, a, b, (a - b) * np.log(2) if variant == "ab" else c)
        assert best <= cal.log_score(labels, other.apply(probs)).value + OPTIMISER
    assert (variant != "am") or fitted.a == fitted.b
    assert (variant != "ab") or fitted.apply([0.5]) == pytest.approx([0.5])


def test_beta_has_no_falling_side(rng):
    probs = rng.random(300)
    fitted = cal.Beta().fit((rng.random(300) < 0.5 - 0.4 * (probs - 0.5)).astype(int), probs)  # the truth falls
    assert min(fitted.a, fitted.b) >= 0
    assert (np.diff(fitted.curve().y) >= 0).all()


def test_beta_equals_betacal(data):
    betacal = pytest.importorskip("betacal")
    labels, probs = data
    for variant in ("abm", "am", "ab"):
        peer = betacal.BetaCalibration(variant)
        peer.fit(probs.reshape(-1, 1), labels)
        assert cal.Beta(variant, penalty=None).fit(labels, probs).apply(probs) == pytest.approx(
            peer.predict(probs), abs=1e-3
        )


def test_separable_rows_give_a_finite_map_and_a_word():
    for recipe in (cal.Beta(), cal.Platt(), cal.Platt(1.0), cal.maps.Quadratic(), cal.maps.Quadratic(1.0)):
        fitted = recipe.fit([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
        assert fitted.fit.converged
        assert np.abs(list(fitted.parameters.values())).max() < 10
        assert cal.log_score([1, 0], fitted.apply([0.1, 0.9])).value < 10
    assert max(abs(v) for v in cal.Beta(penalty=None).fit([0, 1], [0.1, 0.9]).parameters.values()) > 3
    assert cal.Platt(penalty=None).fit([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]).slope > 10


@pytest.mark.parametrize("recipe", [cal.Platt, cal.maps.Quadratic, lambda penalty: cal.Beta("abm", penalty)])
def test_a_penalty_counts_rows_with_outcomes_as_predicted(data, recipe):
    labels, probs = data
    soft = cal.Predictions((labels * len(labels) + 3 * probs) / (len(labels) + 3), probs, soft=True)
    expected = recipe(penalty=None).fit(soft).apply(probs)
    np.testing.assert_allclose(recipe(penalty=3).fit(labels, probs).apply(probs), expected, atol=1e-9)


def test_wrong_penalties_are_refused():
    with pytest.raises(cal.InputError, match="penalty must be one of 'targets'"):
        cal.Platt("weak")
    with pytest.raises(cal.InputError, match="penalty must be a number of rows"):
        cal.maps.Quadratic(0)


def test_one_outcome_alone_is_told():
    assert "the event never occurred" in cal.Platt().fit([0, 0, 0], [0.1, 0.2, 0.6]).fit.cautions[0]


def test_predictions_of_zero_and_one_are_told_and_stay_possible():
    fitted = cal.Platt().fit([0, 1, 1, 0], [0.0, 1.0, 0.7, 0.4])
    assert fitted.fit.cautions[0] == "predictions within 2.2e-16 of 0 or 1 are read as so far away"
    mended = fitted.apply([0.0, 1.0])
    assert 0 < mended[0] < mended[1] < 1


@pytest.mark.parametrize("recipe", [cal.Platt(), cal.maps.Quadratic(), cal.Beta(), cal.maps.ScalingBinning()], ids=repr)
def test_zero_and_one_are_read_after_the_fit_as_in_it(recipe):
    p = np.r_[np.zeros(200), np.full(100, 0.3), np.full(100, 0.7), np.ones(200)]
    y = np.r_[np.arange(200) % 20 == 0, np.arange(100) % 10 < 3, np.arange(100) % 10 < 7, np.arange(200) % 20 != 0]
    fitted = recipe.fit(y.astype(int), p)
    assert cal.log_score(y.astype(int), fitted.apply(p)).value < 0.37
    if fitted.fit.loss is not None:
        assert cal.log_score(y.astype(int), fitted.apply(p)).value == pytest.approx(fitted.fit.loss, abs=1e-8)
    assert (np.diff(fitted.apply([0.0, 1e-300, 1e-17, 0.2])) >= 0).all()


@pytest.mark.some(18)
@pytest.mark.parametrize("size", [1e3, 1e30, 1e160, 1e300])
@pytest.mark.parametrize(
    "recipe",
    [cal.Platt(), cal.maps.Quadratic(), cal.Beta(), cal.maps.PiecewiseLinear(), cal.maps.GaussianProcessMap()],
    ids=repr,
)
def test_margins_of_any_size_are_mended(rng, recipe, size):
    z = rng.normal(size=500)
    y = (rng.random(500) < 1 / (1 + np.exp(-2 * z))).astype(int)
    mended = recipe.fit(y, logits=z * size).apply(logits=z * size)
    assert np.isfinite(cal.log_score(y, mended).value)
    assert cal.log_score(y, mended).value < 0.69


def test_large_logits_are_read_after_the_fit_as_in_it(rng):
    z = rng.normal(0, 2000, 2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-z / 1000))).astype(int)
    fitted = cal.Platt().fit(y, logits=z)
    assert cal.log_score(y, fitted.apply(logits=z)).value == pytest.approx(fitted.fit.loss, abs=1e-9)
    assert len(np.unique(fitted.apply(logits=[800.0, 3000.0]))) == 2


def test_what_a_map_says_of_itself():
    line, bend = (LogOddsMap((0, 1), True, slope=2.0, square=c) for c in (0.0, 0.1))
    assert (line.injective, line.keeps_ranking, line.keeps_accuracy, line.method) == (True, True, True, "platt")
    assert (bend.injective, bend.keeps_ranking, bend.keeps_accuracy, bend.method) == (False, False, False, "quadratic")
    assert not LogOddsMap((0, 1), True, slope=-1.0).keeps_ranking


def test_wrong_variants_are_refused():
    with pytest.raises(InputError, match="variant must be one of 'abm', 'am', 'ab'; it is 'abc'"):
        cal.Beta("abc")


def test_a_curve_has_at_least_two_points(data):
    with pytest.raises(InputError, match="n_points must be a whole number, at least 2; it is 1"):
        cal.Platt().fit(*data).curve(1)


def test_logistic_is_the_maximum_likelihood_fit(rng):
    p = rng.random(400)
    y = (rng.random(400) < expit(0.6 * logit(p) - 0.4)).astype(int)
    fitted = cal.maps.Logistic().fit(y, p)
    known = LogisticRegression(C=np.inf, tol=1e-10).fit(logit(p)[:, None], y)
    assert fitted.slope == pytest.approx(known.coef_[0, 0], rel=1e-5)
    assert fitted.intercept == pytest.approx(known.intercept_[0], rel=1e-5)
    assert fitted.fit.loss < cal.Platt().fit(y, p).fit.loss
    assert (fitted.method, fitted.smoothed) == ("logistic", False)
    assert cal.results.Record.from_json(fitted.to_json()) == fitted
    assert cal.recalibrate(y, p, "logistic") == fitted


def test_logistic_says_where_rows_can_be_separated():
    fitted = cal.maps.Logistic().fit([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9])
    assert np.isfinite([fitted.slope, fitted.intercept]).all()
    assert fitted.fit.cautions == ("the rows can be separated: the coefficients are large and uncertain",)
