"""How often does the interval of the calibration error hold the truth? Errors everywhere, in one place, in waves, on few predictions.

The families are those of `studies/error_worlds.py` with the parameters for reporting, which took no part in choosing settings, beside
some of the worlds of `studies/coverage.py`. Every data set is drawn anew, predictions and labels. Constant predictions are enumerated:
every number of events with its probability. Worlds of several classes: the top label, and all classes at once.

A round draws a few data sets of every world and size, each with a seed of its own; no more are drawn when the minutes are over. Of one
seed, more minutes give the same data sets and more.
"""

from __future__ import annotations

import time
from functools import cache, partial

import numpy as np

from calibrant import Predictions
from calibrant.infer import calibration_error_interval, classwise_intervals
from calibrant.simulate import calibrated_world
from studies.coverage import EXACT, LEVEL, table
from studies.coverage import worlds as other_worlds
from studies.error_worlds import CLASS_WORLDS, WORLDS, ErrorWorld, between, uniform
from studies.frame import Page

MINUTES, MOST_ROUNDS = 38.0, 20
ROUND = {50: 20, 200: 20, 1000: 20, 4000: 10, 20_000: 10}
"""Data sets of every world in a round."""
OTHER_SIZES = (200, 4000)
CLASS_ROUND = {3: 10, 10: 4, 100: 1}
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
    found |= {name: other_worlds()[name] for name in OTHERS} | {"calibrated": calibrated_world((1.0, 1.0))}
    return found | {"very narrow": ErrorWorld(uniform, partial(between, low=0.21, high=0.235, by=0.4))}


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


def of_classes(classes, n, count, first, seed):
    """`(data sets, 4)`: is the top label's error held, are those of all classes, and the two mean widths."""
    world, found = CLASS_WORLDS["reporting"][classes], []
    top, each = world.true_error(1, "top"), world.true_error(1, "class 0")  # classes are alike
    for r in range(count):
        rows = world.sample(n, np.random.default_rng((seed, classes, n, first + r)))
        ends, all_ = calibration_error_interval(rows, level=LEVEL), classwise_intervals(rows, level=LEVEL)
        together = ((all_.low <= each) & (each <= all_.high)).all()
        found.append((ends.low <= top <= ends.high, together, ends.high - ends.low, (all_.high - all_.low).mean()))
    return np.array(found, dtype=float)


def cell(ends, truth):
    """Percent held, missed below and above, median width."""
    below, above = ends[:, 0] > truth + EXACT, ends[:, 1] < truth - EXACT
    held, width = 100 - 100 * (below | above).mean(), np.median(ends[:, 1] - ends[:, 0])
    return f"{held:.1f} ({100 * below.mean():.1f} + {100 * above.mean():.1f}; {width:.3f})"


def monte_carlo(count):
    """Standard error of a share of 95 % from so many data sets, in points."""
    return 100 * (LEVEL * (1 - LEVEL) / count) ** 0.5


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
        least = f"the Monte-Carlo error of 95 % is {monte_carlo(min(counts)):.1f} points at most."
        foot = f"{min(counts)} data sets per world or more: {least}"
        blocks.append(table(f"n = {n:,}", ("world", "true L1", "L1", "L2"), rows, foot))
    rows = [(name, f"{n:,}", f"{100 * held:.1f}", f"{width:.4f}") for (name, n), (held, width) in constants.items()]
    blocks.append(table("Constant predictions, L1, by enumeration", ("world", "n", "percent held", "mean width"), rows))
    rows = []
    for (classes, n), values in several.items():
        held, width = 100 * values[:, :2].mean(axis=0), values[:, 2:].mean(axis=0)
        cells = [f"{h:.1f} ({w:.3f})" for h, w in zip(held, width, strict=True)]
        rows.append((str(classes), f"{n:,}", *cells, str(len(values)), f"{monte_carlo(len(values)):.1f}"))
    heads = ("classes", "n", "top label", "all classes at once", "data sets", "Monte-Carlo error of 95 %")
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

Written by `calibrant study coverage_error`; seed {seed}, {took:.0f} minutes. 95 % intervals of `calibration_error_interval` for the
world's own error (E|P(Y=1|p) − p|^α)^(1/α): percent of the data sets whose interval holds it (percent whose lower end lies above it +
percent whose upper end lies below it; median width). At least 93.5 % is asked for. The lower end needs no assumption; the upper end
misses errors that change within a few rows. Below each table stands the number of data sets.

Tried on the worlds for choosing, and why not:

- Five folds with the variance of independent rows: the lower end of a calibrated model lies above 0 in 10 to 18 % of data sets of
  1000 rows, as each fold is signed by the noise of the others. With the jackknife variance of the signs: 1.3 %.
- Harder signs (2Φ(2x) − 1, or the sign itself): lower ends 5 to 10 % lower.
- Ten or eighteen priors behind the signs instead of five: no higher lower ends.
- The path over more bins alone: 92 % on stairs; beside the path over few bins: held.
- The level path over more bins: L2 ends 1.3 to 2 times as wide.
- L2 of an error in 4 % of the range, 1000 rows: the upper end misses it if the stretch shows less than it has, in data that look like
  those of a calibrated model. A path that keeps to where the error is significant: as many misses. √n bins instead of 3·n^(1/3) at
  20 000 rows: fewer misses, ends of a calibrated model 13 % higher. A smaller tail of the test for L2, 0.3 of 1 − level instead of 0.6:
  as many misses or fewer, ends 1 to 7 % higher. Taken: 0.4, which was not tried itself.
- L2 of an error in 2 to 3 % of the range, 4000 rows: 8 to 25 % of upper ends lie below it, as bins of about that width hide a part.
  Taken: nine times as many bins beside the others, where they show more error by one standard error. 3.5 to 5.5 % lie below it, and
  upper ends of a calibrated model are 7 % higher on average. Twelve times as many bins: no fewer misses; where they show more by 1.6
  standard errors: 5.5 to 8.5 % lie below it.
"""


def call(until, function, *arguments):
    """One part, by the name of its function; nothing when the time is over."""
    return globals()[function](*arguments) if time.time() < until else None


def cases(job):
    """All parts: the constants, then round after round."""
    alike = [name for name in WORLDS["reporting"] if name.startswith("constant")]
    if job.quick:
        two = [("measured", name, n, 1, 0, job.seed) for name in ("calibrated", "stairs 0.1") for n in (50, 200)]
        return [("enumerated", alike[0], 50), *two, ("of_classes", 3, 200, 1, 0, job.seed)]
    sizes = [("measured", name, n, ROUND[n]) for name in worlds() for n in (OTHER_SIZES if name in OTHERS else ROUND)]
    sizes += [("of_classes", classes, n, count) for classes, count in CLASS_ROUND.items() for n in CLASS_SIZES]
    rounds = [(*case, case[-1] * k, job.seed) for k in range(MOST_ROUNDS) for case in sizes]
    return [("enumerated", name, n) for name in alike for n in CONSTANT_SIZES] + rounds


def run(job):
    start = time.time()
    asked = cases(job)
    first = [case for case in asked if case[0] == "enumerated" or case[-2] == 0]  # one round in any case
    untils = {case: np.inf if case in first else start + 60 * MINUTES for case in asked}
    answers = job.parts(call, {" ".join(map(str, case)): (untils[case], *case) for case in asked})
    return Page.of(page(*gathered(asked, answers.values()), job.seed, time.time() - start))


def gathered(asked, answers):
    """The ends, the constants and the worlds of several classes, by name and size."""
    kept = {"measured": {}, "enumerated": {}, "of_classes": {}}
    for (function, name, n, *_), answer in zip(asked, answers, strict=True):
        if answer is not None:
            kept[function].setdefault((name, n), []).append(np.array(answer))
    joined = [{key: np.concatenate(parts) for key, parts in kept[each].items()} for each in ("measured", "of_classes")]
    return joined[0], {key: parts[0] for key, parts in kept["enumerated"].items()}, joined[1]
