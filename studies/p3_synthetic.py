"""Tables F20 to F22 of Kängsepp et al. on fresh draws: is the published ranking more than the noise of five seeds?

The paper's worlds (`ShapeWorld`), sizes, levels and way to draw, with seeds that took no part in choosing any setting. There a draw
of labels is shared by all levels, so more levels of one draw tell little: here the levels go round over the draws, and every pair of
a size and a level comes up equally often. Standard errors are those of means over draws.
"""

from __future__ import annotations

import numpy as np

import calibrant as cal
from calibrant.kernels.compiled import many_calls
from calibrant.simulate import ShapeWorld
from calibrant.simulate.shapes import SHAPES
from calibrant.simulate.shapes import published_draw as drawn
from studies import piecewise
from studies.frame import Page, Row, figure, published, table

SEEDS = range(20_000, 20_063)
"""Added to the number of rows they give states that neither the paper nor the choice of our settings has used."""
PUBLISHED_DRAWS = 5
EVOLVED = 1
"""Draws on which PL_DE is fitted: one fit takes seconds."""
KERNEL = 5
"""Draws on which the KCE is computed, with 1000 rows: it is far behind, and slow."""

NAMES = (
    *("ES15", "ES sweep", "ES CV", "Platt", "beta", "isotonic", "PL, Brier, their rule", "PL3, Brier, their rule"),
    *("PL, their rule", "PL3, their rule", "PL3 averaged", "Gaussian process", "posterior median"),
)
OUR_OWN = ("PL3 averaged", "Gaussian process", "posterior median")
AWAY, OFF, OFF_SQUARED = range(3)


def chosen_bins(labels, probs):
    """Bins by ten folds; folds are ours, which follow the order of the predictions, not the paper's shuffle."""
    return cal.crossvalidated_error(labels, probs).settings["n_bins"]


def by_kernel(labels, probs):
    """The unbiased squared kernel calibration error, which has no map."""
    return None, np.nan, cal.skce(labels, probs).value


METHODS = piecewise.METHODS | {"KCE": by_kernel, "ES CV": piecewise.unit_slope(chosen_bins)}


def level_of(n, seed):
    """Each size and level comes up in one draw of 21."""
    return piecewise.LEVELS[(seed + 7 * piecewise.SIZES.index(n)) % len(piecewise.LEVELS)]


def measured(n, seed, names):
    """`(shapes, names, 3)`: map error, distances of the error and of its square from the truth."""
    c, labels = drawn(n, seed)
    found = np.full((len(SHAPES), len(names), 3), np.nan)
    with many_calls():
        for i, shape in enumerate(SHAPES):
            world = ShapeWorld(shape, level_of(n, seed))
            probs, at = world.predicted(c), world.predicted(piecewise.GRID)
            true, true_square = np.abs(probs - c).mean(), ((probs - c) ** 2).mean()
            for k, name in enumerate(names):
                fitted, error, square = METHODS[name](labels, probs)
                away = np.nan if fitted is None else np.abs(fitted.apply(at) - piecewise.GRID).mean()
                found[i, k] = away, abs(error - true), abs(square - true_square)
    return found


def by_seed(parts, seeds, sizes, column):
    """`(seeds, shapes, names)` × 10³: a column of each draw, averaged over sizes."""
    each = [[np.array(parts[f"{n} {seed}"], dtype=float)[..., column] for n in sizes] for seed in seeds]
    return 1e3 * np.array(each).mean(axis=1)


def run(job):
    seeds, sizes = (SEEDS[:2], piecewise.SIZES[:1]) if job.quick else (SEEDS, piecewise.SIZES)
    parts = job.parts(measured, {f"{n} {s}": (n, s, NAMES) for s in seeds for n in sizes})
    values = {key: by_seed(parts, seeds, sizes, k) for key, k in MADE.items()}
    page = Page(f"Synthetic data on {len(seeds)} fresh draws per size", digits=2)
    page.text = head(seeds, sizes)
    for key, each in values.items():
        page.text += "\n\n" + shown(key, each)
        page.rows += rows(key, each)
    page.text += "\n\n" + ahead(values["F20"], "Gaussian process", "F20")
    page.text += "\n\n" + ahead(values["F21"], "posterior median", "F21")
    if not job.quick:
        page.text += "\n\n" + slow_ones(job)
    page.figures = {"Map errors and errors of the error, with standard errors": drawing(values)}
    return page


MADE = {"F20": AWAY, "F21": OFF, "F22": OFF_SQUARED}


def head(seeds, sizes):
    """What was run."""
    return (
        f"{len(seeds)} draws of labels for each of n = {', '.join(f'{n:,}' for n in sizes)} (seeds {seeds[0]} to {seeds[-1]}), five shapes, "
        "levels 0, 0.005, …, 0.10 in turn. Cells are means × 10³ ± standard errors over draws. The published cells are means over five "
        "draws with the same sizes and levels; beside them, the standard error of the difference has their part from our spread over "
        "draws, divided by √5. ES CV has our folds here. The columns of the paper that we re-make exactly (ES, Platt, beta, isotonic) are "
        "equal to the published ones on the published draws: see [piecewise](piecewise.md)."
    )


def spread(values):
    """Mean and standard error over draws."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def shown(key, values):
    """A table: methods by shapes."""
    mean, error = spread(values)
    body = [
        (name, *(f"{m:.2f} ± {e:.2f}" for m, e in zip(mean[:, k], error[:, k], strict=True)))
        for k, name in enumerate(NAMES)
    ]
    return f"## {key}: {piecewise.TABLES[key]}\n\n" + table(("method", *SHAPES), body)


def rows(key, values):
    """Ours beside the published cells, whose standard error is that of five draws."""
    mean, error = spread(values)
    both = error * np.sqrt(1 + len(values) / PUBLISHED_DRAWS)
    cells = published("P3")[f"Table {key}"]["rows"]
    return [
        Row(f"P3 Table {key}", f"{name}, {shape}", float(mean[i, k]), cells[name][i], float(both[i, k]))
        for k, name in enumerate(NAMES)
        if name in cells
        for i, shape in enumerate(SHAPES)
    ]


def ahead(values, ours, key):
    """Our method less the best of the paper's columns on each shape: of those made again, paired by draw, and of those published."""
    theirs, k = [k for k, name in enumerate(NAMES) if name not in OUR_OWN], NAMES.index(ours)
    cells = published("P3")[f"Table {key}"]["rows"]
    (mean, error), body = spread(values), []
    for i, shape in enumerate(SHAPES):
        best = theirs[int(np.argmin(mean[i, theirs]))]
        apart, own = (each.item() for each in spread(values[:, i, k] - values[:, i, best]))
        least = min((name for name in cells if name in NAMES), key=lambda name: cells[name][i])
        other, both = mean[i, k] - cells[least][i], error[i, k] * np.sqrt(1 + len(values) / PUBLISHED_DRAWS)
        again, before = (
            f"{apart:+.2f} ± {own:.2f}, {placed(apart, own)}",
            f"{other:+.2f} ± {both:.2f}, {placed(other, both)}",
        )
        body.append((shape, NAMES[best], again, least, before))
    heads = ("shape", "best column made again", f"{ours} less it", "best column published", f"{ours} less it")
    text = f"## {ours} against the best columns of {key}\n\n" + table(heads, body)
    return text + "\n\nThe best column is chosen on the draws it is compared on, which favours it."


def placed(apart, error):
    """A difference of errors in words."""
    return "ahead" if apart < 0 else "behind, within its standard error" if apart <= error else "behind"


def slow_ones(job):
    """PL_DE on few draws of 1000 rows, beside the others on the same data; the KCE."""
    names = ("PL_DE", "PL, Brier, their rule", "PL3, their rule", "Gaussian process", "posterior median")
    cases = {f"evolved {s}": (1000, s, names) for s in SEEDS[:EVOLVED]}
    found = 1e3 * np.array(list(job.parts(measured, cases).values()), dtype=float).mean(axis=0)
    body = [
        (name, *(f"{m:.2f}" for m in found[:, k, column]), what)
        for column, what in ((AWAY, "map error"), (OFF, "error of the error"))
        for k, name in enumerate(names)
    ]
    text = f"## PL_DE, n = 1000, {EVOLVED} draws\n\n" + table(("method", *SHAPES, "× 10³"), body)
    text += "\n\nPL_DE chooses up to seven pieces by ten folds, as in the paper: one evolution for each of 70 fits."
    cases = {f"kernel {s}": (1000, s, ("KCE", "posterior median")) for s in SEEDS[:KERNEL]}
    squares = 1e3 * np.array(list(job.parts(measured, cases).values()), dtype=float)[..., OFF_SQUARED]
    mean, error = spread(squares)
    body = [
        (n, *(f"{m:.2f} ± {e:.2f}" for m, e in zip(mean[:, k], error[:, k], strict=True)))
        for k, n in enumerate(("KCE", "posterior median"))
    ]
    return text + f"\n\n## KCE, |ECE² − CE²| × 10³, n = 1000, {KERNEL} draws\n\n" + table(("method", *SHAPES), body)


def drawing(values):
    """Points with standard errors, one panel per table."""
    made, axes = figure(2, (5.5, 4.5))
    for ax, key in zip(axes, ("F20", "F21"), strict=True):
        mean, error = spread(values[key])
        kept = [k for k, name in enumerate(NAMES) if name not in ("Platt", "beta")]
        for i, shape in enumerate(SHAPES):
            places = np.arange(len(kept)) + 0.12 * (i - 2)
            ax.errorbar(mean[i, kept], places, xerr=error[i, kept], fmt="o", markersize=3, label=shape)
        ax.set_yticks(range(len(kept)), [NAMES[k] for k in kept] if ax is axes[0] else [])
        ax.set_xlabel(piecewise.TABLES[key])
    axes[0].legend(fontsize=7)
    return made
