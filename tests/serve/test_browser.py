"""The page in Chromium: upload, verdict, views, repairs, downloads, and errors as the command line prints them."""

import os
import re
import shutil
import socket
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import calibrant as cal
from calibrant.cli import main

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

SECONDS = 120_000
"""Milliseconds that an answer may take: a first one compiles."""


@pytest.fixture(scope="module")
def url():
    process = subprocess.Popen([sys.executable, "-m", "calibrant", "serve"], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def page(browser, url):
    """The page in a window of its own; anything it refuses or logs fails the test."""
    context = browser.new_context(accept_downloads=True)
    found = context.new_page()
    found.set_default_timeout(SECONDS)
    logged = []
    found.on("console", lambda message: logged.append(message.text))
    found.on("pageerror", lambda error: logged.append(str(error)))
    found.on("dialog", lambda dialog: logged.append(f"dialog {dialog.message}") or dialog.dismiss())
    found.goto(url)
    found.wait_for_selector("#option-label", state="attached")
    yield found
    context.close()
    assert [text for text in logged if not text.startswith("Failed to load resource")] == []  # a refused upload


def drop(page, name, content):
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content.encode()})


def diagnosed(page):
    page.wait_for_selector("#busy", state="hidden")
    page.wait_for_selector("#verdict")
    return page.inner_text("#verdict") + " " + page.inner_text("#numbers")


def test_a_file_is_diagnosed_and_its_views_switched(page, classes_csv, tmp_path):
    (tmp_path / "a.csv").write_text(classes_csv)
    predictions = cal.read(tmp_path / "a.csv")
    drop(page, "a.csv", classes_csv)
    assert diagnosed(page) == cal.diagnose(predictions).verdict
    assert "bad" in page.get_attribute("#verdict", "class")
    bins = len(cal.diagnose(predictions).curve.x)
    assert page.locator("#diagram circle").count() == bins
    before = page.locator("#diagram circle").nth(bins - 1).get_attribute("cx")
    page.check("input[value=logit]")
    assert page.locator("#diagram circle").nth(bins - 1).get_attribute("cx") != before
    page.check("input[value=linear]")
    page.select_option("#view", "classwise")
    playwright.expect(page.locator("#legend circle")).to_have_count(3, timeout=SECONDS)
    assert set(page.locator("#legend li").all_inner_texts()) == {"cat", "dog", "<b>cow</b>"}
    page.select_option("#view", "class")
    page.wait_for_selector("#busy", state="hidden")
    page.select_option("#class", "<b>cow</b>")
    playwright.expect(page.locator("#heading")).to_contain_text("cow</b>", timeout=SECONDS)
    assert diagnosed(page) == cal.diagnose(predictions, view="class <b>cow</b>").verdict
    page.select_option("#estimator", "sweep")
    playwright.expect(page.locator("#caption")).to_contain_text("sweep", timeout=SECONDS)
    value = cal.sweep_error(predictions, view="class <b>cow</b>").value
    assert f"{value:.4f}" in page.inner_text("#measured")


def test_the_report_is_shown_and_downloaded(page, binary_csv, tmp_path):
    drop(page, "<img src=x onerror=alert(1)>.csv", binary_csv)
    diagnosed(page)
    page.click("#report summary")
    report = page.frame_locator("#report-frame")
    report.locator("h1").wait_for()
    assert "<img src=x onerror=alert(1)>.csv" in report.locator("h1").inner_text()
    assert report.locator("figure.explorer .controls").first.is_visible()  # its own script runs
    assert page.locator("img").count() == 0
    with page.expect_download() as found:
        page.click("#report-save")
    found.value.save_as(tmp_path / "report.html")
    assert "Calibration of" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_repairs_are_compared_and_a_map_is_downloaded(page, binary_csv, tmp_path):
    drop(page, "a.csv", binary_csv)
    diagnosed(page)
    for name in ("auto", "isotonic"):
        page.uncheck(f"#compare input[value={name}]")
    page.check("#compare input[value=platt]")
    page.select_option("#parts", "3")
    page.click("#compare button")
    page.wait_for_selector("#downloads li")
    assert "Fitted on 200 rows and judged on 100 others" in page.inner_text("#held-out")
    assert page.locator("#changes circle").count() == 2
    saved = {}
    for word in ("JSON", "Python"):
        with page.expect_download() as found:
            page.locator("#downloads li", has_text="platt").get_by_text(word).click()
        saved[word] = tmp_path / found.value.suggested_filename
        found.value.save_as(saved[word])
    fitted = cal.load_map(saved["JSON"])
    assert (saved["JSON"].name, fitted.method, fitted.fit.n) == ("platt.json", "platt", 200)
    code: dict = {}
    exec(saved["Python"].read_text(encoding="utf-8"), code)
    assert code["recalibrate"](np.array([0.9])) == fitted.apply(np.array([0.9]))
    onnx = page.locator("#downloads li", has_text="platt").get_by_text("ONNX", exact=True)
    if onnx.evaluate("each => each.tagName") == "BUTTON":
        assert onnx.is_disabled()
        assert "pip install 'calibrant[onnx]'" in page.inner_text("#downloads")
    with page.expect_download() as found:
        page.click("#comparison-save")
    assert found.value.suggested_filename == "comparison.html"


def test_a_bad_file_shows_the_error_of_the_command_line_and_can_be_read_otherwise(page, tmp_path):
    content = "died;score\n" + "1;0,75\n0;0,25\n" * 20
    (tmp_path / "ward.csv").write_text(content)
    printed = CliRunner().invoke(main, ["diagnose", str(tmp_path / "ward.csv")]).stderr
    drop(page, "ward.csv", content)
    page.wait_for_selector("#error")
    assert f"Error: {page.inner_text('#error')}\n" == printed.replace(f"{tmp_path}{os.sep}", "")
    assert page.is_hidden("#diagnosis")
    page.fill("#option-sep", ";")
    page.fill("#option-decimal", ",")
    page.click("#options button")
    diagnosed(page)
    assert page.is_hidden("#error")
    assert "40 rows" in page.inner_text("#heading")


@pytest.mark.parametrize("name", ["model.pkl", "<script>alert(1).txt"])
def test_files_of_other_kinds_are_refused_as_text(page, name):
    drop(page, name, "x")
    page.wait_for_selector("#error")
    assert page.inner_text("#error").startswith(f"{name!r} has no ending that tells its format.")


def test_work_can_be_cancelled(page, classes_csv):
    drop(page, "a.csv", classes_csv)
    diagnosed(page)
    page.click("#compare button")
    page.click("#cancel")
    page.wait_for_selector("#busy", state="hidden")
    assert page.is_hidden("#error")
    page.select_option("#view", "classwise")
    playwright.expect(page.locator("#legend circle")).to_have_count(3, timeout=SECONDS)


def test_nothing_is_wider_than_a_phone(page, classes_csv):
    page.set_viewport_size({"width": 360, "height": 700})
    drop(page, "a" * 100 + ".csv", classes_csv)
    diagnosed(page)
    page.click("#compare button")
    page.wait_for_selector("#downloads li")
    for each in page.locator("details").all():
        each.evaluate("each => { each.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_control_has_a_name(page, classes_csv):
    drop(page, "a.csv", classes_csv)
    diagnosed(page)
    nameless = "[...document.querySelectorAll('input, select, button, iframe')].filter(e => !(e.labels && e.labels.length) && !e.textContent.trim() && !e.title)"
    assert page.evaluate(f"{nameless}.map(e => e.outerHTML)") == []


def test_another_page_cannot_ask(browser, url, tmp_path):
    """A page of another origin that knows the address, token and all, gets nothing."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "index.html").write_text("<!DOCTYPE html><title>other</title>")
    serve = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    other = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        context = browser.new_context()
        page = context.new_page()
        for _ in range(100):
            try:
                page.goto(f"http://127.0.0.1:{port}/")
                break
            except playwright.Error:
                page.wait_for_timeout(100)
        ask = "([url, options]) => fetch(url, options).then(r => r.type + r.status, e => 'refused')"
        for options in (
            {},
            {"mode": "no-cors"},
            {"method": "POST", "body": "{}"},
            {"headers": {"X-File-Name": "a.csv"}},
        ):
            assert page.evaluate(ask, [f"{url}start", options]) in ("refused", "opaque0")
        page.set_content(f"<iframe src='{url}'></iframe>")
        page.wait_for_timeout(300)
        frame = page.frames[1]
        assert "Drop a file" not in frame.content()
        reply = page.goto(url)  # typed by the user, not asked by a page
        assert reply.status == 200
        context.close()
    finally:
        other.terminate()
        other.wait()


def test_texts_of_the_page_are_those_of_the_reader(page, url):
    words = page.locator("#fields b").all_inner_texts()
    assert "--label" in words
    assert re.search(r"^http://127\.0\.0\.1:\d+/[\w-]{43}/$", url)
    assert page.evaluate("document.cookie") == ""
