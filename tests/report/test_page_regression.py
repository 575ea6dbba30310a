"""The report on forecasts of a real number."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import calibrant as cal
from calibrant.report import page, write
from calibrant.report.plane import ticks
from calibrant.report.svg import coverage_svg, marginal_svg, pit_svg, plane_of, spread_svg
from calibrant.results import Curve

NASTY = "<script>alert(1)</script>\"'&"


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(5)

    def drawn(n):
        mean, variance = rng.normal(size=n), rng.gamma(2.0, 1.0, n)
        return cal.Predictions.from_gaussian(rng.normal(mean, np.sqrt(2 * variance)), mean, variance)

    valid, test = drawn(200), drawn(200)
    fitted = cal.recalibrate(valid)
    return {
        "diagnosis": cal.diagnose(test, name="prices"),
        "after": cal.diagnose(fitted.apply(test), name="repaired"),
        "comparison": cal.compare(test, fitted),
        "fitted": fitted,
    }


@pytest.fixture(scope="module")
def html(results):
    return page(results["diagnosis"], **{k: v for k, v in results.items() if k != "diagnosis"})


def test_the_page_is_whole_and_alone(html):
    from report.test_page import Balance

    parsed = Balance(html)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert sum(each.endswith(("-title", "-desc")) for each in parsed.ids) == 16  # of eight drawings
    assert parsed.tags.count("script") == 1
    assert "http" not in html.replace("http-equiv", "")
    assert len(html) < 80_000


def test_the_page_says_what_the_results_say(html, results):
    from report.test_page import Balance

    text = " ".join(Balance(html).words)
    for part in ("Before", "After", "PIT histogram", "Coverage by level", "Spread and skill", "Did the repair help?"):
        assert part in text
    assert "variance_platt" in text
    assert results["comparison"].sentence() in text
    assert "200 rows · Gaussian forecasts of a real number" in text
    for table in results["diagnosis"].tables():
        assert table.title in text


def test_one_diagnosis_makes_a_page_and_quantiles_have_no_spread(results):
    alone = page(results["diagnosis"])
    assert alone.count("<figure>") == 4
    rng = np.random.default_rng(1)
    said = cal.Predictions.from_quantiles(rng.normal(size=60), [0.2, 0.5, 0.8], [[-0.8, 0.0, 0.8]] * 60)
    assert page(cal.diagnose(said)).count("<figure>") == 3


def test_names_are_escaped(results):
    assert NASTY not in page(replace(results["diagnosis"], name=NASTY))


def test_the_report_is_written(results, tmp_path):
    results["diagnosis"].save(tmp_path / "r.html")
    write(tmp_path / "r.json", results["diagnosis"], **{k: v for k, v in results.items() if k != "diagnosis"})
    assert "PIT histogram" in (tmp_path / "r.html").read_text(encoding="utf-8")
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert data["diagnosis"]["kind"] == "ForecastDiagnosis"
    assert data["fitted"]["kind"] == "VariancePlattMap"


def parsed(svg):
    return ET.fromstring(svg)


def test_bars_stand_at_their_heights_and_are_coloured_by_the_band():
    curve = Curve([0.25, 0.75], [1.6, 0.4], [0.8, 0.8], [1.2, 1.2], [0.8, 0.2])
    drawn = parsed(pit_svg(curve, [curve], title="t", key="k"))
    bars = [each for each in drawn.iter("rect") if each.get("class", "").startswith("bar")]
    assert [bar.get("class") for bar in bars] == ["bar over", "bar under"]
    heights = [float(bar.get("height")) for bar in bars]
    assert heights[0] == pytest.approx(4 * heights[1], rel=1e-3)  # drawn to a hundredth of a pixel


def test_points_lie_where_the_values_are():
    plane = plane_of((0.0, 1.0), (0.0, 1.0))
    curve = Curve([0.2, 0.9], [0.5, 0.8], [0.4, 0.7], [0.6, 0.9], [0.5, 0.5])
    drawn = parsed(coverage_svg(curve, [curve], title="t", key="k"))
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in drawn.iter("circle")]
    np.testing.assert_allclose(dots, [(plane.x(0.2), plane.y(0.5)), (plane.x(0.9), plane.y(0.8))], atol=0.01)


def test_before_and_after_share_their_axes():
    small = Curve([1.0, 2.0], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], [0.5, 0.5])
    large = Curve([10.0, 20.0], [10.0, 20.0], [9.0, 19.0], [11.0, 21.0], [0.5, 0.5])
    for draw in (spread_svg, marginal_svg):
        ends = [
            [
                text.text
                for text in parsed(draw(each, [small, large], title="t", key="k")).iter("text")
                if text.get("class", "").startswith("tick")
            ]
            for each in (small, large)
        ]
        assert ends[0] == ends[1]


def test_a_bin_of_unknown_reach_is_drawn():
    curve = Curve([1.0], [0.5], [0.2], [np.inf], [1.0])
    assert parsed(spread_svg(curve, [curve], title="t", key="k")) is not None
    flat = Curve([1.0], [0.1], [-0.2], [0.2], [1.0])
    assert parsed(marginal_svg(flat, [flat], title="t", key="k")) is not None


def test_ticks_are_round():
    assert ticks(0.0, 1.0) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert ticks(-0.03, 0.03) == pytest.approx([-0.02, 0, 0.02])
