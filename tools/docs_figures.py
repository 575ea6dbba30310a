"""The drawings of the docs as SVG text: a model before and after recalibration, the scoreboard, the arena.

All numbers are those of the embedded example or of tables in `studies/results`; tests/test_docs.py holds the files equal to this.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import calibrant as cal
from calibrant.interval import wilson

RESULTS = Path(__file__).parent.parent / "studies" / "results"
INK, GREY, GRID, BLUE, ORANGE, GREEN = "#1f2937", "#6b7280", "#e5e7eb", "#2563eb", "#d97706", "#15803d"
LINES = {"posterior median": BLUE, "sweep": GREEN, "debiased, equal mass": "#7c3aed", "ECE, equal width": ORANGE}
"""Estimators drawn from the scoreboard."""


def tag(name: str, text: str = "", **attributes: object) -> str:
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{round(value, 1) if isinstance(value, float) else value}"'
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{text}</{name}>" if text else f"<{name}{given}/>"


def text(
    x: float, y: float, words: str, size: int = 13, anchor: str = "middle", fill: str = INK, **more: object
) -> str:
    return tag("text", words, x=float(x), y=float(y), font_size=size, text_anchor=anchor, fill=fill, **more)


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = GRID, **more: object) -> str:
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), stroke=stroke, **more)


def picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """The file: white ground, so that it is read on dark pages too."""
    inside = [tag("title", title), tag("rect", width=width, height=height, fill="#ffffff"), *parts]
    about = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif"'
    return f"<svg {about}>\n" + "\n".join(inside) + "\n</svg>\n"


def start() -> str:
    """The embedded classifier before and after temperature scaling."""
    valid, test = cal.example()
    after = cal.recalibrate(valid, "temperature").apply(test)
    title = "A classifier before and after recalibration: observed accuracy against confidence"
    panels = _reliability(60, test, "Before: over-confident", ORANGE) + _reliability(
        440, after, "After recalibration", BLUE
    )
    return picture(780, 400, title, panels)


def _reliability(
    left: float, data: cal.Predictions, title: str, colour: str, top: float = 46, side: float = 290
) -> list[str]:
    """One reliability diagram: points with Wilson's 95 % interval, their area that of the rows."""
    found = cal.ece(data)
    bins = found.parts["bins"]
    low, high = wilson(bins.label_rate, bins.weight, 0.95)
    x, y = (lambda p: left + side * p), (lambda p: top + side * (1 - p))
    drawn = [text(x(0.5), top - 20, title, 16, font_weight="bold")]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        drawn += [line(x(tick), y(0), x(tick), y(1)), line(x(0), y(tick), x(1), y(tick))]
        drawn += [
            text(x(tick), y(0) + 18, f"{tick:.0%}", 11, fill=GREY),
            text(x(0) - 6, y(tick) + 4, f"{tick:.0%}", 11, "end", GREY),
        ]
    drawn.append(line(x(0), y(0), x(1), y(1), GREY, stroke_dasharray="5 4"))
    for p, rate, share, bottom, ceiling in zip(
        bins.mean_prob, bins.label_rate, bins.weight / bins.weight.sum(), low, high, strict=True
    ):
        drawn.append(line(x(p), y(bottom), x(p), y(ceiling), colour, stroke_width=1.5, opacity=0.6))
        drawn.append(
            tag(
                "circle",
                cx=float(x(p)),
                cy=float(y(rate)),
                r=float(3 + 14 * math.sqrt(share)),
                fill=colour,
                opacity=0.75,
            )
        )
    drawn.append(text(x(0.5), y(0) + 40, "predicted: confidence of the top class", 12))
    up = f"rotate(-90 {x(0) - 44:.1f} {y(0.5):.1f})"
    drawn.append(text(x(0) - 44, y(0.5), "observed: accuracy", 12, transform=up))
    drawn += [text(x(0.97), y(0.12), f"ECE {found.value:.3f}", 15, "end", colour, font_weight="bold")]
    drawn += [text(x(0.97), y(0.05), f"noise alone: {found.noise_floor:.3f}", 12, "end", GREY)]
    return drawn


def rows_of(path: Path, heading: str) -> list[dict[str, str]]:
    """The first table below a heading of a Markdown file, as dicts."""
    lines = path.read_text(encoding="utf-8").split(f"\n{heading}")[1].splitlines()
    start = next(k for k, each in enumerate(lines) if each.startswith("| "))
    table = [[cell.strip() for cell in each.strip().strip("|").split("|")] for each in lines[start:]]
    stop = next((k for k, each in enumerate(lines[start:]) if not each.startswith("|")), len(table))
    return [dict(zip(table[0], cells, strict=True)) for cells in table[2:stop]]


def scoreboard() -> str:
    """Root mean squared error of four estimators over the number of rows, norm 1."""
    rows = {row["estimator"]: row for row in rows_of(RESULTS / "scoreboard.md", "## Norm 1")}
    worlds = re.search(r"(\d+) worlds", (RESULTS / "scoreboard.md").read_text(encoding="utf-8"))[1]  # type: ignore[index]
    sizes = [key for key in rows["sweep"] if key.startswith("n = ")]
    numbers = [int(key[4:].replace(",", "")) for key in sizes]
    left, top, width, height, least, most = 66, 40, 420, 290, 1.0, 100.0
    x = [left + width * math.log(n / numbers[0]) / math.log(numbers[-1] / numbers[0]) for n in numbers]

    def y(value: float) -> float:
        return top + height * (1 - math.log(value / least) / math.log(most / least))

    drawn = [text(left, 22, "How far off is an estimate of the calibration error?", 15, "start", font_weight="bold")]
    for tick in (1, 3, 10, 30, 100):
        drawn += [
            line(left, y(tick), left + width, y(tick)),
            text(left - 8, y(tick) + 4, f"{tick / 1000:g}", 11, "end", GREY),
        ]
    drawn += [text(x[k], top + height + 18, f"{n:,}", 11, fill=GREY) for k, n in enumerate(numbers)]
    drawn.append(text(left + width / 2, top + height + 40, "rows of the test set", 12))
    drawn.append(
        text(
            left + width / 2,
            top + height + 58,
            f"root mean squared error over {worlds} worlds with a known truth, both axes logarithmic",
            11,
            fill=GREY,
        )
    )
    for place, (name, colour) in enumerate(LINES.items()):
        points = [(x[k], y(float(rows[name][size]))) for k, size in enumerate(sizes)]
        drawn.append(
            tag(
                "polyline",
                points=" ".join(f"{a:.1f},{b:.1f}" for a, b in points),
                fill="none",
                stroke=colour,
                stroke_width=2.5,
            )
        )
        drawn += [tag("circle", cx=a, cy=b, r=3.5, fill=colour) for a, b in points]
        drawn.append(text(left + width - 170, top + 20 + 19 * place, name, 13, "start", colour, font_weight="bold"))
    return picture(
        520, 400, "Root mean squared error of estimators of the calibration error over the number of rows", drawn
    )


ARENA = (("One event, 1,000 calibration rows", 9), ("Several classes, 1,000 calibration rows", 9))
"""Sections of the arena that are drawn, and how many entries of each."""


def arena() -> str:
    """Win rates of maps, with their intervals."""
    drawn, top = (
        [text(16, 24, "Which map wins? Share of the others beaten in log loss", 15, "start", font_weight="bold")],
        40,
    )
    for heading, count in ARENA:
        drawn.append(text(16, top + 16, heading, 13, "start", GREY, font_weight="bold"))
        rows = rows_of(RESULTS / "arena.md", f"## {heading}")
        for place, row in enumerate(_shown(rows, count)):
            drawn += _bar(top + 30 + 24 * place, row)
        top += 30 + 24 * count + 20
    drawn.append(
        text(
            16,
            top,
            "lines: 95 % intervals, by drawing whole data sets; right: fits that made it worse",
            11,
            "start",
            GREY,
        )
    )
    return picture(620, top + 16, "Win rates of recalibration maps", drawn)


def _shown(rows: Sequence[dict[str, str]], count: int) -> list[dict[str, str]]:
    """The best entries, and no repair at all."""
    return [
        *[row for row in rows if row["entry"] != "identity"][: count - 1],
        *[r for r in rows if r["entry"] == "identity"],
    ]


def _bar(y: float, row: dict[str, str], left: float = 190, width: float = 340) -> list[str]:
    rate, inside = row["wins, log loss"].split(" (")
    low, high = (float(end) for end in inside.rstrip(")").split("–"))
    theirs = ":" in row["entry"]
    drawn = [text(left - 8, y + 13, row["entry"], 12, "end")]
    drawn.append(
        tag(
            "rect",
            x=float(left),
            y=float(y + 2),
            width=width * float(rate),
            height=15,
            fill=GREY if theirs else BLUE,
            opacity=0.75,
        )
    )
    drawn.append(line(left + width * low, y + 9.5, left + width * high, y + 9.5, INK, stroke_width=1.5))
    drawn.append(text(left + width + 40, y + 13, f"{row['worse']} worse", 11, fill=GREY))
    return drawn


FIGURES = {"images/start.svg": start, "images/scoreboard.svg": scoreboard, "images/arena.svg": arena}
