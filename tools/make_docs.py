"""Write the pages of docs/ that are made from the code: what each estimator says about itself, and how presets differ.

Run: python tools/make_docs.py    (tests/test_docs.py holds the pages equal to what this writes)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant.estimate import ESTIMATORS
from calibrant.estimate.compat import PRESETS
from calibrant.maps import METHODS
from calibrant.score import SCORES

DOCS = Path(__file__).parent.parent / "docs"


def estimators() -> str:
    """The table of estimators, from each one's ABOUT."""
    lines = [
        "# Estimators",
        "",
        "What each calibration error estimates, how it errs, and what it costs. Made from the code by `tools/make_docs.py`.",
        "`Merges` says whether parts of the data can be summed up apart and put together.",
        "",
        "| function | known as | what it estimates | views | bias at small n | merges | cost | source |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for about in ESTIMATORS.values():
        cells = [
            f"`{about.function.__name__}`",
            ", ".join(about.also_called),
            about.quantity,
            ", ".join(about.views),
            about.bias,
            "yes" if about.mergeable else f"no: needs {about.needs}",
            about.cost,
            about.source,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", _choosing()])


def _choosing() -> str:
    return """## Which one?

- **To report a number others know:** `ece`, beside its noise floor. It is biased upwards: compare `value` with `noise_floor`.
- **To know the size of the error:** `binned_error(norm=2, debiased=True)`, or `sweep_error` for small n.
- **No bins to argue about:** `smooth_error`, or `ks_error`, which also shows where errors pile up (`parts["curve"]`).
- **Many classes:** `classwise_error` and its table of classes; `thresholded_error` leaves out the many probabilities near 0.
- **The whole distribution:** `skce`, whose unbiased form is 0 on average for a calibrated model; `root_brier` as an upper bound.
- **Did a repair help?** None of these: use `compare`, a paired difference in a proper score.
"""


def differences() -> str:
    """The same data under every preset."""
    _, test = cal.example()
    events = list(test.class_events())
    happened, said = (np.concatenate([getattr(e, name) for e in events]) for name in ("outcomes", "probs"))
    rounded = cal.Predictions(happened, said.astype(np.float64).round(1))
    lines = [
        "# Why does my number differ?",
        "",
        "ECE has many conventions. `ece(..., compat=NAME)` reproduces what a package prints, edge for edge. Below, the embedded",
        "example as it is (top class), and the probabilities of all its classes rounded to one decimal, as people give them.",
        "Made by `tools/make_docs.py`.",
        "",
        "| convention | differs from `EqualWidth` by | example, 15 bins | rounded, 10 bins |",
        "|---|---|---|---|",
        f"| calibrant | – | {cal.ece(test).value:.5f} | {cal.ece(rounded, n_bins=10).value:.5f} |",
    ]
    for name, preset in PRESETS.items():
        values = [f"{cal.ece(data, n_bins=n, compat=name).value:.5f}" for data, n in ((test, 15), (rounded, 10))]
        lines.append(f"| `compat={name!r}` | {preset.differs} | {values[0]} | {values[1]} |")
    lines += [
        "",
        "Other causes of different numbers:",
        "",
        "- **View.** `top` asks whether the top class is right, `binary` whether the event happens, `classwise` all classes at once.",
        "- **Bins.** `EqualMass` cuts where the rows are, `EqualWidth` at i/15. Equal predictions are never split here.",
        "- **Norm and root.** Norm 2 is a root mean square; `root=False` gives the square.",
        "- **Debiasing** subtracts what noise adds; plain ECE of a perfect model is not 0.",
        "- **Class average.** `mean` over classes or `sum`; they differ by the number of classes.",
        "- **Precision.** 0.2 stored as float32 is 0.200000003 and lies above the edge 1/5.",
        "",
    ]
    return "\n".join(lines)


def maps() -> str:
    """The table of maps, with what each keeps on the embedded example."""
    valid, _ = cal.example()
    event = cal.Predictions(valid.labels == 3, valid.probs[:, 3].astype(np.float64))
    lines = [
        "# Maps",
        "",
        "Every map can be fitted by `recalibrate(predictions, NAME)` or by its recipe, applied, saved as JSON and read back. Made from",
        "the code by `tools/make_docs.py`. *One-to-one*: different predictions stay different, so `compare` measures calibration alone.",
        "The last columns are what the map fitted on the embedded example says of itself, for one event and for ten classes.",
        "",
        "| name | recipe | what it does | one-to-one | keeps the ranking | keeps the top class |",
        "|---|---|---|---|---|---|",
    ]
    for name, recipe in METHODS.items():
        fitted = [recipe().fit(data) for data in (event, valid)]
        kept = [
            " / ".join("yes" if getattr(m, fact) else "no" for m in fitted)
            for fact in ("injective", "keeps_ranking", "keeps_accuracy")
        ]
        about = (recipe.__doc__ or "").strip().splitlines()[0]
        lines.append("| " + " | ".join([f"`{name}`", f"`{recipe.__name__}`", about, *kept]) + " |")
    return "\n".join([*lines, "", _which_map()])


def _which_map() -> str:
    return """For one event "ranking" is that of the rows, for several classes that of the classes in a row.

## Which one?

- **Not sure:** `recalibrate(valid, "auto")`. It tries what suits the amount of data, `identity` included, on held-out rows, and keeps the
  simplest map within one standard error of the best. `map.fit.choice` shows the candidates and the reason.
- **A neural network, any number of classes:** `temperature`. One number; accuracy and ranking stay.
- **Some hundred rows a class:** `structured_matrix`, or `structured_vector` for more than about a hundred classes.
- **One event:** `platt` or `beta`; from some thousand rows `piecewise_linear`, `isotonic` or `venn_abers`, which also gives an interval a row.
- **The ranking must stay, and one temperature is not enough:** `order_preserving`.
- **A guarantee for every bin:** `histogram`; `map.certificate()` says how far off any bin can be.
- **Any map of one event for several classes:** `OneVsRest(recipe)`, or `TopLabel(recipe)`, which keeps the top class.
- **Forecasts of a number:** `VariancePlatt`, `StdScaling`, `QuantileRecalibration`.

A probability of exactly 0 that then happens costs an infinite log score. So no map answers 0; `identity` and `bounded=False` are the
exceptions. Maps that need the logarithm of a 0 in the data of their fit read it as the rounding unit of its precision, in the fit and
after it, and say so in `map.fit.cautions`; temperature scaling does so only where what was given 0 happened.
"""


def scores() -> str:
    """The table of proper scores, and what can be asked of any of them."""
    lines = [
        "# Proper scores",
        "",
        "A proper score is best, on average, for a model that says what it believes. All are losses: lower is better. Made from the code",
        "by `tools/make_docs.py`.",
        "",
        "| name | class | what it is | smallest entropy |",
        "|---|---|---|---|",
    ]
    for name, score in SCORES.items():
        about = (type(score).__doc__ or "").strip().splitlines()[0]
        lines.append(f"| `{name}` | `{type(score).__name__}` | {about} | {score.infimum:g} |")
    return "\n".join([*lines, "", _asking()])


def _asking() -> str:
    return """## What can be asked of any score

- `compare(before, after, score=…)`: did it help, and by how much? A paired difference with its interval; several candidates at once as a
  dict, with family-wise verdicts; `cluster=True` where rows come in groups; `margin=` to ask whether a change is too small to matter.
- `decompose(predictions, score=…, by="isotonic")`: score = miscalibration − discrimination + uncertainty, through isotonic regression
  (CORP, never negative for one event), bins or any map, in-sample or cross-fitted. The parts add up exactly.
- `upper_bound(predictions, score=…)`: no calibration error tied to the score exceeds this. Its root for Brier is `root_brier`.
- A score of your own is one small class with `expected(probs, truth)`; see `Score`.

How often the interval of `compare` holds the truth, and how far differences of plain ECEs are off: `studies/results/improvement.md`. Scores of
forecasts of a number are in `regression.md`.

## As losses in PyTorch

`calibrant.adapt.losses` (extra `torch`) has the Brier, log and Dawid–Sebastiani scores, MMCE, SKCE and the canonical error as
functions, truth first, `brier_loss(labels, logits=z)`, and as modules, torch's way, `BrierLoss()(z, labels)`. In float64 they are
the numbers of the estimators. Scores can be trained on alone. Calibration errors cannot, as a network that says the same of every row
may be calibrated: add them to a score, `LogLoss()(z, y) + 0.5 * MMCELoss()(z, y)`. They look at all pairs of rows of a batch.
"""


STUDY = Path(__file__).parent.parent / "studies" / "results" / "piecewise.md"


def fitting() -> str:
    """Measuring by fitting: the text of the page, with the tables as the study wrote them."""
    before = (DOCS / "fitting.md").read_text(encoding="utf-8").split("\n## ")[0]
    text = STUDY.read_text(encoding="utf-8")
    sections = ["## " + part.strip() for part in text.split("\n## ")[1:]]
    kept = [
        part for part in sections if "the paper's seeds" in part.splitlines()[0] or "n = 10,000" in part.splitlines()[0]
    ]
    return "\n\n".join([before.strip(), *kept]) + "\n"


SCOREBOARD = Path(__file__).parent.parent / "studies" / "results" / "scoreboard.md"
README = Path(__file__).parent.parent / "README.md"
MARKS = ("<!-- scoreboard: made by tools/make_docs.py -->", "<!-- end of scoreboard -->")


def readme() -> str:
    """The readme with the summary of the scoreboard as the study wrote it."""
    text = SCOREBOARD.read_text(encoding="utf-8").split("## Norm 1")[1].split("## Norm 2")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    kept = [rows[0].index(name) for name in ("estimator", "n = 100", "n = 1,000", "n = 10,000", "mean abs. bias")]
    lines = ["| " + " | ".join(row[k] for k in kept) + " |" for row in rows]
    table = "\n".join([lines[0], "|" + "---|" * len(kept), *lines[1:]])
    before, rest = README.read_text(encoding="utf-8").split(MARKS[0])
    return before + MARKS[0] + "\n\n" + table + "\n\n" + MARKS[1] + rest.split(MARKS[1])[1]


PAGES = {
    "estimators.md": estimators,
    "differences.md": differences,
    "maps.md": maps,
    "fitting.md": fitting,
    "scores.md": scores,
}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        print(name)
    README.write_text(readme(), encoding="utf-8")
