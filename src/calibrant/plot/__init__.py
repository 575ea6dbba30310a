"""Draw finished answers with matplotlib; compute nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibrant import options
from calibrant.plot import content
from calibrant.plot.curves import curves
from calibrant.plot.decision import decision, risk_coverage
from calibrant.plot.evidence import evidence
from calibrant.plot.forecasts import forecast_plot
from calibrant.plot.power import bias_curves, bias_grid, miss_rates, power_curve
from calibrant.plot.reliability import reliability
from calibrant.plot.segments import segments
from calibrant.problems import InputError
from calibrant.results import Answer, Estimate

__all__ = [
    "bias_curves",
    "bias_grid",
    "curves",
    "decision",
    "draw",
    "evidence",
    "forecast_plot",
    "miss_rates",
    "power_curve",
    "reliability",
    "risk_coverage",
    "segments",
]

PLOTS: dict[str, Callable[..., Any]] = {
    "Audit": segments,
    "Diagnosis": reliability,
    "ForecastDiagnosis": forecast_plot,
    "Plan": power_curve,
}
"""By the kind of answer."""

OF_ESTIMATES: dict[str, Callable[..., Any]] = {"decision_regret": decision, "selective_risk": risk_coverage}
"""By the estimate's name; other estimates with bins or a curve are reliability diagrams."""


@options.checked
def draw(answer: Answer, *, ax: Any = None, **options: Any) -> Any:
    """Draw an answer with the plot that belongs to it, and return the Axes.

    Parameters
    ----------
    answer
        A diagnosis, an audit, a plan, or an estimate with bins or a curve.
    ax
        The Axes to draw on; new ones if None.
    **options
        Options of the plot that draws such an answer.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ece([0, 1, 1, 0], [0.1, 0.7, 0.6, 0.4]).plot().get_xlabel()
    'predicted probability'
    """
    found = PLOTS.get(type(answer).__name__)
    if isinstance(answer, Estimate):
        drawable = content.has_bins(answer) or content.fitted_curve(answer) is not None
        found = OF_ESTIMATES.get(answer.name, reliability if drawable else None)
    if found is None:
        what = answer.title if isinstance(answer, Estimate) else f"a {type(answer).__name__}"
        advice = f"There are pictures of {', '.join(PLOTS)} and estimates with bins"
        raise InputError("answer", "must have a picture", f"{what} has none", advice)
    return found(answer, ax=ax, **options)
