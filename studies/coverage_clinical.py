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
from studies.frame import Page, cpu_seconds

MEASURES = {"E50": (error_quantile_50, 0.5), "E90": (error_quantile_90, 0.9), "Emax": (largest_error, 1.0)}
REPLICATIONS = {50: 100, 200: 100, 1000: 100, 5000: 100, 20_000: 40}
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


def measured(name, n, count, first, seed):
    """`(data sets, measures, 3)`: low, high, truth."""
    found = np.empty((count, len(MEASURES), 3))
    for r in range(count):
        p, y, c = (part[0] for part in WORLDS[name].draw(n, 1, (seed, list(WORLDS).index(name), n, first + r)))
        rows, away = Predictions(y, p), np.abs(c - p)
        for k, (measure, share) in enumerate(MEASURES.values()):
            ends = measure(rows, level=LEVEL).interval
            found[r, k] = ends.low, ends.high, np.quantile(away, share, method="inverted_cdf")
    return found


def page(found, seed, took):
    """The tables."""
    blocks, summary, everywhere = [], [], {}
    for n in sorted({n for _, n in found}):
        rows, count = [], min(len(ends) for (_, size), ends in found.items() if size == n)
        for name in WORLDS:
            if (name, n) not in found:
                continue
            row = [name]
            for k, measure in enumerate(MEASURES):
                low, high_, truth = found[name, n][:, k].T
                below, above = 100 * (low > truth + EXACT).mean(), 100 * (high_ < truth - EXACT).mean()
                everywhere[measure, n, name] = 100 - below - above
                row.append(
                    f"{100 - below - above:.0f} ({below:.0f} + {above:.0f}; {np.median(high_ - low):.3f}, {np.median(truth):.3f})"
                )
            rows.append(row)
        foot = f"{count} data sets a world: the Monte-Carlo error of 95 % is {monte_carlo(count):.1f} points."
        blocks.append(table(f"n = {n:,}", ("world", *MEASURES), rows, foot))
    for measure in MEASURES:
        for n in sorted({n for _, n in found}):
            cells = {name: held for (of, size, name), held in everywhere.items() if (of, size) == (measure, n)}
            low = "; ".join(f"{name} {held:.0f}" for name, held in cells.items() if held < LEAST) or "none"
            mean, error = (
                np.mean(list(cells.values())),
                monte_carlo(min(len(ends) for (_, m), ends in found.items() if m == n)),
            )
            summary.append((measure, f"{n:,}", f"{mean:.1f}", f"{min(cells.values()):.0f} ± {error:.1f}", low))
    heads = ("measure", "n", "mean percent held", "least of all worlds", f"worlds below {LEAST} %")
    return "\n".join([HEAD.format(seed=seed, took=took / 60), table("All cells", heads, summary), *blocks])


HEAD = """# Do the intervals of E50, E90 and Emax hold the truth?

Written by `calibrant study coverage_clinical`; seed {seed}, {took:.0f} minutes of CPU time. 95 % intervals for quantiles of
|true rate − prediction| over the predictions of the data set: percent of the data sets whose interval holds the truth (percent whose
lower end lies above it + percent whose upper end lies below it; median width, median truth). At least 93.5 % is asked for. In the
worlds of few high risks log-odds are normal: the largest error lies at the highest risks, a few rows of all. ± is the Monte-Carlo error
of a share of 95 %.

Why they are made so, chosen on other worlds and seeds:

- Emax at cells of equal mass misses the highest risks of a rare event, which the mean of the last cell hides; so wide cells are cut again.
- The share 0.9 itself is missed where an error lies in one place, as noise exchanges rows across its edge; so the ends of E50 and E90 are
  those of shares 0.05 below and above.
- The posterior's own upper end of Emax is missed too often by confident models; it errs half as often as the level says.
"""


def run(job):
    start = cpu_seconds()
    sizes = {50: 2, 200: 2} if job.quick else REPLICATIONS
    names = list(WORLDS)[:2] if job.quick else list(WORLDS)
    return Page.of(page(gathered(job, sizes, names, PART, measured), job.seed, cpu_seconds() - start))
