"""What a recorded run shows on worlds with a known truth: accuracy of estimators, validity of intervals, size and power of tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from benchmarks.field.accuracy import NAMES as WORLDS
from benchmarks.field.claims import ESTIMATORS, INTERVALS, LEVEL, NAMES, SIZE, TESTS
from benchmarks.field.section import TITLES, Record, Row, Section
from benchmarks.field.table import CALLS

SCOREBOARD = "../studies/results/scoreboard.md"
ALIKE = "Packages whose numbers are equal as printed share a row."


def accuracy(record: Record) -> list[Section]:
    kept = [row for row in record["accuracy"] if "error" not in row]
    if not kept:
        return [Section("Accuracy", ["Not measured in this run."])]
    truths = {(row["world"], ESTIMATORS.get(row["task"])): row["truth"] for row in kept if row["task"] in ESTIMATORS}
    return [
        crossed(
            "Accuracy of estimators",
            [
                f"{when(kept)}Root mean square error (bias) of estimates from {kept[0]['n']:,} rows, ± their Monte-Carlo standard errors, all × 10³, on "
                f"worlds whose true error is known: of norm 1, but of norm 2 for {'; '.join(name(t) for t, norm in ESTIMATORS.items() if norm == 2)}. "
                f"True errors of norm 1 / 2: {errors(truths)}. All estimators of calibrant on all worlds: [the scoreboard]({SCOREBOARD}).",
                *untried(kept),
                ALIKE,
            ],
            kept,
            ESTIMATORS,
            estimate,
        ),
        crossed(
            "Validity of intervals",
            [
                f"Share of {LEVEL:.0%} intervals of the calibration error that contain the true one, and their mean width × 10³, ± Monte-Carlo "
                "standard errors. The sets of arXiv 2408.08998 are written here from the paper's definitions: the cells are of equal volume.",
                *notes(INTERVALS),
            ],
            kept,
            INTERVALS,
            lambda row: f"{share(row)}, {1e3 * row['width']:.0f} ± {1e3 * row['error_of_width']:.1g}",
        ),
        crossed(
            "Size and power of tests",
            [
                f"Share of data sets with p ≤ {SIZE:g}, ± its Monte-Carlo standard error: false alarms in the calibrated worlds, where a valid "
                f"test has at most {SIZE:.0%}, and power in the others.",
                *notes(TESTS),
                ALIKE,
            ],
            kept,
            TESTS,
            share,
        ),
    ]


def when(rows: list[Row]) -> str:
    found = dict.fromkeys(f"{row['date']} at commit {row['commit']}" for row in rows if "commit" in row)
    return f"Measured on {', '.join(found)}. " if found else ""


def untried(rows: list[Row]) -> list[str]:
    left = [name for name in WORLDS if name not in {row["world"] for row in rows}]
    return [f"Not tried in this run: {'; '.join(left)}."] if left else []


def errors(truths: dict[tuple[str, int | None], float]) -> str:
    names = dict.fromkeys(name for name, _ in truths)
    return "; ".join(f"{name} {truths[name, 1]:.3g} / {truths[name, 2]:.3g}" for name in names)


def notes(tasks: Iterable[str]) -> list[str]:
    """What is said of a package's claim, once."""
    said = {(peer, call.differs): None for (task, peer), call in CALLS.items() if task in tasks and call.differs}
    return [f"{peer}: {text}." for peer, text in said]


def estimate(row: Row) -> str:
    parts = [
        f"{1e3 * row[key]:{sign}.1f} ± {1e3 * row['error_of_' + key]:.1f}"
        for key, sign in (("rmse", ""), ("bias", "+"))
    ]
    return f"{parts[0]} ({parts[1]})"


def share(row: Row) -> str:
    return f"{row['share']:.0%} ± {row['error_of_share']:.0%}"


def crossed(title: str, text: list[str], rows: list[Row], tasks: Iterable[str], show: Callable[[Row], str]) -> Section:
    """A line per task and package, or packages that agree; a column per world."""
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    cells: dict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        if row["task"] in tasks:
            cells[row["task"], row["peer"]][row["world"]] = row
    lines: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (task, peer), found in cells.items():
        least, most = (each(row["sets"] for row in found.values()) for each in (min, max))
        shown = (show(found[world]) if world in found else "–" for world in worlds)
        lines[name(task), f"{least}" if least == most else f"{least}–{most}", *shown].append(peer)
    table = Section(title, text, ("what", "package", "data sets", *worlds))
    table.rows += [(line[0], ", ".join(peers), *line[1:]) for line, peers in lines.items()]
    return table


def name(task: str) -> str:
    return NAMES.get(task) or TITLES.get(task) or task.removeprefix("test: ")
