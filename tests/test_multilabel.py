"""Multi-label predictions: each column is an event of its own, and what needs one class per row is refused."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.problems import MapError

RNG = np.random.default_rng(3)
P = RNG.random((300, 3))
Y = (RNG.random((300, 3)) < P * [1.0, 0.5, 1.0]).astype(int)
NAMES = ("sea", "sky", "boat")
W = RNG.integers(0, 4, 300)


def tags(labels=Y, probs=P, **more):
    return Predictions.from_multilabel(labels, probs, **{"classes": NAMES} | more)


@pytest.mark.parametrize("how", [{}, {"counts": W}, {"weights": W + 0.5}], ids=["plain", "counts", "weights"])
@pytest.mark.parametrize("bins", [cal.EqualWidth(15), cal.EqualMass(7), cal.EqualWidth(2000)], ids=str)
def test_class_wise_errors_are_the_mean_of_those_of_the_labels(how, bins):
    each = [cal.binned_error(Predictions(Y[:, k], P[:, k], **how), bins=bins).value for k in range(3)]
    found = cal.binned_error(tags(**how), bins=bins)
    assert found.value == pytest.approx(np.mean(each), abs=1e-12)
    assert found.settings["view"] == "classwise"
    assert cal.static_error(tags(**how), bins=bins).value == found.value


def test_the_compiled_pass_adds_up_rows_that_do_not_sum_to_one():
    probs = np.random.default_rng(0).random((40_000, 8)) ** 2
    labels = np.random.default_rng(1).random(probs.shape) < probs
    found = cal.static_error(Predictions.from_multilabel(labels, probs)).parts["classes"].values
    np.testing.assert_allclose(found, [cal.ece(labels[:, k], probs[:, k]).value for k in range(8)], atol=1e-12)


@pytest.mark.parametrize("estimator", [cal.adaptive_error, cal.thresholded_error, cal.classwise_error])
def test_the_table_of_classes_counts_the_rows_in_which_a_label_is_true(estimator):
    table = estimator(tags(counts=W)).parts["classes"]
    assert table.classes == NAMES
    np.testing.assert_allclose(table.n, W @ Y)


def test_a_view_names_one_label():
    alone = Predictions(Y[:, 1], P[:, 1])
    assert cal.ece(tags(), view="class sky").value == cal.ece(alone).value == cal.ece(tags(), view=1).value
    assert cal.brier_score(tags(), view="class sky").value == cal.brier_score(alone, view="binary").value
    assert cal.is_calibrated(tags(), view=1, n_draws=99).p_value == cal.is_calibrated(alone, n_draws=99).p_value
    assert np.array_equal(tags().label("sky").probs, P[:, 1])
    assert np.array_equal(tags().label(1).labels, Y[:, 1])


@pytest.mark.parametrize("more", [{}, {"weights": W + 0.5}], ids=["plain", "weights"])
def test_an_audit_of_a_label_is_that_of_its_rows(more):
    features, label = {"where": np.arange(300) % 3}, Predictions(Y[:, 1], P[:, 1], **more)
    found = cal.audit(tags(**more), features, view="class sky", n_draws=99)
    alone = cal.audit(label, features, n_draws=99)
    assert found.view == "class sky"
    assert [each.name for each in found.segments] == [each.name for each in alone.segments]
    assert [each.p_value for each in found.segments] == [each.p_value for each in alone.segments]
    by_group = cal.audit(tags(**more, groups=np.arange(300) % 3), view="class sky", n_draws=99)
    assert len(by_group.segments) == 4


def test_advice_for_one_label_holds():
    rows, segments = tags(), {"odd": np.arange(300) % 2 == 1}
    for call in (cal.audit, cal.trust):
        with pytest.raises(InputError, match=r"Pass predictions\.label\('sea'\), or view='class sea' where there"):
            call(rows, segments) if call is cal.audit else call(rows)
    for call in (lambda t: cal.recalibrate(t, "platt", segments=segments), cal.collect, lambda t: cal.compare(t, t)):
        with pytest.raises(InputError, match=r"predictions\.label\(NAME\)"):
            call(rows)
        call(rows.label("sea"))


def test_a_map_per_label_is_no_curve():
    fitted = cal.Platt().fit(tags())
    with pytest.raises(InputError, match=r"each label has one of its own\. Draw one of its `maps`"):
        fitted.plot()
    with pytest.raises(MapError, match="each label has a curve of its own"):
        fitted.curve()


def test_rows_groups_and_weights_travel_along():
    found = tags(groups=np.arange(300) % 7, counts=W).rows(W > 1)
    assert np.array_equal(found.observed, Y[W > 1])
    assert found.n == W[W > 1].sum()
    assert np.array_equal(found.label("sea").groups, (np.arange(300) % 7)[W > 1])
    assert repr(tags(counts=W)) == f"MultilabelPredictions({W.sum()} rows, 3 labels, float64, counts)"
    with pytest.raises(ValueError, match="read-only"):
        found.observed[0, 0] = 1


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_of_tables_are_matched_by_name(frame):
    probs = frame({f"prob_{name}": P[:, k] for k, name in enumerate(NAMES)})
    turned = frame({name: Y[:, NAMES.index(name)] for name in reversed(NAMES)})
    found = Predictions.from_multilabel(turned, probs)
    assert found.classes == NAMES
    assert np.array_equal(found.observed, Y)
    with pytest.raises(InputError, match="labels must have the columns of probs; probs has no column 'car'"):
        Predictions.from_multilabel(frame({"sea": Y[:, 0], "sky": Y[:, 1], "car": Y[:, 2]}), probs)


def test_rows_of_pandas_must_be_in_the_same_order():
    probs = pd.DataFrame(P, columns=NAMES)
    with pytest.raises(InputError, match="index"):
        Predictions.from_multilabel(pd.DataFrame(Y, columns=NAMES)[::-1], probs)


BAD = {
    "a two": (np.where(Y == 1, 2, 0), P, "labels must be 0 or 1; labels"),
    "a share": (Y * 0.5, P, "labels must be 0 or 1"),
    "a missing label": (np.where(Y == 1, np.nan, 0), P, "labels must be finite; labels"),
    "names": (np.full(Y.shape, "cat"), P, "labels must hold numbers"),
    "class indices": (Y[:, 0], P, "labels must have one column per label, at least two"),
    "one column": (Y[:, :1], P[:, :1], "probs must have one column per label.*Use Predictions"),
    "other columns": (Y[:, :2], P, r"labels must have the shape of probs, \(300, 3\); it has \(300, 2\)"),
    "other rows": (Y[:-1], P, "labels and probs must have as many rows"),
    "above one": (Y, P * 2, r"probs must lie in \[0, 1\]"),
    "NaN": (Y, np.where(P > 0.5, np.nan, P), "probs must be finite"),
    "nothing": (Y[:0], P[:0], "must hold at least one row"),
}


@pytest.mark.parametrize(("labels", "probs", "said"), BAD.values(), ids=BAD)
def test_bad_inputs_are_refused_with_their_place(labels, probs, said):
    with pytest.raises(InputError, match=said):
        Predictions.from_multilabel(labels, probs)


@pytest.mark.parametrize("names", [["a", "b"], ["a", "a", "b"], [["a"], ["b"], ["c"]]])
def test_bad_names_are_refused(names):
    with pytest.raises(InputError, match="classes must"):
        tags(classes=names)


NEEDS_ONE_CLASS = {
    "labels": lambda t: t.labels,
    "brier": cal.brier_score,
    "log": cal.log_score,
    "skce": cal.skce,
    "root brier": cal.root_brier,
    "canonical": cal.canonical_error,
    "canonical test": lambda t: cal.is_calibrated(t, view="canonical"),
    "decompose": cal.decompose,
    "compare": lambda t: cal.compare(t, t),
    "collect": cal.collect,
    "top": lambda t: cal.ece(t, view="top"),
    "two labels": lambda _: cal.ece(Predictions.from_multilabel(Y[:, :2], P[:, :2]), view="binary"),
    "top label": cal.TopLabel(cal.Platt()).fit,
    "auto": cal.smooth_error,
    "test": cal.is_calibrated,
    "trust": cal.trust,
    "segments": lambda t: cal.recalibrate(t, "platt", segments=np.arange(300) % 2),
    "audit": lambda t: cal.audit(t, {"where": np.arange(300) % 3}),
    "where": cal.where,
    "KS": lambda t: cal.ks_error(t, view="classwise"),
    "logits": lambda t: t.with_logits(P),
}


@pytest.mark.parametrize("call", NEEDS_ONE_CLASS.values(), ids=NEEDS_ONE_CLASS)
def test_what_needs_one_class_per_row_is_refused_with_what_to_use(call):
    with pytest.raises(InputError, match=r"multi-label.*(Use|Pass) "):
        call(tags())


@pytest.mark.parametrize("method", ["platt", "isotonic", "temperature", "identity", "vector"])
def test_each_label_has_the_map_of_its_own_column(method):
    fitted = cal.recalibrate(tags(counts=W), method)
    seen = W > 0
    each = [cal.recalibrate(Predictions(Y[seen, k], P[seen, k], counts=W[seen]), method) for k in range(3)]
    expected = np.stack([one.apply(P[:, k]) for k, one in enumerate(each)], axis=1)
    assert np.array_equal(fitted.apply(P), expected)
    assert np.array_equal(fitted.apply(tags()).probs, expected)
    assert fitted.injective == each[0].injective
    np.testing.assert_allclose(fitted.fit.prevalence, W @ Y / W.sum())
    read = cal.maps.PerLabelMap.from_json(fitted.to_json())
    assert np.array_equal(read.apply(P.astype(np.float32)), fitted.apply(P.astype(np.float32)))
    assert fitted.apply(P.astype(np.float32)).dtype == np.float32


def test_one_against_the_rest_divides_labels_by_nothing():
    assert cal.OneVsRest("platt").fit(tags()) == cal.Platt().fit(tags())


def test_maps_of_labels_and_of_classes_are_not_mixed_up():
    rows = P / P.sum(axis=1, keepdims=True)
    classes = Predictions(np.array(NAMES)[Y.argmax(axis=1)], rows, classes=NAMES)
    with pytest.raises(InputError, match=r"predictions must be of multi-label predictions.*one class per row"):
        cal.Platt().fit(tags()).apply(classes)
    with pytest.raises(InputError, match=r"predictions must be of one class per row.*multi-label"):
        cal.Platt().fit(classes).apply(tags())
    with pytest.raises(InputError, match=r"maps\[k\]"):
        cal.Platt().fit(tags()).at_prevalence([0.1, 0.2, 0.3])


def test_a_saved_map_must_hold_maps_of_one_event():
    data = json.loads(cal.Platt().fit(tags()).to_json())
    data["maps"] = data["maps"][:2]
    with pytest.raises(Exception, match="maps"):
        cal.maps.PerLabelMap.from_json(json.dumps(data))


def test_the_labels_of_a_map_s_output_know_their_own_map():
    before = tags()
    after = cal.Platt().fit(before).apply(before)
    assert cal.compare(before.label("sky"), after.label("sky")).injective is True
