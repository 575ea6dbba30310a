"""Around the commands: exit codes, closed pipes, signals, the clock, and what may be overwritten."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calibrant as cal
from calibrant.cli import main, screen
from calibrant.cli.group import EXIT_CODES
from calibrant.cli.running import Clock, Output, stop_workers
from calibrant.problems import visible
from calibrant.results import Table
from calibrant.writing import kind_of


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with t.csv, map.json and r.html."""
    made, rng = tmp_path_factory.mktemp("model"), np.random.default_rng(20261115)
    p = rng.random(200)
    y = (rng.random(200) < 0.3 + 0.4 * p).astype(int)
    lines = [f"{a},{b},{80 + 10 * a}" for a, b in zip(y, p, strict=True)]
    (made / "t.csv").write_text("\n".join(["label,prob,weight", *lines]) + "\n", encoding="utf-8")
    cal.recalibrate(y, p, "platt").save(made / "map.json")
    cal.diagnose(y, p).save(made / "r.html")
    return made


@pytest.fixture
def folder(tmp_path: Path, model: Path) -> Path:
    """A copy, in which a test runs."""
    return Path(shutil.copytree(model, tmp_path, dirs_exist_ok=True))


# What may be overwritten


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "t.csv", "map.json", "--report", "map.json"], "'map.json' is read by the same command."),
        (["diagnose", "t.csv", "--report", "map.json"], "'map.json' exists already and holds a map."),
        (["diagnose", "t.csv", "--report", "mine.json"], "'mine.json' exists already."),
        (["diagnose", "t.csv", "--report", "none/r.html"], "there is no such folder"),
        (["diagnose", "t.csv", "--report", "r.pdf"], "a report must end in .html or .json"),
        (["trust", "t.csv", "--report", "folder.html"], "it is a folder"),
        (["demo", "-o", "map.json"], "'map.json' exists already and holds a map."),
        (["recalibrate", "t.csv", "-o", "map.txt"], "a map must end in .json"),
        (
            ["recalibrate", "t.csv", "-o", "map.json"],
            "'map.json' exists already. Choose another name, or pass --force.",
        ),
        (["apply", "map.json", "t.csv", "-o", "r.html"], "a file of predictions must end in .csv"),
        (["apply", "map.json", "t.csv", "-o", "t.csv"], "'t.csv' is read by the same command."),
        (
            ["monitor", "t.csv", "--state", "map.json"],
            "'map.json' exists already and holds a map. Choose another name.\n",
        ),
    ],
)
def test_targets_are_checked_before_any_work(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    (folder / "mine.json").write_text('{"a": 1}')
    (folder / "folder.html").mkdir()
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    monkeypatch.setattr("calibrant.files.formats.check_first_bytes", lambda *_: pytest.fail("a file was read"))
    monkeypatch.setattr(cal, "load_map", lambda *_: pytest.fail("a map was read"))
    monkeypatch.setattr(cal, "example", lambda *_: pytest.fail("the example was read"))
    assert message in run(*arguments, code=3).stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.slow
def test_force_overwrites_and_reports_replace_reports(folder):
    run("diagnose", folder / "t.csv", "--report", folder / "r.html")
    run("compare", folder / "t.csv", folder / "map.json", "--report", folder / "map.json", "--force")
    assert kind_of(folder / "map.json") == "report"
    run("recalibrate", folder / "t.csv", "-o", folder / "map.json", "--force")
    assert kind_of(folder / "map.json") == "map"


# The columns that were taken


@pytest.mark.slow
def test_weights_are_never_taken_unasked_and_columns_are_named(folder):
    shown = " ".join(run("diagnose", folder / "t.csv").stdout.split())
    assert "probabilities from 'prob'; 'weight' is not used (--weights weight would)" in shown
    plain, weighed, counted = (
        json.loads(run("test", folder / "t.csv", "--draws", 99, "--json", *more).stdout)
        for more in ([], ["--weights", "weight"], ["--counts", "label"])
    )
    columns = {"labels": "label", "probabilities": ["prob"], "predicted_class": None}
    columns |= {"counts": None, "weights": None, "groups": None}
    assert plain["input"] == {"file": str(folder / "t.csv"), "columns": columns}
    assert weighed["input"]["columns"] == columns | {"weights": "weight"}
    assert counted["input"]["columns"] == columns | {"counts": "label"}
    assert counted["n"] == cal.Predictions.read(folder / "t.csv").labels.sum()
    assert plain["p_value"] == cal.is_calibrated(cal.Predictions.read(folder / "t.csv"), n_draws=99, seed=0).p_value


@pytest.mark.some(6)
@pytest.mark.parametrize(
    "command",
    [
        ["diagnose"],
        ["measure", "ece"],
        ["decompose"],
        ["test", "--draws", 19],
        ["where"],
        ["trust", "--data-sets", 2],
        ["plan", "--error", 0.3, "--data-sets", 20],
        ["monitor"],
        ["answers"],
        ["recalibrate"],
        ["audit", "--by", "weight"],
    ],
)
def test_every_command_names_its_columns_in_json(folder, command):
    name, *more = command
    found = json.loads(run(name, folder / "t.csv", *more, "--json").stdout)
    for each in found if isinstance(found, list) else [found]:
        assert each["input"]["columns"]["probabilities"] == ["prob"]


def test_the_columns_of_a_second_file_and_of_segments_are_named(folder):
    run("apply", folder / "map.json", folder / "t.csv", "-o", folder / "b.csv")
    found = run("compare", folder / "t.csv", folder / "b.csv", "--json")
    after = json.loads(found.stdout)["input"]["after"]
    assert (after["file"], after["columns"]["probabilities"]) == (str(folder / "b.csv"), ["prob"])
    shown = " ".join(run("compare", folder / "t.csv", folder / "b.csv").stdout.split())
    assert "After: labels from 'label', probabilities from 'prob'" in shown
    found = run("audit", folder / "t.csv", "--json")
    assert json.loads(found.stdout)["input"]["columns"]["features"] == ["weight"]
    assert "segments from 'weight'" in run("audit", folder / "t.csv").stdout


# The monitor's state


def test_a_full_disk_keeps_the_state_of_a_monitor(folder, monkeypatch):
    state = folder / "watch.json"
    run("monitor", folder / "t.csv", "--state", state)
    before = state.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    result = run("monitor", folder / "t.csv", "--state", state, code=3)
    assert result.stderr == f"Error: cannot write the monitor state '{state}': No space left on device\n"
    assert state.read_bytes() == before
    assert [path.name for path in folder.iterdir() if "watch" in path.name] == ["watch.json"]


def test_a_damaged_state_of_a_monitor_is_named_and_kept(folder):
    state = folder / "watch.json"
    for text in ('{"schema": 1, "kind": "MonitorState"', '{"schema": 1, "kind": "MonitorState", "n": -1}'):
        state.write_text(text)
        error = run("monitor", folder / "t.csv", "--state", state, code=3).stderr
        assert error.startswith(f"Error: '{state}' is not the saved state of a monitor: ")
        assert state.read_text() == text
    assert [path.name for path in folder.iterdir() if "watch" in path.name] == ["watch.json"]
    state.write_text("")  # nothing is as good as no file
    run("monitor", folder / "t.csv", "--state", state)


@pytest.mark.slow
def test_updates_of_several_processes_are_all_counted(folder):
    command = [sys.executable, "-m", "calibrant", "monitor", str(folder / "t.csv"), "--state", str(folder / "w.json")]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [each.wait() for each in started] == [0] * 4
    assert cal.Monitor.from_json((folder / "w.json").read_text()).n == 4 * 200


# Exit codes


def test_the_help_has_the_table_of_exit_codes():
    shown = " ".join(run("--help").stdout.split())
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in shown


def test_a_crash_has_a_code_of_its_own(folder, monkeypatch):
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("no one thought of \x1b[31mthis")

    monkeypatch.setattr(cal, "diagnose", crash)
    error = run("diagnose", folder / "t.csv", code=70).stderr
    assert "Traceback" in error
    assert "RuntimeError: no one thought of \\u001b[31mthis" in error
    assert error.splitlines()[-1].startswith(f"This is a bug in calibrant {cal.__version__}")
    with pytest.raises(RuntimeError):  # within Python, exceptions stay exceptions
        main(["diagnose", str(folder / "t.csv")], standalone_mode=False)


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (MemoryError("8 GB"), 3)])
def test_an_interrupt_and_little_memory_are_no_crash(folder, monkeypatch, error, code):
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cal, "diagnose", fail)
    assert "Traceback" not in run("diagnose", folder / "t.csv", code=code).output


def called(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "calibrant", *map(str, arguments)], stderr=subprocess.PIPE, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"), [(["--help"], 141), (["--report", "r.html"], 141), (["--json", "--fail-above", "0.001"], 1)]
)
def test_a_reader_who_leaves_loses_no_file_and_no_verdict(folder, arguments, code):
    (folder / "r.html").unlink()
    read, write = os.pipe()
    os.close(read)
    with called("diagnose", "t.csv", *arguments, stdout=write, cwd=folder) as process:
        os.close(write)
        error = process.communicate()[1].decode()
    assert process.returncode == code, error
    assert "Traceback" not in error
    assert "Broken" not in error
    assert (folder / "r.html").exists() == ("--report" in arguments)


def children(pid: int) -> set[int]:
    """Processes below one, from /proc."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found |= {int(stat.parent.name)} | children(int(stat.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_signal_to_end_stops_the_workers(folder):
    """The work is a joblib pool of processes that sleep, run by the command line."""
    code = (
        "import calibrant as cal, time, joblib\nfrom calibrant.cli import main\n"
        "def sleep(*_, **__):\n"
        "    list(joblib.Parallel(n_jobs=2, return_as='generator')(joblib.delayed(time.sleep)(60) for _ in range(8)))\n"
        f"cal.diagnose = sleep\nmain(['diagnose', {str(folder / 't.csv')!r}])"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as process:
        workers: set[int] = set()
        end = time.monotonic() + 60
        while len(workers) < 3 and time.monotonic() < end:  # two workers and their tracker of resources
            time.sleep(0.1)
            workers = children(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 128 + signal.SIGTERM
    assert len(workers) >= 3
    end = time.monotonic() + 20  # the tracker of resources tidies up; workers left alone would sleep for a minute
    while not all(map(is_dead, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert [pid for pid in workers if not is_dead(pid)] == []


def is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_there_may_be_no_workers_to_stop():
    stop_workers()


# The clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_clock_is_shown_on_a_terminal_until_something_is_written(monkeypatch):
    monkeypatch.setattr("calibrant.cli.running.SILENCE", 0.01)
    monkeypatch.setattr("calibrant.cli.running.TICK", 0.01)
    stream = Terminal()
    clock = Clock("calibrant test", stream)
    time.sleep(0.2)
    assert stream.getvalue().startswith("\rcalibrant test: 0 s ")
    Output(io.StringIO(), clock).write("result")
    shown = stream.getvalue()
    assert shown.endswith("\r\x1b[K")
    time.sleep(0.05)
    assert stream.getvalue() == shown


def test_no_clock_is_shown_elsewhere_or_to_the_quick(monkeypatch):
    monkeypatch.setattr("calibrant.cli.running.SILENCE", 0.01)
    plain, quick = io.StringIO(), Terminal()
    clock = Clock("x", plain)
    time.sleep(0.05)
    clock.stop()
    monkeypatch.setattr("calibrant.cli.running.SILENCE", 5)
    Clock("x", quick).stop()
    assert plain.getvalue() == quick.getvalue() == ""


# Control characters in names

EVIL = "a\x1b]0;owned\x07\x1b[31m\x9b\u202e\r"
SHOWN = "a\\u001b]0;owned\\u0007\\u001b[31m\\u009b\\u202e\\u000d"


def test_control_characters_are_shown():
    assert visible(EVIL) == SHOWN
    assert visible("line\n\ttext ä → \N{GRINNING FACE}") == "line\n\ttext ä → \N{GRINNING FACE}"
    assert json.loads(visible('"\x9b"')) == "\x9b"
    assert str(cal.FileError(EVIL)) == SHOWN
    assert SHOWN in repr(Table(EVIL, (EVIL,), ((EVIL,),), EVIL))
    assert "\x1b" not in Table(EVIL, (EVIL,), ((EVIL,),), EVIL).to_html()


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A file whose name, columns and classes hold escape sequences."""
    name = EVIL.replace("\r", "")
    path = tmp_path / f"{name}.csv"
    lines = [f"label,prob_{name},prob_b,group", f"{name},0.8,0.2,{name}", f"b,0.4,0.6,{name}", "b,0.7,0.3,c"]
    path.write_text("\n".join(lines * 1 + lines[1:] * 20) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["diagnose"],
        ["diagnose", "--json"],
        ["diagnose", "--view", f"class {EVIL[:-1]}"],
        ["measure", "classwise"],
        ["decompose"],
        ["audit", "--by", "group", "--min-size", "5", "--groups", "none"],
        ["where"],
        ["monitor"],
        ["recalibrate", "--json"],
        ["diagnose", "--label", "none\x1b[31m"],
        ["diagnose", "--probs", "prob_b"],
        ["diagnose", "--report", "none\x1b/r.html"],
    ],
)
def test_no_escape_reaches_the_terminal_or_the_page(evil, command):
    name, *more = command
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, [name, str(evil), *more])
    assert result.exit_code in (0, 3), result.output
    assert set(result.output + result.stderr) & set("\x1b\x07\x9b\u202e") == set()


@pytest.mark.slow
def test_reports_show_escapes_as_text(evil):
    target = evil.parent / "r.html"
    assert run("diagnose", evil, "--report", target).exit_code == 0
    assert set(target.read_text(encoding="utf-8")) & set("\x1b\x07\x9b\u202e") == set()
    assert "\\u001b[31m" in target.read_text(encoding="utf-8")


def test_styles_of_our_own_stay(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal = screen.terminal()
    with terminal.capture() as captured:
        terminal.print(EVIL, style="bold red")
    assert captured.get().startswith("\x1b[1;31ma\\u001b]0;")
