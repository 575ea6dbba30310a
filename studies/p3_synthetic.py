"""Tables F20 to F23 of Kängsepp et al. on fresh draws: is the published ranking more than the noise of five seeds?

The paper's worlds (`ShapeWorld`) and its way to draw, with seeds that took no part in choosing any setting. A draw of labels is
shared by all shapes and levels, so standard errors are those of means over draws, not over data sets.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

import calibrant as cal
from calibrant.kernels.compiled import many_calls
from calibrant.simulate import ShapeWorld
from calibrant.simulate.shapes import SHAPES
from calibrant.simulate.shapes import published_draw as drawn
from studies import piecewise
from studies.frame import Page, Row, figure, published, table

SEEDS = range(20_000, 20_050)
"""Added to the number of rows they give states that neither the paper nor the choice of our settings has used."""
SIZES = (1000, 3000, 10_000)
LEVELS = (0.03, 0.06, 0.09)
EVOLVED = 5
"""Draws on which PL_DE is fitted: one fit takes seconds."""

NAMES = (
    *("ES15", "ES sweep", "ES CV", "Platt", "beta", "isotonic", "PL, Brier, their rule", "PL3, Brier, their rule"),
    *("PL, their rule", "PL3, their rule", "PL3 averaged", "Gaussian process", "posterior median", "KCE", "PL_DE"),
)
OUR_OWN = ("PL3 averaged", "Gaussian process", "posterior median")
AWAY, OFF, OFF_SQUARED, ERROR = range(4)


def evolved(labels, probs):
    """PL_DE with pieces by ten folds."""
    return piecewise.by_map(cal.maps.EvolvedPieces(n_pieces="cv", bounded=False))(labels, probs)


METHODS = piecewise.METHODS | {"PL_DE": evolved}


def measured(n, seed, levels, names):
    """`(shapes, levels, names, 4)`: map error, distances of the error and its square from the truth, the error itself."""
    c, labels = drawn(n, seed)
    found = np.full((len(SHAPES), len(levels), len(names), 4), np.nan)
    with many_calls():
        for i, shape in enumerate(SHAPES):
            for j, level in enumerate(levels):
                world = ShapeWorld(shape, level)
                probs, at = world.predicted(c), world.predicted(piecewise.GRID)
                true, true_square = np.abs(probs - c).mean(), ((probs - c) ** 2).mean()
                for k, name in enumerate(names):
                    if name == "KCE":
                        square = cal.skce(labels, probs).value
                        found[i, j, k] = np.nan, np.nan, abs(square - true_square), square
                        continue
                    fitted, error, square = METHODS[name](labels, probs)
                    away = np.abs(fitted.apply(at) - piecewise.GRID).mean()
                    found[i, j, k] = away, abs(error - true), abs(square - true_square), error
    return found


def ranked(found, levels):
    """Spearman's correlation of error and level, `(shapes, names)`."""
    return np.array([[spearmanr(levels, column).statistic for column in shape[:, :, ERROR].T] for shape in found])


def by_seed(parts, seeds, sizes, of):
    """`(seeds, shapes, names)`: a statistic of each draw, averaged over sizes."""
    return np.array([np.mean([of(np.array(parts[f"{n} {seed}"])) for n in sizes], axis=0) for seed in seeds])


def run(job):
    seeds, sizes = (SEEDS[:2], SIZES[:1]) if job.quick else (SEEDS, SIZES)
    names = tuple(n for n in NAMES if n != "PL_DE" and not (job.quick and n in ("ES CV", "KCE")))
    cases = {f"{n} {s}": (n, s, LEVELS, names) for s in seeds for n in sizes}
    parts = job.parts(measured, cases)
    made = {"F20": AWAY, "F21": OFF, "F22": OFF_SQUARED}
    values = {key: 1e3 * by_seed(parts, seeds, sizes, lambda f, k=k: f[..., k].mean(axis=1)) for key, k in made.items()}
    values["F23"] = by_seed(parts, seeds, sizes, lambda f: ranked(f, LEVELS))
    page = Page(f"Synthetic data on {len(seeds)} fresh draws per size", digits=2)
    page.text = head(seeds, sizes)
    for key, each in values.items():
        page.text += "\n\n" + shown(key, each, names)
        page.rows += rows(key, each, names)
    page.text += "\n\n" + ahead(values["F20"], names, "Gaussian process", "F20")
    page.text += "\n\n" + ahead(values["F21"], names, "posterior median", "F21")
    if not job.quick:
        page.text += "\n\n" + evolution(job)
    page.figures = {"Map errors and errors of the error, with standard errors": drawing(values, names)}
    return page


def head(seeds, sizes):
    """What was run."""
    return (
        f"{len(seeds)} draws of labels for each of n = {', '.join(f'{n:,}' for n in sizes)} (seeds {seeds[0]} to {seeds[-1]}), five shapes, "
        f"levels {', '.join(map(str, LEVELS))}. Cells are means × 10³ ± standard errors over draws. The published cells are means over "
        "five draws and 21 levels from 0 to 0.10, so they differ from ours beyond the noise of labels; what the tables can tell is "
        "the order of methods on the same data. The columns of the paper that we re-make exactly (ES, Platt, beta, isotonic) are "
        "equal to the published ones on the published draws: see [piecewise](piecewise.md)."
    )


def spread(values):
    """Mean and standard error over draws."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def shown(key, values, names):
    """A table: methods by shapes."""
    mean, error = spread(values)
    digits = 4 if key == "F23" else 2
    body = [
        (name, *(f"{m:.{digits}f} ± {e:.{digits}f}" for m, e in zip(mean[:, k], error[:, k], strict=True)))
        for k, name in enumerate(names)
        if np.isfinite(mean[0, k])
    ]
    return f"## {key}: {piecewise.TABLES[key]}\n\n" + table(("method", *SHAPES), body)


def rows(key, values, names):
    """Ours beside the published cells, without a standard error: theirs is of five other draws and other levels."""
    mean, _ = spread(values)
    cells = published("P3")[f"Table {key}"]["rows"]
    return [
        Row(f"P3 Table {key}", f"{name}, {shape}", float(mean[i, k]), cells[name][i])
        for k, name in enumerate(names)
        if name in cells and np.isfinite(mean[0, k])
        for i, shape in enumerate(SHAPES)
    ]


def ahead(values, names, ours, key):
    """Our method less the best of the paper's columns on each shape, paired by draw."""
    theirs = [k for k, name in enumerate(names) if name not in OUR_OWN and np.isfinite(values[0, 0, k])]
    body = []
    for i, shape in enumerate(SHAPES):
        best = theirs[int(np.argmin(values[:, i, theirs].mean(axis=0)))]
        difference = values[:, i, names.index(ours)] - values[:, i, best]
        mean, error = difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))
        verdict = "ahead" if mean < 0 else "behind, within its standard error" if mean <= error else "behind"
        body.append((shape, names[best], f"{mean:+.2f} ± {error:.2f}", verdict))
    heads = ("shape", "best of the paper's columns", f"{ours} less it", "")
    return f"## {ours} against the best column of {key}, paired by draw\n\n" + table(heads, body)


def evolution(job):
    """PL_DE on few draws of 1000 rows, beside the others on the same data."""
    names = ("PL_DE", "PL, Brier, their rule", "PL3, their rule", "Gaussian process", "posterior median")
    cases = {f"evolved {s}": (1000, s, LEVELS[1:2], names) for s in SEEDS[:EVOLVED]}
    found = np.array(list(job.parts(measured, cases).values()))[:, :, 0]
    body = [
        (name, *(f"{1e3 * m:.2f}" for m in found[:, :, k, column].mean(axis=0)), what)
        for column, what in ((AWAY, "map error"), (OFF, "error of the error"))
        for k, name in enumerate(names)
    ]
    text = f"## PL_DE, n = 1000, level {LEVELS[1]}, {EVOLVED} draws\n\n" + table(("method", *SHAPES, "× 10³"), body)
    return (
        text + "\n\nPL_DE chooses up to seven pieces by ten folds, as in the paper: one evolution for each of 70 fits."
    )


def drawing(values, names):
    """Points with standard errors, one panel per table."""
    made, axes = figure(2, (5.5, 4.5))
    for ax, key in zip(axes, ("F20", "F21"), strict=True):
        mean, error = spread(values[key])
        kept = [k for k, n in enumerate(names) if np.isfinite(mean[0, k]) and n not in ("Platt", "beta")]
        for i, shape in enumerate(SHAPES):
            places = np.arange(len(kept)) + 0.12 * (i - 2)
            ax.errorbar(mean[i, kept], places, xerr=error[i, kept], fmt="o", markersize=3, label=shape)
        ax.set_yticks(range(len(kept)), [names[k] for k in kept] if ax is axes[0] else [])
        ax.set_xlabel(piecewise.TABLES[key])
    axes[0].legend(fontsize=7)
    return made
