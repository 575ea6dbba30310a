"""The bias of seven estimators on ten realistic worlds, and when they are perfectly calibrated (Roelofs et al. 2022, Figures 4 and 6).

Scores follow the paper's fitted Beta distributions, outcomes its fitted calibration curves (Figure 4) or the scores themselves
(Figure 6); ten sizes from 100 to 10,000, a thousand data sets each; errors of norm 2, bins fifteen where a number is needed.
`posterior_error`, which the paper does not have, is measured beside them on fewer data sets.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from functools import partial

import numpy as np

import calibrant as cal
from calibrant.plot.axes import ideal, labelled
from calibrant.simulate import Bias, bias, named_world
from calibrant.simulate.families import NAMED_WORLDS
from studies.frame import Page, figure

SIZES = tuple(int(n) for n in np.round(np.geomspace(100, 10_000, 10)))
REPLICATIONS, OURS = 1000, 60
DATA_SETS = {"CIFAR-10": "c10", "CIFAR-100": "c100", "ImageNet": "imgnet"}

WIDTH = cal.EqualWidth(15)
SEVEN = {
    "equal width, binned": partial(cal.binned_error, bins=WIDTH, norm=2),
    "equal mass, binned": partial(cal.binned_error, norm=2),
    "equal width, debiased": partial(cal.binned_error, bins=WIDTH, norm=2, debiased=True),
    "equal mass, debiased": partial(cal.binned_error, norm=2, debiased=True),
    "equal width, sweep": partial(cal.sweep_error, bins=cal.EqualWidth, norm=2),
    "equal mass, sweep": partial(cal.sweep_error, norm=2),
    "kernel density": partial(cal.density_error, norm=2),
}
POSTERIOR = {"posterior median": partial(cal.posterior_error, norm=2)}


def panel(name, calibrated, kind, sizes, n_data_sets, seed):
    """One world at all sizes; rows as dictionaries."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    world = named_world(name, calibrated=calibrated)
    rows = bias({"seven": SEVEN, "posterior": POSTERIOR}[kind], world, list(sizes), n_data_sets, seed, workers=1)
    return [asdict(row) | {"world": name} for row in rows]


def read(row):
    """The world's name and the row."""
    return row["world"], Bias(**row)


def table(rows, sizes):
    """Mean |bias| over the worlds of each data set, × 10³, with the Monte-Carlo error of the mean."""
    heads = ("estimator", "data set", *(f"{n:,}" for n in sizes))
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for data, ending in DATA_SETS.items():
        for name in dict.fromkeys(r.estimator for _, r in rows):
            cells = []
            for n in sizes:
                each = [r for w, r in rows if r.estimator == name and r.n == n and w.endswith(f"_{ending}")]
                bias, error = (
                    np.mean([r.bias for r in each]),
                    np.sqrt(np.sum([r.mean_error**2 for r in each])) / len(each),
                )
                cells.append(f"{1e3 * bias:+.1f} ± {1e3 * error:.1f}")
            lines.append(f"| {name} | {data} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def sized(rows, name, sizes=None):
    """Mean |bias| of an estimator over worlds and sizes, × 10³."""
    return 1e3 * np.mean([abs(r.bias) for _, r in rows if r.estimator == name and (sizes is None or r.n in sizes)])


def orderings(wrong, right, sizes):
    """The paper's statements, as these figures have them."""
    small = [n for n in sizes if n <= 1000]
    lines = []
    for kind in ("binned", "debiased", "sweep"):
        ew, em = sized(wrong, f"equal width, {kind}"), sized(wrong, f"equal mass, {kind}")
        lines.append(f"- {kind}: mean |bias| {em:.2f} with equal mass, {ew:.2f} with equal width.")
    few = {name: sized(wrong, name, small) for name in SEVEN}
    best = sorted(few, key=few.get)
    lines.append(
        "- Miscalibrated, at most 1,000 rows, mean |bias|: " + ", ".join(f"{n} {few[n]:.2f}" for n in best) + "."
    )
    calm = {name: sized(right, name) for name in (*SEVEN, *POSTERIOR)}
    lines.append(
        "- Calibrated, all sizes: " + ", ".join(f"{n} {calm[n]:.2f}" for n in sorted(calm, key=calm.get)) + "."
    )
    ours = sized(wrong, "posterior median")
    lines.append(
        f"- Miscalibrated, all sizes: posterior median {ours:.2f}, "
        + ", ".join(f"{n} {sized(wrong, n):.2f}" for n in SEVEN)
        + "."
    )
    return "\n".join(lines)


def run(job):
    sizes, count, ours = (SIZES[:1], 5, 1) if job.quick else (SIZES, REPLICATIONS, OURS)
    worlds = ("resnet110_c10", "resnet_wide32_c100", "resnet152_imgnet") if job.quick else NAMED_WORLDS
    cases = {
        f"{name} {calibrated} {kind}": (
            name,
            calibrated,
            kind,
            sizes,
            {"seven": count, "posterior": ours}[kind],
            job.seed,
        )
        for calibrated in (False, True)
        for kind in ("seven", "posterior")
        for name in worlds
    }
    found = job.parts(panel, cases, cores=os.cpu_count())
    wrong, right = (
        [read(row) for key, rows in found.items() if f" {c} " in key for row in rows] for c in (False, True)
    )
    text = f"""{count:,} data sets a world and size, {ours} for the posterior median; norm 2. Bias × 10³, averaged over the worlds of a data set, ± its
Monte-Carlo standard error.

## What the figures say

{orderings(wrong, right, sizes)}

## Miscalibrated (Figure 4)

{table(wrong, sizes)}

## Perfectly calibrated (Figure 6)

{table(right, sizes)}"""
    drawn, axes = figure(6, columns=3)
    for row, rows in enumerate((wrong, right)):
        for column, (data, ending) in enumerate(DATA_SETS.items()):
            ax = axes[3 * row + column]
            panel_figure(
                ax, [r for w, r in rows if w.endswith(f"_{ending}")], f"{data}, {('as fitted', 'calibrated')[row]}"
            )
    return Page("Bias on ten realistic worlds", text, figures={"Bias over the rows": drawn})


def panel_figure(ax, rows, title):
    """The mean bias over the worlds of a data set, in per cent, over the rows."""
    for name in dict.fromkeys(r.estimator for r in rows):
        sizes = sorted({r.n for r in rows if r.estimator == name})
        means = [100 * np.mean([r.bias for r in rows if r.estimator == name and r.n == n]) for n in sizes]
        ax.plot(sizes, means, "--" if "width" in name else "-", marker="o", markersize=2, linewidth=1, label=name)
    ax.axhline(0, **ideal(ax))
    ax.set(xscale="log", title=title)
    labelled(ax, "rows", "bias, %", fontsize=6)
