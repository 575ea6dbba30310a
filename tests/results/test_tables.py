"""Numbers in tables, as people read them."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.results import BinTable, Curve, Table
from calibrant.results.tables import bin_rows, gap_cell, number, row_count


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0.0, "0"),
        (17.0, "17"),
        (12_345_678.0, "12,345,678"),
        (88.4746, "88.5"),
        (1234.04, "1,234.0"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_of_rows(n, text):
    assert row_count(n) == text


def test_weighted_bins_show_one_digit():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    [table] = [
        table
        for table in cal.diagnose(rng.random(200) < p, p, weights=rng.random(200)).tables()
        if table.title == "Bin by bin"
    ]
    assert all(len(row[1].split(".")[1]) == 1 for row in table.rows)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00001234, "1.23e-05"), (0.5, "0.5000"), (123456.7, "123,457"), (4.2367e152, "4.24e+152"), (-2e12, "-2e+12")],
)
def test_numbers_for_people(value, text):
    assert number(value) == text


def test_a_probability_below_one_is_not_written_as_one():
    assert [number(v) for v in (0.99994, 0.99996, 1 - 2e-7, 1 - 1e-12, 1.0, -0.99998)] == [
        "0.9999",
        "0.99996",
        "0.9999998",
        "1.0000",
        "1.0000",
        "-0.99998",
    ]


def test_gaps_have_four_decimals_and_no_negative_zero():
    assert [gap_cell(v) for v in (-3.6e-07, 9.76e-05, -0.0123, 0.25)] == ["0.0000", "0.0001", "-0.0123", "0.2500"]


def test_infinity_is_a_number():
    assert Table("", ("value", "text"), ((float("inf"), "inf."), (-0.5, "a"))).numeric() == [True, False]


def test_limits_of_narrow_bins_differ():
    low, high = np.array([0.0, 0.2, 0.9999]), np.array([0.0002, 0.8, 1.0])
    half, nothing = np.full(3, 0.5), np.full(3, np.nan)
    bins = BinTable(low, high, np.ones(3), half, half)
    shown = bin_rows(bins, Curve(half, half, nothing, nothing, np.ones(3)))
    assert [row[0] for row in shown.rows] == ["0.000 – 0.0002", "0.200 – 0.800", "0.9999 – 1.000"]
