"""The comparison with other packages: its tables are complete, its pages are those of its records, and failures are reported."""

import json
import math

import numpy as np
import pytest
from benchmarks.field import accuracy, environments, history, measure, page, plots, quality, rivals, sections, validity
from benchmarks.field.__main__ import merged
from benchmarks.field.claims import ESTIMATORS, INTERVALS, TESTS
from benchmarks.field.data import Data
from benchmarks.field.environments import OWN, Environment
from benchmarks.field.reasons import REASONS
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
    assert {peer for _, peer in CALLS} == {OWN, rivals.SUN, *environments.peers()}


def test_a_task_is_shared_or_marked_as_ours_alone():
    askers = {task.name: sum(asked == task.name for asked, _ in CALLS) for task in TASKS}
    assert [task.name for task in TASKS if task.alone != (askers[task.name] == 1)] == []


@pytest.mark.parametrize("tasks", [ESTIMATORS, INTERVALS, TESTS])
def test_every_claim_is_made_by_someone(tasks):
    assert set(tasks) - {task for task, _ in CALLS} == set()


def test_what_may_differ_says_why():
    assert [key for key, call in CALLS.items() if (call.aside == "other quantity") and not call.differs] == []
    for kind in RECORDED:
        rows = json.loads(page.file_of(kind).read_text(encoding="utf-8"))["rows"]
        apart = [each for each in rows if each.get("digits", 16) < measure.EQUAL]
        assert [each for each in apart if not each.get("differs")] == []


LONG = ("four lines: fit", "four lines: apply", "auto: fit", "pieces chosen: fit", "diagnose", "order-preserving: fit")
"""Compile for long on their first call."""


@pytest.mark.parametrize(
    "name", [pytest.param(task.name, marks=pytest.mark.slow if task.name in LONG else ()) for task in TASKS]
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
    assert found.rows == [("ECE, 15 equal-width bins", "1,000", "ahead", "0.25", "1.5 ms", REASONS["ece", "few"])]


def test_rounds_that_overlap_do_not_tell_two_packages_apart():
    ours, other = row(OWN, 2.0, cores_low=1.4, cores_high=2.2), row("ahead", 1.5, cores_low=1.3, cores_high=1.6)
    assert "overlap" in sections.overview(record(ours, other)).rows[0][5]
    apart = sections.overview(record(ours | {"cores_low": 1.7}, other))
    assert apart.rows[0][5] == REASONS["ece", "few"]


def test_every_recorded_row_behind_another_package_says_why():
    rows = sections.overview(page.latest()).rows
    assert [each for each in rows if each[5] == sections.UNEXPLAINED] == []
    assert {task for task, _ in REASONS} <= NAMED


def test_growth_is_the_slope_of_the_logarithms():
    assert sections.exponent([(10, 5.0), (10_000, 1.0), (100_000, 100.0)]) == pytest.approx(2.0)
    assert sections.exponent([(10_000, 1.0)]) is None


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [(0.5, 16), (0.5 + 4e-8, 7), ([1.0], 0), ([0.5, 1.0], 0), (0.1, 0)],
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


def test_a_quick_run_has_two_sizes_of_what_is_shared():
    assert all(
        len(task.sizes(True)) == (0 if task.alone else 2)
        and set(task.sizes(True)) <= {s for each in QUICK.values() for s in each}
        for task in TASKS
    )


def test_a_result_that_is_not_a_number_is_an_error(monkeypatch):
    monkeypatch.setattr(measure, "ask", lambda *_, **__: {"value": [0.5, math.nan], "ms": 1.0})
    assert measure.first(None, None, "ece") == ({"error": "its result is not a number"}, None)


def pairs_within(cell, residuals):
    """The U-statistic by its definition: all pairs of different rows of a cell."""
    total = 0.0
    for c in np.unique(cell):
        rows = residuals[cell == c]
        if len(rows) > 1:
            total += sum(a @ b for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j) / (len(rows) - 1)
    return total / len(residuals)


@pytest.mark.parametrize("k", [1, 3])
def test_the_rival_estimates_the_squared_error_by_pairs_within_cells(k):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), 40)[:, :k]
    labels = (rng.random((40, 1)) < probs.cumsum(axis=1)).astype(float)
    sides = math.ceil(40 ** (2 / (4 + k)))
    cell = np.minimum((probs * sides).astype(int), sides - 1) @ sides ** np.arange(k)
    found = rivals.squared_error(labels, probs)
    assert found.value == pytest.approx(pairs_within(cell, labels - probs), abs=1e-12)
    if k == 1:
        assert rivals.squared_error(labels[:, 0], probs[:, 0]) == found


def test_the_rival_knows_the_spread_of_its_estimate():
    rng = np.random.default_rng(4)
    probs = rng.random((200, 300))
    for rate, name in ((probs, "sd_calibrated"), (probs**2, "sd")):
        found = [rivals.squared_error(y, p) for y, p in zip(rng.random(probs.shape) < rate, probs, strict=True)]
        real = np.std([each.value for each in found])
        assert np.mean([getattr(each, name) for each in found]) == pytest.approx(real, rel=0.2)  # 4 standard errors


@pytest.mark.parametrize(
    ("value", "sd", "null", "ends"),
    [
        (4.0, 1.0, 1e-9, (4 - 1.6448536, 4 + 1.6448536)),  # far from 0: two-sided
        (3.0, 1.0, 1e-9, (1.5, 3 + 1.6448536)),  # between: half the estimate
        (2.0, 1.0, 1e-9, (2 - 1.2815516, 2 + 1.6448536)),  # near 0: one-sided
        (1.0, 1.0, 1e-9, (0.0, 1 + 1.6448536)),  # reaches 0, which the test excludes
        (1.0, 1.0, 1.0, (0.0, 1 + 1.6448536)),  # and here it does not
        (-1.0, 1.0, 1.0, (0.0, 1.6448536)),
    ],
)
def test_the_rival_s_ends(monkeypatch, value, sd, null, ends):
    found = rivals.SquaredError(value, sd, null)
    monkeypatch.setattr(rivals, "squared_error", lambda *_: found)
    low, high = rivals.interval([], [], 0.9)
    assert (low**2, high**2) == pytest.approx(ends, abs=1e-6)
    assert (low == 0) == (found.p_value > 0.1)


class Known:
    """A world whose true error is 0.25."""

    def true_error(self, norm):
        return 0.25


def test_bias_coverage_and_alarms_come_with_their_monte_carlo_errors():
    found = accuracy.summary("ece", Known(), {"values": [0.25, 0.35, 0.45]})
    assert found["bias"] == pytest.approx(0.1)
    assert found["rmse"] == pytest.approx(math.sqrt(0.05 / 3))
    assert found["error_of_bias"] == pytest.approx(0.1 / math.sqrt(3))
    assert found["error_of_rmse"] == pytest.approx(np.std([0, 0.01, 0.04], ddof=1) / math.sqrt(3) / 2 / found["rmse"])
    ends = accuracy.summary("interval of norm 1", Known(), {"values": [[0.2, 0.3], [0.3, 0.6]]})
    assert (ends["share"], ends["width"]) == (0.5, pytest.approx(0.2))
    test = accuracy.summary("test: KS", Known(), {"values": [0.05, 0.2, 0.9, 0.01]})
    assert test["share"] == 0.5
    assert accuracy.summary("test: KS", Known(), {"values": [1.0, 0.9]})["error_of_share"] > 0
    assert accuracy.summary("ece", Known(), {"values": [0.2, math.nan]}) == {"error": "no number for 1 of 2 data sets"}


def test_slow_calls_see_fewer_data_sets():
    worker, rng = Worker(OWN), np.random.default_rng(0)
    worker.data["many"] = Data(rng.integers(0, 2, (30, 50)).astype(np.uint8), rng.random((30, 50)))
    command = {"do": "many", "task": "U-statistic", "data": "many", "peer": rivals.SUN}
    assert len(worker.answer(command | {"seconds": 60.0, "least": 3})["values"]) == 30
    assert len(worker.answer(command | {"seconds": 0.0, "least": 3})["values"]) == 3


def test_packages_with_equal_numbers_share_a_line_of_the_accuracy_table():
    facts = {"task": "ece", "world": "w", "n": 1000, "sets": 9, "truth": 0.1}
    numbers = {"rmse": 0.02, "error_of_rmse": 0.001, "bias": -0.01, "error_of_bias": 0.002}
    rows = [facts | numbers | {"peer": peer} for peer in ("a", "b")]
    rows += [facts | numbers | {"peer": "c", "bias": 0.01}, facts | numbers | {"peer": "d", "task": "debiased"}]
    table = validity.accuracy(record(accuracy=rows))[0]
    assert [each[:2] for each in table.rows][:2] == [
        ("ECE, 15 equal-width bins", "a, b"),
        ("ECE, 15 equal-width bins", "c"),
    ]
    assert table.rows[0][2:] == ("9", "20.0 ± 1.0 (-10.0 ± 2.0)")
    assert "w 0.1 / 0.1" in table.text[0]


def test_worlds_that_are_not_tried_anew_keep_their_rows():
    before = [{"world": name, "commit": "old"} for name in accuracy.NAMES[:3]]
    found = merged(before, {"accuracy": [{"world": accuracy.NAMES[1], "commit": "new"}], "arena": 1})
    assert [each["commit"] for each in found["accuracy"]] == ["old", "new", "old"]
    assert found["arena"] == 1


def test_the_arena_s_tables_are_read():
    found = quality.recorded(quality.ARENA.read_text(encoding="utf-8"))
    assert found["written"].startswith("Written by")
    assert len(found["groups"]) > 1
    rows = quality.quality(record(arena=found)).rows
    assert [each[0] for each in rows] == [each["title"] for each in found["groups"]]
    assert all(": " in each[4] for each in rows)
