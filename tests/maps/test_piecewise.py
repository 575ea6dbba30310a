"""Piecewise-linear maps: the two loops against slow twins, the choice of pieces, and data that break such fits."""

from __future__ import annotations

import threading
import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

import calibrant as cal
from calibrant import InputError
from calibrant.kernels.fit import knot_heights, knot_paths
from calibrant.kernels.fit.knot_heights import Family, fit_heights
from calibrant.kernels.fit.knot_paths import LEAST_GAP, RIDGE, SEARCH_FLOOR, Bent, better_knots, cells_of, crossed, path
from calibrant.kernels.fit.knot_search import best_line
from calibrant.kernels.fit.newton import fit_logistic
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.maps import CalibrationMap
from tolerances import ROUNDING

SPACES = pytest.mark.parametrize("space", ["logit", "probability"])
LOSSES = pytest.mark.parametrize("loss", ["log", "brier"])
PIECES = pytest.mark.parametrize("pieces", ["average", "cv", 3])
BOX = (1e-3, 1 - 1e-3)


def stairs(c):
    """A hard shape: crosses the identity twice."""

    def bend(x):
        return x - np.sin(x)

    def helper(x):
        return bend(bend(3 * np.pi * x)) / (3 * np.pi)

    return 0.4 * c + 0.6 * (helper(c + 1 / 3) - helper(1 / 3))


def drawn(rng, n, said=stairs):
    """Labels, predictions, and the truth."""
    truth = rng.random(n)
    return (rng.random(n) < truth).astype(int), said(truth), truth


def celled(rng, n=300, logit=True, n_folds=1):
    labels, probs, _ = drawn(rng, n)
    order = np.argsort(probs)
    x = log_odds(probs[order]) if logit else probs[order]
    return cells_of(x, labels[order].astype(float), np.ones(n), np.arange(n) % n_folds, n_folds)


def objective(h, cells, w, s, t, family):
    """The loss with its ridge, as it is defined."""
    f = np.interp(cells.x, t, h)
    c = sigmoid(f) if family.logit else np.clip(f, *family.ends)
    each = w * c**2 - 2 * s * c + s if family.brier else -s * np.log(c) - (w - s) * np.log1p(-c)
    return each.sum() + RIDGE / 2 * ((h - t) ** 2).sum()


def family(logit, brier=False, rising=False):
    return Family(logit, brier, (-np.inf, np.inf) if logit else BOX, rising)


@SPACES
@LOSSES
@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # the peer's, in older SciPy
def test_heights_are_those_of_a_general_optimiser(rng, space, loss, rising):
    which = family(space == "logit", loss == "brier", rising)
    cells = celled(rng, logit=which.logit)
    w, s = cells.weight[:, 0], cells.hits[:, 0]
    t = cells.t[np.linspace(0, len(cells.t) - 1, 6).astype(int)]
    start = np.clip(t, *which.ends)
    h, best = fit_heights(cells.x, w, s, t, start, which, RIDGE, 60, fast=False)
    rules = [LinearConstraint(np.diff(np.eye(6), axis=0), 0, np.inf)] if rising else []
    rest = {"bounds": None if which.logit else [which.ends] * 6, "constraints": rules, "method": "SLSQP"}
    peer = minimize(objective, start, (cells, w, s, t, which), options={"ftol": 1e-12, "maxiter": 500}, **rest)
    assert best == pytest.approx(objective(h, cells, w, s, t, which), rel=1e-12)
    assert best <= peer.fun + 1e-5
    assert not rising or (np.diff(h) > 0).all()


@SPACES
@LOSSES
def test_compiled_loops_are_the_python_they_are_made_of(rng, space, loss):
    which = family(space == "logit", loss == "brier")
    cells = celled(rng, logit=which.logit)
    w, s = cells.weight[:, 0], cells.hits[:, 0]
    knots = np.array([0, 40, len(cells.t) - 1])
    fitted = np.clip(cells.x, *which.ends)
    search = ((cells.x, w, s), fitted, (cells.t, cells.cut, cells.mass), knots, LEAST_GAP * 300, which)
    assert np.array_equal(better_knots(*search), better_knots(*search, fast=False))
    t = cells.t[knots]
    fit = (cells.x, w, s, t, np.clip(t, *which.ends), which, RIDGE, 60)
    assert fit_heights(*fit)[0] == pytest.approx(fit_heights(*fit, fast=False)[0], abs=1e-9)


def explained(cells, w, s, fitted, knots, which):
    """What the parabola of the loss gives with these knots: dense weighted least squares with a ridge."""
    if which.logit:
        mu = sigmoid(fitted)
        v = mu * (1 - mu)
        omega = w * v**2 if which.brier else w * v
        response = omega * (fitted - cells.x) + (v if which.brier else 1) * (s - w * mu)
    else:
        c = np.clip(fitted, SEARCH_FLOOR, 1 - SEARCH_FLOOR)
        v = np.ones_like(c) if which.brier else 1 / (c * (1 - c))
        omega, response = w * v, v * (s - w * cells.x)
    hats = np.stack([np.interp(cells.x, cells.t[knots], row) for row in np.eye(len(knots))], axis=1)
    right = hats.T @ response
    return right @ np.linalg.solve(hats.T @ (omega[:, None] * hats) + RIDGE * np.eye(len(knots)), right)


@given(seed=st.integers(0, 2**32 - 1), logit=st.booleans(), brier=st.booleans(), inner=st.integers(0, 3))
def test_the_knot_search_is_greedy_insertion_and_one_sweep(seed, logit, brier, inner):
    rng = np.random.default_rng(seed)
    which, cells = family(logit, brier), celled(rng, 120, logit)
    w, s = cells.weight[:, 0], cells.hits[:, 0]
    last, gap = len(cells.t) - 1, LEAST_GAP * 120
    knots = [0, *(last * k // (inner + 1) for k in range(1, inner + 1)), last]
    fitted = np.clip(cells.x + rng.normal(0, 0.1), *which.ends)

    def room(now):
        return (np.diff(cells.mass[now]) >= gap).all()

    def best(options):
        return max((now for now in options if room(now)), key=lambda now: explained(cells, w, s, fitted, now, which))

    naive = best([sorted([*knots, k]) for k in range(1, last) if k not in knots])
    for q in range(1, len(naive) - 1):
        naive = best([[*naive[:q], k, *naive[q + 1 :]] for k in range(naive[q - 1] + 1, naive[q + 1])])
    places = cells.t, cells.cut, cells.mass
    found = better_knots((cells.x, w, s), fitted, places, np.array(knots), gap, which, fast=False)
    ours, theirs = (explained(cells, w, s, fitted, list(now), which) for now in (found, naive))
    assert room(list(found))
    assert ours == pytest.approx(theirs, rel=1e-7)


def test_a_knot_without_room_is_not_set():
    x = np.linspace(0.1, 0.9, 5)
    cells = cells_of(x, x > 0.5, np.ones(5), np.zeros(5, dtype=int), 1)
    lines = path(cells, cells.weight[:, 0], cells.hits[:, 0], family(False), 9)
    assert len(lines) == 9
    assert len(lines[-1].t) == 6  # every place between two rows is taken
    assert lines[-1] is lines[5]


def test_one_piece_in_log_odds_is_logistic_regression(rng):
    labels, probs, _ = drawn(rng, 500)
    z = log_odds(probs)
    found = fit_logistic(np.stack([np.ones(500), z], axis=1), np.ones(500), labels.astype(float))
    fitted = cal.maps.PiecewiseLinear(n_pieces=1).fit(labels, probs)
    assert fitted.apply(probs) == pytest.approx(sigmoid(found.coefficients @ [np.ones(500), z]), abs=1e-4)


def test_a_fold_is_fitted_without_its_labels(rng):
    """Knots found with the fold's own rows would leak into the held-out loss."""
    labels, probs, _ = drawn(rng, 900)
    x, y = np.sort(log_odds(probs)), labels[np.argsort(probs)].astype(float)
    fold = np.arange(900) % 5
    one = crossed(cells_of(x, y, np.ones(900), fold, 5), family(True), 4)[0]
    other = crossed(cells_of(x, np.where(fold == 2, 1 - y, y), np.ones(900), fold, 5), family(True), 4)[0]
    for f in range(5):
        same = [np.array_equal(a.t, b.t) and np.array_equal(a.h, b.h) for a, b in zip(one[f], other[f], strict=True)]
        assert all(same) if f == 2 else not any(same)


@SPACES
def test_the_map_is_the_mean_of_the_folds(rng, space):
    labels, probs, _ = drawn(rng, 1000)
    logit = space == "logit"
    fitted = cal.maps.PiecewiseLinear(space, n_pieces="cv").fit(labels, probs)
    order = np.argsort(probs)
    p = probs[order]
    cells = cells_of(log_odds(p) if logit else p, labels[order].astype(float), np.ones(1000), np.arange(1000) % 10, 10)
    ends = (-np.inf, np.inf) if logit else (0.5 / 1001, 1 - 0.5 / 1001)
    paths, by_fold = crossed(cells, Family(logit, False, ends, False), 6)
    losses = by_fold.sum(axis=0)[1:]
    b = int(np.argmax(losses <= losses.min() * 1.001))
    mean = np.mean([lines[b].at(log_odds(p) if logit else p) for lines in paths], axis=0)
    assert fitted.shares.tolist() == [float(k == b + 1) for k in range(7)]
    assert fitted.apply(p) == pytest.approx(sigmoid(mean) if logit else mean, abs=ROUNDING)


def test_shares_follow_the_held_out_losses(rng):
    labels, probs, _ = drawn(rng, 3000)
    fitted = cal.maps.PiecewiseLinear().fit(labels, probs)
    assert fitted.shares.sum() == pytest.approx(1)
    price = 1.25 * np.arange(17.0) + np.where(np.arange(17) > 1, 0.75, 0.0)
    price[0] = 0.5
    score = -0.6 * 3000 * fitted.losses - price
    kept = fitted.shares > 0
    assert np.diff(np.log(fitted.shares[kept])) == pytest.approx(np.diff(score[kept]))
    assert cal.maps.PiecewiseLinear(identity=False).fit(labels, probs).shares[0] == 0


def test_bent_maps_find_stairs_that_a_sigmoid_cannot(rng):
    labels, probs, _ = drawn(rng, 10_000)
    truth = (np.arange(1000) + 0.5) / 1000
    error = {
        name: np.abs(recipe.fit(labels, probs).apply(stairs(truth)) - truth).mean()
        for name, recipe in {
            "platt": cal.Platt(),
            "histogram": cal.Histogram(),
            "PL": cal.maps.PiecewiseLinear("probability", n_pieces="cv"),
            "PL3": cal.maps.PiecewiseLinear(n_pieces="cv"),
            "averaged": cal.maps.PiecewiseLinear(),
        }.items()
    }
    assert max(error["PL"], error["PL3"], error["averaged"]) < min(error["platt"], error["histogram"])
    assert error["averaged"] < 0.015  # the spread of a rate over one of 16 pieces: √(¼/625) = 0.02


def test_on_calibrated_data_the_averaged_map_is_nearly_the_identity(rng):
    labels, probs, _ = drawn(rng, 10_000, said=lambda c: c)
    grid = np.linspace(0.01, 0.99, 99)
    assert np.abs(cal.maps.PiecewiseLinear().fit(labels, probs).apply(grid) - grid).mean() < 0.01


def best_on_grid(labels, probs, pieces, which, grid):
    """The smallest loss of all sets of knots on a grid, heights fitted to rows, not cells."""
    order = np.argsort(probs, kind="stable")
    x, y, w = probs[order], labels[order].astype(float), np.ones(len(probs))
    x, grid = (log_odds(x), log_odds(grid)) if which.logit else (x, grid)
    sets = combinations(grid[(grid > x[0]) & (grid < x[-1])], pieces - 1)
    knots = (np.array([x[0], *inner, x[-1]]) for inner in sets)
    return min(fit_heights(x, w, y, t, np.clip(t, *which.ends), which, 1e-9, 100)[1] for t in knots)


@pytest.mark.some(4)
@SPACES
@pytest.mark.parametrize("pieces", [2, 3])
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_a_number_of_pieces_has_the_smallest_loss(rng, space, pieces, loss):
    """Never worse than any knots every 5 %, of the probabilities or of the rows; on stairs clearly better than the path."""
    labels, probs, _ = drawn(rng, 600)
    fitted = cal.maps.PiecewiseLinear(space, loss, pieces).fit(labels, probs)
    c = fitted.apply(probs)
    found = ((c - labels) ** 2).sum() if loss == "brier" else -np.log(np.where(labels == 1, c, 1 - c)).sum()
    which = Family(
        space == "logit", loss == "brier", (-np.inf, np.inf) if space == "logit" else (1e-9, 1 - 1e-9), False
    )
    steps = np.arange(1, 20) / 20
    grids = steps, np.quantile(probs, steps)
    assert found <= min(best_on_grid(labels, probs, pieces, which, grid) for grid in grids) + 1e-3
    assert len(fitted.knots) <= pieces + 1 + 2 * (space == "probability")


@pytest.mark.slow
def test_the_smallest_loss_is_below_that_of_the_path(rng):
    labels, probs, _ = drawn(rng, 1500)
    order = np.argsort(probs)
    x, y = log_odds(probs[order]), labels[order].astype(float)
    cells = cells_of(x, y, np.ones(1500), np.zeros(1500, int), 1)
    quick = path(cells, cells.weight[:, 0], cells.hits[:, 0], family(True), 5)[-1]
    best = best_line(x, y, np.ones(1500), family(True), 5)

    def log_loss(line):
        c = sigmoid(line.at(x))
        return -np.log(np.where(y == 1, c, 1 - c)).sum()

    assert log_loss(best) < log_loss(quick) - 0.5
    assert len(best.t) == 6


def test_a_tolerance_of_zero_takes_the_smallest_held_out_loss(rng):
    labels, probs, _ = drawn(rng, 1000)
    exact, fewer = (cal.maps.PiecewiseLinear(n_pieces="cv", tolerance=t).fit(labels, probs) for t in (0, 0.5))
    assert exact.shares.argmax() == exact.losses[1:].argmin() + 1
    assert fewer.shares.argmax() == 1


TRAPS = {
    "all equal": ([0, 1, 1, 0, 1], [0.3] * 5),
    "all equal, many": ([0, 1] * 300, [0.3] * 600),
    "one class": ([1] * 500, np.linspace(0.01, 0.99, 500)),
    "the other class": ([0] * 500, np.linspace(0.01, 0.99, 500)),
    "one row": ([1], [0.4]),
    "two rows": ([0, 1], [0.4, 0.6]),
    "five rows": ([0, 1, 0, 1, 1], [0.1, 0.2, 0.5, 0.6, 0.9]),
    "exact 0 and 1": ([0, 1, 0, 1] * 150, [0.0, 1.0, 1.0, 0.0] * 150),
    "exact 0 and 1 and others": ([0, 1, 0] * 200, np.append(np.tile([0.0, 1.0], 250), np.linspace(0, 1, 100))),
    "heavy ties": ([0, 1, 1] * 400, np.repeat([0.1, 0.5, 0.9], 400)),
    "near ties": ([0, 1] * 500, 0.5 + np.arange(1000) * 1e-16),
    "narrow band": ([0, 1, 0, 0] * 250, 0.7 + np.linspace(0, 1e-6, 1000)),
    "separable": ([0] * 200 + [1] * 200, np.linspace(0.01, 0.99, 400)),
    "separable, turned round": ([1] * 200 + [0] * 200, np.linspace(0.01, 0.99, 400)),
    "saturated": ([1] * 396 + [0] * 4, 1 - np.geomspace(1e-300, 1e-3, 400)),
}


@pytest.mark.some(69)
@pytest.mark.parametrize("trap", TRAPS)
@SPACES
@LOSSES
@PIECES
@pytest.mark.parametrize("monotone", [False, True])
def test_traps_give_probabilities(trap, space, loss, pieces, monotone):
    labels, probs = TRAPS[trap]
    fitted = cal.maps.PiecewiseLinear(space, loss, pieces, monotone=monotone).fit(labels, probs)
    mended = fitted.apply(np.concatenate([probs, np.linspace(0, 1, 101), [1e-300, 1e-9, 1 - 1e-9]]))
    assert np.isfinite(mended).all()
    assert (mended > 0).all()
    assert (mended < 1).all()
    assert np.isfinite(cal.log_score(labels, fitted.apply(probs)).value)
    assert np.isfinite(fitted.heights).all()
    assert (np.diff(fitted.knots) > 0).all()
    if monotone:
        assert (np.diff(fitted.apply(np.linspace(0, 1, 1001))) >= 0).all()


SPOKEN = {
    "all equal": "all predictions are equal",
    "one class": "always occurred",
    "the other class": "never occurred",
    "exact 0 and 1": "of 0 or 1 are read as so far away",
    "saturated": "of 0 or 1 are read as so far away",
}


@pytest.mark.parametrize("trap", SPOKEN)
def test_data_that_say_little_are_named(trap):
    fitted = cal.maps.PiecewiseLinear().fit(*TRAPS[trap])
    assert SPOKEN[trap] in " ".join(fitted.fit.cautions)


@SPACES
def test_equal_predictions_get_their_rate(space):
    fitted = cal.maps.PiecewiseLinear(space, identity=False).fit([0, 1, 1, 1] * 250, [0.3] * 1000)
    assert fitted.apply([0.3])[0] == pytest.approx(0.75, abs=1e-3)


@SPACES
def test_what_is_said_with_certainty_is_mended_too(space):
    fitted = cal.maps.PiecewiseLinear(space, identity=False).fit([0, 0, 0, 1] * 500, np.repeat([0.0, 1.0], 1000))
    assert fitted.apply([0.0, 1.0]) == pytest.approx([0.25, 0.25], abs=1e-3)


@pytest.mark.slow
@SPACES
@PIECES
def test_the_order_of_the_rows_changes_no_bit(rng, space, pieces):
    labels, probs, _ = drawn(rng, 1500)
    probs = probs.round(2)
    order = rng.permutation(1500)
    recipe = cal.maps.PiecewiseLinear(space, n_pieces=pieces)
    assert recipe.fit(labels, probs) == recipe.fit(labels[order], probs[order])


@pytest.mark.slow
def test_the_seed_deals_ties(rng):
    labels, probs, _ = drawn(rng, 1500)
    tied = probs.round(2)
    assert cal.maps.PiecewiseLinear(seed=1).fit(labels, tied) == cal.maps.PiecewiseLinear(seed=1).fit(labels, tied)
    assert cal.maps.PiecewiseLinear(seed=1).fit(labels, tied) != cal.maps.PiecewiseLinear(seed=2).fit(labels, tied)
    assert cal.maps.PiecewiseLinear(seed=1).fit(labels, probs) == cal.maps.PiecewiseLinear(seed=2).fit(labels, probs)


@pytest.mark.some(3)
@SPACES
@PIECES
def test_weights_stand_for_rows(rng, space, pieces):
    labels, probs, _ = drawn(rng, 700)
    times = rng.integers(0, 4, 700)
    recipe = cal.maps.PiecewiseLinear(space, n_pieces=pieces)
    weighted = recipe.fit(labels, probs, counts=times)
    repeated = recipe.fit(np.repeat(labels, times), np.repeat(probs, times))
    assert np.array_equal(weighted.heights, repeated.heights)
    one, other = (recipe.fit(labels, probs, weights=scale * (times + 0.5)).apply(probs) for scale in (1.0, 40.0))
    assert ((one > 0) & (one < 1)).all()
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
@SPACES
@LOSSES
@PIECES
def test_every_form_survives_as_json(rng, space, loss, pieces):
    labels, probs, _ = drawn(rng, 900)
    fitted = cal.maps.PiecewiseLinear(space, loss, pieces).fit(labels, probs)
    again = CalibrationMap.from_json(fitted.to_json())
    assert again == fitted
    assert np.array_equal(again.apply(probs), fitted.apply(probs))


@SPACES
def test_a_rising_map_is_injective(rng, space):
    labels, probs, _ = drawn(rng, 2000)
    fitted = cal.maps.PiecewiseLinear(space, monotone=True).fit(labels, probs)
    assert fitted.injective
    assert fitted.keeps_ranking
    assert len(np.unique(fitted.apply(probs))) == 2000
    falling = cal.maps.PiecewiseLinear(space, n_pieces=1).fit(1 - labels, probs)
    assert not falling.injective
    assert not falling.keeps_ranking


def test_beyond_the_data_the_slope_is_one(rng):
    labels, probs, _ = drawn(rng, 2000, said=lambda c: 0.3 + 0.4 * c)
    fitted = cal.maps.PiecewiseLinear().fit(labels, probs)
    far = log_odds(fitted.apply(sigmoid(np.array([3.0, 4.0]))))
    assert np.diff(far) == pytest.approx([1.0])
    flat = cal.maps.PiecewiseLinear("probability").fit(labels, probs)
    assert flat.knots[[0, -1]].tolist() == [0, 1]
    assert flat.heights[0] == pytest.approx(0.5 / 2001)  # no room for slope one


def test_rows_that_are_nearly_tied_share_a_cell():
    x = np.sort(np.append(np.linspace(0, 1, 11), np.linspace(0, 1, 11) + 1e-12))
    cells = cells_of(x, np.zeros(22), np.ones(22), np.zeros(22, dtype=int), 1)
    assert len(cells.x) == 11
    assert np.diff(cells.t).min() > 1e-3


def test_a_line_is_read_between_its_knots():
    assert Bent(np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 0.0])).at(np.array([0.5, 2.0])).tolist() == [1.5, 1.0]


@pytest.mark.slow
def test_the_cost_does_not_grow_with_the_rows(rng):
    """After the sort everything happens on a thousand cells."""
    labels, probs, _ = drawn(rng, 200_000)
    recipe = cal.maps.PiecewiseLinear()
    recipe.fit(labels[:2000], probs[:2000])

    def seconds(n):
        took = []
        for _ in range(3):
            start = time.process_time()
            recipe.fit(labels[:n], probs[:n])
            took.append(time.process_time() - start)
        return min(took)

    assert seconds(200_000) < 10 * seconds(10_000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"space": "log"}, "space must be one of 'logit', 'probability'; it is 'log'"),
        ({"loss": "mse"}, "loss must be one of 'log', 'brier'; it is 'mse'"),
        ({"n_pieces": "best"}, "n_pieces must be one of 'average', 'cv'; it is 'best'"),
        ({"n_pieces": 0}, "n_pieces must be a whole number, at least 1; it is 0"),
        ({"n_folds": 1}, "n_folds must be a whole number, at least 2; it is 1"),
        ({"max_pieces": 2.5}, "max_pieces must be a whole number, at least 1; it is 2.5"),
        ({"tolerance": 1.0}, r"tolerance must lie in \[0, 1\); it is 1.0"),
        ({"seed": -1}, "seed must be a whole number, at least 0, or a NumPy Generator; it is -1"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        cal.maps.PiecewiseLinear(**options)


def test_loops_that_are_loaded_beside_are_those_of_default_fits(rng):
    with knot_paths.loops_beside(False):
        pass
    with knot_paths.loops_beside():
        pass
    assert not [each for each in threading.enumerate() if each.name == "calibrant loops"]
    loops = knot_heights.descend, knot_paths.insert_knot
    before = [len(each.fast.signatures) for each in loops]
    assert min(before) > 0
    p = rng.random(knot_paths.COMPILE_FROM + 100)
    for rows in (
        cal.Predictions(rng.random(len(p)) < p, p),
        cal.Predictions.from_logits(rng.random(len(p)) < p, 3 * p),
    ):
        cal.recalibrate(rows, "piecewise_linear")
    assert [len(each.fast.signatures) for each in loops] == before
