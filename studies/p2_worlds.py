"""Bias where the truth is known (Roelofs et al. 2022, Figures 1, 2, 13 and 14, and the paired t-test of section 7.1).

Worlds are those of the paper: scores from Beta distributions, curves c(p) as printed. Errors are of norm 2.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.stats import beta, ttest_rel

import calibrant as cal
from calibrant.plot.axes import ideal, labelled
from calibrant.simulate import UniformWorld, bias, calibrated_world, named_world, power_world
from calibrant.simulate.curves import CellCurve
from calibrant.simulate.families import NAMED_WORLDS
from calibrant.simulate.measuring import measured, named_all
from studies.frame import Page, Row, figure, published, table

WIDTH = partial(cal.binned_error, bins=cal.EqualWidth(15), norm=2)
SWEEP = partial(cal.sweep_error, norm=2)
DEBIASED = partial(cal.binned_error, norm=2, debiased=True)
SIZES = tuple(int(n) for n in np.round(np.geomspace(100, 10_000, 10)))
BINS = (2, 4, 8, 16, 32, 64)
PLACES = np.linspace(0, 1, 2001)
UNIFORM = {
    "logistic": UniformWorld(calibration=CellCurve(PLACES, 1 / (1 + np.exp(5 - 10 * PLACES)) - PLACES)),
    "uniform": UniformWorld(),
}
"""Appendix D: uniform scores, true rate logistic(10c − 5) or c."""
CHOSEN = (100, 300, 1000, 3000, 10_000)


def values_of(estimators, world, n, count, seed):
    """Estimates `(E, R)` on data sets drawn from a world."""
    return measured(named_all(estimators)[0], world, n, count, seed, workers=1).values


def calibrated(count, seed):
    """Figure 1: the ECE of calibrated data sets of 200 rows."""
    return values_of([WIDTH], named_world("resnet110_c10", calibrated=True), 200, count, seed)[0]


def over_bins(world, rule, sizes, count, seed):
    """Mean binned error for each size and number of bins."""
    of = {"width": cal.EqualWidth, "mass": cal.EqualMass}[rule]
    tried = {str(b): partial(cal.binned_error, bins=of(b), norm=2) for b in BINS}
    here = UNIFORM.get(world) or named_world(world)
    rows = bias(tried, here, list(sizes), count, seed, workers=1)
    return [[row.mean, row.mean_error, row.truth] for row in rows]


def chosen(world, sizes, count, seed):
    """Mean number of bins that the sweep chooses."""
    here = UNIFORM[world]
    rng = np.random.default_rng(seed)
    return [np.mean([cal.sweep_error(here.sample(n, rng)).settings["n_bins"] for _ in range(count)]) for n in sizes]


def controlled(scores, n, error, count, seed):
    """Figure 13: mean estimates and their errors at a true error."""
    world = power_world(error, scores, norm=2) if error else calibrated_world(scores)
    rows = bias({"ECE": WIDTH, "sweep": SWEEP}, world, n, count, seed, workers=1)
    return [[row.mean, row.mean_error] for row in rows]


def biases(name, sizes, count, seed):
    """Section 7.1: biases of the debiased error and the sweep, equal mass."""
    rows = bias({"debiased": DEBIASED, "sweep": SWEEP}, named_world(name), list(sizes), count, seed, workers=1)
    return [[r.bias for r in rows if r.estimator == e] for e in ("debiased", "sweep")]


def run(job):
    few = job.quick
    sizes, small = (SIZES[:2], CHOSEN[:2]) if few else (SIZES, CHOSEN)
    count, many = (5, 50) if few else (200, 100_000)
    errors = (0.0, 0.1) if few else (0.0, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2)
    names = list(NAMED_WORLDS)[:2] if few else list(NAMED_WORLDS)
    found = job.parts(calibrated, {"calibrated": (many, job.seed)})["calibrated"]
    curves = job.parts(
        over_bins,
        {
            f"bins {w} {rule}": (w, rule, small, count, job.seed)
            for w, rule in (("resnet110_c10", "width"), ("logistic", "mass"), ("uniform", "mass"))
        },
    )
    bins = job.parts(chosen, {f"chosen {w}": (w, small, 3 if few else 50, job.seed) for w in ("logistic", "uniform")})
    grid = job.parts(
        controlled,
        {
            f"{scores} {n} {e}": (scores, n, e, 5 if few else 300, job.seed)
            for scores in ((1.0, 1.0), (1.1, 0.1))
            for n in ((200,) if few else (200, 5000))
            for e in errors
        },
    )
    trials = 5 if few else 1000
    paired = np.array(list(job.parts(biases, {f"bias {n}": (n, sizes, trials, job.seed) for n in names}).values()))
    rows, test = t_test(paired)
    text = f"""## A calibrated model (Figure 1)

{many:,} data sets of 200 rows with the scores of a ResNet-110 on CIFAR-10, calibrated. ECE over 15 equal-width bins, norm 2: mean {np.mean(found):.4f}, 5 to
95 % {np.quantile(found, 0.05):.4f} to {np.quantile(found, 0.95):.4f}. The true error is 0.

## ECE over the number of bins (Figures 2 and 14)

{bins_table(curves, small)}

The sweep chooses on average {", ".join(f"{b:.1f} bins at n = {n:,}" for n, b in zip(small, bins["chosen logistic"], strict=True))} of the model that is not
calibrated, and {", ".join(f"{b:.1f} at n = {n:,}" for n, b in zip(small, bins["chosen uniform"], strict=True))} of the calibrated one.

## Mean estimate over the true error (Figure 13)

{controlled_table(grid)}

## Debiased error against sweep (section 7.1)

{len(names)} worlds, {len(sizes)} sizes, {trials} data sets each: {test}"""
    return Page("Bias where the truth is known", text, rows, figures=drawn(found, curves, bins, grid, small))


def t_test(paired):
    """The paired t-test on absolute biases over worlds and sizes, in per cent."""
    debiased, sweep = (100 * np.abs(paired[:, k]).ravel() for k in (0, 1))
    found, known = ttest_rel(debiased, sweep), published("P2")["Fig. 4"]
    error = (debiased - sweep).std(ddof=1) / np.sqrt(len(sweep))
    theirs = known["mean absolute bias, %"]
    spread = (theirs["debiased"] - theirs["sweep"]) / known["t"]
    rows = [
        Row(
            "P2 Fig. 4",
            "mean absolute bias, debiased, %",
            debiased.mean(),
            theirs["debiased"],
            debiased.std(ddof=1) / np.sqrt(len(sweep)),
        ),
        Row(
            "P2 Fig. 4",
            "mean absolute bias, sweep, %",
            sweep.mean(),
            theirs["sweep"],
            sweep.std(ddof=1) / np.sqrt(len(sweep)),
        ),
        Row(
            "P2 Fig. 4",
            "difference of the two",
            (debiased - sweep).mean(),
            theirs["debiased"] - theirs["sweep"],
            float(np.hypot(error, spread)),
        ),
        Row("P2 Fig. 4", "paired t", found.statistic, known["t"], None),
    ]
    return rows, f"t = {found.statistic:.2f}, p = {found.pvalue:.1g}."


def bins_table(curves, sizes):
    body = []
    for key, values in curves.items():
        cells = np.array(values).reshape(len(sizes), len(BINS), 3)
        for n, line in zip(sizes, cells, strict=True):
            body.append(
                (
                    key.removeprefix("bins "),
                    f"{n:,}",
                    *(f"{100 * m:.2f} ± {100 * e:.2f}" for m, e, _ in line),
                    f"{100 * line[0, 2]:.2f}",
                )
            )
    return "Mean ECE in per cent ± standard error.\n\n" + table(
        ("world, bins", "n", *(f"{b} bins" for b in BINS), "truth"), body
    )


def controlled_table(grid):
    body = []
    for key, ((plain, e1), (sweep, e2)) in grid.items():
        scores, n, error = key.rsplit(" ", 2)
        body.append(
            (
                f"Beta{scores}",
                n,
                f"{100 * float(error):g}",
                f"{100 * plain:.2f} ± {100 * e1:.2f}",
                f"{100 * sweep:.2f} ± {100 * e2:.2f}",
            )
        )
    return "In per cent.\n\n" + table(("scores", "n", "true error", "ECE, equal width", "sweep, equal mass"), body)


def drawn(found, curves, bins, grid, sizes):
    first, axes = figure(3)
    sample = named_world("resnet110_c10", calibrated=True).sample(200, 1)
    WIDTH(sample).plot(ax=axes[0], band=None)
    axes[0].set_title("one calibrated data set, 200 rows", fontsize=9)
    axes[1].hist(100 * np.array(found), bins=60, color="0.6", label="ECE")
    axes[1].axvline(0, **ideal(axes[1]), label="true error")
    labelled(axes[1], "ECE, %", "data sets")
    world, p = named_world("resnet110_c10"), np.linspace(0.001, 0.999, 400)
    axes[2].plot(p, world.curve(p), label="calibration curve")
    axes[2].plot(p, np.minimum(beta(world.alpha, world.beta).pdf(p) / 10, 1.0), label="density / 10, cut at 1")
    axes[2].plot([0, 1], [0, 1], **ideal(axes[2]))
    labelled(axes[2], "score", "observed frequency")
    second, axes = figure(3)
    for ax, (key, values) in zip(axes, curves.items(), strict=True):
        cells = 100 * np.array(values).reshape(len(sizes), len(BINS), 3)
        for n, line in zip(sizes, cells, strict=True):
            mark = ax.errorbar(BINS, line[:, 0], line[:, 1], marker="o", markersize=3, linewidth=1, label=f"n = {n:,}")
            if (which := f"chosen {key.split()[1]}") in bins:
                ax.axvline(bins[which][sizes.index(n)], color=mark.lines[0].get_color(), linewidth=0.8, linestyle=":")
        ax.axhline(cells[0, 0, 2], **ideal(ax))
        ax.set_xscale("log", base=2)
        ax.set_xticks(BINS, [str(b) for b in BINS])
        ax.set_title(key.removeprefix("bins ").replace(" ", ", equal "), fontsize=9)
        labelled(ax, "bins", "mean ECE, %", fontsize=7)
    third, axes = figure(2)
    for ax, which, title in zip(axes, (0, 1), ("ECE, equal width", "sweep, equal mass"), strict=True):
        for line in dict.fromkeys(key.rsplit(" ", 1)[0] for key in grid):
            points = [
                (100 * float(key.rsplit(" ", 1)[1]), 100 * v[which][0])
                for key, v in grid.items()
                if key.rsplit(" ", 1)[0] == line
            ]
            ax.plot(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1, label=f"Beta{line}")
        ax.axline((0, 0), slope=1, **ideal(ax))
        ax.set_title(title, fontsize=9)
        labelled(ax, "true error, %", "mean estimate, %", fontsize=7)
    return {"Figures 1 and 2a": first, "Figures 2b and 14: ECE over bins": second, "Figure 13": third}
