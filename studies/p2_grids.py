"""Bias and spread over rows and bins (Roelofs et al. 2022, Figures 7 to 12).

Three of the paper's worlds; plain and debiased errors of norm 2 over bins of equal width and of equal mass, with the sweep and the
kernel estimate beside them.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import calibrant as cal
from calibrant.plot.axes import ideal, labelled
from calibrant.simulate import bias, named_world
from studies.frame import Page, figure, table

WORLDS = {"resnet110_c10": (7, 10), "resnet_wide32_c100": (8, 11), "resnet152_imgnet": (9, 12)}
"""with the numbers of their figures: bias, spread"""
SIZES = (100, 300, 1000, 3000, 10_000)
BINS = (2, 4, 8, 16, 32, 64)
RULES = {"width": cal.EqualWidth, "mass": cal.EqualMass}
KERNEL = "kernel density"
RELEASED = "kernel density, as released"
"""What the code of Zhang et al. prints, which the paper's columns follow: without the root, with another bandwidth."""


def estimators(rule):
    """Plain and debiased errors over so many bins, and the sweep."""
    of = RULES[rule]
    found = {
        f"{kind}, {b} bins": partial(cal.binned_error, bins=of(b), norm=2, debiased=kind == "debiased")
        for kind in ("binned", "debiased")
        for b in BINS
    }
    return found | {"sweep": partial(cal.sweep_error, bins=of, norm=2)}


def measured(world, rule, sizes, count, seed):
    """Bias and standard deviation of every estimator, in per cent, with their errors."""
    kernels = {KERNEL: partial(cal.density_error, norm=2), RELEASED: partial(cal.density_error, norm=2, compat="zhang")}
    tried = kernels if rule == KERNEL else estimators(rule)
    rows = bias(tried, named_world(world), list(sizes), count, seed, workers=1)
    return [asdict(row) | {"bias": row.bias} for row in rows]


def run(job):
    sizes, count, kernel = (SIZES[:2], 5, 2) if job.quick else (SIZES, 200, 40)
    worlds = list(WORLDS)[:1] if job.quick else list(WORLDS)
    cases = {
        f"{world} {rule}": (world, rule, sizes, kernel if rule == KERNEL else count, job.seed)
        for world in worlds
        for rule in (*RULES, KERNEL)
    }
    found = job.parts(measured, cases)
    parts, figures = [], {}
    for world in worlds:
        for what, number in zip(("bias", "sd"), WORLDS[world], strict=True):
            title = f"Figure {number}: {({'bias': 'bias', 'sd': 'standard deviation'})[what]}, {world}"
            parts.append(f"## {title}\n\n{of_world(found, world, what, sizes)}")
            figures[title] = drawn(found, world, what)
    text = (
        f"In per cent ± Monte-Carlo standard error, {count} data sets per size, {kernel} for the kernel estimate; norm 2. The paper draws the "
        "square root of the variance.\n\n"
    )
    return Page("Bias and spread over rows and bins", text + "\n\n".join(parts), figures=figures)


def of_world(found, world, what, sizes):
    error = {"bias": "mean_error", "sd": "sd_error"}[what]
    body = []
    for rule in (*RULES, KERNEL):
        rows = found[f"{world} {rule}"]
        for name in dict.fromkeys(row["estimator"] for row in rows):
            cells = {
                row["n"]: f"{100 * row[what]:+.2f} ± {100 * row[error]:.2f}" for row in rows if row["estimator"] == name
            }
            body.append((name if rule == KERNEL else f"{name}, equal {rule}", *(cells[n] for n in sizes)))
    return table(("estimator", *(f"{n:,}" for n in sizes)), body)


def drawn(found, world, what):
    picture, axes = figure(4)
    panels = [(rule, kind) for kind in ("binned", "debiased") for rule in RULES]
    for ax, (rule, kind) in zip(axes, panels, strict=True):
        rows = found[f"{world} {rule}"] + found[f"{world} {KERNEL}"]
        for name in dict.fromkeys(row["estimator"] for row in rows):
            if name.startswith(kind) or name in ("sweep", KERNEL, RELEASED):
                style = {
                    "sweep": {"color": "black"},
                    KERNEL: {"color": "0.5", "linestyle": ":"},
                    RELEASED: {"color": "0.5", "linestyle": "--"},
                }.get(name, {})
                points = [(row["n"], 100 * row[what]) for row in rows if row["estimator"] == name]
                ax.plot(
                    *zip(*points, strict=True),
                    marker="o",
                    markersize=2,
                    linewidth=1,
                    label=name.removeprefix(f"{kind}, "),
                    **style,
                )
        if what == "bias":
            ax.axhline(0, **ideal(ax))
        ax.set(xscale="log")
        ax.set_title(f"{kind}, equal {rule}", fontsize=9)
        labelled(ax, "rows", f"{what}, %", fontsize=6)
    return picture
