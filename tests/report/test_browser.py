"""The interactive parts of a report in Chromium; skipped where Playwright or Chromium is absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import calibrant as cal

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: apt-get install chromium)")

HOSTILE = "<img src=x onerror=\"document.title='run'\">'\"&"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A report on three classes, one with a hostile name."""
    rng = np.random.default_rng(2)
    probs = rng.dirichlet([1.0, 1.0, 1.0], 600)
    labels = (rng.random((600, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    classes = ("cat", "dog", HOSTILE)
    sharper = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    report = tmp_path_factory.mktemp("page") / "report.html"
    cal.examine(cal.Predictions([classes[k] for k in labels], sharper, classes=classes), name=HOSTILE).save(report)
    return report


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        arguments = ["--no-sandbox", "--disable-gpu"]
        yield running.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("user")), executable_path=CHROMIUM, headless=True, args=arguments
        )


@pytest.fixture
def page(browser, path) -> Iterator[Any]:
    opened = browser.new_page()
    opened.problems = []
    opened.on("console", lambda message: opened.problems.append(message.text))
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on("request", lambda asked: opened.problems.append(asked.url) if not asked.url.startswith("file:") else None)
    opened.goto(path.as_uri())
    yield opened
    assert opened.problems == []
    opened.close()


def shown(figure: Any) -> list[tuple[str, str]]:
    """Scale and estimate of the curves that are drawn."""
    parts = figure.locator("svg g[data-made]:not([hidden])")
    return [
        (parts.nth(i).get_attribute("data-scale"), parts.nth(i).get_attribute("data-made"))
        for i in range(parts.count())
    ]


def test_estimator_scale_and_bands_are_switched(page):
    figure = page.locator("figure.explorer").first
    assert shown(figure) == [("linear", "15 equal-mass bins")]
    figure.locator("select[name=made]").select_option("15 equal-width bins")
    assert shown(figure) == [("linear", "15 equal-width bins")]
    figure.locator("select[name=scale]").select_option("logit")
    assert shown(figure) == [("logit", "15 equal-width bins")]
    interval = figure.locator("g[data-made]:not([hidden]) .interval").first
    display = "line => getComputedStyle(line).display"
    assert interval.evaluate(display) == "inline"
    figure.locator("input[name=bands]").uncheck()
    assert interval.evaluate(display) == "none"


def test_classes_are_chosen_by_list_by_row_and_by_key(page):
    figure = page.locator("figure.explorer[data-table]")
    select, rows = figure.locator("select[name=question]"), page.locator("tr.choice")
    assert rows.count() == 3
    assert sorted(select.locator("option").all_text_contents()) == sorted(["cat", "dog", HOSTILE])
    for choose in (lambda: rows.nth(1).click(), lambda: rows.nth(2).press("Enter"), lambda: rows.nth(0).press(" ")):
        choose()
        name = select.input_value()
        assert page.locator("tr.chosen").get_attribute("data-name") == name
        drawn = figure.locator("svg g[data-question]:not([hidden])")
        assert [drawn.nth(i).get_attribute("data-question") for i in range(drawn.count())] == [name]


def test_hostile_names_stay_text(page):
    assert page.title() == f"Calibration of {HOSTILE}"
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator("main").inner_text()


def test_values_are_shown_under_the_pointer_and_by_arrow_keys(page):
    svg = page.locator("figure.explorer svg").first
    bins = svg.locator("g[data-made]:not([hidden]) .bin")
    numbers = bins.first.locator(".numbers")
    assert not numbers.is_visible()
    bins.first.locator("circle").hover()
    assert numbers.is_visible()
    page.mouse.move(0, 0)
    svg.focus()
    svg.press("ArrowRight")
    assert numbers.is_visible()
    svg.press("ArrowRight")
    assert not numbers.is_visible()
    spoken = page.locator("figure.explorer .spoken").first.text_content()
    assert spoken == bins.nth(1).locator(".numbers").text_content()
    svg.press("Escape")
    assert svg.locator(".bin.on").count() == 0


@pytest.mark.parametrize("width", [420, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_text_has_contrast(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    for selector in ("body", ".note", ".verdict p + p", "a", "summary"):
        assert contrast(page, selector) >= 4.5, selector


def contrast(page: Any, selector: str) -> float:
    """Of a text against the page, by the formula of the WCAG."""
    colours = page.evaluate(
        "s => [getComputedStyle(document.querySelector(s)).color, getComputedStyle(document.body).backgroundColor]",
        selector,
    )
    lights = []
    for colour in colours:
        rgb = np.array([float(each) / 255 for each in colour[colour.index("(") + 1 : -1].split(",")[:3]])
        linear = np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        lights.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_nothing_is_hidden_or_cut_in_print(page):
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})  # A4 without its margins
    for table in page.locator("table").all():
        assert table.is_visible()
        assert table.evaluate("t => t.getBoundingClientRect().right <= document.documentElement.clientWidth + 1")
    assert page.locator("details table").count() > 0


def test_without_its_script_the_page_is_complete(browser, path):
    text, opened = path.read_text(encoding="utf-8"), browser.new_page()
    opened.set_content(text[: text.rindex("<script>")] + "</body></html>")
    assert opened.locator(".controls").first.is_hidden()
    for svg in opened.locator("svg[role=img]").all():
        assert svg.is_visible()
        assert svg.locator(":scope > g[data-scale]:not([hidden])").count() in (0, 2)  # its axes and one curve
    opened.close()
