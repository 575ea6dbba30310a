"""ECE of simulated models over the size of the test set, and Proposition 3.3's curve (Gruber & Buettner 2022, Figure 2).

Logits are normal with inverse-Wishart covariance, 100 classes; labels follow their softmax. The models predict the softmax of the
logits times 1, 1.5 and 2.5, as in the authors' released notebook. Test sets are drawn anew at every size, where the paper
draws subsets of one set of 10,000 rows. The curve is `expected_ece` of one large test set.
"""

from __future__ import annotations

import numpy as np

import calibrant as cal
from calibrant.kernels.logits import probabilities
from calibrant.plot.axes import labelled
from calibrant.simulate import LogisticNormalWorld
from studies.frame import Page, figure, published, table
from studies.p4_test_size import ticks

MODELS = {"perfect": 1.0, "mediocre": 1.5, "bad": 2.5}


def drawn(classes, n, seed):
    """Logits of a calibrated model, and labels."""
    rng = np.random.default_rng(seed)
    probs, _ = LogisticNormalWorld(classes).rows(n, rng)
    labels = (np.cumsum(probs, axis=1) < rng.random((n, 1))).sum(axis=1)
    return np.log(np.maximum(probs, 1e-300)), np.minimum(labels, classes - 1)


def models(logits, labels):
    return [cal.Predictions(labels, probabilities(factor * logits)) for factor in MODELS.values()]


def at_size(classes, n, repeats, seed):
    """ECE of the three models on test sets of their own."""
    every = models(*drawn(classes, n * repeats, [seed, n]))
    return [[cal.ece(model.rows(slice(k * n, (k + 1) * n))).value for model in every] for k in range(repeats)]


def run(job):
    classes, largest = (10, 1000) if job.quick else (100, 10_000)
    sizes = ticks(largest, 4 if job.quick else 10)
    repeats = {n: 3 if job.quick else max(10, min(200, 100_000 // n)) for n in sizes}
    cases = {f"n = {n}": (classes, n, repeats[n], job.seed) for n in sizes}
    found = {n: np.array(rows) for n, rows in zip(sizes, job.parts(at_size, cases).values(), strict=True)}
    large = models(*drawn(classes, 2 * largest, [job.seed, 7]))
    curves = np.array([[cal.expected_ece(model, n=n).value for model in large] for n in sizes])
    truth = [cal.ece(model).value for model in large]
    drawn_figure, (ax,) = figure(size=(6, 4.2))
    body = []
    for k, name in enumerate(MODELS):
        mean, error = (
            np.array([found[n][:, k].mean() for n in sizes]),
            np.array([found[n][:, k].std(ddof=1) / np.sqrt(len(found[n])) for n in sizes]),
        )
        bars = ax.errorbar(sizes, mean, error, marker="o", markersize=3, linewidth=0, elinewidth=1, label=name)
        ax.plot(sizes, curves[:, k], color=bars.lines[0].get_color(), linewidth=1, label=f"{name}, Prop. 3.3")
        body += [
            (name, f"{n:,}", f"{m:.4f} ± {e:.4f}", f"{c:.4f}", f"{truth[k]:.4f}")
            for n, m, e, c in zip(sizes, mean, error, curves[:, k], strict=True)
        ]
    ax.set(xscale="log")
    labelled(ax, "rows of the test set", "ECE, 15 bins", fontsize=7)
    accuracy = float((large[0].probs.argmax(axis=1) == large[0].labels).mean())
    published_accuracy = published("P4")["Fig. 2"]["accuracy"]
    text = f"""{classes} classes; accuracy {accuracy:.3f}, published {published_accuracy}. Mean ECE over up to {max(repeats.values())} test sets per
size ± its standard error, beside the mean by Proposition 3.3 (`expected_ece`) and the ECE of {2 * largest:,} rows. The smaller the
true error, the more the estimate falls with the size: the improvement by recalibration is underestimated with few rows.

{table(("model", "rows", "mean ECE", "by Prop. 3.3", f"ECE of {2 * largest:,} rows"), body)}"""
    return Page("ECE over the size of the test set", text, figures={"ECE over the size of the test set": drawn_figure})
