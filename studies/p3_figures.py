"""Figures 1, 2, 4, D1 and E2 to E7 of Kängsepp et al.: what binned, piecewise-linear and true maps look like.

Synthetic data are drawn as the paper draws them. Figure 4 shows "cats vs rest" of a ResNet-110; with `--data FOLDER` it is drawn from
that network's logits on CIFAR-10 (`kull_resnet110_c10_val.npz` and `_tst.npz`), fitted on the first file, the truth by isotonic
regression on both; else from simulated scores with a known curve.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import calibrant as cal
from calibrant.kernels.logits import log_odds, probabilities, sigmoid
from calibrant.simulate import ShapeWorld
from calibrant.simulate.shapes import SHAPES, largest_error
from calibrant.simulate.shapes import published_draw as drawn
from studies.frame import Page, Row, figure, published

GRID = (np.arange(2000) + 0.5) / 2000
SHOWN = 50
"""Rows of which the distance from the diagonal is drawn."""


def data(shape, n, level, seed):
    """Labels, predictions and the world they come from."""
    world = ShapeWorld(shape, level)
    c, labels = drawn(n, seed)
    return labels, world.predicted(c), c, world


def diagonal(ax, title, x="predicted"):
    """Axes from 0 to 1 with the line of a calibrated model."""
    ax.plot([0, 1], [0, 1], color="0.55", linestyle="--", linewidth=1)
    ax.set(title=title, xlim=(0, 1), ylim=(0, 1), xlabel=x, ylabel="observed")
    ax.set_aspect("equal")


def truth(ax, world):
    """The true curve."""
    ax.plot(world.predicted(GRID), GRID, color="C1", label="true")


def gaps(ax, at, of, color="C3"):
    """Distances from the diagonal."""
    ax.vlines(at, at, of, color=color, linewidth=0.8)


def roofs(ax, fitted, tilted=True, rates=None):
    """The bins of a unit-slope map, tilted or flat."""
    cuts = np.concatenate([[0.0], fitted.cuts, [1.0]])
    for k, (low, high) in enumerate(pairwise(cuts)):
        top = [low + fitted.shifts[k], high + fitted.shifts[k]] if tilted else [rates[k]] * 2
        ax.fill_between([low, high], 0, np.clip(top, 0, 1), color="C0", alpha=0.35, edgecolor="C0")


def figure_1(seed):
    """True map, flat and tilted reliability diagram of the same 3000 rows of beta2."""
    labels, probs, _, world = data("beta2", 3000, largest_error("beta2"), seed)
    bins = cal.EqualWidth(10)
    fitted = cal.maps.UnitSlopeBins(bins).fit(labels, probs)
    found = cal.binned_error(labels, probs, bins=bins).parts["bins"]
    at = np.sort(probs)[:: len(probs) // SHOWN]
    made, axes = figure(3)
    titles = "true calibration map", "reliability diagram", "with tilted roofs"
    for ax, title in zip(axes, titles, strict=True):
        diagonal(ax, title)
    truth(axes[0], world)
    gaps(axes[0], at, world.curve(at))
    roofs(axes[1], fitted, tilted=False, rates=found.label_rate)
    gaps(axes[1], found.mean_prob, found.label_rate)
    roofs(axes[2], fitted)
    gaps(axes[2], at, at + fitted.shift(at))
    error = np.abs(fitted.shift(probs)).mean()
    assert abs(error - cal.binned_error(labels, probs, bins=bins).value) < 1e-12  # Theorem 2
    return made


def figure_2(seed):
    """Tilted roofs with a cross-validated number of equal widths, PL and PL3, beside the figures of the paper's text."""
    labels, probs, c, world = data("beta2", 3000, largest_error("beta2"), seed)
    true = np.abs(probs - c).mean()
    chosen = cal.crossvalidated_error(labels, probs, bins=cal.EqualWidth).settings["n_bins"]
    maps = {
        "EW CV": cal.maps.UnitSlopeBins(cal.EqualWidth(chosen)).fit(labels, probs),
        "PL": cal.maps.PiecewiseLinear("probability", n_pieces="cv").fit(labels, probs),
        "PL3": cal.maps.PiecewiseLinear(n_pieces="cv").fit(labels, probs),
    }
    numbers = {"EW CV": chosen} | {name: int(maps[name].shares.argmax()) for name in ("PL", "PL3")}
    made, axes = figure(3)
    rows = []
    for ax, (name, fitted) in zip(axes, maps.items(), strict=True):
        diagonal(ax, f"{name}, {numbers[name]} {'bins' if name == 'EW CV' else 'pieces'}")
        truth(ax, world)
        if name == "EW CV":
            roofs(ax, fitted)
        else:
            ax.plot(GRID, fitted.apply(GRID), color="C0")
        away = np.abs(fitted.apply(world.predicted(GRID)) - GRID).mean()
        ours = {"number": numbers[name], "map error": away}
        ours["error of the error"] = abs(np.abs(fitted.moves(probs)).mean() - true)
        theirs = published("P3")["Fig. 2"]["rows"][name]
        rows += [Row("P3 Fig. 2", f"{name}, {what}", float(ours[what]), value) for what, value in theirs.items()]
    return made, rows


def figure_d1():
    """The five shapes; two derivates of stairs."""
    made, axes = figure(5, (3.2, 3.2), columns=5)
    for ax, shape in zip(axes, SHAPES, strict=True):
        diagonal(ax, shape)
        ax.plot(SHAPES[shape](GRID), GRID, color="C1")
        for level in (0.03, 0.07) if shape == "stairs" else ():
            ax.plot(ShapeWorld(shape, level).predicted(GRID), GRID, linewidth=0.8, label=f"{level}")
    axes[-1].legend(fontsize=7)
    return made


def diagrams(shape, n, seed):
    """Figures E2 to E6: the truth, three binned diagrams with tilted roofs, and PL."""
    labels, probs, _, world = data(shape, n, 0.10, seed)
    made, axes = figure(5, (3.2, 3.4), columns=5)
    titles = ("true calibration map", "ES15", "ES sweep", "ES CV", "PL")
    for ax, title in zip(axes, titles, strict=True):
        diagonal(ax, title)
        truth(ax, world)
    for ax, bins in zip(axes[1:4], (15, "sweep", "cv"), strict=True):
        roofs(ax, cal.maps.UnitSlopeBins(bins).fit(labels, probs))
    axes[4].plot(
        GRID, cal.maps.PiecewiseLinear("probability", n_pieces="cv").fit(labels, probs).apply(GRID), color="C0"
    )
    return made


def both_scales(maps, z, title):
    """Maps as functions of the log-odds on a probability and on a logit scale, axes as far as the data go."""
    made, axes = figure(2)
    for name, of in maps.items():
        c = of(z)
        axes[0].plot(sigmoid(z), c, label=name)
        axes[1].plot(z, log_odds(c), label=name)
    diagonal(axes[0], title)
    axes[1].plot(z, z, color="0.55", linestyle="--", linewidth=1)
    axes[1].set(title=f"{title}, log-odds", xlabel="predicted", ylabel="observed")
    axes[1].legend(fontsize=7)
    return made


def figure_e7():
    """The beta map with a = 0.3, b = 1.4, c = 0: two straight pieces in log-odds."""
    z = np.linspace(-8, 8, 800)
    return both_scales(
        {"beta": lambda z: sigmoid(-0.3 * np.logaddexp(0, -z) + 1.4 * np.logaddexp(0, z))}, z, "beta map"
    )


def figure_4(job):
    """PL3 against beta calibration, Platt scaling and isotonic regression, on a network's "cats vs rest" or on simulated scores."""
    if job.has("kull_resnet110_c10_val.npz", "kull_resnet110_c10_tst.npz"):
        both = [np.load(job.file(f"kull_resnet110_c10_{part}.npz")) for part in ("val", "tst")]
        (p, y), (q, more) = ((probabilities(each["logits"].astype(float))[:, 3], each["labels"] == 3) for each in both)
        title, all_p, all_y = "cats vs rest, ResNet-110", np.append(p, q), np.append(y, more)
    else:
        world = ShapeWorld("beta1", 0.1)
        said = world.sample(2000, job.seed)
        title, p, y, all_p, all_y = "simulated", said.probs, said.labels, said.probs, said.labels
    rows = y.astype(int), p
    maps = {
        "PL3": cal.maps.PiecewiseLinear(n_pieces="cv").fit(*rows),
        "beta": cal.Beta().fit(*rows),
        "Platt": cal.Platt().fit(*rows),
        "isotonic on all rows": cal.Isotonic().fit(all_y.astype(int), all_p),
    }
    ends = np.quantile(log_odds(np.clip(all_p, 1e-15, 1 - 1e-15)), [0.001, 0.999])
    z = np.linspace(*ends, 800)
    return both_scales({name: (lambda z, m=m: m.apply(sigmoid(z))) for name, m in maps.items()}, z, title)


def run(job):
    n = 1000 if job.quick else 10_000
    second, rows = figure_2(job.seed)
    page = Page("Figures of Kängsepp et al.", rows=rows, digits=4)
    page.figures = {
        "Figure 1: a true map, flat and tilted roofs": figure_1(job.seed),
        "Figure 2: tilted roofs, PL and PL3 on the same rows": second,
        "Figure 4: PL3 on both scales": figure_4(job),
        "Figure D1: base shapes": figure_d1(),
        **{
            f"Figure E{k}: reliability diagrams, {shape}, {n:,} rows": diagrams(shape, n, job.seed)
            for k, shape in enumerate(SHAPES if not job.quick else ["square"], 2)
        },
        "Figure E7: a beta map on both scales": figure_e7(),
    }
    real = "the ResNet-110's own logits" if job.has("kull_resnet110_c10_val.npz") else "simulated scores"
    page.text = (
        "The data of Figures 1 and 2 are 3000 rows of the undiluted shape beta2, those of E2 to E6 10 000 rows at level 0.10, drawn as the "
        f"paper draws them; which seed the paper shows is not said, so the numbers beside Figure 2 are of another draw. Figure 4: {real}."
    )
    return page
