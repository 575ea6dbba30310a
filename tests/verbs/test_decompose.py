"""Where does the score come from? Three parts that add up to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import EqualMass, EqualWidth, InputError, Predictions, decompose
from calibrant.results import Decomposition
from registered import SCORES
from tolerances import ROUNDING

each = pytest.mark.parametrize("score", SCORES)


def total(found):
    return found.miscalibration - found.discrimination + found.uncertainty


@pytest.fixture
def event(rng):
    p = rng.random(400)
    return Predictions((rng.random(400) < p**2).astype(int), p)


@pytest.fixture
def several(rng):
    logits = 2 * rng.normal(size=(400, 3))
    q = np.exp(logits / 2)
    q /= q.sum(axis=1, keepdims=True)
    return Predictions.from_logits([rng.choice(3, p=row) for row in q], logits)


def test_a_tiny_example_by_hand():
    # sorted: 0.1 → 0; 0.4 → 1 and 0; 0.6 → 0; 0.9 → 1. PAV pools 0.4 and 0.6: 1/3. Rates 0, ⅓, ⅓, ⅓, 1; ȳ = 2/5.
    labels, probs = [0, 1, 0, 0, 1], [0.1, 0.4, 0.4, 0.6, 0.9]
    found = decompose(labels, probs, view="binary")
    score = (0.01 + 0.36 + 0.16 + 0.36 + 0.01) / 5
    recalibrated = (4 / 9 + 1 / 9 + 1 / 9) / 5
    assert found.score.value == pytest.approx(score, abs=ROUNDING)
    assert found.miscalibration == pytest.approx(score - recalibrated, abs=ROUNDING)
    assert found.uncertainty == pytest.approx(0.24, abs=ROUNDING)
    assert found.discrimination == pytest.approx(0.24 - recalibrated, abs=ROUNDING)
    assert found.refinement == pytest.approx(recalibrated, abs=ROUNDING)
    by_log = decompose(labels, probs, score="log")
    assert by_log.refinement == pytest.approx((math.log(3) + 2 * math.log(1.5)) / 5, abs=ROUNDING)
    assert by_log.uncertainty == pytest.approx(-0.4 * math.log(0.4) - 0.6 * math.log(0.6), abs=ROUNDING)


def test_bins_by_hand():
    # two bins: 0.1, 0.4 with rate ½ and 0.6, 0.9 with rate 1
    found = decompose([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9], view="binary", method=EqualWidth(2))
    assert found.refinement == pytest.approx((0.25 + 0.25) / 4, abs=ROUNDING)
    assert found.settings["method"] == "2 equal-width bins"


@each
@given(data=st.data())
def test_the_parts_add_up_and_isotonic_ones_are_not_negative(score, data):
    predictions = data.draw(some.events(weighted=True))
    found = decompose(predictions.labels, predictions.probs, score=score, counts=predictions.weights)
    assert min(found.miscalibration, found.discrimination, found.uncertainty) >= -ROUNDING
    if math.isinf(found.score.value):
        assert found.miscalibration == math.inf
    else:
        assert total(found) == pytest.approx(found.score.value, abs=ROUNDING)
    assert found.score == SCORES[score].score(predictions.labels, predictions.probs, counts=predictions.weights)
    assert Decomposition.from_json(found.to_json()) == found


BY = {
    "isotonic": "isotonic",
    "equal mass": EqualMass(10),
    "equal width": EqualWidth(10),
    "histogram": "histogram",
    "temperature": "temperature",
    "a recipe": cal.Beta(),
}


@pytest.mark.some(5)
@each
@pytest.mark.parametrize("by", BY.values(), ids=BY)
@pytest.mark.parametrize("cross_fitted", [False, True])
def test_the_parts_add_up_whatever_mends(event, several, score, by, cross_fitted):
    for predictions, view in (
        (event, "canonical"),
        (event, "binary"),
        (several, "canonical"),
        (several, "top"),
        (several, 1),
    ):
        found = decompose(predictions, score=score, method=by, cross_fitted=cross_fitted, n_folds=3, view=view)
        assert total(found) == pytest.approx(found.score.value, abs=ROUNDING)
        assert found.score.value == pytest.approx(SCORES[score].score(predictions, view=view).value, abs=ROUNDING)


def test_a_map_mends_as_it_would_elsewhere(several):
    found = decompose(several, score="log", method="vector")
    recalibrated = cal.maps.VectorScaling().fit(several).apply(several)
    assert found.refinement == pytest.approx(cal.log_score(recalibrated).value, abs=ROUNDING)
    rates = np.bincount(several.labels) / several.n
    assert found.uncertainty == pytest.approx(-(rates * np.log(rates)).sum(), abs=ROUNDING)


def test_a_map_judged_by_rows_it_has_not_seen_promises_less(event):
    inside, outside = (decompose(event, cross_fitted=flag) for flag in (False, True))
    assert outside.miscalibration < inside.miscalibration
    assert outside.discrimination < inside.discrimination
    assert outside.uncertainty == inside.uncertainty
    assert outside.sentence().endswith("by isotonic cross-fitted over 10 folds.")


def test_clusters_stay_together_when_cross_fitted(rng):
    groups = np.repeat(np.arange(30), 20)
    p = np.repeat(rng.random(30), 20) + rng.normal(size=600) * 1e-6
    labels = np.repeat(rng.integers(0, 2, 30), 20)  # a cluster gives its labels away
    p = np.clip(p, 0, 1)
    apart = decompose(Predictions(labels, p), method=cal.Histogram(EqualMass(30)), cross_fitted=True)
    kept = decompose(Predictions(labels, p, groups=groups), method=cal.Histogram(EqualMass(30)), cross_fitted=True)
    assert apart.discrimination > 0.3
    assert kept.discrimination < 0


@each
def test_weights_are_repeated_rows(score, rng):
    p, y, times = rng.random(60).round(2), rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    for options in ({}, {"method": EqualMass(5)}, {"method": "platt", "cross_fitted": True, "n_folds": 3}):
        weighted = decompose(y, np.clip(p, 0.01, 0.99), score=score, counts=times, **options)
        repeated = decompose(np.repeat(y, times), np.clip(np.repeat(p, times), 0.01, 0.99), score=score, **options)
        for name in ("miscalibration", "discrimination", "uncertainty"):
            assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-9)  # the fit of Platt's map


@each
def test_the_order_of_rows_and_classes_does_not_matter(several, score, rng):
    order, classes = rng.permutation(several.n), np.array([2, 1, 0])
    moved = Predictions(np.argsort(classes)[several.labels[order]], several.probs[order][:, classes])
    there, back = (decompose(Predictions(several.labels, several.probs), score=score), decompose(moved, score=score))
    assert (there.miscalibration, there.discrimination, there.uncertainty) == pytest.approx(
        (back.miscalibration, back.discrimination, back.uncertainty), abs=ROUNDING
    )


def test_both_classes_count_unless_the_event_alone_is_asked_for(event):
    both, alone = decompose(event), decompose(event, view="binary")
    for name in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(both, name) == pytest.approx(2 * getattr(alone, name), abs=ROUNDING)
    columns = decompose(Predictions(event.labels, np.stack([1 - event.probs, event.probs], axis=1)))
    assert columns.miscalibration == pytest.approx(both.miscalibration, abs=ROUNDING)


def test_float32_is_not_rounded_a_second_time(event):
    narrow = Predictions(event.labels, event.probs.astype(np.float32))
    wide = Predictions(event.labels, narrow.probs.astype(np.float64))
    assert decompose(narrow).refinement == decompose(wide).refinement


def test_soft_labels_of_ones_and_zeros_are_labels(several):
    soft = decompose(Predictions(np.eye(3)[several.labels], several.probs, soft=True), method="temperature")
    hard = decompose(Predictions(several.labels, several.probs), method="temperature")
    assert soft.uncertainty == pytest.approx(hard.uncertainty, abs=ROUNDING)
    assert soft.miscalibration == pytest.approx(hard.miscalibration, abs=1e-9)  # the fit of a temperature


def test_a_decomposition_shows_itself(event):
    found = decompose(event)
    assert repr(found).startswith("Brier score 0.")
    assert [row[0] for row in found.tables()[0].rows] == [
        "miscalibration",
        "− discrimination",
        "+ uncertainty",
        "= score",
    ]
    assert sum(row[1] for row in found.tables()[0].rows[:3]) == pytest.approx(
        found.tables()[0].rows[3][1], abs=ROUNDING
    )
    assert "<table>" in found._repr_html_()


def test_what_is_impossible_is_refused_with_its_reason():
    found = decompose([1, 0, 1], [0.0, 0.2, 0.7], score="log")
    assert "row 0 gives probability 0" in repr(found)


def test_wrong_arguments_are_refused(event):
    with pytest.raises(InputError, match=r"method must be one of 'auto', .*, bins, or a recipe with fit; it is 'pav'"):
        decompose(event, method="pav")
    with pytest.raises(InputError, match=r"method must be one of"):
        decompose(event, method=cal.Isotonic)
    with pytest.raises(InputError, match="n_folds must be a whole number, at least 2"):
        decompose(event, n_folds=1)
    with pytest.raises(InputError, match="two rows at least to judge one by the others"):
        decompose([1], [0.5], cross_fitted=True)
    with pytest.raises(InputError, match=r"method must give a finite log score; recalibrated row .* bounded recipe"):
        decompose(event, score="log", method=cal.Histogram(EqualMass(200), bounded=False), cross_fitted=True)
    with pytest.raises(InputError, match="'classwise' is many questions"):
        decompose([0, 1], [[0.3, 0.7], [0.2, 0.8]], view="classwise")
