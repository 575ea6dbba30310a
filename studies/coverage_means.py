"""How often do intervals of means hold the truth: of gaps, proper scores and their changes, on few rows and confident models?

The worlds are those of studies/coverage.py. The change is that by a temperature of 1.5, fixed. True values are means over four million
predictions drawn from a world, with the true rates in place of labels. Beside each interval stands Student's, which is what a mean
is usually given. Scores and gaps of forecasts of a real number are in studies/coverage_forecasts.py.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import stdtrit, xlogy

import calibrant as cal
from calibrant import Predictions
from studies.coverage import EXACT, LEAST, LEVEL, gathered, table, worlds
from studies.frame import Page, cpu_seconds

SEED = 20_261_116
REPLICATIONS = {100: 3000, 1000: 3000, 10_000: 3000}
QUICK = {100: 40, 1000: 40}
LARGE = 4_000_000
TEMPERATURE = 1.5
MEASURED = (
    "mean gap",
    "Brier score",
    "root Brier score",
    "log score",
    "change in Brier",
    "change in root",
    "change in log",
)


def softened(p):
    """A temperature above 1."""
    with np.errstate(divide="ignore"):
        return 1 / (1 + np.exp(-(np.log(p) - np.log1p(-p)) / TEMPERATURE))


def brier(p, c):
    return float((2 * (c * (1 - p) ** 2 + (1 - c) * p * p)).mean())


def log(p, c):
    return float(-(xlogy(c, p) + xlogy(1 - c, 1 - p)).mean())


@cache
def truths(name):
    p, _, c = (part[0] for part in worlds()[name].draw(LARGE, 1, SEED))
    q = softened(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = brier(p, c), brier(q, c), log(p, c), log(q, c)
    was, now, surprise, later = values
    return (p - c).mean(), was, was**0.5, surprise, now - was, now**0.5 - was**0.5, later - surprise


def student(values):
    """Ends of the usual interval."""
    n = len(values)
    margin = stdtrit(n - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(n)
    return values.mean() - margin, values.mean() + margin


def intervals(before, after, finite):
    """Ours and Student's; None where there is none."""
    p, q, y = before.probs, after.probs, before.labels
    changed = cal.compare(before, after, method=None)
    usual = 2 * (p - y) ** 2
    found = [
        (cal.mean_gap(before).interval, student(p - y)),
        (changed.before.interval, student(usual)),
        (cal.root_brier(before).interval, np.sqrt(np.maximum(student(usual), 0))),
        None,
        (changed.difference.interval, student(2 * (q - y) ** 2 - usual)),
        (changed.root.interval, None),
        None,
    ]
    if finite:
        surprised = cal.compare(before, after, score="log", method=None)
        old, new = (-np.log(np.where(y == 1, each, 1 - each)) for each in (p, q))
        found[3] = surprised.before.interval, student(old)
        found[6] = surprised.difference.interval, student(new - old)
    return found


def measured(name, n, count, first, seed):
    """(data sets, measured, ours and Student's, 2): held or not, and the width; NaN where there is none."""
    truth = truths(name)
    found = np.full((count, len(MEASURED), 2, 2), np.nan)
    for r in range(count):
        rng = np.random.default_rng((seed, list(worlds()).index(name), n, first + r))
        p, y, _ = (part[0] for part in worlds()[name].draw(n, 1, rng))
        for k, pair in enumerate(intervals(Predictions(y, p), Predictions(y, softened(p)), np.isfinite(truth[3]))):
            for j, ends in enumerate(pair or ()):
                if ends is not None:
                    low, high = (ends.low, ends.high) if isinstance(ends, cal.results.Interval) else ends
                    found[r, k, j] = low - EXACT <= truth[k] <= high + EXACT, high - low
    return found


def cell(part):
    """Percent held by ours (median width) | by Student's."""
    if np.isnan(part[:, 0, 0]).all():
        return "–"
    ours = f"{100 * np.nanmean(part[:, 0, 0]):.1f} ({np.nanmedian(part[:, 0, 1]):.3f})"
    return ours if np.isnan(part[:, 1, 0]).all() else f"{ours}, {100 * np.nanmean(part[:, 1, 0]):.1f}"


def page(found, sizes, seed, took):
    least = {name: [] for name in MEASURED}
    blocks = []
    for n in sizes:
        rows = []
        for name in dict.fromkeys(name for name, _ in found):
            part = found[name, n]
            rows.append([name, *(cell(part[:, k]) for k in range(len(MEASURED)))])
            for k, what in enumerate(MEASURED):
                if not np.isnan(part[:, k, 0, 0]).all():
                    shares = [
                        np.nanmean(part[:, k, j, 0]) if not np.isnan(part[:, k, j, 0]).all() else np.nan for j in (0, 1)
                    ]
                    least[what].append((shares[0], f"{name}, n = {n:,}", shares[1]))
        count = len(part)
        error = 100 * np.sqrt(LEVEL * (1 - LEVEL) / count)
        foot = f"{count} data sets a world: the Monte-Carlo error of 95 % is {error:.2f} points."
        blocks.append(
            table(f"n = {n:,}: percent held (median width), Student's percent", ("world", *MEASURED), rows, foot)
        )
    rows = [
        (
            what,
            f"{100 * min(cells)[0]:.1f}",
            min(cells)[1],
            f"{100 * np.mean([c[0] for c in cells]):.1f}",
            "" if np.isnan(cells[0][2]) else f"{100 * min(c[2] for c in cells):.1f}",
        )
        for what, cells in least.items()
        if cells
    ]
    heads = ("interval of", "percent held", "where", "mean over cells", "Student's least")
    summary = table("The least of all cells", heads, rows)
    return "\n".join([HEAD.format(seed=seed, took=took / 60, least=100 * LEAST), summary, *blocks])


HEAD = """# Do intervals of means hold the truth?

Written by `calibrant study coverage_means`; seed {seed}, {took:.0f} minutes of CPU time. 95 % intervals of `mean_gap`,
`brier_score`, `root_brier`, `log_score` and `compare` (a temperature of 1.5); percent of data sets whose interval holds the truth, and
the median width. At least {least} % is asked for. After the comma: Student's interval on the same rows.

A log score is infinite where a model says 1 and errs, which the ten network worlds do: there is no truth to hold, hence the dashes.
"""


def run(job):
    start = cpu_seconds()
    sizes, names = ({100: 5}, ("resnet110_c10", "calibrated tied")) if job.quick else (REPLICATIONS, tuple(worlds()))
    found = gathered(job, sizes, names, 100, measured)
    return Page.of(page(found, sorted(sizes), job.seed, cpu_seconds() - start))
