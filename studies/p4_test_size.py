"""Errors and improvements over the size of the test set (Gruber & Buettner 2022, Figures 1, 3, 5, 6 and 7).

For each model subsets of its test set are drawn at ten sizes, evenly spaced on a logarithmic scale from 100 to all rows; estimators
are averaged over them, for the model as it is and after recalibration with a map fitted on its validation set. `--data` is a
folder with `kull_resnet110_c10_{val,tst}.npz`, `ferrerpsr_resnet50_cifar10_{val,tst}.npz` and `ferrer_cifar100_resnet20.npz`; the last
has no validation set, so that one half of its rows is used to recalibrate and the other to test.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

import calibrant as cal
from calibrant.plot.axes import ideal, labelled
from studies.frame import Job, Page, figure, published, table

SAMPLES = published("P4")["Fig. 3"]["samples"]
FEWER = 200
"""The paper draws so many times more subsets; their standard errors stand in the tables."""

ESTIMATORS = {
    "15b CWCE₂": partial(cal.classwise_error, bins=15, norm=2),
    "100b CWCE₂": partial(cal.classwise_error, bins=100, norm=2),
    "ECE": cal.ece,
    "100b TCE₂": partial(cal.binned_error, bins=cal.EqualWidth(100), norm=2, view="top"),
    "15b d TCE₂": partial(cal.binned_error, bins=cal.EqualMass(15), norm=2, debiased=True, view="top"),
    "KDE TCE₂": partial(cal.density_error, norm=2, view="top"),
    "KS": partial(cal.ks_error, view="top"),
    "RBS": cal.root_brier,
    "KDE CE₂": partial(cal.canonical_error, norm=2),
}
KDE_ROWS = 300
"""The canonical kernel estimate goes over all pairs of rows, and is left out beyond."""

MODELS = {
    "ResNet-110, CIFAR-10": ("kull_resnet110_c10_val.npz", "kull_resnet110_c10_tst.npz"),
    "ResNet-50, CIFAR-10": ("ferrerpsr_resnet50_cifar10_val.npz", "ferrerpsr_resnet50_cifar10_tst.npz"),
    "ResNet-20, CIFAR-100": ("ferrer_cifar100_resnet20.npz",),
}
EXAMPLE = "the embedded example"
MAPS = {"TS": cal.Temperature(), "ETS": cal.maps.EnsembleTemperature(), "DIAG": cal.maps.OrderPreserving("diagonal")}


def ticks(most, count=10, least=100):
    """Sizes evenly spaced on a logarithmic scale."""
    return [int(n) for n in np.rint(np.geomspace(least, most, count))]


def loaded(job, name):
    """Validation and test set of a model."""
    if name == EXAMPLE:
        valid, test = cal.example()
        return valid, test.rows(slice(0, 600))
    parts = [cal.read(job.file(file)) for file in MODELS[name]]
    if len(parts) == 2:
        return parts
    half = np.random.default_rng(0).permutation(parts[0].n)
    return parts[0].rows(half[: len(half) // 2]), parts[0].rows(half[len(half) // 2 :])


@cache
def prepared(data, name, which):
    """The test set as it is and after each map."""
    valid, test = loaded(Job("p4_test_size", data=data), name)
    return (test, *(MAPS[each].fit(valid).apply(test) for each in which))


def measured(data, name, which, n, repeats, seed):
    """Means and standard errors of every estimator: the error, then the improvement by each map; plain and squared."""
    rng = np.random.default_rng([seed, n])
    sets = prepared(data, name, which)
    found = {estimator: [] for estimator in ESTIMATORS}
    for _ in range(repeats):
        rows = rng.choice(sets[0].n, n, replace=False)
        for title, estimator in ESTIMATORS.items():
            if title != "KDE CE₂" or (n <= KDE_ROWS and sets[0].n_classes <= 10):
                found[title].append([float(estimator(each.rows(rows))) for each in sets])
    return {title: summary(np.array(values)) for title, values in found.items() if values}


def summary(values):
    """Mean and standard error of errors and improvements, plain, then of their squares."""
    both = []
    for each in (values, values**2):
        columns = np.column_stack([each[:, 0], each[:, :1] - each[:, 1:]])
        both.append([columns.mean(axis=0), columns.std(axis=0) / np.sqrt(max(len(columns) - 1, 1))])
    return np.array(both)


def run(job):
    names = [EXAMPLE] if job.quick else [name for name in MODELS if job.has(*MODELS[name])]
    if not names:
        job.file(MODELS["ResNet-110, CIFAR-10"][0])
    recipes = ("TS",) if job.quick else tuple(MAPS)
    plain, squared, improved, tables = {}, {}, {}, []
    for name in names:
        most = loaded(job, name)[1].n
        sizes = ticks(most, 3 if job.quick else 10)
        repeats = [2] * 3 if job.quick else [max(1, count // FEWER) for count in SAMPLES[:9]] + [1]
        cases = {
            f"{name} {n}": (job.data, name, recipes, n, count, job.seed)
            for n, count in zip(sizes, repeats, strict=True)
        }
        found = dict(zip(sizes, job.parts(measured, cases).values(), strict=True))
        plain[name], squared[name] = (
            {n: {e: np.array(v)[k] for e, v in of.items()} for n, of in found.items()} for k in (0, 1)
        )
        tables.append(f"### {name}\n\n{of_errors(plain[name])}")
        for k, which in enumerate(recipes, 1):
            improved[name, which] = k
            tables.append(f"### {name}, improvement by {which}\n\n{of_errors(plain[name], k)}")
    figures = drawn(plain, squared, improved)
    text = (
        f"""Mean over subsets of the test set ± standard error; the paper draws {FEWER} times as many subsets. The full set counts once. RBS, the
root of the Brier score, is an upper bound of CE₂, the others are lower bounds; its improvement is that of CE₂ for the injective maps TS, ETS and
DIAG. The kernel estimate of CE₂ goes over all pairs of rows and is left out beyond {KDE_ROWS} rows and ten classes.

## What the tables say

{reading(plain, improved)}

## Errors and improvements

"""
        + "\n\n".join(tables)
        + ("" if job.quick else "\n\n" + fooled(job, names[0]))
    )
    return Page("Errors and improvements over the size of the test set", text, figures=figures)


def cell(mean, error):
    """The error is left out where there is one subset only, and where it would be printed as 0."""
    return f"{mean:.4f} ± {error:.4f}".removesuffix(" ± 0.0000")


def of_errors(found, column=0):
    """Rows are estimators, columns sizes."""
    body = [
        (e, *(cell(*of[e][:, column]) if e in of else "–" for of in found.values()))
        for e in ESTIMATORS
        if any(e in of for of in found.values())
    ]
    return table(("estimator", *(f"{n:,}" for n in found)), body)


def reading(plain, improved):
    """How far each estimator at the smallest size is from its value on all rows, over models and maps."""
    lines = []
    for e in ESTIMATORS:
        moved, off = [], []
        for found in plain.values():
            least, most = found[min(found)], found[max(found)]
            if e in most:
                moved.append(least[e][0, 0] / most[e][0, 0] - 1)
        for (name, _), k in improved.items():
            least, most = plain[name][min(plain[name])], plain[name][max(plain[name])]
            if e in most:
                off.append(least[e][0, k] - most[e][0, k])
        if moved:
            lines.append(
                f"- {e}: at the smallest size its error is off by {100 * np.mean(moved):+.0f} % of that on all rows, improvements by {np.mean(off):+.4f}, means over models and maps."
            )
    return "\n".join(lines)


def drawn(plain, squared, improved):
    """Figure 3 and 5: errors; their ratio to those of all rows; Figures 1 and 6: improvements; Figure 7: squares."""
    made = {}
    picture, axes = figure(len(plain) + 1, columns=4)
    for ax, (name, found) in zip(axes, plain.items(), strict=False):
        lines(ax, found, 0, name, "error")
    relative(axes[-1], plain)
    made["Errors over the size of the test set; relative to all rows"] = picture
    picture, axes = figure(len(improved), columns=3)
    for ax, ((name, which), k) in zip(axes, improved.items(), strict=True):
        lines(ax, plain[name], k, f"{which}, {name}", "improvement")
    made["Improvements over the size of the test set"] = picture
    picture, axes = figure(2 * len(squared), columns=len(squared))
    for j, (name, found) in enumerate(squared.items()):
        lines(axes[j], found, 0, name, "squared error")
        lines(axes[j + len(squared)], found, 1, f"TS, {name}", "improvement of the square")
    made["Squared errors and improvements"] = picture
    return made


def lines(ax, found, column, title, y):
    for e in ESTIMATORS:
        sizes = [n for n, of in found.items() if e in of]
        if sizes:
            values = np.array([found[n][e][:, column] for n in sizes])
            style = {"color": "red", "linewidth": 1.8} if e == "RBS" else {"linewidth": 1}
            ax.errorbar(sizes, values[:, 0], values[:, 1], label=e, marker="o", markersize=2, **style)
    ax.set(xscale="log", title=title)
    ax.title.set_fontsize(9)
    labelled(ax, "rows of the test set", y, fontsize=6)


def relative(ax, plain):
    """Mean over models of the error relative to that of all rows."""
    for e in ESTIMATORS:
        of = [found for found in plain.values() if e in found[max(found)]]
        if of:
            sizes = range(min(len(found) for found in of))
            ratios = [np.mean([list(f.values())[k][e][0, 0] / f[max(f)][e][0, 0] for f in of]) for k in sizes]
            ax.plot(
                list(of[0])[: len(ratios)],
                ratios,
                marker="o",
                markersize=2,
                linewidth=1,
                label=e,
                **({"color": "red"} if e == "RBS" else {}),
            )
    ax.axhline(1, **ideal(ax))
    ax.set(xscale="log", title="mean over models")
    labelled(ax, "rows of the test set", "error / error of all rows", fontsize=6)


def fooled(job, name):
    """Maps that make the errors of the top label vanish and are worse (appendices D.4 and E)."""
    from calibrant.maps.uninformative import LabelFrequencies, TopAccuracy

    valid, test = loaded(job, name)
    body = []
    for title, recipe in {
        "as it is": None,
        "TS": MAPS["TS"],
        "accuracy for every top class": TopAccuracy(),
        "frequencies of the labels": LabelFrequencies(),
    }.items():
        each = test if recipe is None else recipe.fit(valid).apply(test)
        body.append((title, *(f"{float(ESTIMATORS[e](each)):.4f}" for e in ("ECE", "KS", "15b CWCE₂", "RBS"))))
    return (
        f"## Maps that fool errors ({name})\n\nBoth last maps discard what the model knows: ECE and KS fall to 0, the proper score rises.\n\n"
        + table(("map", "ECE", "KS", "15b CWCE₂", "RBS"), body)
    )
