"""Around every command: a reader who leaves, a signal to end, and a clock while nothing else is shown."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from calibrant.problems import visible

SILENCE = 1.0
"""Seconds without output after which the clock is shown."""
TICK = 0.2
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
BROKEN_PIPE = 141
"""What a shell reports of a program whose reader left: 128 + SIGPIPE."""


class Clock:
    """`calibrant test: 12 s` on the error stream, if that is a terminal, until something else is written."""

    def __init__(self, title: str, stream: Any) -> None:
        self.title, self.stream = visible(title), stream
        self.start, self.shown = time.monotonic(), False
        self.done, self.lock = threading.Event(), threading.Lock()
        if stream.isatty():
            threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        wait = SILENCE
        while not self.done.wait(wait):
            wait = TICK
            with self.lock, suppress(OSError):  # a terminal may be closed
                if not self.done.is_set():
                    self.stream.write(f"\r{self.title}: {time.monotonic() - self.start:.0f} s ")
                    self.stream.flush()
                    self.shown = True

    def stop(self) -> None:
        """Remove the clock for good."""
        with self.lock, suppress(OSError):
            self.done.set()
            if self.shown:
                self.stream.write("\r\x1b[K")
                self.stream.flush()
                self.shown = False


class Output:
    """A stream before which the clock gives way; once its reader has left, what is written to it is dropped."""

    def __init__(self, stream: Any, clock: Clock) -> None:
        self.stream, self.clock, self.left = stream, clock, False

    def write(self, text: str) -> int:
        """Write, or drop the text where nobody reads it."""
        self.clock.stop()
        if not self.left:
            try:
                self.stream.write(text)
            except BrokenPipeError:
                self._leave()
        return len(text)

    def flush(self) -> None:
        """Pass on what was written."""
        if not self.left:
            try:
                self.stream.flush()
            except BrokenPipeError:
                self._leave()

    def _leave(self) -> None:
        """What is still in the stream's own buffer goes nowhere, so that closing it does not fail again."""
        self.left = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


_QUIET = "calibrant.quiet"
"""Where the context keeps that nothing but errors and JSON is to be printed."""


def set_quiet(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    """The callback of --quiet."""
    if given:
        ctx.meta[_QUIET] = True


def is_quiet() -> bool:
    """Was --quiet given?"""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_QUIET))


class NoTerminal:
    """A stream on which nothing is drawn: no clock, no bars."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def isatty(self) -> bool:
        """It does as if it were a file."""
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def quietened(results: bool) -> Iterator[None]:
    """Run a command with no output but errors, and results if they are wanted.

    Parameters
    ----------
    results
        Does the command print JSON?
    """
    streams = sys.stdout, sys.stderr
    if isinstance(sys.stderr, Output):
        sys.stderr.clock.stop()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stdout, sys.stderr = sys.stdout if results else nowhere, NoTerminal(sys.stderr)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams


@contextmanager
def running(title: str) -> Iterator[Output]:
    """Run a command in these surroundings; gives its output stream.

    Parameters
    ----------
    title
        What the clock shows.
    """
    streams = sys.stdout, sys.stderr
    clock = Clock(title, sys.stderr)
    output = Output(sys.stdout, clock)
    sys.stdout, sys.stderr = output, Output(sys.stderr, clock)
    before = _handle_signals()
    try:
        yield output
    finally:
        clock.stop()
        sys.stdout, sys.stderr = streams
        for number, handler in before.items():
            signal.signal(number, handler)


class Ended(SystemExit):
    """A signal asked the process to end: files are left whole, workers are stopped."""


def _handle_signals() -> dict[Any, Any]:
    """End in an orderly way when asked to; the former handlers."""
    if threading.current_thread() is not threading.main_thread():
        return {}

    def end(number: int, _: Any) -> None:
        raise Ended(128 + number)

    asked = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]  # nohup ignores SIGHUP
    return {number: signal.signal(number, end) for number in asked}


def stop_workers() -> None:
    """Kill the processes that share the work, if there are any."""
    if "joblib.externals.loky.reusable_executor" in sys.modules:
        executor = getattr(sys.modules["joblib.externals.loky.reusable_executor"], "_executor", None)
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=True)
