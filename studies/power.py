"""How often does `is_calibrated` find a wrong model, how often do twelve other tests, and how often is a calibrated one accused?

Writes studies/results/power.md and the counts behind it, power.json. The statistics of `is_calibrated` and their weights were chosen on other
parameters, other predictions and other seeds. Fifty data sets at a time share their predictions and the null draws, and all tests share both.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit, logit

import calibrant as cal
from calibrant.bins import EqualMass
from calibrant.detect.multi_scale import scales
from calibrant.detect.omnibus import class_components, components, is_calibrated
from calibrant.detect.skce import _of_labels
from calibrant.kernels.compiled import many_calls
from calibrant.kernels.draws.null_draws import replicate_seeds
from calibrant.kernels.draws.null_sums import rising_gains
from calibrant.kernels.rows import blocks
from calibrant.resampling import pairs
from calibrant.resampling import statistics as of
from calibrant.resampling.classes import class_rows, of_top
from calibrant.resampling.draw import Statistic
from calibrant.resampling.null import hypothesis_of
from calibrant.resampling.rank import joint_rank, rank_p_value
from calibrant.resampling.rows import atoms_of
from studies.frame import Page

DRAWS, SHARED, LEVELS = 499, 50, (0.05, 0.01)
SETS = {"events": 400, "classes": 400, "sizes": 200, "formulas": 200}
"""Data sets per cell of each part."""

OURS, FORMER = "is_calibrated", "eight other statistics, as jointly ranked"
"""Ours, and for comparison mean gap, Cox, Spiegelhalter, Kuiper, averaged two-bin error, 10 bins, 30 bins and scan."""


def uniform(rng, n):
    return rng.random(n)


def skewed(rng, n):
    return rng.beta(1.5, 4, n)


def rare(rng, n):
    return expit(rng.normal(-4, 0.8, n))


def confident(rng, n):
    return rng.beta(2.7752, 0.0478, n)  # Roelofs et al.: a network on CIFAR-10


def tenths(rng, n):
    return rng.integers(1, 10, n) / 10


def top(rng, n):
    return rng.dirichlet(np.full(10, 0.3), n).max(axis=1)


def shift(p, by):
    return expit(logit(p) + by)


def slope(p, by):
    return expit(logit(p) * by)


def off(p, low, high, by):
    return np.where((p > low) & (p <= high), p + by, p)


def bump(p, at, width, by):
    return p + by * np.exp(-0.5 * ((p - at) / width) ** 2)


def wave(p, periods, size):
    return p + size * np.sin(2 * np.pi * periods * p + 1)


EVENTS = {
    "shift": (uniform, 1000, partial(shift, by=-0.26)),
    "shift, 250 rows": (uniform, 250, partial(shift, by=0.55)),
    "too extreme": (uniform, 1000, partial(slope, by=0.74)),
    "not extreme enough": (uniform, 1000, partial(slope, by=1.32)),
    "not extreme enough, 250 rows": (uniform, 250, partial(slope, by=1.75)),
    "tail": (uniform, 1000, partial(off, low=0.9, high=1, by=-0.11)),
    "bump": (uniform, 1000, partial(bump, at=0.4, width=0.1, by=-0.14)),
    "narrow": (uniform, 1000, partial(off, low=0.43, high=0.5, by=0.26)),
    "step": (uniform, 1000, partial(off, low=0.67, high=1, by=-0.075)),
    "wave, 1 period": (uniform, 1000, partial(wave, periods=1, size=0.075)),
    "wave, 2 periods": (uniform, 1000, partial(wave, periods=2, size=0.08)),
    "wave, 6 periods": (uniform, 1000, partial(wave, periods=6, size=0.09)),
    "wave, 12 periods": (uniform, 1000, partial(wave, periods=12, size=0.11)),
    "wave, 12 periods, 4000 rows": (uniform, 4000, partial(wave, periods=12, size=0.05)),
    "skewed: shift": (skewed, 1000, partial(shift, by=-0.26)),
    "skewed: wave, 2 periods": (skewed, 1000, partial(wave, periods=2, size=0.07)),
    "skewed: wave, 6 periods": (skewed, 1000, partial(wave, periods=6, size=0.08)),
    "rare: shift": (rare, 2500, partial(shift, by=0.4)),
    "rare: too extreme": (rare, 2500, partial(slope, by=0.9)),
    "confident: too extreme": (confident, 2000, partial(slope, by=0.75)),
    "confident: tail": (confident, 1500, partial(off, low=0.998, high=1, by=-0.004)),
    "tenths: shift": (tenths, 500, partial(shift, by=0.3)),
    "tenths: one value": (tenths, 500, partial(off, low=0.55, high=0.65, by=-0.23)),
    "top of 10: too extreme": (top, 1000, partial(slope, by=0.72)),
}
"""Predictions, rows, and the true rate of each."""


def neyman_smooth(atoms, order=6):
    """Neyman's smooth test on the ranks: Legendre polynomials, standardised by their covariance under calibration."""
    rank = (np.cumsum(atoms.weight) - atoms.weight / 2) / atoms.total
    shapes = np.polynomial.legendre.legvander(2 * rank - 1, order)
    scale, angles = np.linalg.eigh(shapes.T @ (atoms.variance[:, None] * shapes))
    kept = scale > 1e-9 * scale[-1]
    whitened = (shapes @ angles[:, kept]) / np.sqrt(scale[kept])
    return Statistic("", "", of.linear(*whitened.T), lambda states: (states**2).sum(axis=1))


def isotonic(atoms):
    """Twice the gain of the isotonic fit over the predictions in log-likelihood, row by row."""
    odds, weight = of.bounded_log_odds(atoms.p), atoms.weight

    def collect(errors):
        found = np.empty(len(errors))
        rising_gains(np.clip(weight * atoms.p - errors, 0, weight), weight, found)
        return (found + errors @ odds)[:, None]  # less the likelihood of the predictions, up to a constant

    return Statistic("", "", collect)


def competitors(atoms):
    return {
        "mean gap": of.mean_gap(atoms),
        "Cox": of.cox(atoms),
        "Spiegelhalter": of.spiegelhalter(atoms),
        "Hosmer–Lemeshow, 10 bins": of.hosmer_lemeshow(atoms),
        "KS": of.cumulative(atoms, "max"),
        "Kuiper": of.kuiper(atoms),
        "two-part cumulative": of.two_part(atoms),
        "debiased L2, 15 bins": of.binned(atoms, EqualMass(15), norm=2, debiased=True, root=False, clip=False),
        "SKCE": pairs.laplace_pairs(atoms, 0.25, "unbiased"),
        "Neyman, 6 polynomials of ranks": neyman_smooth(atoms),
        "isotonic likelihood ratio": isotonic(atoms),
    }


def event(make, n, truth, rng, sets):
    p = make(rng, n)
    atoms = atoms_of(cal.Predictions(np.zeros(n, np.uint8), p), "auto")
    others, asked, levels = competitors(atoms), components(atoms), pairs.multi_scale(atoms, scales(atoms))
    rates = np.clip(truth(atoms.p), 0, 1)
    observed = atoms.weight * atoms.p - rng.binomial(atoms.count, rates, (sets, len(rates)))
    former = [of.mean_gap, of.cox, of.spiegelhalter, of.kuiper, of.averaged_two_bin, of.hosmer_lemeshow]
    former += [partial(of.hosmer_lemeshow, bins=EqualMass(30)), of.scan]
    several = {"T-Cal": levels, FORMER: [make(atoms) for make in former]}
    return judged(hypothesis_of(atoms).nulls[0], others, asked, observed, rng, several)


def judged(null, others, asked, observed, rng, several=()):
    """p-values of each observed data set: of `is_calibrated`, of the single tests, and of those of several statistics."""
    made = [*asked, *others.values(), *(each for group in dict(several).values() for each in group)]
    collects = dict.fromkeys(each.collect for each in made)
    drawn = np.concatenate([observed, null.draws(replicate_seeds(int(rng.integers(2**62)), DRAWS))])
    states = {collect: np.concatenate([collect(block) for block in np.array_split(drawn, 20)]) for collect in collects}
    values = np.stack([each.finish(states[each.collect]) for each in made], axis=1)
    chance, weights, found = values[len(observed) :], [each.weight for each in asked], []
    for row in values[: len(observed)]:
        one, coin, at = np.vstack([row, chance]), float(rng.random()), len(asked) + len(others)
        p_values = {OURS: joint_rank(one[:, : len(asked)], "random", coin, weights).p_value}
        p_values |= {name: rank_p_value(one[:, len(asked) + j], "random", coin) for j, name in enumerate(others)}
        for name, group in dict(several).items():
            p_values[name] = joint_rank(one[:, at : at + len(group)], "random", coin).p_value
            at += len(group)
        found.append(p_values)
    return found


def scaled(p):
    return p / p.sum(axis=1, keepdims=True)


def times(p, factors):
    return scaled(p * np.append(factors, np.ones(p.shape[1] - len(factors))))


def less_sure(p, by):
    """The top class loses a share of its probability to the others."""
    rows, best = np.arange(len(p)), p.argmax(axis=1)
    found = p.copy()
    found[rows, best] -= by * p[rows, best]
    rest = found.sum(axis=1) - found[rows, best]
    spread = (1 - found[rows, best]) / rest
    own = found[rows, best]
    found *= spread[:, None]
    found[rows, best] = own
    return found


def confused(p, by):
    """A share of class 0 is class 1."""
    found = p.copy()
    found[:, 0] -= by * p[:, 0]
    found[:, 1] += by * p[:, 0]
    return found


CLASSES = {
    "one class too low": (5, 500, 0.8, partial(times, factors=[1.65])),
    "one class too high": (5, 500, 0.8, partial(times, factors=[0.55])),
    "one class too low, 3 classes": (3, 500, 0.8, partial(times, factors=[1.6])),
    "one class too low, 10 classes": (10, 1000, 0.4, partial(times, factors=[1.65])),
    "two classes": (5, 500, 0.8, partial(times, factors=[1.4, 0.7])),
    "too extreme": (5, 500, 0.8, lambda p: scaled(p**0.82)),
    "not extreme enough": (5, 500, 0.8, lambda p: scaled(p**1.25)),
    "top class too sure": (5, 500, 0.8, partial(less_sure, by=0.16)),
    "two classes confused": (5, 500, 0.8, partial(confused, by=0.2)),
    "slope of one class": (5, 500, 0.8, lambda p: scaled(np.column_stack([p[:, 0] ** 0.8, p[:, 1:]]))),
}
"""Classes, rows, concentration of the Dirichlet predictions, and the true distributions."""


def drawn_classes(rng, probs):
    return (rng.random((len(probs), 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)


def whole(k, n, shape, truth, rng, sets):
    probs = scaled(np.maximum(rng.dirichlet(np.full(k, shape), n), 1e-9))
    rows = class_rows(cal.Predictions(np.zeros(n, int), probs, classes=range(k)), None)
    asked = class_components(rows, tuple(range(k)))
    tops = {"top class: Spiegelhalter": of.spiegelhalter, "top class: Hosmer–Lemeshow": of.hosmer_lemeshow}
    others = {each.title: each for each in asked} | {name: of_top(rows, make) for name, make in tops.items()}
    apart = cdist(rows.probs, rows.probs, "cityblock")
    kernel = np.exp(-apart / np.median(apart[np.triu_indices(n, 1)]))
    others["SKCE"] = Statistic("", "", _of_labels(rows, kernel, True))
    rates = truth(rows.probs)
    observed = np.stack([drawn_classes(rng, rates) for _ in range(sets)]).astype(np.int32)
    return judged(rows, others, asked, observed, rng)


def tied(rng, n):
    return rng.integers(0, 21, n) / 20


SIZES = {
    **{
        f"{make.__name__}, {n}": ("event", make, n)
        for make in (uniform, confident, rare, tied)
        for n in (30, 200, 2000)
    },
    "uniform, 200, weights": ("weights", uniform, 200),
    **{
        f"Dirichlet({shape:g}) of {k}, {n}": ("classes", k, shape, n)
        for k, shape in ((3, 1.0), (5, 0.2))
        for n in (30, 200, 2000)
    },
}
"""Calibrated models."""


def size(kind, *about, rng, sets):
    return [one_size(kind, *about, rng=rng) for _ in range(sets)]


def one_size(kind, *about, rng):
    """99 draws: the least with which 1 % can be reached."""
    if kind == "classes":
        k, shape, n = about
        probs = rng.dirichlet(np.full(k, shape), n)
        return {OURS: is_calibrated(drawn_classes(rng, probs), probs, view="canonical", n_draws=99).p_value}
    make, n = about
    p = make(rng, n)
    weights = rng.lognormal(size=n) if kind == "weights" else None
    return {OURS: is_calibrated(rng.random(n) < p, p, weights=weights, n_draws=99).p_value}


FORMULAS = {f"{make.__name__}, {n}": (make, n) for make in (uniform, confident, rare, tied) for n in (30, 200, 2000)}
WARNED = " | warned"


def formulas(make, n, rng, sets):
    return [one_formula(make, n, rng) for _ in range(sets)]


def one_formula(make, n, rng):
    """p-values by formula, and whether the result warns of them."""
    p = make(rng, n)
    data = rng.random(n) < p, p
    found = {
        "Spiegelhalter, normal": cal.detect.spiegelhalter_test(*data, method="normal"),
        "Cox, score χ²": cal.detect.cox_test(*data, method="score"),
        "Cox, likelihood ratio χ²": cal.detect.cox_test(*data, method="likelihood"),
        "Hosmer–Lemeshow, χ²": cal.detect.hosmer_lemeshow_test(*data, method="chi2"),
        "Kuiper, Brownian": cal.detect.cumulative_test(*data, method="brownian"),
        "KS, Brownian": cal.detect.cumulative_test(*data, statistic="max", method="brownian"),
        "two-part, asymptotic": cal.detect.two_part_test(*data, method="asymptotic"),
    }
    warned = {
        name + WARNED: 0.0 if any("exact" in text for text in each.cautions) else 1.0 for name, each in found.items()
    }
    return {name: each.p_value for name, each in found.items()} | warned


PARTS = {
    "events": {name: partial(event, *about) for name, about in EVENTS.items()},
    "classes": {name: partial(whole, *about) for name, about in CLASSES.items()},
    "sizes": {name: partial(size, *about) for name, about in SIZES.items()},
    "formulas": {name: partial(formulas, *about) for name, about in FORMULAS.items()},
}


def counted(part, place, name, sets, seed):
    """How many data sets of a cell each test rejects, at both levels."""
    blocks.n_cores = lambda: 1
    rng = np.random.default_rng((seed, list(PARTS).index(part), place, 0))
    make = PARTS[part][name]
    with many_calls():
        found = [row for first in range(0, sets, SHARED) for row in make(rng=rng, sets=min(SHARED, sets - first))]
    return {
        "sets": sets,
        "hits": {test: [sum(row[test] <= level for row in found) for level in LEVELS] for test in found[0]},
    }


def share(cell, name, level=0):
    return 100 * cell["hits"][name][level] / cell["sets"]


def error(cell, name, level=0):
    at = share(cell, name, level) / 100
    return 100 * np.sqrt(at * (1 - at) / cell["sets"])


def power_table(part):
    """Rows are cells: ours, the best other test, how far behind, all others."""
    names = [name for name in next(iter(part.values()))["hits"] if name != OURS]
    single = [name for name in names if name != FORMER]
    lines = [
        "| | " + " | ".join([OURS, "behind the best", "the best", *names]) + " |",
        "|---|---|---|---|" + "---|" * len(names),
    ]
    behind = {}
    for cell, kept in part.items():
        best = max(single, key=lambda name: kept["hits"][name][0])
        behind[cell] = share(kept, best) - share(kept, OURS)
        shares = [f"{share(kept, name):.0f}" for name in names]
        ours = f"**{share(kept, OURS):.1f}** ± {error(kept, OURS):.1f}"
        lines.append(f"| {cell} | " + " | ".join([ours, f"{behind[cell]:.1f}", best, *shares]) + " |")
    worst = {
        name: max(max(share(kept, each) for each in single) - share(kept, name) for kept in part.values())
        for name in (OURS, *names)
    }
    last = " | ".join(f"{worst[name]:.0f}" for name in names)
    return [*lines, f"| largest distance from the best | **{worst[OURS]:.1f}** | | | {last} |"]


def size_table(part):
    lines = ["| predictions, rows | at 5 % | at 1 % | data sets |", "|---|---|---|---|"]
    for cell, kept in part.items():
        five, one = (f"{share(kept, OURS, level):.2f} ± {error(kept, OURS, level):.2f}" for level in (0, 1))
        lines.append(f"| {cell} | {five} | {one} | {kept['sets']:,} |")
    total = {"sets": sum(kept["sets"] for kept in part.values())}
    total["hits"] = {OURS: [sum(kept["hits"][OURS][level] for kept in part.values()) for level in (0, 1)]}
    five, one = (f"{share(total, OURS, level):.2f} ± {error(total, OURS, level):.2f}" for level in (0, 1))
    return [*lines, f"| all | {five} | {one} | {total['sets']:,} |"]


def formula_table(part):
    names = [name for name in next(iter(part.values()))["hits"] if not name.endswith(WARNED)]
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for cell, kept in part.items():
        shares = [
            f"{share(kept, name):.1f}, {share(kept, name, 1):.1f}" + "*" * (share(kept, name + WARNED) > 50)
            for name in names
        ]
        lines.append(f"| {cell} | " + " | ".join(shares) + " |")
    return lines


def page(kept, seed):
    sets = {part: ", ".join(sorted({f"{cell['sets']:,}" for cell in cells.values()})) for part, cells in kept.items()}
    return "\n".join([
        "# Power of `is_calibrated` and of other tests",
        "",
        f"Made by `calibrant study power`, seed {seed}. Per cent of data sets in which an exact test at 5 % rejects, from {DRAWS} null draws; ± is a "
        "Monte-Carlo standard error.",
        "",
        f"## One event ({sets['events']} data sets per row)",
        "",
        *power_table(kept["events"]),
        "",
        f"## All classes, `view=\"canonical\"` ({sets['classes']} data sets per row)",
        "",
        "The statistics of `is_calibrated` stand among the other tests, each for itself.",
        "",
        *power_table(kept["classes"]),
        "",
        "## False alarms of `is_calibrated` on calibrated models",
        "",
        *size_table(kept["sizes"]),
        "",
        f"## Formulas for many rows, on calibrated models ({sets['formulas']} data sets per row)",
        "",
        "Per cent rejected at 5 %, at 1 %. A star: in most data sets the result warns that the formula is rough and the exact test is not.",
        "",
        *formula_table(kept["formulas"]),
        "",
    ])  # fmt: skip


def run(job):
    cases = {
        f"{part}: {name}": (part, place, name, 2 if job.quick else SETS[part], job.seed)
        for part, cells in PARTS.items()
        for place, name in enumerate(cells)
        if not job.quick or place == 0
    }
    kept = {}
    for (part, _, name, *_), found in zip(
        cases.values(), job.parts(counted, cases, cores=os.cpu_count()).values(), strict=True
    ):
        kept.setdefault(part, {})[name] = found
    return Page.of(page(kept, job.seed), data=kept)
