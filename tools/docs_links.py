"""Links between the Markdown files of the repository: where they lead, which anchors there are, and how many clicks it takes."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docs_tables import filled, table

ROOT = Path(__file__).parent.parent
START, QUESTIONS = "docs/index.md", "docs/faq.md"
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]*?)(?:#([^)\s]*))?\)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
ASKED = re.compile(r"^- \*\*(.+?)\*\*(.*(?:\n  .*)*)", re.MULTILINE)


def prose(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a page: (is it outside code, its text)."""
    for k, part in enumerate(CODE.split(text)):
        yield k % 2 == 0, part


@cache
def links(page: str) -> list[tuple[str, str]]:
    """Targets of a page, from the root of the repository, each with its anchor; addresses of other hosts as they are."""
    text = "".join(part for outside, part in prose((ROOT / page).read_text(encoding="utf-8")) if outside)
    found = []
    for _, target, anchor in LINK.findall(text):
        foreign = re.match(r"[a-z]+:", target)
        here = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
        found.append((target if foreign else here, anchor))
    return found


@cache
def anchors(page: str) -> set[str]:
    """What headings of a page can be linked to, as Markdown makes them."""
    found: set[str] = set()
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = unicodedata.normalize("NFKD", heading.replace("`", "")).encode("ascii", "ignore").decode()
        found.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return found


def dead(page: str) -> list[str]:
    """Links of a page that lead nowhere; of those to other hosts the form alone is looked at."""
    found = []
    for target, anchor in links(page):
        if ":" in target:
            good = re.fullmatch(r"https://[\w.-]+\.\w+(/\S*)?|mailto:\S+@\S+", target)
        else:
            file = ROOT / target
            good = file.exists() and (not anchor or (file.suffix == ".md" and anchor in anchors(target)))
        found += [] if good else [f"{target}#{anchor}" if anchor else target]
    return found


def titled(page: str) -> str:
    """The first heading of a page."""
    return next(line[2:] for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("# "))


def clicks(start: str = START, without: str = QUESTIONS) -> dict[str, list[str]]:
    """The shortest way from the start page to every page, as a list of pages, by links in the text alone."""
    ways, frontier = {start: [start]}, [start]
    while frontier:
        page = frontier.pop(0)
        for target, _ in links(page):
            if target.endswith(".md") and target not in ways and target != without and (ROOT / target).exists():
                ways[target] = [*ways[page], target]
                frontier.append(target)
    return ways


def questions() -> dict[str, str]:
    """Every question of the FAQ with the page that answers it."""
    text = (ROOT / QUESTIONS).read_text(encoding="utf-8").split("<!-- paths")[0]
    found = {}
    for question, answer in ASKED.findall(text):
        target = LINK.findall(answer)[-1][1]
        found[question] = posixpath.normpath(posixpath.join("docs", target))
    return found


def faq() -> str:
    """The FAQ with the way to every answer between its marks."""
    ways = clicks()
    rows = [
        (question, " → ".join(titled(page) for page in ways[target][1:])) for question, target in questions().items()
    ]
    return filled(ROOT / QUESTIONS, {"paths": table(("question", "pages to click"), rows)})
