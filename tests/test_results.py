"""What is handed back: records that print, travel and cannot be changed."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import MapError
from calibrant.results import BinTable, Estimate, Interval, Record, Table, number, p_cell, p_words

FOUND = cal.ece([0, 1, 1], [0.2, 0.7, 0.9])
RECORDS = {
    "estimate": FOUND,
    "infinite": cal.log_score([1, 0], [0.0, 0.5]),
    "classes": cal.binned_error(cal.Predictions(["a", "b"], [[0.5, 0.5]] * 2, classes=["a", "b"]), view="classwise"),
    "interval": Interval(-math.inf, 1.0, 0.9, "by hand"),
    "diagnosis": cal.diagnose([0, 1, 1], [0.2, 0.7, 0.9]),
    "comparison": cal.compare(cal.Predictions([0, 1], [0.2, 0.7]), cal.Predictions([0, 1], [0.1, 0.8])),
    "map": cal.recalibrate(cal.example()[0], "temperature"),
    "table": Table("t", ("a", "b"), ((1, 2.5), ("x", math.nan)), "note"),
}
each = pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)


@each
def test_records_survive_as_json(record):
    again = type(record).from_json(record.to_json())
    assert again == record
    assert hash(again) == hash(record)
    assert repr(again) == repr(record)
    assert Record.from_data(record.to_data()) == record


@each
def test_records_survive_pickling_and_copying(record):
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == record


@each
def test_records_cannot_be_changed(record):
    name = next(iter(record.to_data().keys() - {"kind"}))
    with pytest.raises(FrozenInstanceError, match=name):
        setattr(record, name, None)


def test_parts_and_settings_cannot_be_changed():
    with pytest.raises(TypeError, match="item assignment"):
        FOUND.settings["norm"] = 2
    with pytest.raises(TypeError, match="item assignment"):
        FOUND.parts["bins"] = None
    with pytest.raises(ValueError, match="read-only"):
        FOUND.parts["bins"].weight[0] = 5


def test_an_estimate_is_its_value():
    assert float(FOUND) == FOUND.value
    assert isinstance(FOUND.value, float)


def test_an_estimate_prints_in_a_line():
    text = repr(FOUND)
    assert text.startswith("ECE 0.2000 (n = 3; binary; 15 equal-width bins; ")
    assert text.endswith("expected if calibrated)")


def test_html_is_escaped():
    nasty = Estimate("x", "<script>", 1.0, 1, cautions=("<b>",))
    assert "<script>" not in nasty._repr_html_()
    assert "<b>b" not in nasty._repr_html_().replace("<b>&lt;", "")
    assert "<i>" not in Table("<i>", ("<i>",), (("<i>",),), "<i>").to_html()


def test_equal_records_have_equal_hashes():
    a, b = (Interval(zero, 1.0, 0.9, "") for zero in (0.0, -0.0))
    assert a == b
    assert hash(a) == hash(b)
    whole, real = (Estimate("x", "x", 1.0, n) for n in (1, 1.0))
    assert (whole == real) <= (hash(whole) == hash(real))


def test_records_of_different_kinds_differ():
    assert FOUND.to_data() != FOUND
    assert RECORDS["interval"] != FOUND


def test_a_record_of_another_kind_is_refused():
    with pytest.raises(MapError, match=r"this is a saved Interval, not a Estimate|not an Estimate"):
        Estimate.from_json(RECORDS["interval"].to_json())
    with pytest.raises(MapError, match="object of no kind"):
        Estimate.from_data({})
    with pytest.raises(MapError, match="unknown kind of record: 'Spaceship'"):
        Record.from_data({"kind": "Spaceship"})
    with pytest.raises(MapError, match="this is not JSON"):
        Estimate.from_json("{")


def test_intervals_contain_their_ends():
    interval = Interval(0.1, 0.2, 0.95, "by hand")
    assert 0.1 in interval
    assert 0.2 in interval
    assert 0.3 not in interval
    assert repr(interval) == "[0.1000, 0.2000] at 95% (by hand)"


def test_tables_line_up():
    text = Table("Title", ("name", "value"), (("a", 0.5), ("longer", 12345.6)), "a note").to_text().splitlines()
    assert text == ["Title", "name    value", "──────  ──────", "a       0.5000", "longer  12,346", "a note"]


def test_the_gap_of_a_bin_is_prediction_less_rate():
    table = BinTable([0], [1], [2], [0.75], [0.5])
    assert table.gap.tolist() == [0.25]
    assert repr(table) == "BinTable(1 bins)" or repr(table) == "BinTable(1 bin)"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (math.inf, "inf"), (math.nan, "nan"), (0.0, "0.0000"), (0.12345, "0.1235"), (-1.5, "-1.5000"), (3e-7, "3e-07"), (123.456, "123.46"), (1234567.0, "1,234,567")],
)  # fmt: skip
def test_numbers_for_people(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("p", "least", "text"),
    [
        (0.043, 0.0, "p = 0.0430"),
        (0.0, 0.0, "p < 0.001"),
        (0.0004, 0.0005, "p < 0.001"),
        (0.001, 0.001, "p ≤ 0.001"),
        (0.0, 0.01, "p ≤ 0.01"),
        (0.02, 0.01, "p = 0.0200"),
        (1.0, 0.01, "p = 1.0000"),
    ],
)
def test_p_values_for_people(p, least, text):
    assert p_words(p, least) == text
    assert p_cell(p, least) == text.removeprefix("p ").removeprefix("= ")
    assert p_cell(None) == "–"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_for_people_are_short(value):
    assert len(number(value)) <= 420  # the largest floats have 309 digits and their commas


@given(st.lists(st.floats(), max_size=5))
def test_any_float_survives(values):
    table = Table("t", tuple("abcde"[: len(values)]), (tuple(values),))
    assert Table.from_json(table.to_json()) == table


@pytest.mark.parametrize(
    "label", [np.datetime64("2020-01-01").item(), np.str_("a"), np.int64(3), 2.5, True, ("a", 1)], ids=str
)
def test_any_class_label_survives(label):
    other = (
        "other" if isinstance(label, str) else type(label)() if not hasattr(label, "year") else label.replace(year=2021)
    )
    table = cal.results.ClassTable((label, other), [0.1, 0.2], [1, 2])
    assert cal.results.ClassTable.from_json(table.to_json()) == table


def test_classes_are_shown_in_a_table():
    table = cal.results.ClassTable(("cat", "<dog>"), [0.125, 0.25], [1200, 7.5], [0.1, 0.2], [0.2, 0.3])
    assert repr(table).splitlines() == [
        "Class by class",
        "class  value   interval         rows",
        "─────  ──────  ───────────────  ─────",
        "cat    0.1250  0.1000 … 0.2000  1,200",
        "<dog>  0.2500  0.2000 … 0.3000  7.5",
    ]
    assert "<td>&lt;dog&gt;</td><td class='number'>0.2500</td>" in table._repr_html_()
    many = repr(cal.results.ClassTable(range(60), np.zeros(60), np.ones(60)))
    assert many.splitlines()[1].split() == ["class", "value", "rows"]
    assert many.endswith("10 more classes")


def test_what_waits_to_be_read_is_that_of_the_rows_as_they_were():
    labels, probs = np.array([0, 1, 1, 0, 1] * 8), np.linspace(0.05, 0.95, 40)
    at_once, later = cal.brier_score(labels, probs), cal.brier_score(labels, probs)
    interval, binned = at_once.interval, cal.ece(labels, probs)
    floor = cal.ece(labels, probs).noise_floor
    probs[:] = 0.5
    labels[:] = 0
    assert later.interval == interval
    assert later.cautions == at_once.cautions
    assert binned.noise_floor == floor
    assert Estimate.from_json(later.to_json()) == at_once
    with pytest.raises(FrozenInstanceError):
        later.interval = None


def test_the_level_of_an_interval_that_waits_is_checked_at_once():
    with pytest.raises(cal.InputError, match="level"):
        cal.brier_score([0, 1], [0.2, 0.7], level=2)
