"""A report on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from calibrant.problems import FileError
from calibrant.report.page import AnyDiagnosis, AnyMap, check_answers, page
from calibrant.results import SCHEMA, Answer
from calibrant.verbs.comparison import Comparison, Comparisons
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis


def write(
    path: str | Path,
    *answers: Answer,
    after: AnyDiagnosis | None = None,
    comparison: Comparison | Comparisons | None = None,
    fitted: AnyMap | None = None,
) -> None:
    """Write a report: `.html` is one page that needs nothing else, `.json` holds the same answers as data.

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
    save(path, {".html": lambda: page(*answers, **more), ".json": lambda: data(*answers, **more)})


def save(path: str | Path, makers: Mapping[str, Callable[[], str]]) -> None:
    """Write the text that belongs to a file's ending, completely or not at all.

    Parameters
    ----------
    path
        The file.
    makers
        What gives the text, by ending.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in makers:
        found = f"it ends in {suffix!r}" if suffix else "it has no ending"
        raise FileError(f"a report must end in {' or '.join(makers)}; {str(path)!r} does not: {found}")
    text, partial = makers[suffix](), target.with_name(f".{target.name}.partial")
    try:
        partial.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        os.replace(partial, target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise FileError(f"cannot write the report {str(path)!r}: {error.strerror}") from error


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
    led = isinstance(first, Diagnosis | ForecastDiagnosis)
    given = {"diagnosis": first if led else None, "after": after, **more}
    content: dict[str, Any] = {name: record.to_dict() for name, record in given.items() if record is not None}
    others = [each.to_dict() for each in answers[int(led) :]]
    content |= {"answers": others} if others else {}
    return json.dumps({"schema": SCHEMA} | content, indent=2, ensure_ascii=False, allow_nan=False)
