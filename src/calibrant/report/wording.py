"""The first paragraph of a report, for somebody who has never heard of calibration."""

from __future__ import annotations

import numpy as np

from calibrant.results import Estimate, looked_up, p_words
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis
from calibrant.verbs.verdicts import is_weak

REPAIR = (
    "What to do: fit a correction (a recalibration map) on labelled cases that the model was not trained on, and check it on "
    "other cases before it is used."
)
DISTRUST = "Do not take them at face value as they are."
LEAVE = "What to do: nothing needs to be repaired that these data show."
TEST_MORE = "What to do: look at other cases before anything is changed."


def plain_words(found: Diagnosis | ForecastDiagnosis) -> str:
    """What was found and what to do, without a technical term.

    Parameters
    ----------
    found
        The diagnosis.
    """
    if isinstance(found, ForecastDiagnosis):
        return _of_forecasts(found)
    asked = "A model is calibrated if what it calls 70 % likely happens 70 % of the time."
    means = f"{asked} {_means(found)}"
    if found.calibrated is None:
        return f"{means} {_not_seen(found)}"
    error = _error(found)
    size = "" if error is None else f" Its probabilities are off by {_points(error.value)} on average{_between(error)}."
    if found.test is None:
        return f"{means}{size} {DISTRUST} {REPAIR}"
    p = p_words(found.test.p_value, found.test.least_p)
    if is_weak(found.test.p_value, found.test.least_p):
        return f"{means}{size} Chance would look as bad now and then ({p}). {TEST_MORE}"
    return f"{means}{size} Chance does not explain the finding above ({p}). {DISTRUST} {REPAIR}"


def about_confidence(found: Diagnosis) -> bool:
    """Is the question how sure the model is of its own answer?

    Parameters
    ----------
    found
        The diagnosis; its verdict gives a mean confidence then.
    """
    return found.view == "top" or "Mean confidence" in found.verdict


def _means(found: Diagnosis) -> str:
    """What was predicted and what happened, on average."""
    share = found.curve.support / found.curve.support.sum()
    predicted, observed = float(np.dot(share, found.curve.x)), float(np.dot(share, found.curve.y))
    if about_confidence(found):
        return f"This one is {_percent(predicted)} sure of its answers on average, and {_percent(observed)} of them are right."
    what = "the event" if found.view == "binary" else "the label" if found.view == "classwise" else found.view
    about = f"{what}{found.about}"
    return f"This one gives {about} a probability of {_percent(predicted)} on average, and it occurs in {_percent(observed)} of the cases."


def _not_seen(found: Diagnosis) -> str:
    error = _error(found)
    most = ""
    if error is not None and error.interval is not None:
        most = f" That is no proof: an average error of up to {_points(error.interval.high)} could be hidden in them."
    cases = f"These {found.n:,} cases show no error in its probabilities."
    return f"{cases}{most} {LEAVE} If smaller errors would matter, collect more cases."


def _error(found: Diagnosis) -> Estimate | None:
    results = found.results()
    return looked_up("calibration_error", results) if "calibration_error" in results else results.get("ece")


def _between(error: Estimate) -> str:
    if error.interval is None:
        return ""
    return f" (with 95 % confidence between {100 * error.interval.low:.3g} and {100 * error.interval.high:.3g})"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _points(error: float) -> str:
    return f"{100 * error:.3g} percentage points"


def _of_forecasts(found: ForecastDiagnosis) -> str:
    asked = "Forecasts are calibrated if 90 % intervals hold the outcome 90 % of the time, and so at every level."
    if found.calibrated is None:
        return f"{asked} These {found.n:,} cases show no error. {LEAVE}"
    return f"{asked}{_held(found)} They are not calibrated, and chance does not explain it. {DISTRUST} {REPAIR}"


def _held(found: ForecastDiagnosis) -> str:
    """How many outcomes lie within 90 % intervals and above the middle of their forecasts."""
    below = dict(zip(found.coverage.x.round(6).tolist(), found.coverage.y.tolist(), strict=True))
    if not {0.05, 0.5, 0.95} <= below.keys():
        return ""
    held, above = _percent(below[0.95] - below[0.05]), _percent(1 - below[0.5])
    return f" Here they hold it in {held} of the cases, and the outcome lies above the middle of the forecast in {above} of them, where 50 % would be right."
