"""Binary maps for several classes."""

import dataclasses

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError

VALID, TEST = cal.example()


def test_one_against_the_rest_is_the_map_of_each_class_divided_by_the_sum():
    fitted = cal.OneVsRest(cal.Platt()).fit(VALID)
    probs = TEST.probs.astype(np.float64)
    each = [cal.Platt().fit(VALID.labels == k, VALID.probs[:, k]).apply(probs[:, k]) for k in range(10)]
    expected = np.stack(each, axis=1)
    np.testing.assert_allclose(fitted.apply(probs), expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


def test_a_binary_recipe_takes_several_classes_by_itself():
    assert cal.Platt().fit(VALID) == cal.OneVsRest(cal.Platt()).fit(VALID)


@pytest.mark.parametrize(
    "recipe", [cal.Platt(), cal.Isotonic(), cal.Beta(), cal.Histogram()], ids=lambda r: type(r).__name__
)
def test_the_top_class_stays_on_top(recipe):
    fitted = cal.TopLabel(recipe).fit(VALID)
    for probs in (TEST.probs, TEST.probs.astype(np.float64)):
        assert np.array_equal(fitted.apply(probs).argmax(axis=1), probs.argmax(axis=1))


def test_rows_sum_to_one_and_the_others_keep_their_proportions():
    fitted = cal.TopLabel(cal.Platt()).fit(VALID)
    mended = fitted.apply(np.array([[0.7, 0.2, 0.1, *[0.0] * 7]]))
    assert mended.sum() == pytest.approx(1, abs=1e-12)
    assert mended[0, 1] / mended[0, 2] == pytest.approx(2)


def test_a_row_that_is_sure_shares_what_is_left_evenly():
    mended = cal.TopLabel(cal.Platt()).fit(VALID).apply(np.eye(10)[:1])
    assert mended[0, 1:] == pytest.approx([(1 - mended[0, 0]) / 9] * 9)


@pytest.mark.parametrize("wrapper", [cal.OneVsRest, cal.TopLabel])
def test_a_single_event_needs_no_wrapper(wrapper):
    with pytest.raises(
        InputError, match=r"probs must have one column per class; it has a single column\. Fit the recipe itself"
    ):
        wrapper(cal.Platt()).fit([0, 1], [0.2, 0.7])


@pytest.mark.parametrize("wrapper", [cal.OneVsRest, cal.TopLabel])
def test_maps_of_several_classes_survive_as_json(wrapper, tmp_path):
    fitted = wrapper(cal.Isotonic()).fit(VALID)
    fitted.save(tmp_path / "map.json")
    again = cal.load_map(tmp_path / "map.json")
    assert again == fitted
    assert np.array_equal(again.apply(TEST.probs), fitted.apply(TEST.probs))


def test_the_class_with_a_caution_is_named():
    labels = np.where(VALID.labels == 3, 4, VALID.labels)
    fitted = cal.OneVsRest(cal.Platt()).fit(labels, VALID.probs)
    assert fitted.fit.cautions[0].startswith("class 3: the event never occurred")


def test_a_row_in_which_every_class_is_called_impossible_is_a_uniform_guess():
    # the first class never happens below 0.5, the second never below 0.6: unbounded isotonic maps say 0 to both
    probs = np.array([[0.45, 0.55], [0.45, 0.55], [0.9, 0.1], [0.2, 0.8]])
    fitted = cal.OneVsRest(cal.Isotonic(bounded=False)).fit([1, 0, 0, 1], probs)
    zero = dataclasses.replace(
        fitted, maps=tuple(dataclasses.replace(m, x=np.array([0.0, 1.0]), y=np.zeros(2)) for m in fitted.maps)
    )
    assert zero.apply(probs[:1]).tolist() == [[0.5, 0.5]]


def test_the_top_class_stays_on_top_of_rows_that_give_the_others_nothing():
    fitted = cal.TopLabel("platt").fit([1, 2, 1, 2, 0, 1], np.eye(3)[[0] * 6])
    assert fitted.apply([[1.0, 0.0, 0.0]]).argmax() == 0
    assert fitted.apply(logits=[[800.0, 0.0, -1.0]]).argmax() == 0


@pytest.mark.parametrize("wrapper", [cal.OneVsRest, cal.TopLabel])
def test_only_maps_of_one_event_are_wrapped(wrapper):
    assert wrapper("isotonic").method == cal.Isotonic()
    with pytest.raises(InputError, match="map of one event"):
        wrapper(cal.Temperature())


def test_classes_in_another_order_are_refused():
    rng = np.random.default_rng(0)
    labels, probs = list("abc") * 10, rng.dirichlet(np.ones(3), 30)
    fitted = cal.recalibrate(cal.Predictions(labels, probs, classes=list("abc")), "vector")
    turned = cal.Predictions(labels, probs[:, [2, 0, 1]], classes=list("cab"))
    with pytest.raises(InputError, match="order of the map"):
        fitted.apply(turned)
