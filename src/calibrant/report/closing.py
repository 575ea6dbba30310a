"""The numbers of a diagnosis with how far to trust them; how the report was made; methods and references to quote."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import calibrant
from calibrant.methods import methods
from calibrant.report.markup import tag, words
from calibrant.report.references import REFERENCES
from calibrant.report.sections import Part, listed, table_section
from calibrant.report.wording import about_confidence
from calibrant.results import Answer, Estimate, Table
from calibrant.verbs.answers import AnswerReport
from calibrant.verbs.auditing.audited import Audit
from calibrant.verbs.clinical import ClinicalReport
from calibrant.verbs.comparison import Comparisons
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis
from calibrant.verbs.origin import Origin
from calibrant.verbs.where import Where

ESTIMATORS = ("estimator", "clinical estimator", "forecast estimator")

TESTED = (
    "A p-value is the probability that a calibrated model shows evidence as strong as this or stronger; it comes from labels redrawn from the "
    "predictions, which are held fixed, and is exact at every sample size (Barnard 1963). Tests that are reported together share one "
    "rate of false alarms of 5 % (Westfall & Young 1993)."
)
OF_CLASSES = (
    "Calibration was assessed on {about}: labels were compared with predicted probabilities in "
    "15 bins of equal mass (observed rates with 95 % Wilson intervals, Wilson 1927), and the expected calibration error was computed in 15 "
    "bins of equal width (Guo et al. 2017). The calibration error and its interval do not depend on bins; its estimate is a posterior "
    "median, and its 95 % interval inverts tests. “If calibrated” is what an estimator shows on average for a calibrated model with as many "
    "rows. Rows are taken as independent unless groups are named."
)
OF_FORECASTS = (
    "Calibration was assessed on {n:,} {kind} forecasts by the probability integral transform (Dawid 1984; Gneiting, Balabdaoui, Raftery "
    "2007): for calibrated forecasts the label lies below the quantile of level q with probability q, for every q. How each p-value was "
    "found stands beside it; those that are adjusted hold for all tests at once (Holm)."
)
OF_ANSWERS: dict[type, str] = {
    Where: (
        "The stretch of predictions with the largest summed error was searched for, and its p-value allows for the search (Kuiper 1960; "
        "Arrieta-Ibarra et al. 2022)."
    ),
    Audit: "Segments were tested jointly, with intervals and p-values that hold for all of them at once (Westfall & Young 1993).",
    Comparisons: (
        "Repairs were judged by a proper score (Brier 1950) on rows that they were not fitted on (cross-validation), with simultaneous "
        "intervals of the paired difference."
    ),
    ClinicalReport: (
        "Calibration intercept and slope (Cox 1958; Van Calster et al. 2019), O/E, ICI and E-statistics (Austin & Steyerberg 2019), the "
        "c-statistic (DeLong, DeLong & Clarke-Pearson 1988) and the standardised net benefit (Vickers & Elkin 2006; Kerr et al. 2016) have "
        "95 % intervals; optimism is not corrected, as that takes the model to be fitted again."
    ),
    AnswerReport: "Stated confidences were tested level by level and in total, jointly.",
}
"""What the methods text says of each kind of answer."""


def number_parts(found: Any, when: str, told: Collection[str]) -> list[Part]:
    """Estimates with how far to trust them, then tests and the other tables.

    Parameters
    ----------
    found
        A diagnosis.
    when
        Before or After, or "".
    told
        Titles of tables that other answers show.
    """
    estimates, *others = found.tables() or (None,)
    under_figure = "Bin by bin" if isinstance(found, Diagnosis) else None
    rest = [
        each for each in others if each.title not in told and not (under_figure and each.title.startswith(under_figure))
    ]
    ending = f", {when.lower()}" if when else ""
    parts = []
    if estimates is not None:
        simulated = isinstance(found, Diagnosis)
        trust = "" if when == "Before" else table_section(trust_table(found.estimates, simulated))
        parts.append(Part(f"How large is the error{ending}?", table_section(estimates) + trust))
    if rest:
        parts.append(Part(f"Tests{ending}", "".join(map(table_section, rest))))
    return parts


def trust_table(estimates: Iterable[Estimate], simulated: bool = True) -> Table:
    """What each estimator estimates, which way it errs and where it comes from: its facts in the register.

    Parameters
    ----------
    estimates
        The estimates.
    simulated
        Are they of classes, so that `trust` can measure how far they are off?
    """
    known = {each.function.__name__: each for kind in ESTIMATORS for each in methods(kind).values()}  # type: ignore[arg-type]
    found: dict[str, tuple[str, ...]] = {}
    for estimate in estimates:
        method = known.get(estimate.name)
        if method is not None and estimate.name not in found:
            found[estimate.name] = (estimate.title, method.quantity, method.note("Bias"), method.note("Source"))
    note = "How far each is off at this sample size: calibrant trust FILE." if simulated else ""
    return Table("How far to trust them", ("quantity", "estimates", "bias", "source"), tuple(found.values()), note)


def closing_parts(answers: tuple[Answer, ...], origin: Origin | None, left_out: tuple[str, ...]) -> list[Part]:
    """How the report was made, and the methods.

    Parameters
    ----------
    answers
        All answers of the report.
    origin
        Command, data and versions, if they are known.
    left_out
        What was not computed, and how to get it.
    """
    made = listed("Left out", left_out) + ("" if origin is None else table_section(origin.table()))
    parts = [Part("How this report was made", made)] if made else []
    paragraphs = [each for each in map(_method, answers) if each]
    if not paragraphs:
        return parts
    tested = any(isinstance(each, Diagnosis) and each.test is not None for each in answers)
    text = [*paragraphs, *([TESTED] if tested else []), f"Computed with calibrant {calibrant.__version__}."]
    return [*parts, Part("Methods, to quote", "".join(words("p", each) for each in text) + _references(text, answers))]


def _method(answer: Answer) -> str:
    if isinstance(answer, Diagnosis):
        stated = answer.view == "binary" and about_confidence(answer)
        rows = f"{answer.n:,} rows and {answer.n_classes:,} classes for the view “{answer.view}”"
        return OF_CLASSES.format(about=f"{answer.n:,} answers and the model's confidence in them" if stated else rows)
    if isinstance(answer, ForecastDiagnosis):
        return OF_FORECASTS.format(n=answer.n, kind=answer.forecasts)
    return OF_ANSWERS.get(type(answer), "")


def _references(text: list[str], answers: tuple[Answer, ...]) -> str:
    """The references that the text and the estimates name."""
    estimates = [each for answer in answers for each in getattr(answer, "estimates", ())]
    named = " ".join([*text, *(row[3] for row in trust_table(estimates).rows)])
    items = "".join(words("li", full) for key, full in REFERENCES.items() if key in named)
    return words("h3", "References") + tag("ul", items, class_="notes") if items else ""
