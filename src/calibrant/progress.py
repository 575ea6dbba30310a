"""Progress of long work: a bar on the terminal, or a function of the user's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from calibrant.problems import InputError

Report = Callable[[int, int], None]
"""called with the number of steps done and of all steps"""
Progress = bool | Report


def check_progress(progress: Any) -> None:
    """Refuse what is neither a bool nor a function."""
    if not isinstance(progress, bool) and not callable(progress):
        raise InputError("progress", "must be True, False or a function of (done, of)", f"it is {progress!r}")


@contextmanager
def reported(progress: Any, title: str, speed: Callable[[], str] | None = None) -> Iterator[Report]:
    """The user's `progress=` as a function of (done, of).

    True is a bar on the error stream if that is a terminal, removed when done; False is
    silence; a function is called as it is.

    Parameters
    ----------
    progress
        What the user passed.
    title
        Beside the bar.
    speed
        Gives a text that is shown behind the bar.
    """
    check_progress(progress)
    if progress is not True or not sys.stderr.isatty():
        yield progress if callable(progress) else lambda _done, _of: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    columns: list[Any] = [*Bar.get_default_columns(), "{task.fields[speed]}"]
    say: Callable[[], str] = str if speed is None else speed
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, speed="")
        yield lambda done, of: bar.update(task, completed=done, total=of, speed=say())


def offset(report: Report, before: int, count: int, total: int, done: int, of: int) -> None:
    """Report `done` of `of` parts of one round, which is `count` steps, as steps of `total`.

    Parameters
    ----------
    report
        Called with the steps done and all of them.
    before
        Steps done before the round.
    count, total
        Steps of the round, and of all rounds.
    done, of
        Parts of the round that are done, and all of them.
    """
    report(before + max(1, round(count * done / of)), total)


_watched: ContextVar[Report | None] = ContextVar("watched", default=None)


@contextmanager
def watched(progress: Any, title: str) -> Iterator[None]:
    """Show the progress of the null draws of whatever test runs inside."""
    with reported(progress, title) as report:
        token = _watched.set(report)
        try:
            yield
        finally:
            _watched.reset(token)


def counted(parts: Iterable[Any], of: int) -> Iterator[Any]:
    """The parts as they come, reported if they are watched."""
    report = _watched.get()
    for done, part in enumerate(parts, 1):
        if report is not None:
            report(done, of)
        yield part
