"""How far can each estimator be trusted? Bias, RMSE, coverage and time of all of them, over worlds with a known truth.

Run: python -m studies.scoreboard [--quick] [--data-sets 100]    (or `make scoreboard`)

Writes studies/results/scoreboard.parquet (one row a world, size and estimator), scoreboard.md with the summary, and two
figures. A run that was cut goes on where it stopped: finished parts are kept in a file beside the results until it is done.
The same seed gives the same table whatever the number of cores.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from joblib import Parallel, delayed
from rich.progress import track

import calibrant as cal
from calibrant.simulate import Bias, ShapeWorld, bias, calibrated_world, named_world, power_world
from calibrant.simulate.families import NAMED_WORLDS
from calibrant.simulate.shapes import SHAPES
from calibrant.verbs.trust import CANDIDATES

RESULTS = Path(__file__).parent / "results"
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
FEWER = {10_000: 2, 30_000: 5, 100_000: 10}
"""Large sizes get so many times fewer data sets."""

SEED = 2026


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


def cell(name, world, n, n_data_sets, checkpoint):
    """All estimators at one size of one world."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    rows = bias(estimators(), world, n, n_data_sets, SEED, workers=1, checkpoint=checkpoint)
    return [(name, row) for row in rows]


def measured(sizes, n_data_sets, kept):
    """Every cell, shared by the cores; the largest first."""
    kept.mkdir(exist_ok=True)
    tasks = [
        delayed(cell)(name, world, n, max(n_data_sets // FEWER.get(n, 1), 10), kept / f"{k}_{n}.jsonl")
        for n in sorted(sizes, reverse=True)
        for k, (name, world) in enumerate(worlds().items())
    ]
    parts = Parallel(n_jobs=os.cpu_count(), return_as="generator")(tasks)
    return [row for part in track(parts, total=len(tasks), description="scoreboard") for row in part]


def columns(rows):
    """The table that is saved."""
    names = [f.name for f in fields(Bias) if f.name not in ("world", "quantiles")]
    table = {"world": [name for name, _ in rows]}
    table |= {name: [getattr(row, name) for _, row in rows] for name in names}
    table["bias"] = [row.bias for _, row in rows]
    for k, q in enumerate((2.5, 25, 50, 75, 97.5)):
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


def figure(rows, norm):
    """RMSE and bias over the size, averaged over the worlds."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mine = [r for _, r in rows if r.estimator.endswith(f"(L{norm})")]
    sizes = sorted({r.n for r in mine})
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for name in dict.fromkeys(r.estimator for r in mine):
        each = [r for r in mine if r.estimator == name]
        for ax, of in zip(axes, (lambda r: r.rmse, lambda r: abs(r.bias)), strict=True):
            ax.plot(
                sizes, [np.mean([of(r) for r in each if r.n == n]) for n in sizes], "o-", markersize=3, label=name[:-5]
            )
    for ax, title in zip(axes, ("mean RMSE", "mean |bias|"), strict=True):
        ax.set(xscale="log", yscale="log", xlabel="rows", title=f"{title}, norm {norm}")
    axes[1].legend(fontsize=7, frameon=False)
    fig.savefig(RESULTS / f"scoreboard_l{norm}.png", dpi=110)


def saved():
    """The rows of the last run."""
    table = pq.read_table(RESULTS / "scoreboard.parquet").to_pydict()
    names = [f.name for f in fields(Bias) if f.name not in ("world", "quantiles")]
    quantiles = zip(*(table[f"quantile_{q}"] for q in (2.5, 25, 50, 75, 97.5)), strict=True)
    rows = []
    for k, (world, found) in enumerate(zip(table["world"], quantiles, strict=True)):
        rows.append((world, Bias(world=world, quantiles=found, **{name: table[name][k] for name in names})))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="three small sizes, ten data sets each; writes nothing")
    parser.add_argument("--page", action="store_true", help="write the page anew from the saved table")
    options = parser.parse_args()
    kept = RESULTS / ".scoreboard"
    if options.page:
        rows = saved()
    else:
        rows = measured(SIZES[:3], 10, kept) if options.quick else measured(SIZES, options.data_sets, kept)
    several = sorted({r.n_data_sets for _, r in rows})
    head = f"""# Scoreboard: how far can each estimator be trusted?

Written by `python -m studies.scoreboard` (seed {SEED}). {len(worlds())} worlds with a known true error, from 0 to 0.2; {several[0]} to
{several[-1]} data sets for each world and size, the same for all estimators. RMSE and bias × 10³, averaged over the worlds; *RMSE / best* is the
geometric mean of the ratio to the best estimator of each world and size; *interval* the least and the mean share of 95 % intervals that
hold the truth; *ms* the time of an estimate at n = 1,000, taken in batches where the estimator allows it, two at a time on two cores. All figures, with
their Monte-Carlo errors, world by world: `scoreboard.parquet`. Work that estimators share, as those of the Gaussian process do, counts for the first
of them; other work went on beside this run, so take the times as rough.
"""
    parts = [head]
    for norm, what in ((1, "E|c(p) − p|"), (2, "the root of E|c(p) − p|²")):
        picture = "" if options.quick else f"\n![RMSE and bias, norm {norm}](scoreboard_l{norm}.png)\n"
        parts.append(f"## Norm {norm}: {what}\n\n{summary(rows, norm)}\n{picture}")
    text = "\n".join(parts)
    print(text)
    if not options.quick:
        if not options.page:
            pq.write_table(pa.table(columns(rows)), RESULTS / "scoreboard.parquet")
        (RESULTS / "scoreboard.md").write_text(text.rstrip() + "\n", encoding="utf-8")
        for norm in (1, 2):
            figure(rows, norm)
    if kept.exists():
        for part in kept.glob("*.jsonl"):
            part.unlink()
        kept.rmdir()


if __name__ == "__main__":
    main()
