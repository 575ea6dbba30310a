"""Tables 1 to 3, F1 to F19 and F24 and Figure F8 of Kängsepp et al. on a stand-in for CIFAR-5m whose labels follow known rates.

CIFAR-5m's networks cannot be had. With `--data FOLDER` the logits of a ResNet-110 on CIFAR-10 (`kull_resnet110_c10_val.npz` and
`_tst.npz`) are taken, else normal ones; matrix scaling fitted on all of them gives the distribution that labels are drawn from. The
true map of an event is then found as in the paper's D.2, on a million draws: by isotonic regression, by 100 tilted and by 100 flat bins.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import spearmanr

import calibrant as cal
from calibrant.kernels.compiled import many_calls
from calibrant.kernels.logits import probabilities
from studies.frame import Page, Row, figure, published, table

TASKS = {"cars vs rest": 1, "cats vs rest": 3, "dogs vs rest": 5, "confidence": None}
MANY, FRESH, VALID = 1_000_000, 20_000, 5000
SIZES, SEEDS = (1000, 3000, 10_000), range(5)
"""As in the paper, which has three networks."""

CALIBRATORS = {
    "Platt": cal.Platt(),
    "beta": cal.Beta(),
    "isotonic": cal.Isotonic(),
    "scaling-binning": cal.maps.ScalingBinning(),
    "PL3": cal.maps.PiecewiseLinear(n_pieces="cv"),
    "vector": cal.maps.VectorScaling(),
    "temperature": cal.Temperature(),
    "one-vs-rest temperature": cal.maps.OneVsRestTemperature(),
    "matrix": cal.maps.MatrixScaling(),
    "Dirichlet": cal.Dirichlet(),
    "Dirichlet, L2": cal.Dirichlet(penalty="l2"),
    "spline": cal.maps.Spline(),
    "order-invariant": cal.maps.OrderPreserving("invariant"),
    "ES sweep": cal.maps.UnitSlopeBins("sweep"),
    "PL": cal.maps.PiecewiseLinear("probability", n_pieces="cv"),
    "Gaussian process": cal.maps.GaussianProcessMap(),
}
SIX = tuple(CALIBRATORS)[:6]
WHOLE = ("vector", "temperature", "one-vs-rest temperature", "matrix", "Dirichlet", "Dirichlet, L2", "order-invariant")
"""Maps of all classes; the others are fitted to the event."""


class WidthsByFolds:
    """EW_CV: tilted bins of equal width, as many as predict held-out rows best."""

    def fit(self, labels, probs):
        n_bins = cal.crossvalidated_error(labels, probs, bins=cal.EqualWidth).settings["n_bins"]
        return cal.maps.UnitSlopeBins(cal.EqualWidth(n_bins)).fit(labels, probs)


EVALUATORS = {
    **{f"ES{m}": cal.maps.UnitSlopeBins(cal.EqualMass(m)) for m in (10, 15, 20, 25, 30)},
    "ES sweep": cal.maps.UnitSlopeBins("sweep"),
    "ES CV": cal.maps.UnitSlopeBins("cv"),
    "ES CV, no rule": cal.maps.UnitSlopeBins("cv", tolerance=0.0),
    **{f"EW{m}": cal.maps.UnitSlopeBins(cal.EqualWidth(m)) for m in (10, 15, 20)},
    "EW CV": WidthsByFolds(),
    "PL3": cal.maps.PiecewiseLinear(n_pieces="cv"),
    "PL3, no rule": cal.maps.PiecewiseLinear(n_pieces="cv", tolerance=0.0),
    "PL3, Brier": cal.maps.PiecewiseLinear("logit", "brier", "cv"),
    "PL": cal.maps.PiecewiseLinear("probability", n_pieces="cv"),
    "PL, no rule": cal.maps.PiecewiseLinear("probability", n_pieces="cv", tolerance=0.0),
    "PL, Brier": cal.maps.PiecewiseLinear("probability", "brier", "cv"),
    "PL_DE": cal.maps.EvolvedPieces(n_pieces="cv"),
    "PL_DE, no rule": cal.maps.EvolvedPieces(n_pieces="cv", tolerance=0.0),
    "PL_DE, degree 2": cal.maps.EvolvedPieces(2, n_pieces=2),
    "Platt": cal.Platt(),
    "beta": cal.Beta(),
    "isotonic": cal.Isotonic(bounded=False),
    "KDE": cal.maps.KernelDensity(),
    "spline": cal.maps.Spline(),
    "Gaussian process": cal.maps.GaussianProcessMap(),
}
TRUTHS = {
    "isotonic": cal.Isotonic(bounded=False),
    "tilted": cal.maps.UnitSlopeBins(cal.EqualMass(100), bounded=False),
    "flat": cal.Histogram(cal.EqualMass(100), bounded=False),
}
AWAY, AWAY_SQUARED, OFF, OFF_SQUARED, BIAS, AWAY_TILTED, OFF_TILTED, AWAY_FLAT, OFF_FLAT = range(9)
ESTIMATED, TRUE = 9, (10, 11, 12)
"""Columns of what is measured; the last are the estimated error, and the true one by isotonic regression, tilted and flat bins."""
EVOLVED = ("PL_DE", "PL_DE, no rule")
"""One evolution for each fold and number of pieces: fitted on the first test set of each size only, or the study takes hours."""


@cache
def logits_of(files, seed):
    """Logits of all rows, and of each the labels' distribution."""
    if files:
        both = [np.load(file) for file in files]
        z, y = (np.concatenate([each[key] for each in both]) for key in ("logits", "labels"))
    else:
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(3000, 10)) * 3
        y = (0.5 * z + rng.gumbel(size=z.shape)).argmax(axis=1)
    fitted = cal.maps.MatrixScaling().fit(y, logits=z)
    return z, y, fitted.apply(logits=z)


def draw(files, n, seed, part):
    """Rows with replacement, labels from their rates."""
    z, _, rates = logits_of(files, seed)
    rng = np.random.default_rng((seed, part))
    at = rng.integers(len(z), size=n)
    sums = np.cumsum(rates[at], axis=1)
    return z[at], (sums < rng.random((n, 1)) * sums[:, -1:]).sum(axis=1)


@cache
def drawn(files, many, seed):
    """Rows to fit calibrators on; many rows, and their probabilities."""
    valid, big = draw(files, VALID, seed, 1), draw(files, many, seed, 2)
    return valid, (*big, probabilities(big[0]))


def event_of(probs, labels, k):
    """Prediction and outcome of a task; the classes that are most probable for the confidence."""
    if k is not None:
        return probs[:, k], (labels == k).astype(np.uint8)
    top = probs.argmax(axis=1)
    return probs[np.arange(len(top)), top], (labels == top).astype(np.uint8)


@cache
def of_all_classes(name, files, many, seed):
    """Outputs of a map of all classes on many rows."""
    (z, y), (big, _, _) = drawn(files, many, seed)
    return CALIBRATORS[name].fit(y, logits=z).apply(logits=big)


def recalibrated(name, k, files, many, seed):
    """Outputs of a calibrator for a task on many rows, and the outcomes."""
    (z, y), (_, labels, probs) = drawn(files, many, seed)
    if name in WHOLE:
        return event_of(of_all_classes(name, files, many, seed), labels, k)
    p, happened = event_of(probabilities(z), y, k)
    q, outcome = event_of(probs, labels, k)
    return CALIBRATORS[name].fit(happened, p).apply(q), outcome


@cache
def true_map(k, files, many, seed):
    """The true map of the model itself at many rows, by isotonic regression."""
    _, (_, labels, probs) = drawn(files, many, seed)
    p, outcome = event_of(probs, labels, k)
    return TRUTHS["isotonic"].fit(outcome, p).apply(p)


def calibrator_error(name, k, files, many, seed):
    """Distance × 10³ of a calibrator's output from the true map of the model's prediction."""
    found = recalibrated(name, k, files, many, seed)[0]
    return float(1e3 * np.abs(found - true_map(k, files, many, seed)).mean())


def evaluator_errors(name, k, files, many, seed, sizes, seeds):
    """`(sizes, seeds, evaluators, 13)` on the outputs of a calibrator."""
    q, outcome = recalibrated(name, k, files, many, seed)
    truths = [recipe.fit(outcome, q) for recipe in TRUTHS.values()]
    fresh = q[: min(FRESH, many // 2)]
    at = [truth.apply(fresh) for truth in truths]
    found = np.full((len(sizes), len(seeds), len(EVALUATORS), 13), np.nan)
    rng = np.random.default_rng((seed, 3))
    with many_calls():
        for i, n in enumerate(sizes):
            for j, _ in enumerate(seeds):
                rows = rng.integers(many // 2, many, size=n)
                p, y = q[rows], outcome[rows]
                true = [np.abs(truth.apply(p) - p).mean() for truth in truths]
                square = ((truths[0].apply(p) - p) ** 2).mean()
                for m, (title, recipe) in enumerate(EVALUATORS.items()):
                    if title in EVOLVED and j:
                        continue
                    quick = title in EVOLVED and many < MANY
                    fitted = (cal.maps.EvolvedPieces(n_pieces=2) if quick else recipe).fit(y, p)
                    moves = fitted.moves(p)
                    error, squared = np.abs(moves).mean(), (moves**2).mean()
                    if isinstance(fitted, cal.maps.UnitSlopeMap):  # binned errors are debiased, as in C.5
                        bins = cal.Edges([0.0, *np.unique(fitted.cuts[(fitted.cuts > 0) & (fitted.cuts < 1)]), 1.0])
                        error = cal.binned_error(y, p, bins=bins, debiased=True, clip=False, root=False).value
                        squared = cal.binned_error(y, p, bins=bins, norm=2, debiased=True, clip=False, root=False).value
                    made = fitted.apply(fresh)
                    away = [np.abs(made - each).mean() for each in at]
                    off = [abs(error - each) for each in true]
                    first = away[0], ((made - at[0]) ** 2).mean(), off[0], abs(squared - square), error - true[0]
                    found[i, j, m] = *first, away[1], off[1], away[2], off[2], error, *true
    return found


def orders(job):
    """Real labels: five calibrators of the network from the most to the least calibrated, by evaluator (Figure F8)."""
    z, y, _ = logits_of(*source(job))
    valid, test = slice(None, len(z) // 3), slice(len(z) // 3, None)
    five = ("temperature", "vector", "matrix", "Dirichlet", "Dirichlet, L2")
    outputs = {n: CALIBRATORS[n].fit(y[valid], logits=z[valid]).apply(logits=z[test]) for n in five}
    found = {}
    for name in ("ES15", "ES sweep", "ES CV", "PL3", "PL", "Platt", "beta", "isotonic", "spline", "Gaussian process"):
        errors = []
        for probs in outputs.values():
            p, happened = event_of(probs, y[test], None)
            errors.append(float(np.abs(EVALUATORS[name].fit(happened, p).moves(p)).mean()))
        found[name] = dict(zip(five, errors, strict=True))
    return found


FILES = "kull_resnet110_c10_val.npz", "kull_resnet110_c10_tst.npz"


def source(job):
    """Files of the logits, none if they are simulated; and the seed."""
    return tuple(map(job.file, FILES)) if job.has(*FILES) else (), job.seed


def run(job):
    quick = job.quick
    many, sizes, seeds = (20_000, (500,), range(2)) if quick else (MANY, SIZES, SEEDS)
    tasks = {"cars vs rest": 1, "confidence": None} if quick else TASKS
    six, all_of = (SIX[:3], SIX[:3]) if quick else (SIX, tuple(CALIBRATORS))
    files, seed = source(job)
    given = files, many, seed
    first = job.parts(calibrator_error, {f"{n}, {t}": (n, k, *given) for n in all_of for t, k in tasks.items()})
    cases = {f"{n}: {t}": (n, k, *given, sizes, seeds) for n in six for t, k in tasks.items()}
    parts = job.parts(evaluator_errors, cases)
    shape = (len(six), len(tasks), len(sizes), len(seeds), len(EVALUATORS), 13)
    found = np.array(list(parts.values())).reshape(shape)
    page = Page("Calibrators and evaluators on a stand-in for CIFAR-5m", digits=2)
    page.text = head(bool(files), many, sizes, seeds)
    page.text += "\n\n" + first_table(first, all_of, tasks)
    for item, what, column, columns in TABLES:
        page.text += "\n\n" + by_task(item, what, 1e3 * found[..., column], tasks, columns)
    page.text += (
        "\n\n" + spreads(1e3 * found, tasks) + "\n\n" + by_size(1e3 * found, sizes) + "\n\n" + ranks(found, tasks)
    )
    page.rows = beside(first, found, sizes)
    order = orders(job)
    page.text += "\n\n" + ordered(order)
    page.figures = {"Figure F8: calibrators ordered by estimated error, 1 the most calibrated": drawing(order)}
    return page


PIECEWISE = ("PL3", "PL3, Brier", "PL", "PL, Brier", "PL_DE", "PL_DE, degree 2")
BINS = ("EW10", "ES10", "EW15", "ES15", "EW20", "ES20", "EW CV", "ES CV")
RULE = ("PL, no rule", "PL", "PL3, no rule", "PL3", "PL_DE, no rule", "PL_DE", "ES CV, no rule", "ES CV")
OTHERS = tuple(n for n in EVALUATORS if "no rule" not in n and not n.startswith("EW") and n != "PL_DE, degree 2")
TABLES = (
    ("Table 2, F2", "|ĉ − c*|", AWAY, OTHERS),
    ("Table F3", "|ĉ − c*|²", AWAY_SQUARED, OTHERS),
    ("Table F4", "|ECE − CE|", OFF, OTHERS),
    ("Table F5", "|ECE² − CE²|, squared inside the mean", OFF_SQUARED, OTHERS),
    ("Table F6", "|ĉ − c*|, c* by 100 tilted bins", AWAY_TILTED, OTHERS),
    ("Table F7", "|ĉ − c*|, c* by 100 flat bins", AWAY_FLAT, OTHERS),
    ("Table F12", "|ĉ − c*|, losses and PL_DE", AWAY, PIECEWISE),
    ("Table F13", "|ECE − CE|, losses and PL_DE", OFF, PIECEWISE),
    ("Table F14", "|ĉ − c*|, equal width and equal size", AWAY, BINS),
    ("Table F15", "|ECE − CE|, equal width and equal size", OFF, BINS),
    ("Table F16", "|ĉ − c*|, with and without the 0.1 % rule", AWAY, RULE),
    ("Table F17", "|ECE − CE|, with and without the 0.1 % rule", OFF, RULE),
)


def head(real, many, sizes, seeds):
    """What was run, and how it differs from the paper."""
    source = "the logits of a ResNet-110 on CIFAR-10 (15 000 rows)" if real else "simulated logits"
    return (
        f"Stand-in: rows of {source}, labels drawn from matrix scaling fitted on all of them; c* from {many:,} draws, as in D.2. "
        f"Six calibrators fitted on {VALID:,} rows, evaluators on test sets of {', '.join(f'{n:,}' for n in sizes)} rows, "
        f"{len(seeds)} test sets each (the paper: 5), one network (the paper: 3). Cells are × 10³. Numbers of another world cannot equal "
        "the published ones; what can be compared is the order of methods. PL_DE is fitted on the first test set of each size; of degree 2 "
        "it has two pieces; the order-invariant network as an evaluator is left out."
    )


def first_table(first, names, tasks):
    """Tables 1 and F1."""
    body = [(n, *(f"{first[f'{n}, {t}']:.2f}" for t in tasks)) for n in names]
    body.sort(key=lambda row: sum(map(float, row[1:])))
    return "## Tables 1 and F1: calibrators, |ĉ − c*|\n\n" + table(("calibrator", *tasks), body)


def by_task(item, what, values, tasks, columns):
    """Means over calibrators, sizes and test sets; the mean rank over tasks."""
    at = [list(EVALUATORS).index(name) for name in columns]
    means = np.nanmean(values, axis=(0, 2, 3))[:, at]
    ranks = means.argsort(axis=1).argsort(axis=1).mean(axis=0) + 1
    body = [
        (n, *(f"{m:.2f}" for m in column), f"{r:.1f}") for n, column, r in zip(columns, means.T, ranks, strict=True)
    ]
    body.sort(key=lambda row: float(row[-1]))
    return f"## {item}: {what}\n\n" + table(("evaluator", *tasks, "mean rank"), body)


def spreads(values, tasks):
    """Tables F18 and F19: standard deviations over test sets."""
    names = [name for name in OTHERS if name not in EVOLVED]
    at = [list(EVALUATORS).index(name) for name in names]
    parts = []
    for item, column in (("Table F18: standard deviation of |ĉ − c*|", AWAY), ("Table F19: of |ECE − CE|", OFF)):
        means = values[..., column].std(axis=3, ddof=1).mean(axis=(0, 2))[:, at]
        body = [(n, *(f"{m:.2f}" for m in column_)) for n, column_ in zip(names, means.T, strict=True)]
        parts.append(f"## {item}\n\n" + table(("evaluator", *tasks), body))
    return "\n\n".join(parts)


def by_size(values, sizes):
    """Tables F10, F11 and F24."""
    at = [list(EVALUATORS).index(name) for name in OTHERS]
    parts = []
    for item, column in (
        ("Table F10: |ĉ − c*|", AWAY),
        ("Table F11: |ECE − CE|", OFF),
        ("Table F24: bias of the ECE", BIAS),
    ):
        means = np.nanmean(values[..., column], axis=(0, 1, 3))[:, at]
        body = [(n, *(f"{m:.2f}" for m in column_)) for n, column_ in zip(OTHERS, means.T, strict=True)]
        parts.append(f"## {item}, by size\n\n" + table(("evaluator", *(f"n = {n:,}" for n in sizes)), body))
    return "\n\n".join(parts)


def correlations(found, truth):
    """`(tasks, sizes, seeds, evaluators)`: Spearman's correlation of estimated and true errors of the calibrators."""
    estimated, true = found[..., ESTIMATED], found[..., truth]
    kept = np.full(estimated.shape[1:], np.nan)
    for at in np.ndindex(*kept.shape):
        each = estimated[(slice(None), *at)]
        if np.isfinite(each).all():
            kept[at] = spearmanr(each, true[(slice(None), *at)]).statistic
    return kept


def ranks(found, tasks):
    """Tables 3, F8 and F9: errors of the error, and do evaluators rank the calibrators as the truth does?"""
    at = [list(EVALUATORS).index(name) for name in OTHERS]
    one = [i for i, t in enumerate(tasks) if t != "confidence"]
    parts = []
    for item, off, truth in (
        ("Table 3", OFF, TRUE[0]),
        ("Table F8, c* by 100 tilted bins", OFF_TILTED, TRUE[1]),
        ("Table F9, c* by 100 flat bins", OFF_FLAT, TRUE[2]),
    ):
        kept, errors = correlations(found, truth), 1e3 * found[..., off].mean(axis=0)
        columns = [np.nanmean(each[part], axis=(0, 1, 2))[at] for each in (errors, kept) for part in (one, [-1])]
        body = [
            (n, f"{a:.2f}", f"{b:.2f}", f"{c:.3f}", f"{d:.3f}") for n, a, b, c, d in zip(OTHERS, *columns, strict=True)
        ]
        body.sort(key=lambda row: -float(row[-1]))
        heads = (
            "evaluator",
            "error of the error, one-vs-rest",
            "confidence",
            "rank correlation, one-vs-rest",
            "confidence",
        )
        parts.append(
            f"## {item}: |ECE − CE|, and rank correlation of estimated and true errors\n\n" + table(heads, body)
        )
    return "\n\n".join(parts)


def beside(first, found, sizes):
    """Published numbers of another data set: beside ours for the order, without a standard error."""
    rows = [
        Row("P3 Table 1", f"{name}, confidence", first[key], value)
        for name, value in published("P3")["Table 1"]["rows"]["confidence"].items()
        if (key := f"{name}, confidence") in first
    ]
    means = 1e3 * np.nanmean(found[..., AWAY], axis=(0, 1, 3))
    for i, n in enumerate(sizes):
        cells = published("P3")["Table 2"]["rows"].get(str(n), {})
        rows += [
            Row("P3 Table 2", f"{name}, n = {n:,}", float(means[i, list(EVALUATORS).index(name)]), value)
            for name, value in cells.items()
            if name in EVALUATORS
        ]
    return rows


def ordered(order):
    """Figure F8 in words."""
    body = [(name, *sorted(errors, key=errors.get)) for name, errors in order.items()]
    return "## Figure F8: from the most to the least calibrated\n\n" + table(
        ("evaluator", *range(1, len(next(iter(order.values()))) + 1)), body
    )


def drawing(order):
    """Ranks of the calibrators, evaluators as rows."""
    made, (ax,) = figure(1, (6.0, 4.0))
    names = list(next(iter(order.values())))
    for name in names:
        places = [sorted(errors, key=errors.get).index(name) + 1 for errors in order.values()]
        ax.plot(places, range(len(order)), "o-", label=name)
    ax.set_yticks(range(len(order)), list(order))
    ax.set_xticks(range(1, len(names) + 1))
    ax.set_xlabel("place, from the most to the least calibrated")
    ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return made
