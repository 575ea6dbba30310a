"""Does the interval of `compare` hold the true improvement, and does a difference of plain ECEs tell it?

A world has a few thousand kinds of rows, all equally likely, each with a true distribution q of the classes and one prediction; no
two kinds are told the same. So every expectation is a mean over the kinds, and the truth is known to the last digit:

    CE² = mean of ‖f − q‖²,    ECE = mean of |confidence − P(right | confidence)|.

Temperature and ensemble temperature are fitted once, on rows of their own. Then, again and again, rows are drawn, and the improvement
is estimated by `compare` and by the difference of two plain 15-bin ECEs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

import numpy as np

import calibrant as cal
from calibrant.kernels.logits import probabilities
from studies.frame import Page, cpu_seconds

SIZES = (100, 1000, 10_000)
REPLICATIONS, AT_A_TIME = 10_000, 250
FITTED_ON = 2000
BINS = 15
MISLABELLED = 0.15
"""Share of rows with a label at random: what ensemble temperature can mend and temperature cannot."""
MAPS = {"temperature": cal.Temperature(), "ensemble temperature": cal.maps.EnsembleTemperature()}
AT_LEAST, AT_MOST = {100: 0.935, 1000: 0.935, 10_000: 0.935}, 0.965
"""What is promised of the coverage; for 100 rows no upper end."""


@dataclass(frozen=True)
class World:
    """Kinds of rows: their true distributions and the logits that the model says."""

    seed: int
    truth: np.ndarray
    said: np.ndarray

    def draw(self, rng, n):
        """Kinds of n rows, and the predictions with their labels."""
        which = rng.integers(0, len(self.truth), n)
        below = self.truth[which, :-1].cumsum(axis=1)
        labels = (rng.random((n, 1)) > below).sum(axis=1)
        return which, cal.Predictions.from_logits(labels, self.said[which])

    def squared_error(self, probs):
        return float(((probs - self.truth) ** 2).sum(axis=1).mean())

    def gaps(self, probs):
        """Confidence, and by how much it exceeds the chance of being right."""
        rows, top = np.arange(len(probs)), probs.argmax(axis=1)
        confidence = probs[rows, top]
        assert len(np.unique(confidence)) == len(probs)
        return confidence, confidence - self.truth[rows, top]

    def plain_error(self, probs):
        return float(np.abs(self.gaps(probs)[1]).mean())

    def binned_error(self, probs):
        """What 15 bins would show of infinitely many rows."""
        confidence, gap = self.gaps(probs)
        bins = np.minimum((np.ceil(confidence * BINS) - 1).astype(int), BINS - 1)
        return float(np.abs(np.bincount(bins, gap, BINS)).sum() / len(gap))


def too_sure(seed, kinds, classes, spread, tilt):
    """A model whose log-odds are 1.8 times too large, that knows of no mislabelled rows, and that may favour some classes."""
    rng = np.random.default_rng(seed)
    clean = probabilities(spread * rng.normal(size=(kinds, classes)))
    truth = (1 - MISLABELLED) * clean + MISLABELLED / classes
    return World(seed, truth, 1.8 * np.log(clean) + tilt * rng.normal(size=classes))


WORLDS = {"3 classes": (7, 2000, 3, 1.5, 0.0), "10 classes, tilted": (8, 5000, 10, 2.0, 0.3)}
"""What `too_sure` is made with."""


@cache
def world(name):
    return too_sure(*WORLDS[name])


@cache
def fitted(name):
    """The maps of a world, fitted once on rows of their own."""
    valid = world(name).draw(np.random.default_rng((world(name).seed, 1)), FITTED_ON)[1]
    return {method: recipe.fit(valid) for method, recipe in MAPS.items()}


def replicated(name, n, first, count, seed):
    """Of each replication and map: is the truth inside, the estimated improvement, and the difference of plain ECEs."""
    here, rows = world(name), []
    truths = [improvement(here, fit) for fit in fitted(name).values()]
    for number in range(first, first + count):
        _, before = here.draw(np.random.default_rng((here.seed + seed, 2, n, number)), n)
        plain = cal.ece(before, bins=BINS).value
        for fit, truth in zip(fitted(name).values(), truths, strict=True):
            after = fit.apply(before)
            found = cal.compare(before, after).difference
            mended = cal.ece(after, bins=BINS).value
            rows.append((truth in found.interval, found.value, mended - plain))
    return np.array(rows).reshape(count, len(MAPS), 3)


def improvement(here, fit):
    """The true change of CE²."""
    return here.squared_error(fit.apply(logits=here.said)) - here.squared_error(probabilities(here.said))


def simulated(job, name, n, n_data_sets):
    cases = [
        (name, n, first, min(AT_A_TIME, n_data_sets - first), job.seed) for first in range(0, n_data_sets, AT_A_TIME)
    ]
    parts = job.parts(replicated, {" ".join(map(str, case)): case for case in cases}, cores=os.cpu_count())
    return np.concatenate([np.array(part) for part in parts.values()])


def with_error(values):
    return f"{np.mean(values):.5f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.5f}"


def coverage_row(name, n, method, truth, found):
    covered, share = found[:, 0].mean(), len(found)
    error = (covered * (1 - covered) / share) ** 0.5
    promised = f"≥ {AT_LEAST[n]:.1%}" if n == 100 else f"{AT_LEAST[n]:.1%} – {AT_MOST:.1%}"
    met = covered >= AT_LEAST[n] and (n == 100 or covered <= AT_MOST)
    cells = (f"{truth:.5f}", with_error(found[:, 1]), f"{covered:.2%} ± {error:.2%}", promised, "yes" if met else "no")
    return (name, f"{n:,}", method, *cells)


def plain_row(name, n, method, here, fit, found):
    """The difference of plain ECEs beside the true one, and beside what 15 bins would show of infinitely many rows."""
    old, new = probabilities(here.said), fit.apply(logits=here.said)
    truth, binned = here.plain_error(new) - here.plain_error(old), here.binned_error(new) - here.binned_error(old)
    bias = with_error(found[:, 2] - truth)
    share = f"{(found[:, 2].mean() - truth) / abs(truth):+.0%}"
    return (name, f"{n:,}", method, f"{truth:.5f}", f"{binned:.5f}", f"{found[:, 2].mean():.5f}", bias, share)


def described():
    """The fitted maps in numbers."""
    found = []
    for name in WORLDS:
        one, several = fitted(name).values()
        weights = ", ".join(f"{w:.2f}" for w in several.weights)
        found.append(f"in the world of {name} T = {one.temperature:.2f}, with weights {weights} in the ensemble")
    return "; ".join(found)


def table(title, heads, rows):
    lines = [f"## {title}", "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])


INTRO = """# The improvement by recalibration, where the truth is known

Written by `calibrant study improvement`: {n_data_sets:,} replications of each size, seeds (world, 2, n, replication). The worlds have
finitely many kinds of rows, so the true values are exact. The maps are fitted once on {fitted:,} rows of their own (seed (world, 1)) and
then fixed. All changes are after − before: negative is better. ± is one standard error of the simulation.

The models say log-odds 1.8 times too large and know nothing of the {mislabelled:.0%} of rows whose label is drawn at random; the tilted one
also favours some classes, which neither map can mend. The maps: {maps}.

A plain ECE is too large on few rows, the more so the smaller the true error is, so the difference of two promises too little. And bins
hide part of the error however many rows there are: on many rows the difference may promise too much.
"""


def run(job):
    n_data_sets, start = 10 if job.quick else REPLICATIONS, cpu_seconds()
    covered, plain = [], []
    for name in list(WORLDS)[: 1 if job.quick else None]:
        here = world(name)
        for n in SIZES[: 1 if job.quick else None]:
            found = simulated(job, name, n, n_data_sets)
            for k, (method, fit) in enumerate(fitted(name).items()):
                covered.append(coverage_row(name, n, method, improvement(here, fit), found[:, k]))
                plain.append(plain_row(name, n, method, here, fit, found[:, k]))
    heads = (
        "world",
        "n",
        "map",
        "true change of CE²",
        "mean of `compare`",
        "coverage of its 95 % interval",
        "promised",
        "met",
    )
    second = (
        "world",
        "n",
        "map",
        "true change of ECE",
        "of 15 bins, n = ∞",
        "mean of plain ECEs' difference",
        "its bias",
    )
    parts = [
        INTRO.format(n_data_sets=n_data_sets, fitted=FITTED_ON, mislabelled=MISLABELLED, maps=described()),
        table("`compare`: the paired difference of Brier scores is the change of CE²", heads, covered),
        table("The difference of two plain 15-bin ECEs", (*second, "of the truth"), plain),
        f"It took {cpu_seconds() - start:.0f} s of CPU time.",
    ]
    return Page.of("\n".join(parts))
