"""Draw every kind of picture from the embedded data and from worlds: `python tools/make_gallery.py FOLDER`.

One file per picture, named in `PICTURES`, and `index.md`, which shows them all.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant import plot, simulate
from calibrant.plot.axes import offscreen

THEMES = ("light", "dark", "grey")
"""Grey is for pictures of pixels."""


@cache
def example() -> tuple[cal.Predictions, cal.Predictions]:
    """Digits: rows to repair with, and rows to judge."""
    return cal.example()


@cache
def rows() -> cal.Predictions:
    """Predictions of one event that are too extreme, half of them of a group in which they are worse."""
    rng = np.random.default_rng(1)
    odds = rng.normal(-0.4, 1.3, 2500)
    team = rng.choice(["north", "south", "east", "west"], 2500)
    truth = odds - 0.9 * (team == "south")
    return cal.Predictions(rng.random(2500) < 1 / (1 + np.exp(-truth)), 1 / (1 + np.exp(-1.6 * odds)), groups=team)


@cache
def digits() -> Any:
    """The diagnosis of the example."""
    return cal.diagnose(example()[1], name="digits")


@cache
def repaired() -> Any:
    """And that of its repair."""
    valid, test = example()
    return cal.diagnose(cal.recalibrate(valid, "temperature").apply(test), name="digits")


@cache
def gaussians() -> Any:
    """Forecasts of a number, too narrow."""
    rng = np.random.default_rng(2)
    spread = rng.uniform(0.5, 2.0, 800)
    return cal.diagnose(
        cal.Predictions.from_gaussian(rng.normal(0.1, 1.3 * spread), np.zeros(800), spread), name="wind"
    )


@cache
def monitor() -> cal.Monitor:
    """A stream that changes after two thirds."""
    rng, watch = np.random.default_rng(0), cal.Monitor()
    for day in range(30):
        p = rng.random(100)
        watch.update(rng.random(100) < (p if day < 20 else p**2), p, mark=f"day {day}")
    return watch


@cache
def answers() -> Any:
    """Answers of a language model that is sure of too much."""
    rng = np.random.default_rng(4)
    stated = rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0], 500, p=[0.05, 0.05, 0.1, 0.2, 0.3, 0.2, 0.1])
    return cal.assess_answers(rng.random(500) < 0.35 + 0.5 * stated, stated, name="assistant")


@cache
def models() -> Any:
    """Answers of three language models to the same questions."""
    rng = np.random.default_rng(5)
    stated = {name: np.round(rng.beta(a, 1.5, 300), 1) for name, a in (("small", 2), ("large", 4), ("tuned", 6))}
    right = [rng.random(300) < np.clip(each - 0.15, 0, 1) for each in stated.values()]
    return cal.compare_answers(np.concatenate(right), np.concatenate([*stated.values()]), np.repeat([*stated], 300))


@cache
def auto() -> Any:
    """Candidates of the automatic choice."""
    return cal.recalibrate(cal.Predictions(rows().labels, rows().probs), "auto").fit.choice


class Risk:
    """A logistic regression, by Newton's method."""

    def fit(self, features: Any, labels: Any) -> Risk:
        """The weights with the largest likelihood, nearly."""
        x, self.weights = np.column_stack([np.ones(len(features)), features]), np.zeros(features.shape[1] + 1)
        for _ in range(8):
            p = self.predict_proba(features)[:, 1]
            curvature = x.T @ (x * (p * (1 - p))[:, None]) + 1e-6 * np.eye(len(self.weights))
            self.weights = self.weights + np.linalg.solve(curvature, x.T @ (labels - p))
        return self

    def predict_proba(self, features: Any) -> Any:
        """Both classes."""
        p = 1 / (1 + np.exp(-self.weights[0] - features @ self.weights[1:]))
        return np.column_stack([1 - p, p])


@cache
def developed() -> Any:
    """A model of ten variables, judged on the 200 rows it was fitted to."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(200, 10))
    sick = rng.random(200) < 1 / (1 + np.exp(1 - x[:, 0] - 0.5 * x[:, 1]))
    return cal.optimism(Risk(), x, sick, n_draws=50, name="risk score")


PICTURES: dict[str, tuple[str, Callable[[], Any]]] = {
    "reliability": ("Reliability diagram of a diagnosis", lambda: digits().plot()),
    "reliability_bands": ("With the band of a calibrated model", lambda: digits().plot(band="consistency")),
    "reliability_logit": ("On the logit scale", lambda: digits().plot(scale="logit")),
    "reliability_width": ("Bars of equal width", lambda: cal.ece(rows()).plot(style="bars")),
    "reliability_mass": ("Bars of equal mass", lambda: cal.binned_error(rows(), bins=10).plot(style="bars")),
    "reliability_gaps": ("Gaps between mean prediction and frequency", lambda: cal.ece(rows()).plot(style="gaps")),
    "reliability_tilted": ("Tilted roofs: what binned ECE measures", lambda: cal.ece(rows()).plot(style="tilted")),
    "reliability_piecewise": (
        "A piecewise-linear curve and its knots",
        lambda: cal.fitted_error(rows(), method=cal.maps.PiecewiseLinear(n_pieces=4)).plot(),
    ),
    "reliability_smooth": ("A smooth curve, its band and the density", lambda: cal.posterior_error(rows()).plot()),
    "reliability_density": ("Kernel estimate of the rate", lambda: cal.density_error(rows()).plot()),
    "corp": (
        "CORP: isotonic curve and the parts of the score",
        lambda: cal.fitted_error(rows(), method="isotonic").plot(
            decomposition=cal.decompose(rows()), band=cal.consistency_band(rows())
        ),
    ),
    "before_after": ("Before and after a repair", lambda: plot.reliability({"before": digits(), "after": repaired()})),
    "class_grid": (
        "Class by class",
        lambda: plot.grid({f"digit {k}": cal.ece(example()[1], view=f"class {k}") for k in range(4)}, columns=2),
    ),
    "class_bars": ("Errors of the classes", lambda: cal.static_error(example()[1]).plot()),
    "class_findings": ("The classes that are most clearly wrong", lambda: plot.classes(digits())),
    "cumulative": ("Cumulative difference", lambda: cal.ks_error(rows()).plot()),
    "where": ("Where the model is wrong", lambda: cal.where(rows(), n_draws=199).plot()),
    "audit": ("For whom the model is wrong", lambda: cal.audit(rows(), groups=rows().groups, n_draws=199).plot()),
    "compare": (
        "What a repair changed",
        lambda: cal.compare(example()[1], cal.recalibrate(example()[0], "temperature")).plot(),
    ),
    "candidates": (
        "Several repairs",
        lambda: cal.compare(
            example()[1],
            {name: cal.recalibrate(example()[0], name) for name in ("temperature", "vector", "dirichlet")},
        ).plot(),
    ),
    "auto": ("Candidates of `auto`", lambda: auto().plot()),
    "decomposition": ("Where the score comes from", lambda: cal.decompose(rows()).plot()),
    "map": ("Maps", lambda: plot.curves({"beta": cal.Beta().fit(rows()), "isotonic": cal.Isotonic().fit(rows())})),
    "world": ("A world's true curve", lambda: simulate.power_world(0.05).plot()),
    "pit": ("PIT histogram of forecasts", lambda: gaussians().plot(panel="pit")),
    "coverage": ("Coverage by level", lambda: gaussians().plot(panel="coverage")),
    "spread": ("Spread and skill", lambda: gaussians().plot(panel="spread")),
    "marginal": ("Marginal distribution", lambda: gaussians().plot(panel="marginal")),
    "clinical": ("A clinical prediction model", lambda: cal.clinical(rows(), name="risk score").plot()),
    "optimism": ("A model on the rows it was fitted to", lambda: developed().plot()),
    "regret": ("Cost of miscalibration per threshold", lambda: cal.decision_regret(rows(), method="platt").plot()),
    "net_benefit": (
        "Net benefit",
        lambda: cal.decision_regret(rows(), method="platt").plot(show="net benefit"),
    ),
    "answers": ("Confidences of a language model", lambda: answers().plot()),
    "models": ("Several language models", lambda: models().plot()),
    "risk_coverage": ("Withholding uncertain answers", lambda: answers().plot(show="risk")),
    "monitor": ("Evidence over time", lambda: monitor().plot()),
    "plan": ("How many rows", lambda: cal.plan(error=0.03, mean_variance=0.12, statistic="binned").plot()),
    "validation": ("Rows for an external validation", lambda: cal.plan_validation(0.1, 0.8, threshold=0.2).plot()),
    "trust": (
        "Which estimator can be trusted",
        lambda: cal.trust(rows().rows(slice(0, 500)), n_data_sets=20, workers=1).plot(),
    ),
    "bias": (
        "Bias of estimators",
        lambda: plot.bias_curves(
            simulate.bias(["ece", "sweep"], simulate.power_world(0.05), [100, 400, 1600], n_data_sets=40)
        ),
    ),
    "bias_grid": (
        "Bias over rows and bins",
        lambda: simulate.bias_grid(simulate.power_world(0.05), [100, 400, 1600], [5, 15, 50], n_data_sets=40).plot(),
    ),
    "miss_rates": (
        "Missed errors",
        lambda: plot.miss_rates(
            simulate.detection(["ece", "sweep"], simulate.power_world(0.05), [50, 200, 800], n_data_sets=60)
        ),
    ),
}
"""By the name of its file: a title, and what draws it."""


def drawn(name: str, theme: str, width: float, path: Path) -> None:
    """Draw a picture into a file.

    Parameters
    ----------
    name
        Of the picture.
    theme
        The background, or shades of grey alone.
    width
        Inches, at most.
    path
        The file; its ending is the format.
    """
    with plt.style.context("dark_background" if theme == "dark" else "default"), offscreen(width):
        figure = np.ravel(PICTURES[name][1]())[0].figure
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
    if theme == "grey":
        from PIL import Image

        Image.open(path).convert("L").save(path)


def main() -> None:
    """Write the pictures and their index."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    parser.add_argument("--theme", choices=THEMES, default="light")
    parser.add_argument("--width", type=float, default=math.inf, help="inches, at most")
    parser.add_argument("--only", nargs="*", default=list(PICTURES), metavar="NAME")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Gallery", ""]
    for name in given.only:
        path = given.folder / f"{name}.{given.format}"
        drawn(name, given.theme, given.width, path)
        lines += [f"## {PICTURES[name][0]}", "", f"![{PICTURES[name][0]}]({path.name})", ""]
    (given.folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
