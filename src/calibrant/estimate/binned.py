"""Binned calibration error: how far are mean prediction and observed rate apart, bin by bin?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from calibrant.bins import Binning, BinSums, EqualMass, EqualWidth, bins_of
from calibrant.bins.binning import settings
from calibrant.bins.equal_width import MOST_GRID_BINS
from calibrant.estimate.compat import PRESETS, RunsOf, collect_as
from calibrant.infer.squared import class_intervals, overall_interval
from calibrant.inputs import check_choice, check_count
from calibrant.kernels.sums.folded_normal import folded_normal_mean
from calibrant.methods import EVERY_VIEW, estimator
from calibrant.norms import Norm, check_norm, noise_power, norm_of_name, rooted
from calibrant.predictions import Event, Predictions, admit, few_plain_rows
from calibrant.problems import InputError
from calibrant.results import ClassTable, Estimate
from calibrant.results.later import LaterFields
from calibrant.types import Array, Floats

LEVEL = 0.95
"""Of the interval that the debiased square has."""


@estimator("binned", "binned calibration error", views=EVERY_VIEW)
def binned_error(
    labels: Any,
    probs: Any = None,
    *,
    bins: int | Binning = 15,
    norm: Norm = 1,
    debiased: bool = False,
    root: bool = True,
    clip: bool = True,
    view: Any = "auto",
    average: Literal["mean", "sum"] = "mean",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far are predictions from outcomes, averaged over bins of similar predictions?

    (Σ_k n_k/n · |p̄_k − ȳ_k|^α)^(1/α), with p̄_k the mean prediction and ȳ_k the observed
    rate of bin k.

    When to trust it: the plain value is too high by about `noise_floor` for a nearly
    calibrated model, and too low where bins mix errors of opposite sign. Compare `value`
    with `noise_floor`. `norm=2, debiased=True` has an interval: that of the error of these
    bins; class by class it holds for all classes simultaneously.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    bins
        Number of equal-mass bins; or a rule: `EqualMass(15)`, `EqualWidth(15)`,
        `Edges([...])` or another one.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square, any
        number from 1 to 100; `"max"` the largest.
    debiased
        Subtract the part of the error that sampling noise adds, for norms 1 and 2.
    root
        Take the α-th root; `False` gives the mean power, the squared error for norm 2.
    clip
        Raise a debiased value below 0 to 0; `root=False, clip=False` gives the signed,
        unbiased square.
    view
        `binary`, `top`, `class k` or `classwise`; `auto` is `binary` for one column and
        `top` for several.
    average
        For `classwise`: `mean` divides by the number of classes, `sum` does not; the root
        is taken afterwards.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean gap between prediction and observed rate over bins.
    Bias: up near calibration, down where bins mix errors of opposite sign.
    Cost: one pass for equal width and given edges, one sort for equal mass.
    Source: Roelofs et al. 2022, eq. 4.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.binned_error([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8], bins=cal.EqualWidth(2)).value
    0.25
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    return _measured(predictions, bins_of(bins, EqualMass), view, Options(norm, debiased, root, clip, average))


def _measured(predictions: Predictions, bins: Binning, view: Any, options: Options) -> Estimate:
    name = predictions.view(view)
    # a rule derived from this one may collect in its own way
    of_gaps = options.of_gaps and type(bins) is EqualWidth and bins.has_gaps(predictions)
    if of_gaps and (rows := predictions.few_rows(name)) is not None:
        return _of_gaps(rows, name, bins, options)
    return finish(collect(predictions, bins, name), name, predictions.classes, options)


def _of_gaps(rows: tuple[Array, Array], view: str, bins: Any, options: Options) -> Estimate:
    """That of few rows: its value now, and all sums of the bins when something that needs them is read."""
    n = len(rows[0])
    return _OfRows(rows, bins, view, options).estimate(NAMES[1], float(np.add.reduce(np.abs(bins.gaps(*rows)))) / n, n)


@estimator("ece", "expected calibration error", "ECE", views=EVERY_VIEW)
def ece(
    labels: Any,
    probs: Any = None,
    *,
    bins: int | Binning = 15,
    compat: str | None = None,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """Expected calibration error with 15 equal-width bins: the number everyone reports.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    bins
        Number of equal-width bins; or a rule for bins, where `compat` is None.
    compat
        Reproduce, edge for edge, what another package prints, so that a difference can be
        explained: `"guo"`, `"torchmetrics"` (its other norms are `"torchmetrics_l2"` and
        `"torchmetrics_max"`), `"netcal"`, `"sklearn"` or `"hle"`. `hle` leaves out the most
        confident rows; `parts` has the value with them and the debiased one.
    view
        `binary`, `top`, `class k` or `classwise`; `auto` is `binary` for one column and
        `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean gap between prediction and observed rate over 15 equal-width bins.
    Bias: up near calibration, down where bins mix errors of opposite sign.
    Cost: one pass.
    Source: Guo et al. 2017.

    Examples
    --------
    >>> import calibrant as cal
    >>> labels, probs = [0] * 450 + [1] * 550, [0.52] * 450 + [0.58] * 550
    >>> round(cal.ece(labels, probs, bins=10).value, 6)  # Nixon et al., Fig. 5: badly wrong, yet nearly 0
    0.003
    """
    usual = compat is None and type(bins) is int and bins <= MOST_GRID_BINS and type(view) is str
    if usual and view in ("auto", "binary") and (rows := few_plain_rows(labels, probs, counts, weights)) is not None:
        return _of_gaps(rows, "binary", bins_of(bins, EqualWidth), PLAIN)
    predictions = admit(labels, probs, counts=counts, weights=weights)
    if compat is None:
        return _measured(predictions, bins_of(bins, EqualWidth), view, PLAIN)
    check_choice("compat", compat, tuple(PRESETS))
    if view == "auto" and not predictions.is_binary and predictions.n_classes == 2:
        view = PRESETS[compat].two_columns
    state = collect_as(compat, predictions.event(view), check_count(bins, "bins"))
    estimate = finish(state, predictions.view(view), (), Options(PRESETS[compat].norm))
    described = dict(estimate.settings) | {"compat": compat, "differs": PRESETS[compat].differs}
    title = f"{'ECE' if PRESETS[compat].norm == 1 else estimate.title} as {PRESETS[compat].package} prints it"
    named = replace(estimate, title=title, settings=described)
    return _beside_all_rows(named, predictions, view) if compat == "hle" else named


def _beside_all_rows(printed: Estimate, predictions: Predictions, view: Any) -> Estimate:
    """What is printed without the most confident run, beside the value with it and the one corrected for noise."""
    event, runs = predictions.event(view), RunsOf()
    all_rows = finish(runs.collect(event), predictions.view(view), (), Options(2))
    bins = EqualMass(max(event.n // runs.size, 1))
    corrected = binned_error(predictions, bins=bins, norm=2, debiased=True, view=view)
    left_out = event.n - int(printed.parts["bins"].weight.sum())
    values = f"with them it is {all_rows.value:.4f}, less what noise adds {corrected.value:.4f}"
    warning = f"the {left_out} most confident rows are left out; {values}"
    return replace(printed, parts={**printed.parts, "all_rows": all_rows, "corrected": corrected}, cautions=(warning,))


def collect(predictions: Predictions, bins: Binning, view: Any = "auto") -> BinSums:
    """The additive state: per-bin sums, for the view's event or for each class."""
    name = predictions.view(view)
    if name == "classwise":
        return bins.collect_classes(predictions)
    there = bins.collect_on_device(predictions, name) if isinstance(bins, EqualWidth) else None
    return bins.collect(predictions.event(name)) if there is None else there


@dataclass(frozen=True, slots=True)
class Options:
    """The options that every binned error takes, checked; `binned_error` documents them."""

    norm: Norm = 1
    debiased: bool = False
    root: bool = True
    clip: bool = True
    average: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", check_norm(self.norm))
        check_choice("average", self.average, ("mean", "sum"))
        if self.debiased and self.norm not in (1, 2):
            raise InputError("debiased", "is defined for norms 1 and 2", f"norm is {self.norm!r}")
        if not self.clip and self.norm not in (1, "max") and self.root:
            why = "a negative square has no root"
            raise InputError("clip", "can be False only with root=False", why, "Pass root=False")

    @property
    def of_gaps(self) -> bool:
        """Is it the plain ECE, which needs no more of each bin than Σ(p − y)?"""
        return self.norm == 1 and not self.debiased

    @property
    def bounded(self) -> bool:
        """Is there an interval?"""
        return self.debiased and self.norm == 2

    def rooted(self, powers: Any) -> Any:
        """The error whose α-th power is given."""
        clipped = np.maximum(powers, 0) if self.clip else powers
        return rooted(clipped, self.norm, self.root)

    def overall(self, powers: Floats) -> float:
        """One error for all events."""
        if len(powers) == 1:
            return self.single(float(powers[0]))
        return float(self.rooted(powers.sum() if self.average == "sum" else powers.mean()))

    def single(self, power: float) -> float:
        """The error of one event."""
        return float(rooted(max(power, 0.0) if self.clip else power, self.norm, self.root))

    def title(self, view: str) -> str:
        """The name of the error."""
        name = NAMES.get(self.norm) or f"{norm_of_name(self.norm, self.root)}calibration error"
        return name + (f", class by class ({self.average})" if view == "classwise" else "")


PLAIN = Options()
NAMES: dict[Any, str] = {1: "ECE", "max": "MCE"}
"""Of errors, by their norm."""


def finish(state: BinSums, view: str, classes: tuple[Any, ...], options: Options, kind: str = "") -> Estimate:
    """The estimate that a state holds; `kind` is a word for its title."""
    debiased = options.debiased
    title = ("debiased " if debiased else "") + kind + options.title(view)
    value = options.overall(_powers(state, options.norm, debiased))
    interval = overall_interval(state, LEVEL, options.root, options.average) if options.bounded else None
    fields = _OfState(state, view, classes, options)
    return fields.estimate(title, value, state.n, interval, _cautions(state, debiased))


class _Fields(LaterFields):
    """The fields of a binned error that wait until they are read, made of its state."""

    state: BinSums
    view: str
    classes: tuple[Any, ...]
    options: Options

    def estimate(self, title: str, value: float, n: int, interval: Any = None, cautions: Any = ()) -> Estimate:
        return Estimate("binned_error", title, value, n, interval, self, self, self, cautions)

    def noise_floor(self) -> float | None:
        norm = self.options.norm
        return None if norm == "max" or self.options.debiased else self.options.overall(noise_powers(self.state, norm))

    def settings(self) -> dict[str, Any]:
        asked, bins = self.options, self.state.bins
        found = {"view": self.view, "bins": bins.describe(), "rule": settings(bins), "norm": asked.norm}
        found |= {"debiased": asked.debiased, "root": asked.root}
        return found | ({"average": asked.average} if self.view == "classwise" else {})

    def parts(self) -> dict[str, Any]:
        state, asked = self.state, self.options
        if self.view == "classwise":
            ends = class_intervals(state, LEVEL, asked.root) if asked.bounded else (None, None)
            return {
                "classes": ClassTable(self.classes, each_error(state, asked), state.sums[..., 3].sum(axis=-1), *ends)
            }
        return {"bins": state.table()} | ({"noise_sd": noise_sd(state)} if asked.of_gaps else {})


class _OfState(_Fields):
    def __init__(self, state: BinSums, view: str, classes: tuple[Any, ...], options: Options) -> None:
        self.state, self.view, self.classes, self.options = state, view, classes, options


class _OfRows(_Fields):
    """Those of few rows, whose other sums wait too."""

    classes = ()

    def __init__(self, rows: tuple[Array, Array], bins: EqualWidth, view: str, options: Options) -> None:
        self.rows, self.bins, self.view, self.options = rows, bins, view, options

    @cached_property
    def state(self) -> BinSums:  # type: ignore[override]
        labels, probs = self.rows
        return self.bins.collect(Event(probs, labels, None, self.view))


def each_error(state: BinSums, options: Options) -> Floats:
    """(C,): the error of every event of a state."""
    return np.asarray(options.rooted(_powers(state, options.norm, options.debiased)))


def _powers(state: BinSums, norm: Norm, debiased: bool) -> Floats:
    """(C,): Σ n_k/n · |p̄_k − ȳ_k|^α, or the largest gap.

    Debiased for α = 2: less ȳ(1−ȳ)/(n_k−1); for α = 1: 2·ECE − E[ECE'] with ȳ_k' ~ N(ȳ_k, ȳ_k(1−ȳ_k)/n_k).
    """
    if norm == 1 and not debiased:
        return state.gap_over_rows()
    gap = state.mean_prob - state.label_rate
    if norm == "max":
        return np.asarray(np.abs(gap).max(axis=-1))
    if not debiased:
        return state.mean_over_rows(np.abs(gap) ** norm)
    count, rate = state.rows, state.label_rate
    spread = np.maximum(rate * (1 - rate), 0)  # rounding may leave a rate just outside [0, 1]
    if norm == 2:
        correction = np.divide(spread, count - 1, out=np.zeros_like(spread), where=count >= 2)
        return state.mean_over_rows(gap**2 - correction)
    sd = np.sqrt(np.divide(spread, count, out=np.zeros_like(spread), where=count > 0))
    return state.mean_over_rows(2 * np.abs(gap) - folded_normal_mean(gap, sd))


def noise_powers(state: BinSums, norm: float) -> Floats:
    """(C,): E Σ n_k/n |p̄_k − ȳ_k|^α when every forecast is right, so that ȳ_k has mean p̄_k and variance p(1−p)/n_k."""
    return state.mean_over_rows(noise_power(state.rate_variance, norm))


def noise_sd(state: BinSums) -> float:
    """Standard deviation of the norm-1 error when every forecast is right: each bin adds a folded normal."""
    return math.sqrt(float((state.shares**2 * state.rate_variance * (1 - 2 / np.pi)).sum()))


def _cautions(state: BinSums, debiased: bool) -> tuple[str, ...]:
    found = []
    if debiased and (single := int(((state.weight > 0) & (state.rows < 2 - 1e-9)).sum())):
        found.append(f"{single} bins hold fewer than two rows and are not corrected for noise")
    if isinstance(state.bins, EqualMass) and len(state.weight) == 1:
        asked, filled = state.bins.n_bins, int((state.weight[0] > 0).sum())
        found += [f"tied predictions leave {filled} of {asked} bins"] * (filled < asked)
    if state.outside:
        found.append(f"rows of weight {state.outside:g} fall into no bin")
    return tuple(found)
