"""What the page asks of an uploaded file: the public verbs, and their answers as plain data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import calibrant as cal
from calibrant.bins import EqualMass
from calibrant.files import Style
from calibrant.files.formats import open_store
from calibrant.files.guards import SETTING
from calibrant.forecasts import Forecasts
from calibrant.maps.auto import candidates_for
from calibrant.maps.folds import in_folds
from calibrant.methods import find_measure, methods
from calibrant.plot.content import bar_heights, curve_of, fitted_curve, has_bins, histogram_of
from calibrant.predictions import Predictions, StatePredictions
from calibrant.problems import CalibrantError, InputError, MissingExtra
from calibrant.report import page
from calibrant.results import Answer, Estimate, Table, estimate_table
from calibrant.verbs.origin import Origin, origin_of

COLOURS = {False: "bad", True: "fine", None: "open"}
"""Of verdicts; data that show no error are not yet good news."""
MOST_NAMES = 1000
"""Classes or columns that are offered by name."""
DRAWN_CLASSES = 8
"""Classes drawn beside each other: those that are most clearly wrong."""
SHARES = {2: "half", 3: "a third", 5: "a fifth"}
"""Parts of the rows that may be held out: one of so many folds."""
FIRST_CHOICE = ("auto", "temperature", "isotonic")
"""Maps that are compared unless others are chosen."""
MOST_MAPS = 12

Question = Mapping[str, Any]
Data = dict[str, Any]


@dataclass
class Answers:
    """Answers about files, in the process that reads them.

    Parameters
    ----------
    read
        Predictions or forecasts, and where they were found, from a path and the reader's
        options.
    worded
        The text of an error, as the command line shows it; raises what is a bug.
    max_unpacked
        Bytes that a file may unpack to, unless the environment says otherwise.
    """

    read: Callable[[Path, Data], tuple[Any, Any]]
    worded: Callable[[Exception], str]
    max_unpacked: int
    known: tuple[Any, Any] = field(default=(None, None), init=False, repr=False)
    """what was read last, and what that is"""

    def __call__(self, question: Question) -> Data:
        """The answer to a question, or the text of the error that it ends in.

        A question holds its `action`, the upload's `path`, `folder` and `name`, the reader's
        `options`, and what the action takes.
        """
        os.environ.setdefault(SETTING, str(self.max_unpacked))
        path, name, options = str(question["path"]), str(question["name"]), question.get("options") or {}
        try:
            data, source = self._data(Path(path), options)
            taken = str(source).replace(path, name)
            return {"name": name, "source": taken, **ACTIONS[question["action"]](data, {**question, "source": taken})}
        except Exception as error:
            return {"error": self.worded(error).replace(path, name), "columns": _columns(Path(path), options)}

    def _data(self, path: Path, options: Data) -> tuple[Any, Any]:
        """The predictions in a file and where they are; those read last are kept."""
        key = (path, tuple(sorted(options.items())))
        if self.known[0] != key:
            self.known = (None, None)
            self.known = (key, self.read(path, options))
        data, source = self.known[1]
        return data, source


def _columns(path: Path, options: Data) -> list[str]:
    """The names of a file's columns, to choose from, if they can be read."""
    try:
        return [str(name) for name in open_store(path, Style.taken(dict(options))).names[:MOST_NAMES]]
    except (CalibrantError, OSError):
        return []


def diagnose(data: Any, question: Question) -> Data:
    """Is it calibrated? With what can be chosen next."""
    view = str(question.get("view") or "auto")
    found: Any = cal.diagnose(data, view=_one_question(view), name=question["name"])
    shown = shown_answer(found) | {"rows": found.n}
    if isinstance(data, Forecasts):
        return shown | {"curves": []}
    asked = "class k" if view.startswith("class ") else found.view if view == "auto" else view
    bins, of_classes = histogram_of(found), view == "classwise" and found.classes is not None
    return shown | {
        "main": _table(found.classes.table()) if of_classes else shown["tables"][0],
        "curves": _class_curves(data, found) if view == "classwise" else [_curve(found, "")],
        "bars": list(zip(*(each.tolist() for each in (bins.low, bins.high, bar_heights(bins))), strict=True)),
        "classes": [] if data.is_binary else [str(each) for each in data.classes[:MOST_NAMES]],
        "estimators": [_method(each) for each in methods("estimator").values() if asked in each.views],
        "maps": _maps(data),
        "chosen": FIRST_CHOICE,
        "shares": SHARES,
    }


def _one_question(view: str) -> str:
    """The view of a diagnosis: class by class is that of all classes."""
    return "auto" if view == "classwise" else view


def report(data: Any, question: Question) -> Data:
    """The report that `calibrant diagnose --report` writes."""
    found = cal.examine(data, view=_one_question(str(question.get("view") or "auto")), name=question["name"])
    return {"files": _written(question, {"report.html": page(found, origin=_origin(data, question))})}


def _origin(data: Any, question: Question) -> Origin:
    return origin_of(data, command="calibrant serve", source=f"{question['name']}: {question['source']}")


def shown_answer(answer: Answer) -> Data:
    """Any answer as the page shows it: words, tables and notes, all of them plain text."""
    return {
        "heading": answer.heading,
        "sentence": answer.sentence(),
        "colour": COLOURS[getattr(answer, "calibrated", None)],
        "tables": [_table(each) for each in answer.tables()],
        "notes": answer.notes(),
    }


def _table(table: Table) -> Data:
    return {"title": table.title, "columns": table.columns, "rows": table.texts(), "note": table.note}


def _curve(result: Any, name: str) -> Data:
    """The points of a diagram, None where there is no number."""
    curve = fitted_curve(result) or curve_of(result)
    parts = {part: getattr(curve, part).tolist() for part in ("x", "y", "low", "high", "support")}
    return {"name": name} | {part: [v if v - v == 0 else None for v in values] for part, values in parts.items()}


def _class_curves(data: Any, found: Any) -> list[Data]:
    """A curve per class, of those that are most clearly wrong where all were tested."""
    shown = (data.classes if found.classes is None else found.classes.classes)[:DRAWN_CLASSES]
    return [_curve(cal.binned_error(data, bins=EqualMass(15), view=f"class {each}"), str(each)) for each in shown]


def _method(method: Any) -> Data:
    return {"name": method.name, "title": method.title, "summary": method.summary}


def _maps(data: Any) -> list[Data]:
    """All maps, those first that suit the data."""
    known = methods("map")
    suited = [each for each in candidates_for(data, alone=True) if isinstance(each, str)]
    auto = {"name": "auto", "summary": "An average of the maps that suit the data, by their held-out scores."}
    return [auto, *(_method(known[name]) for name in dict.fromkeys([*suited, *known]))]


def measure(data: Any, question: Question) -> Data:
    """One estimator: its number, and the curve behind it if it has one."""
    known = find_measure(str(question.get("estimator")))
    if known is None:
        raise InputError("measures", "must name an estimator", f"it is {question.get('estimator')!r}")
    found: Estimate = known.function(data, view=str(question.get("view") or "auto"))
    drawn = fitted_curve(found) is not None or has_bins(found)
    curves = [_curve(found, found.title)] if drawn else []
    return {"tables": [_table(estimate_table((found,)))], "notes": {"caution": found.cautions}, "curves": curves}


def compare(data: Any, question: Question) -> Data:
    """Maps fitted on one part of the rows and judged on the other, which no fit has seen."""
    fitting, judging = parts_of(data, question.get("parts"))
    maps, refused = _fitted(fitting, question.get("methods"))
    if not maps:
        raise InputError("methods", "must fit these rows", "; ".join(f"{name}: {why}" for name, why in refused.items()))
    found = cal.compare(judging, maps, score=str(question.get("score") or "auto"))
    best = maps[found.best]
    before, after = (cal.diagnose(each, name=question["name"]) for each in (judging, best.apply(judging)))
    text = page(before, after=after, comparison=found, fitted=best, origin=_origin(judging, question))
    given = "probs" if data.logits is None else "logits"
    repairs = [_repair(each, maps[name], name, given, question) for name, each in found.ranked().items()]
    return shown_answer(found) | {
        "refused": refused,
        "held_out": _held_out(fitting, judging),
        "best": found.best,
        "helped": bool(found.better),
        "after": after.verdict,
        "repairs": repairs,
        "files": [
            *_written(question, {"comparison.html": text}),
            *(name for each in repairs for name in each["files"]),
        ],
    }


def parts_of(data: Any, parts: Any) -> tuple[Predictions, Predictions]:
    """The rows to fit on and those to judge by, one of so many `parts`, by their content: the same each time."""
    if not isinstance(data, Predictions) or isinstance(data, StatePredictions):
        what = "a state has no rows" if isinstance(data, StatePredictions) else "these are forecasts of a real number"
        raise InputError("file", "must hold rows of probabilities, so that some can be held out", what)
    if not isinstance(parts, int) or parts not in SHARES:
        raise InputError("parts", f"must be one of {', '.join(map(str, SHARES))}", f"it is {parts!r}")
    rows, masks = in_folds(data, int(parts))
    return rows.rows(~masks[0]), rows.rows(masks[0])


def _fitted(rows: Predictions, names: Any) -> tuple[Data, dict[str, str]]:
    """The maps by name, and the reasons of those that cannot be fitted to these rows."""
    listed = [str(name) for name in names] if isinstance(names, list) else []
    if not 0 < len(listed) <= MOST_MAPS or not {"auto", *methods("map")}.issuperset(listed):
        raise InputError("methods", f"must be 1 to {MOST_MAPS} maps", f"there are {len(listed)}", "Tick some")
    maps, refused = {}, {}
    for name in dict.fromkeys(listed):
        try:
            maps[name] = cal.recalibrate(rows, name)
        except CalibrantError as error:
            refused[name] = str(error)
    return maps, refused


def _held_out(fitting: Predictions, judging: Predictions) -> str:
    """What was held out, and what that does not guard against."""
    groups = "" if judging.groups is None else " No group has rows in both parts."
    return (
        f"Fitted on {fitting.n:,} rows and judged on {judging.n:,} others, which no fit has seen; the parts are the same "
        f"each time.{groups} The intervals allow for the number of maps here, not for trying again with others. The "
        "model itself must not have been trained on any row of this file."
    )


def _repair(compared: Any, fitted: Any, name: str, given: str, question: Question) -> Data:
    """The change that a map makes, and the map in all its forms, or why a form is not there."""
    files: dict[str, str | bytes] = {f"{name}.json": fitted.to_json(), f"{name}.py": snippet(fitted, given)}
    missing = ""
    try:
        from calibrant.adapt.onnx import to_onnx

        files[f"{name}.onnx"] = to_onnx(fitted, input="probs" if given == "probs" else "logits").SerializeToString()
    except CalibrantError as error:
        missing = str(error)
    except ImportError:
        missing = str(MissingExtra("onnx", "onnx", "an ONNX model"))
    change = compared.difference
    low, high = (None, None) if change.interval is None else (change.interval.low, change.interval.high)
    written = {"files": _written(question, files), "no_onnx": missing}
    return {"name": name, "change": change.value, "low": low, "high": high, **written}


def snippet(fitted: Any, given: str) -> str:
    """A Python file that recalibrates `probs` or `logits`, whichever are given, with the map inside."""
    shape = "(n,)" if fitted.single else f"(n, {len(fitted.classes)}), one column per class"
    facts = f"{fitted.method}, fitted by calibrant {cal.__version__} on {fitted.fit.n} rows"
    return f'''"""Recalibrated probabilities: {facts}."""

from calibrant.results import Record

MAP = Record.from_json(
    {fitted.to_json(indent=None)!r}
)


def recalibrate({given}):
    """Recalibrated probabilities of {given}, {shape}."""
    return MAP.apply({given}={given})
'''


def _written(question: Question, files: Mapping[str, str | bytes]) -> list[str]:
    """Write files into the folder of the upload, each at once; their names are ours."""
    for name, content in files.items():
        path = Path(question["folder"], name)
        part = path.with_suffix(".part")
        part.write_bytes(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
        part.replace(path)
    return list(files)


ACTIONS: Mapping[str, Callable[[Any, Question], Data]] = {
    each.__name__: each for each in (diagnose, report, measure, compare)
}
"""What may be asked."""
