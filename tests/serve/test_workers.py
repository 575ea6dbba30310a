"""Processes that compute: they take turns, and what breaks one breaks nothing else."""

import multiprocessing
import os
import sys
import threading
import time

import pytest

from calibrant.serve import workers as module
from calibrant.serve.workers import Broken, Busy, Gone, Workers
from page_client import until

SLEEP = "__import__('time').sleep({})"


def never():
    return False


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """One process, whose questions are Python."""
    found = Workers(eval, tmp_path_factory.mktemp("uploads"), 1)
    yield found
    found.close()


def test_a_process_of_its_own_answers_and_a_bug_does_not_end_it(pool):
    first = pool.answer("__import__('os').getpid()", never)
    assert first != os.getpid()
    assert "bug" in pool.answer("1 / 0", never)["error"]
    assert pool.answer("__import__('os').getpid()", never) == first


def test_a_bug_is_shown_on_the_terminal_in_full(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(module.signal, "signal", lambda *_: None)
    monkeypatch.setattr(module, "limit_memory", lambda: None)
    here, there = multiprocessing.Pipe()
    here.send("1 / 0")
    here.send("2")
    thread = threading.Thread(target=module.work, args=(there, eval, tmp_path / "uploads"))
    thread.start()
    assert [here.recv(), here.recv()] == [{"error": module.BUG}, 2]
    here.close()
    thread.join()
    there.close()
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_a_process_may_take_a_part_of_the_memory(pool):
    limit = pool.answer("__import__('resource').getrlimit(__import__('resource').RLIMIT_DATA)[0]", never)
    assert limit == int(0.4 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def test_a_process_that_dies_is_replaced(pool):
    with pytest.raises(Broken, match="ended unexpectedly"):
        pool.answer("__import__('os')._exit(3)", never)
    assert len(pool.idle) == len(pool.all) == 1
    assert pool.answer("1 + 1", never) == 2


def test_who_leaves_stops_the_work(pool):
    pid = pool.answer("__import__('os').getpid()", never)
    start = time.monotonic()
    with pytest.raises(Gone):
        pool.answer(SLEEP.format(60), lambda: time.monotonic() > start + 0.1)
    assert time.monotonic() - start < 30
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert pool.answer("1 + 1", never) == 2


def test_work_that_takes_too_long_is_given_up(pool, monkeypatch):
    monkeypatch.setattr(pool, "seconds", 0.1)
    with pytest.raises(Broken, match="longer than 0 minutes"):
        pool.answer(SLEEP.format(60), never)


def test_questions_wait_for_their_turn_and_too_many_are_refused(pool, monkeypatch):
    monkeypatch.setattr(module, "MOST_WAITING", 1)
    done = []
    threads = [threading.Thread(target=lambda: done.append(pool.answer(SLEEP.format(0.2), never))) for _ in range(2)]
    for each in threads:
        each.start()
    until(lambda: pool.waiting == 1 and not pool.idle)
    with pytest.raises(Busy, match="1 other questions are waiting"):
        pool.answer("1", never)
    for each in threads:
        each.join()
    assert done == [None, None]


def test_who_leaves_the_queue_is_forgotten(pool):
    thread = threading.Thread(target=pool.answer, args=(SLEEP.format(0.2), never))
    thread.start()
    until(lambda: not pool.idle)
    with pytest.raises(Gone):
        pool.answer(SLEEP.format(60), lambda: True)
    thread.join()
    assert pool.waiting == 0


def test_the_process_that_has_read_an_upload_is_preferred(tmp_path):
    class Known:
        def __init__(self, last):
            self.last = last

    found = Workers(eval, tmp_path, 0)
    found.idle = [Known("a"), Known("b"), Known("c")]
    assert found._taken(never, "b").last == "b"
    assert found._taken(never, "new").last == "new"
    assert [each.last for each in found.idle] == ["c"]


def test_the_files_go_when_the_server_is_gone(tmp_path):
    folder = tmp_path / "uploads"
    folder.mkdir()
    found = Workers(eval, folder, 1)
    try:
        (folder / "x").write_text("1")
        found.all[0].connection.close()  # as when the server is killed
        until(lambda: not folder.exists())
    finally:
        found.close()
