"""How often does a monitor cry wolf, how soon does it see a change, and does it know since when?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.monitor import Change, Monitor, state
from calibrant.predictions import Event
from studies.frame import Job, Page

state.COMPILE_FROM = 1
ROWS = 1000
DETECTOR = 100_000

WORLDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "confident": lambda rng, n: np.minimum(rng.beta(2.8, 0.05, n), 1.0),
    "tied": lambda rng, n: rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0], n),
}

CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log-odds − 0.25": lambda p: sigmoid(log_odds(p) - 0.25),
    "log-odds − 0.5": lambda p: sigmoid(log_odds(p) - 0.5),
    "temperature 1.4": lambda p: sigmoid(log_odds(p) / 1.4),
    "0.6 … 0.8 too high by 0.15": lambda p: np.where((p > 0.6) & (p < 0.8), p - 0.15, p),
}


def event(rng: np.random.Generator, p: np.ndarray, truth: np.ndarray) -> Event:
    return Event(p, (rng.random(len(p)) < truth).astype(np.uint8), None, "binary")


def watched(monitor: Monitor, rows: Event) -> Monitor:
    monitor.state = state.updated(monitor.state, rows, None)
    return monitor


def repeated_test(rows: Event, every: int = 100) -> bool:
    """Spiegelhalter's test at 5 % on all rows so far, again and again: what many dashboards do."""
    p, y = rows.probs, rows.outcomes
    sums = np.cumsum((y - p) * (1 - 2 * p))[every - 1 :: every]
    spread = np.sqrt(np.cumsum((1 - 2 * p) ** 2 * p * (1 - p)))[every - 1 :: every]
    return bool((np.abs(sums) > 1.96 * spread).any())


def false_alarms(streams: int, seed: int) -> list[str]:
    lines = [
        "## False alarms",
        "",
        f"Share of {streams:,} calibrated streams of {ROWS:,} rows on which the e-value ever reached 1/alpha, looked at after every row.",
        "Ville's bound is alpha itself, for streams of any length. Beside it, a 5 % test repeated every hundred rows.",
        "",
        "| world | alpha 5 % | alpha 1 % | repeated test |",
        "|---|---|---|---|",
    ]
    for name, draw in WORLDS.items():
        rng = np.random.default_rng(seed)
        alarms = np.zeros(3)
        for _ in range(streams):
            p = draw(rng, ROWS)
            rows = event(rng, p, p)
            peak = watched(Monitor(view="binary"), rows).state.peak
            alarms += peak >= 20, peak >= 100, repeated_test(rows)
        lines.append(f"| {name} | " + " | ".join(f"{100 * a / streams:.2f} %" for a in alarms) + " |")
    return lines


def run_lengths(streams: int, seed: int, step: int = 100) -> list[str]:
    lines = [
        "",
        "## Rows to a false alarm of the e-detector",
        "",
        f"Mean over {streams} calibrated streams of the rows until `run_length` reaches c, looked at every {step} rows, at most 30 c. Promised: c or more.",
        "",
        "| world | c = 200 | c = 500 |",
        "|---|---|---|",
    ]
    for name, draw in WORLDS.items():
        rng = np.random.default_rng(seed + 1)
        means = []
        for c in (200, 500):
            lengths = []
            for _ in range(streams):
                monitor = Monitor(view="binary")
                while monitor.run_length < c and monitor.n < 30 * c:
                    p = draw(rng, step)
                    watched(monitor, event(rng, p, p))
                lengths.append(monitor.n)
            means.append(f"{np.mean(lengths):,.0f}")
        lines.append(f"| {name} | " + " | ".join(means) + " |")
    return lines


def one_change(
    rng: np.random.Generator, before: int, change: Callable, most: int = 20_000
) -> tuple[float, float, Change | None]:
    """Rows from the change to the alarm at 5 % and to a run length of `DETECTOR`, and what the monitor said at the alarm."""
    p = rng.random(before + most)
    rows = event(rng, p, np.where(np.arange(len(p)) < before, p, change(p)))
    monitor = Monitor(view="binary")
    if before:
        watched(monitor, Event(rows.probs[:before], rows.outcomes[:before], None, "binary"))
    if monitor.alarm() or monitor.run_length >= DETECTOR:
        return np.nan, np.nan, None
    by_e, by_detector, told = np.inf, np.inf, None
    for start in range(before, before + most, 50):
        watched(monitor, Event(rows.probs[start : start + 50], rows.outcomes[start : start + 50], None, "binary"))
        if told is None and monitor.alarm():
            by_e, told = monitor.n - before, monitor.since()
        if np.isinf(by_detector) and monitor.run_length >= DETECTOR:
            by_detector = monitor.n - before
        if told is not None and np.isfinite(by_detector):
            break
    return by_e, by_detector, told


def delays(streams: int, seed: int) -> list[str]:
    lines = [
        "",
        "## Delay after a change, and since when",
        "",
        f"Uniform predictions, {streams} streams each, looked at every 50 rows; streams with an alarm before the change are left out. Delay: median",
        f"rows from the change to the alarm at 5 %, and to a `run_length` of {DETECTOR:,}. Since: at that alarm, the median distance of `since().row` from",
        "the truth, and the share of streams whose `earliest … latest` holds it.",
        "",
        "| change | after rows | delay, alarm | delay, run length | since, off by | since, held |",
        "|---|---|---|---|---|---|",
    ]
    for before in (0, 1000, 10_000) if streams > 2 else (1000,):
        for name, change in CHANGES.items():
            rng = np.random.default_rng(seed + 2)
            found = [one_change(rng, before, change) for _ in range(streams)]
            told = [f[2] for f in found if f[2] is not None]
            off = np.median([abs(c.row - before) for c in told])
            held = np.mean([c.earliest <= before <= c.latest for c in told])
            by_e, by_detector = (np.nanmedian([f[i] for f in found]) for i in (0, 1))
            lines.append(
                f"| {name} | {before:,} | {by_e:,.0f} | {by_detector:,.0f} | {off:,.0f} | {100 * held:.0f} % |"
            )
    return lines


PARTS = {"false alarms": (false_alarms, 10_000, 5), "run lengths": (run_lengths, 400, 1), "delays": (delays, 100, 2)}
"""Table, number of streams, and that of a reduced version."""


def run(job: Job) -> Page:
    parts = job.parts(
        part_of, {name: (name, few if job.quick else streams, job.seed) for name, (_, streams, few) in PARTS.items()}
    )
    return Page.of("\n".join(["# Monitoring", "", *(line for lines in parts.values() for line in lines)]))


def part_of(name: str, streams: int, seed: int) -> list[str]:
    """One table."""
    return PARTS[name][0](streams, seed)
