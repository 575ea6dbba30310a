"""One line per run: when, where, with what, and every median. A later run shows what became slower."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.field.environments import OWN
from benchmarks.field.measure import FLOOR

FILE = Path(__file__).parents[1] / "history.jsonl"
CHANGED = 1.25
"""Factor beyond which a time is called changed."""

KEPT = ("date", "commit", "kind", "clock", "machine", "beside", "versions")
Record = dict[str, Any]
Key = tuple[str, int, int]


def line(record: Record) -> Record:
    """What the history keeps of a run."""
    medians = {
        f"{row['task']}|{row['n']}|{row['k']}|{row['peer']}": float(f"{row[record['clock']]:.4g}")
        for row in record["rows"]
        if "error" not in row
    }
    return {key: record[key] for key in KEPT} | {"medians": medians}


def read(file: Path = FILE) -> list[Record]:
    return [json.loads(each) for each in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def append(record: Record, file: Path = FILE) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line(record), ensure_ascii=False) + "\n")


def changes(record: Record, history: list[Record]) -> tuple[list[tuple[Key, float, float, float]], Record | None]:
    """Calls of calibrant that became slower or faster since the last run of the same kind and clock, and that run.

    Other packages do not change between runs, so the median change of their times is the machine's, and is divided out.
    """
    own = line(record)
    earlier = [
        each
        for each in history
        if each["medians"] != own["medians"] and all(each[k] == own[k] for k in ("kind", "clock"))
    ]
    if not earlier:
        return [], None
    before = earlier[-1]
    ratios = {key: now / before["medians"][key] for key, now in own["medians"].items() if key in before["medians"]}
    peers = [ratio for key, ratio in ratios.items() if key.split("|")[3] not in (OWN, FLOOR)]
    drift = statistics.median(peers) if peers else 1.0
    found = []
    for key, ratio in ratios.items():
        task, n, k, peer = key.split("|")
        if peer == OWN and not 1 / CHANGED <= ratio / drift <= CHANGED:
            found.append(((task, int(n), int(k)), before["medians"][key], own["medians"][key], ratio / drift))
    return sorted(found, key=lambda each: -each[3]), before
