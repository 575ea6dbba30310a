"""A report on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calibrant.maps import CalibrationMap, RegressionMap
from calibrant.problems import FileError
from calibrant.report.page import page
from calibrant.report.sections import Answer
from calibrant.results import SCHEMA
from calibrant.verbs.compare import Comparison
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis


def write(
    path: str | Path,
    diagnosis: Diagnosis | ForecastDiagnosis,
    *,
    after: Diagnosis | ForecastDiagnosis | None = None,
    comparison: Comparison | None = None,
    fitted: CalibrationMap | RegressionMap | None = None,
    answers: Sequence[Answer] = (),
) -> None:
    """Write a report: `.html` is one page that needs nothing else, `.json` holds the same results as data.

    `after` is the diagnosis of the repaired predictions, `comparison` says what the repair changed, `fitted` is the map.
    `answers` are answers to other questions about the same predictions, such as those of `trust`, `audit` and `where`.

    Examples
    --------
    >>> import calibrant as cal, tempfile, os
    >>> from calibrant.report import write
    >>> valid, test = cal.example()
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write(path, cal.diagnose(test, name="digits"))
    >>> os.path.getsize(path) < 60_000
    True
    """
    suffix = Path(path).suffix.lower()
    makers = {".html": page, ".json": data}
    if suffix not in makers:
        found = f"it ends in {suffix!r}" if suffix else "it has no ending"
        raise FileError(f"a report must end in .html or .json; {str(path)!r} does not: {found}")
    text = makers[suffix](diagnosis, after=after, comparison=comparison, fitted=fitted, answers=answers)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot write the report {str(path)!r}: {error.strerror}") from error


def data(
    diagnosis: Diagnosis | ForecastDiagnosis,
    *,
    after: Diagnosis | ForecastDiagnosis | None = None,
    comparison: Comparison | None = None,
    fitted: CalibrationMap | RegressionMap | None = None,
    answers: Sequence[Answer] = (),
) -> str:
    """The results as JSON; what was not given is left out."""
    given = {"diagnosis": diagnosis, "after": after, "comparison": comparison, "fitted": fitted}
    content: dict[str, Any] = {name: record.to_dict() for name, record in given.items() if record is not None}
    content |= {"answers": [each.to_dict() for each in answers]} if answers else {}
    return json.dumps({"schema": SCHEMA} | content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
