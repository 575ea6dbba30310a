"""Write the pages and drawings of docs/ that are made from the code and from recorded studies.

Run: python tools/make_docs.py                  (tests/test_docs.py holds the pages equal to what this writes)
     python tools/make_docs.py --site FOLDER    (the folder that `make docs` builds the site from, API reference included)
"""

from __future__ import annotations

import argparse
import json
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.estimate.compat import PRESETS
from calibrant.methods import Method, methods
from calibrant.verbs.trust import TRIED
from docs_figures import FIGURES, rows_of
from docs_json import fields_of_answers, schema
from docs_links import faq
from docs_tables import filled, table

DOCS = Path(__file__).parent.parent / "docs"


WHAT = ("function", "what it estimates", "bias at small n")
HOW = ("function", "name", "views", "state", "cost")


def what(each: Method) -> list[str]:
    """One row about an estimator: what it is."""
    called = f"*{', '.join(each.also_called)}:* " if each.also_called else ""
    return [f"`{each.function.__name__}`", called + each.quantity, each.note("Bias")]


def how(each: Method) -> list[str]:
    """One row about an estimator: what it takes."""
    return [f"`{each.function.__name__}`", each.name, ", ".join(each.views), each.state or "rows", each.note("Cost")]


def estimators() -> str:
    """The tables of estimators, from the register."""
    errors, medical = methods("estimator").values(), methods("clinical estimator").values()
    lines = [
        "# Estimators",
        "",
        "What each calibration error estimates, how it errs, and what it costs. Made from the code by `tools/make_docs.py`;",
        "options and sources are in the API reference. Which one to report: [which number?](which_number.md)",
        "",
        *table(WHAT, map(what, errors)),
        "",
        "What journals ask of a clinical prediction model is no error, and better values are not always smaller; `clinical` gives all",
        "of it together ([clinical prediction models](clinical.md)):",
        "",
        *table(WHAT, map(what, medical)),
        "",
        _choosing(),
        "## Views, states and cost",
        "",
        "`State` is what an estimator can be computed from, part by part: states collected on parts of the data are merged, and the",
        "result is that of all rows ([states](states.md)). `rows` means that it needs the rows themselves. The name is that of the command line.",
        "",
        *table(HOW, map(how, [*errors, *medical])),
    ]
    return "\n".join([*lines, ""])


SCOREBOARD = Path(__file__).parent.parent / "studies" / "results" / "scoreboard.md"


def ranked() -> str:
    """The estimators of E|c(p) − p|, best first, each with its RMSE relative to the best, from the scoreboard."""
    made_by = {name.format("ECE"): getattr(one, "func", one).__name__ for name, one in TRIED.items()}
    rows = [line.strip("| ").split(" | ") for line in SCOREBOARD.read_text().split("## Norm 2")[0].splitlines()]
    found = sorted((float(cells[9]), cells[0]) for cells in rows if cells[0] in made_by)
    return ", ".join(f"{name} (`{made_by[name]}`) {ratio:.2f}" for ratio, name in found)


def _choosing() -> str:
    return f"""## Which one?

- **To know the size of the error:** one of the first of these. RMSE relative to the best estimator of each world and size, on the worlds with a
  known error of the [scoreboard](../studies/results/scoreboard.md): {ranked()}.
- **To report a number others know:** `ece`, beside its noise floor. It is biased upwards: compare `value` with `noise_floor`.
- **Where do errors accumulate?** `ks_error` and its `parts["curve"]`.
- **Many classes:** `classwise_error` and its table of classes; `thresholded_error` leaves out the many probabilities near 0.
- **All classes at once (canonical calibration):** `skce`, whose unbiased form is 0 on average for a calibrated model; `root_brier` as an upper bound.
- **Did recalibration help?** None of these: use `compare`, a paired difference in a proper score.
"""


def differences() -> str:
    """The same data under every preset."""
    _, test = cal.example()
    events = list(test.class_events())
    outcomes, probs = (np.concatenate([getattr(e, name) for e in events]) for name in ("outcomes", "probs"))
    rounded = cal.Predictions(outcomes, probs.astype(np.float64).round(1))
    lines = [
        "# Why does my number differ?",
        "",
        "ECE has many conventions. `ece(..., compat=NAME)` reproduces what a package prints, edge for edge. Below, the embedded",
        "example as it is (top class), and the probabilities of all its classes rounded to one decimal, as people give them.",
        "Made by `tools/make_docs.py`.",
        "",
        "| convention | differs from `EqualWidth` by | example, 15 bins | rounded, 10 bins |",
        "|---|---|---|---|",
        f"| calibrant | – | {cal.ece(test).value:.5f} | {cal.ece(rounded, bins=10).value:.5f} |",
    ]
    for name, preset in PRESETS.items():
        values = [f"{cal.ece(data, bins=n, compat=name).value:.5f}" for data, n in ((test, 15), (rounded, 10))]
        lines.append(f"| `compat={name!r}` | {preset.differs} | {values[0]} | {values[1]} |")
    lines += [
        "",
        "Other causes of different numbers:",
        "",
        "- **View.** `top` asks whether the top class is right, `binary` whether the event occurs, `classwise` all classes, one against the rest.",
        "- **Bins.** `EqualMass` cuts where the rows are, `EqualWidth` at i/15. Equal predictions are never split here, and",
        "  the order of rows does not matter. `EqualMass(ties=…)` and `sweep_error(ties=…)` split them as other code does:",
        '  `"split"` at floor(i·n/m) (Nixon et al.), `"caltrain"` as the code of Roelofs et al., `"array_split"` as that of',
        f"  Kängsepp et al. The sweep of the rounded probabilities: {_sweeps(rounded)}.",
        "- **Norm and root.** Norm 2 is a root mean square; `root=False` gives the square.",
        "- **Debiasing** subtracts what noise adds; plain ECE of a perfect model is not 0.",
        "- **Class average.** `mean` over classes or `sum`; they differ by the number of classes.",
        "- **Precision.** 0.2 stored as float32 is 0.200000003 and lies above the edge 1/5.",
        "",
        *_kernel_densities(test),
    ]
    return "\n".join(lines)


def _sweeps(rounded: cal.Predictions) -> str:
    """The sweep under every convention for ties."""
    found = {ties: cal.sweep_error(rounded, ties=ties).value for ties in ("keep", "split", "caltrain", "array_split")}
    return ", ".join(f"`{ties}` {value:.5f}" for ties, value in found.items())


def _kernel_densities(test: cal.Predictions) -> list[str]:
    """How the two forms of the KDE error differ, with figures."""
    ours = cal.density_error(test, norm=2, method="integrated").value
    theirs = cal.density_error(test, norm=2, compat="zhang").value
    return [
        "## The kernel density error, ours and that of the released code",
        "",
        "`density_error` follows the definition: with norm α the mean of |p − π̂(p)|^α has its α-th root taken, and the bandwidth",
        '1.06·σ·n^(−1/5) is half the width of the triweight kernel. `density_error(compat="zhang")` is what the code of Zhang et al.',
        "(2020) prints. It takes no root; its bandwidth σ₁·(2n)^(−1/5), with σ₁ of the rows where the event occurred, is the standard",
        "deviation of the kernel, which is then three times as wide; rows are reflected at the nearer end only; and densities are binned",
        "on 16 384 places. For norm 2 it therefore prints about the square of the error. The KDE columns of Roelofs et al. (2022) follow",
        "that code and compare it with the rooted error: so KDE seems far too low on miscalibrated models and best on calibrated ones.",
        f"On the example, norm 2: {ours:.4f} (integrated, rooted) and {theirs:.4f}, whose root is {theirs**0.5:.4f}.",
        "",
    ]


def maps() -> str:
    """The table of maps, with what each keeps on the embedded example."""
    valid, _ = cal.example()
    event = cal.Predictions(valid.labels == 3, valid.probs[:, 3].astype(np.float64))
    lines = [
        "# Maps",
        "",
        "Every map can be fitted by `recalibrate(predictions, NAME)` or by its recipe, applied, saved as JSON and read back. Made from",
        "the code by `tools/make_docs.py`.",
        "",
    ]
    rows, kept = [], []
    for each in methods("map").values():
        fitted = [each.function().fit(data) for data in (event, valid)]
        facts = [
            " / ".join("yes" if getattr(m, fact) else "no" for m in fitted)
            for fact in ("injective", "keeps_ranking", "keeps_accuracy")
        ]
        rows.append([f"`{each.name}`", f"`{each.function.__name__}`", each.summary])
        kept.append([f"`{each.name}`", each.state or "rows", *facts])
    columns = ("name", "recipe", "what it does")
    more = ("name", "state", "one-to-one", "keeps ranking", "keeps top class")
    return "\n".join([*lines, *table(columns, rows), "", _which_map(), *_what_maps_keep(), *table(more, kept), ""])


def _what_maps_keep() -> list[str]:
    return [
        "## What each map keeps",
        "",
        "For the maps fitted on the embedded example: of one event / of ten classes. *One-to-one*: different predictions stay different, so",
        '`compare` measures calibration alone. For one event "ranking" is that of the rows, for several classes that of the classes in a row.',
        "`State` is what a map can be fitted from, part by part; `rows` means that it needs the rows themselves.",
        "",
    ]


def _which_map() -> str:
    return """## Which one?

In short: [which map should I use?](which_map.md)

- **Not sure:** `recalibrate(valid)`, which is `"auto"`. It tries what suits the data, `identity` included, on held-out rows, and averages
  the maps by how well they do there, or leaves the predictions exactly as they are where these rows show no gain; `Auto(prefer="simple")`
  keeps one. `map.fit.choice` shows the candidates, their weights and the reason. `Auto(level=0.95)` changes the predictions only if the
  interval of the held-out gain says so: it harms fewer good models and forgoes small gains.
- **A neural network, any number of classes:** `temperature`. One number; accuracy and ranking stay.
- **Some hundred rows per class:** `bent` or `structured_matrix`; `structured_vector` for more than about a hundred classes.
- **One event:** `gaussian_process` or `beta`; from a thousand rows `piecewise_linear`; `venn_abers` gives an interval per row.
- **The ranking must stay, and one temperature is not enough:** `order_preserving`.
- **A guarantee for every bin:** `histogram`; `map.certificate()` bounds the error of any bin.
- **Any map of one event for several classes:** `OneVsRest(recipe)`, or `TopLabel(recipe)`, which keeps the top class.
- **Several labels of a row may be true:** any recipe of one event, fitted on `Predictions.from_multilabel`: a map per label, divided by no sum.
- **The classes are rarer or more frequent where the model is used:** `map.at_prevalence(new)`, or `at_prevalence(unlabelled=probs)`, which
  estimates the prevalences from predictions without labels and gives their intervals.
- **`audit` finds segments that are wrong:** `recalibrate(valid, segments=…)`. With one value per row each segment has a map of its own
  (`Segmented`), averaged with the map of all rows by its evidence; with a dict of masks that may overlap, predictions are shifted where a segment is
  seen to be wrong (`Multicalibration`). New rows come with their segments: `map.apply(probs, segments=…)`. See [audit](audit.md).
- **Forecasts of a number:** `VariancePlatt`, `StdScaling`, `QuantileRecalibration`.
- **As published:** Platt scaling without smoothed targets is `logistic`; matrix scaling as Guo et al. and Nixon et al. fit it, without a penalty,
  `unpenalised_matrix`; variance scaling with any real w and b `VariancePlatt("any")`.
- **To look at:** `map.plot()` draws a map of one event or of the top class, `plot.curves({"beta": …, "Platt": …})` several in one diagram, with
  `scale="logit"` on axes that reach as far as the predictions; `map.plot(ax=diagnosis.plot(scale="logit"), scale="logit")` beside the points.

Rows without an error say that a map cannot be too sure: the plain optimum is then at infinity. So `temperature`,
`ensemble_temperature`, `one_vs_rest_temperature`, `vector` and `beta` count two more rows (`penalty=2.0`), predicted like the others and with outcomes as
predicted; `platt` and `quadratic` read outcomes as Platt did; `matrix` and `dirichlet` have a `prior=` beside their penalty. This moves an
optimum by a share of 2/(n + 2) towards the predictions as they are; `penalty=None` gives the plain one, as other packages do.

A label that was given probability 0 costs an infinite log score. So no map returns 0; `identity` and `bounded=False` are the
exceptions. Maps that need the logarithm of a 0 in the data of their fit read it as the rounding unit of its precision, in the fit and
after it, with a warning in `map.fit.cautions`; temperature scaling does so only where a label was given probability 0.
"""


def scores() -> str:
    """The table of proper scores, and what can be asked of any of them."""
    lines = [
        "# Proper scores",
        "",
        "A proper score is best, on average, for a model that predicts what it believes. All are losses: lower is better. Made from the code",
        "by `tools/make_docs.py`.",
        "",
    ]
    rows = [
        [
            f"`{each.name}`",
            f"`{each.function.__name__}`",
            each.summary,
            each.state or "rows",
            f"{each.function.infimum:g}",
        ]
        for each in methods("score").values()
    ]
    columns = ("name", "class", "what it is", "state", "smallest entropy")
    return "\n".join([*lines, *table(columns, rows), "", _asking()])


def _asking() -> str:
    return """## What any score can be used for

- `compare(before, after, score=…)`: did it help, and by how much? A paired difference with its interval; several candidates at once as a
  dict, with family-wise verdicts; `cluster=True` where rows come in groups; `margin=` to ask whether a change is too small to matter.
- `decompose(predictions, score=…, method="isotonic")`: score = miscalibration − discrimination + uncertainty, through isotonic regression
  (CORP, never negative for one event), bins or any map, in-sample or cross-fitted. The parts add up exactly.
- `upper_bound(predictions, score=…)`: no calibration error tied to the score exceeds this. Its root for Brier is `root_brier`.
- A score of your own is one small class with `expected(probs, truth)`; see `Score`. Scores of several rows at a time, which see calibration
  alone (proper U-scores, Gruber & Buettner 2022, App. F): `KernelScore`, and `UScore` for pairs (`of_pairs`) or sets of `order` rows (`of_tuples`).

How often the interval of `compare` holds the truth, and how far differences of plain ECEs are off: [improvement](../studies/results/improvement.md). Scores of
forecasts of a number are in [regression](regression.md).

## As losses in PyTorch

`calibrant.adapt.losses` (extra `torch`) has the Brier, log and Dawid–Sebastiani scores, MMCE, SKCE and the canonical error as
functions, truth first, `brier_loss(labels, logits=z)`, and as modules, torch's way, `BrierLoss()(z, labels)`. In float64 they are
the numbers of the estimators. Scores can be trained on alone. Calibration errors cannot, as a network that predicts the same for every row
may be calibrated: add them to a score, `LogLoss()(z, y) + 0.5 * MMCELoss()(z, y)`. They look at all pairs of rows of a batch.
"""


README = Path(__file__).parent.parent / "README.md"


ROWS = {
    "posterior median": "`posterior_error` (in `diagnose`)",
    "sweep": "`sweep_error`",
    "ECE, equal width": "`ece`, 15 bins",
}
"""Of the scoreboard, those in the readme."""


def readme() -> str:
    """The readme with three rows of the scoreboard as the study wrote it."""
    found = {row["estimator"]: row for row in rows_of(SCOREBOARD, "## Norm 1")}
    columns = ("n = 100", "n = 1,000", "n = 10,000")
    made = table(("estimator", *columns), ([ROWS[name], *(found[name][key] for key in columns)] for name in ROWS))
    return filled(README, {"scoreboard": made})


POWER = Path(__file__).parent.parent / "studies" / "results" / "power.json"
OURS, FORMER, WARNED = "is_calibrated", "eight other statistics, as jointly ranked", " | warned"


def testing() -> str:
    """The page on tests, with what the study of power found between its marks."""
    kept = json.loads(POWER.read_text(encoding="utf-8"))
    sizes = kept["sizes"].values()
    total = sum(cell["sets"] for cell in sizes)
    five, one = (sum(cell["hits"][OURS][level] for cell in sizes) for level in (0, 1))
    lines = [
        f"On {len(kept['sizes'])} kinds of calibrated models, {total:,} data sets of 30, 200 and 2000 rows, `is_calibrated` rejects {100 * five / total:.2f} % "
        f"at the 5 % level and {100 * one / total:.2f} % at the 1 % level ([study](../studies/power.py); other tests: [false alarms](../studies/results/false_alarms.md)).",
        *_formulas_found(kept["formulas"]),
        "Power at 5 %, in per cent, on worlds that took no part in choosing the statistics; the best test is the best of "
        f"{len(next(iter(kept['events'].values()))['hits']) - 2} for one event, of {len(next(iter(kept['classes'].values()))['hits']) - 1} for all "
        "classes ([all of them](../studies/results/power.md)).",
    ]
    rows, behind = [], []
    for part, title in (("events", ""), ("classes", "all classes: ")):
        for name, cell in kept[part].items():
            hits = {test: 100 * found[0] / cell["sets"] for test, found in cell["hits"].items() if test != FORMER}
            ours = hits.pop(OURS)
            best = max(hits, key=lambda test: hits[test])
            behind.append((hits[best] - ours, title + name))
            rows.append((title + name, f"{ours:.0f}", f"{hits[best]:.0f}", best))
    most = max(behind)
    over = sum(each > 15 for each, _ in behind)
    last = f"`is_calibrated` lies {most[0]:.0f} points behind the best test at most ({most[1]}), in {over} of {len(behind)} rows more than 15."
    made = [*lines, "\n".join(table(("wrong how", "`is_calibrated`", "best test", "which"), rows)), last]
    return filled(DOCS / "testing.md", {"power": ["\n\n".join(made)]})


def _formulas_found(part: dict[str, Any]) -> list[str]:
    """The range of what formulas reject of calibrated models, where the result warns and where it does not."""
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for cell in part.values():
        for name, hits in cell["hits"].items():
            if not name.endswith(WARNED):
                warned = cell["hits"][name + WARNED][0] > cell["sets"] / 2
                found[warned].append(tuple(100 * n / cell["sets"] for n in hits))
    words = []
    for warned, text in ((True, "warns"), (False, "does not warn")):
        (low, high), (least, most) = ((min(shares), max(shares)) for shares in zip(*found[warned], strict=True))
        words.append(f"{low:.1f} to {high:.1f} % at 5 % and {least:.1f} to {most:.1f} % at 1 % where the result {text}")
    return [f"Formulas reject calibrated models in {words[0]}, and in {words[1]}."]


def of_study(study: str, heading: str, page: str, part: str) -> str:
    """A page with a table as a study found it."""
    found = rows_of(POWER.with_name(f"{study}.md"), heading)
    return filled(DOCS / page, {part: table(tuple(found[0]), (row.values() for row in found))})


def command_line() -> str:
    """The page of the command line, with its tables of commands and exit codes made anew."""
    from calibrant.cli import main
    from calibrant.cli.group import EXIT_CODES

    commands = [(f"`{name}`", each.short_help) for name, each in main.commands.items()]
    made = {
        "commands": table(("command", "what it does"), commands),
        "exit codes": table(("code", "meaning"), EXIT_CODES.items()),
    }
    return filled(DOCS / "command_line.md", made)


PAGES = {
    "command_line.md": command_line,
    "json.md": fields_of_answers,
    "schema.json": schema,
    "estimators.md": estimators,
    "differences.md": differences,
    "maps.md": maps,
    "scores.md": scores,
    "testing.md": testing,
    "regression.md": partial(
        of_study, "coverage_forecasts", "## Percent of results that warn of a long tail", "regression.md", "warnings"
    ),
    "clinical.md": partial(of_study, "coverage_clinical", "## All cells", "clinical.md", "coverage"),
    "faq.md": faq,
}


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--site", type=Path, help="write the folder that the site is built from")
    folder = given.parse_args().site
    if folder:
        from docs_site import draw_gallery, write

        project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        print(f"{write(folder, project['urls']['Source'])} pages and {draw_gallery(folder)} pictures in {folder}")
        return
    for name, make in (PAGES | FIGURES).items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        print(name)
    README.write_text(readme(), encoding="utf-8")


if __name__ == "__main__":
    main()
