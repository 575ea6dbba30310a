"""Finished answers as one file: an HTML page that needs no other, or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from calibrant.maps import CalibrationMap, RegressionMap
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.report.closing import closing_parts, number_parts
from calibrant.report.figures import drawn_for, figures
from calibrant.report.markup import tag, words
from calibrant.report.sections import Part, answer_part, document, listed, map_table, table_section
from calibrant.report.wording import about_confidence, plain_words
from calibrant.results import SCHEMA, Answer, summarized
from calibrant.verbs.comparison import Comparison, Comparisons
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis
from calibrant.verbs.examine import Examination
from calibrant.verbs.origin import Origin
from calibrant.writing import check_target, write_text

VIEWS = {"top": "confidence in the predicted class", "binary": "probability of the event", "classwise": "each label"}

STATES = {False: "bad", True: "fine", None: "open"}
"""The mark beside the verdict; data that show no error are not yet good news."""

AnyDiagnosis = Diagnosis | ForecastDiagnosis
AnyComparison = Comparison | Comparisons
AnyMap = CalibrationMap | RegressionMap


@checked
def page(
    *answers: Answer,
    after: AnyDiagnosis | None = None,
    comparison: AnyComparison | None = None,
    fitted: AnyMap | None = None,
    origin: Origin | None = None,
) -> str:
    """The report as HTML text.

    Parameters
    ----------
    *answers
        Answers of any kind. If the first is an examination or a diagnosis the page opens
        with its verdict and figures.
    after
        The diagnosis of the recalibrated predictions, shown beside the first answer.
    comparison
        What the recalibration changed.
    fitted
        The map.
    origin
        Command, data and versions; those of the examination if None.
    """
    answers, origin, left_out = unpacked(answers, origin)
    first = check_answers(answers, after, comparison or fitted)
    middle = [] if comparison is None else [answer_part(comparison)]
    middle += [] if fitted is None else [_map_part(fitted)]
    others = answers[1:] if isinstance(first, AnyDiagnosis) else answers
    found = [answer_part(each, _drawn(each, f"answer{i}"), f"answer{i}") for i, each in enumerate(others)]
    ending = closing_parts(answers, origin, left_out)
    if not isinstance(first, AnyDiagnosis):
        parts = [*middle, *found]
        title = parts[0].title if len(parts) == 1 else "Calibration report"
        return document(title, words("h1", "Calibration report"), [*parts, *ending])
    shown = {"": first} if after is None else {"Before": first, "After": after}
    parts = [Part("Predicted and observed", figures(shown)), *middle]
    told = {table.title for each in others for table in each.tables()}
    parts += [part for when, each in shown.items() for part in number_parts(each, when, told)]
    return document(f"Calibration of {first.name}", _opening(shown, fitted), [*parts, *found, *ending])


def unpacked(
    answers: tuple[Answer, ...], origin: Origin | None
) -> tuple[tuple[Answer, ...], Origin | None, tuple[str, ...]]:
    """The answers of an examination one by one, where the data come from, and what was left out.

    Parameters
    ----------
    answers
        What is to be reported.
    origin
        As given; its settings are those of the examination.
    """
    if not (answers and isinstance(answers[0], Examination)):
        return answers, origin, ()
    whole = answers[0]
    known = whole.origin if origin is None else replace(origin, settings=whole.origin.settings)
    return (whole.diagnosis, *whole.answers, *answers[1:]), known, whole.left_out


def check_answers(answers: tuple[Answer, ...], after: AnyDiagnosis | None, beside: Any = None) -> Answer | None:
    """The first of the answers, if all are answers.

    Parameters
    ----------
    answers
        What is to be reported.
    after
        The diagnosis of the recalibrated predictions, which needs one of the others.
    beside
        A comparison or a map, which can be reported without other answers.
    """
    wrong = [each for each in answers if not isinstance(each, Answer)]
    if wrong or not (answers or beside is not None):
        found = f"there is a {type(wrong[0]).__name__}" if wrong else "there is none"
        raise InputError("answers", "must be at least one answer of a verb, such as diagnose(…)", found)
    first = answers[0] if answers else None
    if after is not None and type(after) is not type(first):
        raise InputError("after", "needs a diagnosis of the same kind before it", f"it is a {type(first).__name__}")
    return first


def _drawn(answer: Answer, key: str) -> str:
    return figures({"": answer}, key=key) if isinstance(answer, AnyDiagnosis) else drawn_for(answer, key)


def _opening(shown: dict[str, AnyDiagnosis], fitted: AnyMap | None) -> str:
    """Name, verdict and what to do, and the facts that say what was looked at."""
    first, last = next(iter(shown.values())), next(reversed(shown.values()))
    verdicts = "".join(_verdict(each, when) for when, each in shown.items())
    facts = f"{first.n:,} rows · "
    if isinstance(first, Diagnosis) and first.view == "binary" and about_confidence(first):
        facts = f"{first.n:,} answers, each with the model's confidence in it"
    elif isinstance(first, Diagnosis):
        question = VIEWS.get(first.view, f"probability of {first.view}")
        facts += f"{first.n_classes:,} classes · view: {first.view} ({question})"
    else:
        facts += f"{first.forecasts} forecasts of a real number"
    title = tag("h1", "Calibration of " + words("b", first.name)) + tag("div", verdicts, class_="pair")
    lists = listed("What to do", last.advice) + listed("Warnings", _warnings(shown, fitted))
    return title + lists + words("p", facts, class_="quiet")


def _verdict(diagnosis: AnyDiagnosis, when: str) -> str:
    """The finding in large letters, what it means, and the numbers behind it."""
    finding, _, numbers = diagnosis.verdict.partition(". ")
    drawn = words("small", when) if when else ""
    drawn += words("strong", finding.rstrip(".") + ".") + words("p", plain_words(diagnosis))
    drawn += words("p", numbers) if numbers else ""
    return tag("div", drawn, class_=f"verdict {STATES[diagnosis.calibrated]}")


def _map_part(fitted: AnyMap) -> Part:
    """What the map is and what it leaves unchanged."""
    choice = fitted.fit.choice
    chosen = "" if choice is None else words("p", f"Chosen: {choice.reason}") + table_section(choice.table)
    warnings = "".join(words("p", f"Caution: {text}", class_="note") for text in fitted.fit.cautions)
    return Part("The repair", table_section(map_table(fitted)) + chosen + warnings)


def _warnings(shown: dict[str, AnyDiagnosis], fitted: AnyMap | None) -> tuple[str, ...]:
    """Each once, with what it is about where that is not the first diagnosis."""
    found = [
        f"After the repair: {c}" if when == "After" else c
        for when, each in shown.items()
        for c in _gathered(each.cautions, [e.title for e in each.estimates])
    ]
    found += [f"Repair: {caution}" for caution in (fitted.fit.cautions if fitted else ())]
    return tuple(dict.fromkeys(found))


def _gathered(cautions: tuple[str, ...], titles: list[str]) -> list[str]:
    """What is said of several estimates in the same words is said once, with their names before it."""
    named: dict[str, list[str]] = {}
    for caution in cautions:
        title, _, text = caution.partition(": ")
        about = title in titles
        named.setdefault(text if about else caution, []).extend([title] if about else [])
    return [f"{', '.join(names)}: {text}" if names else text for text, names in named.items()]


@checked
def write(
    path: str | Path,
    *answers: Answer,
    after: AnyDiagnosis | None = None,
    comparison: AnyComparison | None = None,
    fitted: AnyMap | None = None,
    origin: Origin | None = None,
    overwrite: bool = False,
) -> None:
    """Write a report: `.html` is one page, `.json` holds the same answers as data.

    Parameters
    ----------
    path
        The file; its ending is the format. It is written completely or not at all.
    *answers
        Answers of any verb, test or estimator about the same predictions. If the first
        is an examination or a diagnosis the page opens with its verdict and figures.
    after
        The diagnosis of the recalibrated predictions.
    comparison
        What the recalibration changed.
    fitted
        The map.
    origin
        Command, data and versions.
    overwrite
        May a file of another kind be replaced? A report may be replaced anyway.

    Examples
    --------
    >>> import calibrant as cal, tempfile, os
    >>> from calibrant.report import write
    >>> valid, test = cal.example()
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write(path, cal.examine(test, name="digits"), cal.decompose(test))
    >>> os.path.getsize(path) < 2_000_000
    True
    """
    more: dict[str, Any] = {"after": after, "comparison": comparison, "fitted": fitted, "origin": origin}
    makers = {".html": lambda: page(*answers, **more), ".json": lambda: data(*answers, **more)}
    save(path, makers, overwrite=overwrite)


def save(path: str | Path, makers: Mapping[str, Callable[[], str]], *, overwrite: bool = False) -> None:
    """Write the text that belongs to a file's ending, completely or not at all.

    Parameters
    ----------
    path
        The file.
    makers
        What gives the text, by ending.
    overwrite
        May a file of another kind be replaced?
    """
    check_target(path, "report", endings=tuple(makers), overwrite=overwrite)
    write_text(path, makers[Path(path).suffix.lower()](), "report", overwrite=overwrite)


def data(*answers: Answer, after: AnyDiagnosis | None = None, origin: Origin | None = None, **more: Any) -> str:
    """The answers as JSON; what was not given is left out.

    Parameters
    ----------
    *answers
        As in `write`.
    after, origin
        As in `write`.
    **more
        The other arguments of `write`.
    """
    answers, origin, left_out = unpacked(answers, origin)
    first = check_answers(answers, after, more.get("comparison") or more.get("fitted"))
    led = isinstance(first, AnyDiagnosis)
    given = {"diagnosis": first if led else None, "after": after, "origin": origin, **more}
    content: dict[str, Any] = {name: summarized(record) for name, record in given.items() if record is not None}
    others = [summarized(each) for each in answers[int(led) :]]
    content |= {name: each for name, each in {"answers": others, "left_out": left_out}.items() if each}
    return json.dumps({"schema": SCHEMA} | content, indent=2, ensure_ascii=False, allow_nan=False)
