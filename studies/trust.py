"""Are estimators off by what `trust` predicts? Real biases beside predicted ones, in worlds with errors in one place and waves.

Worlds of `studies/error_worlds.py` ("reporting"); settings were chosen on "choosing", with other seeds. "One curve" is what `trust` did
before: the simplest of three worlds whose ECE is like that of the data.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from calibrant.predictions import Predictions
from calibrant.simulate import check_world, fit_world, named_world
from calibrant.simulate.measuring import named_all
from calibrant.simulate.possible import bias_over
from calibrant.verbs.trust import DOUBTFUL, fitted_to
from studies.error_worlds import WORLDS
from studies.frame import Page, cpu_seconds

REAL, TRIED, DRAWN, N_CURVES = 200, 4, 80, 20
SIZES = (1000, 4000)
NAMES = (
    *(f"wave, {k} periods" for k in (1, 2, 3, 6)),
    "smooth tail",
    "bump",
    "narrow",
    "step",
    "spikes",
    "slope",
)
ESTIMATORS = named_all({"ECE": cal.ece, "debiased": partial(cal.binned_error, debiased=True)})[0]


def worlds():
    named = {name: WORLDS["reporting"][name] for name in NAMES}
    return named | {"resnet110_c10": named_world("resnet110_c10")}


def one_curve(data, seed):
    """A Beta world with a linear curve, observed scores with one, or with a Gaussian process."""
    for scores, curve in (("beta", "glm"), ("empirical", "glm"), ("empirical", "gaussian_process")):
        world = fit_world(data, scores=scores, curve=curve)
        agrees = check_world(world, data, n_data_sets=60, seed=seed).agrees
        if agrees and not (scores == "beta" and world.fit.cautions):
            break
    return world


def biases(found):
    return np.array([row.bias for row in found[0]])


def row(name, n, seed, tried, real=REAL):
    """Real bias, and the mean and RMS distance of both predictions, × 10³."""
    world, n_real = worlds()[name], real
    rng = np.random.default_rng((seed, n))
    probs, outcomes = world.draw(n, n_real, rng)[:2]
    data = [Predictions.borrowed(y, p) for y, p in zip(outcomes, probs, strict=True)]
    off = np.array([[float(one(each)) for each in data] for one in ESTIMATORS]) - world.true_error()
    real, error = off.mean(axis=1), off.std(axis=1, ddof=1) / n_real**0.5
    before, after, doubted = [], [], 0
    for k, each in enumerate(data[:tried]):
        before.append(biases(bias_over(ESTIMATORS, [one_curve(each, k)], n, DRAWN, k, "")))
        fitted, check = fitted_to(each, k, N_CURVES)
        doubted += check.p_value <= DOUBTFUL
        after.append(biases(bias_over(ESTIMATORS, fitted.worlds, n, DRAWN, k, "")))
    cells = [f"{1e3 * world.true_error():.1f}"]
    for j in range(len(ESTIMATORS)):
        cells.append(f"{1e3 * real[j]:+.1f} ± {1e3 * error[j]:.1f}")
        predicted = (np.array(found)[:, j] for found in (before, after))
        cells += [f"{1e3 * each.mean():+.1f} ± {1e3 * each.std(ddof=1) / tried**0.5:.1f}" for each in predicted]
    distance = [np.sqrt(((np.array(found) - real) ** 2).mean(axis=0)) for found in (before, after)]
    return (name, f"{n:,}", *cells, f"{doubted} of {tried}"), distance


INTRO = """# How far estimators are off, really and as `trust` predicts

Written by `calibrant study trust` (seed {seed}). Real biases are those of {real} data sets; predictions are the mean over {tried} data sets, ±
one standard error, all × 10³. "One curve" is a world with one fitted curve, the simplest whose ECE is like that of the data; "possible curves"
is what `trust` does: {curves} curves that the data leave possible. "Doubted" counts data sets of which `trust` says that no curve describes
them.
"""
HEADS = ["world", "n", "truth"]
HEADS += [f"{e.name}, {what}" for e in ESTIMATORS for what in ("real", "one curve", "possible curves")] + ["doubted"]


def line(cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def run(job):
    start = cpu_seconds()
    names, sizes, tried, real = (
        (list(worlds())[:1], SIZES[:1], 2, 4) if job.quick else (list(worlds()), SIZES, TRIED, REAL)
    )
    cases = {f"{name} {n}": (name, n, job.seed + k, tried, real) for n in sizes for k, name in enumerate(names)}
    body, distances = [], {n: [] for n in sizes}
    for (cells, distance), (_, n, *_) in zip(job.parts(row, cases).values(), cases.values(), strict=True):
        body.append(cells)
        distances[n].append(distance)
    summary = [
        (f"{n:,}", *(f"{1e3 * v:.1f}" for v in np.sqrt((np.array(each) ** 2).mean(axis=0)).T.ravel()))
        for n, each in distances.items()
    ]
    heads = ["n", *(f"{e.name}, {what}" for e in ESTIMATORS for what in ("one curve", "possible curves"))]
    text = "\n".join(
        [
            INTRO.format(seed=job.seed, real=REAL, tried=tried, curves=N_CURVES),
            "## Distance between predicted and real bias, RMS over worlds and data sets × 10³\n",
            line(heads),
            "|" + "---|" * len(heads),
            *map(line, summary),
            "\n## World by world\n",
            line(HEADS),
            "|" + "---|" * len(HEADS),
            *map(line, body),
            f"\nIt took {cpu_seconds() - start:.0f} s of CPU time.",
        ]
    )
    return Page.of(text)
