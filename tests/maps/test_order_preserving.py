"""Order-preserving maps: the order of classes to the last bit, the best loss near a temperature, and honest limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import calibrant as cal
import strategies as some
from calibrant import InputError, MapError, Predictions, Temperature
from calibrant.kernels.fit import monotone_logits as kernel
from calibrant.kernels.fit.monotone_logits import Coefficients, SortedRows, log_loss, places, top_odds
from calibrant.kernels.logits import probabilities
from calibrant.maps import CalibrationMap, OrderPreserving, OrderPreservingMap
from calibrant.maps.calibration_map import Recipe
from calibrant.maps.folds import Folds, numbered_folds
from calibrant.maps.order_preserving import KINDS, penalised, quantiles
from tolerances import OPTIMISER, ROUNDING

kinds = pytest.mark.parametrize("kind", KINDS)


def bent(rng, n, k, power=0.7):
    """Logits and labels whose true log-probabilities are a bent, class-dependent version of what is said."""
    z = rng.normal(size=(n, k)) * 2
    truth = np.sign(z) * np.abs(z) ** power * (1 + 0.5 * (np.arange(k) % 2))
    return (truth + rng.gumbel(size=z.shape)).argmax(axis=1), z


def some_map(kind, k, rng, single=False):
    """A map with wild coefficients, a factor of a million between the least and the largest."""

    def wild(*size):
        return 10 ** rng.uniform(-3, 3, size)

    places_of = int(places(k).max()) + 1
    kept = kind != "diagonal" and k > 2
    ends = k if kind == "general" else 0
    return OrderPreservingMap(
        tuple(range(k)), single, family=kind, cuts=np.array([-9.0, -2.0, -0.5]), slopes=wild(4),
        knots=np.array([-1.0, 0.5, 4.0]) if kept else (), rates=wild(places_of, 3) if kept else (),
        above=wild(ends), below=wild(ends), zero=1e-16,
    )  # fmt: skip


def same_order(before, after):
    """Every pair of entries of a row compares as it did."""
    for a, b in zip(before, after, strict=True):
        assert np.array_equal(np.greater.outer(a, a), np.greater.outer(b, b))
        assert np.array_equal(np.argsort(a, kind="stable"), np.argsort(b, kind="stable"))


HARD_LOGITS = {
    "one unit apart": [1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0), 1.0],
    "one unit apart, far up": [1e15, np.nextafter(1e15, 2e15), 3.0, np.nextafter(3.0, 0.0)],
    "subnormal gaps": [0.0, 5e-324, 1e-323, -5e-324],
    "huge": [1e308, -1e308, 1.5e308, -1.5e308],
    "farther than the largest number": [1.7e308, -1.7e308, -1.6e308, np.nextafter(-1.6e308, 0)],
    "all tied": [2.0, 2.0, 2.0, 2.0],
    "tied in pairs": [-800.0, 3.0, -800.0, 3.0],
    "both zeros": [0.0, -0.0, 1.0, -1.0],
    "underflow": [0.0, -2000.0, -2000.5, -3000.0],
}


@kinds
@pytest.mark.parametrize("dtype", some.DTYPES)
def test_the_order_of_hard_logits_is_kept_to_the_last_bit(kind, dtype, rng):
    rows = np.array(list(HARD_LOGITS.values()))
    if dtype == np.float32:
        rows = np.clip(rows, np.finfo(np.float32).min, np.finfo(np.float32).max).astype(np.float32)
    for _ in range(5):
        fitted = some_map(kind, 4, rng)
        new = fitted.new_logits(rows)
        assert new.dtype == dtype
        assert np.isfinite(new).all()
        same_order(rows, new)
        mended = fitted.apply(logits=rows)
        assert (mended > 0).all()
        np.testing.assert_allclose(mended.sum(axis=1), 1, rtol=8 * np.finfo(dtype).eps)
        same_order(rows, mended)


HALF = np.nextafter(0.5, 0)
HARD_PROBS = {
    "one unit apart": [0.25, np.nextafter(0.25, 0), np.nextafter(0.25, 1), 0.25],
    "exact zeros": [0.5, 0.0, 0.5, 0.0],
    "sure": [1.0, 0.0, 0.0, 0.0],
    "subnormal": [1.0, 5e-324, 1e-323, 0.0],
    "near one half": [HALF, 0.5, 0.0, 1e-300],
}


@kinds
def test_the_order_of_hard_probabilities_is_kept_to_the_last_bit(kind, rng):
    rows = np.array(list(HARD_PROBS.values()))
    for _ in range(5):
        mended = some_map(kind, 4, rng).apply(rows)
        assert (mended > 0).all()  # the log score of whatever happens is finite
        same_order(rows, mended)


@given(said=some.matrices(weighted=False), kind=st.sampled_from(KINDS), seed=st.integers(0, 9))
def test_the_order_of_any_probabilities_is_kept(said, kind, seed):
    k = said.probs.shape[1]
    same_order(said.probs, some_map(kind, k, np.random.default_rng(seed)).apply(said.probs))


@given(said=some.logit_rows(), kind=st.sampled_from(KINDS), seed=st.integers(0, 9))
def test_the_order_of_any_logits_is_kept(said, kind, seed):
    if said.probs.ndim == 1:
        return
    fitted = some_map(kind, said.probs.shape[1], np.random.default_rng(seed))
    same_order(said.probs, fitted.new_logits(said.probs))
    same_order(said.probs, fitted.apply(logits=said.probs))


@kinds
def test_a_single_event_stays_on_its_side(kind, rng):
    p = np.array([0.0, 5e-324, 1e-17, 0.3, HALF, 0.5, np.nextafter(0.5, 1), 0.9, np.nextafter(1.0, 0), 1.0])
    for _ in range(5):
        mended = some_map(kind, 2, rng, single=True).apply(p)
        assert np.array_equal(np.sign(mended - 0.5), np.sign(p - 0.5))
        assert (np.diff(mended[1:-1]) >= 0).all()  # 0 itself is read as 1e-16
        assert ((mended > 0) & (mended < 1)).all()


def test_a_single_event_is_mapped_alike_on_both_sides_unless_classes_matter(rng):
    p = rng.random(50)
    for kind in ("diagonal", "invariant"):
        fitted = some_map(kind, 2, rng, single=True)
        np.testing.assert_allclose(fitted.apply(p), 1 - fitted.apply(1 - p), atol=ROUNDING)


@kinds
@pytest.mark.parametrize("k", [2, 3, 5, 12])
@pytest.mark.parametrize("designed", [True, False])
def test_the_slopes_of_the_loss_are_its_differences(kind, k, designed, rng, monkeypatch):
    if not designed:
        monkeypatch.setattr(kernel, "MOST_DESIGN", 0)
    z = np.sort(rng.normal(size=(40, k)) * 3)[:, ::-1]
    logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    order = np.argsort(rng.random((40, k)), axis=1)
    fitted = some_map(kind, k, rng)
    shapes = Coefficients(fitted.slopes, fitted.rates, fitted.above, fitted.below)
    rows = SortedRows(logs, order, fitted.cuts, fitted.knots)
    value = penalised(
        log_loss(rows, rng.dirichlet(np.ones(k), 40), rng.random(40), shapes), np.ones(shapes.flat().size), 0.03
    )
    at = rng.uniform(0.2, 1.5, shapes.flat().size)
    step = 1e-6
    for i, slope in enumerate(value(at)[1]):
        aside = np.zeros_like(at)
        aside[i] = step
        found = (value(at + aside)[0] - value(at - aside)[0]) / (2 * step)
        assert slope == pytest.approx(found, abs=1e-7)  # the differences' own rounding


def naive_heights(row, fitted):
    """One row, entry by entry."""
    logs = row - np.log(np.exp(row).sum())
    order = sorted(range(len(row)), key=lambda c: -row[c])
    ends = [-np.inf, *fitted.cuts, np.inf]

    def rising(low, high):
        return sum(
            slope * max(0.0, min(high, b) - max(low, a))
            for slope, a, b in zip(fitted.slopes, ends[:-1], ends[1:], strict=True)
        )

    top = logs[order[0]]
    odds = top - np.log(np.exp(logs[order[1:]]).sum())
    z = {order[0]: 0.0}
    for j in range(1, len(row)):
        high, low = order[j - 1], order[j]
        factor = 0.0
        if fitted.rates.size:
            factor += np.interp(odds, fitted.knots, fitted.rates[0 if j == 1 else 1 if j <= 3 else 2])
        if fitted.above.size:
            factor += fitted.above[high] + fitted.below[low]
        z[low] = z[high] - rising(logs[low], logs[high]) - factor * (logs[high] - logs[low])
    return np.array([z[c] for c in range(len(row))])


@kinds
@pytest.mark.parametrize("k", [2, 3, 7])
def test_it_is_what_the_definition_says(kind, k, rng):
    fitted = some_map(kind, k, rng)
    for row in rng.normal(size=(20, k)) * 3:
        expected = naive_heights(row, fitted)
        np.testing.assert_allclose(
            fitted.new_logits(row[None])[0], expected, rtol=1e-9, atol=1e-9
        )  # sums over a millionfold


@pytest.mark.some(3)
@kinds
def test_it_is_the_minimum_of_a_convex_loss(kind, rng):
    labels, logits = bent(rng, 200, 4)
    fitted = OrderPreserving(kind, penalty=2.0).fit(labels, logits=logits)
    start = 1 / Temperature().fit(labels, logits=logits).temperature
    free = [fitted.slopes, fitted.rates, fitted.above, fitted.below]
    parts = [v.size for v in free]
    share = {"diagonal": (1, 0, 0), "invariant": (0.5, 0.5, 0), "general": (0.375, 0.375, 0.125)}[kind]
    unit = start * np.repeat([share[0], share[1], share[2], share[2]], parts)

    def value(theta):
        c = np.split(theta * unit, np.cumsum(parts)[:-1])
        other = OrderPreservingMap(
            fitted.classes, False, family=kind, cuts=fitted.cuts, slopes=c[0], knots=fitted.knots,
            rates=c[1].reshape(fitted.rates.shape), above=c[2], below=c[3],
        )  # fmt: skip
        return cal.log_score(labels, other.apply(logits=logits)).value + 2.0 / 200 * ((theta - 1) ** 2).sum()

    best = np.concatenate([v.ravel() for v in free]) / unit
    least = value(best)
    for start_at in (0.7, 1.5):
        found = minimize(value, np.full(len(unit), start_at), method="L-BFGS-B", bounds=[(1e-3, None)] * len(unit))
        assert least <= found.fun + OPTIMISER
        np.testing.assert_allclose(found.x, best, atol=0.05)  # differences without slopes end early


@kinds
@pytest.mark.parametrize("k", [1, 3, 6])
def test_it_beats_the_temperature_on_its_own_data(kind, k, rng):
    labels, logits = bent(rng, 600, max(k, 2))
    logits = logits[:, 1] - logits[:, 0] if k == 1 else logits
    fitted = OrderPreserving(kind).fit(labels, logits=logits)
    assert fitted.fit.converged
    assert fitted.fit.loss < Temperature().fit(labels, logits=logits).fit.loss
    assert fitted.fit.loss == pytest.approx(cal.log_score(labels, fitted.apply(logits=logits)).value, abs=ROUNDING)


@kinds
def test_a_heavy_penalty_is_temperature_scaling(kind, rng):
    labels, logits = bent(rng, 100, 4)
    fitted = OrderPreserving(kind, penalty=1e9).fit(labels, logits=logits)
    expected = Temperature().fit(labels, logits=logits).apply(logits=logits)
    np.testing.assert_allclose(fitted.apply(logits=logits), expected, atol=OPTIMISER)


@pytest.mark.slow
def test_a_bend_that_all_classes_share_is_found_by_the_diagonal(rng):
    z = rng.normal(size=(20_000, 4)) * 2
    z -= np.log(np.exp(z).sum(axis=1, keepdims=True))
    truth = np.where(z > -2, 1.5 * z, 0.3 * (z + 2) - 3)
    labels = (truth + rng.gumbel(size=z.shape)).argmax(axis=1)
    right = np.exp(truth) / np.exp(truth).sum(axis=1, keepdims=True)
    off = np.abs(OrderPreserving("diagonal", n_pieces=12).fit(labels, logits=z).apply(logits=z) - right).mean()
    assert off < 0.1 * np.abs(Temperature().fit(labels, logits=z).apply(logits=z) - right).mean()


def test_soft_labels_are_shares_of_rows(rng):
    labels, logits = bent(rng, 60, 3)
    other = rng.integers(0, 3, 60)
    shares = 0.75 * np.eye(3)[labels] + 0.25 * np.eye(3)[other]
    soft = OrderPreserving().fit(Predictions.from_logits(shares, logits, counts=np.full(60, 4), soft=True))
    times = np.repeat([3, 1], 60)
    hard = OrderPreserving().fit(np.concatenate([labels, other]), logits=np.tile(logits, (2, 1)), counts=times)
    np.testing.assert_allclose(soft.apply(logits=logits), hard.apply(logits=logits), atol=OPTIMISER)


@kinds
@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_few_rows_are_fitted_with_a_caution(kind, n, k, rng):
    labels, logits = bent(rng, n, max(k, 2))
    fitted = OrderPreserving(kind).fit(labels, logits=logits[:, 0] if k == 1 else logits)
    assert np.isfinite(fitted.fit.loss)
    assert any("rows for" in text for text in fitted.fit.cautions)


DEGENERATE = {
    "all equal": ([0, 1, 2, 1], np.tile([[0.5, 0.3, 0.2]], (4, 1)), "every row makes the same prediction"),
    "uniform": ([0, 1, 2, 1], np.full((4, 3), 1 / 3), "same"),
    "separable": ([0, 1, 2], np.eye(3) * 0.7 + 0.1, "rows for"),
    "a class missing": ([0, 1, 1, 0], [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.4, 0.35, 0.25], [0.3, 0.3, 0.4]], "never seen"),
    "zero for what happened": ([2, 1, 0, 0], [[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.6, 0.2, 0.2], [1, 0, 0]], "probability 0"),
}  # fmt: skip


@kinds
@pytest.mark.parametrize("case", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_data_give_a_finite_map_and_a_caution(kind, case):
    labels, probs, text = case
    fitted = OrderPreserving(kind).fit(labels, probs)
    assert any(text in caution for caution in fitted.fit.cautions)
    mended = fitted.apply(probs)
    assert np.isfinite(cal.log_score(labels, mended).value)
    same_order(np.asarray(probs), mended)


@pytest.mark.parametrize(
    ("kind", "k", "expected"), [("diagonal", 1000, 8), ("invariant", 1000, 20), ("general", 30, 80)]
)
def test_parameters_stay_few(kind, k, expected, rng):
    labels, logits = bent(rng, 50, k)
    assert OrderPreserving(kind).fit(labels, logits=logits).n_parameters == expected


def test_what_is_one_to_one_says_so(rng):
    labels, logits = bent(rng, 50, 3)
    assert OrderPreserving("diagonal").fit(labels, logits=logits).injective
    assert not OrderPreserving("invariant").fit(labels, logits=logits).injective
    assert not OrderPreserving("general").fit(labels, logits=logits).injective
    assert OrderPreserving("general").fit(labels % 2, logits=logits[:, 0]).injective


def test_renaming_the_classes_does_not_matter(rng):
    labels, logits = bent(rng, 200, 4)
    turned = rng.permutation(4)
    for kind in KINDS:
        plain = OrderPreserving(kind).fit(labels, logits=logits).apply(logits=logits)
        other = OrderPreserving(kind).fit(np.argsort(turned)[labels], logits=logits[:, turned])
        np.testing.assert_allclose(other.apply(logits=logits[:, turned]), plain[:, turned], atol=OPTIMISER)


@kinds
def test_a_constant_added_to_a_row_does_not_matter(kind, rng):
    labels, logits = bent(rng, 100, 4)
    fitted = OrderPreserving(kind).fit(labels, logits=logits)
    np.testing.assert_allclose(
        fitted.apply(logits=logits + rng.normal(size=(100, 1))), fitted.apply(logits=logits), atol=ROUNDING
    )


@kinds
def test_every_kind_survives_as_json(kind, rng):
    labels, logits = bent(rng, 60, 4)
    fitted = OrderPreserving(kind).fit(labels, logits=logits)
    again = CalibrationMap.from_json(fitted.to_json())
    assert again == fitted
    assert np.array_equal(again.apply(logits=logits), fitted.apply(logits=logits))


def test_top_odds_do_not_overflow():
    logs = np.array([[0.0, -1e5, -1e5], [-0.5, -1.0, -800.0]])
    np.testing.assert_allclose(top_odds(logs), [1e5 - np.log(2), 0.5], rtol=ROUNDING)


def test_quantiles_count_weights_as_repeated_values(rng):
    values, times = rng.integers(0, 9, 40).astype(float), rng.integers(0, 5, 40)
    shares = np.array([0.1, 0.5, 0.9])
    assert np.array_equal(
        quantiles(values, times.astype(float), shares), quantiles(np.repeat(values, times), None, shares)
    )
    assert np.array_equal(quantiles(np.arange(1.0, 11), None, np.array([0.1, 0.5, 1.0])), [1, 5, 10])


WRONG = {
    "kind": ({"kind": "free"}, r"kind must be one of 'diagonal', 'invariant', 'general'; it is 'free'"),
    "n_pieces": ({"n_pieces": 0}, r"n_pieces must be a whole number, at least 1; it is 0"),
    "penalty": ({"penalty": 0.0}, r"penalty must be positive and finite; it is 0\.0"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_options_are_refused(case):
    with pytest.raises(InputError, match=case[1]):
        OrderPreserving(**case[0])


DAMAGED = {
    "negative slope": ({"slopes": [-1.0]}, r"slopes must be above 0.*; slopes\[0\] is -1\.0"),
    "too many cuts": ({"cuts": [0.0]}, r"slopes must have the shape \(cuts\+1\) = \(2\); its shape is \(1,\)"),
    "unknown family": ({"family": "free"}, "family must be one of"),
    "rates without knots": ({"rates": [[1.0, 2.0]], "knots": [0.0]}, "a column for each knot"),
    "zero": ({"zero": 2.0}, r"zero must lie in \[0, 0\.5\]; zero is 2\.0"),
}


@pytest.mark.parametrize("case", DAMAGED.values(), ids=DAMAGED)
def test_damaged_maps_are_refused(case):
    with pytest.raises(MapError, match=case[1]):
        OrderPreservingMap((0, 1, 2), False, **case[0])


@kinds
@pytest.mark.parametrize("counted", [False, True])
def test_all_folds_at_once_are_the_maps_of_the_other_rows(kind, counted, rng):
    labels, z = bent(rng, 300, 4)
    given = Predictions.from_logits(labels, z, counts=rng.integers(1, 4, 300) if counted else None)
    recipe, (rows, fold) = OrderPreserving(kind), numbered_folds(given, 5)
    folded, fitted = Folds(given, rows, fold, 5), recipe.fit(given)
    at_once, one_by_one = recipe.held_out(folded, fitted), Recipe.held_out(recipe, folded, fitted)
    weight = np.ones(len(rows.labels)) if rows.weights is None else rows.weights
    change = np.log(at_once / one_by_one)[np.arange(len(weight)), rows.labels]
    assert abs(weight @ change) < 0.3  # nats of all rows: cuts and knots are not quite the same
    assert np.abs(at_once - one_by_one).mean() < 0.002
    assert np.allclose(at_once.sum(axis=1), 1)


@kinds
@pytest.mark.parametrize("k", [3, 6])
def test_the_design_is_the_heights_of_single_coefficients(kind, k, rng):
    labels, z = bent(rng, 40, k)
    fitted = OrderPreserving(kind).fit(Predictions.from_logits(labels, z))
    order = np.argsort(-z, axis=1, kind="stable")
    logs = np.log(np.take_along_axis(probabilities(z), order, axis=1))
    rows = kernel.SortedRows(logs, order, fitted.cuts, fitted.knots)
    units = np.eye(fitted.coefficients.flat().size)
    expected = np.stack([rows.heights(fitted.coefficients.like(unit)) for unit in units])
    assert kernel.design(rows, fitted.coefficients) == pytest.approx(expected, abs=1e-12)


def test_some_of_the_rows_guide_the_searches_without_a_fold(rng, monkeypatch):
    labels, z = bent(rng, 400, 4)
    given, recipe = Predictions.from_logits(labels, z), OrderPreserving()
    folded, fitted = Folds(given, *numbered_folds(given, 5), 2), recipe.fit(given)
    found = recipe.held_out(folded, fitted)
    monkeypatch.setattr(kernel, "FEW_DESIGN", 400 * 4 * fitted.coefficients.flat().size // 3)
    assert found.shape == (np.count_nonzero(folded.judged), 4)
    assert recipe.held_out(folded, fitted) == pytest.approx(found, abs=1e-3)


def test_a_zero_that_one_fold_has_alone_is_left_to_one_fit_a_fold(rng, monkeypatch):
    labels, z = bent(rng, 60, 3)
    zero, recipe = probabilities(z), OrderPreserving("diagonal")
    zero[0] = 0.0, 0.5, 0.5
    given = Predictions(np.maximum(labels, 1), zero)
    folded, fitted = Folds(given, *numbered_folds(given, 5), 5), recipe.fit(given)
    with monkeypatch.context() as patched:
        patched.setattr(kernel, "Without", pytest.fail)
        assert recipe.held_out(folded, fitted).shape == zero.shape
    zero[:, 0], zero[:, 1:] = 0.0, zero[:, 1:] / zero[:, 1:].sum(axis=1, keepdims=True)
    given = Predictions(np.maximum(labels, 1), zero)
    folded, fitted = Folds(given, *numbered_folds(given, 5), 5), recipe.fit(given)
    monkeypatch.setattr(Recipe, "held_out", pytest.fail)
    found = recipe.held_out(folded, fitted)
    each = folded.answers(recipe.fit(part) for part in folded.others)
    assert np.abs(found - each).mean() < 0.005
