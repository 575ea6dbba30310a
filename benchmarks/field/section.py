"""A part of the page, and how numbers are written on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.field.tasks import TASKS

TITLES = {task.name: task.title for task in TASKS}
Row = dict[str, Any]
Record = dict[str, Any]


@dataclass
class Section:
    title: str
    text: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)
    plot: str = ""
    """the name of a figure, shown on the HTML page only"""


def size(n: int, k: int) -> str:
    return f"{n:,}" if k < 2 else f"{n:,} × {k:,}"


def short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
