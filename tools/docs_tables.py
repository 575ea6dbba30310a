"""Tables in Markdown, and the places of pages where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def table(columns: tuple[str, ...], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def filled(page: Path | str, made: dict[str, Iterable[str]]) -> str:
    """A page with what is made between its marks, `<!-- NAME: made by … -->` and `<!-- end of NAME -->`, by name."""
    text = page if isinstance(page, str) else page.read_text(encoding="utf-8")
    for name, lines in made.items():
        mark = re.compile(rf"(<!-- {name}: made by \S+ -->\n).*?(\n<!-- end of {name} -->)", re.DOTALL)
        inside = "\n".join(lines).strip()
        text, count = mark.subn(lambda found: f"{found[1]}\n{inside}\n{found[2]}", text)  # noqa: B023
        assert count == 1, f"one pair of marks of {name!r}, not {count}"
    return text
