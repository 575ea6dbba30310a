from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from calibrant.report.lines import cumulative_svg, forest_svg, line_svg, places
from calibrant.results import Line


def drawn(text: str) -> ET.Element:
    return ET.fromstring(text)


def ticks(svg: ET.Element) -> list[str]:
    return [each.text for each in svg.iter("text") if "tick middle" in each.get("class", "")]


def test_a_crowded_line_is_drawn_by_log_odds():
    even, crowded = np.linspace(0.01, 0.99, 50), 1 - np.logspace(-1, -5, 50)
    sums = np.linspace(0.001, 0.1, 50)
    assert ticks(drawn(cumulative_svg(Line(even, sums), title="t", key="k"))) == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert "0.99" in ticks(drawn(cumulative_svg(Line(crowded, sums), title="t", key="k")))


def test_the_worst_stretch_is_shaded():
    line = Line(np.linspace(0, 1, 11), np.linspace(0, 0.1, 11))
    svg = drawn(cumulative_svg(line, title="t", key="k", stretch=(0.2, 0.7)))
    (band,) = [each for each in svg.iter("rect") if each.get("class") == "band"]
    grid = [float(each.get("x1")) for each in svg.iter("line") if each.get("x1") == each.get("x2")]
    assert float(band.get("width")) == pytest.approx(0.5 * (max(grid) - min(grid)), rel=1e-3)


@pytest.mark.parametrize("sums", [[0.0, 0.0], [-0.1, -0.2], [1e-9, 2e-9]])
def test_any_running_sum_is_drawn(sums):
    assert "nan" not in cumulative_svg(Line([0.2, 0.4], sums), title="t", key="k")


def test_power_is_drawn_up_to_one_and_names_its_points():
    svg = drawn(line_svg(Line([0.0, 0.1], [0.05, 0.9]), "true error", "power", title="t", key="k"))
    assert [each.text for each in svg.iter("text") if each.get("class") == "numbers middle"] == [
        "true error 0.0000, power 0.0500",
        "true error 0.1000, power 0.9000",
    ]
    assert line_svg(Line([5.0], [0.1]), "rows", "width", title="t", key="k")


def test_places_go_from_end_to_end():
    line = Line(np.arange(1000.0), np.arange(1000.0))
    found = places(line)
    assert (found[0][0], found[-1][0], len(found)) == (0, 999, 25)


def test_intervals_that_exclude_0_are_coloured_and_names_are_text():
    rows = [("<b>", 0.1, 0.05, 0.15), ("even", 0.0, -0.1, 0.1), ("low", -0.2, -0.3, -0.1), ("bare", 0.05, None, None)]
    svg = drawn(forest_svg(rows, "gap", title="t", key="k"))
    assert [each.get("class") for each in svg.iter("circle")] == ["dot over", "dot even", "dot under", "dot even"]
    assert "<b>" in [each.text for each in svg.iter("text")]
    wide = forest_svg([("a" * 80, 0.0, float("-inf"), float("inf"))], "gap", title="t", key="k")
    assert "inf" not in "".join(each.get("x1", "") + each.get("x2", "") for each in drawn(wide).iter("line"))
