"""How often does each single test accuse a calibrated model?

False alarms: 1000 calibrated data sets per cell, labels drawn from the predictions; 19 draws from the null for each, tests at 5 %.
Scores are uniform; confident, Beta(2.7752, 0.0478), which Roelofs et al. fitted to a network on CIFAR-10; or tied on a grid of 0.05.
All tests of a data set share its draws; the tests of levels are those of `assess_answers`, which need none. `is_calibrated`, and power: studies/power.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import ndtr

import calibrant as cal
from calibrant.bins import EqualMass
from calibrant.detect.calibration import calibration_test
from calibrant.detect.cumulative import walk_sd
from calibrant.detect.multi_scale import scales
from calibrant.detect.skce import skce_test
from calibrant.interval.formulas import (
    brownian_max_p_value,
    brownian_range_p_value,
    chi_square_p_value,
    normal_p_value,
)
from calibrant.kernels.rows import blocks
from calibrant.resampling import pairs, statistics
from calibrant.resampling.exact import Exact, drawn_values
from calibrant.resampling.null import hypothesis_of
from calibrant.resampling.rank import joint_rank, rank_p_value
from calibrant.resampling.rows import atoms_of
from calibrant.verbs.confidence_levels import levels_tested
from studies.frame import Job, Page, cpu_seconds

LEVEL, CHUNK = 0.05, 250
DRAWS = 19
"""From each null: exactness does not depend on it, and 5 % are one place of twenty."""

SIZES = (30, 200, 2000)
WORLDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "confident": lambda rng, n: rng.beta(2.7752, 0.0478, n),
    "tied": lambda rng, n: rng.integers(0, 21, n) / 20,
}
Shares = dict[str, float]


def all_tests(labels: np.ndarray, probs: np.ndarray, n_draws: int) -> dict[str, float]:
    """p-values of every test of one event, from the same draws."""
    atoms = atoms_of(cal.Predictions(labels, probs), "auto")
    single = {
        "mean gap": statistics.mean_gap(atoms),
        "Cox": statistics.cox(atoms),
        "Spiegelhalter": statistics.spiegelhalter(atoms),
        "Kuiper": statistics.kuiper(atoms),
        "averaged two-bin": statistics.averaged_two_bin(atoms),
        "Hosmer–Lemeshow, 10 bins": statistics.hosmer_lemeshow(atoms),
        "Hosmer–Lemeshow, 30 bins": statistics.hosmer_lemeshow(atoms, EqualMass(30)),
        "scan": statistics.scan(atoms),
        "KS maximum": statistics.cumulative(atoms, "max"),
        "two-part cumulative": statistics.two_part(atoms),
        "binned error, 15 equal-mass": statistics.binned(atoms, EqualMass(15)),
        "SKCE, unbiased": pairs.laplace_pairs(atoms, 0.25, "unbiased"),
    }
    levels = pairs.multi_scale(atoms, scales(atoms))
    (found,), coin = drawn_values(hypothesis_of(atoms), [*single.values(), *levels], Exact(n_draws))
    values = found.values
    p = {name: rank_p_value(values[:, j], "random", coin) for j, name in enumerate(single)}
    p["T-Cal"] = joint_rank(values[:, len(single) :], "random", coin).p_value
    p |= {f"{name} | ties counted": rank_p_value(values[:, j], "count", coin) for j, name in enumerate(single)}
    return p | formulas(dict(zip(single, values[0].tolist(), strict=False)), atoms)


def formulas(values: dict[str, float], atoms: object) -> dict[str, float]:
    sigma, varied = walk_sd(atoms), int((atoms.variance > 0).sum())
    degrees = statistics.filled_bins(atoms, EqualMass(10))
    return {
        f"{name} | formula": p
        for name, p in {
            "Spiegelhalter": normal_p_value(values["Spiegelhalter"]),
            "Cox": chi_square_p_value(values["Cox"], min(varied, 2)),
            "Hosmer–Lemeshow, 10 bins": chi_square_p_value(values["Hosmer–Lemeshow, 10 bins"], degrees),
            "Kuiper": brownian_range_p_value(values["Kuiper"] / sigma) if sigma else 1.0,
            "KS maximum": brownian_max_p_value(values["KS maximum"] / sigma) if sigma else 1.0,
            "two-part cumulative": chi_square_p_value(values["two-part cumulative"], 4),
        }.items()
    }


def event(world: str, n: int, rng: np.random.Generator) -> dict[str, float]:
    p = WORLDS[world](rng, n)
    return all_tests(rng.random(n) < p, p, DRAWS)


def whole(shape: float, n: int, rng: np.random.Generator) -> dict[str, float]:
    """Three classes."""
    probs = rng.dirichlet(np.full(3, shape), n)
    said = cal.Predictions((rng.random((n, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1), probs)
    return {"SKCE, canonical": skce_test(said, bandwidth=0.25, n_draws=DRAWS).p_value}


def leveled(world: str, n: int, rng: np.random.Generator) -> dict[str, float]:
    """Level by level, as confidences of a language model are judged: the smallest adjusted p-value of all levels and the total."""
    p = WORLDS[world](rng, n)
    event = cal.Predictions(rng.random(n) < p, p).event()
    found = {}
    for name, ties in (("levels and total", "random"), ("levels and total | ties counted", "count")):
        levels, overall = levels_tested(event, ties=ties)
        found[name] = min(float(levels.adjusted.min()), overall)
    return found


def turned(world: str, n: int, rng: np.random.Generator) -> dict[str, float]:
    """SKCE by turning signs round, and by its bound."""
    p = WORLDS[world](rng, n)
    data = rng.random(n) < p, p
    return {
        "SKCE, signs turned round": skce_test(*data, method="asymptotic", bandwidth=0.25, n_draws=DRAWS).p_value,
        "SKCE, bound": skce_test(*data, method="bound", bandwidth=0.25).p_value,
    }


def called(n: int, rng: np.random.Generator) -> dict[str, float]:
    p = rng.random(n)
    found = calibration_test(rng.random(n) < p, p, "mmce", n_draws=DRAWS)
    return {"MMCE, called on each draw": found.p_value}


def clustered(dependence: str, world: str, n_clusters: int, rng: np.random.Generator) -> dict[str, float]:
    """Five rows per cluster: labels independent, tied by a normal copula of correlation 0.5, or by one uniform number."""
    p = WORLDS[world](rng, 5 * n_clusters)
    common, own = (np.repeat(rng.normal(size=n_clusters), 5), rng.normal(size=5 * n_clusters))
    share = {"none": 0.0, "half": 0.5, "full": 1.0}[dependence]
    labels = ndtr(np.sqrt(share) * common + np.sqrt(1 - share) * own) < p
    said = cal.Predictions(labels, p, groups=np.repeat(np.arange(n_clusters), 5))
    return {
        f"mean_gap, null: {cluster or 'independent rows'}": calibration_test(
            said, statistic="mean_gap", cluster=cluster, n_draws=DRAWS
        ).p_value
        for cluster in (False, "same", "any")
    }


def _chunk(make: Callable[[np.random.Generator], dict[str, float]], seed: tuple[int, ...], size: int) -> list[dict]:
    blocks.n_cores = lambda: 1  # processes share the cores, not threads
    rng = np.random.default_rng(seed)
    return [make(rng) for _ in range(size)]


def rejected(make: Callable[..., dict[str, float]], cell: int, sets: int, seed: int) -> Shares:
    """Share of the data sets that each test rejects at 5 %."""
    rows = [row for at in range(0, sets, CHUNK) for row in _chunk(make, (seed, cell, at), min(CHUNK, sets - at))]
    return {name: float(np.mean([row[name] <= LEVEL for row in rows])) for name in rows[0]}


def table(columns: dict[str, Shares], names: list[str], suffix: str = "") -> list[str]:
    lines = ["| test | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for name in names:
        cells = [f"{100 * column[name + suffix]:.1f}" if name + suffix in column else "" for column in columns.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def named(columns: dict[str, Shares], suffix: str = "") -> list[str]:
    seen = dict.fromkeys(name for column in columns.values() for name in column)
    return [name.removesuffix(suffix) for name in seen if (suffix and name.endswith(suffix)) or (not suffix and " | " not in name)]  # fmt: skip


def cells(
    job: Job, kind: str, makes: dict[str, tuple[Callable[..., dict[str, float]], int]], sets: int
) -> dict[str, Shares]:
    """Shares by the name of a cell; each has a number of its own for the seed."""
    cases = {f"{kind}: {name}": (make, number, sets, job.seed) for name, (make, number) in makes.items()}
    return dict(zip(makes, job.parts(rejected, cases, cores=os.cpu_count() or 1).values(), strict=True))


def run(job: Job) -> Page:
    start = cpu_seconds()
    sets, fewer = (3, 2) if job.quick else (1000, 300)
    worlds, sizes = (list(WORLDS)[:1], SIZES[:1]) if job.quick else (list(WORLDS), SIZES)
    grid = [(f"{world}, {n}", world, n, 3 * i + j) for i, world in enumerate(worlds) for j, n in enumerate(sizes)]
    events = cells(job, "events", {name: (partial(event, world, n), 10 + at) for name, world, n, at in grid}, sets)
    shapes = {
        f"Dirichlet({shape:g}), {n}": (partial(whole, shape, n), 30 + 3 * i + j)
        for i, shape in enumerate((1.0, 0.1))
        for j, n in enumerate(sizes)
    }
    classes = cells(job, "classes", shapes, sets)
    answers = cells(job, "answers", {name: (partial(leveled, world, n), 50 + at) for name, world, n, at in grid}, sets)
    events = {cell: shares | answers[cell] for cell, shares in events.items()}
    others = cells(job, "others", {"uniform, 200": (partial(called, 200), 45)}, sets)
    signs = cells(job, "signs", {name: (partial(turned, world, n), 70 + at) for name, world, n, at in grid}, fewer)
    tied = {
        f"{world}, {n}, tied: {how}": (partial(clustered, how, world, n), 80 + 10 * k + 3 * i + j)
        for k, world in enumerate(("uniform", "confident")[: len(worlds)])
        for i, n in enumerate((40, 200)[: len(sizes)])
        for j, how in enumerate(("none", "half", "full"))
    }
    clusters = cells(job, "clusters", tied, fewer)
    return Page.of(page(events, classes, others, signs, clusters, sets, fewer, job.seed, cpu_seconds() - start))


def page(
    events: dict[str, Shares],
    classes: dict[str, Shares],
    others: dict[str, Shares],
    signs: dict[str, Shares],
    clusters: dict[str, Shares],
    sets: int,
    fewer: int,
    seed: int,
    seconds: float,
) -> str:
    error = 100 * np.sqrt(LEVEL * (1 - LEVEL) / sets)
    exact = [100 * share for part in (events, classes, others) for column in part.values() for name, share in column.items() if " | " not in name]  # fmt: skip
    lines = [
        "# False alarms",
        "",
        f"Made by `calibrant study false_alarms`, seed {seed}, in {seconds / 60:.0f} minutes of CPU time. Per cent of data sets in which a test at "
        f"5 % rejects. {sets:,} calibrated data sets per cell: a share of 5 % has a standard error of {error:.2f}.",
        "",
        "## Exact tests on calibrated models, ties broken by the coin (the default)",
        "",
        f"Smallest {min(exact):.1f}, largest {max(exact):.1f} of the {len(exact)} shares of this and the next two tables.",
        "",
        *table(events, named(events)),
        "",
        "### All classes, drawn from the whole vector (three classes)",
        "",
        *table(classes, named(classes)),
        "",
        "### An estimator called on each draw",
        "",
        *table(others, named(others)),
        "",
        '## The same with every tie counted against (`ties="count"`)',
        "",
        *table(events, named(events, " | ties counted"), " | ties counted"),
        "",
        "## Formulas for many rows on the same data",
        "",
        *table(events, named(events, " | formula"), " | formula"),
        *table(signs, named(signs))[2:],
        "",
        f"The last two rows from {fewer:,} data sets per cell.",
        "",
        "## Clusters of five rows",
        "",
        f"{fewer:,} data sets per cell. Columns: scores, number of clusters, how far labels of a cluster are tied. Rows: statistic and null.",
        "",
        *table(clusters, list(next(iter(clusters.values())))),
        "",
    ]
    return "\n".join(lines)
