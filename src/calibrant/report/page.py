"""Finished answers as one file: an HTML page without scripts or other files, or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from calibrant.maps import CalibrationMap, RegressionMap
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.report.figures import figures
from calibrant.report.markup import tag, words
from calibrant.report.sections import answer_section, document, listed, map_table, table_section
from calibrant.results import SCHEMA, Answer, summarized
from calibrant.verbs.comparison import Comparison, Comparisons
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis
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
) -> str:
    """The report as HTML text.

    Parameters
    ----------
    *answers
        Answers of any kind. If the first is a diagnosis the page opens with its verdict
        and figures.
    after
        The diagnosis of the recalibrated predictions, shown beside the first answer.
    comparison
        What the recalibration changed.
    fitted
        The map.
    """
    first = check_answers(answers, after)
    middle = [] if comparison is None else [answer_section(comparison)]
    middle += [] if fitted is None else [_map_section(fitted)]
    if not isinstance(first, AnyDiagnosis):
        title = first.question if len(answers) == 1 else "Calibration report"
        head = "" if len(answers) == 1 else words("h1", title)
        return document(title, "\n".join([head, *middle, *map(_section, range(len(answers)), answers)]))
    shown = {"": first} if after is None else {"Before": first, "After": after}
    sections = [_opening(shown), figures(shown), *middle, *map(_section, range(1, len(answers)), answers[1:])]
    for when, each in shown.items():
        title = words("h2", f"The numbers {when.lower()}".strip())
        sections.append(title + "".join(map(table_section, each.tables())))
    sections += [listed("Warnings", _warnings(shown, fitted)), listed("Advice", (after or first).advice)]
    return document(f"Calibration of {first.name}", "\n".join(filter(None, sections)))


def check_answers(answers: tuple[Answer, ...], after: AnyDiagnosis | None) -> Answer:
    """The first of the answers, if all are answers.

    Parameters
    ----------
    answers
        What is to be reported.
    after
        The diagnosis of the recalibrated predictions, which needs one of the others.
    """
    wrong = [each for each in answers if not isinstance(each, Answer)]
    if wrong or not answers:
        found = f"there is a {type(wrong[0]).__name__}" if wrong else "there is none"
        raise InputError("answers", "must be at least one answer of a verb, such as diagnose(…)", found)
    if after is not None and type(after) is not type(answers[0]):
        before = f"it is a {type(answers[0]).__name__}"
        raise InputError("after", "needs a diagnosis of the same kind before it", before)
    return answers[0]


def _section(place: int, answer: Answer) -> str:
    drawn = figures({"": answer}, key=f"answer{place}") if isinstance(answer, AnyDiagnosis) else ""
    return answer_section(answer, drawn)


def _opening(shown: dict[str, AnyDiagnosis]) -> str:
    """Name, verdict and the facts that say what was looked at."""
    first = next(iter(shown.values()))
    verdicts = "".join(_verdict(each, when) for when, each in shown.items())
    facts = f"{first.n:,} rows · "
    if isinstance(first, Diagnosis):
        question = VIEWS.get(first.view, f"probability of {first.view}")
        facts += f"{first.n_classes:,} classes · view: {first.view} ({question})"
    else:
        facts += f"{first.forecasts} forecasts of a real number"
    title = tag("h1", "Calibration of " + words("b", first.name))
    return title + tag("div", verdicts, class_="pair") + words("p", facts, class_="quiet")


def _verdict(diagnosis: AnyDiagnosis, when: str) -> str:
    """The finding in large letters, the numbers behind it below."""
    finding, _, numbers = diagnosis.verdict.partition(". ")
    drawn = words("small", when) if when else ""
    drawn += words("strong", finding.rstrip(".") + ".") + (words("p", numbers) if numbers else "")
    return tag("div", drawn, class_=f"verdict {STATES[diagnosis.calibrated]}")


def _map_section(fitted: AnyMap) -> str:
    """What the map is and what it leaves unchanged."""
    choice = fitted.fit.choice
    chosen = "" if choice is None else words("p", f"Chosen: {choice.reason}") + table_section(choice.table)
    return words("h2", "The repair") + table_section(map_table(fitted)) + chosen


def _warnings(shown: dict[str, AnyDiagnosis], fitted: AnyMap | None) -> tuple[str, ...]:
    """Each once, with what it is about where that is not the first diagnosis."""
    found = [f"After the repair: {c}" if when == "After" else c for when, each in shown.items() for c in each.cautions]
    found += [f"Repair: {caution}" for caution in (fitted.fit.cautions if fitted else ())]
    return tuple(dict.fromkeys(found))


@checked
def write(
    path: str | Path,
    *answers: Answer,
    after: AnyDiagnosis | None = None,
    comparison: AnyComparison | None = None,
    fitted: AnyMap | None = None,
    overwrite: bool = False,
) -> None:
    """Write a report: `.html` is one page, `.json` holds the same answers as data.

    Parameters
    ----------
    path
        The file; its ending is the format. It is written completely or not at all.
    *answers
        Answers of any verb, test or estimator about the same predictions. If the first
        is a diagnosis the page opens with its verdict and figures.
    after
        The diagnosis of the recalibrated predictions.
    comparison
        What the recalibration changed.
    fitted
        The map.
    overwrite
        May a file of another kind be replaced? A report may be replaced anyway.

    Examples
    --------
    >>> import calibrant as cal, tempfile, os
    >>> from calibrant.report import write
    >>> valid, test = cal.example()
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write(path, cal.diagnose(test, name="digits"), cal.decompose(test))
    >>> os.path.getsize(path) < 60_000
    True
    """
    more: dict[str, Any] = {"after": after, "comparison": comparison, "fitted": fitted}
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


def data(*answers: Answer, after: AnyDiagnosis | None = None, **more: Any) -> str:
    """The answers as JSON; what was not given is left out.

    Parameters
    ----------
    *answers
        As in `write`.
    after
        As in `write`.
    **more
        The other arguments of `write`.
    """
    first = check_answers(answers, after)
    led = isinstance(first, AnyDiagnosis)
    given = {"diagnosis": first if led else None, "after": after, **more}
    content: dict[str, Any] = {name: summarized(record) for name, record in given.items() if record is not None}
    others = [summarized(each) for each in answers[int(led) :]]
    content |= {"answers": others} if others else {}
    return json.dumps({"schema": SCHEMA} | content, indent=2, ensure_ascii=False, allow_nan=False)
