"""Write the pages of docs/ that are made from the code: what each estimator says about itself, and how presets differ.

Run: python tools/make_docs.py    (tests/test_docs.py holds the pages equal to what this writes)
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.estimate.compat import PRESETS
from calibrant.methods import Method, methods
from calibrant.results.schema import json_schema, meanings
from calibrant.verbs.trust import TRIED

DOCS = Path(__file__).parent.parent / "docs"


def table(columns: tuple[str, ...], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def facts(each: Method) -> list[str]:
    """One row about an estimator or a test."""
    return [
        f"`{each.function.__name__}`", each.name, ", ".join(each.also_called), each.quantity, ", ".join(each.views),
        each.note("Bias"), each.state or "rows", each.note("Cost"), each.note("Source"),
    ]  # fmt: skip


FACTS = ("function", "name", "also called", "what it estimates", "views", "bias at small n", "state", "cost", "source")


def estimators() -> str:
    """The table of estimators, from the register."""
    lines = [
        "# Estimators",
        "",
        "What each calibration error estimates, how it errs, and what it costs. Made from the code by `tools/make_docs.py`.",
        "`State` is what it can be computed from, part by part: states collected on parts of the data are merged, and the",
        "result is that of all rows. `rows` means that it needs the rows themselves.",
        "",
        *table(FACTS, map(facts, methods("estimator").values())),
        "",
        "What journals ask of a clinical prediction model is no error, and better values are not always smaller; `clinical` gives all",
        "of it together (`docs/clinical.md`):",
        "",
        *table(FACTS, map(facts, methods("clinical estimator").values())),
    ]
    return "\n".join([*lines, "", _choosing()])


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
  known error of `studies/results/scoreboard.md`: {ranked()}.
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
        "the code by `tools/make_docs.py`. *One-to-one*: different predictions stay different, so `compare` measures calibration alone.",
        "The last columns hold for the map fitted on the embedded example, for one event and for ten classes.",
        "`State` is what it can be fitted from, part by part; `rows` means that it needs the rows themselves.",
        "",
    ]
    rows = []
    for each in methods("map").values():
        fitted = [each.function().fit(data) for data in (event, valid)]
        kept = [
            " / ".join("yes" if getattr(m, fact) else "no" for m in fitted)
            for fact in ("injective", "keeps_ranking", "keeps_accuracy")
        ]
        rows.append([f"`{each.name}`", f"`{each.function.__name__}`", each.summary, each.state or "rows", *kept])
    columns = ("name", "recipe", "what it does", "state", "one-to-one", "keeps the ranking", "keeps the top class")
    return "\n".join([*lines, *table(columns, rows), "", _which_map()])


def _which_map() -> str:
    return """For one event "ranking" is that of the rows, for several classes that of the classes in a row.

## Which one?

- **Not sure:** `recalibrate(valid)`, which is `"auto"`. It tries what suits the data, `identity` included, on held-out rows, and averages
  the maps by how well they do there; `Auto(prefer="simple")` keeps one. `map.fit.choice` shows the candidates, their weights and the reason.
- **A neural network, any number of classes:** `temperature`. One number; accuracy and ranking stay.
- **Some hundred rows per class:** `bent` or `structured_matrix`; `structured_vector` for more than about a hundred classes.
- **One event:** `platt` or `beta`; from some thousand rows `piecewise_linear`, `isotonic` or `venn_abers`, which also gives an interval per row.
- **The ranking must stay, and one temperature is not enough:** `order_preserving`.
- **A guarantee for every bin:** `histogram`; `map.certificate()` bounds the error of any bin.
- **Any map of one event for several classes:** `OneVsRest(recipe)`, or `TopLabel(recipe)`, which keeps the top class.
- **Several labels of a row may be true:** any recipe of one event, fitted on `Predictions.from_multilabel`: a map per label, divided by no sum.
- **The classes are rarer or more frequent where the model is used:** `map.at_prevalence(new)`, or `at_prevalence(unlabelled=probs)`, which
  estimates the prevalences from predictions without labels and gives their intervals.
- **`audit` finds segments that are wrong:** `recalibrate(valid, segments=…)`. With one value per row each segment has a map of its own
  (`Segmented`), averaged with the map of all rows by its evidence; with a dict of masks that may overlap, predictions are shifted where a segment is
  seen to be wrong (`Multicalibration`). New rows come with their segments: `map.apply(probs, segments=…)`. See `docs/audit.md`.
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

How often the interval of `compare` holds the truth, and how far differences of plain ECEs are off: `studies/results/improvement.md`. Scores of
forecasts of a number are in `regression.md`.

## As losses in PyTorch

`calibrant.adapt.losses` (extra `torch`) has the Brier, log and Dawid–Sebastiani scores, MMCE, SKCE and the canonical error as
functions, truth first, `brier_loss(labels, logits=z)`, and as modules, torch's way, `BrierLoss()(z, labels)`. In float64 they are
the numbers of the estimators. Scores can be trained on alone. Calibration errors cannot, as a network that predicts the same for every row
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


POWER = Path(__file__).parent.parent / "studies" / "results" / "power.json"
POWER_MARKS = ("<!-- power: made by tools/make_docs.py -->", "<!-- end of power -->")
OURS, FORMER, WARNED = "is_calibrated", "eight other statistics, as jointly ranked", " | warned"


def testing() -> str:
    """The page on tests, with what the study of power found between its marks."""
    kept = json.loads(POWER.read_text(encoding="utf-8"))
    sizes = kept["sizes"].values()
    total = sum(cell["sets"] for cell in sizes)
    five, one = (sum(cell["hits"][OURS][level] for cell in sizes) for level in (0, 1))
    lines = [
        f"On {len(kept['sizes'])} kinds of calibrated models, {total:,} data sets of 30, 200 and 2000 rows, `is_calibrated` rejects {100 * five / total:.2f} % "
        f"at the 5 % level and {100 * one / total:.2f} % at the 1 % level (`studies/power.py`; other tests: `studies/results/false_alarms.md`).",
        *_formulas_found(kept["formulas"]),
        "Power at 5 %, in per cent, on worlds that took no part in choosing the statistics; the best test is the best of "
        f"{len(next(iter(kept['events'].values()))['hits']) - 2} for one event, of {len(next(iter(kept['classes'].values()))['hits']) - 1} for all "
        "classes (all of them: `studies/results/power.md`).",
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
    before, rest = (DOCS / "testing.md").read_text(encoding="utf-8").split(POWER_MARKS[0])
    return before + "\n\n".join([POWER_MARKS[0], *made, POWER_MARKS[1]]) + rest.split(POWER_MARKS[1])[1]


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


def schema() -> str:
    """The JSON Schema, one line per kind of record."""
    found = json_schema()
    kinds = found.pop("$defs")
    outer, lines = json.dumps(found, indent=1, ensure_ascii=False), [
        f"  {json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in kinds.items()
    ]  # fmt: skip
    return outer.removesuffix("\n}") + ',\n "$defs": {\n' + ",\n".join(lines) + "\n }\n}\n"


class _Unconstrained(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        constrained = isinstance(node.value, ast.Name) and node.value.id == "Annotated"
        return self.visit(node.slice.elts[0]) if constrained else self.generic_visit(node)


def without_constraints(annotation: str) -> str:
    """`Annotated[int, Within(0)]` as `int`."""
    if "Annotated" not in annotation:
        return annotation
    return ast.unparse(_Unconstrained().visit(ast.parse(annotation, mode="eval")))


def fields_of_answers() -> str:
    """What every answer holds, field by field."""
    answers = {name: getattr(cal.results, name) for name in json_schema()["$defs"] if name[0].isupper()}
    lines = [_about_json()]
    for name, record in answers.items():
        if issubclass(record, cal.results.Answer):
            about = (record.__doc__ or "").strip().split("\n")[0]
            kinds, texts = {f.name: without_constraints(str(f.type)) for f in fields(record)}, meanings(record)
            rows = ([f"`{field}`", f"`{kinds[field]}`".replace("|", "\\|"), texts[field]] for field in kinds)
            lines += ["", f"### {name}", "", about, "", *table(("field", "type", "meaning"), rows)]
    return "\n".join([*lines, ""])


def _about_json() -> str:
    summary = cal.ece([0, 1, 1], [0.2, 0.7, 0.9]).summary()
    summary["numbers"] = {key: round(value, 4) for key, value in summary["numbers"].items()}
    example = json.dumps(summary, indent=2, ensure_ascii=False)
    return f"""# JSON

`to_json`, `save("x.json")` and `--json` write the same document, and `from_json` reads it back. This page is made from the records by
`tools/make_docs.py`; [schema.json](schema.json), or `calibrant.results.json_schema()`, is the same as a JSON Schema (draft 2020-12), maps and
worlds included.

- `schema` is the version, now {cal.results.SCHEMA}. It is raised when an older reader could misread a file; a file of another version is refused.
- `kind` is the class of the record, also of each record inside.
- `summary`, of answers only, comes first: the question, the answer in words, the verdict (`calibrated` or `verdict`, where there is one), the
  main numbers under the keys of `to_dict()`, and the warnings. It is derived from the other fields and ignored when the file is read.
- `input`, of the command line only, is the file and the columns that were read; it is ignored as well.
- All other members are the fields of the record, listed below. Arrays are lists; infinity and NaN, which JSON lacks, are
  `{{"kind": "float", "value": "inf"}}`.

`measure --json` writes a list of such documents, and a report (`--report x.json`) one object with `schema` and, in its other members, the records,
each with its summary.

The summary of `ece([0, 1, 1], [0.2, 0.7, 0.9])`:

```json
{example}
```

## Answers"""


def command_line() -> str:
    """The page of the command line, with its tables of commands and exit codes made anew."""
    from calibrant.cli import main
    from calibrant.cli.group import EXIT_CODES

    page = (DOCS / "command_line.md").read_text(encoding="utf-8")
    commands = [(f"`{name}`", each.short_help) for name, each in main.commands.items()]
    for mark, made in {
        "commands": table(("command", "what it does"), commands),
        "exit codes": table(("code", "meaning"), list(EXIT_CODES.items())),
    }.items():
        start, end = f"<!-- {mark}: made by tools/make_docs.py -->", f"<!-- end of {mark} -->"
        before, rest = page.split(start)
        page = before + "\n\n".join([start, "\n".join(made), end]) + rest.split(end)[1]
    return page


PAGES = {
    "command_line.md": command_line,
    "json.md": fields_of_answers,
    "schema.json": schema,
    "estimators.md": estimators,
    "differences.md": differences,
    "maps.md": maps,
    "fitting.md": fitting,
    "scores.md": scores,
    "testing.md": testing,
}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        print(name)
    README.write_text(readme(), encoding="utf-8")
