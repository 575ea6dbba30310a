"""The door: what it lets in, unchanged, and what it refuses, with which words."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions, arrays
from calibrant.predictions.plain import plain_event

LABELS, PROBS = [0, 1, 1], [0.25, 0.5, 0.75]
MATRIX = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.75]]
CODES = [0, 1, 2]

VECTORS = {
    "list": list,
    "tuple": tuple,
    "list of NumPy scalars": lambda v: [np.float64(x) for x in v],
    "float64": np.array,
    "float32": lambda v: np.array(v, dtype=np.float32),
    "float16": lambda v: np.array(v, dtype=np.float16),
    "longdouble": lambda v: np.array(v, dtype=np.longdouble),
    "big-endian": lambda v: np.array(v, dtype=">f8"),
    "object": lambda v: np.array(v, dtype=object),
    "decimals": lambda v: [Decimal(x) for x in v],
    "column": lambda v: np.array(v)[:, None],
    "strided": lambda v: np.repeat(np.array(v), 3)[::3],
    "reversed": lambda v: np.array(v[::-1])[::-1],
    "pandas Series": pd.Series,
    "pandas Series with an index": lambda v: pd.Series(v, index=[7, 3, 5]),
    "pandas nullable": lambda v: pd.Series(v, dtype="Float64"),
    "pandas Arrow": lambda v: pd.Series(v, dtype="double[pyarrow]"),
    "pandas frame of one column": lambda v: pd.DataFrame({"p": v}),
    "Polars Series": pl.Series,
    "Polars float32": lambda v: pl.Series(v, dtype=pl.Float32),
    "Arrow array": pa.array,
    "Arrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
    "Arrow table of one column": lambda v: pa.table({"p": v}),
}

MATRICES = {
    "list": list,
    "tuples": lambda m: tuple(map(tuple, m)),
    "list of arrays": lambda m: [np.array(row) for row in m],
    "float64": np.array,
    "float32": lambda m: np.array(m, dtype=np.float32),
    "float16": lambda m: np.array(m, dtype=np.float16),
    "Fortran order": np.asfortranarray,
    "part of a wider matrix": lambda m: np.hstack([np.array(m), np.zeros((3, 2))])[:, :3],
    "pandas frame": pd.DataFrame,
    "pandas frame with an index": lambda m: pd.DataFrame(m, index=[7, 3, 5]),
    "pandas Series of lists": pd.Series,
    "pandas Series of arrays": lambda m: pd.Series([np.array(row) for row in m]),
    "pandas Series of tuples": lambda m: pd.Series(list(map(tuple, m))),
    "object array of arrays": lambda m: pd.Series([np.array(row) for row in m]).to_numpy(),
    "Polars frame": lambda m: pl.DataFrame(m, schema=["a", "b", "c"], orient="row"),
    "Polars Series of lists": pl.Series,
    "Polars Series of arrays": lambda m: pl.Series(m, dtype=pl.Array(pl.Float64, 3)),
    "Arrow table": lambda m: pa.table(list(map(list, zip(*m, strict=True))), names=["a", "b", "c"]),
    "Arrow record batch": lambda m: pa.record_batch([pa.array(c) for c in zip(*m, strict=True)], names=["a", "b", "c"]),
    "Arrow list array": pa.array,
    "Arrow chunked lists": lambda m: pa.chunked_array([pa.array(m[:1]), pa.array(m[1:])]),
    "Arrow fixed-size lists": lambda m: pa.array(m, type=pa.list_(pa.float64(), 3)),
}

LABEL_FORMS = {
    "list": list,
    "int8": lambda v: np.array(v, dtype=np.int8),
    "uint64": lambda v: np.array(v, dtype=np.uint64),
    "float whole numbers": lambda v: np.array(v, dtype=float),
    "objects": lambda v: np.array(v, dtype=object),
    "column": lambda v: np.array(v)[:, None],
    "one-hot": lambda v: np.eye(3)[v],
    "one-hot bool": lambda v: np.eye(3, dtype=bool)[v],
    "one-hot objects": lambda v: np.eye(3)[v].astype(object),
    "one-hot frame": lambda v: pd.DataFrame(np.eye(3, dtype=int)[v]),
    "pandas": pd.Series,
    "pandas nullable": lambda v: pd.Series(v, dtype="Int64"),
    "pandas categorical": lambda v: pd.Series(pd.Categorical(v)),
    "Polars": pl.Series,
    "Arrow": pa.array,
    "Arrow chunked": lambda v: pa.chunked_array([v[:2], v[2:]]),
}


@pytest.mark.parametrize("container", VECTORS.values(), ids=VECTORS)
def test_every_vector_container_means_the_same(container):
    predictions = Predictions(LABELS, container(PROBS))
    assert predictions.is_binary
    assert predictions.probs.tolist() == PROBS
    assert predictions.probs.dtype in (np.float32, np.float64)
    assert predictions.probs.dtype.isnative


@pytest.mark.parametrize("container", MATRICES.values(), ids=MATRICES)
def test_every_matrix_container_means_the_same(container):
    predictions = Predictions(CODES, container(MATRIX))
    assert predictions.probs.tolist() == MATRIX
    assert predictions.labels.tolist() == CODES
    assert predictions.n_classes == 3


@pytest.mark.parametrize("container", LABEL_FORMS.values(), ids=LABEL_FORMS)
def test_every_form_of_labels_means_the_same(container):
    assert Predictions(container(CODES), MATRIX).labels.tolist() == CODES


@pytest.mark.parametrize("container", [*LABEL_FORMS.values()][:6], ids=[*LABEL_FORMS][:6])
def test_every_form_of_binary_labels_means_the_same(container):
    assert Predictions(container(LABELS), PROBS).labels.tolist() == LABELS


@pytest.mark.parametrize(
    "labels",
    [
        [False, True, True],
        np.array([False, True, True]),
        pd.Series([False, True, True]),
        pd.Series([False, True, True], dtype="boolean"),
        pl.Series([False, True, True]),
        pa.array([False, True, True]),
        np.array([False, True, True], dtype=object),
        [[1, 0], [0, 1], [0, 1]],
    ],
    ids=["list", "numpy", "pandas", "nullable", "polars", "arrow", "objects", "one-hot"],
)
def test_true_is_the_event(labels):
    assert Predictions(labels, PROBS).labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "names",
    [
        list("cab"),
        np.array(list("cab")),
        np.array(list("cab"), dtype=object),
        pd.Series(list("cab")),
        pd.Series(list("cab"), dtype=object),
        pd.Series(pd.Categorical(list("cab"))),
        pl.Series(list("cab")),
        pa.array(list("cab")),
        pa.chunked_array([["c"], ["a", "b"]]),
        pa.array(list("cab")).dictionary_encode(),
    ],
    ids=["list", "numpy", "objects", "pandas", "object series", "categorical", "polars", "arrow", "chunked", "dict"],
)
def test_class_names_follow_the_declared_order(names):
    predictions = Predictions(names, MATRIX, classes=["c", "b", "a"])
    assert predictions.labels.tolist() == [0, 2, 1]
    assert predictions.classes == ("c", "b", "a")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(MATRIX, columns=["c", "b", "a"]),
        pl.DataFrame(MATRIX, schema=["c", "b", "a"], orient="row"),
        pa.table([list(c) for c in zip(*MATRIX, strict=True)], names=["c", "b", "a"]),
    ],
    ids=["pandas", "polars", "arrow"],
)
def test_column_names_give_the_class_order(frame):
    predictions = Predictions(list("cab"), frame)
    assert predictions.classes == ("c", "b", "a")
    assert predictions.labels.tolist() == [0, 2, 1]


def test_numbered_columns_give_the_class_order():
    predictions = Predictions([30, 10], pd.DataFrame([[0.2, 0.3, 0.5]] * 2, columns=[30, 20, 10]))
    assert predictions.labels.tolist() == [0, 2]


def test_declared_classes_beat_column_names():
    predictions = Predictions(["a", "b"], pd.DataFrame([[0.2, 0.8]] * 2, columns=["a", "b"]), classes=["b", "a"])
    assert predictions.labels.tolist() == [1, 0]


def test_an_absent_class_is_fine():
    predictions = Predictions(["a", "a"], [[0.2, 0.3, 0.5]] * 2, classes=["a", "b", "c"])
    assert cal.binned_error(predictions, view="classwise").parts["classes"].n.tolist() == [2, 0, 0]


def test_a_binary_event_has_a_negative_and_a_positive_class():
    assert Predictions([-1, 1, 1], PROBS, classes=(-1, 1)).labels.tolist() == [0, 1, 1]
    assert Predictions(["no", "yes", "yes"], PROBS, classes=["no", "yes"]).labels.tolist() == [0, 1, 1]
    assert Predictions(["no", "yes", "yes"], PROBS, classes=["yes", "no"]).labels.tolist() == [1, 0, 0]


@given(st.data())
def test_every_accepted_spelling_means_the_same(data):
    plain = data.draw(some.exact_rows())
    other = data.draw(some.spelled(plain))
    a = Predictions(plain.labels, plain.probs, counts=plain.weights)
    b = Predictions(other.labels, other.probs, counts=other.weights)
    assert np.array_equal(a.probs, b.probs)
    assert np.array_equal(a.labels, b.labels)
    assert a.classes == b.classes


# What is refused. Each case: labels, probs, options, what the message must say.

NAN, INF = float("nan"), float("inf")

REFUSED = {
    "NaN in probs": (LABELS, [0.1, NAN, 0.3], {}, r"probs must be finite; probs\[1\] is nan\. Drop such rows"),
    "NaN in a matrix": (
        CODES,
        [[0.5, 0.5, 0.0], [NAN, 0.5, 0.5], [1, 0, 0]],
        {},
        r"probs must be finite; probs\[1, 0\] is nan",
    ),
    "infinity": (LABELS, [0.1, INF, 0.3], {}, r"probs must be finite; probs\[1\] is inf"),
    "minus infinity": (LABELS, [0.1, -INF, 0.3], {}, r"probs must be finite; probs\[1\] is -inf"),
    "above one": (LABELS, [0.1, 1.00001, 0.3], {}, r"probs must lie in \[0, 1\]; probs\[1\] is 1\.00001.*rounding.*clip"),
    "below zero": (LABELS, [0.1, -1e-9, 0.3], {}, r"probs must lie in \[0, 1\]; probs\[1\] is -1e-09.*rounding"),
    "percentages": (LABELS, [10, 55, 99.5], {}, r"probs must lie in \[0, 1\]; probs\[0\] is 10.*percentages: divide by 100"),
    "logits": (LABELS, [-3.2, 0.4, 7.0], {}, r"probs must lie in \[0, 1\]; probs\[0\] is -3\.2.*logits.*from_logits"),
    "logits in a matrix": (CODES, np.eye(3) * 9 - 4, {}, r"probs\[0, 0\] is 5\.0.*from_logits"),
    "row sums": (CODES, [[0.5, 0.5, 0.0], [0.5, 0.5, 0.5], [1, 0, 0]], {}, r"rows that sum to 1.*row 1 sums to 1\.5.*normalize=True"),
    "row of zeros": (CODES, [[0.5, 0.5, 0.0], [0, 0, 0], [1, 0, 0]], {"normalize": True}, r"cannot be normalised; row 1 is all zero"),
    "too few labels": ([0, 1], PROBS, {}, r"labels and probs must have as many rows; labels has 2, probs 3"),
    "label above": ([*LABELS[:2], 2], PROBS, {}, r"labels must be 0 or 1; labels\[2\] is 2.*classes=\(negative, positive\)"),
    "label below": ([-1, 1, 1], PROBS, {}, r"labels must be 0 or 1; labels\[0\] is -1.*classes="),
    "label above K": ([1, 2, 3], MATRIX, {}, r"labels must lie in 0 … 2, as probs has 3 columns; labels\[2\] is 3.*order of the columns"),
    "huge label": ([0, 1, 2**63], MATRIX, {}, r"labels must lie in 0 … 2.*9\.22"),
    "empty": ([], [], {}, r"probs must hold at least one row; it is empty, with shape \(0,\)"),
    "empty matrix": ([], np.empty((0, 3)), {}, r"probs must hold at least one row; it is empty, with shape \(0, 3\)"),
    "empty labels": ([], PROBS, {}, r"labels must hold at least one row; it is empty"),
    "no columns": (LABELS, np.empty((3, 0)), {}, r"probs must hold at least one row; it is empty, with shape \(3, 0\)"),
    "three dimensions": (LABELS, np.zeros((3, 2, 2)), {}, r"probs must have shape \(n,\) or \(n, K\); it has shape \(3, 2, 2\)"),
    "a number": (1, 0.5, {}, r"probs must be an array, a list or a column; it is a float"),
    "a number as labels": (1, PROBS, {}, r"labels must be an array, a list or a column; it is a int"),
    "a fraction as labels": (0.5, PROBS, {}, r"labels must "),
    "a generator": (LABELS, (p for p in PROBS), {}, r"probs must "),
    "a set": (LABELS, {0.1, 0.2, 0.3}, {}, r"probs must "),
    "a dict": (LABELS, {"a": 0.1}, {}, r"probs must "),
    "labels of three dimensions": (np.zeros((3, 1, 2)), PROBS, {}, r"labels must have shape .*it has shape \(3, 1, 2\)"),
    "None as probs": (LABELS, None, {}, r"probs is required"),
    "None as labels": (None, PROBS, {}, r"labels is required; it is None"),
    "complex": (LABELS, [0.1 + 0j, 0.2, 0.3], {}, r"probs must hold numbers.*dtype is complex128"),
    "dates": (np.array(["2020", "2021", "2022"], dtype="M8[Y]"), PROBS, {}, r"labels must hold numbers or class names.*dtype is datetime64"),
    "masked": (LABELS, np.ma.array(PROBS, mask=[0, 1, 0]), {}, r"probs must not be a masked array.*Drop or fill"),
    "masked labels": (np.ma.array(LABELS, mask=[0, 1, 0]), PROBS, {}, r"labels must not be a masked array"),
    "None among probs": (LABELS, [0.1, None, 0.3], {}, r"probs must not hold missing values; probs\[1\] is None"),
    "None among labels": ([0, None, 1], PROBS, {}, r"labels must not hold missing values; labels\[1\] is None"),
    "None among names": (["a", None, "b"], PROBS, {"classes": ["a", "b"]}, r"labels must not hold missing values; labels\[1\] is None"),
    "None in one-hot": ([[1, 0, 0], [0, None, 1], [0, 0, 1]], MATRIX, {}, r"labels must "),
    "NA": (LABELS, pd.Series([0.1, pd.NA, 0.3], dtype=object), {}, r"probs must not hold missing values; probs\[1\] is <NA>"),
    "NA among labels": (pd.Series([0, None, 1], dtype="Int64"), PROBS, {}, r"labels must (not hold missing values; labels\[1\] is|be finite; labels\[1\] is nan)"),
    "null in Polars": (LABELS, pl.Series([0.1, None, 0.3]), {}, r"probs must (be finite; probs\[1\] is nan|not hold missing)"),
    "null in Arrow": (LABELS, pa.array([0.1, None, 0.3]), {}, r"probs must (be finite; probs\[1\] is nan|not hold missing)"),
    "null in Arrow labels": (pa.array([0, None, 1]), PROBS, {}, r"labels must (be finite; labels\[1\] is nan|not hold missing)"),
    "null in Arrow names": (pa.array(["a", None, "b"]), PROBS, {"classes": ["a", "b"]}, r"labels must not hold missing values; labels\[1\]"),
    "null in pandas names": (pd.Series(["a", None, "b"]), PROBS, {"classes": ["a", "b"]}, r"labels must not hold missing values; labels\[1\]"),
    "NaN labels": ([0, NAN, 1], PROBS, {}, r"labels must be finite; labels\[1\] is nan"),
    "ragged": (LABELS, [[0.5, 0.5], [1.0], [0.2, 0.8]], {}, r"probs must be a regular array; its rows have different lengths"),
    "ragged labels": ([[0, 1], [1]], [[0.5, 0.5]] * 2, {}, r"labels must be a regular array"),
    "ragged pandas": (LABELS, pd.Series([[0.5, 0.5], [1.0], [0.2, 0.8]]), {}, r"probs must be a regular array"),
    "text": (LABELS, ["low", "mid", "high"], {}, r"probs must hold numbers; it holds .*low"),
    "swapped": (PROBS, LABELS, {}, r"labels must be classes; labels\[0\] is 0\.25\. Labels come first: did you swap labels and probs\?$"),
    "swapped matrix": (MATRIX, CODES, {}, r"labels must be classes; labels\[0, 0\] is 0\.5.*did you swap"),
    "fractions as labels": ([0, 0.5, 1], PROBS, {}, r"labels must be classes; labels\[1\] is 0\.5.*look like probabilities.*soft=True"),
    "fractions as objects": (np.array([0, 0.5, 1], dtype=object), PROBS, {}, r"labels must be classes; labels\[1\] is 0\.5"),
    "names without classes": (["no", "yes", "yes"], PROBS, {}, r"labels holds names; labels\[0\] is no.*classes=\(negative, positive\).*model\.classes_"),
    "names without classes, matrix": (list("abc"), MATRIX, {}, r"labels holds names; labels\[0\] is a.*classes=classes\), the classes in the order of the columns"),
    "unknown name": (list("abz"), MATRIX, {"classes": list("abc")}, r"labels must be among the classes 'a', 'b', 'c'; labels\[2\] is 'z'"),
    "name unknown to the frame": (list("abz"), pd.DataFrame(MATRIX, columns=list("abc")), {}, r"labels\[2\] is '?z|among the classes 'a', 'b', 'c'"),
    "number for a name": ([0, 1, 2], MATRIX, {"classes": list("abc")}, r"labels must be among the classes 'a', 'b', 'c'; labels\[0\] is 0"),
    "mixed names": (np.array(["a", 1, "b"], dtype=object), MATRIX, {"classes": list("abc")}, r"labels must be (of one kind|among the classes)"),
    "duplicate classes": (list("aab"), MATRIX, {"classes": ["a", "b", "a"]}, r"classes must be distinct; 'a' occurs twice"),
    "duplicate columns": (list("aab"), pd.DataFrame(MATRIX, columns=["a", "b", "a"]), {}, r"distinct|twice"),
    "too many classes": (CODES, MATRIX, {"classes": list("abcd")}, r"classes must hold 3 classes as probs has columns; it holds 4"),
    "three classes for an event": (LABELS, PROBS, {"classes": [0, 1, 2]}, r"classes must hold 2 classes \(negative, positive\); it holds 3"),
    "classes in a set": (list("abc"), MATRIX, {"classes": {"a", "b", "c"}}, r"classes must "),
    "a number as classes": (CODES, MATRIX, {"classes": 3}, r"classes must "),
    "nested classes": (CODES, MATRIX, {"classes": [[0], [1], [2]]}, r"classes must "),
    "two ones": ([[1, 1, 0], [0, 1, 0], [0, 0, 1]], MATRIX, {}, r"labels must be one-hot if it has several columns; row 0 is \[1, 1, 0\].*class indices"),
    "no one": ([[1, 0, 0], [0, 0, 0], [0, 0, 1]], MATRIX, {}, r"labels must be one-hot.*row 1 is \[0, 0, 0\]"),
    "one-hot of text": ([["1", "0", "0"]] * 3, MATRIX, {}, r"labels must "),
    "one-hot of another width": (np.eye(4, dtype=int)[:3], MATRIX, {}, r"labels must have 3 columns if one-hot; it has 4"),
    "negative weight": (LABELS, PROBS, {"weights": [1, -2, 1]}, r"weights must not be negative; weights\[1\] is -2\.0"),
    "NaN weight": (LABELS, PROBS, {"weights": [1, NAN, 1]}, r"weights must be finite; weights\[1\] is nan"),
    "infinite weight": (LABELS, PROBS, {"weights": [1, INF, 1]}, r"weights must be finite; weights\[1\] is inf"),
    "missing weight": (LABELS, PROBS, {"weights": [1, None, 1]}, r"weights must not hold missing values; weights\[1\] is None"),
    "zero weights": (LABELS, PROBS, {"weights": [0, 0, 0]}, r"weights must not all be zero"),
    "few weights": (LABELS, PROBS, {"weights": [1, 2]}, r"weights must hold one number per row, 3 in all; its shape is \(2,\)"),
    "one weight": (LABELS, PROBS, {"weights": 1.0}, r"weights must "),
    "weights in two columns": (LABELS, PROBS, {"weights": np.ones((3, 2))}, r"weights must hold one number per row, 3 in all; its shape is \(3, 2\)"),
    "weights too far apart": (LABELS, PROBS, {"weights": [1, 1e-101, 1]}, r"weights must not differ by more than a factor of 1e100; weights\[1\] is 1e-101"),
    "counts whose sum overflows": (LABELS, PROBS, {"counts": [1e308] * 3}, r"counts must sum to at most 1e\+15"),
    "negative count": (LABELS, PROBS, {"counts": [1, -1, 1]}, r"counts must not be negative; counts\[1\] is -1"),
    "half a count": (LABELS, PROBS, {"counts": [1, 0.5, 1]}, r"counts must be whole numbers of rows; counts\[1\] is 0\.5. Pass weights="),
    "NaN count": (LABELS, PROBS, {"counts": [1, NAN, 1]}, r"counts must be finite; counts\[1\] is nan"),
    "zero counts": (LABELS, PROBS, {"counts": [0, 0, 0]}, r"counts must not all be zero"),
    "few counts": (LABELS, PROBS, {"counts": [1, 2]}, r"counts must hold one number per row, 3 in all; its shape is \(2,\)"),
    "no weight where counted": (LABELS, PROBS, {"counts": [1, 0, 0], "weights": [0, 1, 1]}, r"weights must not all be zero"),
    "few groups": (LABELS, PROBS, {"groups": ["a", "b"]}, r"groups must hold one value per row, 3 in all; its shape is \(2,\)"),
    "a missing group": (LABELS, PROBS, {"groups": ["a", None, "b"]}, r"groups must not hold missing values; groups\[1\] is None. Drop such rows, or give each"),
    "NaN as a group": (LABELS, PROBS, {"groups": [1.0, 2.0, np.nan]}, r"groups must not hold missing values; groups\[2\] is nan"),
    "NaN among names of groups": (LABELS, PROBS, {"groups": pd.Series(["a", "b", np.nan])}, r"groups\[2\] is nan"),
    "NA as a group": (LABELS, PROBS, {"groups": pd.array([1, pd.NA, 2])}, r"groups\[1\] is (<NA>|nan)"),
    "NaT as a group": (LABELS, PROBS, {"groups": np.array([pd.NaT, 1, 2], dtype=object)}, r"groups\[0\] is NaT"),
    "groups of several kinds": (LABELS, PROBS, {"groups": np.array([1, "a", 2], dtype=object)}, r"groups must be of one kind; groups\[1\] is 'a' and groups\[0\] is 1. Pass strings or integers"),
    "groups without an order": (LABELS, PROBS, {"groups": np.array([{}, {}, {}])}, r"groups must be of one kind; groups\[0\] is {}"),
    "groups in two columns": (LABELS, PROBS, {"groups": [["a", "b"]] * 3}, r"groups must hold one value per row, 3 in all; its shape is \(3, 2\)"),
    "soft above one": ([0, 0.5, 1.5], PROBS, {"soft": True}, r"labels must lie in \[0, 1\]; labels\[2\] is 1\.5"),
    "soft NaN": ([0, NAN, 1], PROBS, {"soft": True}, r"labels must be finite; labels\[1\] is nan"),
    "soft vector for a matrix": ([0, 0.5, 1], MATRIX, {"soft": True}, r"labels must have 3 columns of shares if soft=True"),
    "soft matrix for a vector": (MATRIX, PROBS, {"soft": True}, r"labels must have one column of shares if soft=True"),
    "soft rows off": ([[0.5, 0.2, 0.2]] * 3, MATRIX, {"soft": True}, r"labels must have rows that sum to 1.*row 0 sums to 0\.9"),
    "soft of another width": ([[0.25] * 4] * 3, MATRIX, {"soft": True}, r"labels must have 3 columns of shares if soft=True"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused(case):
    labels, probs, options, text = case
    with pytest.raises(InputError, match=text):
        Predictions(labels, probs, **options)


LOGITS_REFUSED = {
    "NaN": ([0, 1], [NAN, 1.0], {}, r"logits must be finite; logits\[0\] is nan"),
    "minus infinity": ([0, 1], [[0.0, -INF], [1.0, 2.0]], {}, r"logits must be finite; logits\[0, 1\] is -inf"),
    "lengths": ([0, 1, 1], [0.0, 1.0], {}, r"labels and logits must have as many rows; labels has 3, logits 2"),
    "label above K": ([0, 2], [[0.0, 1.0]] * 2, {}, r"labels must lie in 0 … 1, as logits has 2 columns; labels\[1\] is 2"),
    "swapped": ([0.3, -1.2], [0, 1], {}, r"labels must be classes; labels\[0\] is 0\.3"),
    "three dimensions": ([0], np.zeros((1, 1, 2)), {}, r"logits must have shape"),
    "None": ([0], None, {}, r"logits is required; it is None"),
}  # fmt: skip


@pytest.mark.parametrize("case", LOGITS_REFUSED.values(), ids=LOGITS_REFUSED)
def test_refused_as_logits(case):
    labels, logits, options, text = case
    with pytest.raises(InputError, match=text):
        Predictions.from_logits(labels, logits, **options)


def test_an_input_error_is_a_value_error_and_names_its_argument():
    with pytest.raises(ValueError, match="probs must lie") as caught:
        Predictions([0], [1.5])
    assert isinstance(caught.value, cal.CalibrantError)
    assert caught.value.argument == "probs"


@given(
    st.sampled_from(["set", "dict", "generator", "object", "str", "bytes", "number", "bool", "function"]), st.booleans()
)
def test_things_that_are_no_arrays_are_refused_in_our_words(what, as_labels):
    things = {
        "set": {1, 2},
        "dict": {1: 2},
        "generator": iter([1, 2]),
        "object": object(),
        "str": "ab",
        "bytes": b"ab",
        "number": 1.5,
        "bool": True,
        "function": len,
    }
    with pytest.raises(InputError, match=r"^(labels|probs) "):
        Predictions(things[what], [0.1, 0.2]) if as_labels else Predictions([0, 1], things[what])


def test_normalize_divides_each_row_by_its_sum():
    predictions = Predictions([0, 1], [[1, 0.5], [0.25, 0.75]], normalize=True)
    assert predictions.probs.tolist() == [[2 / 3, 1 / 3], [0.25, 0.75]]


def test_normalize_leaves_rows_that_sum_to_one_as_they_are():
    good = np.array([[0.1, 0.9], [0.3, 0.7]])
    assert np.array_equal(Predictions([0, 1], good, normalize=True).probs, good)


@given(some.matrices())
def test_normalized_rows_sum_to_one(predictions):
    scaled = predictions.probs * predictions.probs.dtype.type(0.5)
    normalised = Predictions(predictions.labels, scaled, normalize=True).probs
    assert normalised.dtype == predictions.probs.dtype
    assert np.abs(normalised.sum(axis=1, dtype=float) - 1).max() < 8 * np.finfo(normalised.dtype).eps
    assert normalised.max() <= 1


def test_row_sums_may_be_off_by_rounding():
    assert Predictions([0], np.full((1, 3), 1 / 3, dtype=np.float16)).n == 1  # sums to 0.99976
    assert Predictions([0], np.full((1, 3), 0.33331)).n == 1


LOW = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def rounded(rows, name):
    """Rows in the numbers of a type of low precision, as float32."""
    if name == "float16":
        return rows.astype(np.float16).astype(np.float32)
    bits = np.ascontiguousarray(rows, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOW)
@pytest.mark.parametrize("n_classes", [2, 5, 100, 1000])
def test_softmax_rows_of_low_precision_sum_to_one_within_their_own_rounding(rng, name, n_classes):
    """The sum and the quotient rounded to the type, and the exponential of rounded logarithms."""
    logits = rng.normal(size=(2000, n_classes)) * 3
    powers = rounded(np.exp(logits - logits.max(axis=1, keepdims=True)), name)
    divided = rounded(powers / rounded(powers.sum(axis=1, keepdims=True), name), name)
    logs = rounded(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), name)
    labels = np.zeros(2000, int)
    for rows in (divided, rounded(np.exp(logs), name)):
        off = np.abs(rows.sum(axis=1, dtype=float) - 1).max()
        assert off > 1e-4
        said = Predictions(labels, rows)
        assert np.array_equal(said.probs, rows)  # nothing is normalised
        assert cal.ece(said).n == 2000
        assert cal.recalibrate(said, "identity").apply(said).n == 2000
        assert cal.recalibrate(said, "identity").apply(rows).shape == rows.shape
        with pytest.raises(InputError, match=r"rows that sum to 1 \(within 0.0001\)"):
            Predictions(labels, rows.astype(np.float64))


@pytest.mark.parametrize("name", LOW)
def test_rows_off_by_more_than_the_rounding_of_low_precision_are_refused(name):
    rows = rounded(np.array([[0.1, 0.2, 0.3, 0.15, 0.25]]), name)
    tolerance = LOW[name] / 2 * (1 + np.log2(5))
    for scale in (1 + 2 * tolerance, 1 - 2 * tolerance):
        with pytest.raises(InputError, match=rf"sum to 1 \(within {tolerance:.2g}\); row 0 sums to"):
            Predictions([0], rounded(rows * scale, name))
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        Predictions([0], np.array([[1 + LOW[name], 0.0]], np.float32))


def test_five_classes_in_float16():
    rows = np.array([[0.2, 0.2, 0.2, 0.2, 0.2007]], dtype=np.float16)
    assert rows.sum(dtype=float) == 1.00048828125
    assert Predictions([0], rows).probs.dtype == np.float32
    assert Predictions([[0.2, 0.2, 0.2, 0.2, 0.2]], rows, soft=True).n == 1
    assert Predictions(rows, rows, soft=True).soft
    with pytest.raises(InputError, match="sum to 1"):
        Predictions([0], rows.astype(np.float32) + np.float32(1e-5))


def test_bfloat16_of_numpy_comes_in():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rows = np.array([[0.1, 0.2, 0.3, 0.15, 0.25]]).astype(ml_dtypes.bfloat16)
    assert Predictions([0], rows).probs.dtype == np.float32
    for name in ("float8_e5m2", "float8_e4m3fn"):
        with pytest.raises(InputError, match=f"probs must hold numbers or class names; its dtype is {name}"):
            Predictions([0, 1], np.array([0.25, 0.5]).astype(getattr(ml_dtypes, name)))


@pytest.mark.parametrize("n_classes", [2, 10, 1000, 20_000])
def test_float32_rows_of_a_softmax_sum_to_one(rng, n_classes):
    logits = rng.normal(size=(3, n_classes)).astype(np.float32) * 5
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    assert Predictions([0, 0, 0], shares / shares.sum(axis=1, keepdims=True)).n == 3


def test_negative_zero_is_zero():
    assert cal.ece([0, 1], [-0.0, 1.0]).value == 0
    assert cal.binned_error([0, 1, 0], [-0.0, 1.0, 0.0], bins=cal.EqualMass(2)).value == 0


def test_torch_tensors_come_in():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        predictions = Predictions(torch.tensor(CODES), torch.tensor(MATRIX, dtype=dtype, requires_grad=True))
        assert predictions.probs.tolist() == MATRIX
        assert predictions.labels.tolist() == CODES
    assert Predictions(torch.tensor([False, True]), torch.tensor([0.25, 0.5])).probs.dtype == np.float32
    assert cal.ece(torch.tensor([0, 1]), torch.tensor([0.25, 0.5]), counts=torch.tensor([1, 2])).n == 3


def test_softmax_of_tensors_in_low_precision_comes_in():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    logits = torch.randn(500, 5) * 3
    for dtype in (torch.float16, torch.bfloat16):
        rows = torch.softmax(logits.to(dtype), dim=1)
        assert (rows.double().sum(dim=1) - 1).abs().max() > 1e-4
        assert Predictions(torch.zeros(500, dtype=int), rows).n == 500
        with pytest.raises(InputError, match="sum to 1"):
            Predictions(torch.zeros(500, dtype=int), rows * 0.9)


def test_a_list_of_tensors_is_a_column():
    torch = pytest.importorskip("torch")
    probs = [torch.tensor(p, requires_grad=True) for p in PROBS]
    assert Predictions(LABELS, probs).probs.tolist() == PROBS
    assert Predictions(CODES, [torch.tensor(row, requires_grad=True) for row in MATRIX]).probs.tolist() == MATRIX


@pytest.mark.filterwarnings("ignore")  # torch announces that some of these are deprecated or new
def test_tensors_that_cannot_be_read_are_refused_in_our_words():
    torch = pytest.importorskip("torch")
    column = torch.tensor([0.25, 0.5, 0.75])
    odd = {
        "meta": torch.zeros(3, device="meta"),
        "sparse": column.to_sparse(),
        "rows": torch.eye(3).to_sparse_csr(),
        "float8": column.to(torch.float8_e4m3fn),
        "quantized": torch.quantize_per_tensor(column, 0.01, 0, torch.quint8),
        "complex": column.to(torch.complex64),
        "conjugate": column.to(torch.complex64).conj(),
        "nested": torch.nested.nested_tensor([column, column[:2]]),
        "scalar": column[0],
        "meta in a list": [torch.zeros((), device="meta")] * 3,
    }
    for name, tensor in odd.items():
        for arguments in ((LABELS, tensor), (tensor, PROBS)):
            with pytest.raises(InputError, match=r"^(probs|labels) must (be an array|hold numbers)"):
                Predictions(*arguments)
        for mass in ("counts", "weights"):
            with pytest.raises(InputError, match=rf"^{mass} must"):
                cal.ece(LABELS, PROBS, **{mass: tensor})
        assert name


@pytest.mark.parametrize("chunked", [True, False])
def test_a_missing_category_of_arrow_is_not_another_category(chunked):
    column = pa.array(["a", None, "b"]).dictionary_encode()
    labels = pa.chunked_array([column]) if chunked else column
    with pytest.raises(InputError, match=r"labels\[1\] is None"):
        cal.Predictions(labels, [0.1, 0.2, 0.3], classes=["a", "b"])


def test_only_arrow_is_asked_to_copy():
    class Column:
        """As of Polars 1.0, which warns where the option is given."""

        def to_numpy(self, *, zero_copy_only=None):
            assert zero_copy_only is None
            return np.array([0.2, 0.8])

    np.testing.assert_array_equal(arrays._unwrap(Column()), [0.2, 0.8])
    assert cal.ece(pa.array([0, 1]), pa.chunked_array([[0.2], [0.8]])).value == pytest.approx(0.2)


PLAIN_LABELS = (np.bool_, np.int8, np.uint8, np.int16, np.int64, np.uint64)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", PLAIN_LABELS)
def test_plain_arrays_pass_the_door_as_they_pass_all_checks(rng, dtype, precision):
    labels, probs = (rng.random(60) < 0.5).astype(dtype)[::3], rng.random(60).astype(precision)[::3]
    short, full = plain_event(labels, probs), Predictions.borrowed(labels, probs)
    assert type(short) is Predictions
    for name in Predictions.held + Predictions.told:
        one, other = getattr(short, name), getattr(full, name)
        assert type(one) is type(other)
        assert np.array_equal(one, other)
        assert not isinstance(one, np.ndarray) or (one.dtype == other.dtype and not one.flags.writeable)
    assert labels.flags.writeable
    assert probs.flags.writeable


@pytest.mark.parametrize(
    ("labels", "probs"),
    [
        (np.array([0, 2]), np.array([0.5, 0.5])),
        (np.array([0, -1]), np.array([0.5, 0.5])),
        (np.array([0, 1]), np.array([0.5, 1.5])),
        (np.array([0, 1]), np.array([0.5, np.nan])),
        (np.array([0, 1]), np.array([-1e-9, 0.5])),
        (np.array([0, 1]), np.array([0.5])),
        (np.array([], dtype=int), np.array([])),
        (np.array([0.0, 1.0]), np.array([0.5, 0.5])),
        (np.array([0, 1]), np.array([0.5, 0.5], dtype=">f8")),
        (np.array([0, 1], dtype=">i4"), np.array([0.5, 0.5])),
        (np.array([0, 1]), np.array([[0.5, 0.5]] * 2)),
        ([0, 1], np.array([0.5, 0.5])),
    ],
)
def test_all_other_arrays_go_through_all_checks(labels, probs):
    assert plain_event(labels, probs) is None
