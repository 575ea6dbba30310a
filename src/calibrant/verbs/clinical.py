"""What does a journal ask of a clinical prediction model? Calibration, discrimination and net benefit in one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from calibrant.estimate.clinical.concordance import c_statistic
from calibrant.estimate.clinical.curve import (
    error_quantile_50,
    error_quantile_90,
    integrated_calibration_index,
    largest_error,
)
from calibrant.estimate.clinical.line import calibration_intercept, calibration_slope
from calibrant.estimate.clinical.ratios import check_threshold, observed_over_expected, standardised_net_benefit
from calibrant.estimate.selective import plain_event
from calibrant.inputs import check_level
from calibrant.options import checked
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Answer, Estimate, Keyed, Table, keyed, kind, number, rows_by_key
from calibrant.results.tables import ends, row_count

IN_GROUPS = "rows of a group are taken as independent: intervals are too short if they depend on each other"

RIGHT: dict[str, tuple[str, str]] = {
    "observed_over_expected": ("1", "above 1: more events than predicted"),
    "calibration_intercept": ("0", "above 0: risks too low on average, in log-odds"),
    "calibration_slope": ("1", "below 1: risks too extreme; above 1: not extreme enough"),
    "joint_intercept": ("0", "of the line whose slope is the one above"),
    "integrated_calibration_index": ("0", "mean distance between risk and observed rate"),
    "error_quantile_50": ("0", "half of the rows are no farther off"),
    "error_quantile_90": ("0", "nine tenths of the rows are no farther off, as far as the rows show"),
    "largest_error": ("0", "distance where it is largest, as far as the rows show"),
    "c_statistic": ("–", "an event has a higher risk than a non-event: 0.5 by chance, 1 always"),
    "standardised_net_benefit": ("–", "1: all events found and no false alarm; 0: as good as never acting"),
}
"""By the name of an estimate: its value for a calibrated model, and how to read it."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ClinicalReport(Keyed[Estimate], Answer):
    """The numbers of a validation study, each with its interval."""

    name: str
    n: int
    view: str
    events: float
    """observed; with weights, in effective rows"""
    expected: float
    level: float
    estimates: tuple[Estimate, ...]
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "Does the prediction model hold in these data?"

    def results(self) -> dict[str, Estimate]:
        """The estimates by key: the title up to a comma or bracket, in lower case."""
        return keyed(self.estimates)

    def figures(self) -> dict[str, Any]:
        """Rows, events, expected events, and every estimate by its key."""
        return {"n": self.n, "events": self.events, "expected": self.expected, **self.results()}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per estimate."""
        return rows_by_key(self.results())

    @property
    def heading(self) -> str:
        """Name, rows and events."""
        counted = f"{row_count(self.events)} events, {row_count(round(self.expected, 1))} expected"
        return f"{self.name}: {self.n:,} rows, {counted}; view: {self.view}"

    def sentence(self) -> str:
        """Level, spread and ranking of the risks in words."""
        by_name = {each.name: each for each in self.estimates}
        words = []
        for name, too_high, too_low, open_ in (
            ("observed_over_expected", "Risks are too low on average", "Risks are too high on average", "level"),
            ("calibration_slope", "Risks are not extreme enough", "Risks are too extreme", "spread"),
        ):
            if (found := by_name.get(name)) is None or found.interval is None:
                continue
            apart = too_high if found.interval.low > 1 else too_low if found.interval.high < 1 else ""
            finding = apart or f"These rows show no error in the {open_} of the risks"
            words.append(f"{finding} ({_shown(found)}).")
        if "c_statistic" in by_name:
            words.append(f"{_shown(by_name['c_statistic'], capital=True)}.")
        return " ".join(words) or "Too little to tell: the warnings say why."

    def tables(self) -> tuple[Table, ...]:
        """One row per estimate."""
        rows = tuple((e.title, e.value, ends(e.interval), *RIGHT[e.name]) for e in self.estimates)
        columns = ("measure", "value", f"{self.level:.0%} interval", "if calibrated", "meaning")
        return (Table("Clinical validation", columns, rows),)


def _shown(found: Estimate, capital: bool = False) -> str:
    title = found.title[:1].upper() + found.title[1:] if capital else found.title
    return f"{title} {number(found.value)}" + (f", {found.interval.in_words()}" if found.interval else "")


@checked
def clinical(
    labels: Any,
    probs: Any = None,
    *,
    threshold: float | None = None,
    view: Any = "auto",
    level: float = 0.95,
    name: str = "model",
    counts: Any = None,
    weights: Any = None,
) -> ClinicalReport:
    """Does a clinical prediction model hold? The numbers that journals ask for, with intervals.

    Observed over expected events, calibration intercept (slope 1) and slope, ICI, E50,
    E90 and Emax, the c-statistic and the standardised net benefit. Each is a registered
    estimator of `calibrant.estimate.clinical`, where its interval is explained; a measure
    that the data leave undefined is left out, and a warning says why. `plan_validation`
    says how many rows they need to be precise. The numbers are of the predictions as they
    are; those of a model that was fitted to the same rows are optimistic, and `optimism`
    corrects them by fitting it again.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted risks; or one `Predictions`, or a state from
        `collect`. Rows are taken as independent.
    threshold
        Risk from which on one would act, for the net benefit; by default the observed
        rate of events.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    level
        Confidence of each interval.
    name
        What to call the model in the answer.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> odds = rng.normal(-1.5, 1.0, 2000)
    >>> risk, truth = 1 / (1 + np.exp(-1.5 * odds)), 1 / (1 + np.exp(-odds))
    >>> found = cal.clinical(rng.random(2000) < truth, risk, threshold=0.2)
    >>> slope = found["calibration_slope"]
    >>> 2 / 3 in slope.interval, 1 in slope.interval
    (True, False)
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = plain_event(predictions, view)
    check_level(level)
    check_threshold(threshold)
    estimates, cautions = [], [IN_GROUPS] if predictions.groups is not None else []
    for measure in _measures(threshold):
        try:
            found = measure(predictions, view=view, level=level)
        except InputError as undefined:
            cautions.append(f"left out, as {undefined}")
            continue
        estimates += [found, *(e for e in found.parts.values() if isinstance(e, Estimate) and e.name in RIGHT)]
        cautions += found.cautions
    w = np.ones(len(event.probs)) if event.weights is None else event.weights
    observed, expected = float(w @ event.outcomes), float(w @ event.probs.astype(np.float64))
    return ClinicalReport(
        name=name,
        n=predictions.n,
        view=predictions.view(view),
        events=observed,
        expected=expected,
        level=level,
        estimates=tuple(estimates),
        cautions=tuple(dict.fromkeys(cautions)),
    )


def _measures(threshold: float | None) -> tuple[Callable[..., Estimate], ...]:
    """In the order of the table."""
    return (
        observed_over_expected,
        calibration_intercept,
        calibration_slope,
        integrated_calibration_index,
        error_quantile_50,
        error_quantile_90,
        largest_error,
        c_statistic,
        partial(standardised_net_benefit, threshold=threshold),
    )
