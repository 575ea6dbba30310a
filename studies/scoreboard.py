"""How far can each estimator be trusted? Bias, RMSE, coverage and time of all of them, over worlds with a known truth.

Also writes scoreboard.parquet, one row a world, size and estimator. The same seed gives the same table whatever the number of cores.
`--data scoreboard.parquet` measures the estimators of `CHANGED` alone, on the same data sets, and takes the others from that file.
"""

from __future__ import annotations

import os
from dataclasses import asdict, fields

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import calibrant as cal
from calibrant.simulate import Bias, ShapeWorld, bias, calibrated_world, named_world, power_world
from calibrant.simulate.families import NAMED_WORLDS
from calibrant.simulate.shapes import SHAPES
from calibrant.verbs.trust import CANDIDATES
from studies.frame import Page, figure

QUANTILES = (2.5, 25, 50, 75, 97.5)
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
CHANGED = "posterior median"
"""What changed since the last whole run; the others did not."""

FEWER = {10_000: 2, 30_000: 5, 100_000: 10}
"""Large sizes get so many times fewer data sets."""


def estimators():
    """All estimators of the calibration error, norm 1 and norm 2."""
    found = {f"{name} (L{norm})": one for norm, some in CANDIDATES.items() for name, one in some.items()}
    found["label-binned (L1)"] = cal.label_binned_error
    return found


def worlds():
    """Calibrated ones, the ten of Roelofs et al., the five shapes of Kängsepp et al., and curves p^d."""
    found = {
        "calibrated, uniform scores": calibrated_world((1.0, 1.0)),
        "calibrated, resnet110_c10": calibrated_world(named_world("resnet110_c10")),
        "calibrated, resnet110_c100": calibrated_world(named_world("resnet110_c100")),
    }
    found |= {name: named_world(name) for name in NAMED_WORLDS}
    found |= {f"{shape} {level}": ShapeWorld(shape, level) for shape in SHAPES for level in (0.02, 0.05, 0.1)}
    found |= {f"p^d {error}": power_world(error) for error in (0.01, 0.05, 0.2)}
    return found


def cell(name, n, n_data_sets, seed, only=""):
    """All estimators, or those whose name begins so, at one size of one world."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    tried = {key: each for key, each in estimators().items() if key.startswith(only)}
    return [asdict(row) | {"world": name} for row in bias(tried, worlds()[name], n, n_data_sets, seed, workers=1)]


def recorded(path):
    """The rows of an earlier run."""
    names = {f.name for f in fields(Bias)} - {"quantiles"}
    for row in pq.read_table(path).to_pylist():
        at = tuple(row[f"quantile_{q}"] for q in QUANTILES)
        yield row["world"], Bias(quantiles=at, **{name: each for name, each in row.items() if name in names})


def measured(job, sizes, n_data_sets, names, only=""):
    """Every cell, the largest first."""
    cases = {
        f"{name} {n}": (name, n, max(n_data_sets // FEWER.get(n, 1), min(10, n_data_sets)), job.seed, only)
        for n in sorted(sizes, reverse=True)
        for name in names
    }
    parts = job.parts(cell, cases, cores=os.cpu_count())
    return [
        (row["world"], Bias(**row | {"quantiles": tuple(row["quantiles"])})) for part in parts.values() for row in part
    ]


def columns(rows):
    """The table that is saved."""
    names = [f.name for f in fields(Bias) if f.name not in ("world", "quantiles")]
    table = {"world": [name for name, _ in rows]}
    table |= {name: [getattr(row, name) for _, row in rows] for name in names}
    table["bias"] = [row.bias for _, row in rows]
    for k, q in enumerate(QUANTILES):
        table[f"quantile_{q}"] = [row.quantiles[k] for _, row in rows]
    return table


def summary(rows, norm):
    """One line an estimator: means over the worlds, size by size."""
    mine = [(w, r) for w, r in rows if r.estimator.endswith(f"(L{norm})")]
    sizes = sorted({r.n for _, r in mine})
    best = {}
    for world, r in mine:
        best[world, r.n] = min(best.get((world, r.n), np.inf), r.rmse)
    lines = []
    for name in dict.fromkeys(r.estimator for _, r in mine):
        each = [(w, r) for w, r in mine if r.estimator == name]
        figures = [1e3 * np.mean([r.rmse for _, r in each if r.n == n]) for n in sizes]
        bias = 1e3 * np.mean([abs(r.bias) for _, r in each])
        ratio = np.exp(np.mean([np.log(r.rmse / best[w, r.n]) for w, r in each if r.rmse > 0 and best[w, r.n] > 0]))
        cover = [r.coverage for _, r in each if r.coverage is not None]
        held = f"{min(cover):.0%} – {np.mean(cover):.0%}" if cover else "–"
        time = 1e3 * np.mean([r.seconds for _, r in each if r.n == 1000])
        lines.append((np.mean(figures), name[:-5], figures, bias, ratio, held, time))
    heads = (
        "estimator",
        *(f"n = {n:,}" for n in sizes),
        "mean abs. bias",
        "RMSE / best",
        "interval: least – mean",
        "ms",
    )
    text = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for _, name, figures, bias, ratio, held, time in sorted(lines):
        cells = [name, *(f"{f:.2f}" for f in figures), f"{bias:.2f}", f"{ratio:.2f}", held, f"{time:.2f}"]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def drawn(rows, norm):
    """RMSE and bias over the size, averaged over the worlds."""
    mine = [r for _, r in rows if r.estimator.endswith(f"(L{norm})")]
    sizes = sorted({r.n for r in mine})
    picture, axes = figure(2, (5, 4.2))
    for name in dict.fromkeys(r.estimator for r in mine):
        each = [r for r in mine if r.estimator == name]
        for ax, of in zip(axes, (lambda r: r.rmse, lambda r: abs(r.bias)), strict=True):
            ax.plot(
                sizes, [np.mean([of(r) for r in each if r.n == n]) for n in sizes], "o-", markersize=3, label=name[:-5]
            )
    for ax, title in zip(axes, ("mean RMSE", "mean |bias|"), strict=True):
        ax.set(xscale="log", yscale="log", xlabel="rows", title=f"{title}, norm {norm}")
    axes[1].legend(fontsize=7, frameon=False)
    return picture


def run(job):
    names, sizes, count = (list(worlds())[:1], (1000,), 2) if job.quick else (list(worlds()), SIZES, 40)
    if job.data:
        anew = {(world, row.estimator, row.n): row for world, row in measured(job, sizes, count, names, CHANGED)}
        rows = [(world, anew.get((world, row.estimator, row.n), row)) for world, row in recorded(job.data[0])]
        since = f" Figures of the {CHANGED} were measured after the others, on the same data sets."
    else:
        rows, since = measured(job, sizes, count, names), ""
    if job.folder is not None and not job.quick:
        pq.write_table(pa.table(columns(rows)), job.folder / "scoreboard.parquet")
    several = sorted({r.n_data_sets for _, r in rows})
    head = f"""# Scoreboard: how far can each estimator be trusted?

Written by `calibrant study scoreboard` (seed {job.seed}).{since} {len(names)} worlds with a known true error, from 0 to 0.2; {several[0]} to
{several[-1]} data sets for each world and size, the same for all estimators. RMSE and bias × 10³, averaged over the worlds; *RMSE / best* is the
geometric mean of the ratio to the best estimator of each world and size; *interval* the least and the mean share of 95 % intervals that
hold the truth; *ms* the time of an estimate at n = 1,000, taken in batches where the estimator allows it, two at a time on two cores. All figures, with
their Monte-Carlo errors, world by world: `scoreboard.parquet`. Work that estimators share, as those of the Gaussian process do, counts for the first
of them; other work went on beside this run, so take the times as rough.
"""
    parts = [head]
    for norm, what in ((1, "E|c(p) − p|"), (2, "the root of E|c(p) − p|²")):
        parts.append(f"## Norm {norm}: {what}\n\n{summary(rows, norm)}\n")
    return Page.of("\n".join(parts), figures={f"RMSE and bias, norm {norm}": drawn(rows, norm) for norm in (1, 2)})
