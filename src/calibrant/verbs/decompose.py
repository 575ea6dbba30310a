"""Where does the score come from: from how hard the task is, from what the model knows, or from how it says so?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import Binning
from calibrant.forecasts import Forecasts
from calibrant.inputs import check_count
from calibrant.interval import moments_of
from calibrant.maps import METHODS, Histogram, Isotonic, recipe_of
from calibrant.maps.folds import in_folds
from calibrant.predictions import Predictions, admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Record, Table, kind, number
from calibrant.score.rule import Rule
from calibrant.score.score import check_score, first_infinite

Floats = NDArray[np.float64]


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Decomposition(Record):
    """score = miscalibration − discrimination + uncertainty."""

    score: Estimate
    miscalibration: float
    """what saying it better would save: MCB, reliability, or the calibration term"""
    discrimination: float
    """what the model knows beyond the overall rates: DSC, resolution, or sharpness"""
    uncertainty: float
    """what the overall rates score, whatever the model: UNC, or the entropy of the labels"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))
        object.__setattr__(self, "cautions", tuple(self.cautions))

    @property
    def refinement(self) -> float:
        """What is left when the predictions are mended: uncertainty − discrimination."""
        return self.uncertainty - self.discrimination

    def sentence(self) -> str:
        """The finding in words."""
        title = f"{self.score.title[:1].upper()}{self.score.title[1:]}"
        parts = f"miscalibration {number(self.miscalibration)} − discrimination {number(self.discrimination)}"
        return f"{title} {number(self.score.value)} = {parts} + uncertainty {number(self.uncertainty)}, {self.settings['how']}."

    @property
    def table(self) -> Table:
        """The parts, one a row."""
        rows = (
            ("miscalibration", self.miscalibration, "how much a repair would save"),
            ("− discrimination", -self.discrimination, "what the model knows beyond the overall rates"),
            ("+ uncertainty", self.uncertainty, "what the overall rates score"),
            ("= score", self.score.value, self.score.title),
        )
        return Table(
            "Where the score comes from", ("part", "value", "meaning"), rows, f"Estimated {self.settings['how']}."
        )

    def __repr__(self) -> str:
        return "\n".join([self.sentence(), *(f"  caution: {c}" for c in self.cautions)])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence())}</p>{self.table.to_html()}"


def decompose(
    labels: Any,
    probs: Any = None,
    *,
    score: str | Rule = "auto",
    by: Any = "isotonic",
    cross_fitted: bool = False,
    folds: int = 10,
    view: Any = "canonical",
    level: float = 0.95,
    weights: Any = None,
) -> Decomposition:
    """Split a proper score: score = miscalibration − discrimination + uncertainty, exactly.

    The predictions are mended by a map ĉ fitted on the same rows: miscalibration is S(p) − S(ĉ), uncertainty what the overall
    rates score, discrimination what ĉ scores better than those. These estimate the calibration, entropy and
    sharpness of Gruber & Buettner 2022, Lemma 4.1. `by` is

    - `"isotonic"`: CORP (Dimitriadis, Gneiting & Jordan 2021). For a yes/no question miscalibration and discrimination are at
      least 0, whatever the score, and nothing has to be tuned;
    - bins, such as `EqualMass(15)`: the rate of each bin. What varies within a bin is lost, so miscalibration may be negative;
    - the name or recipe of any map.

    Fitted on the rows it is judged by, a map follows their noise: miscalibration is too large. `cross_fitted=True` judges each row by
    a map that has not seen it; miscalibration is then too small rather than too large, and can be negative.
    For several classes, maps of a single event go one class against the rest, and the parts have no certain sign.

    `score="auto"` is Brier. For forecasts of a real number it is the squared error of their means, mended by isotonic regression;
    `"pinball"`, or a `PinballScore` with levels, takes their quantiles, mended by isotonic quantile regression, on average over the levels.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decompose([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], view="binary")  # ĉ is 0, ½, ½, 1
    Brier score 0.2000 = miscalibration 0.0750 − discrimination 0.1250 + uncertainty 0.2500, by isotonic on the same rows.
    """
    if isinstance(labels, Forecasts):
        return _of_forecasts(labels, probs, weights, view, cross_fitted, score=score, by=by, level=level)
    rule = check_score("brier" if isinstance(score, str) and score == "auto" else score)
    predictions = admit(labels, probs, weights=weights)
    check_count(folds, "folds", 2)
    found = rule.score(predictions, view=view, level=level)
    rows = _asked(predictions, view)

    def of(some: Predictions) -> Floats:
        return rule.rows(some, "canonical" if view == "canonical" else "binary")

    recipe, name = _recipe(by, bounded=cross_fitted)
    cautions = found.cautions if np.isinf(found.value) else ()
    if cross_fitted:
        values, w = _unseen(recipe, rows, of, folds)
    else:
        fitted = recipe.fit(rows)
        values, w = of(fitted.apply(rows)), rows.weights
        cautions += fitted.fit.cautions
    left = moments_of(values, w).mean
    if np.isinf(left):
        raise InputError(
            "by",
            f"must give a finite {rule.title}",
            f"mended row {first_infinite(values, w)} gives probability 0 to what happened",
            "Use a bounded recipe",
        )
    none = float(of(_overall(rows))[0])
    how = f"by {name} " + (f"cross-fitted over {folds} folds" if cross_fitted else "on the same rows")
    described = {**found.settings, "by": name, "cross_fitted": cross_fitted, "how": how}
    described |= {"folds": folds} if cross_fitted else {}
    return Decomposition(found, found.value - left, none - left, none, described, cautions)


def _of_forecasts(
    forecasts: Forecasts, probs: Any, weights: Any, view: Any, cross_fitted: bool, **options: Any
) -> Decomposition:
    from calibrant.verbs.decompose_forecasts import decompose_forecasts

    if probs is not None or weights is not None or view != "canonical" or cross_fitted:
        raise InputError(
            "labels", "are forecasts, which have no views, folds or weights of others", advice="Pass them alone"
        )
    return decompose_forecasts(forecasts, **options)


def _asked(predictions: Predictions, view: Any) -> Predictions:
    """The whole distribution, or the view's question as a single event, in float64."""
    if view != "canonical":
        event = predictions.event(view)
        probs = event.probs.astype(np.float64)
        return Predictions(event.outcomes, probs, weights=event.weights, groups=predictions.groups, soft=not event.hard)
    if predictions.said.dtype == np.float64:
        return predictions
    wide = predictions.said.astype(np.float64)
    return predictions.with_probs(wide) if predictions.logits is None else predictions.with_logits(wide)


def _recipe(by: Any, bounded: bool) -> tuple[Any, str]:
    """The recipe and its name. Rates are taken as they are, unless they are to judge rows that have not been seen."""
    if isinstance(by, Binning):
        return Histogram(by, bounded=bounded), by.describe()
    if isinstance(by, str) and by == "isotonic":
        return Isotonic(bounded=bounded), by
    if isinstance(by, str) and by == "histogram":
        return Histogram(bounded=bounded), by
    known = isinstance(by, str) and by in (*METHODS, "auto")
    if not known and (isinstance(by, str | type) or not callable(getattr(by, "fit", None))):
        names = ", ".join(map(repr, ("auto", *METHODS)))
        raise InputError("by", f"must be one of {names}, bins, or a recipe with fit", f"it is {by!r}")
    return recipe_of(by), by if isinstance(by, str) else repr(by)


def _unseen(
    recipe: Any, rows: Predictions, of: Callable[[Predictions], Floats], folds: int
) -> tuple[Floats, Floats | None]:
    """The score of each row, mended by a map that has not seen it, and the weights."""
    units, masks = in_folds(rows, folds)
    values = np.empty(units.n)
    for unseen in masks:
        values[unseen] = of(recipe.fit(units.rows(~unseen)).apply(units.rows(unseen)))
    return values, units.weights


def _overall(rows: Predictions) -> Predictions:
    """One row that says the overall rates, and of which they are true."""
    if rows.is_binary:
        rate = np.array([np.average(rows.labels, weights=rows.weights)])
        return Predictions(rate, rate, soft=True)
    if rows.soft:
        rates = np.average(rows.labels, axis=0, weights=rows.weights)
    else:
        rates = np.bincount(rows.labels, rows.weights, rows.n_classes).astype(np.float64)
    rates = (rates / rates.sum())[None]
    return Predictions(rates, rates, soft=True)
