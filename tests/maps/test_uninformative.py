"""What each uninformative map does to each error."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, MapError, Predictions
from calibrant.maps import CalibrationMap
from calibrant.maps.uninformative import LabelFrequencies, LabelFrequenciesMap, TopAccuracy, TopAccuracyMap
from tolerances import ROUNDING


@pytest.fixture
def made(rng):
    """Three classes, over-confident, with a top class that is right most often."""
    z = rng.normal(size=(3000, 3)) * 2
    labels = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = np.exp(2 * z)
    return Predictions(labels, p / p.sum(axis=1, keepdims=True))


def accuracy(predictions):
    return np.mean(predictions.probs.argmax(axis=1) == predictions.labels)


TOP_ERRORS = {"ece": cal.ece, "ks": cal.ks_error, "mmce": cal.mmce, "gap": cal.mean_gap}


@pytest.mark.parametrize("rest", ["proportional", "even"])
@pytest.mark.parametrize("error", TOP_ERRORS.values(), ids=TOP_ERRORS)
def test_the_accuracy_for_every_top_class_hides_every_error_of_the_top_class(error, rest, made):
    uninformative = TopAccuracy(rest).fit(made).apply(made)
    assert error(made).value > 0.02
    assert abs(error(uninformative).value) < 1e-7  # MMCE is a root


@pytest.mark.parametrize("rest", ["proportional", "even"])
def test_the_accuracy_stays_and_the_score_tells(rest, made):
    fitted = TopAccuracy(rest).fit(made)
    uninformative = fitted.apply(made)
    assert accuracy(uninformative) == accuracy(made)
    assert fitted.keeps_accuracy
    assert not fitted.injective
    assert cal.brier_score(uninformative).value > cal.brier_score(cal.Temperature().fit(made).apply(made)).value + 0.02


@pytest.mark.slow
def test_but_the_canonical_error_is_not_fooled(made):
    few = slice(0, 600)
    uninformative = cal.canonical_error(TopAccuracy().fit(made).apply(made).rows(few)).value
    calibrated = cal.canonical_error(LabelFrequencies().fit(made).apply(made).rows(few)).value
    assert uninformative > 5 * max(calibrated, 0.01)


def test_one_top_label_that_is_right_less_often_shows_class_by_class():
    # top label 0 is right in 9 of 10 rows, top label 1 in 5 of 10: predicted 0.7 for both
    labels = [0] * 9 + [1] + [1] * 5 + [0] * 5
    predictions = Predictions(labels, np.repeat([[0.95, 0.05], [0.05, 0.95]], 10, axis=0))
    uninformative = TopAccuracy().fit(predictions).apply(predictions)
    np.testing.assert_allclose(uninformative.probs.max(axis=1), 0.7, atol=ROUNDING)
    assert cal.ece(uninformative).value == pytest.approx(0, abs=ROUNDING)
    assert cal.classwise_error(uninformative).value == pytest.approx(
        0.2 * np.sqrt(2), abs=ROUNDING
    )  # 0.2 in each class
    np.testing.assert_allclose(
        LabelFrequencies().fit(predictions).apply(predictions).probs[[0, 10]], [[0.9, 0.1], [0.5, 0.5]], atol=ROUNDING
    )


def test_the_rest_is_shared_as_asked():
    probs = [[0.6, 0.3, 0.1], [1.0, 0.0, 0.0]]
    predictions = Predictions([0, 1], probs)
    inner = TopAccuracyMap((0, 1, 2), False, accuracy=0.8)
    np.testing.assert_allclose(inner.apply(probs), [[0.8, 0.15, 0.05], [0.8, 0.1, 0.1]], atol=ROUNDING)
    even = TopAccuracyMap((0, 1, 2), False, accuracy=0.8, rest="even")
    np.testing.assert_allclose(even.apply(probs), [[0.8, 0.1, 0.1]] * 2, atol=ROUNDING)
    assert TopAccuracy().fit(predictions).accuracy == 0.5
    assert "so low" in TopAccuracy().fit(predictions).fit.cautions[0]
    assert TopAccuracy("even").fit(predictions).keeps_accuracy
    assert TopAccuracy().fit(predictions.labels, probs, counts=[3, 1]).accuracy == 0.75


def test_frequencies_of_the_top_label_are_calibrated_and_blunt(made):
    fitted = LabelFrequencies().fit(made)
    blunt = fitted.apply(made)
    assert fitted.keeps_accuracy
    assert not fitted.injective
    assert accuracy(blunt) == accuracy(made)
    assert len(np.unique(blunt.probs, axis=0)) == 3
    for error in (cal.ece, cal.ks_error, cal.classwise_error):
        assert error(blunt).value == pytest.approx(0, abs=1e-9)
    # the true calibration error, top class by top class
    for top in range(3):
        rows = made.probs.argmax(axis=1) == top
        np.testing.assert_allclose(
            np.bincount(made.labels[rows], minlength=3) / rows.sum(), blunt.probs[rows][0], atol=ROUNDING
        )
    # Brier = uncertainty − sharpness once calibration is perfect; a calibrated map that keeps all rows apart is sharper
    kept = cal.Temperature().fit(made).apply(made)
    assert cal.brier_score(blunt).value > cal.brier_score(kept).value + 0.02
    rates = np.bincount(made.labels, minlength=3) / made.n
    sharpness = ((blunt.probs - rates) ** 2).sum(axis=1).mean()
    assert cal.brier_score(blunt).value == pytest.approx(1 - (rates**2).sum() - sharpness, abs=1e-9)


def test_a_single_event_has_two_rates():
    fitted = LabelFrequencies().fit([0, 1, 1, 1, 0, 1], [0.1, 0.4, 0.5, 0.6, 0.9, 0.8], counts=[3, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(fitted.apply([0.0, 0.49, 0.5, 1.0]), [0.25, 0.25, 0.75, 0.75], atol=ROUNDING)
    assert fitted.keeps_accuracy


def test_a_class_never_on_top_keeps_the_overall_frequencies():
    fitted = LabelFrequencies().fit([0, 1, 2, 0], [[0.5, 0.3, 0.2]] * 3 + [[0.2, 0.6, 0.2]])
    np.testing.assert_allclose(fitted.table, [[1 / 3] * 3, [1, 0, 0], [0.5, 0.25, 0.25]], atol=ROUNDING)
    assert fitted.fit.cautions == ("never the top class: 2",)
    assert not fitted.keeps_accuracy


@pytest.mark.parametrize("recipe", [TopAccuracy(), TopAccuracy("even"), LabelFrequencies()])
def test_they_are_maps_like_any_other(recipe, made):
    fitted = recipe.fit(made)
    again = CalibrationMap.from_json(fitted.to_json())
    assert again == fitted
    assert np.array_equal(again.apply(made.probs), fitted.apply(made).probs)
    np.testing.assert_allclose(fitted.apply(logits=np.log(made.probs)), fitted.apply(made.probs), atol=ROUNDING)
    assert fitted.apply(made.probs.astype(np.float32)).dtype == np.float32


def test_wrong_things_are_refused():
    with pytest.raises(InputError, match="rest must be one of 'proportional', 'even'"):
        TopAccuracy("none")
    with pytest.raises(InputError, match="must have one column per class"):
        TopAccuracy().fit([0, 1], [0.3, 0.6])
    with pytest.raises(MapError, match=r"accuracy must lie in \[0, 1\]"):
        TopAccuracyMap((0, 1, 2), False, accuracy=1.5)
    with pytest.raises(MapError, match="rest must be"):
        TopAccuracyMap((0, 1, 2), False, rest="none")
    with pytest.raises(MapError, match=r"table must have the shape .*3, 3.*; its shape is .1, 1.$"):
        LabelFrequenciesMap((0, 1, 2), False, table=[[1.0]])
