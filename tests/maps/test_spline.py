"""Splines through the cumulative curve."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.kernels.fit.cubic_basis import bends, heights_at, slopes_at
from calibrant.kernels.rows.sorted_folds import rows_in_folds
from tolerances import ROUNDING

KINDS = ["natural", "parabolic", "cubic"]


@pytest.fixture
def data(rng):
    probs = rng.beta(1.5, 1, 300)
    return (rng.random(300) < probs**2).astype(int), probs


def slopes_by_hand(labels, probs, n_knots, kind, at):
    """g′ in order of the rows, with the fit as a plain least-squares problem; `at` are places t."""
    order = np.argsort(probs)
    n = len(probs)
    t = np.arange(1, n + 1) / n
    curve = np.cumsum(labels[order] - probs[order]) / n
    bent = bends(n_knots, kind)
    basis = heights_at(t, np.eye(n_knots), bent)
    y = np.zeros(n_knots)
    y[-1] = curve[-1]
    y[1:-1] = np.linalg.lstsq(basis[:, 1:-1], curve - basis[:, -1] * y[-1], rcond=None)[0]
    return slopes_at(at, y, bent @ y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_knots", [4, 7])
def test_the_shift_is_the_slope_of_the_fit_to_the_cumulative_curve(data, kind, n_knots):
    labels, probs = data
    fitted = cal.maps.Spline(kind, n_knots=n_knots).fit(labels, probs)
    places = (np.argsort(np.argsort(probs)) + 0.5) / len(probs)
    np.testing.assert_allclose(
        fitted.shift(probs), slopes_by_hand(labels, probs, n_knots, kind, places), atol=1e-6
    )  # the smoother


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_knots_is_that_of_plain_cross_validation(data, kind):
    labels, probs = data
    order = np.argsort(probs)
    p, y = probs[order], labels[order]
    fold = rows_in_folds(p, y, None, 10, 0)[-1]
    least = {"natural": 2, "parabolic": 3, "cubic": 4}[kind]
    losses = []
    for n_knots in range(least, 17):
        loss = 0.0
        for f in range(10):
            train, held = fold != f, fold == f
            # a held-out row lies between training rows, at the share of them that come before it
            places = np.cumsum(train)[held] / train.sum()
            shift = slopes_by_hand(y[train], p[train], n_knots, kind, places)
            loss += ((p[held] + shift - y[held]) ** 2).sum()
        losses.append(loss)
    expected = least + int(np.argmax(np.array(losses) <= min(losses) * 1.001))
    assert len(cal.maps.Spline(kind).fit(labels, probs).values) == expected


def test_the_mean_of_the_map_is_the_rate(data):
    labels, probs = data
    for kind in KINDS:
        shift = cal.maps.Spline(kind, n_knots=6).fit(labels, probs).shift(probs)
        assert (probs + shift).mean() == pytest.approx(labels.mean(), abs=1e-5)  # the midpoint rule at n = 300


def test_two_natural_knots_shift_everything_alike(data):
    labels, probs = data
    shift = cal.maps.Spline(n_knots=2).fit(labels, probs).shift(probs)
    assert shift == pytest.approx(np.full(300, labels.mean() - probs.mean()), abs=ROUNDING)


def test_a_calibrated_model_is_left_nearly_alone(rng):
    probs = rng.random(20_000)
    fitted = cal.maps.Spline().fit(rng.random(20_000) < probs, probs)
    assert np.abs(fitted.shift(probs)).max() < 0.02


def test_it_finds_a_smooth_curve(rng):
    probs = rng.random(50_000)
    fitted = cal.maps.Spline("cubic").fit(rng.random(50_000) < probs**1.5, probs)
    assert np.abs(fitted.apply(probs) - probs**1.5).mean() < 0.01


def test_pooling_many_scores_changes_little(rng, monkeypatch):
    probs = rng.random(5000).round(6)
    probs[:1500] = 0.5  # one score heavier than a cell
    labels = (rng.random(5000) < probs**1.5).astype(int)
    pooled = cal.maps.Spline(n_knots=6).fit(labels, probs)
    assert len(pooled.scores) < 2100
    monkeypatch.setattr("calibrant.maps.spline.CELLS", 10_000)
    whole = cal.maps.Spline(n_knots=6).fit(labels, probs)
    assert np.abs(pooled.apply(probs) - whole.apply(probs)).max() < 2e-3  # places are known to 1/1000
    assert pooled.shift([0.5]) == pytest.approx(whole.shift([0.5]), abs=2e-4)


def test_the_seed_decides_among_ties_only(rng):
    probs = rng.random(200)
    labels = rng.random(200) < probs
    assert cal.maps.Spline(seed=1).fit(labels, probs) == cal.maps.Spline(seed=2).fit(labels, probs)


def test_what_would_leave_the_unit_interval_stops_before_its_end():
    labels, probs = [0, 0, 1, 1], [0.1, 0.3, 0.7, 0.9]
    for bounded, low, high in ((True, 0.1, 0.9), (False, 0.0, 1.0)):
        mended = cal.maps.Spline(n_knots=8, bounded=bounded).fit(labels, probs).apply([0.0, 1.0])
        assert mended == pytest.approx([low, high])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"kind": "quintic"}, "kind must be one of 'natural', 'parabolic', 'cubic'; it is 'quintic'"),
        ({"n_knots": "many"}, "n_knots must be one of 'cv'; it is 'many'"),
        ({"n_knots": 1}, "n_knots must be a whole number, at least 2; it is 1"),
        ({"kind": "parabolic", "n_knots": 2}, "n_knots must be a whole number, at least 3; it is 2"),
        ({"kind": "cubic", "n_knots": 3}, "n_knots must be a whole number, at least 4; it is 3"),
        ({"n_folds": 1}, "n_folds must be a whole number, at least 2; it is 1"),
        ({"seed": -1}, "seed must be a whole number, at least 0, or a NumPy Generator; it is -1"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises(InputError, match=text):
        cal.maps.Spline(**options)
