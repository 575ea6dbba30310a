"""The ranges that ACE and TACE choose while a network learns (Nixon et al. 2019, Figures 2 right, 3 and 4).

The paper trains on Fashion-MNIST and MNIST, which cannot be had without a download: a small network (scikit-learn's `MLPClassifier`, 64 hidden units)
on the 8×8 digits that ship with scikit-learn takes their place. Half of the rows train, half test. Lower ends of the ranges are those of one class, 0.
"""

from __future__ import annotations

import warnings

import numpy as np

import calibrant as cal
from calibrant.plot.axes import labelled
from studies.frame import Page, figure, table

RANGES, THRESHOLDED, THRESHOLD = 100, 50, 0.01
"""Ranges of ACE and TACE in Figure 4, and TACE's threshold."""


def lower_ends(predictions, n_ranges, threshold=0.0):
    """Lower ends of the equal-mass ranges of class 0, of predictions above the threshold."""
    probs = predictions.probs[:, 0]
    return np.quantile(probs[probs > threshold], np.arange(n_ranges) / n_ranges, method="lower")


def learned(steps, every, seed):
    """At each look: lower ends of the ranges, ACE and TACE; and the last predictions."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    net = MLPClassifier((64,), random_state=seed, learning_rate_init=0.002)
    looks = []
    for step in range(1, steps + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net.partial_fit(x[train] / 16, y[train], classes=range(10))
        if step % every == 0:
            said, own = (cal.Predictions(y[of], net.predict_proba(x[of] / 16)) for of in (test, train))
            looks.append(
                {
                    "step": step,
                    "ranges": lower_ends(said, RANGES),
                    "thresholded": lower_ends(own, THRESHOLDED, THRESHOLD),
                    "ACE": 100 * cal.adaptive_error(said, bins=RANGES).value,
                    "TACE": 100 * cal.thresholded_error(said, bins=THRESHOLDED, threshold=THRESHOLD).value,
                    "ECE": 100 * cal.ece(said).value,
                }
            )
    return {"looks": looks, "labels": y[test], "probs": net.predict_proba(x[test] / 16)}


def run(job):
    steps, every = (4, 2) if job.quick else (120, 3)
    found = job.parts(learned, {"training": (steps, every, job.seed)})["training"]
    looks = found["looks"]
    said = cal.Predictions(np.array(found["labels"]), np.array(found["probs"]))
    picture, axes = figure(6, columns=3)
    cal.ece(said).plot(ax=axes[0])
    axes[0].set_title("after training, top label", fontsize=9)
    axes[1].hist(said.probs.ravel(), bins=40, color="0.6", label="all classes")
    axes[1].set(yscale="log")
    labelled(axes[1], "predicted probability", "predictions")
    for ax, which, title in (
        (axes[2], "ranges", f"ACE, {RANGES} ranges, test rows"),
        (axes[3], "thresholded", f"TACE, {THRESHOLDED} ranges, training rows"),
    ):
        for k in range(max(len(look[which]) for look in looks)):
            points = [(look["step"], look[which][k]) for look in looks if k < len(look[which])]
            ax.plot(*zip(*points, strict=True), linewidth=0.5)
        ax.set(xlabel="training step", ylabel="lower ends of the ranges")
        ax.set_title(title, fontsize=9)
    for ax, name in zip(axes[4:], ("ACE", "TACE"), strict=True):
        ax.plot([look["step"] for look in looks], [look[name] for look in looks], label=f"{name}, test rows")
        labelled(ax, "training step", f"{name}, %")
    body = [
        (
            look["step"],
            *(f"{look[m]:.3f}" for m in ("ECE", "ACE", "TACE")),
            f"{np.median(look['ranges']):.2g}",
            f"{np.mean(np.array(look['ranges']) > 0.01):.0%}",
            f"{look['thresholded'][0]:.3f}",
        )
        for look in looks[:: max(1, len(looks) // 10)]
    ]
    above = [np.mean(np.array(look["thresholded"]) > 0.9) for look in looks]
    text = f"""Errors on the test rows in per cent. As predictions sharpen, most ranges of ACE lie near 0 (median of the lower ends), which is why the paper introduces a threshold. On
the training rows the share of TACE's ranges that begin above 0.9 goes from {above[0]:.0%} to {above[-1]:.0%}.

{table(("step", "ECE", "ACE", "TACE", "median lower end, ACE", "lower ends above 0.01", "lowest end, TACE on training rows"), body)}

At the end {np.mean((said.probs < 0.01) | (said.probs > 0.99)):.0%} of all predictions lie within 0.01 of 0 or 1."""
    return Page("Ranges of ACE over training", text, figures={"Ranges and errors over training": picture})
