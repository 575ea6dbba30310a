"""The comparison with other packages: its tables are complete, its pages are those of its records, and failures are reported."""

import json
import math

import numpy as np
import pytest
from benchmarks.field import environments, history, measure, page, plots, sections
from benchmarks.field.data import Data
from benchmarks.field.environments import OWN, Environment
from benchmarks.field.table import CALLS
from benchmarks.field.tasks import QUICK, TASKS, make_data
from benchmarks.field.worker import Worker

NAMED = {task.name for task in TASKS}
RECORDED = [kind for kind in ("full", "quick") if page.file_of(kind).exists()]


def row(peer, ms=1.0, task="ece", n=1000, **more):
    return {"task": task, "n": n, "k": 1, "peer": peer, "wall": ms, "cores": ms, "first": ms, "times": 3} | more


def record(*rows, **more):
    facts = {
        "date": "2026-01-01",
        "commit": "abc",
        "kind": "quick",
        "clock": "cores",
        "machine": "2 cores",
        "beside": "Quiet.",
    }
    empty = {"versions": {}, "start": [], "compiling": [], "compiled_at": 1000, "accuracy": []}
    return facts | empty | {"rows": [row("floor", 0.1), *rows]} | more


def test_calibrant_answers_every_question_of_the_table():
    assert {task for task in NAMED if (task, OWN) not in CALLS} == set()
    assert {call.against for call in CALLS.values() if call.against} <= {task for task, peer in CALLS if peer == OWN}


def test_every_package_is_asked_something_and_every_call_is_of_a_package():
    assert {peer for _, peer in CALLS} == {OWN, *environments.peers()}


def test_every_task_is_shared_or_it_would_not_be_compared():
    assert {task for task in NAMED if sum(asked == task for asked, _ in CALLS) < 2} == set()


def test_what_may_differ_says_why():
    assert [key for key, call in CALLS.items() if (call.aside == "other quantity") and not call.differs] == []
    for kind in RECORDED:
        rows = json.loads(page.file_of(kind).read_text(encoding="utf-8"))["rows"]
        apart = [each for each in rows if each.get("digits", 16) < measure.EQUAL]
        assert [each for each in apart if not each.get("differs")] == []


COMPILED = ("four lines: fit", "four lines: apply")
"""Compile for long on their first call."""


@pytest.mark.parametrize(
    "name", [pytest.param(task.name, marks=pytest.mark.slow if task.name in COMPILED else ()) for task in TASKS]
)
def test_our_call_runs(name):
    task = next(each for each in TASKS if each.name == name)
    worker = Worker(OWN)
    worker.data["few"] = Data(**make_data((60, min(task.shapes[0][1], 3))))
    found = worker.answer({"do": "first", "task": name, "data": "few"})
    assert "error" not in found
    assert np.isfinite(found["value"]).all()


def test_forecasts_are_asked_about_their_standard_deviations():
    worker, forecasts = Worker(OWN), {"labels": np.array([1.5]), "probs": np.array([1.5]), "sd": np.array([2.0])}
    worker.data["one"] = Data(**forecasts)
    expected = 2 * (math.sqrt(2) - 1) / math.sqrt(math.pi)  # of a normal forecast whose mean occurs: sd (√2 − 1)/√π
    assert worker.do_first("crps", "one")["value"] == pytest.approx(expected, rel=1e-9)


def test_a_worker_times_a_call_and_says_what_went_wrong():
    worker = Worker(OWN)
    worker.data["few"] = Data(**make_data((60, 1)))
    worker.answer({"do": "first", "task": "floor", "data": "few"})
    assert 0 < worker.answer({"do": "time", "task": "floor", "data": "few"})["wall"] < 1000
    assert worker.answer({"do": "memory", "task": "floor", "data": "few"})["mb"] >= 0
    assert worker.answer({"do": "first", "task": "no such", "data": "few"}) == {
        "error": "KeyError: ('no such', 'calibrant')"
    }


def test_the_pages_are_those_of_the_recorded_run():
    found = page.latest()
    past = history.read()
    assert page.MARKDOWN.read_text(encoding="utf-8") == page.markdown(found, past)
    assert page.HTML.read_text(encoding="utf-8") == page.html(found, past)


def test_no_recorded_number_is_missing():
    text = page.MARKDOWN.read_text(encoding="utf-8")
    assert "nan" not in text.replace("finance", "").split()
    for kind in RECORDED:
        assert "NaN" not in page.file_of(kind).read_text(encoding="utf-8")


def test_every_recorded_run_is_in_the_history():
    kept = [json.dumps(each, sort_keys=True) for each in history.read()]
    for kind in RECORDED:
        found = json.loads(page.file_of(kind).read_text(encoding="utf-8"))
        assert json.dumps(history.line(found), sort_keys=True) in kept


def test_a_package_that_cannot_be_installed_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "HOME", tmp_path)
    monkeypatch.setattr(environments, "failure", lambda command: "ERROR: no such package" if "pip" in command else "")
    monkeypatch.setattr(environments, "wanted", lambda name: ([name], name))
    found = environments.environment("absent")
    assert found.error == "pip: ERROR: no such package"
    start = measure.start_up({"absent": found}, tmp_path / "none.npz", one_core=True, times=1)
    text = page.markdown(record(row(OWN), start=start), [])
    assert "| absent | could not be installed or imported |" in text
    assert "ERROR: no such package" in text


def test_the_reason_of_a_failure_is_the_last_error_line():
    import sys

    assert environments.failure([sys.executable, "-c", "pass"]) == ""
    assert (
        environments.failure([sys.executable, "-c", "import nowhere_at_all"])
        == "ModuleNotFoundError: No module named 'nowhere_at_all'"
    )


def test_a_call_that_fails_is_reported():
    text = page.markdown(
        record(row(OWN), {"task": "ece", "n": 1000, "k": 1, "peer": "netcal", "error": "ValueError: bad | worse"}), []
    )
    assert "| ECE, 15 equal-width bins | 1,000 | netcal | ValueError: bad / worse |" in text


def test_a_worker_that_dies_is_an_answer(tmp_path):
    class Dying(measure.Process):
        def start(self):
            import subprocess
            import sys

            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            return subprocess.Popen([sys.executable, "-c", "input()"], text=True, **pipes)

    dying = Dying(Environment("absent"), one_core=True, patience=20)
    assert measure.ask(dying, tmp_path / "10_1.npz", do="first", task="ece") == {"error": "its process ended"}
    assert dying.running is None


def test_the_fastest_package_is_named_and_the_other_quantity_is_not():
    found = record(row(OWN, 2.0), row("slow", 8.0), row("quick", 4.0), row("another", 1.0, aside="other quantity"))
    line = next(each for each in sections.speed(found).rows)
    assert line[:7] == ("ECE, 15 equal-width bins", "1,000", "2", "quick", "4", "2.00", "20")
    assert line[8] == "slow 4, (another) 0.5"


def test_being_behind_is_said():
    found = sections.overview(record(row(OWN, 2.0), row("ahead", 0.5)))
    assert "the fastest in 0 of 1 rows" in found.text[0]
    assert found.rows[0][:4] == ("ECE, 15 equal-width bins", "1,000", "ahead", "0.25")


def test_growth_is_the_slope_of_the_logarithms():
    assert sections.exponent([(10, 5.0), (10_000, 1.0), (100_000, 100.0)]) == pytest.approx(2.0)
    assert sections.exponent([(10_000, 1.0)]) is None


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [(0.5, 16), (0.5 + 4e-8, 7), ([1.0], 0), (math.nan, 0), (0.1, 0)],
)
def test_digits(theirs, expected):
    assert measure.digits(theirs, 0.5) == expected


def test_a_later_run_shows_what_became_slower_than_the_machine():
    before = history.line(record(row(OWN, 1.0), row(OWN, 1.0, "mass"), row("a", 1.0), row("b", 2.0)))
    now = record(row(OWN, 2.0), row(OWN, 6.0, "mass"), row("a", 2.0), row("b", 4.0))  # everything twice as slow
    found, earlier = history.changes(now, [before])
    assert earlier == before
    assert found == [(("mass", 1000, 1), 1.0, 6.0, 3.0)]
    assert history.changes(now, [before | {"kind": "full"}]) == ([], None)


def test_figures_are_svg_with_a_line_for_each_package():
    text = plots.speed(record(row(OWN), row(OWN, 9.0, n=100_000), row("a"), row("a", 3.0, n=100_000)))
    assert text.startswith("<svg")
    assert text.count("<polyline") == 3


def test_a_quick_run_has_two_sizes():
    assert all(
        len(task.sizes(True)) == 2 and set(task.sizes(True)) <= {s for each in QUICK.values() for s in each}
        for task in TASKS
    )
