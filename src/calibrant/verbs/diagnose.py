"""Is it calibrated, and how sure are we?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from calibrant.bins import EqualMass, EqualWidth
from calibrant.detect.omnibus import is_calibrated
from calibrant.estimate.binned import binned_error
from calibrant.estimate.cumulative import ks_error
from calibrant.estimate.mean_gap import mean_gap
from calibrant.estimate.posterior import posterior_error
from calibrant.estimate.root_brier import root_brier
from calibrant.estimate.smooth import smooth_error
from calibrant.estimate.sweep import sweep_error
from calibrant.forecasts import Forecasts
from calibrant.interval import wilson
from calibrant.predictions import Predictions, admit
from calibrant.problems import InputError
from calibrant.resampling.null import ASSUMED_INDEPENDENT
from calibrant.resampling.rows import cluster_kind
from calibrant.results import BinTable, Curve, Estimate, Record, Table, TestResult, kind, number
from calibrant.score import brier_score, log_score

if TYPE_CHECKING:
    from calibrant.verbs.diagnose_regression import ForecastDiagnosis

ALARMS = 0.05
"""How often a calibrated model may be called miscalibrated; tests/truth measures it."""

MANY_SDS = 2.0
"""For labels that are shares, which no test takes: ECE this many standard deviations above its noise floor is miscalibrated."""

ROUNDING = 1e-12
"""An excess below this is arithmetic, not evidence."""

FEW_ROWS = 200
"""Below this even a large error is hard to see; the diagnosis says so."""

Measure = Callable[..., Estimate]

OF_THE_VIEW: tuple[Measure, ...] = (
    posterior_error,
    partial(posterior_error, norm=2),
    partial(binned_error, bins=EqualWidth(15)),
    partial(binned_error, bins=EqualMass(15), debiased=True),
    partial(binned_error, bins=EqualMass(15), norm=2, debiased=True),
    partial(binned_error, bins=EqualMass(15), norm="max"),
    sweep_error,
    smooth_error,
    ks_error,
    mean_gap,
)
"""What a diagnosis measures for its view; a new estimator joins by one line."""

OF_THE_WHOLE: tuple[Measure, ...] = (brier_score, log_score, root_brier)
"""What a diagnosis measures of the whole distribution."""

OF_CLASSES: tuple[Measure, ...] = (partial(binned_error, bins=EqualWidth(15), view="classwise", average="mean"),)
"""What a diagnosis adds when there are several columns."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Record):
    """The answer to "is it calibrated?": estimates, the curve behind them, what to beware of and what to do."""

    name: str
    n: int
    view: str
    n_classes: int
    estimates: tuple[Estimate, ...]
    curve: Curve
    bins: BinTable
    calibrated: bool | None
    """False: clearly not. None: these data do not show an error."""
    verdict: str
    advice: tuple[str, ...]
    cautions: tuple[str, ...]
    test: TestResult | None = None
    """could a calibrated model have made these predictions? Exact; None where labels are shares"""

    def __getitem__(self, title: str) -> Estimate:
        """An estimate by the title it prints."""
        for estimate in self.estimates:
            if title in (estimate.title, estimate.name):
                return estimate
        raise KeyError(f"{title!r}; there are {', '.join(e.title for e in self.estimates)}")

    def tables(self) -> tuple[Table, ...]:
        """What the terminal, the notebook and the report show."""
        tests = () if self.test is None else self.test.tables()
        return (estimate_table(self.estimates), *tests, bin_rows(self.bins, self.curve))

    def __repr__(self) -> str:
        lines = [f"Diagnosis of {self.name} ({self.n:,} rows, view: {self.view})", self.verdict, ""]
        lines += [self.tables()[0].to_text(), ""]
        lines += [f"caution: {c}" for c in self.cautions] + [f"advice: {a}" for a in self.advice]
        return "\n".join(lines).rstrip()

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(text)}</li>" for text in (*self.cautions, *self.advice))
        table = self.tables()[0].to_html()
        return f"<h4>{escape(self.name)}</h4><p>{escape(self.verdict)}</p>{table}<ul>{items}</ul>"

    def save(self, path: str | Path) -> None:
        """Write a report: `.html` for people, `.json` for machines."""
        from calibrant.report import write  # drawing stands above the verbs; this is the one way up

        write(path, self)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the reliability diagram (needs matplotlib)."""
        from calibrant.plot import reliability

        return reliability(self, ax=ax, **options)


@overload
def diagnose(labels: Forecasts, *, name: str = "model") -> ForecastDiagnosis: ...
@overload
def diagnose(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    cluster: Any = None,
    name: str = "model",
    weights: Any = None,
) -> Diagnosis: ...
def diagnose(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    cluster: Any = None,
    name: str = "model",
    weights: Any = None,
) -> Diagnosis | ForecastDiagnosis:
    """Is the model calibrated, how far off is it, and how much of that is noise?

    Takes a `Predictions`, or labels and probs; or forecasts of a real number, such as `Predictions.from_gaussian` gives.
    `cluster` says how rows of a group depend on each other, for the test: that of `is_calibrated`.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> found = cal.diagnose(test, name="digits")
    >>> found.calibrated
    False
    >>> print(found.verdict)
    Not calibrated: over-confident. Mean confidence 91.6 %, accuracy 82.8 %; calibration error 0.0866 (95 % interval 0.0651 to 0.1136); exact test p = 0.0010. ECE 0.0904, where a calibrated model would show about 0.0199.
    """
    if isinstance(labels, Forecasts):
        return _of_forecasts(labels, probs, view, cluster, name, weights)
    predictions = admit(labels, probs, weights=weights)
    chosen = predictions.view(view)
    if chosen == "classwise":
        raise InputError(
            "view",
            "must be one question for a diagnosis",
            "'classwise' is many questions",
            "Use 'top' or 'class k'; class-wise errors are in the table",
        )
    event = predictions.event(chosen)
    estimates = [measure(predictions, view=chosen) for measure in OF_THE_VIEW]
    estimates += [measure(predictions) for measure in OF_THE_WHOLE]
    if not predictions.is_binary:
        estimates += [measure(predictions) for measure in OF_CLASSES]
    ece, gap = (next(e for e in estimates if e.name == name) for name in ("binned_error", "mean_gap"))
    test = _tested(predictions, chosen, cluster)
    bins = next(e for e in estimates if "equal-mass" in str(e.settings.get("bins"))).parts["bins"]
    low, high = wilson(bins.label_rate, bins.weight, 0.95)
    curve = Curve(bins.mean_prob, bins.label_rate, low, high, bins.weight / bins.weight.sum())
    said = float(np.average(event.probs.astype(np.float64), weights=event.weights))
    calibrated = None if _seems_calibrated(ece, test) else False
    return Diagnosis(
        name=name,
        n=predictions.n,
        view=chosen,
        n_classes=predictions.n_classes,
        estimates=tuple(estimates),
        curve=curve,
        bins=bins,
        calibrated=calibrated,
        verdict=_verdict(calibrated, chosen, said, estimates[0], ece, gap, test),
        advice=_advice(calibrated),
        cautions=_cautions(predictions, estimates, test),
        test=test,
    )


def _of_forecasts(
    forecasts: Forecasts, probs: Any, view: Any, cluster: Any, name: str, weights: Any
) -> ForecastDiagnosis:
    from calibrant.verbs.diagnose_regression import diagnose_forecasts

    if probs is not None or weights is not None or view != "auto":
        raise InputError(
            "labels", "are forecasts, which have no views and carry their own data", advice="Pass them alone"
        )
    if cluster is not None and cluster is not False:
        raise InputError("cluster", "cannot be used for forecasts", f"it is {cluster!r}")
    return diagnose_forecasts(forecasts, name=name)


def _tested(predictions: Predictions, view: str, cluster: Any) -> TestResult | None:
    """The exact omnibus test with as many draws as a diagnosis has time for; ties never count for an alarm."""
    if predictions.soft:
        cluster_kind(predictions, cluster)
        return None
    draws = int(np.clip(DRAWN_LABELS / predictions.n, FEWEST_DRAWS, MOST_DRAWS))
    return is_calibrated(predictions, view=view, n_draws=draws, ties="count", cluster=cluster)


DRAWN_LABELS, FEWEST_DRAWS, MOST_DRAWS = 1e8, 99, 999
"""Labels drawn in all; the p-value is exact with any number of draws, and finer with more."""


def _seems_calibrated(ece: Estimate, test: TestResult | None) -> bool:
    if test is not None:
        return not test.rejects(ALARMS)
    excess, sd = ece.value - (ece.noise_floor or 0.0), ece.parts["noise_sd"]
    one_row = 0.5 / float(ece.parts["bins"].weight.sum())  # ECE moves in steps of a row
    return not (excess > MANY_SDS * sd + one_row and excess > ROUNDING)


def _verdict(
    calibrated: bool | None,
    view: str,
    said: float,
    error: Estimate,
    ece: Estimate,
    gap: Estimate,
    test: TestResult | None,
) -> str:
    words = ("Mean confidence", "accuracy") if view == "top" else ("Mean prediction", "observed rate")
    facts = f"{words[0]} {said:.1%}, {words[1]} {said - gap.value:.1%}; calibration error {number(error.value)}"
    if error.interval is not None:
        facts += f" ({error.interval.level:.0%} interval {number(error.interval.low)} to {number(error.interval.high)})"
    facts += "" if test is None else f"; exact test p = {number(test.p_value)}"
    facts += f". ECE {number(ece.value)}, where a calibrated model would show about {number(ece.noise_floor or 0.0)}."
    seen = (
        f"No miscalibration to be seen in {ece.n:,} rows"
        if calibrated is None
        else f"Not calibrated{_direction(gap, view)}"
    )
    return f"{seen}. {facts.replace('%', ' %')}"


def _direction(gap: Estimate, view: str) -> str:
    if gap.interval is None or 0 in gap.interval:
        return ", with errors in both directions"
    high, low = ("over-confident", "under-confident") if view == "top" else ("predicts too high", "predicts too low")
    return f": {high if gap.value > 0 else low}"


def _advice(calibrated: bool | None) -> tuple[str, ...]:
    if calibrated is None:
        return ("Nothing to repair that these data show. More rows would show smaller errors.",)
    return (
        "Fit a map on validation data (recalibrate, for a start with temperature) and judge it on other data (compare).",
    )


def _cautions(predictions: Predictions, estimates: list[Estimate], test: TestResult | None) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for estimate in estimates:
        for caution in estimate.cautions:
            first.setdefault(caution, estimate.title)
    found = [f"{title}: {caution}" for caution, title in first.items()]
    if test is not None and ASSUMED_INDEPENDENT in test.cautions:
        found.insert(0, ASSUMED_INDEPENDENT)
    if test is not None and "cluster" in test.settings:
        found.insert(0, "cluster is for the test: intervals of calibration errors take rows as independent")
    if predictions.n < FEW_ROWS:
        found.insert(0, f"{predictions.n} rows are few: an error of a few points cannot be told from noise")
    return tuple(found)


def estimate_table(estimates: tuple[Estimate, ...]) -> Table:
    """Every estimate in a row: value, interval, what noise alone would show."""
    rows = []
    for e in estimates:
        interval = "" if e.interval is None else f"{number(e.interval.low)} … {number(e.interval.high)}"
        how = ", ".join(str(e.settings[key]) for key in ("view", "bins") if key in e.settings)
        rows.append((e.title, e.value, interval, "" if e.noise_floor is None else number(e.noise_floor), how))
    return Table("Measured", ("quantity", "value", "95% interval", "if calibrated", "how"), tuple(rows))


def bin_rows(bins: BinTable, curve: Curve) -> Table:
    """The bins behind the reliability diagram."""
    rows = tuple(
        (f"{bins.low[i]:.3f} – {bins.high[i]:.3f}", f"{bins.weight[i]:,.6g}", float(bins.mean_prob[i]), float(bins.label_rate[i]), f"{curve.low[i]:.3f} … {curve.high[i]:.3f}", float(bins.gap[i]))
        for i in range(len(bins))
    )  # fmt: skip
    return Table("Bin by bin", ("predictions", "rows", "mean", "observed", "95% interval", "gap"), rows)
