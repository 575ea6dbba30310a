"""Predictions: what they hold, what they share with the user's arrays, and the questions one can ask of them."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions
from calibrant.predictions import VIEWS, admit
from naive.binned import one_class, top


@pytest.fixture
def three():
    return Predictions(
        ["b", "a", "c"], [[0.4, 0.4, 0.2], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]], classes=["a", "b", "c"], counts=[1, 2, 3]
    )


def test_repr_says_what_it_holds(three):
    assert repr(three) == "Predictions(6 rows, 3 classes, float64, counts)"
    weighted = Predictions([0, 1, 1], [0.2, 0.5, 0.7], counts=[1, 2, 3], weights=[0.5, 1, 1])
    assert repr(weighted) == "Predictions(6 rows, binary event, float64, weights)"
    assert repr(Predictions([1], np.float32([0.5]))) == "Predictions(1 row, binary event, float32)"
    soft = Predictions.from_logits([0.5] * 1234, [0.0] * 1234, soft=True, groups=["a"] * 1234)
    assert repr(soft) == "Predictions(1,234 rows, binary event, float64, logits, soft labels, groups)"
    assert len(soft) == soft.n == 1234


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_floats_keep_their_type_and_become_its_own(dtype, shape):
    probs = np.full(shape, 0.5, dtype=dtype)
    said = Predictions([0, 1, 1, 0], probs)
    logits = Predictions.from_logits([0, 1, 1, 0], probs)
    assert said.probs.dtype == logits.logits.dtype == logits.probs.dtype == dtype
    probs[:] = 0
    assert (said.probs == 0.5).all()
    assert (logits.logits == 0.5).all()


def buffers(as_given):
    """Arrays that somebody goes on writing to, and the same as they are given."""
    labels, probs = np.array([0, 1, 1, 0], np.uint8), np.array([0.25, 0.5, 0.75, 0.5])
    weights, groups = np.array([1.0, 2, 3, 4]), np.array([1, 1, 2, 2])
    written = (labels, probs, weights, groups)
    return written, [as_given(array) for array in written]


AS_GIVEN = {
    "arrays": lambda a: a,
    "bool or float32": lambda a: a.view(bool) if a.dtype == np.uint8 else a,
    "views": lambda a: a[:],
    "read-only views": lambda a: np.broadcast_to(a, a.shape),
    "strided views": lambda a: np.lib.stride_tricks.as_strided(a, writeable=False),
    "pandas": lambda a: pd.Series(a, copy=False),
    "frames of one column": lambda a: pd.DataFrame({"p": pd.Series(a, copy=False)}, copy=False),
    "buffers": memoryview,
}


@pytest.mark.parametrize("as_given", AS_GIVEN.values(), ids=AS_GIVEN)
def test_predictions_own_their_numbers(as_given):
    (*written,), (labels, probs, weights, groups) = buffers(as_given)
    plain = Predictions([0, 1, 1, 0], [0.25, 0.5, 0.75, 0.5])
    made = [
        Predictions(labels, probs, counts=weights, groups=groups),
        Predictions.from_logits(labels, probs, counts=weights, groups=groups),
        Predictions(labels, probs, weights=weights),
        plain.with_probs(probs),
        plain.with_logits(probs),
        Predictions.from_gaussian(probs, probs, weights, weights=weights, groups=groups),
        Predictions.from_gaussian(probs, probs, weights, counts=weights, groups=groups),
        Predictions.from_samples(probs, probs, weights=weights),
    ]
    fields = ("labels", "outputs", "weights", "groups")
    before = [[getattr(each, name) for name in fields] for each in made]
    before = [[None if array is None else array.copy() for array in each] for each in before]
    for array in written:
        array[:] = array[::-1].copy()
        array[0] = 1
    for each, old in zip(made, before, strict=True):
        for name, values in zip(fields, old, strict=True):
            assert values is None or np.array_equal(getattr(each, name), values), (each, name)


def test_no_copy_is_made_of_what_cannot_change():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    fixed = np.array([0.25, 0.5, 0.75])
    fixed.flags.writeable = False
    for probs in (fixed, pa.array([0.25, 0.5, 0.75]), pl.Series([0.25, 0.5, 0.75])):
        assert np.shares_memory(Predictions([0, 1, 1], probs).probs, probs.to_numpy() if probs is not fixed else fixed)
    said = Predictions([0, 1, 1], [0.25, 0.5, 0.75])
    assert np.shares_memory(Predictions(said.labels, said.probs).probs, said.probs)


def test_one_call_keeps_the_memory_it_was_given():
    labels, probs = np.array([0, 1, 1], np.uint8), np.array([0.25, 0.5, 0.75])
    assert np.shares_memory(admit(labels, probs).probs, probs)
    assert np.shares_memory(admit(labels, probs).labels, labels)
    assert probs.flags.writeable


@pytest.mark.parametrize(("given_as", "kept_as"), [("float16", "float32"), ("int64", "float64"), ("bool", "float64")])
def test_other_numbers_are_widened(given_as, kept_as):
    assert Predictions([0, 1], np.array([0, 1], dtype=given_as)).probs.dtype == kept_as
    assert Predictions.from_logits([0, 1], np.array([0, 1], dtype=given_as)).probs.dtype == kept_as


def everything(said):
    """Call all that is public on some predictions."""
    cal.diagnose(said)
    cal.ece(said, compat="guo")
    cal.label_binned_error(said)
    cal.binned_error(said, bins=cal.Edges([0, 0.3, 1]))
    fitted = cal.recalibrate(said, "temperature")
    cal.compare(said, fitted)
    fitted.apply(said)
    said.rows([0, 1])


@pytest.mark.some(10)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("label_dtype", [bool, np.uint8, np.int32, np.int64, float])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("make", [Predictions, Predictions.from_logits], ids=["probs", "logits"])
def test_the_users_arrays_stay_as_they_were(rng, dtype, label_dtype, columns, make):
    p = rng.random(30)
    probs = (p if columns == 1 else np.stack([1 - p, p], axis=1)).astype(dtype)
    labels = (rng.random(30) < p).astype(label_dtype)
    weights = rng.integers(1, 4, 30).astype(float)
    groups = rng.integers(0, 2, 30)
    arrays = (labels, probs, weights, groups)
    before = [array.copy() for array in arrays]
    everything(make(labels, probs, counts=weights, groups=groups))
    for array, old in zip(arrays, before, strict=True):
        assert array.flags.writeable
        assert np.array_equal(array, old)


def test_a_pandas_frame_stays_as_it_was(rng):
    frame = pd.DataFrame(rng.dirichlet([1, 1], 20), columns=["a", "b"])
    labels = pd.Series(rng.choice(["a", "b"], 20))
    old = frame.copy(), labels.copy()
    everything(Predictions(labels, frame))
    pd.testing.assert_frame_equal(frame, old[0])
    pd.testing.assert_series_equal(labels, old[1])
    frame.iloc[0, 0] = 0.5  # still writeable


def test_read_only_arrays_are_accepted():
    probs, labels = np.array([0.2, 0.7]), np.array([0, 1])
    probs.flags.writeable = labels.flags.writeable = False
    assert cal.ece(labels, probs).n == 2


def test_what_predictions_hold_cannot_be_written_to(three):
    for said in (three, three.rows([0, 1]), three.rows(slice(0, 2)), three.with_probs(three.probs.copy())):
        for array in (said.probs, said.labels, said.weights):
            assert not array.flags.writeable


def test_giving_other_probabilities_leaves_the_users_array_writeable(three):
    probs = three.probs.copy()
    three.with_probs(probs)
    assert probs.flags.writeable


def test_logits_become_probabilities():
    said = Predictions.from_logits([0, 1], [[0.0, np.log(3)], [1000.0, -1000.0]])
    np.testing.assert_allclose(said.probs, [[0.25, 0.75], [1, 0]], rtol=1e-15)
    np.testing.assert_allclose(Predictions.from_logits([0, 1, 1], [0.0, np.log(3), -800]).probs, [0.5, 0.75, 0])


@given(some.logit_rows())
def test_probabilities_of_logits_sum_to_one(said):
    probs = Predictions.from_logits(said.labels, said.probs).probs
    assert ((probs >= 0) & (probs <= 1)).all()
    if probs.ndim == 2:
        assert np.abs(probs.sum(axis=1) - 1).max() < 1e-12


def test_masked_out_classes_may_have_the_lowest_logit():
    lowest = np.finfo(np.float32).min
    said = Predictions.from_logits([0, 1], np.array([[1, 1, lowest], [0, 0, lowest]], dtype=np.float32))
    assert said.probs.tolist() == [[0.5, 0.5, 0]] * 2


def test_soft_labels_of_an_event():
    said = Predictions([0.25, 1], [0.5, 0.5], soft=True)
    assert said.soft
    assert said.event().outcomes.tolist() == [0.25, 1]
    assert said.event("class 0").outcomes.tolist() == [0.75, 0]


def test_soft_labels_of_classes():
    shares = [[0.25, 0.75, 0], [0, 0, 1]]
    said = Predictions(shares, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], soft=True)
    assert said.event("top").outcomes.tolist() == [0, 0]
    assert said.event("class 1").outcomes.tolist() == [0.75, 0]
    assert [e.outcomes.tolist() for e in said.class_events()] == np.transpose(shares).tolist()


def test_soft_labels_of_zero_and_one_are_the_hard_ones(rng):
    probs = rng.dirichlet(np.ones(3), 50)
    codes = rng.integers(0, 3, 50)
    soft = Predictions(np.eye(3)[codes], probs, soft=True)
    assert cal.ece(soft).value == pytest.approx(cal.ece(codes, probs).value, abs=1e-15)
    assert cal.log_score(soft).value == pytest.approx(cal.log_score(codes, probs).value, abs=1e-14)


def test_top_is_the_largest_and_the_lowest_class_wins_a_tie(three):
    event = three.event()
    assert event.probs.tolist() == [0.4, 0.7, 1]
    assert event.outcomes.tolist() == [0, 0, 1]
    assert event.weights.tolist() == [1, 2, 3]
    assert event.hard
    assert event.n == 6
    assert len(event.probs) == 3


@given(some.matrices())
def test_events_are_those_of_plain_loops(said):
    made = Predictions(said.labels, said.probs)
    for event, (p, y) in [
        (made.event("top"), top(said.labels, said.probs)),
        *((made.event(k), one_class(said.labels, said.probs, k)) for k in range(said.probs.shape[1])),
    ]:
        assert event.probs.tolist() == p
        assert event.outcomes.tolist() == y


def test_a_class_is_asked_for_by_its_name_or_its_number(three):
    assert three.view("class b") == "class b"
    assert three.event("class b").probs.tolist() == [0.4, 0.2, 0]
    assert three.event("class b").outcomes.tolist() == [1, 0, 0]
    assert Predictions([5, 7], [[0.5, 0.5]] * 2, classes=[5, 7]).event(7).outcomes.tolist() == [0, 1]


def test_a_named_class_is_asked_for_by_its_index(three):
    assert three.event(1).probs.tolist() == three.event("class b").probs.tolist()


def test_views_have_full_names(three):
    event = Predictions([0, 1], [0.2, 0.7])
    pair = Predictions([0, 1], [[0.8, 0.2], [0.3, 0.7]])
    assert three.view() == "top"
    assert event.view() == "binary"
    assert pair.view() == "top"
    assert pair.view("binary") == "binary"
    assert pair.event("binary").probs.tolist() == [0.2, 0.7]
    assert event.event("class 0").probs.tolist() == pytest.approx([0.8, 0.3], abs=1e-15)
    assert set(VIEWS) >= {"auto", "binary", "top", "classwise"}


WRONG_VIEWS = {
    "unknown": ("topmost", r"view must be one of 'auto', 'binary', 'top', 'class k', 'classwise'; it is 'topmost'"),
    "None": (None, r"view must be one of .*; it is None"),
    "bool": (True, r"view must be one of .*; it is True"),
    "float": (1.0, r"view must be one of .*; it is 1\.0"),
    "a digit that is no number": ("class ²", r"view must name one of the classes"),
    "unknown class": ("class z", r"view must name one of the classes 'a', 'b', 'c'; it asks for class 'z'"),
    "binary of three": ("binary", r"view 'binary' needs two classes; there are 3.*Use 'top' or 'class k'"),
    "many at once": ("classwise", r"view 'classwise' is many questions, not one"),
}


@pytest.mark.parametrize("case", WRONG_VIEWS.values(), ids=WRONG_VIEWS)
def test_wrong_views(three, case):
    with pytest.raises(InputError, match=case[1]):
        three.event(case[0])


@pytest.mark.parametrize("view", ["top", "classwise"])
def test_one_column_has_no_top_class(view):
    with pytest.raises(
        InputError, match=rf"view '{view}' needs one column per class; probs has a single column.*'binary'"
    ):
        cal.ece([0, 1], [0.2, 0.7], view=view)


def test_rows_are_chosen_by_mask_slice_or_indices(three):
    mask = np.array([True, False, True])
    for which in (mask, mask.tolist(), [0, 2], np.array([0, 2]), slice(0, 3, 2), pd.Series(mask)):
        part = three.rows(which)
        assert part.labels.tolist() == [1, 2]
        assert part.weights.tolist() == [1, 3]
        assert part.classes == three.classes
        assert part.event().probs.tolist() == [0.4, 1]


def test_rows_of_logits_and_groups():
    whole = Predictions.from_logits([0, 1, 1], [0.0, 1.0, 2.0], groups=list("aab"))
    part = whole.rows([2, 0])
    assert part.logits.tolist() == [2, 0]
    assert part.groups.tolist() == ["b", "a"]
    assert part.probs[1] == 0.5


@pytest.mark.parametrize("which", [[], slice(5, 9), np.zeros(3, dtype=bool)], ids=["list", "slice", "mask"])
def test_choosing_no_rows_is_refused(three, which):
    with pytest.raises(InputError, match="which must choose at least one row; it chooses none"):
        three.rows(which)


@pytest.mark.parametrize(
    "which",
    [0, [7], [True], "a", [[0, 1]], [0.0], None],
    ids=["number", "beyond", "short mask", "text", "matrix", "floats", "None"],
)
def test_choosing_rows_that_are_not_there_is_refused_in_our_words(three, which):
    with pytest.raises(InputError, match=r"^which "):
        three.rows(which)


def test_choosing_only_rows_of_weight_zero_is_refused():
    said = Predictions([0, 1], [0.2, 0.7], counts=[0, 1])
    with pytest.raises(InputError, match="which must choose rows of some weight"):
        said.rows([0])


def test_other_probabilities_must_have_the_same_shape(three):
    with pytest.raises(InputError, match=r"probs must have shape \(3, 3\); it has \(3,\)"):
        three.with_probs([0.1, 0.2, 0.3])
    with pytest.raises(InputError, match=r"probs must lie in \[0, 1\]"):
        three.with_probs(np.full((3, 3), 2.0))
    with pytest.raises(InputError, match="rows that sum to 1"):
        three.with_probs(np.full((3, 3), 0.5))
    assert three.with_probs(np.full((3, 3), 1 / 3)).labels is three.labels


def test_changed_predictions_do_not_keep_old_events(three):
    three.event()
    assert three.with_probs(np.full((3, 3), 1 / 3)).event().probs.tolist() == [1 / 3] * 3
    assert three.rows([2]).event().probs.tolist() == [1]


def test_predictions_pass_through_and_carry_their_own_data(three):
    assert admit(three) is three
    for arguments in [(three, [0.1]), (three, None)]:
        with pytest.raises(InputError, match="labels is a Predictions and carries its own probs, counts and weights"):
            admit(*arguments, counts=[1, 1, 1])
    with pytest.raises(InputError, match=r"probs is a Predictions, which carries its own labels.*only argument"):
        admit([0, 1, 1], three)
    with pytest.raises(
        InputError, match=r"probs is required; only labels were given.*\(labels, probs\) or a Predictions"
    ):
        admit([0, 1, 1])


def test_predictions_survive_pickling(three):
    again = pickle.loads(pickle.dumps(three))
    assert again.probs.tolist() == three.probs.tolist()
    assert again.classes == three.classes


def test_the_example_is_real_and_split():
    valid, test = cal.example()
    assert (valid.n, test.n) == (898, 899)
    assert test.logits.dtype == np.float32
    assert set(np.unique(test.labels)) == set(range(10))


# Columns of pandas belong together by their index

FRAME = pd.DataFrame({"y": [0, 1, 1, 0], "p": [0.25, 0.75, 0.5, 0.125], "w": [1.0, 2, 1, 3], "g": [1, 1, 2, 2]})
SHUFFLED = FRAME.sort_values("p")


def test_rows_in_another_order_are_refused():
    with pytest.raises(
        InputError,
        match=r"^probs must have the index of labels; row 0 is 3 in probs and 0 in labels\. "
        r"Pass probs\.loc\[labels\.index\].*; if rows correspond by position, probs\.to_numpy\(\)",
    ):
        cal.ece(FRAME.y, SHUFFLED.p)  # fmt: skip
    assert cal.ece(FRAME.y, SHUFFLED.p.loc[FRAME.y.index]).value == cal.ece(FRAME.y, FRAME.p).value
    assert cal.ece(SHUFFLED.y, SHUFFLED.p).value == cal.ece(FRAME.y, FRAME.p).value
    assert cal.ece(SHUFFLED.y, SHUFFLED.p.to_numpy()).n == 4


MISALIGNED = {
    "counts": lambda: Predictions(FRAME.y, FRAME.p, counts=SHUFFLED.w),
    "weights": lambda: Predictions(FRAME.y, FRAME.p, weights=SHUFFLED.w),
    "groups": lambda: Predictions(FRAME.y, FRAME.p, groups=SHUFFLED.g),
    "logits": lambda: Predictions.from_logits(FRAME.y, SHUFFLED.p),
    "counts against groups": lambda: Predictions([0, 1, 1, 0], [0.1] * 4, counts=FRAME.w, groups=SHUFFLED.g),
    "weights against counts": lambda: Predictions([0, 1, 1, 0], [0.1] * 4, counts=FRAME.w, weights=SHUFFLED.w),
    "other rows": lambda: Predictions(FRAME.y, FRAME.p.set_axis([4, 5, 6, 7])),
    "a frame": lambda: Predictions(FRAME.y, pd.DataFrame({0: 1 - SHUFFLED.p, 1: SHUFFLED.p})),
    "several levels": lambda: Predictions(FRAME.set_index(["g", "w"]).y, SHUFFLED.set_index(["g", "w"]).p),
    "repeated": lambda: Predictions(FRAME.set_index("g").y, SHUFFLED.set_index("g").p),
    "dates": lambda: Predictions(FRAME.y, FRAME.p.set_axis(pd.date_range("2020", periods=4))),
    "missing entries": lambda: Predictions(FRAME.y, FRAME.p.set_axis(pd.Index([pd.NA, 1, 2, 3], dtype=object))),
    "lists": lambda: Predictions(FRAME.y, FRAME.p.set_axis(pd.Index([[0], [1], [2], [3]], dtype=object))),
    "counts of answers": lambda: cal.assess_answers(FRAME.y, FRAME.p, counts=SHUFFLED.w),
    "with_groups": lambda: Predictions(FRAME.y, FRAME.p).with_groups(SHUFFLED.g),
    "with_probs": lambda: Predictions(FRAME.y, FRAME.p).with_probs(SHUFFLED.p),
    "with_logits": lambda: Predictions(FRAME.y, FRAME.p).with_logits(SHUFFLED.p),
    "a mask": lambda: Predictions(FRAME.y, FRAME.p).rows(SHUFFLED.y == 1),
    "forecasts": lambda: Predictions.from_gaussian(FRAME.p, SHUFFLED.p, FRAME.w),
    "variances": lambda: Predictions.from_gaussian(FRAME.p.to_numpy(), FRAME.p, SHUFFLED.w),
    "counts of forecasts": lambda: Predictions.from_samples(FRAME.p, FRAME[["p", "w"]], counts=SHUFFLED.w),
    "weights of forecasts": lambda: Predictions.from_samples(FRAME.p, FRAME[["p", "w"]], weights=SHUFFLED.w),
    "quantiles": lambda: Predictions.from_quantiles(FRAME.p, [0.5], SHUFFLED[["w"]]),
    "a point of forecasts": lambda: Predictions.from_gaussian(FRAME.p, FRAME.p, FRAME.w).cdf(SHUFFLED.p),
    "compare": lambda: cal.compare(Predictions(FRAME.y, FRAME.p), Predictions(SHUFFLED.y, SHUFFLED.p)),
    "features": lambda: cal.audit(Predictions(FRAME.y, FRAME.p), SHUFFLED[["g"]], min_size=1),
    "a feature": lambda: cal.audit(Predictions(FRAME.y, FRAME.p), {"g": SHUFFLED.g}, min_size=1),
    "a segment": lambda: cal.audit(Predictions(FRAME.y, FRAME.p), segments={"g": SHUFFLED.g == 1}, min_size=1),
    "groups of an audit": lambda: cal.audit(Predictions(FRAME.y, FRAME.p), groups=SHUFFLED.g, min_size=1),
    "selective_risk": lambda: cal.selective_risk(FRAME.y, FRAME.p, groups=SHUFFLED.g),
    "assess_answers": lambda: cal.assess_answers(FRAME.y, FRAME.p, groups=SHUFFLED.g),
}


@pytest.mark.parametrize("call", MISALIGNED.values(), ids=MISALIGNED)
def test_other_indexes_are_refused_everywhere(call):
    with pytest.raises(InputError, match=r"must have the index of \w+; row \d is .* in .* and .* in "):
        call()


def test_equal_indexes_of_another_type_are_the_same():
    wide = FRAME.p.set_axis(pd.Index([0, 1, 2, 3]))
    assert Predictions(FRAME.y, wide).n == Predictions(FRAME.y, FRAME.p.set_axis([0.0, 1.0, 2.0, 3.0])).n == 4
    named = FRAME.set_index(pd.Index(list("aabb"), name="id"))
    assert Predictions(named.y, named.p.rename_axis("other"), weights=named.w, groups=named.g).n == 4
    assert Predictions(list(FRAME.y), SHUFFLED.p).index.equals(SHUFFLED.index)


def test_rows_keep_their_index():
    said = Predictions(FRAME.y, FRAME.p).rows([1, 3])
    assert said.index.tolist() == [1, 3]
    assert said.with_probs(FRAME.p[[1, 3]]).probs.tolist() == [0.75, 0.125]
    with pytest.raises(InputError, match="row 0 is 3 in probs and 1 in predictions"):
        said.with_probs(FRAME.p[[3, 1]])
    forecasts = Predictions.from_gaussian(FRAME.p, FRAME.p, FRAME.w)
    assert forecasts.rows(FRAME.y == 1).index.tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(said)).index.equals(said.index)


# A lone column named after the negative class

NEGATIVE_NAMES = ["prob_0", "p_no", "prob_False", "proba_0", "p0", "P_0", "prob-neg", "no", "negative", False]


@pytest.mark.parametrize("name", NEGATIVE_NAMES)
def test_a_column_of_the_negative_class_is_not_the_events(name):
    column = pd.Series([0.25, 0.75], name=name)
    for probs in (column, column.to_frame()):
        with pytest.raises(InputError, match=r"^probs must be the column of 1; .* is named after 0\. .*\(1 - probs\)"):
            cal.ece([0, 1], probs)
    assert Predictions([0, 1], column, classes=(1, 0)).labels.tolist() == [1, 0]
    assert cal.ece([0, 1], (1 - column).to_numpy()).n == 2


@pytest.mark.parametrize("name", ["prob_1", "p", "prob", "p_yes", "prob_00", 0, "0", "model_0", None, "probability"])
def test_other_names_are_the_events(name):
    assert cal.ece([0, 1], pd.Series([0.25, 0.75], name=name)).n == 2


def test_declared_classes_name_the_negative_one():
    columns = pd.DataFrame({"prob_cat": [0.25, 0.75], "dog": [0.75, 0.25]})
    with pytest.raises(InputError, match=r"must be the column of 'dog'; 'prob_cat' is named after 'cat'"):
        Predictions(["cat", "dog"], columns["prob_cat"], classes=["cat", "dog"])
    with pytest.raises(InputError, match=r"^logits must be the column of 'cat'; .*-logits\.to_numpy"):
        Predictions.from_logits(["cat", "dog"], columns["dog"], classes=["dog", "cat"])
    assert Predictions(["cat", "dog"], columns["dog"], classes=["cat", "dog"]).n == 2


def test_a_column_of_confidences_is_known_by_its_name():
    named = pd.Series([0.9, 0.8], name="confidence")
    assert Predictions([1, 0], named).is_confidence
    assert Predictions([1, 0], named).rows([0]).is_confidence
    assert not Predictions([1, 0], named.rename("prob")).is_confidence
