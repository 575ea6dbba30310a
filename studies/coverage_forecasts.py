"""How often do intervals of scores and gaps of forecasts of a real number hold the truth?

A world is a law of σ and a law of the standardised error (y − μ)/σ, independent of each other; forecasts are Gaussian. True values are
products of two integrals. The settings of `calibrant.interval.skewed_mean` were chosen on the worlds CHOOSING with another seed; the page
is about the worlds REPORTED, which took no part in that. Beside each interval stands Student's on the same rows.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
from scipy import integrate, stats

import calibrant as cal
from calibrant.estimate.regression.means import mean_error, variance_gap, variance_ratio
from calibrant.score import crps, dawid_sebastiani_score, interval_score
from studies.coverage import LEAST, LEVEL, table
from studies.frame import Page

DATA_SETS = {50: 300, 200: 150, 1000: 80, 5000: 60, 20_000: 25}
MANY = 5000
"""Rows from which on only the worlds HARD are tried."""
Q90 = float(stats.norm.ppf(0.95))


def scaled(law, factor=1.0):
    """A law with mean 0 and the given standard deviation."""
    return lambda rng, shape: factor * (law.rvs(size=shape, random_state=rng) - law.mean()) / law.std(), law, factor


NORMAL = stats.norm()
SIGMAS = {
    "one σ": None,
    "log-normal 0.3": stats.lognorm(0.3),
    "log-normal 0.4": stats.lognorm(0.4),
    "log-normal 0.5": stats.lognorm(0.5),
    "log-normal 0.7": stats.lognorm(0.7),
    "log-normal 0.8": stats.lognorm(0.8),
    "log-normal 1": stats.lognorm(1.0),
    "log-normal 1.1": stats.lognorm(1.1),
    "exponential": stats.expon(0.05),
    "gamma 2": stats.gamma(2.0),
    "Weibull 0.9": stats.weibull_min(0.9, loc=0.05),
    "inverse gamma 5": stats.invgamma(5.0),
    "uniform": stats.uniform(0.2, 1.0),
}
ERRORS = {
    "σ": scaled(NORMAL),
    "0.6 σ": scaled(NORMAL, 0.6),
    "0.7 σ": scaled(NORMAL, 0.7),
    "1.4 σ": scaled(NORMAL, 1.4),
    "1.5 σ": scaled(NORMAL, 1.5),
    "2 σ": scaled(NORMAL, 2.0),
    "Student 3": scaled(stats.t(3)),
    "Student 4": scaled(stats.t(4)),
    "Student 5": scaled(stats.t(5)),
    "Student 6": scaled(stats.t(6)),
    "exponential": scaled(stats.expon()),
    "gamma 2": scaled(stats.gamma(2.0)),
    "log-normal 0.5": scaled(stats.lognorm(0.5)),
    "Laplace": scaled(stats.laplace()),
    "logistic": scaled(stats.logistic(), 1.2),
}
CHOOSING = [
    ("one σ", "σ"),
    ("one σ", "1.5 σ"),
    ("one σ", "0.6 σ"),
    ("log-normal 0.3", "0.6 σ"),
    ("log-normal 0.5", "σ"),
]
CHOOSING += [("log-normal 0.5", "1.5 σ"), ("log-normal 0.7", "1.5 σ"), ("log-normal 1", "σ"), ("log-normal 1", "1.5 σ")]
CHOOSING += [("exponential", "σ"), ("one σ", "Student 3"), ("one σ", "Student 5"), ("log-normal 0.5", "Student 5")]
CHOOSING += [("one σ", "exponential"), ("log-normal 0.5", "exponential"), ("uniform", "Laplace")]
"""Together with two mixtures of few wide and many narrow forecasts, and one of outliers among the errors."""
REPORTED = [
    ("one σ", "1.4 σ"),
    ("one σ", "0.7 σ"),
    ("one σ", "2 σ"),
    ("log-normal 0.4", "σ"),
    ("log-normal 0.4", "0.7 σ"),
]
REPORTED += [("log-normal 0.4", "2 σ"), ("log-normal 0.8", "σ"), ("log-normal 0.8", "1.4 σ"), ("log-normal 1.1", "σ")]
REPORTED += [
    ("gamma 2", "σ"),
    ("gamma 2", "1.4 σ"),
    ("Weibull 0.9", "σ"),
    ("Weibull 0.9", "2 σ"),
    ("inverse gamma 5", "1.4 σ"),
]
REPORTED += [("one σ", "Student 4"), ("one σ", "Student 6"), ("log-normal 0.4", "Student 6"), ("one σ", "gamma 2")]
REPORTED += [
    ("log-normal 0.4", "log-normal 0.5"),
    ("gamma 2", "logistic"),
    ("log-normal 1.1", "1.4 σ"),
    ("one σ", "Student 3"),
]
REPORTED += [("log-normal 0.8", "Student 3")]
HARD = [("one σ", "0.7 σ"), ("log-normal 0.8", "1.4 σ"), ("log-normal 1.1", "σ"), ("log-normal 1.1", "1.4 σ")]
HARD += [("Weibull 0.9", "2 σ"), ("log-normal 0.4", "log-normal 0.5"), ("one σ", "Student 4"), ("one σ", "Student 3")]


def unit_crps(z):
    return z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - np.pi**-0.5


def unit_interval(z):
    return 2 * Q90 + np.maximum(np.abs(z) - Q90, 0) / 0.05


MEASURES = {
    "CRPS": (crps, 1, unit_crps),
    "interval score": (interval_score, 1, unit_interval),
    "Dawid–Sebastiani": (dawid_sebastiani_score, None, lambda z: z * z),
    "variance gap": (variance_gap, 2, lambda z: 1 - z * z),
    "variance ratio": (variance_ratio, 0, lambda z: z * z),
    "mean error": (mean_error, 1, lambda z: -z),
}
"""The function, and its row as σ^power times a function of the standardised error; Dawid–Sebastiani adds ln σ² to one of these."""


def infinite(error, measure):
    """Has a row of this measure no finite variance?"""
    return error in ("Student 3", "Student 4") and measure in ("Dawid–Sebastiani", "variance gap", "variance ratio")


def rows(power, of_error, sigma, z):
    return of_error(z) + 2 * np.log(sigma) if power is None else sigma**power * of_error(z)


@cache
def truth(sigma, error, power, of_error):
    """E[σ^power] · E[f(z)], or the sum for Dawid–Sebastiani."""
    _, law, factor = ERRORS[error]
    low, high = law.support()

    def density(x):
        return of_error(factor * (x - law.mean()) / law.std()) * law.pdf(x)

    middle = [law.ppf(share) for share in (1e-3, 0.05, 0.5, 0.95, 0.999)]
    ends = [low, *middle, high]
    of_errors = sum(integrate.quad(density, a, b, limit=500)[0] for a, b in pairwise(ends))
    law = SIGMAS[sigma]
    if law is None:
        return of_errors
    if power is None:
        return of_errors + 2 * law.expect(np.log)
    return of_errors * (1.0, law.mean(), law.moment(2))[power]


def measured(n, count, worlds, seed):
    """One record per world and measure: percent held, width, and the same of Student's interval."""
    found, quantile = [], stats.t.ppf((1 + LEVEL) / 2, n - 1)
    for place, (sigma, error) in enumerate(REPORTED):
        if (n >= MANY and (sigma, error) not in HARD) or place >= worlds:
            continue
        truths = {name: truth(sigma, error, *how[1:]) for name, how in MEASURES.items()}
        held = {name: [] for name in MEASURES}
        for r in range(count):
            rng = np.random.default_rng((seed, place, n, r))
            law = SIGMAS[sigma]
            s = np.ones(n) if law is None else law.rvs(size=n, random_state=rng)
            z = ERRORS[error][0](rng, n)
            said = cal.Predictions.from_gaussian(s * z, np.zeros(n), s * s)
            for name, (function, power, of_error) in MEASURES.items():
                estimate, x = function(said), rows(power, of_error, s, z)
                interval, warned = estimate.interval, any("long tail" in each for each in estimate.cautions)
                margin = quantile * x.std(ddof=1) / n**0.5
                inside = interval.low <= truths[name] <= interval.high
                usual = abs(x.mean() - truths[name]) <= margin
                held[name].append((inside, interval.high - interval.low, usual, 2 * margin, warned))
        for name, part in held.items():
            inside, width, usual, usual_width, warned = np.array(part, dtype=float).T
            numbers = inside.mean(), np.median(width), usual.mean(), np.median(usual_width), warned.mean()
            found.append([sigma, error, name, n, count, *(float(f"{x:.5g}") for x in numbers)])
    return found


def page(cells, seed):
    """The page from all cells."""
    blocks = []
    for n in sorted({each[3] for each in cells}):
        lines, count = [], 0
        for sigma, error in REPORTED:
            line = [f"{sigma}, {error}"]
            for measure in MEASURES:
                part = [e for e in cells if e[:4] == [sigma, error, measure, n]]
                if not part:
                    break
                *_, count, held, width, usual, usual_width, warned = part[0]
                star = f"* (warned {100 * warned:.0f} %)" if infinite(error, measure) else ""
                ratio = f"{width / usual_width:.2f}" if usual_width > 0 else "–"
                line.append(f"{100 * held:.1f}{star} ({ratio}), {100 * usual:.1f}")
            lines += [line] if len(line) > 1 else []
        error = 100 * np.sqrt(LEVEL * (1 - LEVEL) / count)
        foot = f"{count} data sets a world: the Monte-Carlo error of 95 % is {error:.2f} points."
        heads = ("σ, errors", *MEASURES)
        blocks.append(table(f"n = {n:,}: percent held (width ÷ Student's), Student's percent", heads, lines, foot))
    tables = [table(*summary(cells)), table(*warnings(cells)), *blocks]
    return "\n".join([HEAD.format(seed=seed, least=100 * LEAST), *tables])


def summary(cells):
    """The least of all cells with a finite variance, and the widest where Student's interval holds."""
    lines = []
    for measure in MEASURES:
        part = [e for e in cells if e[2] == measure and not infinite(e[1], measure)]
        least, wide = min(part, key=lambda e: e[5]), [e for e in part if e[7] >= LEAST]
        error = 100 * (least[5] * (1 - least[5]) / least[4]) ** 0.5
        widest = max(wide, key=lambda e: e[6] / e[8], default=None)
        lines.append(
            [
                measure,
                f"{100 * least[5]:.1f} ± {error:.1f} ({least[0]}, {least[1]}, n = {least[3]:,})",
                f"{100 * np.mean([e[5] for e in part]):.1f}",
                f"{100 * min(e[7] for e in part):.1f}",
                f"{widest[6] / widest[8]:.2f} ({widest[0]}, {widest[1]}, n = {widest[3]:,})"
                if widest
                else "it never holds",
            ]
        )
    heads = (
        "interval of",
        "least percent held",
        "mean over cells",
        "Student's least",
        "widest ÷ Student's where that holds",
    )
    return "The least of all cells with a finite variance", heads, lines


def warnings(cells):
    """How often results warn of a long tail: where rows have no finite variance, and where they have."""
    lines = []
    for n in sorted({e[3] for e in cells}):
        none = [e for e in cells if e[3] == n and infinite(e[1], e[2])]
        missed = [e for e in cells if e[3] == n and not infinite(e[1], e[2]) and e[5] < LEAST]
        held = [e for e in cells if e[3] == n and not infinite(e[1], e[2]) and e[5] >= LEAST]
        parts = (
            f"{100 * min(e[9] for e in part):.0f} – {100 * np.mean([e[9] for e in part]):.0f}" if part else "–"
            for part in (none, missed, held)
        )
        lines.append([f"{n:,}", *parts])
    heads = ("n", "no finite variance", f"finite, below {100 * LEAST} % held", "finite, held")
    return "Percent of results that warn of a long tail: least – mean over cells", heads, lines


HEAD = """# Do intervals of scores and gaps of forecasts hold the truth?

Written by `calibrant study coverage_forecasts`; seed {seed}. 95 % intervals of Gaussian forecasts; percent of data sets whose interval
holds the truth, the ratio of its median width to that of Student's interval, and the percent that Student's interval holds. At least {least} %
is asked for where a row has a finite variance; * marks cells where it has none, and no interval of a mean can be trusted, with the
percent of results that warn of a long tail. The worlds and the seed are others than those by which the interval was chosen.
"""


def run(job):
    sets, worlds = ({50: 3}, 2) if job.quick else (DATA_SETS, len(REPORTED))
    cases = {f"n = {n}": (n, count, worlds, job.seed) for n, count in sets.items()}
    cells = [cell for part in job.parts(measured, cases).values() for cell in part]
    return Page.of(page(cells, job.seed), data=cells)
