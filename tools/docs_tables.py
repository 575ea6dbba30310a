"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def table(columns: tuple[str, ...], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]
