"""How close do piecewise-linear maps come to a known truth? The synthetic data of Kängsepp et al. and skewed scores.

Run: python -m studies.piecewise [--quick]    (about six minutes on two cores; writes studies/results/piecewise.md)

The data of their Tables F20 and F21 are made again draw by draw: the true probability c is uniform, the label follows it, and
what is said is a mixture of c and one of five shapes of c. Published columns stand beside ours on the same data. The second
world is that of Roelofs et al.: ten Beta distributions of top-label scores with fitted calibration curves.

Settings were chosen on other seeds of both worlds: 100–124 and 500–511. How far what is reported is free of that choice is said
at the head of the results.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import calibrant as cal

RESULTS = Path(__file__).parent / "results" / "piecewise.md"
SIZES = (1000, 3000, 10_000)
LEVELS = tuple(0.005 * k for k in range(21))
REPORTED, TUNED = range(5), range(100, 105)
GRID = (np.arange(10_000) + 0.5) / 10_000


def beta_shape(c, a, b, half):
    """σ(k + a·ln c − b·ln(1−c)) with k such that `half` goes to ½."""
    k = b * np.log1p(-half) - a * np.log(half)
    with np.errstate(divide="ignore"):
        return 1 / (1 + np.exp(-(k + a * np.log(c) - b * np.log1p(-c))))


def bent(x):
    return x - np.sin(x)


def stair(x):
    return bent(bent(3 * np.pi * x)) / (3 * np.pi)


SHAPES = {
    "square": lambda c: c**2,
    "sqrt": np.sqrt,
    "beta1": partial(beta_shape, a=0.4, b=0.45, half=0.4),
    "beta2": partial(beta_shape, a=2.0, b=2.2, half=0.48),
    "stairs": lambda c: stair(c + 1 / 3) - stair(1 / 3),
}


def said(shape, level, c):
    """The shape mixed with the identity such that the mean distance is `level`."""
    fine = (np.arange(200_000) + 0.5) / 200_000
    share = round(level / np.abs(SHAPES[shape](fine) - fine).mean(), 6)
    return (1 - share) * c + share * SHAPES[shape](c)


def drawn(n, seed):
    """True probabilities and labels, as the paper's code draws them."""
    state = np.random.RandomState(seed + n)
    c = np.sort(state.dirichlet((1, 1), n)[:, 0])
    return c, state.binomial(1, c)


def cuts_of(n, m):
    """Equal-mass bins as the paper cuts them: the first n mod m bins hold one row more."""
    k, more = divmod(n, m)
    return np.arange(m + 1) * k + np.minimum(np.arange(m + 1), more)


class UnitSlope:
    """The paper's bins with unit slope: closed on the left, and what leaves [0, 1] is not stopped."""

    def __init__(self, labels, probs, m):
        order = np.argsort(probs)
        p, y, cuts = probs[order], labels[order], cuts_of(len(probs), m)
        self.shifts = np.add.reduceat(y - p, cuts[:-1]) / np.diff(cuts)
        self.edges = p[cuts[1:-1]]

    def apply(self, probs):
        return probs + self.shifts[np.searchsorted(self.edges, probs, side="right")]


def swept(labels, probs):
    """The last number of the paper's bins before the rates fall."""
    below = np.append(0, np.cumsum(labels[np.argsort(probs)]))
    for m in range(2, len(labels) + 1):
        cuts = cuts_of(len(labels), m)
        if (np.diff(np.diff(below[cuts]) / np.diff(cuts)) < 0).any():
            return m - 1
    return len(labels)


def unit_slope(choose):
    """The map and the debiased error of the paper's bins, whose number is chosen."""

    def fitted(labels, probs):
        found = UnitSlope(labels, probs, choose(labels, probs))
        bins = cal.Edges([0.0, *found.edges, 1.0], closed="left")
        return found, cal.binned_error(labels, probs, bins=bins, debiased=True).value

    return fitted


def by_map(recipe):
    """A map and the mean distance that it sees between itself and the predictions."""

    def fitted(labels, probs):
        found = recipe.fit(labels, probs)
        return found, np.abs(found.apply(probs) - probs).mean()

    return fitted


def crossvalidated(labels, probs):
    return int(cal.crossvalidated_error(labels, probs).settings["n_bins"])


OURS = {
    "PL, their rule": by_map(cal.PiecewiseLinear("probability", pieces="cv")),
    "PL3, their rule": by_map(cal.PiecewiseLinear(pieces="cv")),
    "PL3 averaged": by_map(cal.PiecewiseLinear(identity=False)),
    "PL3 with identity": by_map(cal.PiecewiseLinear()),
    "Gaussian process": by_map(cal.GaussianProcessMap()),
}
METHODS = {
    "ES15": unit_slope(lambda labels, probs: 15),  # noqa: ARG005
    "ES sweep": unit_slope(swept),
    "ES CV": unit_slope(crossvalidated),
    "Platt": by_map(cal.Platt()),
    "beta": by_map(cal.Beta()),
    "isotonic": by_map(cal.Isotonic(bounded=False)),
} | OURS
PUBLISHED = {
    "F20": {
        "ES15": (24.76, 24.78, 25.30, 25.54, 26.79),
        "ES sweep": (20.46, 20.43, 20.98, 21.52, 23.24),
        "ES CV": (17.33, 16.87, 18.96, 21.58, 23.55),
        "Platt": (9.48, 11.82, 11.32, 12.87, 50.44),
        "beta": (11.04, 11.18, 12.49, 14.33, 36.14),
        "isotonic": (25.45, 25.45, 25.45, 25.45, 25.45),
        "PL, their rule": (13.07, 13.43, 16.87, 15.26, 17.89),
        "PL3, their rule": (9.98, 13.29, 14.76, 14.51, 18.72),
    },
    "F21": {
        "ES15": (7.40, 6.94, 7.78, 7.18, 7.12),
        "ES sweep": (7.07, 6.56, 7.19, 8.04, 7.46),
        "ES CV": (6.59, 5.92, 7.11, 8.10, 7.29),
        "Platt": (5.79, 6.34, 6.76, 7.83, 29.27),
        "beta": (5.81, 6.49, 6.95, 7.97, 24.98),
        "isotonic": (8.66, 9.60, 10.38, 9.13, 10.30),
        "PL, their rule": (7.01, 7.12, 7.46, 7.75, 8.11),
        "PL3, their rule": (5.91, 6.37, 7.72, 8.34, 7.59),
    },
}

WORLDS = {
    "resnet110_c10": (2.7752, 0.0478, "logflip", "logflip", -0.24, 0.30),
    "resnet110_SD_c10": (2.1714, 0.0394, "logit", "logflip", -0.27, -0.35),
    "resnet_wide32_c10": (2.3806, 0.0379, "logit", "logit", 0.0, 0.26),
    "densenet40_c10": (1.9824, 0.0397, "logit", "logflip", 0.0, -0.26),
    "resnet110_c100": (1.1823, 0.1081, "logflip", "logflip", -0.11, 0.28),
    "resnet110_SD_c100": (1.1233, 0.1147, "logit", "logit", -0.88, 0.49),
    "resnet_wide32_c100": (1.0611, 0.0650, "logflip", "logflip", -0.13, 0.21),
    "densenet40_c100": (1.0805, 0.0808, "logit", "logit", -0.97, 0.34),
    "resnet152_imgnet": (1.1359, 0.2069, "logflip", "logflip", -0.12, 0.58),
    "densenet161_imgnet": (1.1928, 0.2206, "log", "log", -0.03, 1.27),
}
"""Beta(α, β), link, transform, intercept and slope of the calibration curve (Roelofs et al., Tables 2 and 3)."""

TRANSFORMS = {
    "logit": lambda p: np.log(p) - np.log1p(-p),
    "log": np.log,
    "logflip": lambda p: np.log1p(-p),
}
BACK = {"logit": lambda v: 1 / (1 + np.exp(-v)), "log": np.exp, "logflip": lambda v: -np.expm1(v)}
SKEWED = {"Platt": METHODS["Platt"], "beta": METHODS["beta"]} | OURS


def world_truth(world, p):
    _, _, link, transform, intercept, slope = WORLDS[world]
    with np.errstate(divide="ignore"):
        return np.clip(BACK[link](intercept + slope * TRANSFORMS[transform](p)), 0, 1)


def shape_errors(case):
    """Map error and error of the calibration error of every method, in thousandths."""
    n, seed, shape, level, names = case
    c, labels = drawn(n, seed)
    probs, at = said(shape, level, c), said(shape, level, GRID)
    rows = []
    for name in names:
        fitted, error = METHODS[name](labels, probs)
        rows.append((np.abs(fitted.apply(at) - GRID).mean(), abs(error - np.abs(probs - c).mean())))
    return 1e3 * np.array(rows)


def world_errors(case):
    world, n, seed = case
    rng = np.random.default_rng((seed, n))
    alpha, beta = WORLDS[world][:2]
    probs, at = rng.beta(alpha, beta, n), rng.beta(alpha, beta, 50_000)
    labels = (rng.random(n) < world_truth(world, probs)).astype(int)
    return 1e3 * np.array(
        [np.abs(f(labels, probs)[0].apply(at) - world_truth(world, at)).mean() for f in SKEWED.values()]
    )


def table(title, heads, rows):
    """A Markdown table; numbers to two digits."""
    lines = [f"## {title}", "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(v if isinstance(v, str) else f"{v:.2f}" for v in row) + " |" for row in rows]
    return "\n".join([*lines, ""])


def shape_tables(pool, seeds, names, levels, sizes, published):
    cases = [(n, seed, shape, level, names) for n in sizes for seed in seeds for shape in SHAPES for level in levels]
    found = np.array(list(pool.map(shape_errors, cases, chunksize=8)))
    shape = np.array([case[2] for case in cases])
    for column, (key, what) in enumerate((("F20", "map error |ĉ − c*|"), ("F21", "|ECE − CE|"))):
        rows = []
        for k, name in enumerate(names):
            ours = [found[shape == s, k, column].mean() for s in SHAPES]
            if published and name in PUBLISHED[key]:
                rows.append((f"{name}, published", *PUBLISHED[key][name], float(np.mean(PUBLISHED[key][name]))))
            rows.append((f"**{name}**" if published else name, *ours, float(np.mean(ours))))
        part = "the paper's seeds 0–4" if published else f"tuning seeds {seeds[0]}–{seeds[-1]}"
        yield table(f"{key}: {what} × 10³, {part}, {len(cases)} data sets", ("method", *SHAPES, "mean"), rows)


def world_tables(pool, seeds, sizes):
    cases = [(world, n, seed) for world in WORLDS for n in sizes for seed in seeds]
    found = np.array(list(pool.map(world_errors, cases, chunksize=4)))
    of = np.array([(case[0], str(case[1])) for case in cases])
    names = list(SKEWED)
    rivals, ours = [names.index("Platt"), names.index("PL3, their rule")], names.index("PL3 with identity")
    for n in sizes:
        rows = []
        for world in WORLDS:
            mean = found[(of[:, 0] == world) & (of[:, 1] == str(n))].mean(axis=0)
            rows.append((world, *mean, f"{100 * (mean[ours] / mean[rivals].min() - 1):+.0f} %"))
        mean = found[of[:, 1] == str(n)].mean(axis=0)
        rows.append(("mean", *mean, f"{100 * (mean[ours] / mean[rivals].min() - 1):+.0f} %"))
        heads = ("world", *names, "default against the better of Platt and PL3")
        yield table(f"Skewed scores: map error × 10³ at n = {n:,}, {len(seeds)} seeds", heads, rows)


INTRO = """# Piecewise-linear maps on data with a known truth

Written by `python -m studies.piecewise`. Bold rows are calibrant on the same data as the published rows (Kängsepp et al.,
Tables F20 and F21). ES: the paper's equal-mass bins with unit slope, debiased in F21; ES CV has our folds, as theirs are not
known. PL lives in probabilities, PL3 in log-odds; *their rule* is the fewest pieces within 0.1 % of the best cross-validated
loss. The default is *PL3 with identity*; to measure, leave the identity out.

The reported seeds took no part in choosing a setting, with two reservations. The first values of all settings come from an
earlier study, which may have seen these seeds. And one early look at them (PL 15.48, PL3 13.12 by their rule, PL3 averaged 11.89) led to
a search for better end knots of PL; end knots at the ends of the data and 4 % of the rows between knots were then chosen on seeds
100–124.

Within one size the five seeds share their labels over all shapes and levels, so a row rests on fifteen draws: differences of a
few tenths between columns are noise.
"""


def main(arguments):
    quick = "--quick" in arguments
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # two processes, two cores
    levels = LEVELS[::5] if quick else LEVELS
    sizes = SIZES[:2] if quick else SIZES
    parts = [INTRO]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts += shape_tables(pool, REPORTED[:2] if quick else REPORTED, tuple(METHODS), levels, sizes, True)
        parts += shape_tables(pool, TUNED[:2] if quick else TUNED, tuple(OURS), levels[::4], sizes, False)
        parts += world_tables(pool, range(3 if quick else 20), sizes)
    text = "\n".join(parts)
    print(text)
    if not quick:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
