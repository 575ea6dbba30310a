"""Calibration errors and proper scores as scorers of scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import calibrant as cal
from calibrant.adapt.sklearn import scorer, scorers
from calibrant.methods import methods
from tolerances import ROUNDING

NAMES = [*methods("estimator"), *methods("score")]


def data(n_classes=2, n=240, names=None):
    X, y = make_classification(
        n, 8, n_informative=5, n_classes=n_classes, n_clusters_per_class=1, class_sep=0.6, flip_y=0.1, random_state=0
    )
    return X, y if names is None else np.array(names)[y]


def fitted(n_classes=2, names=None):
    X, y = data(n_classes, names=names)
    return GaussianNB().fit(X[:120], y[:120]), X[120:], y[120:]


def test_every_estimator_and_score_is_a_scorer():
    assert list(scorers()) == [f"neg_{name}" for name in NAMES]


@pytest.mark.some(5)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_every_scorer_takes_names_for_classes(name, n_classes):
    plain, named = (fitted(n_classes, names) for names in (None, ["no", "yes", "zebra"]))
    value = scorer(name)(*named)
    assert np.isfinite(value)
    assert value == pytest.approx(scorer(name)(*plain), abs=ROUNDING)


def test_a_scorer_is_the_estimate_with_its_sign_turned():
    model, X, y = fitted(3)
    assert scorer("smECE")(model, X, y) == -cal.smooth_error(y, model.predict_proba(X)).value
    assert scorer("brier")(model, X, y) == -cal.brier_score(y, model.predict_proba(X)).value
    assert scorer("ece", view="class 1")(model, X, y) == -cal.ece(y, model.predict_proba(X), view="class 1").value
    model, X, y = fitted(2)
    options = {"bins": cal.EqualMass(5), "norm": 2}
    found = scorer("binned", **options)(model, X, y)
    assert found == -cal.binned_error(y, model.predict_proba(X)[:, 1], **options).value
    assert scorer("ece", view="top")(model, X, y) == -cal.ece(y, model.predict_proba(X), view="top").value


def test_a_gap_is_best_at_zero_whatever_its_sign():
    model, X, y = fitted(2)
    both = [scorer("mean_gap", pos_label=label)(model, X, y) for label in (0, 1)]
    assert both[0] < 0
    assert both[0] == pytest.approx(both[1], abs=ROUNDING)


@pytest.mark.parametrize("names", [None, ["ill", "healthy"]])
def test_the_positive_class_can_be_said(names):
    model, X, y = fitted(2, names)
    probs = model.predict_proba(X)
    for k, label in enumerate(model.classes_):
        assert scorer("ece", pos_label=label)(model, X, y) == -cal.ece(y == label, probs[:, k]).value
    assert scorer("ece")(model, X, y) == scorer("ece", pos_label=model.classes_[1])(model, X, y)


def test_a_fold_may_lack_a_class_of_the_model():
    model, X, y = fitted(3, ["a", "b", "c"])
    seen = y != "b"
    expected = cal.Predictions(y[seen], model.predict_proba(X[seen]), classes=["a", "b", "c"])
    assert scorer("ece")(model, X[seen], y[seen]) == -cal.ece(expected).value


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_scorer_of_cross_validation(n_classes):
    X, y = data(n_classes)
    found = cross_val_score(GaussianNB(), X, y, scoring=scorer("ece"), cv=4)
    by_hand = []
    for train, test in StratifiedKFold(4).split(X, y):
        probs = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        by_hand.append(-cal.ece(y[test], probs[:, 1] if n_classes == 2 else probs).value)
    np.testing.assert_array_equal(found, by_hand)


def mean_of_a(y_true, y_pred, pos_label):
    return y_pred.mean()


def test_several_metrics_at_once_each_with_its_own_positive_class():
    X, y = data(2, names=["a", "b"])
    theirs = make_scorer(
        mean_of_a, response_method="predict_proba", pos_label="a"
    )  # what it computes is kept for others
    chosen = {"theirs": theirs, **scorers("ece", "brier", "smECE"), "of_a": scorer("ece", pos_label="a")}
    found = cross_validate(GaussianNB(), X, y, scoring=chosen, cv=3)
    for name in ("ece", "brier", "smECE"):
        np.testing.assert_array_equal(
            found[f"test_neg_{name}"], cross_val_score(GaussianNB(), X, y, scoring=scorer(name), cv=3)
        )
    np.testing.assert_array_equal(
        found["test_of_a"], cross_val_score(GaussianNB(), X, y, scoring=scorer("ece", pos_label="a"), cv=3)
    )


@pytest.mark.some(2)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_takes_the_model_of_least_error(n_jobs):
    X, y = data(2)
    smoothing = {"var_smoothing": [1e-9, 1.0]}
    search = GridSearchCV(GaussianNB(), smoothing, scoring=scorers("log", "ece"), refit="neg_log", cv=3, n_jobs=n_jobs)
    results = search.fit(X, y).cv_results_
    assert search.best_score_ == max(results["mean_test_neg_log"]) < 0
    assert {"mean_test_neg_ece", "rank_test_neg_ece"} <= set(results)


def test_sample_weights_are_passed_and_routed():
    X, y = data(2)
    weights = np.where(np.arange(len(y)) < 60, 2, 1)
    model = GaussianNB().fit(X, y)
    weighted = cal.Predictions(y, model.predict_proba(X)[:, 1], counts=weights)
    assert scorer("ece")(model, X, y, sample_weight=weights) == -cal.ece(weighted).value
    with sklearn.config_context(enable_metadata_routing=True):
        asked = scorer("ece").set_score_request(sample_weight=True)
        ignored = scorer("ece").set_score_request(sample_weight=False)
        classifier = LogisticRegression().set_fit_request(sample_weight=False)
        found = cross_validate(
            classifier, X, y, scoring={"asked": asked, "ignored": ignored}, params={"sample_weight": weights}, cv=2
        )
    np.testing.assert_array_equal(
        found["test_ignored"], cross_val_score(LogisticRegression(), X, y, scoring=scorer("ece"), cv=2)
    )
    assert found["test_asked"][0] != found["test_ignored"][0]


def test_a_scorer_can_be_copied_and_printed():
    model, X, y = fitted(2)
    one = scorer("ece", bins=10)
    for other in (pickle.loads(pickle.dumps(one)), clone(one, safe=False)):
        assert other(model, X, y) == one(model, X, y)
    assert repr(one) == "scorer('ece')"


def test_a_function_is_a_scorer_too():
    model, X, y = fitted(2)
    probs = model.predict_proba(X)[:, 1]
    assert scorer(cal.sweep_error)(model, X, y) == -cal.sweep_error(y, probs).value
    assert scorer(lambda predictions: 2 * cal.ece(predictions))(model, X, y) == -2 * cal.ece(y, probs).value


REFUSED = {
    "unknown": (lambda: scorer("eec"), "measure must be a function or among 'adaptive', .*it is 'eec'"),
    "no function": (lambda: scorer(3), "measure must be a function"),
    "no option": (lambda: scorer("ece", bin=3), "bin is no option of 'ece'. It takes "),
    "view and class": (lambda: scorer("ece", view="class 1", pos_label=1), "pos_label and view both"),
    "class of several": (lambda: scorer("ece", pos_label=1)(*fitted(3)), "models of two classes; there are 3. Pass view='class 1'"),
    "no such class": (lambda: scorer("ece", pos_label="x")(*fitted(2)), "pos_label must be one of 0, 1; it is 'x'"),
    "no probabilities": (lambda: scorer("ece")(LinearSVC().fit(*data()), *data()), "estimator must have predict_proba"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused(case):
    call, text = REFUSED[case]
    with pytest.raises(cal.InputError, match=text):
        call()
