"""Where does the score come from: a hard task, little knowledge, or miscalibration?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.bins import Binning
from calibrant.forecasts import Forecasts
from calibrant.inputs import check_count
from calibrant.interval import moments_of
from calibrant.maps import Histogram, Isotonic, recipe_of
from calibrant.maps.folds import in_folds
from calibrant.methods import methods
from calibrant.options import checked
from calibrant.predictions import Predictions, admit, as_predictions
from calibrant.problems import InputError
from calibrant.results import Answer, Estimate, Table, kind, number
from calibrant.results.constraints import Holds
from calibrant.score.rule import Rule
from calibrant.score.score import check_score, first_infinite
from calibrant.types import Floats
from calibrant.verbs.decompose_forecasts import forecast_parts

SAVED = ("how much recalibration would save", "how much recalibration saves on these same rows, their noise included")
"""What miscalibration means: by a map that was fitted to other rows, and to the same ones."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Decomposition(Answer):
    """score = miscalibration − discrimination + uncertainty."""

    score: Estimate
    miscalibration: float
    """what recalibration would save: MCB, reliability, or the calibration term"""
    discrimination: float
    """what the model knows beyond the overall rates: DSC, resolution, or sharpness"""
    uncertainty: float
    """the score of the overall rates, whatever the model: UNC, or the entropy of the labels"""
    settings: Annotated[
        Mapping[str, Any], Holds("must say how", lambda settings, **_: isinstance(settings.get("how"), str))
    ] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "Where does the score come from?"
    printed_tables: ClassVar[int | None] = 0

    @property
    def refinement(self) -> float:
        """The score after recalibration: uncertainty − discrimination."""
        return self.uncertainty - self.discrimination

    def sentence(self) -> str:
        """The finding in words."""
        title = f"{self.score.title[:1].upper()}{self.score.title[1:]}"
        parts = f"miscalibration {number(self.miscalibration)} − discrimination {number(self.discrimination)}"
        return f"{title} {number(self.score.value)} = {parts} + uncertainty {number(self.uncertainty)}, {self.settings['how']}."

    def tables(self) -> tuple[Table, ...]:
        """One row per part."""
        rows = (
            ("miscalibration", self.miscalibration, SAVED[self.settings["how"].endswith("the same rows")]),
            ("− discrimination", -self.discrimination, "what the model knows beyond the overall rates"),
            ("+ uncertainty", self.uncertainty, "the score of the overall rates"),
            ("= score", self.score.value, self.score.title),
        )
        return (Table("Where the score comes from", ("part", "value", "meaning"), rows, f"{self.settings['how']}."),)


@checked
def decompose(
    labels: Any,
    probs: Any = None,
    *,
    score: str | Rule = "auto",
    method: Any = "isotonic",
    cross_fitted: bool = False,
    n_folds: int = 10,
    view: Any = "canonical",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Decomposition:
    """Split a proper score: score = miscalibration − discrimination + uncertainty, exactly.

    The predictions are recalibrated by a map ĉ fitted on the same rows: miscalibration
    is S(p) − S(ĉ), uncertainty the score of the overall rates, discrimination the
    improvement of ĉ on those. These estimate the calibration, entropy and sharpness of
    Gruber & Buettner 2022, Lemma 4.1.

    Fitted on the rows on which it is judged, a map follows their noise: miscalibration
    is too large. With `cross_fitted=True` it is too small rather than too large, and can
    be negative. For several classes, maps of a single event go one class against the
    rest, and the signs of the parts are not certain.

    Parameters
    ----------
    labels
        The outcomes; or a `Predictions`; or forecasts of a real number, for which the
        lemma holds as well: see `score` and `method`.
    probs
        Predicted probabilities: one column for an event, or one column per class.
    score
        A proper score or its name; `"auto"` is Brier. Of forecasts: `"squared"`, the squared
        error of their means, which is their `"auto"`; `"pinball"`, `"crps"`,
        `"dawid_sebastiani"`, `"gaussian_log"`, or any `ForecastScore`.
    method
        How to recalibrate. `"isotonic"`: CORP (Dimitriadis, Gneiting & Jordan 2021). For
        a yes/no question miscalibration and discrimination are at least 0, whatever the
        score, and nothing has to be tuned. Bins, such as `EqualMass(15)`: the rate of
        each bin; variation within a bin is lost, so miscalibration may be negative. Or
        the name or recipe of any map. Of forecasts: `"isotonic"` fits the means rising
        with the predicted means; for scores of mean and variance also the squared
        residuals, rising with the predicted variances; for all other scores quantiles,
        each rising with the predicted quantile. Or a map of forecasts, such as
        `"variance_platt"`.
    cross_fitted
        Judge each row by a map that was fitted on other rows.
    n_folds
        Number of folds for that.
    view
        `"canonical"` for all classes, or a yes/no question: `"binary"`, `"top"`,
        `"class k"`.
    level
        Confidence of the score's interval.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decompose([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], view="binary")  # ĉ is 0, ½, ½, 1
    Brier score 0.2000 = miscalibration 0.0750 − discrimination 0.1250 + uncertainty 0.2500, by isotonic on the same rows.
    """
    check_count(n_folds, "n_folds", 2)
    if isinstance(labels, Forecasts):
        if any(each is not None for each in (probs, counts, weights)) or view != "canonical" or cross_fitted:
            alone = "are forecasts, which have no views, folds or weights of others"
            raise InputError("labels", alone, advice="Pass them alone")
        found, left, none, settings = forecast_parts(labels, score, method, level)
        return Decomposition(found, found.value - left, none - left, none, settings)
    rule = check_score("brier" if isinstance(score, str) and score == "auto" else score)
    predictions = admit(labels, probs, counts=counts, weights=weights)
    found = rule.score(predictions, view=view, level=level)
    rows = _asked(predictions, view)
    of = partial(rule.rows, view="canonical" if view == "canonical" else "binary")
    recipe, name = _recipe(method, bounded=cross_fitted)
    cautions = found.cautions if np.isinf(found.value) else ()
    if cross_fitted:
        values, w = _held_out_scores(recipe, rows, of, n_folds)
    else:
        fitted = recipe.fit(rows)
        values, w = of(fitted.apply(rows)), rows.weights
        cautions += fitted.fit.cautions
    left = moments_of(values, w).mean
    if np.isinf(left):
        seen = f"recalibrated row {first_infinite(values, w)} gives probability 0 to its label"
        raise InputError("method", f"must give a finite {rule.title}", seen, "Use a bounded recipe")
    none = float(of(_overall(rows))[0])
    how = f"by {name} " + (f"cross-fitted over {n_folds} folds" if cross_fitted else "on the same rows")
    described = {**found.settings, "method": name, "cross_fitted": cross_fitted, "how": how}
    described |= {"n_folds": n_folds} if cross_fitted else {}
    return Decomposition(found, found.value - left, none - left, none, described, cautions)


def _asked(predictions: Predictions, view: Any) -> Predictions:
    """The predictions of all classes, or the view's question as a single event, in float64."""
    if view != "canonical":
        event = predictions.event(view)
        found = as_predictions(event, predictions.groups)
        return found if event.probs.dtype == np.float64 else found.with_probs(event.probs.astype(np.float64))
    if predictions.outputs.dtype == np.float64:
        return predictions
    wide = predictions.outputs.astype(np.float64)
    return predictions.with_probs(wide) if predictions.logits is None else predictions.with_logits(wide)


def _recipe(method: Any, bounded: bool) -> tuple[Any, str]:
    """The recipe and its name; `bounded` keeps rates away from 0 and 1 for held-out rows."""
    if isinstance(method, Binning):
        return Histogram(method, bounded=bounded), method.describe()
    if isinstance(method, str) and method in ("isotonic", "histogram"):
        return (Isotonic if method == "isotonic" else Histogram)(bounded=bounded), method
    known = ("auto", *methods("map"))
    if not (isinstance(method, str) and method in known) and (
        isinstance(method, str | type) or not callable(getattr(method, "fit", None))
    ):
        names = ", ".join(map(repr, known))
        raise InputError("method", f"must be one of {names}, bins, or a recipe with fit", f"it is {method!r}")
    return recipe_of(method), method if isinstance(method, str) else repr(method)


def _held_out_scores(
    recipe: Any, rows: Predictions, of: Callable[[Predictions], Floats], n_folds: int
) -> tuple[Floats, Floats | None]:
    """The score per row, recalibrated by a map fitted on other folds, and the weights."""
    units, masks = in_folds(rows, n_folds)
    values = np.empty(len(units.labels))
    for held in masks:
        values[held] = of(recipe.fit(units.rows(~held)).apply(units.rows(held)))
    return values, units.weights


def _overall(rows: Predictions) -> Predictions:
    """One row that predicts the overall rates, with those rates as its label."""
    if rows.is_binary or rows.soft:
        rates = np.average(rows.labels, axis=0, weights=rows.weights)
    else:
        rates = np.bincount(rows.labels, rows.weights, rows.n_classes).astype(np.float64)
    rates = np.atleast_1d(rates) if rows.is_binary else (rates / rates.sum())[None]
    return Predictions.borrowed(rates, rates, soft=True)
