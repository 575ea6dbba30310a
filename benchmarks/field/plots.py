"""Small multiples as SVG: time over rows, calibrant and the others."""

from __future__ import annotations

import math
from collections import defaultdict
from html import escape

from benchmarks.field.environments import OWN
from benchmarks.field.measure import FLOOR
from benchmarks.field.section import TITLES, Record
from benchmarks.field.sections import by_size, took

WIDE, HIGH, EDGE = 250, 180, 34
COLUMNS = 4
COLORS = {OWN: "#c1272d", FLOOR: "#999999"}
OTHERS = ("#0072b2", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#8c6d31", "#5254a3", "#636363", "#7b4173", "#31a354")


def speed(record: Record) -> str:
    """Milliseconds over rows, both on logarithmic scales, a panel per task of one event or of numbers."""
    series: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for (task, n, k), rows in by_size(record).items():
        for name, row in rows.items():
            if k < 2 or k == 10:
                series[task][name].append((n, took(row, record)))
    panels = {task: each for task, each in series.items() if max(map(len, each.values())) > 1}
    names = list(dict.fromkeys(name for each in panels.values() for name in each if name not in COLORS))
    colors = COLORS | {name: OTHERS[i % len(OTHERS)] for i, name in enumerate(names)}
    down = math.ceil(len(panels) / COLUMNS)
    parts = [legend(colors)]
    for i, (task, each) in enumerate(panels.items()):
        at = f"translate({(i % COLUMNS) * WIDE},{30 + (i // COLUMNS) * HIGH})"
        parts.append(f'<g transform="{at}">{panel(TITLES[task], each, colors)}</g>')
    box = f'viewBox="0 0 {COLUMNS * WIDE} {30 + down * HIGH}"'
    title = "Milliseconds over rows, a panel per quantity"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{title}" font-family="sans-serif" font-size="9">{"".join(parts)}</svg>'


def legend(colors: dict[str, str]) -> str:
    found, x = [], 4.0
    for i, (name, color) in enumerate(colors.items()):
        y = 10 if i < len(colors) / 2 else 22
        x = 4.0 if i == math.ceil(len(colors) / 2) else x
        found.append(f'<text x="{x:.0f}" y="{y}" fill="{color}">● {escape(name)}</text>')
        x += 22 + 5.4 * len(name)
    return "".join(found)


def panel(title: str, series: dict[str, list[tuple[int, float]]], colors: dict[str, str]) -> str:
    """One task: a line per package, decades on both axes."""
    xs = [math.log10(n) for each in series.values() for n, _ in each]
    ys = [math.log10(t) for each in series.values() for _, t in each]
    left, right, low, high = min(xs), max(xs), math.floor(min(ys)), math.ceil(max(ys))

    def place(n: float, t: float) -> tuple[float, float]:
        across = (math.log10(n) - left) / (right - left or 1)
        up = (math.log10(t) - low) / (high - low or 1)
        return EDGE + across * (WIDE - EDGE - 12), HIGH - 28 - up * (HIGH - 56)

    parts = [f'<text x="{EDGE}" y="14" font-size="10">{escape(title)}</text>']
    for power in range(low, high + 1):
        _, y = place(10**left, 10.0**power)
        line = f'<line x1="{EDGE}" x2="{WIDE - 12}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        parts.append(f'{line}<text x="{EDGE - 3}" y="{y + 3:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for power in range(math.ceil(left), math.floor(right) + 1):
        x, _ = place(10.0**power, 10.0**low)
        parts.append(
            f'<text x="{x:.1f}" y="{HIGH - 16}" text-anchor="middle">10<tspan dy="-3" font-size="7">{power}</tspan></text>'
        )
    for name, points in sorted(series.items(), key=lambda each: each[0] == OWN):
        dots = [place(n, t) for n, t in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        width = 2 if name == OWN else 1
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colors[name]}" stroke-width="{width}"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width}" fill="{colors[name]}"><title>{escape(name)}</title></circle>'
            for x, y in dots
        ]
    return "".join(parts)
