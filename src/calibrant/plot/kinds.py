"""Which function draws which kind of answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibrant.plot import content
from calibrant.plot.candidates import candidates, classes, estimator_plot, optimism_plot, trust_plot, validation_plot
from calibrant.plot.confidences import clinical_plot, confidences
from calibrant.plot.cumulative import cumulative
from calibrant.plot.decision import decision, risk_coverage
from calibrant.plot.evidence import evidence
from calibrant.plot.forecasts import forecast_plot
from calibrant.plot.power import bias_grid, power_curve
from calibrant.plot.reliability import reliability
from calibrant.plot.score_parts import score_change, score_parts
from calibrant.plot.segments import segments
from calibrant.results import ClassTable, Estimate


def _of_the_diagnosis(answer: Any, **options: Any) -> Any:
    return answer.diagnosis.plot(**options)


PLOTS: dict[str, Callable[..., Any]] = {
    "AnswerComparison": candidates,
    "AnswerReport": confidences,
    "Audit": segments,
    "Bias": estimator_plot,
    "BiasGrid": bias_grid,
    "Choice": candidates,
    "Classes": classes,
    "ClinicalReport": clinical_plot,
    "Comparison": score_change,
    "Comparisons": candidates,
    "Decomposition": score_parts,
    "Diagnosis": reliability,
    "Examination": _of_the_diagnosis,
    "ForecastDiagnosis": forecast_plot,
    "OptimismReport": optimism_plot,
    "Plan": power_curve,
    "Trust": trust_plot,
    "ValidationPlan": validation_plot,
    "Watched": evidence,
    "Where": cumulative,
}
"""By the kind of answer."""

OF_ESTIMATES: dict[str, Callable[..., Any]] = {
    "decision_regret": decision,
    "ks_error": cumulative,
    "selective_risk": risk_coverage,
}
"""By the estimate's name; other estimates with bins or a curve are reliability diagrams, those per class bars."""


def plot_of(answer: Any) -> Callable[..., Any] | None:
    """The function that draws such an answer, or None where it has no picture.

    Parameters
    ----------
    answer
        Any answer.
    """
    if not isinstance(answer, Estimate):
        return PLOTS.get(type(answer).__name__)
    if content.part(answer, "classes", ClassTable) is not None:
        return classes
    drawable = content.has_bins(answer) or "curve" in answer.parts
    return OF_ESTIMATES.get(answer.name, reliability) if drawable else None
