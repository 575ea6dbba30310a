from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import calibrant as cal
from calibrant.report.plane import TOP, WIDTH, Plane
from calibrant.report.svg import LEFT, SIDE, reliability_svg, rows_svg, value_range
from calibrant.results import Curve


@pytest.fixture
def curve() -> Curve:
    return Curve([0.2, 0.9], [0.3, 0.6], [0.1, 0.5], [0.5, 0.7], [0.25, 0.75])


def test_points_lie_where_the_curve_says(curve):
    bins = cal.binned_error([0, 1, 1], [0.1, 0.3, 0.9]).parts["bins"]
    svg = ET.fromstring(reliability_svg({"": {"": curve}}, bins=bins, title="t", key="k", scales=["linear"]))
    plane = Plane(LEFT, TOP, SIDE, SIDE)
    dots = svg.findall(".//circle")
    assert [float(d.get("cx")) for d in dots] == pytest.approx([plane.x(x) for x in curve.x], abs=0.01)
    assert [float(d.get("cy")) for d in dots] == pytest.approx([plane.y(y) for y in curve.y], abs=0.01)
    whiskers = svg.findall(".//line[@class='interval']")
    assert [float(w.get("y1")) for w in whiskers] == pytest.approx([plane.y(low) for low in curve.low], abs=0.01)
    areas = [float(d.get("r")) ** 2 for d in dots]
    assert areas[1] / areas[0] == pytest.approx(3, rel=0.02)  # radii are written in hundredths


@pytest.mark.slow
def test_shaded_area_of_the_row_diagram_is_the_binned_error(results):
    shown = results["diagnosis"].curve
    span = value_range([shown])
    svg = ET.fromstring(rows_svg(shown, [shown], title="t", key="k"))
    gaps = [g for g in svg.iter("rect") if g.get("class").startswith("gap")]
    pixels = sum(float(g.get("width")) * float(g.get("height")) for g in gaps)
    height = float(svg.find(".//rect[@class='touch']").get("height"))
    error = float(np.sum(shown.support * np.abs(shown.x - shown.y)))
    assert pixels / (SIDE * height) * (span[1] - span[0]) == pytest.approx(error, rel=1e-3)  # pixels are rounded


def test_gaps_are_coloured_by_direction(curve):
    svg = ET.fromstring(rows_svg(curve, [curve], title="t", key="k"))
    assert [g.get("class") for g in svg.iter("rect") if "gap" in g.get("class")] == ["gap under", "gap over"]


def test_points_without_intervals_are_drawn_bare(curve):
    bare = replace(curve, low=[np.nan] * 2, high=[np.nan] * 2)
    text = rows_svg(bare, [bare], title="t", key="k")
    assert "interval" not in text
    assert "nan" not in text


@pytest.mark.parametrize(
    ("values", "expected"),
    [((0.231, 1.0), (0.2, 1.0)), ((0.393, 0.638), (0.3, 0.7)), ((0.0, 0.004), (0.0, 0.004)), ((0.0, 1.0), (0.0, 1.0))],
)
def test_value_range_has_round_ends(values, expected):
    assert value_range([Curve(values, values, values, values, [0.5, 0.5])]) == pytest.approx(expected)


def test_value_range_of_a_single_value_has_length():
    for value in (0.0, 0.5, 1.0):
        low, high = value_range([Curve([value], [value], [value], [value], [1.0])])
        assert 0 <= low <= value <= high <= 1
        assert high > low


@pytest.mark.parametrize("p", [1e-12, 1 - 1e-12])
def test_points_beyond_the_end_of_a_logit_axis_are_drawn_at_its_middle_if_all_are(p):
    curve = Curve([p], [p], [0.0], [1.0], [1.0])
    text = reliability_svg({"": {"": curve}}, bins=None, title="t", key="k", scales=["logit"])
    assert "nan" not in text
    assert ET.fromstring(text).find(".//circle") is not None


def test_rates_of_0_and_1_are_not_connected_on_a_logit_scale():
    x, y = np.array([0.01, 0.2, 0.5, 0.8, 0.99]), np.array([0.0, 0.1, 0.6, 0.7, 1.0])
    curve = Curve(x, y, y, y, np.ones(5))
    for scale, connected in (("linear", 5), ("logit", 3)):
        svg = ET.fromstring(reliability_svg({"": {"": curve}}, bins=None, title="t", key="k", scales=[scale]))
        (line,) = [each for each in svg.iter("polyline") if each.get("class") == "curve"]
        assert len(line.get("points").split()) == connected
        assert len([each for each in svg.iter("circle") if each.get("class") == "dot"]) == 5


def test_labels_of_axes_stay_within_the_drawing():
    drawn = Plane(68, 28, 370, 256, (1e-6, 1 - 1e-6), logit_x=True).axes("x", "y")
    last = [each for each in ET.fromstring(f"<g>{drawn}</g>").iter("text") if each.text == "1−10⁻⁶"]
    assert float(last[0].get("x")) + 3.6 * 6 <= WIDTH
