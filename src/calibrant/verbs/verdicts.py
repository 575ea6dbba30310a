"""What a diagnosis says: verdict, numbers and advice that agree with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.predictions import Predictions, StatePredictions
from calibrant.results import Estimate, TestResult, number, p_words
from calibrant.score.logarithmic import LogScore
from calibrant.score.score import first_infinite
from calibrant.verbs.class_findings import ClassFindings
from calibrant.verbs.faults import Fault, Kind

TINY = 5e-5
"""Errors below this are written as 0.0000."""

WEAK = 0.01
"""p-values above this are weak evidence; those that draws allow no smaller are not."""

NO_ERROR_SEEN = "These data show no miscalibration to repair. More rows would show smaller errors."
MORE_ROWS = "The evidence is weak: test other rows before anything is repaired."
GENERAL = (
    "Fit a map on validation data (recalibrate: by default auto, which chooses by held-out rows) "
    "and judge it on other data (compare)."
)
REPAIRS: dict[Kind, tuple[str, str]] = {
    "shift": (
        "The log-odds are shifted: a map with an intercept can repair that, such as platt. "
        "Ask whether the event has become more or less frequent since training.",
        "The confidence is off by much the same everywhere: temperature can repair that with one number.",
    ),
    "slope": (
        "The log-odds have the wrong slope: platt can repair that, or temperature where there is no shift.",
        "The confidence has the wrong slope: temperature or ensemble_temperature can repair that.",
    ),
    "shape": (
        "No straight line in log-odds repairs this error: try gaussian_process, or isotonic where rows are many.",
        "One temperature does not repair an error of this shape: try maps that bend, such as order_preserving.",
    ),
    "unclear": ("", ""),
}
"""What repairs each kind of fault: of one probability, and of the top class of several."""

SLOPE_AND_MEAN = "The log-odds have the wrong slope, and the mean prediction is off as well: platt can repair both."
PER_CLASS = (
    "Some classes are wrong by themselves: maps with numbers for each class can repair that, such as vector, "
    "structured_vector or dirichlet."
)
ALIKE = "After one temperature no class would be clearly wrong: temperature can repair that with one number."
NEVER_ZERO = "Nothing that can happen has probability 0: the maps of recalibrate answer neither 0 nor 1."


CLEAR = "Not calibrated"


def is_weak(p: float, least: float = 0.0) -> bool:
    """Would a calibrated model look as bad now and then?

    Parameters
    ----------
    p
        The p-value of a test that rejects.
    least
        The smallest that its draws allow.
    """
    return p > max(WEAK, least)


def accused(p: float, least: float = 0.0) -> str:
    """How a verdict begins where a test rejects: as strong as the evidence.

    Parameters
    ----------
    p, least
        As in `is_weak`.
    """
    if not is_weak(p, least):
        return CLEAR
    return f"Weak evidence of miscalibration ({100 * p:.2g} % of calibrated models would look as bad)"


@dataclass(frozen=True, slots=True)
class Found:
    """What the verdict is made of."""

    n: int
    view: str
    confidence: bool
    """are predictions the confidence in an answer?"""
    mean: float
    error: Estimate
    ece: Estimate
    gap: Estimate
    wider: tuple[Estimate, ...]
    """errors class by class and of the whole distribution, where they were measured"""
    test: TestResult | None
    calibrated: bool | None
    fault: Fault
    impossible: str
    """outcomes of probability 0 in words; empty if there are none"""
    classes: ClassFindings | None

    def verdict(self) -> str:
        """First what was found, then the numbers."""
        numbers = f"{self._means()}; {self._size()}{self._chance()}. {self._binned()}"
        return f"{self._finding()}. {numbers.replace('%', ' %')}"

    def advice(self) -> tuple[str, ...]:
        """What repairs what was found."""
        if self.calibrated is None and not self.impossible:
            return (NO_ERROR_SEEN,)
        found = [NEVER_ZERO] if self.impossible else []
        if self._weak:
            return (*found, MORE_ROWS, GENERAL)
        if self.classes is not None and self.classes.wrong_otherwise:
            found += [ALIKE if self.classes.alike else PER_CLASS]
        elif self._shown_of_view():
            found += [SLOPE_AND_MEAN if self._sloped_and_off() else REPAIRS[self.fault.kind][self.view == "top"]]
        return (*filter(None, found), GENERAL)

    def _sloped_and_off(self) -> bool:
        """Of one probability: is the mean clearly off beside the slope, so that a slope alone does not repair it?"""
        interval = self.gap.interval
        off = interval is not None and (interval.low > 0 or interval.high < 0)
        return self.fault.kind == "slope" and self.view != "top" and off

    @property
    def _weak(self) -> bool:
        """Would a calibrated model look as bad now and then?"""
        return self.calibrated is False and self.test is not None and is_weak(self.test.p_value, self.test.least_p)

    def _finding(self) -> str:
        if self.calibrated is False:
            how = CLEAR if self.test is None else accused(self.test.p_value, self.test.least_p)
            return f"{how}{self._ways()}"
        told = f"No miscalibration to be seen in {self.n:,} rows{self._of_what()}"
        if self.error.interval is not None and self.error.interval.low > 0:
            doubt = "the test finds none, but the interval of the error leaves out 0"
            alone = "" if self.classes is not None else self._of_what()
            told = f"No clear miscalibration in {self.n:,} rows{alone}: {doubt}"
        return f"{told}, but {self.impossible}" if self.impossible else told

    def _ways(self) -> str:
        """What is wrong, behind "Not calibrated"."""
        shown, ways = self._shown_of_view(), [self.impossible]
        ways += [f"{'otherwise ' * bool(self.impossible)}{self._perhaps('top')}{self.fault.words}"] if shown else []
        if self.classes is not None and self.classes.n_wrong:
            named = self.classes.named(not (shown and self.classes.alike))
            ways += [f"{self._perhaps('classwise')}wrong for {named}"]
        told = "; ".join(filter(None, ways))
        if self.classes is None or self.impossible or self._rejects("top"):
            return f": {told}" if told else ", in no single direction"
        if not told and self.test is not None:
            whole = self.test.parts.get("canonical")
            found = whole.finding if whole is not None else ""
            told = f"{self._perhaps('canonical')}{found}" if found else "in no single direction"
        return f", though the top class alone shows no clear error: {told}"

    def _perhaps(self, part: str) -> str:
        """Before words that rest on weak evidence: of one of several tests, or of the only one."""
        if self.test is None or self.impossible:
            return ""
        one = self.test.parts.get(part) if self.classes is not None else None
        p = self.test.p_value if one is None else one.parts["adjusted"]
        return "perhaps " * is_weak(p, self.test.least_p if one is None else max(one.least_p, self.test.least_p))

    def _of_what(self) -> str:
        if self.classes is not None:
            whole = ", not of the whole distribution" if self._whole else "; the whole distribution was not tested"
            return f": not of the top class, not of any class{whole}"
        return " for the top class, which is all that was tested" if self.view == "top" else ""

    def _shown_of_view(self) -> bool:
        """Does the view itself show the fault that words describe?"""
        return bool(self.fault.words) and (self.classes is None or self._rejects("top"))

    def _rejects(self, name: str) -> bool:
        part = None if self.test is None else self.test.parts.get(name)
        return bool(part is not None and part.parts["adjusted"] <= 0.05)

    def _means(self) -> str:
        words = ("Mean confidence", "accuracy") if self.confidence else ("Mean prediction", "observed rate")
        return f"{words[0]} {self.mean:.1%}, {words[1]} {self.mean - self.gap.value:.1%}"

    def _size(self) -> str:
        """The error: a number where it is known to be one, else what it is at most."""
        interval, value = self.error.interval, self.error.value
        of_what = "calibration error" + (" of the top class" if self.view == "top" else "")
        if interval is None:
            return f"{of_what} {number(value)}"
        if interval.low > 0 and value >= max(interval.low, TINY):
            return f"{of_what} {number(value)} ({interval.in_words()})"
        found = self.calibrated is False and (self.classes is None or self._rejects("top"))
        how = ", detected but of uncertain size:" * found
        return f"{of_what}{how} at most {number(interval.high)} ({interval.in_words()})"

    def _chance(self) -> str:
        if self.test is None:
            return ""
        p = p_words(self.test.p_value, self.test.least_p)
        several = "two tests (top class, each class)"
        if self._whole:
            several = "three exact tests (top class, each class, whole distribution)"
        return f"; {'exact test' if self.classes is None else several} {p}"

    @property
    def _whole(self) -> bool:
        """Was the whole distribution tested?"""
        return self.test is not None and "canonical" in self.test.parts

    def _binned(self) -> str:
        ece, floor = number(self.ece.value), self.ece.noise_floor or 0.0
        if self.classes is not None:
            return self._several(f"ECE of the top class {ece} ({_about(floor)})")
        if self.calibrated is False and self.ece.value <= floor:
            return f"ECE {ece} is no more than a calibrated model would show: its bins do not see this error."
        return f"ECE {ece}, where a calibrated model would show about {number(floor)}."

    def _several(self, top: str) -> str:
        """Errors of the top class, of the classes and of the whole distribution."""
        names = ("class-wise ECE", "canonical error")
        told = [
            f"{name} {number(each.value)} ({_about(each.noise_floor)})"
            for name, each in zip(names, self.wider, strict=False)
        ]
        return f"{', '.join([top, *told])}; in brackets what a calibrated model would show."


def _about(floor: float | None) -> str:
    """The noise floor in brackets, as far as it is known."""
    return "not known" if floor is None else f"about {number(floor)}"


def impossible_words(predictions: Predictions, log: Estimate, has_rows: bool) -> str:
    """Outcomes that were given probability 0, how many, and the first of them; empty if there are none.

    Parameters
    ----------
    predictions
        The data.
    log
        Its log score.
    has_rows
        Are these the user's rows, whose numbers mean something to the user?
    """
    if not np.isinf(log.value):
        return ""
    so = "so the log loss is infinite"
    if isinstance(predictions, StatePredictions):
        return f"an outcome given probability 0, {so}"
    scores, weights = LogScore().rows(predictions), predictions.weights
    infinite, at = np.isinf(scores), first_infinite(scores, weights)
    assert at is not None
    counted = predictions.mass is None or predictions.mass.counts
    many = float((infinite * counted).sum())
    which = f"row {at} (counted from 0)" if many == 1 else f"the first is row {at} (counted from 0)"
    where = f": {which}, {_row(predictions, at)}" if has_rows else ""
    return f"{many:,.6g} outcome{'s' * (many != 1)} given probability 0, {so}{where}"


def _row(predictions: Predictions, at: int) -> str:
    label: Any = predictions.labels[at]
    if predictions.is_binary:
        return f"predicted {float(predictions.probs[at]):g}, observed {float(label):g}"
    return "shares" if predictions.soft else f"class {predictions.classes[int(label)]} occurred"
