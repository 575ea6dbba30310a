"""Classifiers repaired inside scikit-learn, and maps as transformers."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import calibrant as cal
from calibrant.adapt.sklearn import CalibratedModel, MapTransformer
from registered import METHODS
from tolerances import ROUNDING

can_expect = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6), reason="expected failures came with scikit-learn 1.6"
)


def data(n_classes=3, n=300, seed=0):
    return make_classification(
        n,
        8,
        n_informative=5,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=0.6,
        flip_y=0.15,
        random_state=seed,
    )


MODELS = {
    "plain": CalibratedModel(),
    "decision_function": CalibratedModel(LinearSVC(tol=1e-12, random_state=0, max_iter=100_000)),
    "ensemble": CalibratedModel(ensemble=True),
    "one against the rest": CalibratedModel(method="isotonic"),
    "matrix": CalibratedModel(method=cal.Dirichlet(strength=0.01, intercept=0.01), cv=3),
}


@pytest.mark.slow
@can_expect
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_all_checks_of_scikit_learn_pass(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # folds larger than a class, solvers stopped early: theirs
        found = check_estimator(model, on_skip=None)
    assert {one["status"] for one in found} <= {"passed", "skipped"}
    assert [one["check_name"] for one in found if one["status"] == "skipped"] in ([], ["check_array_api_input"])


NOT_CLASSES = "its labels 0, 1 and 2 do not fit two columns"
NOT_PROBS = "its X are not probabilities"
REFUSED = {
    "logits": dict.fromkeys(
        ("check_estimators_overwrite_params", "check_estimators_fit_returns_self", "check_readonly_memmap_input"),
        NOT_CLASSES,
    ),
    "probs": dict.fromkeys(
        (
            "check_dict_unchanged",
            "check_dont_overwrite_parameters",
            "check_dtype_object",
            "check_estimators_dtypes",
            "check_estimators_fit_returns_self",
            "check_estimators_nan_inf",
            "check_estimators_overwrite_params",
            "check_estimators_pickle",
            "check_f_contiguous_array_estimator",
            "check_fit2d_1feature",
            "check_fit2d_1sample",
            "check_fit2d_predict1d",
            "check_fit_check_is_fitted",
            "check_fit_idempotent",
            "check_fit_score_takes_y",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_n_features_in",
            "check_n_features_in_after_fitting",
            "check_pipeline_consistency",
            "check_positive_only_tag_during_fit",
            "check_readonly_memmap_input",
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weights_list",
            "check_sample_weights_not_an_array",
            "check_sample_weights_not_overwritten",
            "check_sample_weights_pandas_series",
            "check_sample_weights_shape",
            "check_transformer_data_not_an_array",
            "check_transformer_general",
            "check_transformer_preserve_dtypes",
        ),
        NOT_PROBS,
    ),
}


@can_expect
@pytest.mark.parametrize("kind", REFUSED)
def test_a_transformer_passes_the_checks_whose_data_it_can_take(kind):
    found = check_estimator(MapTransformer(input=kind), on_skip=None, expected_failed_checks=REFUSED[kind])
    assert {one["status"] for one in found} <= {"passed", "skipped", "xfail"}
    passed = {one["check_name"] for one in found if one["status"] == "passed"}
    assert not passed & set(REFUSED[kind])


@pytest.mark.some(5)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_method_gives_a_distribution(method, n_classes):
    X, y = data(n_classes, 200)
    probs = CalibratedModel(GaussianNB(), method, cv=3).fit(X, y).predict_proba(X)
    assert probs.shape == (200, n_classes)
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_map_is_fitted_on_predictions_of_rows_left_out(n_classes):
    X, y = data(n_classes)
    folds = StratifiedKFold(4)
    model = CalibratedModel(GaussianNB(), cv=folds).fit(X, y)
    out = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    out = out[:, 1] if n_classes == 2 else out
    assert model.map_.temperature == pytest.approx(cal.Temperature().fit(y, out).temperature, abs=ROUNDING)
    said = GaussianNB().fit(X, y).predict_proba(X)
    again = model.map_.apply(said[:, 1] if n_classes == 2 else said)
    np.testing.assert_array_equal(model.predict_proba(X)[:, -1], again if n_classes == 2 else again[:, -1])


def test_it_repairs_an_over_confident_model_on_new_data():
    X, y = data(3, 2000)
    before = GaussianNB().fit(X[:1000], y[:1000]).predict_proba(X[1000:])
    after = CalibratedModel(GaussianNB()).fit(X[:1000], y[:1000]).predict_proba(X[1000:])
    assert cal.log_score(y[1000:], after).value < cal.log_score(y[1000:], before).value


def test_a_fitted_estimator_is_left_as_it_is():
    X, y = data()
    fitted = GaussianNB().fit(X[:150], y[:150])
    model = CalibratedModel(fitted, prefit=True).fit(X[150:], y[150:])
    assert model.estimator_ is fitted
    expected = cal.Temperature().fit(y[150:], fitted.predict_proba(X[150:])).temperature
    assert model.map_.temperature == pytest.approx(expected, abs=ROUNDING)


def test_a_frozen_estimator_counts_as_fitted():
    frozen = pytest.importorskip("sklearn.frozen", reason="FrozenEstimator came with scikit-learn 1.6")
    X, y = data()
    fitted = GaussianNB().fit(X[:150], y[:150])
    model = CalibratedModel(frozen.FrozenEstimator(fitted)).fit(X[150:], y[150:])
    plain = CalibratedModel(fitted, prefit=True).fit(X[150:], y[150:])
    np.testing.assert_array_equal(clone(model).fit(X[150:], y[150:]).predict_proba(X), plain.predict_proba(X))


def test_a_prefit_model_knows_classes_that_are_not_in_y():
    X, y = data()
    fitted = GaussianNB().fit(X, y)
    model = CalibratedModel(fitted, prefit=True).fit(X[y > 0], y[y > 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (300, 3)


def test_a_decision_function_is_read_as_logits_where_there_is_no_other_or_if_asked():
    X, y = data(2)
    svm = LinearSVC().fit(X, y)
    margin = CalibratedModel(svm, "platt", prefit=True).fit(X, y)
    assert margin.map_ == cal.Platt().fit(y, logits=svm.decision_function(X))
    logistic = LogisticRegression().fit(X, y)
    asked = CalibratedModel(logistic, "platt", prefit=True, response="decision_function").fit(X, y)
    assert asked.map_ == cal.Platt().fit(y, logits=logistic.decision_function(X))
    np.testing.assert_array_equal(asked.predict_proba(X)[:, 1], asked.map_.apply(logits=logistic.decision_function(X)))


def test_an_ensemble_averages_its_folds():
    X, y = data()
    model = CalibratedModel(GaussianNB(), ensemble=True, cv=3).fit(X, y)
    assert len(model.estimators_) == len(model.maps_) == 3
    each = [m.apply(e.predict_proba(X)) for e, m in zip(model.estimators_, model.maps_, strict=True)]
    np.testing.assert_allclose(model.predict_proba(X), sum(each) / 3, atol=ROUNDING)
    assert not hasattr(model.set_params(ensemble=False).fit(X, y), "maps_")


def test_weights_go_to_the_estimator_and_the_map(rng):
    X, y = data()
    w = rng.integers(1, 4, len(y)).astype(float)
    splits = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    model = CalibratedModel(GaussianNB(), cv=splits).fit(X, y, sample_weight=w)
    times, ends = w.astype(int), np.cumsum(w.astype(int))
    first, second = np.arange(ends[149]), np.arange(ends[149], ends[-1])
    repeated = CalibratedModel(GaussianNB(), cv=[(first, second), (second, first)])
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(model.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    assert not np.allclose(model.predict_proba(X), clone(model).fit(X, y).predict_proba(X), atol=1e-4)


def test_an_estimator_without_weights_is_named(rng):
    X, y = data()
    w = rng.random(300)
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight: only the map") as seen:
        model = CalibratedModel(KNeighborsClassifier(20)).fit(X, y, sample_weight=w)
    assert len(seen) == 1
    assert model.map_.temperature != CalibratedModel(KNeighborsClassifier(20)).fit(X, y).map_.temperature


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "names", [(False, True), (-1, 1), (1.0, 2.0), ("no", "yes"), ("a", "b", "c"), (10, 20, 30)], ids=str
)
@pytest.mark.parametrize("kind", [np.array, list, pd.Series, lambda y: pd.Series(y).astype("category")])
def test_labels_of_any_kind(names, kind):
    X, y = data(len(names))
    labels = kind(np.array(names)[y])
    model = CalibratedModel(GaussianNB(), cv=3).fit(X, labels)
    assert model.classes_.tolist() == sorted(names)
    assert model.map_.classes == tuple(sorted(names))
    coded = CalibratedModel(GaussianNB(), cv=3).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), coded.predict_proba(X))
    assert (model.predict(X) == np.array(names)[coded.predict(X)]).all()


def test_tables_keep_the_names_of_their_columns():
    X, y = data()
    names = [f"x{i}" for i in range(8)]
    model = CalibratedModel(GaussianNB()).fit(pd.DataFrame(X, columns=names), y)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 8
    plain = CalibratedModel(GaussianNB()).fit(X, y)
    assert not hasattr(plain, "feature_names_in_")
    found = model.predict_proba(pd.DataFrame(X, columns=names))
    np.testing.assert_allclose(found, plain.predict_proba(X), atol=ROUNDING)
    other = CalibratedModel(GaussianNB()).fit(pl.DataFrame(X, schema=names), y)
    found = other.predict_proba(pl.DataFrame(X, schema=names))
    np.testing.assert_allclose(found, plain.predict_proba(X), atol=ROUNDING)


def test_sparse_rows():
    X, y = data()
    found = CalibratedModel(LogisticRegression()).fit(csr_array(X), y).predict_proba(csr_array(X))
    np.testing.assert_allclose(found, CalibratedModel(LogisticRegression()).fit(X, y).predict_proba(X), atol=1e-4)


@pytest.mark.slow
def test_pipelines_searches_and_copies():
    X, y = data()
    model = make_pipeline(StandardScaler(), CalibratedModel(LogisticRegression(), cv=3))
    assert cross_val_score(model, X, y, cv=3, scoring="neg_log_loss").shape == (3,)
    grid = {
        "calibratedmodel__method": ["temperature", "isotonic", cal.Beta("am")],
        "calibratedmodel__estimator__C": [0.1, 1.0],
    }
    search = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    inner = CalibratedModel(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(inner)).predict_proba(X), inner.predict_proba(X))
    assert not hasattr(clone(inner), "map_")


def test_folds_in_parallel_give_the_same():
    X, y = data()
    with parallel_config(backend="threading"):
        one, two = (CalibratedModel(GaussianNB(), n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


class Mute(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (CalibratedModel(response="margin"), "response must be one of 'auto', 'predict_proba', 'decision_function'"),
        (CalibratedModel(method="magic"), "method must be one of .*'temperature'.* it is 'magic'"),
        (CalibratedModel(prefit=True), "estimator is required if prefit=True"),
        (CalibratedModel(GaussianNB(), prefit=True, ensemble=True), "ensemble needs an estimator that can be fitted"),
        (
            CalibratedModel(LinearSVC(), response="predict_proba"),
            "estimator must have predict_proba; it is a LinearSVC",
        ),
        (CalibratedModel(Mute()), "estimator must have decision_function; it is a Mute"),
        (
            CalibratedModel(SVC(decision_function_shape="ovo", break_ties=False)),
            r"decision_function of one column per class, 4 in all; its shape is \(60, 6\)",
        ),
        (CalibratedModel(cv=KFold(4)), "cv must leave every class in every part"),
    ],
)
def test_messages(model, text):
    X, y = data(4)
    order = np.argsort(y, kind="stable")
    with pytest.raises(cal.InputError, match=text):
        model.fit(X[order], y[order])


def test_messages_about_data():
    X, y = data()
    for labels, text in ((None, "requires y to be passed"), (np.zeros(300), "must hold at least two classes")):
        with pytest.raises(cal.InputError, match=text):
            CalibratedModel().fit(X, labels)
    with pytest.raises(cal.InputError, match=r"0 feature\(s\)"):
        CalibratedModel().fit(X[:, :0], y)
    with pytest.raises(cal.InputError, match="must not be negative"):
        CalibratedModel(GaussianNB().fit(X, y), prefit=True).fit(X, y, sample_weight=np.where(y, 1.0, -1.0))


def test_a_transformer_is_its_map():
    valid, test = cal.example()
    for kind, said, new in (("probs", valid.probs, test.probs), ("logits", valid.logits, test.logits)):
        model = MapTransformer("structured_vector", input=kind).fit(said, valid.labels)
        fitted = cal.maps.StructuredVector().fit(valid.labels, **{kind: said})
        np.testing.assert_array_equal(model.transform(new), fitted.apply(**{kind: new}))
        assert model.classes_.tolist() == list(range(10))


def test_a_transformer_of_one_column(rng):
    p = rng.random((200, 1))
    y = np.where(rng.random(200) < p[:, 0] ** 2, "rain", "dry")
    w = rng.integers(0, 4, 200).astype(float)
    model = MapTransformer("platt").fit(p, y, sample_weight=w)
    assert model.map_ == cal.Platt().fit(cal.Predictions(y, p[:, 0], classes=["dry", "rain"], counts=w))
    assert model.transform(p).shape == (200, 1)
    share = rng.random(200)
    one, other = (MapTransformer("platt").fit(p, y, sample_weight=share * c).map_ for c in (1e-6, 0.37))
    assert one.slope == pytest.approx(other.slope, rel=1e-9)  # only whole weights count rows
    table = pd.DataFrame({"said": p[:, 0]})
    named = MapTransformer("platt").fit(table, y).set_output(transform="pandas").transform(table)
    assert named.columns.tolist() == ["said"]


def test_a_transformer_told_its_classes(rng):
    p = rng.dirichlet([1, 1, 1], 100)
    y = np.array(["b", "c"])[rng.integers(0, 2, 100)]
    assert MapTransformer(classes=["a", "b", "c"]).fit(p, y).map_.classes == ("a", "b", "c")
    with pytest.raises(cal.InputError, match="holds names"):
        MapTransformer().fit(p, y)
    with pytest.raises(cal.InputError, match="input must be one of"):
        MapTransformer(input="margins").fit(p, y)
    with pytest.raises(cal.InputError, match="row 0 sums to 2"):
        MapTransformer(classes=["a", "b", "c"]).fit(np.full((100, 3), 2 / 3), y)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["sklearn", "torch", "onnx"])
def test_a_missing_library_says_how_to_install_it(library):
    script = (
        f"import sys; sys.modules[{library!r}] = None\n"
        f"import calibrant\ntry:\n    import calibrant.adapt.{library}\n"
        "except calibrant.MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert f"pip install 'calibrant[{library}]'" in done.stdout


FITS = []


class Seen(GaussianNB):
    """Remembers the first column of the rows it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        FITS.append(set(X[:, 0].tolist()))
        return super().fit(X, y, sample_weight)


def test_no_group_is_in_two_folds():
    X, y = data(2, 240)
    groups = np.repeat(np.arange(40), 6)
    X[:, 0] = groups
    FITS.clear()
    model = CalibratedModel(Seen(), "platt", cv=4).fit(X, y, groups=groups)
    folds = FITS[:4]
    assert all(len(seen) < 40 for seen in folds)
    held = [set(range(40)) - seen for seen in folds]
    assert sorted(each for fold in held for each in fold) == list(range(40))
    assert model.predict_proba(X).shape == (240, 2)


@pytest.mark.slow
def test_groups_reach_the_map_and_splitters():
    X, y = data(2, 240)
    groups = np.repeat([f"p{k}" for k in range(40)], 6)
    fitted = GaussianNB().fit(X, y)
    alone = CalibratedModel(fitted, "auto", prefit=True).fit(X, y, groups=groups).map_
    rows = cal.Predictions(y, fitted.predict_proba(X)[:, 1], groups=groups)
    assert alone.fit.choice.candidates == cal.recalibrate(rows, "auto").fit.choice.candidates
    by_group = CalibratedModel(GaussianNB(), cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert by_group.map_.fit.n == 240
    with pytest.raises(cal.InputError, match="groups must be at least 5, one for each fold; there are 2"):
        CalibratedModel(GaussianNB()).fit(X, y, groups=np.arange(240) % 2)
    with pytest.raises(cal.InputError, match="groups"):
        CalibratedModel(GaussianNB()).fit(X, y, groups=groups[:-1])


def test_groups_are_routed_as_metadata():
    X, y = data(2, 240)
    groups = np.repeat(np.arange(40), 6)
    with sklearn.config_context(enable_metadata_routing=True):
        model = CalibratedModel(GaussianNB()).set_fit_request(groups=True)
        scores = cross_val_score(model, X, y, cv=GroupKFold(3), params={"groups": groups})
    assert len(scores) == 3
