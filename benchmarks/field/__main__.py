"""`python -m benchmarks.field` measures everything, `--quick` the essentials in three minutes, `--page` only writes the page anew, with the arena of now."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
from datetime import UTC, datetime
from typing import Any

from benchmarks.field import history, page, quality
from benchmarks.field.accuracy import FEW_WORLDS, NAMES, accuracy
from benchmarks.field.environments import OWN, Environment, all_environments, peers
from benchmarks.field.measure import Process, compiling, files, measure_all, processes, start_up
from benchmarks.field.table import CALLS
from benchmarks.field.tasks import TASKS
from benchmarks.harness import commit

COMPILED_AT = 1_000_000
SETTINGS: dict[bool, dict[str, Any]] = {
    True: {"rounds": 5, "starts": 1, "sets": 20, "least": 4, "seconds": 0.2, "compile": ("ece", "mass")},
    False: {"rounds": 7, "starts": 3, "sets": 400, "least": 10, "seconds": 4.0, "compile": None},
}
"""A quick run and a full one: rounds of timing, starts of a process, data sets with a known truth and CPU seconds for them per world and
call, first calls (all: None)."""

PATIENCE = 300.0
"""Seconds after which a call that did not return is given up."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few packages, 10³ and 10⁵ rows")
    parser.add_argument("--as-installed", action="store_true", help="do not try again what could not be installed")
    parser.add_argument("--packages", nargs="+", choices=list(peers()), metavar="NAME", help="only these")
    parser.add_argument(
        "--one-core",
        action="store_true",
        help="pin each process to a core and compare CPU time, where other work runs beside",
    )
    parser.add_argument("--largest", type=int, default=10**7, help="rows above which nothing is measured")
    parser.add_argument("--classes", type=int, default=1000, help="classes above which nothing is measured")
    parser.add_argument(
        "--slow", type=float, default=1000.0, help="milliseconds beyond which a package is not asked at larger sizes"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=math.inf,
        help="time for the speed table, and again for accuracy; the largest sizes and last worlds are left out when it is over",
    )
    parser.add_argument(
        "--first", nargs="+", metavar="TASK", help="first calls in new processes; all of one event by default"
    )
    parser.add_argument("--sets", type=int, help="data sets of each world with a known truth; 0 keeps what is recorded")
    parser.add_argument("--seconds", type=float, help="CPU seconds after which a world and call gets no more data sets")
    parser.add_argument("--starts", type=int, help="new processes for the times of import and first number")
    parser.add_argument(
        "--accuracy",
        action="store_true",
        help="only measure accuracy, into the recorded run: worlds that are not tried keep their rows",
    )
    parser.add_argument(
        "--worlds", nargs="+", choices=NAMES, metavar="NAME", help="worlds with a known truth; all by default"
    )
    parser.add_argument(
        "--page", action="store_true", help="only write the page of the recorded run anew, with the arena of now"
    )
    return parser.parse_args()


def environments_of(given: argparse.Namespace) -> dict[str, Environment]:
    names = given.packages or [name for name, each in peers().items() if each.get("quick") or not given.quick]
    return all_environments(names, again=not given.as_installed)


def run(given: argparse.Namespace) -> dict[str, Any]:
    quick, one_core, chosen = given.quick, given.one_core, SETTINGS[given.quick]
    found = environments_of(given)
    loads = [os.getloadavg()[0]]
    with files() as file, processes(found, one_core, PATIENCE) as workers:
        shared = [task for task in TASKS if task.alone or sum((task.name, name) in CALLS for name in workers) > 1]
        tasks = [
            (task, [(n, k) for n, k in task.sizes(quick) if n <= given.largest and k <= given.classes])
            for task in shared
        ]
        rows, left = measure_all(tasks, workers, file, chosen["rounds"], given.slow, given.minutes)
        loads.append(os.getloadavg()[0])
        truths = known(given, workers)
        start = start_up(found, file((1_000, 1)), one_core, given.starts or chosen["starts"])
        first = given.first or chosen["compile"] or [task.name for task in TASKS if task.shapes[0][1] == 1]
        compiled = compiling(found[OWN], list(first), file((COMPILED_AT, 1)), one_core)
    loads.append(os.getloadavg()[0])
    return about(quick, one_core, loads) | {
        "versions": {name: each.version for name, each in found.items()},
        "part": part(given, left),
        "rows": [rounded(row) for row in rows],
        "start": [rounded(row) for row in start],
        "compiling": [rounded(row) for row in compiled],
        "compiled_at": COMPILED_AT,
        **truths,
    }


def known(given: argparse.Namespace, workers: dict[str, Process]) -> dict[str, Any]:
    """Accuracy on worlds with a known truth, and the arena's tables: what does not depend on how busy the machine is."""
    chosen = SETTINGS[given.quick]
    sets = chosen["sets"] if given.sets is None else given.sets
    least, seconds = min(sets, chosen["least"]), given.seconds or chosen["seconds"]
    names, at = given.worlds or (FEW_WORLDS if given.quick else NAMES), {"date": today(), "commit": commit()}
    rows = accuracy(workers, sets, least, seconds, names, given.minutes) if sets else []
    return {
        "accuracy": [rounded(row) | at for row in rows],
        "arena": arena(),
    }


def arena() -> dict[str, Any]:
    """The arena's tables as they are recorded now."""
    return quality.recorded(quality.ARENA.read_text(encoding="utf-8"))


def merged(before: list[dict[str, Any]], now: dict[str, Any]) -> dict[str, Any]:
    """Rows measured now, and those of worlds that were not, in the order of the worlds."""
    anew = {row["world"] for row in now["accuracy"]}
    rows = now["accuracy"] + [row for row in before if row["world"] not in anew]
    return now | {"accuracy": sorted(rows, key=lambda row: NAMES.index(row["world"]))}


def part(given: argparse.Namespace, left: list[tuple[str, tuple[int, int]]]) -> str:
    """Which sizes the run was asked for, and what it left out when its minutes were over."""
    text = f"Sizes up to {given.largest:,} rows and {given.classes:,} classes; a package is not asked at larger sizes after {given.slow:g} ms"
    if left:
        text += f"; {len(left)} rows, the largest, were left out after {given.minutes:g} minutes"
    return text + "."


def about(quick: bool, one_core: bool, loads: list[float]) -> dict[str, Any]:
    cores = os.cpu_count() or 1
    load = sum(loads) / len(loads)
    beside = f"The load average was {load:.1f} on {cores} cores during the run"
    beside += ": other work ran beside it." if load > cores else "."
    return {
        "date": today(),
        "commit": commit(),
        "kind": "quick" if quick else "full",
        "clock": "cores" if one_core else "wall",
        "machine": f"{cores} cores, {platform.machine()}, Python {platform.python_version()}",
        "beside": beside,
    }


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {key: float(f"{each:.5g}") if isinstance(each, float) else each for key, each in row.items()}


def write(record: dict[str, Any]) -> None:
    text = json.dumps(record, ensure_ascii=False).replace("}, {", "},\n {")
    page.file_of(record["kind"]).write_text(text + "\n", encoding="utf-8")


def main() -> None:
    given = arguments()
    if given.accuracy and (found := page.latest()):
        with processes(environments_of(given), True, PATIENCE) as workers:
            write(found | merged(found["accuracy"], known(given, workers)))
    elif given.page and (found := page.latest()):
        write(found | {"arena": arena()})
    elif not given.page:
        before, record = page.latest(), run(given)
        if before and given.sets == 0:
            record = merged(before["accuracy"], record)
        write(record)
        history.append(record)
    latest = page.latest()
    if latest is None:
        raise SystemExit("no run is recorded yet")
    page.write(latest)
    print(f"{page.MARKDOWN}\n{page.HTML}")


if __name__ == "__main__":
    main()
