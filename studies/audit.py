"""Does `audit` keep its promises? False alarms among 180 overlapping segments, power, intervals, detectable errors, clusters.

Three features with 5, 5 and 4 values make 180 segments of up to three conditions, all rows among them: from 4000 rows down to about 40.
Each part keeps its table in studies/results/audit.json, of which studies/results/audit.md is made.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np
from scipy.special import expit, logit, ndtr

import calibrant as cal
from calibrant.interval import holm
from calibrant.resampling.rank import step_down
from calibrant.verbs.auditing.audit import audit
from calibrant.verbs.auditing.family import family_of, segment_draws
from calibrant.verbs.auditing.laws import laws_of
from calibrant.verbs.auditing.segments import feature_columns, segments_of
from studies.frame import Page

ROWS, VALUES, DRAWS, LEVEL = 4000, (5, 5, 4), 399, 0.95
STATISTICS = ("gap", "range", "both")
WORLDS = {
    "uniform": lambda rng, n: rng.random(n),
    "confident": lambda rng, n: rng.beta(2.77, 0.04, n),
    "tied": lambda rng, n: rng.integers(0, 11, n) / 10,
}
"""Predictions: evenly spread, those of a network on CIFAR-10 (Roelofs et al.), and tenths."""


def features(rng, n):
    return {name: rng.integers(0, k, n).astype(str) for name, k in zip("abc", VALUES, strict=True)}


def judged(labels, probs, columns, seed):
    """Names, laws, observed sums, and every statistic's scores on the same draws."""
    said, counts, every = cal.Predictions(labels, probs), np.ones(len(probs)), slice(None)
    cut = segments_of(feature_columns(columns, every, counts, len(probs), 4), [], counts, 3, 1, 10**6)
    family = family_of(said.event("auto"), said, cut, every, False)
    laws, found = laws_of(family), segment_draws(family, DRAWS, seed, True)
    gap, course = laws.gap_scores(found.sums), laws.range_scores(found.ranges)
    scores = {"gap": gap, "range": course, "both": np.maximum(gap, course)}
    return [segment.conditions for segment in cut.found], laws, found.sums[0], scores


def normal_p_values(laws, sums):
    """What most packages would print for each segment."""
    return 2 * ndtr(-np.abs(sums) / np.where(laws.sigma > 0, laws.sigma, np.inf))


def share(hits):
    """A frequency in percent with its Monte-Carlo standard error."""
    hits = np.asarray(hits, dtype=float)
    return f"{100 * hits.mean():.1f} ± {100 * hits.std() / len(hits) ** 0.5:.1f}"


def alarms(world, runs, seed):
    rng = np.random.default_rng(seed)
    found = {name: [] for name in (*STATISTICS, "Bonferroni", "none")}
    for run in range(runs):
        p = WORLDS[world](rng, ROWS)
        names, laws, sums, scores = judged(rng.random(ROWS) < p, p, features(rng, ROWS), run)
        for name in STATISTICS:
            found[name].append(step_down(scores[name], LEVEL).adjusted.min() <= 1 - LEVEL)
        smallest = normal_p_values(laws, sums).min()
        found["Bonferroni"].append(smallest <= (1 - LEVEL) / len(names))
        found["none"].append(smallest <= 1 - LEVEL)
    return {
        "title": f"False alarms: runs in which any segment of a calibrated model is called wrong, %, {runs} runs, 4000 rows",
        "columns": ["predictions", *(f"audit, {name}" for name in STATISTICS), "Bonferroni, normal p", "no adjustment"],
        "rows": [(world, *(share(found[name]) for name in found))],
        "note": "Promised: at most 5. Bonferroni's p-values are those of a normal sum, which small segments of confident predictions do not have.",
    }


FAULTS = {
    "told too high": lambda p: expit(logit(np.clip(p, 1e-9, 1 - 1e-9)) - 0.8),
    "told too extreme": lambda p: 0.5 + 0.15 * (p - 0.5),
}
"""What really happens in the bad cell, by what is said."""


def power(runs, seed):
    rows = []
    for fault, truth in FAULTS.items():
        rng = np.random.default_rng(seed)
        methods = (*STATISTICS, "gap, one step", "Bonferroni", "Holm")
        named, false = {m: [] for m in methods}, {m: [] for m in STATISTICS}
        for run in range(runs):
            p, columns = rng.random(ROWS), features(rng, ROWS)
            bad = (columns["a"] == "0") & (columns["b"] == "0")
            names, laws, sums, scores = judged(rng.random(ROWS) < np.where(bad, truth(p), p), p, columns, run)
            at = names.index(("a = 0", "b = 0"))
            clean = [i for i, c in enumerate(names) if c and not touches(c)]
            for name in STATISTICS:
                adjusted = step_down(scores[name], LEVEL).adjusted
                named[name].append(adjusted[at] <= 1 - LEVEL)
                false[name].append((adjusted[clean] <= 1 - LEVEL).any())
            largest = scores["gap"].max(axis=1)
            named["gap, one step"].append((largest >= scores["gap"][0, at]).mean() <= 1 - LEVEL)
            p_values = normal_p_values(laws, sums)
            named["Bonferroni"].append(p_values[at] <= (1 - LEVEL) / len(names))
            named["Holm"].append(holm(p_values.tolist())[at] <= 1 - LEVEL)
        rows.append((fault, *(share(named[m]) for m in methods), *(share(false[m]) for m in STATISTICS)))
    false_columns = [f"false, {name}" for name in STATISTICS]
    return {
        "title": f"One bad cell of 160 rows among 180 segments: runs in which it is named, %, {runs} runs",
        "columns": ["fault in the cell", *(f"audit, {s}" for s in STATISTICS), "gap, one step", "Bonferroni", "Holm", *false_columns],
        "rows": rows,
        "note": "The last columns: runs in which a segment that shares no row with the cell is called wrong; promised at most 5.",
    }  # fmt: skip


def touches(conditions):
    """Can a row meet these conditions and lie in the bad cell?"""
    values = dict(condition.split(" = ") for condition in conditions)
    return values.get("a", "0") == "0" and values.get("b", "0") == "0"


def intervals(runs, seed):
    rows = []
    truths = {
        "calibrated": lambda p, _: p,
        "too extreme everywhere": lambda p, _: expit(logit(p) / 1.6),
        "shifted by the value of a": lambda p, columns: expit(logit(p) + 0.3 * (columns["a"].astype(int) - 2)),
    }
    for name, truth in truths.items():
        rng = np.random.default_rng(seed)
        covered, widths = [], []
        for run in range(runs):
            p, columns = np.clip(rng.beta(0.7, 1.2, ROWS), 1e-6, 1 - 1e-6), features(rng, ROWS)
            q = truth(p, columns)
            found = audit(
                cal.Predictions(rng.random(ROWS) < q, p), columns, min_size=20, n_draws=DRAWS, seed=run, statistic="gap"
            )
            inside = []
            for segment in found.segments:
                mask = np.ones(ROWS, bool)
                for condition in segment.conditions:
                    column, value = condition.split(" = ")
                    mask &= columns[column] == value
                inside.append((p - q)[mask].mean() in segment.interval)
                widths.append(segment.interval.high - segment.interval.low)
            covered.append(all(inside))
        rows.append((name, share(covered), f"{np.median(widths):.3f}"))
    return {
        "title": f"Intervals of all gaps at once: runs in which every one holds its truth, %, {runs} runs",
        "columns": ["truth", "all covered", "median width"],
        "rows": rows,
        "note": "Promised: 95.",
    }


def detectable(runs, seed):
    """A cell is made wrong by just as much as the audit says it can detect there."""
    rows = []
    for statistic in STATISTICS:
        rng = np.random.default_rng(seed)
        found = {"told too high": [], "told too low": []}
        sizes = []
        for direction, named in found.items():
            for run in range(runs):
                p, columns = 0.3 + 0.4 * rng.random(ROWS), features(rng, ROWS)
                bad = (columns["a"] == "0") & (columns["b"] == "0")
                name = "a = 0 & b = 0"
                options = {"n_draws": DRAWS, "seed": run, "statistic": statistic, "min_size": 20}
                size = audit(cal.Predictions(rng.random(ROWS) < p, p), columns, **options)[name].detectable
                sizes.append(size)
                q = np.where(bad, p + (-size if direction == "told too high" else size), p)
                named.append(audit(cal.Predictions(rng.random(ROWS) < q, p), columns, **options)[name].found)
        rows.append((statistic, f"{np.mean(sizes):.3f}", *(share(named) for named in found.values())))
    return {
        "title": f"An error of the detectable size in a cell of 160 rows: runs in which it is seen, %, {runs} runs",
        "columns": ["statistic", "detectable gap, mean", *found],
        "rows": rows,
        "note": "Promised: about 80, or more.",
    }


def clusters(runs, seed):
    rows = []
    for size in (1, 4):
        rng = np.random.default_rng(seed)
        found = {True: [], False: []}
        for run in range(runs):
            units = ROWS // size
            p = np.repeat(rng.random(units), size)
            y = np.repeat(rng.random(units), size) < p
            columns = {k: np.repeat(v, size) for k, v in features(rng, units).items()}
            groups = np.repeat(np.arange(units), size)
            for cluster, wrong in found.items():
                said = cal.Predictions(y, p, groups=groups)
                result = audit(said, columns, cluster=cluster, n_draws=DRAWS, seed=run, min_size=40 * size, depth=2)
                wrong.append(bool(result.found))
        rows.append((size, share(found[False]), share(found[True])))
    return {
        "title": f"Rows repeated with one answer: runs in which any segment of a calibrated model is called wrong, %, {runs} runs",
        "columns": ["rows a cluster", "audit", "audit, cluster=True"],
        "rows": rows,
        "note": "Segments of at least 40 clusters and up to two conditions. Turning signs round is approximate: promised is about 5.",
    }


PARTS = {world: (partial(alarms, world), 2000) for world in WORLDS} | {
    "power": (power, 600),
    "intervals": (intervals, 500),
    "detectable": (detectable, 150),
    "clusters": (clusters, 500),
}
"""and the number of runs"""


def part_of(name, runs, seed):
    return PARTS[name][0](runs, seed)


def page(kept, seed):
    lines = [
        "# Audits",
        "",
        f"Made by `calibrant study audit` (seed {seed}, {DRAWS} draws an audit, Monte-Carlo standard errors after ±).",
        "",
    ]
    tables = {}
    for part in PARTS:
        if part in kept:
            table = tables.setdefault(kept[part]["title"], kept[part] | {"rows": []})
            table["rows"] += kept[part]["rows"]
    for table in tables.values():
        lines += [f"## {table['title']}", "", "| " + " | ".join(table["columns"]) + " |"]
        lines += ["|" + "---|" * len(table["columns"])]
        lines += ["| " + " | ".join(map(str, row)) + " |" for row in table["rows"]]
        lines += ["", table["note"], ""]
    return "\n".join(lines)


def run(job):
    cases = {
        name: (name, 2 if job.quick else runs, job.seed)
        for name, (_, runs) in PARTS.items()
        if not job.quick or name == "uniform"
    }
    kept = job.parts(part_of, cases, cores=os.cpu_count())
    return Page.of(page(kept, job.seed), data=kept)
