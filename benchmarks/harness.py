"""How a benchmark measures and records."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def best(call: Callable[[], Any], seconds: float = 2.0, least: int = 3) -> float:
    """Shortest time of a call in milliseconds, after one call to warm up."""
    call()
    times: list[float] = []
    stop = time.perf_counter() + seconds
    while len(times) < least or (time.perf_counter() < stop and len(times) < 50):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


@dataclass
class Report:
    """Rows of one benchmark, written as Markdown for people and JSON for machines."""

    name: str
    question: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    def add(self, *row: Any) -> None:
        self.rows.append(row)
        print("  ".join(_text(cell) for cell in row), flush=True)

    def write(self, packages: tuple[str, ...] = ()) -> None:
        RESULTS.mkdir(exist_ok=True)
        where = setting(("numpy", "numba", *packages))
        lines = [
            f"# {self.name}",
            "",
            self.question,
            "",
            "| " + " | ".join(self.columns) + " |",
            "|" + "---|" * len(self.columns),
        ]
        lines += ["| " + " | ".join(_text(cell) for cell in row) + " |" for row in self.rows]
        lines += [
            "",
            *[f"- {finding}" for finding in self.findings],
            "",
            f"Measured {where['date']}: {where['text']}.",
            "",
        ]
        (RESULTS / f"{self.name}.md").write_text("\n".join(lines), encoding="utf-8")
        (RESULTS / f"{self.name}.json").write_text(
            json.dumps(asdict(self) | {"setting": where}, indent=1) + "\n", encoding="utf-8"
        )


def commit() -> str:
    """The state of the code that was measured."""
    here = ["git", "-C", str(Path(__file__).parents[1] / "src")]
    name, changed = (
        subprocess.run([*here, *command], capture_output=True, text=True, check=False).stdout.strip()
        for command in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "."))
    )
    return (name or "unknown") + (", changed since" if changed else "")


def setting(packages: tuple[str, ...]) -> dict[str, Any]:
    """When and with what a benchmark ran."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    text = f"Python {platform.python_version()}, {os.cpu_count()} cores, " + ", ".join(
        f"{k} {v}" for k, v in found.items()
    )
    return {"date": datetime.now(UTC).date().isoformat(), "text": text, "versions": found}


def _text(cell: Any) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
