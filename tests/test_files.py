"""Reading predictions from files, and writing recalibrated ones."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import csv, feather, parquet

import calibrant as cal
from calibrant import InputError
from calibrant.files import Columns, choose, read, read_forecasts, read_predicted, read_with_columns, write
from calibrant.files.arrow import MANY_TEXTS, to_numpy
from calibrant.files.formats import open_store
from tolerances import ROUNDING

CLASSES = ("cat", "cow", "dog")
TABLES = ["csv", "tsv", "csv.gz", "parquet", "pq", "arrow", "feather", "ipc", "jsonl", "ndjson", "jsonl.gz"]
ENDINGS = [*TABLES, "npz"]


def save(path: Path, columns: dict[str, Any]) -> Path:
    """Columns in the format of the path's ending, written without calibrant."""
    if path.suffix == ".npz":
        np.savez(path, **{name: np.asarray(values) for name, values in columns.items()})
        return path
    lists = {name: list(v) if np.ndim(v) == 2 else v for name, v in columns.items()}
    table = pa.table({name: pa.array(values) for name, values in lists.items()})
    if path.suffix in (".parquet", ".pq"):
        parquet.write_table(table, path)
    elif path.suffix in (".arrow", ".feather", ".ipc"):
        feather.write_feather(table, str(path))
    else:
        text = io.BytesIO()
        if "json" in path.name:
            text.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
        else:
            csv.write_csv(table, text, csv.WriteOptions(delimiter="\t" if ".tsv" in path.name else ","))
        path.write_bytes(gzip.compress(text.getvalue()) if path.suffix == ".gz" else text.getvalue())
    return path


def text(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def probs(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.dirichlet([1, 1, 1], 120)


@pytest.fixture
def labels(rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.integers(0, 3, 120)


def family(probs: NDArray[Any], prefix: str = "prob_") -> dict[str, NDArray[Any]]:
    return {f"{prefix}{name}": probs[:, k] for k, name in enumerate(CLASSES)}


# Formats


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_same_numbers(tmp_path, labels, probs, ending):
    path = save(tmp_path / f"predictions.{ending}", {"label": labels, **family(probs)})
    found = cal.Predictions.read(path)
    assert float(cal.ece(found)) == pytest.approx(float(cal.ece(labels, probs)), abs=ROUNDING)
    assert found.classes == CLASSES
    assert np.array_equal(found.labels, labels)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl", "npz"])
def test_a_column_of_lists_is_a_matrix(tmp_path, labels, probs, ending):
    found = read(save(tmp_path / f"p.{ending}", {"y_true": labels, "probs": probs}))
    assert np.array_equal(found.probs, probs)


@pytest.mark.parametrize("tensor", [False, True])
def test_a_column_of_fixed_size_lists_is_a_matrix(tmp_path, labels, probs, tensor):
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), 3)
    column = pa.FixedShapeTensorArray.from_numpy_ndarray(probs) if tensor else fixed
    parquet.write_table(pa.table({"label": labels, "probs": column}), tmp_path / "p.parquet")
    assert np.array_equal(read(tmp_path / "p.parquet").probs, probs)


def test_an_arrow_stream_reads_as_an_arrow_file(tmp_path, labels, probs):
    table = pa.table({"label": labels, "note": ["x"] * 120, **family(probs)})
    with pa.OSFile(str(tmp_path / "p.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    assert np.array_equal(read(tmp_path / "p.arrow").probs, probs)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "npz"])
def test_single_precision_stays(tmp_path, labels, probs, ending):
    predicted = family(np.log(probs).astype(np.float32), "logit_")
    found = read(save(tmp_path / f"p.{ending}", {"label": labels, **predicted}))
    assert found.logits is not None
    assert found.logits.dtype == np.float32


@pytest.mark.parametrize("ending", ENDINGS)
def test_other_columns_are_not_read(tmp_path, labels, probs, ending):
    store = open_store(save(tmp_path / f"p.{ending}", {"label": labels, "p": probs[:, 0], "other": probs[:, 1]}))
    loaded = store.load(["p"], [])
    assert list(getattr(loaded, "column_names", loaded)) == ["p"]


@pytest.mark.parametrize("kind", ["dictionary", "large_string", "string_view", "binary"])
def test_text_labels_read_alike_however_they_are_stored(tmp_path, kind):
    names = ["no", "yes", "yes"]
    stored = pa.array(names).dictionary_encode() if kind == "dictionary" else pa.array(names, getattr(pa, kind)())
    table = pa.table({"label": stored, "p": [0.2, 0.7, 0.9]})
    feather.write_feather(
        table, str(tmp_path / "p.arrow"), compression="uncompressed"
    )  # of views it crashes pyarrow 18
    assert read(tmp_path / "p.arrow", classes="no,yes").labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("values", "kind"),
    [([k % 7 for k in range(40)], kind) for kind in (pa.int8(), pa.uint16(), pa.int64(), pa.float32(), pa.float64())]
    + [([k % 3 == 0 for k in range(40)], pa.bool_()), ([f"class {k % 4}" for k in range(40)], pa.string())],
    ids=lambda each: str(each) if isinstance(each, pa.DataType) else "",
)
def test_values_of_a_column_are_those_of_its_buffers_wherever_it_begins(values, kind):
    whole = pa.array(values, kind)
    for first, last in ((0, 40), (3, 29), (8, 9), (11, 11)):
        for column in (
            whole.slice(first, last - first),
            pa.chunked_array([whole[first:last], whole[:5]])[: last - first],
        ):
            found = to_numpy(column, "a")
            expected = np.array(values[first:last], dtype=object if kind == pa.string() else kind.to_pandas_dtype())
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)


def test_many_different_texts_are_read_as_few():
    texts = [f"row {k}" for k in range(MANY_TEXTS + 1)]
    assert to_numpy(pa.array(texts), "a").tolist() == texts


def test_decimals_are_numbers(tmp_path):
    decimals = pa.array([0.25, 0.75]).cast(pa.decimal128(10, 4))
    parquet.write_table(pa.table({"label": [0, 1], "p": decimals}), tmp_path / "p.parquet")
    assert read(tmp_path / "p.parquet").probs.tolist() == [0.25, 0.75]


def test_text_with_line_breaks_and_commas_does_no_harm(tmp_path):
    path = text(tmp_path / "p.csv", "label,prompt,p", '1,"say ""hi"",', 'then stop",0.8', "0,plain,0.3")
    assert read(path).probs.tolist() == [0.8, 0.3]


def test_a_byte_order_mark_is_skipped(tmp_path):
    (tmp_path / "p.csv").write_bytes(b"\xef\xbb\xbflabel,p\r\n1,0.5\r\n0,0.25\r\n")
    assert read(tmp_path / "p.csv").probs.tolist() == [0.5, 0.25]


# Which columns?


@pytest.mark.some(5)
@pytest.mark.parametrize(
    "label", ["label", "labels", "y", "y_true", "Target", "TRUTH", "outcome", "class", "correct", " label"]
)
@pytest.mark.parametrize(
    "predicted", ["p", "prob", "Probs", "probability", "y_prob", "conf", "Confidence", "prob_1", "p1"]
)
def test_columns_are_found_by_name_whatever_the_case(label, predicted):
    assert choose(["id", label, predicted], "f") == Columns((predicted,), label=label)


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["prob_0", "prob_1", "prob_2"], ("0", "1", "2")),
        (["p_0", "p_1"], ("0", "1")),
        (["p0", "p1", "p2"], ("0", "1", "2")),
        (["probs_cat", "probs_dog"], ("cat", "dog")),
        (["proba_new_york", "proba_new_delhi"], ("new_york", "new_delhi")),
        (["Prob_Cat", "Prob_Dog"], ("Cat", "Dog")),
        (["prob.a", "prob.b"], ("a", "b")),
    ],
)
def test_families_of_columns_name_their_classes(names, classes):
    assert choose(["label", *names], "f") == Columns(tuple(names), classes=classes, label="label")


def test_numbered_columns_are_taken_in_the_order_of_counting():
    names = [f"logit_{k}" for k in (0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9)]
    found = choose([*names, "label"], "f")
    assert found.predicted == tuple(f"logit_{k}" for k in range(12))
    assert found.logits


def test_words_that_begin_alike_are_no_family():
    assert choose(["label", "problem", "p_value", "probs"], "f").predicted == ("probs",)


def test_probabilities_are_preferred_to_logits_and_logits_to_confidences():
    assert choose(["label", "logits", "probs", "conf"], "f").predicted == ("probs",)
    assert choose(["label", "logits", "conf", "pred"], "f") == Columns(("logits",), logits=True, label="label")


def test_groups_are_found_weights_only_if_asked_for():
    names = ["label", "p", "Weight", "group"]
    assert choose(names, "f") == Columns(("p",), label="label", groups="group", unused_weights="Weight")
    assert choose(names, "f", weights="weight") == Columns(("p",), label="label", weights="Weight", groups="group")
    assert choose(names, "f", weights="none", groups="none") == Columns(("p",), label="label")


@pytest.mark.parametrize(
    ("given", "predicted", "classes"),
    [
        ("out_a", ("out_a",), None),
        ("OUT_A", ("out_a",), None),
        ("out_b,out_a", ("out_b", "out_a"), ("b", "a")),
        (["out_b", "out_a"], ("out_b", "out_a"), ("b", "a")),
        ("out_", ("out_a", "out_b"), ("a", "b")),
        ("out", ("out_a", "out_b"), ("a", "b")),
        ("out_*", ("out_a", "out_b"), ("a", "b")),
        ("OUT_?", ("out_a", "out_b"), ("a", "b")),
        ("cat,dog", ("cat", "dog"), ("cat", "dog")),
        ("z1,z0", ("z1", "z0"), ("1", "0")),
        ("prob_cat,prob_cow", ("prob_cat", "prob_cow"), ("cat", "cow")),
    ],
)
def test_columns_are_given_by_name_list_prefix_or_pattern(given, predicted, classes):
    names = ["y", "out_a", "out_b", "cat", "dog", "z0", "z1", "prob_cat", "prob_cow"]
    found = choose(names, "f", probs=given)
    assert (found.predicted, found.classes) == (predicted, classes)


def test_declared_classes_put_named_columns_in_order(tmp_path):
    path = text(tmp_path / "p.csv", "label,prob_a,prob_b", "a,0.9,0.1", "b,0.2,0.8")
    found = read(path, classes="b,a")
    assert found.classes == ("b", "a")
    assert found.probs.tolist() == [[0.1, 0.9], [0.8, 0.2]]
    assert found.labels.tolist() == [1, 0]


def test_columns_describe_themselves():
    assert str(choose(["label", "p"], "f")) == "labels from 'label', probabilities from 'p'"
    names = ["y", "logit_a", "logit_b", "weight", "group"]
    expected = "labels from 'y', logits from 'logit_a' … 'logit_b', weights from 'weight', groups from 'group'"
    assert str(choose(names, "f", weights="weight")) == expected
    assert choose(names, "f", weights="weight").to_dict() == {
        "labels": "y",
        "logits": ["logit_a", "logit_b"],
        "predicted_class": None,
        "counts": None,
        "weights": "weight",
        "groups": "group",
    }
    names = ["y", "p", "n", "weight"]
    expected = "labels from 'y', probabilities from 'p', counts from 'n', weights from 'weight'"
    assert str(choose(names, "f", counts="n", weights="weight")) == expected
    assert str(choose(["y", "conf", "pred"], "f")) == "labels from 'pred' = 'y', probabilities from 'conf'"


# Labels


@pytest.mark.parametrize("labels", [["cat", "dog", "dog"], [0, 2, 2]])
def test_labels_are_class_names_or_positions(tmp_path, labels):
    predicted = family(np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6]]))
    found = read(save(tmp_path / "p.parquet", {"label": labels, **predicted}))
    assert found.labels.tolist() == [0, 2, 2]
    assert found.classes == CLASSES
    assert found.event("class dog").outcomes.tolist() == [0, 1, 1]


def test_numbered_classes_match_numbers_and_text(tmp_path):
    predicted = {"prob_1": [0.8, 0.3], "prob_2": [0.2, 0.7]}
    assert read(save(tmp_path / "a.parquet", {"label": [1, 2], **predicted})).classes == (1, 2)
    assert read(save(tmp_path / "b.parquet", {"label": ["1", "2"], **predicted})).classes == ("1", "2")
    for name in ("a", "b"):
        assert read(tmp_path / f"{name}.parquet").labels.tolist() == [0, 1]


def test_true_and_false_are_classes(tmp_path):
    path = text(tmp_path / "p.csv", "label,prob_False,prob_True", "true,0.2,0.8", "false,0.7,0.3")
    assert read(path).labels.tolist() == [1, 0]
    path = text(tmp_path / "q.csv", "correct,conf", "true,0.8", "false,0.3")
    assert read(path).labels.tolist() == [1, 0]


def test_names_of_a_single_event_need_a_negative_and_a_positive_class(tmp_path):
    path = text(tmp_path / "p.csv", "label,p", "spam,0.9", "ham,0.2")
    assert read(path, classes="ham,spam").labels.tolist() == [1, 0]
    assert read(path, classes=["spam", "ham"]).labels.tolist() == [0, 1]


@pytest.mark.parametrize("classes", ["-1,1", "-1.0,1.0", (-1, 1)])
def test_numbers_can_be_classes(tmp_path, classes):
    path = text(tmp_path / "p.csv", "label,p", "1,0.9", "-1,0.2")
    assert read(path, classes=classes).labels.tolist() == [1, 0]


def test_names_can_be_given_to_numbers(tmp_path):
    path = text(tmp_path / "p.csv", "label,p", "1,0.9", "0,0.2")
    found = read(path, classes="ham,spam")
    assert found.classes == ("ham", "spam")
    assert found.labels.tolist() == [1, 0]


@pytest.mark.parametrize("names", [[3, 1, 2], ["c", "a", "b"]])
def test_confidence_beside_a_predicted_class_asks_whether_it_is_right(tmp_path, names):
    path = save(
        tmp_path / "p.parquet", {"label": names, "pred": [names[0], names[0], names[2]], "conf": [0.9, 0.6, 0.7]}
    )
    found = read(path)
    assert found.labels.tolist() == [1, 0, 1]
    assert found.probs.tolist() == [0.9, 0.6, 0.7]


def test_a_column_called_correct_is_the_event_itself(tmp_path):
    path = save(tmp_path / "p.parquet", {"correct": [1, 0], "pred": [7, 7], "confidence": [0.9, 0.6]})
    assert read(path).labels.tolist() == [1, 0]


def test_one_hot_labels_and_shares_are_read(tmp_path, probs):
    hot = np.eye(3)[[0, 2]]
    found = read(save(tmp_path / "p.npz", {"labels": hot, "probs": probs[:2]}), classes="cat,cow,dog")
    assert found.labels.tolist() == [0, 2]
    assert found.classes == CLASSES
    path = text(tmp_path / "p.csv", "label,p", "0.25,0.5", "1,0.7")
    assert read(path, soft=True).labels.tolist() == [0.25, 1.0]


def test_weights_and_groups_reach_the_predictions(tmp_path):
    path = text(tmp_path / "p.csv", "label,p,weight,group", "1,0.5,2,a", "0,0.25,1,b")
    assert read(path).weights is None
    found = read(path, weights="weight")
    assert found.weights is not None
    assert found.weights == pytest.approx(np.array([2, 1]) * 3 / 5)
    counted = read(path, counts="weight")
    assert counted.weights is not None
    assert (counted.weights.tolist(), counted.n) == ([2, 1], 3)
    assert found.groups is not None
    assert found.groups.tolist() == ["a", "b"]


def test_rows_are_normalised_only_when_asked(tmp_path):
    path = text(tmp_path / "p.csv", "label,prob_a,prob_b", "a,2e-1,2e-1", "b,0.1,0.4")
    assert read(path, normalize=True).probs.tolist() == [[0.5, 0.5], [0.2, 0.8]]
    assert read_predicted(path, normalize=True).values.tolist() == [[0.5, 0.5], [0.2, 0.8]]


# What can go wrong


def refusal(error: type[Exception], path: Path, **columns: Any) -> str:
    with pytest.raises(error) as caught:
        read(path, **columns)
    return str(caught.value).replace(f"{path.parent}/", "")


@pytest.mark.parametrize(
    ("lines", "columns", "message"),
    [
        (
            ["truth_value,score", "1,0.5"],
            {"probs": "score"},
            "p.csv has no column that is named for the labels; it has 'truth_value', 'score'. Say which: label='NAME'.",
        ),
        (
            ["label,value", "1,0.5"],
            {},
            "p.csv has no column that is named for probabilities or logits; it has 'label', 'value'. "
            "Say which: probs='NAME', probs='PREFIX_*' or logits=.",
        ),
        (
            ["1,0.5", "0,0.25"],
            {},
            "p.csv has no column that is named for probabilities or logits; it has '1', '0.5'. "
            "The first line seems to hold data: add a header such as label,prob.",
        ),
        (["label,p,y", "1,0.5,1"], {}, "p.csv has several columns for label: 'label', 'y'. Say which: label='label'."),
        (["label,p,prob", "1,0,0"], {}, "p.csv has several columns for probs: 'p', 'prob'. Say which: probs='p'."),
        (
            ["label,prob_a,prob_b,p", "1,0,1,0"],
            {},
            "p.csv has several columns for probs: 'p', 'prob_a'. Say which: probs='p'.",
        ),
        (["label,P,p", "1,0,0"], {}, "p.csv has several columns for probs: 'P', 'p'. Say which: probs='P'."),
        (["label,p,p", "1,0,0"], {"probs": "p"}, "'p.csv' has several columns called 'p'. Rename all but one."),
        (["label,p"], {}, "cannot read 'p.csv': it holds no rows."),
        (
            ["label,p", "1"],
            {},
            "cannot read 'p.csv': row 0 (the first is 0) has 1 field and the header 2. Quote values that hold the separator.",
        ),
    ],
)
def test_a_file_that_does_not_fit_says_what_it_has_and_what_to_do(tmp_path, lines, columns, message):
    assert refusal(cal.FileError, text(tmp_path / "p.csv", *lines), **columns) == message


@pytest.mark.parametrize(
    ("lines", "columns", "message"),
    [
        (
            ["label,p", "1,0.5"],
            {"label": "why"},
            "label must name a column of p.csv; 'why' is not among 'label', 'p'.",
        ),
        (["label,p", "1,0.5"], {"probs": "q_*"}, "probs must name columns of p.csv; 'q_*' fits none of 'label', 'p'."),
        (["label,p", "1,0.5"], {"logits": "p,q"}, "logits must name columns of p.csv; 'q' fits none of 'label', 'p'."),
        (
            ["label,p", "1,0.5"],
            {"probs": "p", "logits": "p"},
            "probs and logits cannot both be given. Name the one to use.",
        ),
        (
            ["label,p", "1,0.5", "0,-7"],
            {},
            "p.csv: column 'p' must lie in [0, 1]; row 1 (the first is 0) is -7.0. If these are logits, pass logits='p'.",
        ),
        (
            ["label,prob_a,prob_b", "a,0.5,0.5", "b,0.5,-7"],
            {},
            "p.csv: columns 'prob_a' … 'prob_b' must lie in [0, 1]; row 1 (the first is 0) of 'prob_b' is -7.0. "
            "If these are logits, pass logits='prob_a,prob_b'.",
        ),
        (
            ["label,p", "1,0.5", "0,"],
            {},
            "p.csv: column 'p' must not hold missing values; row 1 (the first is 0) is empty. Fill them, or pass missing='drop'.",
        ),
        (
            ["label,p", "yes,0.5", ",0.5"],
            {"classes": "no,yes"},
            "p.csv: column 'label' must not hold missing values; row 1 (the first is 0) is empty. "
            "Fill them, or pass missing='drop'.",
        ),
        (
            ["label,p", "yes,0.5", "no,0.5"],
            {},
            "p.csv: column 'label' holds names; row 0 (the first is 0) is yes. "
            "Pass Predictions(labels, probs, classes=(negative, positive)) (scikit-learn: model.classes_).",
        ),
        (
            ["label,p", "yes,0.5", "maybe,0.5"],
            {"classes": "no,yes"},
            "p.csv: column 'label' must be among the classes 'no', 'yes'; row 1 (the first is 0) is 'maybe'.",
        ),
        (
            ["label,p", "yes,0.5"],
            {"classes": "no,yes,maybe"},
            "p.csv: classes must hold 2 classes (negative, positive); it holds 3.",
        ),
        (["label,p", "1,low", "0,high"], {}, "p.csv: column 'p' must hold numbers; row 0 (the first is 0) is 'low'."),
        (
            ["label,conf,pred", "cat,0.5,3"],
            {},
            "p.csv: column 'label' must hold classes as column 'pred' does; one holds 'cat', the other 3. "
            "Pass pred='none' if it is not the predicted class.",
        ),
        (
            ["label,p,weight", "1,0.5,-2"],
            {"weights": "weight"},
            "p.csv: column 'weight' must not be negative; row 0 (the first is 0) is -2.0.",
        ),
    ],
)
def test_values_that_cannot_be_used_are_named_by_column_and_row(tmp_path, lines, columns, message):
    assert refusal(cal.InputError, text(tmp_path / "p.csv", *lines), **columns) == message


def test_a_missing_entry_of_a_list_is_reported(tmp_path):
    path = text(tmp_path / "p.jsonl", '{"label": 0, "probs": [0.5, 0.5]}', '{"label": 0, "probs": [0.5, null]}')
    expected = "p.jsonl: column 'probs' must not hold missing values; row 1 (the first is 0) is empty. Fill them, or pass missing='drop'."
    assert refusal(cal.InputError, path) == expected


def test_lists_must_have_one_length(tmp_path):
    path = text(tmp_path / "p.jsonl", '{"label": 0, "probs": [0.5, 0.5]}', '{"label": 0, "probs": [1.0]}')
    expected = (
        "p.jsonl: column 'probs' must hold lists of one length; row 0 (the first is 0) has 2 numbers, row 1 has 1."
    )
    assert refusal(cal.InputError, path) == expected


def test_arrays_of_different_lengths_are_refused(tmp_path):
    path = save(tmp_path / "p.npz", {"label": [0, 1], "prob_a": [0.5, 0.5], "prob_b": [0.5, 0.5, 0.5]})
    expected = "p.npz: columns 'prob_a' … 'prob_b' must have as many rows in every column."
    assert refusal(cal.InputError, path) == expected


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "p.npz", labels=np.array([0, 1]), probs=np.array([{"a": 1}, None], dtype=object))
    assert refusal(cal.FileError, tmp_path / "p.npz").startswith("cannot read 'p.npz': Object arrays cannot be loaded")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", b"", "cannot read 'p.csv': it is empty."),
        ("p.csv", b"PAR1xxxx", "cannot read 'p.csv': it is not CSV; its first bytes are those of Parquet."),
        ("p.parquet", b"label,p\n", "cannot read 'p.parquet': it is not Parquet."),
        ("p.npz", b"label,p\n", "cannot read 'p.npz': it is not NPZ."),
        ("p.arrow", b"label,p\n", "cannot read 'p.arrow': it is not Arrow."),
        ("p.csv.gz", b"label,p\n", "cannot read 'p.csv.gz': it is not gzip."),
        ("p.npz", b"PK\x03\x04rest", "cannot read 'p.npz': it is damaged (File is not a zip file)"),
        (
            "p.jsonl",
            b"[1, 2]\n",
            "cannot read 'p.jsonl': JSON parse error: Column() changed from object to array in row 0",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused_in_a_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert refusal(cal.FileError, tmp_path / name) == message


@pytest.mark.parametrize("ending", ["parquet", "arrow", "npz"])
def test_half_a_file_is_refused(tmp_path, labels, probs, ending):
    path = save(tmp_path / f"p.{ending}", {"label": labels, **family(probs)})
    path.write_bytes(path.read_bytes()[:500])
    assert refusal(cal.FileError, path).startswith(f"cannot read 'p.{ending}': ")


def test_a_missing_file_a_folder_and_an_unknown_ending_are_refused(tmp_path):
    assert refusal(cal.FileError, tmp_path / "p.csv") == "cannot read 'p.csv': there is no such file"
    (tmp_path / "folder.csv").mkdir()
    assert refusal(cal.FileError, tmp_path / "folder.csv") == "cannot read 'folder.csv': Is a directory"
    message = refusal(cal.FileError, tmp_path / "p.xlsx")
    assert message.startswith("'p.xlsx' has no ending that tells its format. Use one of .csv, .tsv, .parquet")
    assert refusal(cal.FileError, tmp_path / "p.parquet.gz").startswith("'p.parquet.gz' has no ending")


def test_an_unknown_option_is_refused(tmp_path):
    with pytest.raises(TypeError, match="labels"):
        cal.Predictions.read(tmp_path / "p.csv", labels="y")


# Forecasts of a number: quantiles and samples

LEVELS = (0.05, 0.5, 0.95)


@pytest.fixture
def quantiles(rng: np.random.Generator) -> NDArray[np.float64]:
    return np.sort(rng.normal(size=(40, 3)), axis=1)


@pytest.mark.parametrize("ending", ENDINGS)
def test_quantiles_are_found_in_every_format(tmp_path, rng, quantiles, ending):
    labels, weights = rng.normal(size=40), rng.uniform(1, 2, 40)
    predicted = {"q95": quantiles[:, 2], "q05": quantiles[:, 0], "q50": quantiles[:, 1]}
    path = save(tmp_path / f"p.{ending}", {"y": labels, **predicted, "weight": weights, "group": ["a", "b"] * 20})
    found, columns = read_forecasts(path, weights="weight")
    assert isinstance(found, cal.regression.QuantileForecasts)
    assert found.levels.tolist() == list(LEVELS)
    for kept, meant in (
        (found.values, quantiles),
        (found.labels, labels),
        (found.weights / found.weights.sum(), weights / weights.sum()),
    ):
        np.testing.assert_allclose(kept, meant, rtol=1e-14)
    assert found.groups.tolist() == ["a", "b"] * 20
    predicted = "quantiles from 'q05' (0.05), 'q50' (0.5), 'q95' (0.95)"
    assert str(columns) == f"labels from 'y', {predicted}, weights from 'weight', groups from 'group'"


@pytest.mark.parametrize("ending", ENDINGS)
def test_samples_are_read_from_every_format(tmp_path, rng, ending):
    labels, drawn = rng.normal(size=30), rng.normal(size=(30, 11))
    members = {f"sample_{k}": drawn[:, k] for k in range(11)}
    path = save(tmp_path / f"p.{ending}", {"y": labels, **members, "sample_weight": np.full(30, 2.0)})
    found, columns = read_forecasts(path, samples="sample_*", weights="sample_weight")
    assert isinstance(found, cal.regression.SampleForecasts)
    np.testing.assert_allclose(found.samples, np.sort(drawn, axis=1), rtol=1e-15)
    assert columns.predicted == tuple(members)  # counted, and without the weights
    predicted = "samples from 'sample_0' … 'sample_10' (11 columns)"
    assert str(columns) == f"labels from 'y', {predicted}, weights from 'sample_weight'"


@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_samples_may_be_lists(tmp_path, rng, ending):
    drawn = rng.normal(size=(6, 4))
    path = save(tmp_path / f"p.{ending}", {"y": np.zeros(6), "draws": drawn})
    found, columns = read_forecasts(path, samples="draws")
    assert np.array_equal(found.samples, np.sort(drawn, axis=1))
    assert str(columns) == "labels from 'y', samples from 'draws'"
    drawn[4, 2] = np.nan
    save(path, {"y": np.zeros(6), "draws": drawn})
    with pytest.raises(
        cal.InputError, match=r"column 'draws' must be finite; row 4, place 2 \(the first is 0\) is nan"
    ):
        read_forecasts(path, samples="draws")


STATED = {
    "q0.05 q0.5 q0.95": LEVELS,
    "q05 q50 q95": LEVELS,
    "Q_05 q_50 q_95": LEVELS,
    "q5 q50 q95": LEVELS,
    "q_0.05 q_0.5 q_0.95": LEVELS,
    "quantile_0.05 quantile_0.5 quantile_0.95": LEVELS,
    "pred_q05 pred_q50 pred_q95": LEVELS,
    "p5 p50 p95": LEVELS,
    "p10 p50 p90": (0.1, 0.5, 0.9),
    "0.05 0.5 0.95": LEVELS,
    "5% 50% 95%": LEVELS,
    "0.5% 50% 99.5%": (0.005, 0.5, 0.995),
    "q.05 q.5 q.95": LEVELS,
    "q.0.05 q.0.5 q.0.95": LEVELS,
    "q2.5 q50 q97.5": (0.025, 0.5, 0.975),
    "q025 q50 q975": (0.025, 0.5, 0.975),
    "q025 q500 q975": (0.025, 0.5, 0.975),
    " ".join(f"p{k}" for k in range(1, 100)): tuple(k / 100 for k in range(1, 100)),
    " ".join(f"p{k}" for k in range(1, 13)): None,
    "q25 q5 q75": None,
    "q1 q2 q3": None,
    "p005 p050 p095": None,
    "q0 q50 q99": None,
    "q25 q50 q100": None,
    "q0.5 q50 q99.5": None,
    "q05 q5% q95": None,
}


@pytest.mark.parametrize("names", STATED)
def test_levels_are_read_from_names_in_one_way_or_not_at_all(tmp_path, names):
    path = text(tmp_path / "p.csv", ",".join(["y", *names.split()]), ",".join("1" for _ in ["y", *names.split()]))
    for options in ({}, {"quantiles": names.replace(" ", ",")}):
        if STATED[names] is not None:
            found, columns = read_forecasts(path, **options)
            assert tuple(found.levels) == STATED[names]
            assert columns.predicted == tuple(names.split())
        else:
            with pytest.raises(cal.InputError, match="must have names that state different levels between 0 and 1"):
                read_forecasts(path, **options)


GIVEN = {
    "text": "low=0.1,high=0.9",
    "text with spaces": "high = 0.9, low = 0.1",
    "list": ["low=0.1", "high=.9"],
    "mapping": {"high": 0.9, "low": 0.1},
    "some stated": ["high=0.9", "price_10%"],
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_levels_can_be_given(tmp_path, given):
    path = text(tmp_path / "p.csv", "y,high,low,price_10%", "1,3,1,1", "2,4,2,2")
    found, columns = read_forecasts(path, quantiles=given)
    assert found.values.tolist() == [[1, 3], [2, 4]]
    assert columns.levels == (0.1, 0.9)


def test_a_pattern_reads_levels_after_any_beginning(tmp_path):
    path = text(tmp_path / "p.csv", "q_price,price_q90,price_q10,other_q50", "1,3,1,7", "2,4,2,7")
    for pattern in ("price_q*", "price_", "PRICE_q[19]0"):
        found, columns = read_forecasts(path, label="q_price", quantiles=pattern)
        assert columns.predicted == ("price_q10", "price_q90")
        assert found.levels.tolist() == [0.1, 0.9]
    assert read_forecasts(path, label="q_price", quantiles="*q90")[1].predicted == ("price_q90",)


def test_many_quantiles_are_shown_by_their_ends(tmp_path):
    levels = [f"{k / 20:.2f}" for k in range(1, 20)]
    path = text(tmp_path / "p.csv", ",".join(["y", *(f"q{level}" for level in levels)]), ",".join(["0"] * 20))
    assert str(read_forecasts(path)[1]) == "labels from 'y', quantiles from 'q0.05' (0.05) … 'q0.95' (0.95)"


def test_a_mean_beside_quantiles_is_left(tmp_path):
    path = text(tmp_path / "p.csv", "y,mean,q05,q95", "1,1,0,2", "2,1,0,2")
    assert read_forecasts(path)[1].predicted == ("q05", "q95")


def test_unclear_columns_beside_a_mean_and_a_variance_are_left(tmp_path):
    path = text(tmp_path / "p.csv", "y,mean,var,q1,q2", "1,1,1,0,2", "2,1,1,0,2")
    assert str(read_forecasts(path)[1]) == "labels from 'y', mean from 'mean', variance from 'var'"


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        ("y,mu,sd,q05,q95", {}, r"both in .*Say which: quantiles='q05,q95' or mean='mu'\."),
        ("y,q05,q95,p10,p90", {}, r"one set of columns; .* has 'q05', 'q95' and 'p10', 'p90'\. Say which: quantiles="),
        (
            "y,q1,q2,a,b",
            {},
            r"'q1', 'q2', which can mean 0\.01, 0\.02 or 0\.1, 0\.2 or 0\.3\d+, 0\.6\d+\. Write the level of each, as in q",
        ),
        ("y,q05,q95,quarter,b", {"quantiles": "q*"}, r"has 'quarter'\. Write .* quantiles='quarter=LEVEL', or choose"),
        ("y,a,b,c,d", {"quantiles": "a=low,b=0.5"}, r"a level between 0 and 1; 'a' has 'low'\. Write 0\.05 for 5%\."),
        ("y,a,b,c,d", {"quantiles": "a=5,b=50"}, r"a level between 0 and 1; 'a' has '5'\. Write 0\.05 for 5%\."),
        ("y,a,b,c,d", {"quantiles": {"a": None}}, r"must have names that state"),
        ("y,a,b,c,d", {"quantiles": {"a": float("nan")}}, r"'a' has nan"),
        ("y,a,b,c,d", {"quantiles": "a=0.5,b=0.5"}, r"different levels; 'a' and 'b' are both at 0\.5\."),
        ("y,a,b,c,d", {"quantiles": "a=0.5,A=0.6"}, r"must name each column once; 'a' comes twice\."),
        ("y,a,b,c,d", {"quantiles": "a=0.5,e=0.6"}, r"quantiles must name columns of .*; 'e' fits none of"),
        ("y,a,b,c,d", {"quantiles": "z*"}, r"quantiles must name columns of .*; 'z\*' fits none of"),
        ("y,a,b,c,d", {"quantiles": {0.5: "a"}}, r"quantiles must name columns; it is \{0\.5: 'a'\}"),
        ("y,a,b,c,d", {"quantiles": 0.5}, r"quantiles must name columns; it is 0\.5"),
        ("y,a,b,c,d", {"samples": []}, r"samples must name columns; it is \[\]"),
        ("y,a,b,c,d", {"samples": "a,b,a"}, r"samples must name each column once; 'a' comes twice"),
        ("y,a,b,c,d", {"samples": "member_*"}, r"samples must name columns of .*; 'member_\*' fits none of"),
        ("y,a,b,c,d", {"samples": "a,y"}, r"samples must name columns of .*; 'y' fits none of 'a', 'b', 'c', 'd'"),
        ("y,a,b,c,d", {"samples": "a,b", "quantiles": "c=0.5"}, r"^quantiles and samples cannot both be given\."),
        ("y,a,b,c,d", {"samples": "a,b", "mean": "c"}, r"^samples and mean cannot both be given\. Name the one to use"),
        ("y,a,b,c,d", {"quantiles": "a=0.5", "std": "c"}, r"^quantiles and std cannot both be given\."),
        ("a,b,c,d,e", {"samples": "a,b"}, r"no column that is named for the labels; .* Say which: label='NAME'\."),
        (
            "y,a,b,c,d",
            {},
            r"named for the mean or for quantiles; .* mean='NAME', quantiles='NAMES' or samples='NAMES'\.",
        ),
    ],
)
def test_columns_of_forecasts_that_are_not_clear_are_refused(tmp_path, header, options, message):
    path = text(tmp_path / "p.csv", header, "1,1,2,3,4", "2,1,2,3,4")
    with pytest.raises((cal.InputError, cal.FileError), match=message):
        read_forecasts(path, **options)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q50": [1.0, None]}, r"column 'q50' must not hold missing values; row 1 \(the first is 0\) is empty\."),
        ({"q50": [1.0, np.inf]}, r"column 'q50' must be finite; row 1 \(the first is 0\) is inf\."),
        ({"q50": ["one", "two"]}, r"column 'q50' must hold numbers; it holds 'one' and the like"),
        (
            {"q50": [1.0, -3.0]},
            r"columns 'q05' … 'q95' must not fall from one level to the next; row 1 \(the first is 0\) has 0\.0 in 'q05' "
            r"and -3\.0 in 'q50'\. Sort the quantiles of each row if you agree\.",
        ),
        ({"y": [1.0, None]}, r"column 'y' must not hold missing values; row 1 \(the first is 0\) is empty\."),
        ({"y": [1.0, np.inf]}, r"column 'y' must be finite; row 1 \(the first is 0\) is inf\."),
        ({"weight": [1.0, -1.0]}, r"column 'weight' must not be negative; row 1 \(the first is 0\) is -1\.0\."),
    ],
)
def test_values_of_quantiles_are_named_by_column_and_row(tmp_path, ending, change, message):
    columns = {"y": [1.0, 2.0], "q05": [0.0, 0.0], "q50": [1.0, 1.0], "q95": [2.0, 2.0], **change}
    path = save(tmp_path / f"p.{ending}", columns)
    with pytest.raises(cal.InputError, match=rf"p\.{ending}: {message}"):
        read_forecasts(path, weights="weight" if "weight" in change else None)


def test_values_of_samples_are_named_by_column_and_row(tmp_path):
    path = save(tmp_path / "p.parquet", {"y": [1.0, 2.0], "m1": [0.0, 1.0], "m2": [1.0, np.nan]})
    with pytest.raises(cal.InputError, match=r"column 'm2' must be finite; row 1 \(the first is 0\) is nan"):
        read_forecasts(path, samples="m*")
    path = save(tmp_path / "p.npz", {"y": [1.0, 2.0], "m1": [0.0, 1.0], "m2": [1.0, 2.0, 3.0]})
    with pytest.raises(
        cal.InputError, match=r"column 'm2' must hold one number per row, 2 in all; its shape is \(3,\)"
    ):
        read_forecasts(path, samples="m*")
    path = save(tmp_path / "q.npz", {"y": [1.0, 2.0], "q05": np.zeros((2, 3)), "q95": [1.0, 2.0]})
    with pytest.raises(
        cal.InputError, match=r"column 'q05' must hold one number per row, 2 in all; its shape is \(2, 3\)"
    ):
        read_forecasts(path)


# Back into a file


@pytest.mark.some(3)
@pytest.mark.parametrize("target", ENDINGS)
@pytest.mark.parametrize("source", ["csv", "parquet", "jsonl", "npz"])
def test_repaired_files_keep_all_other_columns(tmp_path, probs, source, target):
    others = {"id": np.arange(120), "note": np.array(["a", "b, c"] * 60)}
    path = save(tmp_path / f"p.{source}", {**others, **family(probs), "label": np.zeros(120, int)})
    output = tmp_path / f"out.{target}"
    write(output, read_predicted(path), probs[:, ::-1])
    found, columns = read_with_columns(output, groups="note", counts="id")
    assert np.array_equal(found.probs, probs[:, ::-1])
    assert columns.predicted == ("prob_cat", "prob_cow", "prob_dog")
    assert found.groups is not None
    assert found.groups.tolist() == ["a", "b, c"] * 60
    assert found.weights is not None
    assert found.weights.tolist() == list(range(120))
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["logit_cat", "logit_cow", "logit_dog"], ["prob_cat", "prob_cow", "prob_dog"]),
        (["logits_0", "logits_1", "logits_2"], ["probs_0", "probs_1", "probs_2"]),
        (["z_a", "z_b", "z_c"], ["prob_a", "prob_b", "prob_c"]),
    ],
)
def test_columns_of_logits_become_columns_of_probabilities(tmp_path, probs, before, after):
    columns = {"id": range(120)} | {name: probs[:, k] for k, name in enumerate(before)} | {"last": range(120)}
    path = save(tmp_path / "p.parquet", columns)
    write(tmp_path / "out.parquet", read_predicted(path, logits=",".join(before)), probs)
    assert parquet.read_schema(tmp_path / "out.parquet").names == ["id", *after, "last"]


@pytest.mark.parametrize(("before", "after"), [("logits", "probs"), ("logit", "prob"), ("z", "prob")])
def test_one_column_of_logits_becomes_one_of_probabilities(tmp_path, before, after):
    path = save(tmp_path / "p.npz", {"x": [1, 2], before: [0.5, -0.5]})
    write(tmp_path / "out.npz", read_predicted(path, logits=before), np.array([0.6, 0.4]))
    with np.load(tmp_path / "out.npz") as stored:
        assert {name: stored[name].tolist() for name in stored.files} == {"x": [1, 2], after: [0.6, 0.4]}


def test_old_probabilities_beside_the_logits_are_replaced(tmp_path):
    path = save(tmp_path / "p.parquet", {"prob": [0.1, 0.2], "logit": [0.5, -0.5]})
    write(tmp_path / "out.parquet", read_predicted(path, logits="logit"), np.array([0.6, 0.4]))
    assert parquet.read_table(tmp_path / "out.parquet").to_pydict() == {"prob": [0.6, 0.4]}


def test_lists_become_columns_in_csv(tmp_path, probs):
    path = save(tmp_path / "p.parquet", {"label": np.zeros(120, int), "probs": probs})
    write(tmp_path / "out.csv", read_predicted(path, classes="cat,cow,dog"), probs)
    found, columns = read_with_columns(tmp_path / "out.csv")
    assert columns.predicted == ("probs_cat", "probs_cow", "probs_dog")
    assert np.array_equal(found.probs, probs)


def test_text_that_looks_like_a_number_is_kept_from_csv_to_csv(tmp_path):
    path = text(tmp_path / "p.csv", "id,when,p,note", "007,2024-01-02,0.5,plain", '08,,0.25,"a, ""b"""')
    write(tmp_path / "out.csv", read_predicted(path), np.array([0.6, 0.4]))
    expected = ["id,when,p,note", "007,2024-01-02,0.6,plain", '08,,0.4,"a, ""b"""']
    assert (tmp_path / "out.csv").read_text().splitlines() == expected


def test_what_a_format_cannot_hold_is_refused(tmp_path, probs):
    path = save(tmp_path / "p.parquet", {"p": probs[:, 0], "vector": probs})
    with pytest.raises(
        cal.InputError, match=r"column 'vector' holds lists, which CSV cannot\. Write \.parquet instead"
    ):
        write(tmp_path / "out.csv", read_predicted(path), probs[:, 0])
    parquet.write_table(pa.table({"p": [0.5, 0.5], "day": [{"a": 1}, {"a": 2}]}), tmp_path / "q.parquet")
    with pytest.raises(cal.InputError, match=r"column 'day' cannot be stored in NPZ\. Write \.parquet instead"):
        write(tmp_path / "out.npz", read_predicted(tmp_path / "q.parquet"), np.array([0.5, 0.5]))
    path = save(tmp_path / "p.npz", {"probs": probs, "cube": np.zeros((120, 2, 2))})
    with pytest.raises(cal.InputError, match=r"array 'cube' has no place in a table; its shape is \(120, 2, 2\)"):
        write(tmp_path / "out.parquet", read_predicted(path), probs)
    path = save(tmp_path / "r.parquet", {"p": [0.5, 0.5], "x": [1.0, np.nan]})
    with pytest.raises(cal.FileError, match=r"cannot write '.*out\.jsonl': Out of range float values"):
        write(tmp_path / "out.jsonl", read_predicted(path), np.array([0.5, 0.5]))
    assert not list(tmp_path.glob("*out*"))


def test_nothing_is_overwritten_unless_asked(tmp_path):
    path = text(tmp_path / "p.csv", "p", "0.5", "0.25")
    predicted = read_predicted(path)
    with pytest.raises(cal.FileError, match=r"p\.csv' exists already\. Choose another name, or pass overwrite=True\."):
        write(path, predicted, np.array([0.6, 0.4]))
    write(path, predicted, np.array([0.6, 0.4]), overwrite=True)
    assert path.read_text() == "p\n0.6\n0.4\n"


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    predicted = read_predicted(text(tmp_path / "p.csv", "p", "0.5", "0.25"))
    with pytest.raises(
        cal.FileError, match=r"cannot write the file of predictions '.*none/p\.csv': there is no such folder"
    ):
        write(tmp_path / "none" / "p.csv", predicted, np.array([0.6, 0.4]))


@pytest.mark.slow
def test_importing_calibrant_loads_no_file_library():
    code = "import calibrant, calibrant.files, sys; print([m for m in ('pyarrow', 'pandas', 'click', 'rich') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["prob_0", "p_0", "logit_0", "prob_no", "prob_False"])
def test_a_lone_column_of_the_negative_class_is_refused(tmp_path, name):
    path = tmp_path / "one.csv"
    path.write_text(f"label,{name}\n0,0.25\n1,0.5\n")
    with pytest.raises(
        InputError, match=rf"one\.csv: column '{name}' must be the column of 1; '{name}' is named after 0"
    ):
        cal.read(path)
    flipped = cal.read(path, classes="1,0") if name != "prob_no" else None
    assert flipped is None or flipped.labels.tolist() == [1, 0]


def test_a_lone_column_of_the_first_declared_class_is_refused(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("label,prob_cat\ncat,0.25\ndog,0.5\n")
    with pytest.raises(InputError, match=r"must be the column of 'dog'; 'prob_cat' is named after 'cat'"):
        cal.read(path, classes="cat,dog")
    assert cal.read(path, classes="dog,cat").labels.tolist() == [1, 0]


def test_half_precision_in_a_file_is_read_to_its_own_rounding(tmp_path):
    rows = np.full((4, 3), 1 / 3, np.float16)
    np.savez(tmp_path / "half.npz", label=[0, 1, 2, 0], probs=rows)
    assert cal.read(tmp_path / "half.npz").probs.dtype == np.float32


def test_confidences_are_known_as_such(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("label,pred,conf\n1,1,0.9\n0,1,0.8\n")
    assert cal.read(path).is_confidence
    assert "Mean confidence 85.0 %, accuracy 50.0 %" in cal.diagnose(cal.read(path)).verdict
    path.write_text("correct,confidence\n1,0.9\n0,0.8\n")
    assert cal.read(path).is_confidence
    path.write_text("label,prob\n1,0.9\n0,0.8\n")
    assert not cal.read(path).is_confidence
