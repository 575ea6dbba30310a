"""A few processes that compute, and a queue before them: a file that breaks one breaks nothing else."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from calibrant.problems import CalibrantError, visible

NUMBER = 2
MOST_WAITING = 100
"""Questions that may wait for a process; more are refused."""
SECONDS = 900.0
"""After so long a question is given up."""
TICK = 0.1
MEMORY = 0.4
"""Of the machine's memory, what a process may take."""
BUG = "This is a bug in calibrant: please report it, with the lines that it has printed in its terminal."


class Busy(CalibrantError):
    """Too much is under way already."""


class Broken(CalibrantError):
    """The process ended, or had to be ended, before it answered."""


class Gone(Exception):
    """The client has left."""


class Worker:
    """A process that answers one question after another."""

    def __init__(self, answers: Callable[[Any], Any], folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, answers, folder), daemon=True)
        self.process.start()
        other.close()
        self.last = ""
        """the upload it knows"""

    def answer(self, question: Any, gone: Callable[[], bool], seconds: float) -> Any:
        """What it says; it must be replaced after an error."""
        end = time.monotonic() + seconds
        self.connection.send(question)
        while not self.connection.poll(TICK):
            if gone():
                raise Gone
            if time.monotonic() > end:
                raise Broken(f"This took longer than {seconds / 60:.0f} minutes. The command line has no such limit.")
        return self.connection.recv()

    def stop(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        self.process.close()


class Workers:
    """So many processes, each with one question at a time, which is given up after so many seconds.

    `answers` can be pickled. The processes remove the folder when the server ends, however it ends.
    """

    def __init__(
        self, answers: Callable[[Any], Any], folder: Path, number: int = NUMBER, seconds: float = SECONDS
    ) -> None:
        self.new = partial(Worker, answers, folder)
        self.seconds, self.waiting, self.closed = seconds, 0, False
        self.free = threading.Condition()
        self.idle = [self.new() for _ in range(number)]
        self.all = list(self.idle)

    def answer(self, question: Any, gone: Callable[[], bool], about: str = "") -> Any:
        """The answer to a question when its turn has come; the work is stopped if the one who asked is gone.

        The process that answered the last question about the same upload is preferred: it has read it.
        """
        worker = self._taken(gone, about)
        try:
            found = worker.answer(question, gone, self.seconds)
        except (EOFError, OSError) as error:
            worker = self._replaced(worker)
            ended = "The process that read this file ended unexpectedly; it may be damaged, or too large for the memory"
            raise Broken(f"{ended}.") from error
        except BaseException:
            worker = self._replaced(worker)
            raise
        finally:
            with self.free:
                self.idle.append(worker)
                self.free.notify()
        return found

    def _taken(self, gone: Callable[[], bool], about: str) -> Worker:
        """The next free process; a client who leaves the queue is forgotten."""
        with self.free:
            if self.waiting >= MOST_WAITING:
                raise Busy(f"{self.waiting} other questions are waiting. Try again in a moment.")
            self.waiting += 1
            try:
                while not self.idle:
                    self.free.wait(TICK)
                    if gone():
                        raise Gone
            finally:
                self.waiting -= 1
            worker = next((each for each in self.idle if each.last == about), self.idle[0])
            self.idle.remove(worker)
            worker.last = about
            return worker

    def _replaced(self, worker: Worker) -> Worker:
        worker.stop()
        with self.free:
            if self.closed:
                return worker
            self.all.remove(worker)
            self.all.append(self.new())
            return self.all[-1]

    def close(self) -> None:
        """End all processes."""
        with self.free:
            self.closed = True
            for worker in self.all:
                with suppress(ValueError, OSError):  # stopped already
                    worker.stop()


def work(connection: Any, answers: Callable[[Any], Any], folder: Path) -> None:
    """The life of a process: answer questions until the server is gone, and leave nothing behind it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this process
    limit_memory()
    while True:
        try:
            question = connection.recv()
        except (EOFError, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            found = answers(question)
        except Exception:  # a bug: told on the terminal, in full
            sys.stderr.write(visible(traceback.format_exc()))
            found = {"error": BUG}
        with suppress(OSError):
            connection.send(found)


def limit_memory() -> None:
    """A file that needs more than its share of the memory breaks this process alone, where the system knows such limits."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        most = int(MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
