"""Draw finished answers with matplotlib; compute nothing."""

from __future__ import annotations

from typing import Any

from calibrant import options
from calibrant.maps.choice import Choice
from calibrant.plot import kinds
from calibrant.plot.candidates import candidates, classes, estimator_plot, optimism_plot, trust_plot, validation_plot
from calibrant.plot.confidences import clinical_plot, confidences
from calibrant.plot.cumulative import cumulative
from calibrant.plot.curves import curves
from calibrant.plot.decision import decision, risk_coverage
from calibrant.plot.evidence import evidence
from calibrant.plot.forecasts import forecast_plot
from calibrant.plot.grid import grid
from calibrant.plot.power import bias_curves, bias_grid, miss_rates, power_curve
from calibrant.plot.reliability import reliability
from calibrant.plot.score_parts import score_change, score_parts
from calibrant.plot.segments import segments
from calibrant.problems import InputError
from calibrant.results import Answer, Estimate

__all__ = [
    "bias_curves",
    "bias_grid",
    "candidates",
    "classes",
    "clinical_plot",
    "confidences",
    "cumulative",
    "curves",
    "decision",
    "draw",
    "estimator_plot",
    "evidence",
    "forecast_plot",
    "grid",
    "miss_rates",
    "optimism_plot",
    "power_curve",
    "reliability",
    "risk_coverage",
    "score_change",
    "score_parts",
    "segments",
    "trust_plot",
    "validation_plot",
]


@options.checked
def draw(answer: Answer | Choice, *, ax: Any = None, **options: Any) -> Any:
    """Draw an answer with the plot that belongs to it, and return the Axes.

    Parameters
    ----------
    answer
        An answer that has a picture: all but results of tests and estimates that are a
        number and nothing else.
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
    found = kinds.plot_of(answer)
    if found is None:
        what = answer.title if isinstance(answer, Estimate) else f"a {type(answer).__name__}"
        advice = f"There are pictures of {', '.join(kinds.PLOTS)}, and of estimates with bins, a curve or classes"
        raise InputError("answer", "must have a picture", f"{what} has none", advice)
    return found(answer, ax=ax, **options)
