"""Quality of recalibration: the arena's recorded tables in short, auto beside the best entry of another package."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.field.section import Record, Section

ARENA = Path(__file__).parents[2] / "studies" / "results" / "arena.md"
OURS = "auto"
OTHERS = ": "
"""In the name of an entry of another package, between the package and its map."""


def recorded(text: str) -> dict[str, Any]:
    """What a run keeps of the arena's page: when it was written, and per group of experiments two of its lines."""
    found: dict[str, Any] = {"written": next(line for line in text.splitlines() if line.startswith("Written by"))}
    found["groups"] = []
    for part in text.split("\n## ")[1:]:
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if "|" in line]
        if not lines or lines[0][0] != "entry":
            continue
        entries = [dict(zip(lines[0], cells, strict=True)) for cells in lines[2:]]
        title, count = part.splitlines()[0], re.search(r"^(\d+) experiments", part, re.MULTILINE)
        chosen = [next((each for each in entries if test(each["entry"])), None) for test in (is_ours, is_others)]
        if None not in chosen and count:
            found["groups"].append(
                {"title": title, "experiments": int(count[1]), "ours": chosen[0], "other": chosen[1]}
            )
    return found


def is_ours(entry: str) -> bool:
    return entry == OURS


def is_others(entry: str) -> bool:
    return OTHERS in entry


def quality(record: Record) -> Section:
    arena = record.get("arena")
    if not arena:
        return Section("Quality of recalibration", ["Measured by [the arena](../studies/results/arena.md)."])
    table = Section(
        "Quality of recalibration",
        [
            "From [the arena](../studies/results/arena.md), which has every entry: `auto` beside the entry of another package that wins most. "
            "Wins: the share of all other entries that an entry beats in log loss, with its 95 % interval. Behind: mean distance from the best "
            f"entry of each experiment, nats × 10³. {arena['written']}"
        ],
        ("data", "experiments", "auto wins", "behind", "best of the others", "wins", "behind", "auto beats it"),
    )
    for group in arena["groups"]:
        ours, other = group["ours"], group["other"]
        table.rows.append(
            (
                group["title"],
                str(group["experiments"]),
                *(ours[key] for key in ("wins, log loss", "behind the best")),
                *(other[key] for key in ("entry", "wins, log loss", "behind the best", f"{OURS} beats it")),
            )
        )
    return table
