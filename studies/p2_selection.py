"""Which recalibrator does each estimator select, and which is truly best? (Roelofs et al. 2022, Table 1)

In each of the paper's ten worlds a model is recalibrated by histogram binning, isotonic regression and temperature scaling on 5,000 rows (25,000 for
ImageNet), and judged on as many test rows as the paper had. The truth is known there: the error of a recalibrated model is computed from the
true rates of 200,000 scores, where the paper estimates it from fitted curves. With `--data`, a folder with `kull_resnet110_c10_{val,tst}.npz`, the same
is done for that network, with the error of a fitted curve as in the paper.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from calibrant.simulate import REAL_SIZES, fit_world, named_world
from calibrant.simulate.families import NAMED_WORLDS
from studies.frame import Page, Row, figure, published, table

RECIPES = {"histogram": cal.Histogram(), "isotonic": cal.Isotonic(), "temperature": cal.Temperature()}
ESTIMATORS = {
    "ECE": partial(cal.binned_error, bins=cal.EqualWidth(15), norm=2),
    "sweep": partial(cal.sweep_error, norm=2),
    "debiased": partial(cal.binned_error, norm=2, debiased=True),
}
FILES = ("kull_resnet110_c10_val.npz", "kull_resnet110_c10_tst.npz")


def true_error(fitted, probs, rates):
    """Root mean square of prediction less true rate given the prediction."""
    said = np.asarray(fitted.from_probs(probs), float)
    values, place = np.unique(said, return_inverse=True)
    counts = np.bincount(place)
    return float(np.sqrt((counts / counts.sum()) @ (values - np.bincount(place, rates) / counts) ** 2))


def drawn(name, reference, most, seed):
    """For each recipe the true error and every estimate."""
    world = named_world(name)
    rng = np.random.default_rng(seed)
    rows = min(5000 if REAL_SIZES[name] == 10_000 else 25_000, most)
    valid, test = world.sample(rows, rng), world.sample(min(REAL_SIZES[name], most), rng)
    probs, _, rates = (part[0] for part in world.draw(reference, 1, rng))
    found = []
    for recipe in RECIPES.values():
        fitted = recipe.fit(valid)
        after = fitted.apply(test)
        found.append([true_error(fitted, probs, rates), *(float(e(after)) for e in ESTIMATORS.values())])
    return found


def run(job):
    names = list(NAMED_WORLDS)[:2] if job.quick else list(NAMED_WORLDS)
    count, reference, most = (1, 2000, 1000) if job.quick else (10, 200_000, 10**6)
    cases = {
        f"{name} {k}": (name, reference, most, [job.seed, k, j]) for j, name in enumerate(names) for k in range(count)
    }
    found = {key: np.array(value) for key, value in job.parts(drawn, cases).items()}
    known, rows, body = published("P2")["Table 1"], [], []
    agrees = {
        e: np.array([v[:, 0].argmin() == v[:, k].argmin() for v in found.values()]) for k, e in enumerate(ESTIMATORS, 1)
    }
    lost = {
        e: np.array([v[v[:, k].argmin(), 0] - v[:, 0].min() for v in found.values()])
        for k, e in enumerate(ESTIMATORS, 1)
    }
    for e in ESTIMATORS:
        share = agrees[e].mean()
        by_world = agrees[e].reshape(len(names), count).mean(axis=1)
        error = float(by_world.std(ddof=1) / np.sqrt(len(names)))
        theirs = known["of 10"].get(e)
        if theirs is not None:
            rows.append(
                Row(
                    "P2 Table 1",
                    f"share of right choices, {e}",
                    share,
                    theirs / 10,
                    float(np.hypot(error, np.sqrt(theirs / 10 * (1 - theirs / 10) / 10))),
                )
            )
        body.append(
            (
                e,
                f"{share:.2f} ± {error:.2f}",
                f"{100 * lost[e].mean():.3f} ± {100 * lost[e].std(ddof=1) / np.sqrt(len(lost[e])):.3f}",
            )
        )
    worlds = [
        (
            name,
            *(
                f"{100 * np.mean([v[k, 0] for key, v in found.items() if key.startswith(name + ' ')]):.2f}"
                for k in range(len(RECIPES))
            ),
            *(f"{agrees[e][j * count : (j + 1) * count].sum()} of {count}" for e in ESTIMATORS),
        )
        for j, name in enumerate(names)
    ]
    text = f"""How often an estimator, on the test rows, has its lowest value for the recalibrator that is truly best; {count} draws of each world. *Lost*: true error
of the one chosen less that of the best, in per cent.

{table(("estimator", "share of right choices", "lost, %"), body)}

## World by world

Mean true errors after each recalibration in per cent, and right choices.

{table(("world", *RECIPES, *(f"right by {e}" for e in ESTIMATORS)), worlds)}"""
    if job.has(*FILES):
        text += "\n\n" + of_network(job)
    picture, (ax,) = figure(size=(5, 3))
    ax.bar(list(agrees), [v.mean() for v in agrees.values()], color="0.6")
    ax.plot([0, 1], [known["of 10"]["ECE"] / 10, known["of 10"]["sweep"] / 10], "x", color="C3", label="published")
    ax.set(ylabel="share of right choices", ylim=(0, 1))
    ax.legend(frameon=False)
    return Page("Which recalibrator does each estimator select?", text, rows, 2, {"Right choices": picture})


def of_network(job):
    """The ResNet-110, with the error of a fitted curve as the truth."""
    valid, test = (cal.read(job.file(name)) for name in FILES)
    recipes = [cal.TopLabel(cal.Histogram()), cal.TopLabel(cal.Isotonic()), cal.Temperature()]
    values = []
    for recipe in recipes:
        after = recipe.fit(valid).apply(test)
        truth = fit_world(after, view="top", scores="empirical").true_error(2)
        values.append([100 * truth, *(100 * float(e(after, view="top")) for e in ESTIMATORS.values())])
    columns = ("fitted curve", *ESTIMATORS)
    chosen = ", ".join(f"{c} {list(RECIPES)[k]}" for c, k in zip(columns, np.argmin(values, axis=0), strict=True))
    body = [(name, *(f"{v:.2f}" for v in row)) for name, row in zip(RECIPES, values, strict=True)]
    return f"""## A ResNet-110 on CIFAR-10

Errors on its test set in per cent, beside that of a curve fitted by AIC, which the paper takes as the truth. The lowest: {chosen}.

{table(("recalibrated by", *columns), body)}"""
