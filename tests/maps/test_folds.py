"""Folds that neither the order of rows, nor their labels, nor how equal rows are counted decide."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.kernels.logits import log_odds
from calibrant.kernels.rows import sorted_folds
from calibrant.maps.calibration_map import fitted_once
from calibrant.maps.folds import COARSE_FROM, Folds, in_folds, n_units, numbered_folds

MANY = 20_000


def rows(rng, n=200):
    p = rng.random(n).round(2)
    return Predictions(rng.random(n) < p, p)


def fold_of(predictions, n_folds):
    return np.argmax(in_folds(predictions, n_folds)[1], axis=0)


def repeated(predictions, rng):
    """The rows as often as they count, in another order."""
    times = np.repeat(np.arange(len(predictions.labels)), predictions.weights.astype(int))
    return predictions.rows(rng.permutation(times)).with_mass(None)


def counted(rng, total=MANY, k=None):
    """Tied rows with counts, some of them split over several entries."""
    n = total // 20
    if k is None:
        p = rng.random(n).round(2)
        y = rng.random(n) < np.clip(p**1.3, 0, 1)
    else:
        p = rng.dirichlet(np.ones(k), 80)[rng.integers(0, 80, n)]
        y = (p**1.5).cumsum(1) / (p**1.5).sum(1, keepdims=True)
        y = (rng.random(n)[:, None] > y).sum(1)
    return Predictions(y, p, counts=rng.multinomial(total, np.full(n, 1 / n)))


def pooled(predictions, n_folds):
    """How often each content lies in each fold."""
    found, masks = in_folds(predictions, n_folds)
    weights = np.ones(len(found.labels)) if found.weights is None else found.weights
    fold = np.argmax(masks, axis=0)
    table = {}
    for p, y, w, f in zip(found.probs.tolist(), found.labels.tolist(), weights, fold, strict=True):
        key = (*np.atleast_1d(p), y, f)
        table[key] = table.get(key, 0) + w
    return table


def test_folds_are_of_equal_size(rng):
    assert np.bincount(fold_of(rows(rng, 203), 5)).tolist() == [41, 41, 41, 40, 40]


@pytest.mark.parametrize("total", [500, MANY])
@pytest.mark.parametrize("k", [None, 3])
def test_counts_are_split_as_the_rows_would_be(rng, total, k):
    made = counted(rng, total, k)
    here = pooled(made, 5)
    assert here == pooled(repeated(made, rng), 5) == pooled(made.rows(rng.permutation(len(made.labels))), 5)
    sizes = [sum(w for (*_, f), w in here.items() if f == fold) for fold in range(5)]
    assert sizes == [total / 5] * 5


def test_of_very_many_rows_only_numbers_are_drawn(rng, monkeypatch):
    made = counted(rng, 4000)
    monkeypatch.setattr(sorted_folds, "MOST_DRAWS", 1000)
    here = pooled(made, 4)
    assert here == pooled(repeated(made, rng), 4)
    sizes = np.array([sum(w for (*_, f), w in here.items() if f == fold) for fold in range(4)])
    assert sizes.sum() == 4000
    assert (np.abs(sizes - 1000) < 5 * np.sqrt(4000 * 3 / 16)).all()
    assert cal.crossvalidated_error(made).value == pytest.approx(cal.crossvalidated_error(repeated(made, rng)).value)
    n = len(made.labels)
    weighted = Predictions(made.labels, made.probs, weights=rng.random(n) + 0.1)
    assert len(in_folds(weighted, 4)[0].labels) == n


def test_equal_predictions_with_other_logits_are_told_apart(rng):
    z = rng.permutation(np.repeat([40.0, 50.0, 60.0], 40))  # the probability of each is 1
    made = Predictions.from_logits(rng.random(120) < 0.9, z)
    order = rng.permutation(120)

    def content(predictions):
        return sorted(zip(fold_of(predictions, 4), predictions.logits, predictions.labels, strict=True))

    assert content(made) == content(made.rows(order))


def regret(predictions):
    found = cal.decision_regret(predictions, method="isotonic")
    return found.value, found.interval.low, found.parts["threshold"]


def redrawn_regret(predictions):
    found = cal.decision_regret(predictions, method="platt", n_draws=3)
    return found.noise_floor, found.parts["p_value"]


CROSS_FITTED = {
    "crossvalidated_error": lambda d: cal.crossvalidated_error(d).value,
    "decision_regret": regret,
    "decision_regret, redrawn": redrawn_regret,
    "fitted_error": lambda d: cal.fitted_error(d, method="isotonic", cross_fitted=True).value,
    "decompose": lambda d: cal.decompose(d, cross_fitted=True, view="binary").miscalibration,
    "where": lambda d: cal.where(d, n_draws=0).held_out.value,
    "spline": lambda d: cal.maps.Spline().fit(d).values,
    "piecewise_linear": lambda d: (
        cal.maps.PiecewiseLinear(max_pieces=3, n_folds=4).fit(d).apply(np.linspace(0.1, 0.9, 9))
    ),
    "auto": lambda d: [
        (c.score, c.change_interval.high)
        for c in cal.Auto(candidates=("identity", "platt", "isotonic")).fit(d).fit.choice.candidates
    ],
}


@pytest.mark.some(3)
@pytest.mark.parametrize("total", [1000, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CROSS_FITTED)
def test_counts_and_repeated_rows_give_the_same_answer(rng, name, total):
    made = counted(rng, total)
    np.testing.assert_allclose(CROSS_FITTED[name](made), CROSS_FITTED[name](repeated(made, rng)), rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_counts_and_repeated_rows_choose_the_same_penalty(rng):
    for total in (600, MANY):
        made = counted(rng, total, 3)
        one, other = (cal.maps.MatrixScaling("l2", n_folds=2).fit(d) for d in (made, repeated(made, rng)))
        assert one.penalty == other.penalty
        np.testing.assert_allclose(one.apply(made.probs), other.apply(made.probs), rtol=0, atol=1e-6)


def test_the_procedure_counts_rows_too(rng):
    made = counted(rng, 800)
    recipe = cal.Auto(candidates=("identity", "platt"), n_folds=3)
    one, other = (recipe.fit(d).fit.choice for d in (made, repeated(made, rng)))
    assert one.note == other.note
    assert one.procedure.score == pytest.approx(other.procedure.score, rel=1e-9)


def test_the_order_of_the_rows_does_not_matter(rng):
    said = rows(rng)
    assert pooled(said, 4) == pooled(said.rows(rng.permutation(said.n)), 4)


def test_counts_are_rows_and_weights_stay_with_theirs():
    said = Predictions([0, 1, 1], [0.2, 0.5, 0.9], counts=[2, 0, 1])
    assert said.n == n_units(said) == 3
    assert sum(pooled(said, 5).values()) == 3
    assert len(in_folds(said, 5)[1]) == 3
    part = Predictions([0, 1, 1], [0.2, 0.5, 0.9], weights=[0.5, 0, 1])
    assert in_folds(part, 2)[0].weights == pytest.approx(np.array([0.5, 1.0]) * 1.5 / 1.25)


def test_counts_and_weights_may_be_huge():
    made = Predictions([0, 1, 1, 0], [0.2, 0.5, 0.9, 0.4], counts=[1e6, 3e8, 2e7, 1.0])
    found, masks = in_folds(made, 3)
    assert found.weights.sum() == made.weights.sum()
    assert np.abs([found.weights[m].sum() / made.weights.sum() - 1 / 3 for m in masks]).max() < 1e-3
    beyond = Predictions(made.labels, made.probs, weights=[1e30, 1e30, 2e30, 1e30])
    assert len(in_folds(beyond, 2)[0].labels) == beyond.n == 4
    assert np.isfinite(cal.crossvalidated_error(beyond).value)


def test_groups_stay_together(rng):
    groups = rng.integers(0, 30, 200)
    said = Predictions(rng.random(200) < 0.5, rng.random(200), groups=groups)
    fold = fold_of(said, 5)
    assert all(len(set(fold[groups == g])) == 1 for g in np.unique(groups))
    assert len(set(fold)) == 5


def test_folds_know_nothing_of_the_labels(rng):
    # neighbours in p: does one row's label tell anything about labels of the other folds nearby? It must not.
    n = 4000
    p = np.sort(rng.random(n))
    y = (rng.random(n) < 0.5).astype(float)
    fold = fold_of(Predictions(y.astype(int), p), 2)
    pairs = n // 20
    gaps = [
        y[20 * i : 20 * i + 20][fold[20 * i : 20 * i + 20] == 0].mean() - 0.5
        for i in range(pairs)
    ]  # fmt: skip
    other = [y[20 * i : 20 * i + 20][fold[20 * i : 20 * i + 20] == 1].mean() - 0.5 for i in range(pairs)]
    correlation = np.corrcoef(gaps, other)[0, 1]
    assert abs(correlation) < 4 / np.sqrt(pairs)


def test_the_names_of_the_classes_do_not_matter(rng):
    probs, labels = rng.dirichlet(np.ones(4), 100), rng.integers(0, 4, 100)
    turned = np.array([2, 0, 3, 1])
    here = fold_of(Predictions(labels, probs), 5)
    there = fold_of(Predictions(np.argsort(turned)[labels], probs[:, turned]), 5)
    assert np.array_equal(here, there)


def test_held_out_rows_are_each_held_out_once(rng):
    said = rows(rng)
    assert (np.sum(in_folds(said, 7)[1], axis=0) == 1).all()
    groups = np.repeat([0, 1, 2], [100, 60, 40])  # fewer groups than folds: no fold is empty
    grouped = Predictions(said.labels, said.probs, groups=groups)
    masks = in_folds(grouped, 5)[1]
    assert len(masks) == 3
    assert (np.sum(masks, axis=0) == 1).all()


@pytest.mark.parametrize(("groups", "what"), [(None, "rows"), ([1, 1], "groups")])
def test_one_row_or_group_cannot_be_judged_by_others(groups, what):
    said = Predictions([1], [0.4]) if groups is None else Predictions([1, 0], [0.4, 0.5], groups=groups)
    with pytest.raises(InputError, match=f"two {what} at least"):
        in_folds(said, 5)


def folds_of(given, n_folds=5):
    return Folds(given, *numbered_folds(given, n_folds), n_folds)


def overconfident(rng, n, k=None):
    """Rows of a model whose logits are twice those of the truth, and classes of which one is rare."""
    if k is None:
        z = rng.normal(size=n)
        return Predictions((z + 0.4 + rng.logistic(size=n)) > 0, 1 / (1 + np.exp(-2 * z)))
    z = rng.normal(size=(n, k)) - np.eye(k)[0]
    p = np.exp(2 * z) / np.exp(2 * z).sum(axis=1, keepdims=True)
    return Predictions((z + rng.gumbel(size=z.shape)).argmax(axis=1), p, classes=tuple(range(k)))


ONE_EVENT = ("temperature", "ensemble_temperature", "platt", "beta", "quadratic")
SEVERAL = ("temperature", "ensemble_temperature", "structured_vector", "structured_matrix", "order_preserving")


@pytest.mark.parametrize(("method", "k"), [(m, None) for m in ONE_EVENT] + [(m, 3) for m in SEVERAL])
def test_a_search_that_begins_near_its_end_ends_there(rng, method, k):
    given = overconfident(rng, 400, k)
    folds, recipe = folds_of(given), cal.maps.recipe_of(method)
    whole, part = recipe.fit(given), folds.others[0]
    near = recipe.fit_near(part, whole).apply(given.probs)
    np.testing.assert_allclose(near, recipe.fit(part).apply(given.probs), atol=2e-3)
    assert np.abs(near - whole.apply(given.probs)).max() > 4e-3  # the rows of one fold matter more than that


def held_out_each_by_itself(recipe, folds):
    """The judged rows by maps of the other rows, fitted from nothing."""
    return folds.answers(recipe.fit(part) for part in folds.others)


def log_losses(given, *found):
    """Of given rows, summed, by several probabilities of them."""
    weight = np.ones(len(given.labels)) if given.weights is None else given.weights
    columns = [np.stack([1 - q, q], axis=1) if q.ndim == 1 else q for q in found]
    return [-float(weight @ np.log(q[np.arange(len(q)), given.labels])) for q in columns]


@pytest.mark.parametrize("method", ["gaussian_process", "piecewise_linear"])
@pytest.mark.parametrize("logits", [False, True])
def test_all_folds_at_once_are_as_each_by_itself(rng, method, logits):
    given = overconfident(rng, 700)
    if logits:
        given = Predictions.from_logits(given.labels, log_odds(given.probs))
    folds, recipe = folds_of(given), cal.maps.recipe_of(method)
    found = recipe.held_out(folds, recipe.fit(given))
    each = held_out_each_by_itself(recipe, folds)
    losses = log_losses(given, found, each, given.probs)
    assert abs(losses[0] - losses[1]) < 1
    assert losses[0] < losses[2] - 20
    # one line, by folds of its own, beside the mean of ten lines
    assert np.abs(found - each).mean() < (0.015 if method == "piecewise_linear" else 0.01)


def test_a_line_by_folds_of_its_own_has_not_seen_the_row(rng):
    """Labels that nothing predicts: a fit that saw them would predict them better than chance."""
    given = Predictions(rng.random(600) < 0.5, rng.random(600))
    recipe, folds = cal.maps.recipe_of("piecewise_linear"), folds_of(given)
    found = recipe.held_out(folds, recipe.fit(given))
    assert log_losses(given, found, np.full(600, 0.5))[0] > 600 * np.log(2) - 1
    tied = Predictions(given.labels, given.probs.round(2))
    folds = folds_of(tied)
    assert log_losses(tied, recipe.held_out(folds, recipe.fit(tied)))[0] > 600 * np.log(2) - 1


WAYS = ("probs", "logits", "counts", "weights", "soft", "groups", "two folds", "many rows", "zeros", "impossible")


def in_this_way(rng, way, k):
    """Predictions with what each way adds, and their folds."""
    given = overconfident(rng, COARSE_FROM if way == "many rows" else 300, k)
    n = len(given.labels)
    if way == "logits":
        given = Predictions.from_logits(given.labels, log_odds(given.probs) if k is None else np.log(given.probs))
    elif way in ("counts", "weights"):
        amount = rng.integers(1, 4, n) if way == "counts" else rng.exponential(size=n)
        given = Predictions(given.labels, given.probs, **{way: amount})
    elif way == "soft":
        shares = 0.9 * given.labels + 0.05 if k is None else 0.9 * np.eye(k)[given.labels] + 0.1 / k
        given = Predictions(shares, given.probs, soft=True)
    elif way in ("zeros", "impossible"):
        probs, labels = given.probs.copy(), given.labels
        some = rng.random(n) < 0.3
        if k is None:
            probs[some] = labels[some]
        else:
            probs[some] = np.where(np.arange(k) == (labels[some][:, None] + 1) % k, 0.0, probs[some])
        if way == "impossible":
            wrong = np.flatnonzero(some)[:10]
            probs[wrong] = 1 - labels[wrong] if k is None else np.where(np.arange(k) == labels[wrong, None], 0.0, 1.0)
        given = Predictions(labels, probs if k is None else probs / probs.sum(axis=1, keepdims=True))
    elif way == "groups":
        given = Predictions(given.labels, given.probs, groups=rng.integers(0, 20, n))
    return given, Folds(given, *numbered_folds(given, 5), 2 if way == "two folds" else 5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("method", "k"),
    [(m, None) for m in (*ONE_EVENT, "venn_abers")] + [(m, 3) for m in (*SEVERAL, "bent")] + [("structured_matrix", 8)],
)
def test_searches_without_a_fold_end_where_each_would(rng, way, method, k):
    given, folds = in_this_way(rng, way, k)
    recipe = cal.maps.recipe_of(method)
    found = recipe.held_out(folds, recipe.fit(given))
    each = held_out_each_by_itself(recipe, folds)
    far = {"bent": 0.03, "order_preserving": 0.02}.get(method, 5e-3)  # cells, cuts, knots and priors of all rows
    if method == "venn_abers" and way != "many rows":
        np.testing.assert_allclose(found, each, rtol=1e-12)  # nothing is searched for
    assert found.shape == folds.rows.outputs.shape
    assert np.abs(found - each).mean() < far / 4
    assert np.abs(found - each).max() < 5 * far
    if way != "soft":
        losses = log_losses(folds.rows, found, each)
        lone = method == "bent" and way == "impossible"  # ten rows far out, each some nats, in cells of all rows
        assert abs(losses[0] - losses[1]) < (2.5 if lone else 0.5)  # nats of all rows


@pytest.mark.parametrize("method", ["platt", "beta", "quadratic", "temperature", "ensemble_temperature"])
def test_what_one_fold_has_alone_and_coefficients_at_their_bound_are_fitted_one_by_one(rng, method):
    given = overconfident(rng, 200)
    certain = Predictions(np.append(given.labels, 1), np.append(given.probs, 1.0))
    turned = Predictions(1 - given.labels, given.probs)  # its beta map has no slope
    for rows in (certain, turned) if method in ("platt", "beta", "quadratic") else (certain,):
        folds, recipe = folds_of(rows), cal.maps.recipe_of(method)
        found = recipe.held_out(folds, recipe.fit(rows))
        np.testing.assert_allclose(found, held_out_each_by_itself(recipe, folds), atol=5e-3)
    assert folds_of(certain).event is None


@pytest.mark.parametrize("method", ["gaussian_process", "piecewise_linear"])
def test_rows_that_only_one_fold_has_do_not_help_it(rng, method):
    """Far beyond the other rows, and always wrong: seen, they would bend the map."""
    near = overconfident(rng, 300)
    folds = folds_of(Predictions(np.append(near.labels, [0] * 8), np.append(near.probs, np.full(8, 1 - 1e-9))))
    folds = Folds(folds.given, folds.every, np.append(np.arange(300) % 5, np.zeros(8, dtype=int)), 5)
    recipe = cal.maps.recipe_of(method)
    found = recipe.held_out(folds, recipe.fit(folds.given))[-8:]
    assert (recipe.fit(folds.given).apply(folds.given.probs)[-8:] < 0.99).all()
    assert (found > 0.999).all()


def test_many_rows_are_cells_that_hold_them_all(rng):
    given = overconfident(rng, COARSE_FROM)
    folds = folds_of(given)
    held = folds.rows
    for part, mask in zip(folds.others, folds.masks, strict=True):
        rest = held.rows(~mask)
        assert len(part.labels) < len(rest.labels)
        assert (part.weights.sum(), part.weights @ part.labels) == (len(rest.labels), rest.labels.sum())
        judged = held.rows(mask)
        for method in (*ONE_EVENT, "venn_abers"):
            fine, coarse = (cal.maps.recipe_of(method).fit(each).apply(judged) for each in (rest, part))
            assert abs(cal.log_score(fine).value - cal.log_score(coarse).value) * judged.n < 1
    certain = Predictions(np.append(given.labels, 1), np.append(given.probs, 1.0))
    assert folds_of(certain).others[0].weights is None


def test_a_map_that_others_build_on_is_fitted_once(rng):
    given = overconfident(rng, 100, 3)
    assert fitted_once(cal.Temperature(), given) is fitted_once(cal.Temperature(), given)
    assert fitted_once(cal.Temperature(penalty=5.0), given) is not fitted_once(cal.Temperature(), given)
