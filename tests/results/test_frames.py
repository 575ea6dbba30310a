"""Tables, bins, curves and answers as data frames."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.results import ClassTable, Table, to_frame
from results.every_answer import ANSWERS

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
ROWS = {"comparisons": 2, "bias grid": 4}
PER_ROW = {"audit": "segments", "validation": "criteria"} | dict.fromkeys(
    ("diagnosis", "diagnosis of classes", "forecasts", "answers"), "estimates"
)


@pytest.mark.some(3)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_a_frame(name, library):
    frame = ANSWERS[name].to_frame(library)
    assert isinstance(frame, LIBRARIES[library])
    rows = getattr(ANSWERS[name], PER_ROW[name]) if name in PER_ROW else range(ROWS.get(name, 1))
    assert len(frame) == len(rows)


@pytest.mark.some(3)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ANSWERS)
def test_every_table_is_a_frame(name, library):
    for table in ANSWERS[name].tables():
        frame = table.to_frame(library)
        assert len(frame) == len(table.rows)
        names = frame.column_names if library == "pyarrow" else frame.columns
        assert tuple(names) == table.columns


def test_estimates_are_rows():
    frame = ANSWERS["diagnosis"].to_frame().set_index("key")
    assert frame.index.tolist() == list(ANSWERS["diagnosis"].keys())
    ece, gap = ANSWERS["diagnosis"]["ece"], ANSWERS["diagnosis"]["mean_gap"]
    assert frame.loc["ece", ["title", "value", "noise_floor", "n"]].tolist() == [
        "ECE",
        ece.value,
        ece.noise_floor,
        ece.n,
    ]
    assert frame.loc["mean_gap", ["low", "high", "level"]].tolist() == [gap.interval.low, gap.interval.high, 0.95]
    assert np.isnan(frame.loc["ece", "low"])
    pd.testing.assert_frame_equal(to_frame(ANSWERS["diagnosis"].estimates), ANSWERS["diagnosis"].to_frame())


def test_tests_and_segments_are_rows():
    test = ANSWERS["test"].to_frame()
    assert test.loc[0, ["key", "p_value"]].tolist() == ["is_calibrated_test", ANSWERS["test"].p_value]
    segments = ANSWERS["audit"].to_frame()
    worst = ANSWERS["audit"].segments[0]
    columns = ["name", "n", "gap", "low", "high", "adjusted", "verdict"]
    expected = [worst.name, worst.n, worst.gap, worst.interval.low, worst.interval.high, worst.adjusted, worst.verdict]
    assert segments.loc[0, columns].tolist() == expected


def test_bins_curves_and_classes_are_rows():
    bins = ANSWERS["diagnosis"].bins.to_frame()
    assert bins.columns.tolist() == ["low", "high", "weight", "mean_prob", "label_rate", "gap"]
    np.testing.assert_array_equal(bins["gap"], ANSWERS["diagnosis"].bins.gap)
    curve = ANSWERS["diagnosis"].curve.to_frame("polars")
    assert curve.columns == ["x", "y", "low", "high", "support"]
    assert len(curve) == len(ANSWERS["diagnosis"].curve.x)
    assert ANSWERS["plan"].curve.to_frame("pyarrow").column_names == ["x", "y"]
    classes = ClassTable(("a", 3), [0.1, 0.2], [5, 6]).to_frame("polars")
    assert classes.to_dict(as_series=False) == {"class": ["a", "3"], "values": [0.1, 0.2], "n": [5, 6]}
    levels = ANSWERS["answers"].levels.to_frame()
    assert levels["adjusted"].tolist() == ANSWERS["answers"].levels.adjusted.tolist()


def test_a_column_has_one_type():
    frame = Table("t", ("a", "b", "c"), ((1, 2.5, None), ("x", 3, 0.5))).to_frame("polars")
    assert frame.to_dict(as_series=False) == {"a": ["1", "x"], "b": [2.5, 3.0], "c": [None, 0.5]}


def test_other_libraries_are_refused(monkeypatch):
    with pytest.raises(cal.InputError, match="library must be one of 'pandas', 'polars', 'pyarrow'; it is 'excel'"):
        ANSWERS["diagnosis"].to_frame("excel")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(cal.MissingExtra, match=r"needs polars. Install it with: pip install 'calibrant\[polars\]'"):
        ANSWERS["diagnosis"].to_frame("polars")
