"""ECE, SCE and ACE while labels become noisier (Nixon et al. 2019, Figure 1).

Softmax regression (scikit-learn's, with its default penalty) at 40 levels of label noise from 0 to 0.05, as in the paper; its MNIST cannot be had without a download, so the 8×8 digits
that ship with scikit-learn take its place, half to train and half to test. The noise is in the labels of both halves. Repeated over seeds, which the paper does not do.
"""

from __future__ import annotations

import numpy as np

import calibrant as cal
from calibrant.plot.axes import labelled
from studies.frame import Page, figure, table

IMPORTANT = 0.01
"""Predictions at least as confident as this are important (the paper's text; its caption says 0.1)."""
MEASURES = ("ECE", "SCE", "ACE", "left out, %", "accuracy", "mean confidence")


def at_level(level, seeds):
    """Means over seeds of what `MEASURES` names."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    x, y = load_digits(return_X_y=True)
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        order, noisy = rng.permutation(len(y)), rng.random(len(y)) < level
        labels = np.where(noisy, rng.integers(10, size=len(y)), y)
        train, test = (
            np.split(order, 2) if len(order) % 2 == 0 else (order[: len(order) // 2], order[len(order) // 2 :])
        )
        model = LogisticRegression(max_iter=2000, tol=1e-3).fit(x[train] / 16, labels[train])
        said = cal.Predictions(labels[test], model.predict_proba(x[test] / 16))
        top = np.arange(10) == said.probs.argmax(axis=1)[:, None]
        important = said.probs >= IMPORTANT
        left = 100 * (important & ~top).sum() / important.sum()
        errors = [100 * float(e) for e in (cal.ece(said), cal.static_error(said), cal.adaptive_error(said))]
        found.append([*errors, left, (said.probs.argmax(axis=1) == said.labels).mean(), said.probs.max(axis=1).mean()])
    return np.array(found)


def run(job):
    levels = np.linspace(0, 0.05, 2 if job.quick else 40)
    seeds = [[job.seed, k] for k in range(2 if job.quick else 4)]
    cases = {f"noise {level:.5f}": (float(level), seeds) for level in levels}
    found = np.array(list(job.parts(at_level, cases).values()))
    mean, error = found.mean(axis=1), found.std(axis=1, ddof=1) / np.sqrt(len(seeds))
    shown = range(0, len(levels), max(1, len(levels) // 8))
    body = [
        (f"{levels[k]:.4f}", *(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean[k], error[k], strict=True))) for k in shown
    ]
    picture, axes = figure(4)
    groups = (("ECE", "SCE", "ACE"), ("left out, %",), ("accuracy",), ("mean confidence",))
    for ax, names in zip(axes, groups, strict=True):
        for name in names:
            k = MEASURES.index(name)
            ax.errorbar(levels, mean[:, k], error[:, k], marker="o", markersize=2, linewidth=0.8, label=name)
        labelled(ax, "label noise", "error, %" if len(names) > 1 else names[0])
    slopes = {name: np.polyfit(levels, mean[:, MEASURES.index(name)], 1)[0] for name in MEASURES}
    text = f"""{len(levels)} levels, {len(seeds)} seeds; ECE, SCE and ACE (15 bins) in per cent. *Left out*: of the predictions of at least {IMPORTANT}, those that ECE, which looks at the largest of
each row, does not count. Change from the first to the last level by a straight line: {", ".join(f"{name} {0.05 * slope:+.3f}" for name, slope in slopes.items())}.

{table(("noise", *MEASURES), body)}"""
    return Page("Label noise", text, figures={"Errors over label noise": picture})
