"""What the page asks of an uploaded file: the public verbs, and their answers as plain data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibrant.files.guards import SETTING
from calibrant.problems import CalibrantError, InputError

KINDS = {False: "bad", True: "fine", None: "open"}
"""The colour of a verdict; data that show no error are not yet good news."""
MOST_CLASSES = 1000
"""Classes that are offered by name."""
DRAWN_CLASSES = 8
"""Classes drawn beside each other: those that are most clearly wrong."""
SHARES = {2: "half", 3: "a third", 5: "a fifth"}
"""Parts of the rows that may be held out: one of so many folds."""
FIRST_CHOICE = ("auto", "temperature", "isotonic")
"""Repairs that are tried unless others are chosen."""
MOST_REPAIRS = 12


@dataclass
class Answers:
    """Answers about files, in the process that reads them.

    Parameters
    ----------
    read
        Predictions or forecasts, and where they were found, from a path and the reader's
        options.
    worded
        The text of an error, as the command line shows it.
    max_unpacked
        Bytes that a file may unpack to, unless the environment says otherwise.
    """

    read: Callable[[Path, dict[str, Any]], tuple[Any, Any]]
    worded: Callable[[Exception], str]
    max_unpacked: int
    known: tuple[Any, Any] = field(default=(None, None), init=False, repr=False)
    """what was read last, and what that is"""

    def __call__(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question, or the text of the error that it ends in.

        A question holds its `action`, the upload's `path`, `folder` and `name`, the reader's
        `options`, and what the action takes.
        """
        os.environ.setdefault(SETTING, str(self.max_unpacked))
        path, name = str(question["path"]), str(question["name"])
        try:
            data, source = self._data(Path(path), question.get("options") or {})
            found = ACTIONS[question["action"]](data, question)
            return {"name": name, "source": str(source).replace(path, name), **found}
        except Exception as error:
            text = self.worded(error)  # raises what no user can have caused
            return {"error": text.replace(path, name), "columns": _columns(Path(path), question.get("options") or {})}

    def _data(self, path: Path, options: dict[str, Any]) -> tuple[Any, Any]:
        """The predictions in a file and where they are; those read last are kept."""
        key = (path, tuple(sorted(options.items())))
        if self.known[0] != key:
            self.known = (None, None)
            self.known = (key, self.read(path, options))
        return self.known[1]  # type: ignore[no-any-return]


def _columns(path: Path, options: dict[str, Any]) -> list[str]:
    """The names of a file's columns, to choose from, if they can be read."""
    from calibrant.files import Style
    from calibrant.files.formats import open_store

    try:
        return [str(name) for name in open_store(path, Style.taken(dict(options))).names[:MOST_CLASSES]]
    except (CalibrantError, OSError):
        return []


def diagnose(data: Any, question: Mapping[str, Any]) -> dict[str, Any]:
    """Is it calibrated? With the report, and what can be chosen next."""
    import calibrant as cal
    from calibrant.forecasts import Forecasts
    from calibrant.report import page

    view = question.get("view") or "auto"
    found = cal.diagnose(data, view="auto" if view == "classwise" else view, name=question["name"])
    files = {"report.html": page(found)}
    if isinstance(data, Forecasts):
        return shown(found) | {"files": _written(question, files), "rows": found.n, "curves": []}
    curves = _class_curves(data, found) if view == "classwise" else [_curve(found) | {"name": ""}]
    return shown(found) | {
        "files": _written(question, files),
        "rows": found.n,
        "curves": curves,
        "bars": _bars(found),
        "view": view,
        "classes": [] if data.is_binary else [str(each) for each in data.classes[:MOST_CLASSES]],
        "estimators": _estimators("class k" if view.startswith("class ") else found.view if view == "auto" else view),
        "maps": _maps(data),
        "chosen": list(FIRST_CHOICE),
        "shares": SHARES,
    }


def shown(answer: Any) -> dict[str, Any]:
    """Any answer as the page shows it: words, tables and notes, all of them plain text."""
    return {
        "heading": answer.heading,
        "sentence": answer.sentence(),
        "kind": KINDS[getattr(answer, "calibrated", None)],
        "tables": [_table(each) for each in answer.tables()],
        "notes": {word: list(texts) for word, texts in answer.notes().items()},
    }


def _table(table: Any) -> dict[str, Any]:
    return {"title": table.title, "columns": list(table.columns), "rows": table.texts(), "note": table.note}


def _curve(result: Any) -> dict[str, Any]:
    """The points of a diagram, None where there is no number."""
    from calibrant.plot.content import curve_of, fitted_curve

    curve = fitted_curve(result) or curve_of(result)
    return {part: _finite(getattr(curve, part)) for part in ("x", "y", "low", "high", "support")}


def _finite(values: Any) -> list[float | None]:
    return [value if value - value == 0 else None for value in values.tolist()]


def _bars(found: Any) -> list[list[float]]:
    """The histogram of predictions: ends and height of each bar."""
    from calibrant.plot.content import bar_heights, histogram_of

    bins = histogram_of(found)
    return [list(each) for each in zip(bins.low.tolist(), bins.high.tolist(), bar_heights(bins).tolist(), strict=True)]


def _class_curves(data: Any, found: Any) -> list[dict[str, Any]]:
    """A curve per class, of those that are most clearly wrong where all were tested."""
    import calibrant as cal
    from calibrant.bins import EqualMass

    wrong = data.classes if found.classes is None else found.classes.classes
    measured = {str(each): cal.binned_error(data, bins=EqualMass(15), view=f"class {each}") for each in wrong[:DRAWN_CLASSES]}
    return [_curve(each) | {"name": name} for name, each in measured.items()]


def _estimators(view: str) -> list[dict[str, str]]:
    from calibrant.methods import methods

    return [
        {"name": each.name, "title": each.title, "summary": each.summary}
        for each in methods("estimator").values()
        if view in each.views
    ]


def _maps(data: Any) -> list[dict[str, str]]:
    """All maps, those first that suit the data."""
    from calibrant.maps.auto import candidates_for
    from calibrant.methods import methods

    registered = methods("map")
    suited = [each for each in candidates_for(data) if isinstance(each, str)]
    names = dict.fromkeys([*suited, *registered])
    auto = {"name": "auto", "summary": "An average of the maps that suit the data, by their held-out scores."}
    return [auto, *({"name": name, "summary": registered[name].summary} for name in names)]


def measure(data: Any, question: Mapping[str, Any]) -> dict[str, Any]:
    """One estimator: its number, and the curve behind it if it has one."""
    from calibrant.methods import find_measure
    from calibrant.plot.content import fitted_curve, has_bins
    from calibrant.results import estimate_table

    known = find_measure(str(question.get("estimator")))
    if known is None:
        raise InputError("measures", "must name an estimator", f"it is {question.get('estimator')!r}")
    found = known.function(data, view=question.get("view") or "auto")
    drawn = fitted_curve(found) is not None or has_bins(found)
    curves = [_curve(found) | {"name": found.title}] if drawn else []
    return {"tables": [_table(estimate_table((found,)))], "cautions": list(found.cautions), "curves": curves}


def compare(data: Any, question: Mapping[str, Any]) -> dict[str, Any]:
    """Repairs fitted on one part of the rows and judged on the other, which no fit has seen."""
    import calibrant as cal
    from calibrant.report import page

    fitting, judging = _parts(data, question.get("parts"))
    maps, refused = _fitted(fitting, question.get("methods"))
    if not maps:
        return {"refused": refused, "error": "None of these repairs can be fitted to these rows."}
    found = cal.compare(judging, maps, score=str(question.get("score") or "auto"))
    best = maps[found.best]
    before, after = (cal.diagnose(each, name=question["name"]) for each in (judging, best.apply(judging)))
    report = {"comparison.html": page(before, after=after, comparison=found, fitted=best)}
    given = "probs" if data.logits is None else "logits"
    repairs = [
        _change(each.difference) | {"name": name, **_saved(maps[name], name, given, question)}
        for name, each in found.ranked().items()
    ]
    return shown(found) | {
        "refused": refused,
        "held_out": _held_out(fitting, judging, len(maps)),
        "best": found.best,
        "helped": bool(found.better),
        "after": after.verdict,
        "repairs": repairs,
        "files": [*_written(question, report), *(name for each in repairs for name in each["files"])],
    }


def _change(difference: Any) -> dict[str, float | None]:
    interval = difference.interval
    ends = (None, None) if interval is None else (interval.low, interval.high)
    return {"change": difference.value, "low": ends[0], "high": ends[1]}


def _parts(data: Any, parts: Any) -> tuple[Any, Any]:
    """The rows to fit on and those to judge by, assigned by their content: the same each time."""
    from calibrant.maps.folds import in_folds
    from calibrant.predictions import Predictions, StatePredictions

    if not isinstance(data, Predictions) or isinstance(data, StatePredictions):
        what = "a state has no rows" if isinstance(data, StatePredictions) else "these are forecasts of a real number"
        raise InputError("file", "must hold rows of probabilities to hold some out", what)
    if parts not in SHARES:
        raise InputError("parts", f"must be one of {', '.join(map(str, SHARES))}", f"it is {parts!r}")
    rows, masks = in_folds(data, int(parts))
    return rows.rows(~masks[0]), rows.rows(masks[0])


def _fitted(rows: Any, names: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The maps by name, and the reasons of those that cannot be fitted to these rows."""
    import calibrant as cal
    from calibrant.methods import methods

    known = {"auto", *methods("map")}
    if not isinstance(names, list) or not 0 < len(names) <= MOST_REPAIRS or not known.issuperset(names):
        raise InputError("methods", f"must be 1 to {MOST_REPAIRS} maps", f"there are {len(names or [])}", "Tick some")
    maps, refused = {}, {}
    for name in dict.fromkeys(names):
        try:
            maps[name] = cal.recalibrate(rows, name)
        except CalibrantError as error:
            refused[name] = str(error)
    return maps, refused


def _held_out(fitting: Any, judging: Any, n_maps: int) -> str:
    """What was held out, and what that does not guard against."""
    groups = "" if judging.groups is None else " No group has rows in both parts."
    many = "these repairs" if n_maps > 1 else "this repair"
    return (
        f"Fitted on {fitting.n:,} rows and judged on {judging.n:,} others, which no fit has seen; the parts are the same "
        f"each time.{groups} The intervals allow for {many}, not for trying again with others. The model itself must "
        "not have been trained on any row of this file."
    )


def _saved(fitted: Any, name: str, given: str, question: Mapping[str, Any]) -> dict[str, Any]:
    """A map in all its forms, and why a form is not there."""
    files = _written(question, {f"{name}.json": fitted.to_json(), f"{name}.py": snippet(fitted, given)})
    try:
        from calibrant.adapt.onnx import to_onnx

        files += _written(question, {f"{name}.onnx": to_onnx(fitted, input=given).SerializeToString()})
        return {"files": files, "no_onnx": ""}
    except CalibrantError as error:
        return {"files": files, "no_onnx": str(error)}


def snippet(fitted: Any, given: str) -> str:
    """A Python file that recalibrates `probs` or `logits`, whichever are given, with the map inside."""
    import calibrant as cal

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


def _written(question: Mapping[str, Any], files: Mapping[str, str | bytes]) -> list[str]:
    """Write files into the folder of the upload; their names are ours."""
    for name, content in files.items():
        data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        Path(question["folder"], name).write_bytes(data)
    return list(files)


ACTIONS: Mapping[str, Callable[[Any, Mapping[str, Any]], dict[str, Any]]] = {
    "diagnose": diagnose,
    "measure": measure,
    "compare": compare,
}
