"""How often do the intervals of E50, E90 and Emax hold the truth? Rare events, confident models, errors everywhere and in one place.

Every data set is drawn anew, predictions and labels. The truth is that of the data set's own predictions: the quantile, or the
largest, of |true rate − prediction|. The worlds took no part in choosing how the intervals are made.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import ndtri

from calibrant import Predictions
from calibrant.estimate.clinical.curve import error_quantile_50, error_quantile_90, largest_error
from calibrant.infer.possible_curves import WIDENED, possible_curves
from calibrant.kernels.logits import sigmoid
from studies.coverage import EXACT, LEVEL, gathered, table
from studies.coverage_error import LEAST, monte_carlo
from studies.error_worlds import (
    ErrorWorld,
    at_ends,
    between,
    dropping,
    high,
    log_uniform,
    same,
    shifted,
    sloped,
    spiked,
    sure,
    uniform,
)
from studies.frame import Page

MEASURES = {"E50": (error_quantile_50, 0.5), "E90": (error_quantile_90, 0.9), "Emax": (largest_error, 1.0)}
REPLICATIONS = {50: 40, 200: 40, 1000: 100, 5000: 100, 20_000: 40}
PART = 20


def normal_odds(u, mean, sd):
    """Log-odds with a normal distribution."""
    return sigmoid(mean + sd * ndtri(u))


WORLDS = {
    "rare": ErrorWorld(partial(log_uniform, low=0.001, high=0.01), partial(shifted, by=-0.8)),
    "rare, slope": ErrorWorld(partial(log_uniform, low=0.001, high=0.01), partial(sloped, slope=0.85)),
    "rare, few high, shift": ErrorWorld(partial(normal_odds, mean=-5.2, sd=1.1), partial(shifted, by=0.9)),
    "rare, few high, slope": ErrorWorld(partial(normal_odds, mean=-4.5, sd=1.4), partial(sloped, slope=0.7)),
    "rare, few high, tail": ErrorWorld(
        partial(normal_odds, mean=-4.0, sd=1.3), partial(between, low=0.25, high=1.1, by=-0.2)
    ),
    "rare, few high, calibrated": ErrorWorld(partial(normal_odds, mean=-4.8, sd=1.2), same),
    "very confident": ErrorWorld(partial(sure, low=2e-4, high=0.02), partial(shifted, by=-1.2)),
    "confident, few low": ErrorWorld(partial(normal_odds, mean=4.2, sd=1.2), partial(shifted, by=-0.7)),
    "tail": ErrorWorld(uniform, partial(between, low=-0.1, high=0.13, by=0.18)),
    "smooth tail": ErrorWorld(uniform, partial(dropping, start=0.8, by=0.3)),
    "bump": ErrorWorld(uniform, partial(between, low=0.25, high=0.38, by=0.25)),
    "slope": ErrorWorld(uniform, partial(sloped, slope=1.6)),
    "flat slope": ErrorWorld(partial(high, power=1.5), partial(sloped, slope=0.6)),
    "log-odds of a risk score": ErrorWorld(partial(normal_odds, mean=-1.8, sd=1.1), partial(sloped, slope=0.8)),
    "calibrated": ErrorWorld(partial(normal_odds, mean=-1.2, sd=1.5), same),
    "bump of a tenth": ErrorWorld(uniform, partial(between, low=0.55, high=0.65, by=-0.2)),
    "step": ErrorWorld(uniform, partial(between, low=-0.1, high=0.45, by=0.09)),
    "spikes": ErrorWorld(
        partial(spiked, at_0=0.15, at_1=0.25), partial(at_ends, inside=partial(sloped, slope=0.8), at_0=0.06, at_1=0.93)
    ),
}
"""The first fifteen have taken no part in anything; kinds like the last three had shown what is hardest: quantiles at a jump."""


def plain_ends(rows, share):
    """The posterior's own interval of a quantile, which looks at no other share."""
    curves = possible_curves(rows.event("binary"), finely=share == 1)
    low, _, high = curves.posterior(curves.error_quantiles(share)[0], 1 - (1 - LEVEL) / WIDENED, exact=True)
    return low, high


def measured(name, n, count, first, seed):
    """`(data sets, measures, 6)`: low, high, truth, low and high of the plain posterior, and whether there is a warning."""
    found = np.empty((count, len(MEASURES), 6))
    for r in range(count):
        p, y, c = (part[0] for part in WORLDS[name].draw(n, 1, (seed, list(WORLDS).index(name), n, first + r)))
        rows, away = Predictions(y, p), np.abs(c - p)
        for k, (measure, share) in enumerate(MEASURES.values()):
            estimate, truth = measure(rows, level=LEVEL), np.quantile(away, share, method="inverted_cdf")
            ends = estimate.interval
            found[r, k] = ends.low, ends.high, truth, *plain_ends(rows, share), bool(estimate.cautions)
    return found


def held(low, high, truth):
    return (low <= truth + EXACT) & (truth - EXACT <= high)


def block(found, n):
    """The table of one size: percent held, errors on either side, width and truth."""
    rows, count = [], min(len(ends) for (_, size), ends in found.items() if size == n)
    for name in WORLDS:
        if (name, n) not in found:
            continue
        row = [name]
        for k in range(len(MEASURES)):
            low, high_, truth, _, _, warned = np.array(found[name, n])[:, k].T
            below, above = 100 * (low > truth + EXACT).mean(), 100 * (high_ < truth - EXACT).mean()
            told = f"; warned {100 * warned.mean():.0f}" if warned.any() else ""
            sizes = f"{np.median(high_ - low):.3f}, {np.median(truth):.3f}"
            row.append(f"{100 - below - above:.0f} ({below:.0f} + {above:.0f}; {sizes}{told})")
        rows.append(row)
    foot = f"{count} data sets a world: the Monte-Carlo error of 95 % is {monte_carlo(count):.1f} points."
    return table(f"n = {n:,}", ("world", *MEASURES), rows, foot)


def line(found, k, n):
    """The summary of one measure and size."""
    cells = {name: np.array(ends)[:, k].T for (name, size), ends in found.items() if size == n}
    inside = {name: 100 * held(*each[:3]).mean() for name, each in cells.items()}
    low = "; ".join(f"{name} {share:.0f}" for name, share in inside.items() if share < LEAST) or "none"
    count = min(each.shape[1] for each in cells.values())
    wide = [
        np.median(each[1] - each[0]) / np.median(each[4] - each[3])
        for each in cells.values()
        if 100 * held(each[3], each[4], each[2]).mean() >= LEAST and np.median(each[4] - each[3]) > EXACT
    ]
    shown = f"{np.mean(wide):.2f}, {np.median(wide):.2f} ({len(wide)})" if wide else "–"
    least = f"{min(inside.values()):.0f} ± {monte_carlo(count):.1f}"
    return list(MEASURES)[k], f"{n:,}", f"{np.mean(list(inside.values())):.1f}", least, low, shown


def page(found, seed):
    """The tables."""
    sizes = sorted({n for _, n in found})
    summary = [line(found, k, n) for k in range(len(MEASURES)) for n in sizes]
    width = "width ÷ plain posterior's where that holds: mean, median (worlds)"
    heads = ("measure", "n", "mean percent held", "least of all worlds", f"worlds below {LEAST} %", width)
    blocks = [block(found, n) for n in sizes]
    return "\n".join([HEAD.format(seed=seed), table("All cells", heads, summary), *blocks])


HEAD = """# Do the intervals of E50, E90 and Emax hold the truth?

Written by `calibrant study coverage_clinical`; seed {seed}. 95 % intervals for quantiles of
|true rate − prediction| over the predictions of the data set: percent of the data sets whose interval holds the truth (percent whose
lower end lies above it + percent whose upper end lies below it; median width, median truth; percent of results that warn of a steep
change of the distances, where there are such). At least 93.5 % is asked for. The plain posterior interval is that of the quantile itself, which
errs a fifth as often as its level says. In the
worlds of few high risks log-odds are normal: the largest error lies at the highest risks, a few rows of all. ± is the Monte-Carlo error
of a share of 95 %.

Why they are made so, chosen on other worlds and seeds:

- Emax at cells of equal mass misses the highest risks of a rare event, which the mean of the last cell hides; so wide cells are cut again.
- The share 0.9 itself is missed where an error lies in one place, as noise exchanges rows across its edge; so the upper ends of E50 and
  E90 are those of shares up to 0.05 above, fewer with more rows, and the lower ends those of 0.02 below, or less where a band of the curve allows it.
- Where distances change steeply at the quantile, both reach further, by a wider band, and the result warns. That is not always enough: a
  curve with a jump is none of the curves that the posterior knows, which swing beside it.
- The posterior's own upper end of Emax is missed too often by confident models; it errs half as often as the level says.
"""


def run(job):
    sizes = {50: 2, 200: 2} if job.quick else REPLICATIONS
    names = list(WORLDS)[:2] if job.quick else list(WORLDS)
    return Page.of(page(gathered(job, sizes, names, PART, measured), job.seed))
