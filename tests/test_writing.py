"""Files written whole or not at all, and never over another kind."""

from __future__ import annotations

import errno
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import report
from calibrant.writing import check_target, kind_of, locked, whole_or_nothing, write_text

LABELS, PROBS = [0, 1, 1, 0] * 10, [0.2, 0.7, 0.6, 0.4] * 10


def a_map(path: Path, **options: bool) -> None:
    cal.recalibrate(cal.Predictions(LABELS, PROBS)).save(path, **options)


def a_state(path: Path, **options: bool) -> None:
    cal.collect(LABELS, PROBS).save(path, **options)


def an_answer(path: Path, **options: bool) -> None:
    cal.diagnose(LABELS, PROBS).save(path, **options)


def a_report(path: Path, **options: bool) -> None:
    report.write(path, cal.diagnose(LABELS, PROBS), **options)


def a_monitor(path: Path, **options: bool) -> None:
    write_text(path, cal.Monitor().update(LABELS, PROBS).to_json(), "monitor state", **options)


WRITERS = {"map": a_map, "state": a_state, "monitor state": a_monitor, "report": a_report}


@pytest.mark.some(18)
@pytest.mark.parametrize("old", WRITERS)
@pytest.mark.parametrize("new", WRITERS)
def test_a_file_is_replaced_by_its_own_kind_only(tmp_path, old, new):
    path = tmp_path / "x.json"
    WRITERS[old](path)
    assert kind_of(path) == old
    before = path.read_bytes()
    if old == new:
        WRITERS[new](path)
        return
    with pytest.raises(cal.FileError, match=rf"x\.json' exists already and holds a {old}\. .* pass overwrite=True\."):
        WRITERS[new](path)
    assert path.read_bytes() == before
    WRITERS[new](path, overwrite=True)
    assert kind_of(path) == new


def test_kinds_are_known_in_every_format(tmp_path):
    a_report(tmp_path / "r.html")
    an_answer(tmp_path / "a.json")
    a_state(tmp_path / "s.arrow")
    a_state(tmp_path / "s.arrow")
    assert [kind_of(tmp_path / name) for name in ("r.html", "a.json", "s.arrow")] == ["report", "report", "state"]
    np.savez(tmp_path / "p.npz", a=[1])
    others = {
        "p.csv": "label,p\n",
        "page.html": "<!doctype html><title>mine</title>",
        "j.json": '{"a": 1}',
        "b": "\x08x",
    }
    for name, text in others.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "plugin.json").write_text('{"schema": 1, "kind": "SomeonesMap"}')
    assert {kind_of(tmp_path / name) for name in (*others, "p.npz", "plugin.json")} == {"other data"}
    (tmp_path / "empty").write_text("")
    assert kind_of(tmp_path / "empty") == "nothing"
    (tmp_path / "broken.arrow").write_bytes(b"ARROW1 and no more")
    assert kind_of(tmp_path / "broken.arrow") == "other data"


@pytest.mark.parametrize("write", [a_map, a_state, an_answer, a_report])
def test_other_data_are_not_replaced_and_nothing_is(tmp_path, write):
    path = tmp_path / "x.json"
    path.write_text('{"mine": 1}')
    with pytest.raises(cal.FileError, match=r"x\.json' exists already\. Choose another name, or pass overwrite=True\."):
        write(path)
    assert path.read_text() == '{"mine": 1}'
    path.write_text("")
    write(path)
    assert path.stat().st_size > 100


def test_a_file_that_is_read_is_kept_whatever_its_kind(tmp_path):
    a_map(tmp_path / "m.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "m.json")
    with pytest.raises(cal.FileError, match="is read by the same command"):
        check_target(tmp_path / "link.json", "map", kept=(tmp_path / "m.json",))
    check_target(tmp_path / "link.json", "map", kept=(tmp_path / "m.json",), overwrite=True)


def test_a_target_that_cannot_be_written_is_refused_at_once(tmp_path, monkeypatch):
    (tmp_path / "folder.html").mkdir()
    cases = {"folder.html": "it is a folder", "none/r.html": "there is no such folder"}
    for name, message in cases.items():
        with pytest.raises(cal.FileError, match=rf"cannot write the report '.*{name}': {message}"):
            check_target(tmp_path / name, "report")
    with pytest.raises(cal.FileError, match=r"a report must end in \.html or \.json; 'r' does not: it has no ending"):
        check_target("r", "report", endings=(".html", ".json"))
    monkeypatch.setattr("os.access", lambda path, _: path != tmp_path)
    with pytest.raises(cal.FileError, match="permission denied"):
        check_target(tmp_path / "r.html", "report")


@pytest.mark.parametrize("fails", ["os.fsync", "os.replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, fails):
    path = tmp_path / "m.json"
    a_map(path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fails, full)
    for write in (a_map, a_state):
        with pytest.raises(cal.FileError, match=r"cannot write the (map|state) .*m\.json': No space left on device"):
            write(path, overwrite=True)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("m.json", before)]


def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.json"
    write_text(path, '{"schema": 1, "kind": "IdentityMap"}', "map")
    code = (
        "import os, signal\nfrom calibrant.writing import write_text\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"write_text({str(path)!r}, 'x' * 100_000, 'map')"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert path.read_text() == '{"schema": 1, "kind": "IdentityMap"}\n'


def test_links_and_modes_stay(tmp_path):
    path, link = tmp_path / "m.json", tmp_path / "link.json"
    a_map(path)
    path.chmod(0o640)
    link.symlink_to(path)
    a_map(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_text(pipe, "text", "report")
        assert reader.communicate()[0] == b"text\n"
    assert pipe.is_fifo()


def test_a_failure_while_writing_leaves_nothing(tmp_path):
    with pytest.raises(TypeError), whole_or_nothing(tmp_path / "x", "report") as partial, partial.open("w") as file:
        file.writelines(["half", None])
    assert list(tmp_path.iterdir()) == []


def count_up(path: str, times: int) -> None:
    for _ in range(times):
        with locked(path):
            found = int(Path(path).read_text())
            time.sleep(0.001)
            Path(path).write_text(str(found + 1))


@pytest.mark.slow
def test_a_locked_file_has_one_owner_at_a_time(tmp_path):
    path = tmp_path / "count"
    path.write_text("0")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=count_up, args=(str(path), 25)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert path.read_text() == "100"
    assert [each.name for each in tmp_path.iterdir()] == ["count"]


@pytest.mark.parametrize("portable", [False, True])
def test_a_lock_that_stays_is_reported(tmp_path, monkeypatch, portable):
    if portable:
        monkeypatch.setitem(sys.modules, "fcntl", None)
    path = tmp_path / "state.json"
    message = (
        r"state\.json' is being changed by another process\. Try again; if none is, remove '.*\.state\.json\.lock'"
    )
    with locked(path), pytest.raises(cal.FileError, match=message), locked(path, seconds=0.05):
        pass
    with locked(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_place_for_the_lock_is_reported(tmp_path):
    with pytest.raises(cal.FileError, match="cannot lock"), locked(tmp_path / "none" / "s.json"):
        pass


@pytest.mark.parametrize("name", ["a\0b.json", "x" * 5000 + ".json"], ids=["NUL", "too long"])
def test_names_that_no_file_can_have_are_refused(tmp_path, name):
    with pytest.raises(cal.FileError, match="cannot write the map"):
        write_text(tmp_path / name, "{}", "map")
