"""What a recorded run shows, as sections of text and tables: the same for the Markdown and the HTML page. Nothing is typed by hand."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from benchmarks.field.environments import OWN, peers
from benchmarks.field.history import changes
from benchmarks.field.measure import EQUAL, FLOOR
from benchmarks.field.quality import quality
from benchmarks.field.reasons import FEW, reason
from benchmarks.field.section import TITLES, Record, Row, Section, short, size
from benchmarks.field.tasks import TASKS
from benchmarks.field.validity import accuracy

UNSHARED = {task.name for task in TASKS if task.alone}
UNEXPLAINED = "no reason is recorded"


def sections(record: Record, history: list[Record]) -> list[Section]:
    return [
        packages(record),
        overview(record),
        speed(record),
        growth(record),
        memory(record),
        compiling(record),
        agreement(record),
        *accuracy(record),
        quality(record),
        not_measured(record),
        since(record, history),
    ]


def measured(record: Record) -> list[Row]:
    return [row for row in record["rows"] if "error" not in row]


def by_size(record: Record) -> dict[tuple[str, int, int], dict[str, Row]]:
    """Rows by task and size, then by package, in the order of the tasks."""
    found: dict[tuple[str, int, int], dict[str, Row]] = defaultdict(dict)
    for row in measured(record):
        found[row["task"], row["n"], row["k"]][row["peer"]] = row
    return found


def took(row: Row, record: Record) -> float:
    """Milliseconds on the clock that the run is judged by."""
    return float(row[record["clock"]])


def fastest(rows: dict[str, Row], record: Record) -> str | None:
    """The fastest package that computes the same thing by a public call."""
    same = [name for name, row in rows.items() if name not in (OWN, FLOOR) and not row.get("aside")]
    return min(same, key=lambda name: took(rows[name], record), default=None)


def packages(record: Record) -> Section:
    found = Section(
        "Packages",
        [
            "Each in an environment of its own. Size: all files installed, dependencies included. Import, and a new process until its first "
            "number of 1000 rows (the task is named), in milliseconds of CPU time, medians."
        ],
        ("package", "version", "MB", "packages", "import, ms", "first number after, ms", "of"),
    )
    for row in record["start"]:
        if row.get("error"):
            found.rows.append(
                (row["peer"], "could not be installed or imported", "", "", "", "", row["error"].replace("|", "/"))
            )
            continue
        last = (short(row["cores"]), row["task"]) if "cores" in row else ("", "")
        counted = (row["version"], short(row["megabytes"]), str(row["packages"]), short(row["import"]))
        found.rows.append((row["peer"], *counted, *last))
    numpy = next((row["numpy"] for row in record["start"] if "numpy" in row), None)
    if numpy is not None:
        found.text.append(
            f"Importing NumPy alone takes {short(numpy)} ms; calibrant's own modules are loaded when they are used."
        )
    absent = [name for name in peers() if name not in {row["peer"] for row in record["start"]}]
    if absent:
        found.text.append(f"Not part of this run: {', '.join(absent)}.")
    return found


def compared(record: Record) -> Iterator[tuple[tuple[str, int, int], dict[str, Row], str, float]]:
    """Every size of every task that calibrant and another package share, with the fastest and how many times calibrant's time it takes."""
    for key, rows in by_size(record).items():
        name = fastest(rows, record)
        if name and OWN in rows:
            yield key, rows, name, took(rows[name], record) / took(rows[OWN], record)


def overview(record: Record) -> Section:
    found = list(compared(record))
    ahead = [each for each in found if each[3] >= 1]
    ratios = sorted(each[3] for each in found)
    middle = ratios[len(ratios) // 2] if ratios else 0.0
    text = [
        f"calibrant is the fastest in {len(ahead)} of {len(found)} rows that it shares with another package; the median row is "
        f"{short(middle)} × as fast as the fastest of the others. Where it is behind:"
    ]
    rows = [
        (
            TITLES[task],
            size(n, k),
            name,
            f"{ratio:.2f}",
            behind(rows[OWN], rows[name], record),
            why((task, n, k), rows, name, record),
        )
        for (task, n, k), rows, name, ratio in sorted(found, key=lambda each: each[3])
        if ratio < 1
    ]
    return Section(
        "Where calibrant is ahead, and where not",
        text,
        ("quantity", "rows", "fastest", "its time ÷ ours", "behind by", "why"),
        rows,
    )


def behind(own: Row, other: Row, record: Record) -> str:
    """Milliseconds, or microseconds of short calls."""
    apart = took(own, record) - took(other, record)
    return f"{short(1e3 * apart)} µs" if apart < 1 else f"{short(apart)} ms"


def why(key: tuple[str, int, int], rows: dict[str, Row], name: str, record: Record) -> str:
    """The reason kept in the code; where the middle halves of the rounds overlap, that the run does not tell the two apart."""
    low, high = f"{record['clock']}_low", f"{record['clock']}_high"
    known = low in rows[OWN] and high in rows[name]
    if known and rows[OWN][low] <= rows[name][high]:
        return "not told apart by this run: the middle halves of the two packages' rounds overlap"
    return reason(*key) or UNEXPLAINED


def speed(record: Record) -> Section:
    clock = "CPU time of all cores together" if record["clock"] == "cores" else "time on the clock"
    found = Section(
        "Speed",
        [
            f"Milliseconds ({clock}), medians of rounds in which the packages take turns. × : the fastest package's time over calibrant's. "
            "÷ floor: calibrant's time in units of one `np.sum` over the same arrays. First call: calibrant's first in its process. "
            "All other packages, with their multiple of calibrant's time, in the last column; (…) are other quantities under the same "
            "name, or functions that are not public."
        ],
        ("quantity", "rows", "calibrant", "fastest peer", "its ms", "×", "÷ floor", "first call", "others"),
        plot="speed",
    )
    for (task, n, k), rows in by_size(record).items():
        if OWN not in rows:
            continue
        own, name = took(rows[OWN], record), fastest(rows, record)
        peer = (
            (name, short(took(rows[name], record)), f"{took(rows[name], record) / own:.2f}")
            if name
            else ("no other has it" if task in UNSHARED else "none measured", "", "")
        )
        others = [
            (f"({other})" if row.get("aside") else other) + f" {short(took(row, record) / own)}"
            for other, row in rows.items()
            if other not in (OWN, FLOOR, name)
        ]
        floor = short(own / took(rows[FLOOR], record))
        first = short(rows[OWN]["first"])
        found.rows.append((TITLES[task], size(n, k), short(own), *peer, floor, first, ", ".join(others)))
    return found


def exponent(points: list[tuple[int, float]]) -> float | None:
    """Slope of log time over log rows, by least squares over sizes from 10 000 rows on."""
    far = [(math.log(n), math.log(t)) for n, t in points if n >= FEW]
    if len(far) < 2:
        return None
    x0, y0 = (sum(column) / len(far) for column in zip(*far, strict=True))
    return sum((x - x0) * (y - y0) for x, y in far) / sum((x - x0) ** 2 for x, _ in far)


def growth(record: Record) -> Section:
    found = Section(
        "Growth",
        [
            "Time grows as rows to the power b; b by least squares over the sizes from 10,000 rows on with the same number of classes."
        ],
        ("quantity", "calibrant", "others"),
    )
    points: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for (task, n, k), rows in by_size(record).items():
        if k < 2:
            for name, row in rows.items():
                points[task][name].append((n, took(row, record)))
    for task, series in points.items():
        slopes = {name: slope for name, each in series.items() if (slope := exponent(each)) is not None}
        if OWN in slopes:
            others = ", ".join(f"{name} {slope:.2f}" for name, slope in slopes.items() if name not in (OWN, FLOOR))
            found.rows.append((TITLES[task], f"{slopes[OWN]:.2f}", others))
    if not found.rows:
        found.text.append("This run has too few sizes for it.")
    return found


def memory(record: Record) -> Section:
    found = Section(
        "Memory",
        ["Megabytes that a call adds at most to what its process holds, at the largest size measured."],
        ("quantity", "rows", "calibrant", "least of the others", "its MB", "others"),
    )
    largest: dict[str, tuple[tuple[int, int], dict[str, float]]] = {}
    for (task, n, k), rows in by_size(record).items():
        held = {name: row["mb"] for name, row in rows.items() if "mb" in row}
        if OWN in held and (len(held) > 1 or task in UNSHARED):
            largest[task] = ((n, k), held)
    for task, ((n, k), held) in largest.items():
        least = sorted((mb, name) for name, mb in held.items() if name != OWN)
        others = ", ".join(f"{name} {short(mb)}" for mb, name in least[1:])
        first = (least[0][1], short(least[0][0])) if least else ("no other has it", "")
        found.rows.append((TITLES[task], size(n, k), short(held[OWN]), *first, others))
    if not found.rows:
        found.text.append("Not measured in this run.")
    return found


def compiling(record: Record) -> Section:
    found = Section(
        "First call of a process",
        [
            f"calibrant's first call on {record['compiled_at']:,} rows in a new process, milliseconds on the clock: with an empty cache of "
            "compiled kernels, and with the cache that this left."
        ],
        ("quantity", "empty cache", "full cache"),
    )
    for row in record["compiling"]:
        if row["empty"] is not None and row["full"] is not None:
            found.rows.append((TITLES[row["task"]], short(row["empty"]), short(row["full"])))
    return found


def agreement(record: Record) -> Section:
    """Each package's least agreement over the sizes."""
    least: dict[tuple[str, str], Row] = {}
    equal = total = 0
    for row in measured(record):
        if "digits" in row:
            total, equal = total + 1, equal + (row["digits"] >= EQUAL)
            key = row["task"], row["peer"]
            if key not in least or row["digits"] < least[key]["digits"]:
                least[key] = row
    text = [
        f"Same data, same question: {equal} of {total} comparisons are equal to at least {EQUAL} digits. Each row is a package's least "
        "agreement over the sizes; maps are compared by what they make of the same 200 probabilities or rows, by the largest difference."
    ]
    found = Section("Agreement", text, ("quantity", "package", "equal digits", "why not more"))
    for (task, peer), row in least.items():
        reason = row.get("differs", "") if row["digits"] < EQUAL else ""
        aside = f" ({row['aside']})" if row.get("aside") else ""
        found.rows.append((TITLES[task], peer + aside, str(row["digits"]), reason))
    return found


def not_measured(record: Record) -> Section:
    found = Section(
        "Not measured",
        ["Calls that failed, and their reason. A package that took too long at one size is not asked at larger ones."],
        ("quantity", "rows", "package", "reason"),
    )
    for row in record["rows"]:
        if "error" in row:
            found.rows.append(
                (TITLES[row["task"]], size(row["n"], row["k"]), row["peer"], row["error"].replace("|", "/"))
            )
    for row in record["accuracy"]:
        if "error" in row:
            found.rows.append(
                (f"{row['task']} ({row['world']})", size(row["n"], 1), row["peer"], row["error"].replace("|", "/"))
            )
    if not found.rows:
        found.text.append("None failed.")
    return found


def since(record: Record, history: list[Record]) -> Section:
    found, before = changes(record, history)
    if before is None:
        return Section("Since the run before", ["There is no earlier run of this kind in the history."])
    text = [
        f"Calls of calibrant whose time changed by more than a quarter since {before['date']} (commit {before['commit']}), beyond what the "
        "other packages' times changed by in the median."
    ]
    if not found:
        text.append("None.")
    rows = [
        (TITLES[task], size(n, k), short(old), short(new), f"{change:.2f}") for (task, n, k), old, new, change in found
    ]
    return Section("Since the run before", text, ("quantity", "rows", "before, ms", "now, ms", "change"), rows)
