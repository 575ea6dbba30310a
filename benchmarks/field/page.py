"""RESULTS.md and the HTML page, made from the record of a run and the history."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.field import history, plots
from benchmarks.field.section import Record, Section
from benchmarks.field.sections import sections
from benchmarks.harness import RESULTS

MARKDOWN = RESULTS.parent / "RESULTS.md"
HTML = RESULTS / "page.html"
OTHER_PAGES = ("scores", "sort_units", "detect", "audit", "lake", "device")
STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:1150px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px;margin:1em 0;display:block;overflow-x:auto}
td,th{border-bottom:1px solid #ddd;padding:3px 8px;text-align:left;vertical-align:top}th{background:#f5f5f5}
svg{width:100%;height:auto}code{background:#f3f3f3;padding:0 3px}"""


def file_of(kind: str) -> Path:
    return RESULTS / f"field_{kind}.json"


def latest() -> Record | None:
    """The full run, or the quick one where no full one is recorded."""
    for kind in ("full", "quick"):
        if file_of(kind).exists():
            return json.loads(file_of(kind).read_text(encoding="utf-8"))
    return None


def opening(record: Record) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items() if version)
    clock = (
        "Times are CPU time in processes pinned to one core, so that work beside the run counts little"
        if record["clock"] == "cores"
        else "Times are those on the clock, with all cores"
    )
    return [
        f"Written by `make {'bench' if record['kind'] == 'full' else 'bench-quick'}` on {record['date']}, calibrant at commit {record['commit']}; "
        f"{record['machine']}. {clock}. {record['beside']} {record.get('part', '')}".strip(),
        f"Measured with {versions}.",
    ]


def markdown(record: Record, past: list[Record]) -> str:
    lines = ["# calibrant and other packages", ""]
    for text in opening(record):
        lines += [text, ""]
    lines += ["The same with figures: [page.html](results/page.html). Every run: [history.jsonl](history.jsonl).", ""]
    for section in sections(record, past):
        lines += [f"## {section.title}", ""]
        for text in section.text:
            lines += [text, ""]
        lines += table(section)
    pages = ", ".join(f"[{name}](results/{name}.md)" for name in OTHER_PAGES if (RESULTS / f"{name}.md").exists())
    lines += ["## Other pages", "", f"calibrant's own parts in units of their floors: {pages}.", ""]
    return "\n".join(lines)


def table(section: Section) -> list[str]:
    if not section.rows:
        return []
    head = ["| " + " | ".join(section.columns) + " |", "|" + "---|" * len(section.columns)]
    return [*head, *("| " + " | ".join(row) + " |" for row in section.rows), ""]


def html(record: Record, past: list[Record]) -> str:
    parts = ["<h1>calibrant and other packages</h1>", *(f"<p>{inline(text)}</p>" for text in opening(record))]
    figures: dict[str, Any] = {"speed": plots.speed}
    for section in sections(record, past):
        parts.append(f"<h2>{escape(section.title)}</h2>")
        parts += [f"<p>{inline(text)}</p>" for text in section.text]
        if section.plot:
            parts.append(figures[section.plot](record))
        if section.rows:
            head = "".join(f"<th>{escape(name)}</th>" for name in section.columns)
            rows = "".join(
                "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in section.rows
            )
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    body = "\n".join(parts)
    head = f'<meta charset="utf-8"><title>calibrant and other packages</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def inline(text: str) -> str:
    """Code and links of a line of Markdown; links are relative to the page's folder."""
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))
    return re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r'<a href="../\2">\1</a>', text)


def write(record: Record) -> None:
    past = history.read()
    MARKDOWN.write_text(markdown(record, past), encoding="utf-8")
    HTML.write_text(html(record, past), encoding="utf-8")
