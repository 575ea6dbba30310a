"""How often does the interval of the calibration error hold the truth? Errors everywhere, in one place, in waves, on few predictions.

The families are those of `studies/error_worlds.py` with the parameters for reporting, which took no part in choosing settings, beside
some of the worlds of `studies/coverage.py`. Every data set is drawn anew, predictions and labels. Constant predictions are enumerated:
every number of events with its probability. Worlds of several classes: the top label, and all classes at once.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np

from calibrant import Predictions
from calibrant.infer import calibration_error_interval, classwise_intervals
from calibrant.simulate import calibrated_world
from studies.coverage import EXACT, LEVEL, table
from studies.coverage import worlds as other_worlds
from studies.error_worlds import CLASS_WORLDS, WORLDS
from studies.frame import Page, cpu_seconds

REPLICATIONS = {50: 400, 200: 400, 1000: 400, 4000: 200, 20_000: 200}
CLASS_REPLICATIONS = {3: 200, 10: 100, 100: 20}
CLASS_SIZES = (200, 1000, 5000)
CONSTANT_SIZES = (50, 100, 200, 1000)
UNLIKELY = 1e-6
"""Numbers of events that are less likely are not tried."""

OTHERS = ("resnet110_c10", "densenet40_c10", "resnet110_SD_c100", "resnet152_imgnet", "stairs 0.1", "beta2 0.02")
OTHERS += (
    "p^d uniform 0.05",
    "p^d rare 0.05",
    "p^d tied 0.05",
    "alternating tied",
    "calibrated CIFAR-10",
    "calibrated tied",
)


@cache
def worlds():
    """One event, predictions that differ."""
    found = {name: world for name, world in WORLDS["reporting"].items() if not name.startswith("constant")}
    return found | {name: other_worlds()[name] for name in OTHERS} | {"calibrated": calibrated_world((1.0, 1.0))}


def measured(name, n, count, first, seed):
    """`(data sets, 2, 2)`: both ends for both norms."""
    world, at, found = worlds()[name], list(worlds()).index(name), np.empty((count, 2, 2))
    for r in range(count):
        p, y, _ = (part[0] for part in world.draw(n, 1, np.random.default_rng((seed, at, n, first + r))))
        rows = Predictions(y, p)
        for norm in (1, 2):
            ends = calibration_error_interval(rows, norm=norm, level=LEVEL)
            found[r, norm - 1] = ends.low, ends.high
    return found


def enumerated(name, n):
    """The probability with which the interval of a constant prediction holds its error, and the mean width."""
    from scipy.stats import binom

    world = WORLDS["reporting"][name]
    (p,), (c,) = (part[0] for part in world.draw(1, 1, 0)[::2])
    chance, held, width = binom.pmf(np.arange(n + 1), n, c), 0.0, 0.0
    for hits in np.flatnonzero(chance > UNLIKELY):
        ends = calibration_error_interval(np.arange(n) < hits, np.full(n, p), level=LEVEL)
        held += chance[hits] * (ends.low - EXACT <= abs(c - p) <= ends.high + EXACT)
        width += chance[hits] * (ends.high - ends.low)
    return held, width


def of_classes(classes, n, count, seed):
    """`(data sets, 4)`: is the top label's error held, are those of all classes, and the two mean widths."""
    world, found = CLASS_WORLDS["reporting"][classes], []
    top, each = world.true_error(1, "top"), world.true_error(1, "class 0")  # classes are alike
    for r in range(count):
        rows = world.sample(n, np.random.default_rng((seed, classes, n, r)))
        ends, all_ = calibration_error_interval(rows, level=LEVEL), classwise_intervals(rows, level=LEVEL)
        together = ((all_.low <= each) & (each <= all_.high)).all()
        found.append((ends.low <= top <= ends.high, together, ends.high - ends.low, (all_.high - all_.low).mean()))
    return np.array(found, dtype=float)


def cell(ends, truth):
    """Percent held, missed below and above, median width."""
    below, above = ends[:, 0] > truth + EXACT, ends[:, 1] < truth - EXACT
    held, width = 100 - 100 * (below | above).mean(), np.median(ends[:, 1] - ends[:, 0])
    return f"{held:.1f} ({100 * below.mean():.1f} + {100 * above.mean():.1f}; {width:.3f})"


def page(found, constants, several, seed, took):
    """The tables."""
    blocks, everywhere = [], []
    for n in sorted({n for _, n in found}):
        rows, counts = [], [len(ends) for (_, size), ends in found.items() if size == n]
        for name, world in worlds().items():
            if (name, n) not in found:
                continue
            truths, ends = [world.true_error(norm) for norm in (1, 2)], found[name, n]
            rows.append([name, f"{truths[0]:.4f}", *(cell(ends[:, k], truths[k]) for k in range(2))])
            for k in range(2):
                held = (ends[:, k, 0] <= truths[k] + EXACT) & (truths[k] <= ends[:, k, 1] + EXACT)
                everywhere.append((100 * held.mean(), k + 1, name, n, len(held)))
        error = 100 * (LEVEL * (1 - LEVEL) / min(counts)) ** 0.5
        foot = f"{min(counts)} data sets a world or more: the Monte-Carlo error of 95 % is {error:.1f} points at most."
        blocks.append(table(f"n = {n:,}", ("world", "true L1", "L1", "L2"), rows, foot))
    rows = [(name, f"{n:,}", f"{100 * held:.1f}", f"{width:.4f}") for (name, n), (held, width) in constants.items()]
    blocks.append(table("Constant predictions, L1, by enumeration", ("world", "n", "percent held", "mean width"), rows))
    rows = []
    for (classes, n), values in several.items():
        held, width = 100 * values[:, :2].mean(axis=0), values[:, 2:].mean(axis=0)
        cells = [f"{h:.1f} ({w:.3f})" for h, w in zip(held, width, strict=True)]
        rows.append((str(classes), f"{n:,}", *cells, str(len(values))))
    heads = ("classes", "n", "top label", "all classes at once", "data sets")
    blocks.append(table("Dirichlet worlds, L1: percent held (mean width)", heads, rows))
    rows = []
    for norm in (1, 2):
        for n in sorted({n for _, n in found}):
            cells = [each for each in everywhere if each[1] == norm and each[3] == n]
            sets = sum(each[4] for each in cells)
            mean = sum(each[0] * each[4] for each in cells) / sets
            low = "; ".join(f"{name} {held:.1f}" for held, _, name, *_ in sorted(cells) if held < LEAST) or "none"
            rows.append((f"L{norm}", f"{n:,}", f"{mean:.1f} ± {(mean * (100 - mean) / sets) ** 0.5:.1f}", low))
    heads = ("", "n", "mean percent held", f"worlds below {LEAST} %")
    return "\n".join([HEAD.format(seed=seed, took=took / 60), table("All cells", heads, rows), *blocks])


LEAST = 93.5

HEAD = """# Does the interval of the calibration error hold it?

Written by `calibrant study coverage_error`; seed {seed}, {took:.0f} minutes of CPU time. 95 % intervals of `calibration_error_interval` for the
world's own error (E|P(Y=1|p) − p|^α)^(1/α): percent of the data sets whose interval holds it (percent whose lower end lies above it +
percent whose upper end lies below it; median width). At least 93.5 % is asked for. The lower end needs no assumption; the upper end
misses errors that change within a few rows. Below each table stands the number of data sets; a full run has 200 to 400 per world.

Tried on the worlds for choosing, and why not:

- Five folds with the variance of independent rows: the lower end of a calibrated model lies above 0 in 10 to 18 % of data sets of
  1000 rows, as each fold is signed by the noise of the others. With the jackknife variance of the signs: 1.3 %.
- Harder signs (2Φ(2x) − 1, or the sign itself): lower ends 5 to 10 % lower.
- Ten or eighteen priors behind the signs instead of five: no higher lower ends.
- The path over more bins alone: 92 % on stairs; beside the path over few bins: held.
- The level path over more bins: L2 ends 1.3 to 2 times as wide.
"""


def call(function, *arguments):
    """One part, by the name of its function."""
    return globals()[function](*arguments)


def run(job):
    part, start = 50, cpu_seconds()
    sizes, names, constants = (
        ({50: 3}, ("calibrated", "stairs 0.1"), (50,)) if job.quick else (REPLICATIONS, tuple(worlds()), CONSTANT_SIZES)
    )
    cases = [
        ("measured", name, n, min(part, count - first), first, job.seed)
        for n, count in sorted(sizes.items(), reverse=True)
        for name in names
        for first in range(0, count, part)
    ]
    alike = [name for name in WORLDS["reporting"] if name.startswith("constant")]
    cases += [("enumerated", name, n) for name in alike[: 1 if job.quick else None] for n in constants]
    if not job.quick:
        cases += [("of_classes", k, n, count, job.seed) for k, count in CLASS_REPLICATIONS.items() for n in CLASS_SIZES]
    answers = job.parts(call, {" ".join(map(str, case)): case for case in cases}, cores=os.cpu_count())
    return Page.of(page(*gathered(cases, answers.values()), job.seed, cpu_seconds() - start))


def gathered(cases, answers):
    """The ends, the constants and the worlds of several classes, by name and size."""
    kept = {"measured": {}, "enumerated": {}, "of_classes": {}}
    for (function, name, n, *_), answer in zip(cases, answers, strict=True):
        kept[function].setdefault((name, n), []).append(np.array(answer))
    joined = [{key: np.concatenate(parts) for key, parts in kept[each].items()} for each in ("measured", "of_classes")]
    return joined[0], {key: parts[0] for key, parts in kept["enumerated"].items()}, joined[1]
