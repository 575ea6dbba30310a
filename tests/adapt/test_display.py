"""The display that scikit-learn's users know."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import calibrant as cal
from calibrant.adapt.sklearn import CalibrationDisplay

mpl = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.pyplot")
mpl.use("agg")
X, Y = make_classification(300, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=0)
EVENT = np.where(Y == 2, "yes", "no")


@pytest.fixture
def ax():
    return mpl.figure.Figure().subplots()


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


@pytest.mark.slow
def test_an_estimator_is_drawn_with_its_error(ax):
    model = LogisticRegression().fit(X, EVENT)
    display = CalibrationDisplay.from_estimator(model, X, EVENT, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.line_.get_label() == "LogisticRegression"
    found = cal.diagnose(cal.Predictions(EVENT == "yes", model.predict_proba(X)[:, 1]))
    np.testing.assert_allclose(display.prob_true, found.curve.y)
    np.testing.assert_allclose(display.line_.get_xdata(), display.prob_pred)
    assert f"{found['calibration_error'].value:.3f}" in ax.get_title(loc="left")


@pytest.mark.slow
def test_the_other_class_mirrors_the_diagram():
    model = LogisticRegression().fit(X, EVENT)
    yes, no = (CalibrationDisplay.from_estimator(model, X, EVENT, pos_label=each) for each in ("yes", "no"))
    np.testing.assert_allclose(no.prob_pred, 1 - yes.prob_pred[::-1])
    np.testing.assert_allclose(no.prob_true, 1 - yes.prob_true[::-1])
    logits = [
        CalibrationDisplay.from_estimator(
            LinearSVC().fit(X, EVENT), X, EVENT, pos_label=each, response_method="decision_function"
        )
        for each in ("yes", "no")
    ]
    np.testing.assert_allclose(logits[1].prob_pred, 1 - logits[0].prob_pred[::-1])


@pytest.mark.slow
def test_several_classes_show_the_top_class_or_one_of_them():
    model = LogisticRegression().fit(X, Y)
    assert CalibrationDisplay.from_estimator(model, X, Y).diagnosis.view == "top"
    one = CalibrationDisplay.from_estimator(model, X, Y, pos_label=1, name="second")
    assert one.diagnosis.view == "class 1"
    assert one.line_.get_label() == "second"
    with pytest.raises(cal.InputError, match="pos_label must be one of the classes"):
        CalibrationDisplay.from_estimator(model, X, Y, pos_label=7)


@pytest.mark.slow
def test_predictions_are_drawn_as_they_come(ax):
    p = LogisticRegression().fit(X, EVENT).predict_proba(X)
    strings = CalibrationDisplay.from_predictions(EVENT, p[:, 1], ax=ax, style="gaps", band=None, name="m")
    marked = CalibrationDisplay.from_predictions(EVENT, p[:, 0], pos_label="no")
    columns = CalibrationDisplay.from_predictions(EVENT, p, pos_label="yes")
    carried = CalibrationDisplay.from_predictions(cal.Predictions(EVENT == "yes", p[:, 1]), None)
    np.testing.assert_allclose(strings.prob_pred, columns.prob_pred)
    np.testing.assert_allclose(strings.prob_pred, carried.prob_pred)
    np.testing.assert_allclose(marked.prob_pred, 1 - strings.prob_pred[::-1])
    assert carried.line_.get_label() == "Classifier"
    weighted = CalibrationDisplay.from_predictions(EVENT == "yes", p[:, 1], sample_weight=np.linspace(0.1, 1, 300))
    assert not np.allclose(weighted.prob_true[:3], strings.prob_true[:3])


@pytest.mark.slow
def test_a_second_plot_shares_the_axes(ax):
    p = LogisticRegression().fit(X, EVENT).predict_proba(X)[:, 1]
    first = CalibrationDisplay.from_predictions(EVENT, p, ax=ax, name="one")
    second = first.plot(ax=ax, name="two")
    assert second is first
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    assert first.line_.get_label() == "two"


def test_what_predicts_nothing_is_refused():
    with pytest.raises(
        cal.InputError, match="estimator must be a fitted classifier with predict_proba; it is a LinearSVC"
    ):
        CalibrationDisplay.from_estimator(LinearSVC().fit(X, EVENT), X, EVENT)
    with pytest.raises(cal.InputError, match="response_method"):
        CalibrationDisplay.from_estimator(LogisticRegression().fit(X, EVENT), X, EVENT, response_method="predict")
