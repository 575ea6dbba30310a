"""Numbers in tables, as people read them."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.results.tables import number, row_count


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
