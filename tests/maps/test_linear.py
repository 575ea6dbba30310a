"""Vector, matrix and Dirichlet scaling, and structured scaling: optima, truth recovered, facts stated."""

import numpy as np
import pytest
from scipy.optimize import minimize

import calibrant as cal
from calibrant import Dirichlet, Predictions
from calibrant.maps import LinearMap, MatrixScaling, StructuredMatrix, StructuredVector, VectorScaling, matrix_penalty


def softmax(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def drawn(rng, p):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)


def world(rng, n=400, k=3):
    z = rng.normal(size=(n, k)) * 2
    return drawn(rng, softmax(z * 0.6 + 0.3 * np.arange(k))), z


def mean_loss(labels, scores):
    return -np.log(softmax(scores)[np.arange(len(labels)), labels]).mean()


def least(objective, size):
    return minimize(objective, np.zeros(size), method="BFGS", options={"gtol": 1e-9}).fun


def test_vector_scaling_reaches_the_lowest_loss(rng):
    labels, z = world(rng)
    fitted = VectorScaling(penalty=None).fit(labels, logits=z)
    best = least(lambda t: mean_loss(labels, z * t[:3] + t[3:]), 6)
    assert fitted.fit.loss == pytest.approx(best, abs=1e-8)
    assert mean_loss(labels, z * fitted.weight + fitted.bias) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("recipe", [MatrixScaling, Dirichlet])
def test_the_penalised_objective_is_lowest(rng, recipe):
    labels, z = world(rng)
    p = softmax(z)
    x = np.log(p)
    fitted = recipe(strength=0.01, intercept=0.003, prior=None).fit(labels, p)

    def odir(t):
        w, b = t[:9].reshape(3, 3), t[9:]
        off = w[~np.eye(3, dtype=bool)]
        return mean_loss(labels, x @ w.T + b) + 0.01 * (off**2).sum() + 0.003 * (b**2).sum()

    ours = odir(np.concatenate([fitted.weight.ravel(), fitted.bias]))
    assert ours == pytest.approx(least(odir, 12), abs=1e-8)
    assert fitted.penalty == {"strength": 0.01, "intercept": 0.003}


def test_l2_penalises_everything(rng):
    labels, z = world(rng)
    fitted = Dirichlet(penalty="l2", strength=0.02, prior=None).fit(labels, softmax(z))
    x = np.log(softmax(z))

    def l2(t):
        return mean_loss(labels, x @ t[:9].reshape(3, 3).T + t[9:]) + 0.02 * (t**2).sum()

    assert l2(np.concatenate([fitted.weight.ravel(), fitted.bias])) == pytest.approx(least(l2, 12), abs=1e-8)


def test_structured_scaling_solves_its_ridge_problem(rng):
    labels, z = world(rng, 100)
    temperature = cal.Temperature().fit(labels, logits=z).temperature
    x = np.log((1 - 1 / 101) * softmax(z / temperature) + 1 / 101 / 3)

    def vector(t):
        return mean_loss(labels, x * (1 + t[:3]) + t[3:]) + 3 / 100 * (t**2).sum()

    def matrix(t):
        v = t[:9].reshape(3, 3)
        off = v[~np.eye(3, dtype=bool)]
        rest = (np.diag(v) ** 2).sum() + (t[9:] ** 2).sum()
        return mean_loss(labels, x @ (np.eye(3) + v).T + t[9:]) + 3 / 100 * rest + 6 / 100 * (off**2).sum()

    found = StructuredVector().fit(labels, logits=z)
    assert vector(np.concatenate([found.weight - 1, found.bias])) == pytest.approx(least(vector, 6), abs=1e-8)
    found = StructuredMatrix().fit(labels, logits=z)
    here = np.concatenate([(found.weight - np.eye(3)).ravel(), found.bias])
    assert matrix(here) == pytest.approx(least(matrix, 12), abs=1e-8)


def test_structured_scaling_goes_from_temperature_to_matrix_scaling_with_n(rng):
    labels, z = world(rng, 20_000)
    few = StructuredMatrix().fit(labels[:5], logits=z[:5])
    unpenalised = MatrixScaling(penalty=None).fit(labels[:5], logits=z[:5])
    many = StructuredMatrix().fit(labels, logits=z)
    free = MatrixScaling(penalty=None).fit(labels, logits=z)
    assert np.abs(few.weight - np.eye(3)).max() < 0.05 * np.abs(unpenalised.weight).max()
    assert many.fit.loss == pytest.approx(free.fit.loss, abs=1e-3)


def standard_errors(x, p, diagonal):
    """Of every coefficient, from the inverse of the expected curvature at the truth; what only names the classes is left out."""
    k = p.shape[1]
    one = np.ones((len(x), 1))
    features = [np.hstack([x[:, [j]] if diagonal else x, one]) for j in range(k)]
    blocks = [[(features[i].T * (p[:, i] * ((i == j) - p[:, j]))) @ features[j] for j in range(k)] for i in range(k)]
    return np.sqrt(np.diag(np.linalg.pinv(np.block(blocks), rcond=1e-10)))


TRUE_WEIGHT, TRUE_BIAS = np.array([[0.9, 0.2, 0.0], [-0.3, 0.7, 0.1], [0.0, 0.1, 1.2]]), np.array([0.4, -0.2, -0.2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "weight"),
    [(VectorScaling(), np.diag(TRUE_WEIGHT)), (MatrixScaling(penalty=None), TRUE_WEIGHT), (Dirichlet(penalty=None), TRUE_WEIGHT)],
    ids=["vector", "matrix", "dirichlet"],
)  # fmt: skip
def test_its_own_parameters_are_recovered(rng, recipe, weight):
    # W is known up to adding the same row to every row of (W, b): compare differences between classes
    n = 200_000
    p = softmax(rng.normal(size=(n, 3)) * 1.5)
    x = np.log(p)
    truth = (x * weight if weight.ndim == 1 else x @ weight.T) + TRUE_BIAS
    fitted = recipe.fit(drawn(rng, softmax(truth)), p)
    if weight.ndim == 1:
        error = fitted.weight - weight
    else:
        error = (fitted.weight - fitted.weight.mean(axis=0)) - (weight - weight.mean(axis=0))
    shift = (fitted.bias - fitted.bias.mean()) - (TRUE_BIAS - TRUE_BIAS.mean())
    standard_error = standard_errors(x, softmax(truth), diagonal=weight.ndim == 1).max()
    assert np.abs(error).max() < 5 * standard_error
    assert np.abs(shift).max() < 5 * standard_error


@pytest.mark.slow
def test_cross_validation_chooses_little_penalty_where_it_is_not_needed_and_much_where_it_is(rng):
    p = softmax(rng.normal(size=(10_000, 3)) * 1.5)
    labels = drawn(rng, softmax(np.log(p) @ TRUE_WEIGHT.T + TRUE_BIAS))
    many = Dirichlet().fit(labels, p)
    assert many.penalty["strength"] <= 1e-2
    q = softmax(rng.normal(size=(60, 12)))
    few = Dirichlet().fit(drawn(rng, q), q)
    assert few.penalty["strength"] >= 0.1


def test_of_many_probabilities_fewer_folds_choose_the_penalty(rng, monkeypatch):
    z, labels = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    fits, fit = [], matrix_penalty.fit
    monkeypatch.setattr(matrix_penalty, "fit", lambda *given, **more: fits.append(0) or fit(*given, **more))
    recipe, grouped = MatrixScaling(penalty="l2"), Predictions.from_logits(labels, z, groups=np.arange(500) % 50)

    def n_fits(rows):
        del fits[:]
        recipe.fit(rows)
        return len(fits)

    rows = Predictions.from_logits(labels, z)
    every = n_fits(rows)
    assert every % 5 == 0
    monkeypatch.setattr(matrix_penalty, "MANY_NUMBERS", 1500)
    monkeypatch.setattr("calibrant.maps.folds.FEWER_FOLDS", {1500: 2})
    assert n_fits(rows) % 2 == 0
    assert n_fits(rows) < every
    assert n_fits(grouped) % 5 == 0
    monkeypatch.setattr(matrix_penalty, "MANY_NUMBERS", 1501)
    assert n_fits(rows) == every


def test_the_chosen_penalty_does_not_depend_on_the_order_of_the_rows(rng):
    labels, z = world(rng, 300)
    order = rng.permutation(300)
    one, other = Dirichlet().fit(labels, softmax(z)), Dirichlet().fit(labels[order], softmax(z)[order])
    assert one.penalty == other.penalty


def test_a_map_of_logits_refuses_probabilities(rng):
    labels, z = world(rng)
    fitted = VectorScaling().fit(labels, logits=z)
    assert fitted.space == "logits"
    with pytest.raises(cal.InputError, match="map of logits"):
        fitted.apply(softmax(z))
    by_probs = VectorScaling().fit(labels, softmax(z))
    np.testing.assert_allclose(by_probs.apply(logits=z + 5), by_probs.apply(softmax(z)), atol=1e-12)


def test_logits_are_taken_as_they_are_by_vector_scaling_only(rng):
    labels, z = world(rng)
    shifted = z + rng.normal(size=(len(z), 1))
    vector = [VectorScaling().fit(labels, logits=x).fit.loss for x in (z, shifted)]
    dirichlet = [Dirichlet(strength=0.01, intercept=0.01).fit(labels, logits=x).fit.loss for x in (z, shifted)]
    assert abs(vector[0] - vector[1]) > 1e-4
    assert dirichlet[0] == pytest.approx(dirichlet[1], abs=1e-9)


@pytest.mark.parametrize(
    ("weight", "space", "expected"),
    [
        ([1.0, 2.0, 0.5], "log_probs", True),
        ([-1.0, -2.0, -0.5], "log_probs", True),
        ([1.0, -2.0, 0.5], "log_probs", False),
        ([1.0, 0.0, 0.5], "log_probs", False),
        ([1.0, 2.0, 0.5], "logits", False),
        ([2.0, 2.0, 2.0], "logits", True),
        (np.eye(3), "log_probs", True),
        (np.ones((3, 3)), "log_probs", False),
    ],
)
def test_injective_where_the_matrix_says_so(weight, space, expected):
    assert (
        LinearMap(("a", "b", "c"), False, weight=np.array(weight), bias=np.zeros(3), space=space).injective is expected
    )


def test_two_rows_that_a_map_of_mixed_signs_brings_together():
    # W maps the difference of the two rows to a constant
    fitted = LinearMap((0, 1, 2), False, weight=np.array([1.0, -2.0, 0.5]), bias=np.zeros(3))
    x, away = np.log([0.2, 0.3, 0.5]), 1 / np.array([1.0, -2.0, 0.5])

    def total(c):
        return np.exp(x + c * away).sum()

    c = -2.0
    for _ in range(200):  # the other root of Σ exp(x + c·away) = 1
        c -= (total(c) - 1) / (np.exp(x + c * away) @ away)
    assert abs(c) > 0.01
    rows = np.exp(np.array([x, x + c * away]))
    mended = fitted.apply(rows / rows.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(mended[0], mended[1], atol=1e-12)
    assert not fitted.injective


@pytest.mark.some(3)
@pytest.mark.parametrize("recipe", [VectorScaling, MatrixScaling, Dirichlet, StructuredVector, StructuredMatrix])
@pytest.mark.parametrize("k", [2, 3, 40])
def test_little_and_awkward_data_end_in_a_finite_answer(rng, recipe, k):
    labels = np.arange(5) % min(k, 2)
    probs = np.zeros((5, k))
    probs[np.arange(5), labels] = 1.0
    probs[0] = 1 / k
    for said in (probs, np.full((5, k), 1 / k), probs[::-1].copy()):
        fitted = recipe().fit(labels, said)
        mended = fitted.apply(said)
        assert np.isfinite(mended).all()
        assert np.isfinite(cal.log_score(labels, mended).value)
        assert np.abs(mended.sum(axis=1) - 1).max() < 1e-12
        assert len(fitted.fit.cautions) > 0


def test_a_missing_class_is_told(rng):
    labels, z = world(rng, 200, 4)
    kept = labels != 2
    fitted = VectorScaling().fit(labels[kept], logits=z[kept])
    assert "1 of 4 classes never occurred (first: 2)" in fitted.fit.cautions
    assert np.isfinite(fitted.bias).all()


@pytest.mark.parametrize(
    ("options", "argument"),
    [({"penalty": "l1"}, "penalty"), ({"strength": -1}, "strength"), ({"intercept": "auto"}, "intercept"), ({"n_folds": 1}, "n_folds"), ({"strength": float("nan")}, "strength")],
)  # fmt: skip
@pytest.mark.parametrize("recipe", [MatrixScaling, Dirichlet])
def test_bad_options_are_refused(recipe, options, argument):
    with pytest.raises(cal.InputError, match=argument):
        recipe(**options)


def test_a_damaged_map_is_refused():
    with pytest.raises(cal.MapError, match=r"weight must have the shape \(classes\) = \(3\); its shape is \(2,\)"):
        LinearMap((0, 1, 2), False, weight=np.ones(2), bias=np.zeros(3))
    with pytest.raises(cal.MapError, match="space"):
        LinearMap((0, 1, 2), False, weight=np.ones(3), bias=np.zeros(3), space="odds")


# Many classes.


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [MatrixScaling(), Dirichlet(), StructuredMatrix()], ids=lambda r: type(r).__name__)
def test_many_more_classes_than_rows(rng, recipe):
    probs = rng.dirichlet(np.ones(120), 12)
    labels = drawn(rng, probs)
    fitted = recipe.fit(labels, probs)
    assert fitted.fit.converged
    before = -np.log(probs[np.arange(12), labels]).mean()
    assert fitted.fit.loss < before
    applied = fitted.apply(cal.Predictions(labels, probs)).probs
    assert mean_loss(labels, np.log(applied)) == pytest.approx(fitted.fit.loss, abs=1e-9)


def test_a_matrix_too_large_for_the_memory_is_refused_before_the_work(monkeypatch):
    monkeypatch.setattr("calibrant.maps.matrix_penalty.MOST_CLASSES", 3)
    said = cal.Predictions([0, 1] * 5, np.full((10, 4), 0.25))
    for recipe in (MatrixScaling(), StructuredMatrix()):
        with pytest.raises(cal.InputError, match="must have at most 3 columns for a full matrix"):
            recipe.fit(said)
    VectorScaling().fit(said)


def test_a_fit_of_minutes_is_announced(monkeypatch, rng):
    monkeypatch.setattr("calibrant.maps.matrix_penalty.LONG", 0.0)
    labels, z = world(rng, 30)
    with pytest.warns(
        RuntimeWarning, match="3 classes from 30 rows takes 70 rough fits and one of 12 parameters, about 0 min"
    ):
        MatrixScaling().fit(labels, logits=z)
    with pytest.warns(RuntimeWarning, match="takes one fit of 12 parameters"):
        StructuredMatrix().fit(labels, logits=z)


@pytest.mark.slow
def test_separable_rows_give_a_finite_map(rng):
    labels = rng.integers(0, 3, 60)
    z = 2 * np.eye(3)[labels] + 0.1 * rng.random((60, 3))
    for recipe in (VectorScaling(), MatrixScaling(), Dirichlet(), Dirichlet(penalty="l2")):
        fitted = recipe.fit(labels, softmax(z))
        assert fitted.fit.converged
        assert np.abs(fitted.weight).max() < 10
        assert fitted.fit.loss > 1e-4


def test_the_prior_counts_rows_with_outcomes_as_predicted(rng):
    labels, z = world(rng, 50)
    p = softmax(z)
    shares = (np.eye(3)[labels] * 50 + 4 * p) / 54
    soft = cal.Predictions(shares, p, soft=True)
    for penalised, plain in (
        (VectorScaling(penalty=4), VectorScaling(penalty=None)),
        (MatrixScaling("l2", 0.01, prior=4), MatrixScaling("l2", 0.01, prior=None)),
    ):
        np.testing.assert_allclose(penalised.fit(labels, p).apply(p), plain.fit(soft).apply(p), atol=1e-6)


def test_a_class_that_never_occurs_keeps_a_chance(rng):
    z = rng.normal(size=(100, 3))
    labels = (z[:, :2] + rng.gumbel(size=(100, 2))).argmax(axis=1)
    fitted = VectorScaling().fit(cal.Predictions(labels, softmax(z), classes=(0, 1, 2)))
    assert 1e-4 < fitted.apply(softmax(z))[:, 2].mean() < 0.02


def test_without_a_finite_optimum_it_is_said(rng):
    labels = rng.integers(0, 3, 60)
    z = 2 * np.eye(3)[labels] + 0.1 * rng.random((60, 3))
    for recipe in (VectorScaling(penalty=None), MatrixScaling(penalty=None)):
        assert "no finite optimum was found: 3 of 3 classes" in recipe.fit(labels, logits=z).fit.cautions[0]
    labels, z = world(rng)
    assert MatrixScaling(penalty=None).fit(labels, logits=z).fit.cautions == ()
