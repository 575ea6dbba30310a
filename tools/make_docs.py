"""Write the pages of docs/ that are made from the code: what each estimator says about itself, and how presets differ.

Run: python tools/make_docs.py    (tests/test_docs.py holds the pages equal to what this writes)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant.estimate import ESTIMATORS
from calibrant.estimate.compat import PRESETS

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


PAGES = {"estimators.md": estimators, "differences.md": differences}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        print(name)
