"""The choice of a map: cross-validated by a proper score, simple maps preferred."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_count
from calibrant.interval import mean_with_interval, moments_of
from calibrant.maps.calibration_map import CalibrationMap, Candidate, Choice, Recipe
from calibrant.maps.folds import in_folds, n_units
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import CalibrantError, InputError
from calibrant.progress import Progress, Report, check_progress, reported
from calibrant.results import number
from calibrant.score.score import Score, check_score
from calibrant.types import Array, Bools, Floats

"""Called with the number of fits done and of all."""

FEW, MANY = 600, 5000
"""Rows below which only rigid maps are tried, and from which flexible ones are."""

FEWEST = 30
"""Rows, or groups, below which nothing but the simplest map is chosen."""

NESTED_UP_TO, LARGE = 20_000, 200_000
"""Rows, and probabilities, up to which the choice itself is cross-validated; with more, the best of several held-out
scores is too optimistic by too little to matter."""

LEVEL = 0.95


def candidates_for(predictions: Predictions) -> tuple[str, ...]:
    """Names of the maps worth trying at this size, Identity first."""
    n, k = predictions.n, predictions.n_classes
    if predictions.is_binary:
        names = ["identity", "temperature", "platt", "ensemble_temperature"]
        names += ["quadratic", "beta"] * (n >= FEW // 3) + ["piecewise_linear"] * (n >= FEW)
        return (*names, *(["isotonic", "venn_abers"] if n >= MANY else []))
    names = ["identity", "temperature", "ensemble_temperature", "structured_vector"]
    names += ["structured_matrix"] * (n >= FEW // 3 and k <= 100) + ["vector"] * (n >= max(FEW, 20 * k))
    many = n >= max(MANY, 200 * k) and k <= 100
    return (*names, *(["beta", "isotonic"] * many), *(["order_preserving"] * (many and n * k <= LARGE)))


@checked
@dataclass(frozen=True, slots=True)
class Auto(Recipe[CalibrationMap]):
    """Try the maps that suit the amount of data, the identity among them, and choose by held-out scores.

    Each candidate is fitted on all folds but one and scored on the held-out rows. Among
    those within one standard error of the best, the one with the fewest parameters is
    chosen, so that predictions are changed only where that helps. `fit.choice` of the
    returned map holds the candidates' scores and the reason; `fit.choice.procedure` is the
    score of the procedure on rows that took no part in the choice.

    Parameters
    ----------
    score
        The proper score that decides: a name or a `Score`.
    n_folds
        Number of folds of the cross-validation.
    candidates
        Names or recipes of maps; by default they follow from the number of rows and classes.
    nested
        Cross-validate the choice itself: a score of the procedure, at `n_folds` times the
        cost. `"auto"` does so up to 20 000 rows and 200 000 probabilities.
    progress
        True: a bar on the terminal; a function is called with the numbers of steps done and
        of all.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> chosen = cal.Auto(candidates=("identity", "temperature", "vector")).fit(valid)
    >>> chosen.fit.choice.chosen in ("temperature", "vector")
    True
    """

    score: str | Score = "log"
    n_folds: int = 5
    candidates: tuple[Any, ...] | None = None
    nested: bool | Literal["auto"] = "auto"
    progress: Progress = False

    def __post_init__(self) -> None:
        check_score(self.score)
        check_count(self.n_folds, "n_folds", 2)
        check_progress(self.progress)
        if self.nested not in ("auto", True, False):
            raise InputError("nested", "must be True, False or 'auto'", f"it is {self.nested!r}")
        if self.candidates is not None and not (isinstance(self.candidates, tuple | list) and self.candidates):
            raise InputError("candidates", "must be names or recipes of maps", f"it is {self.candidates!r}")

    def fit_predictions(self, predictions: Predictions) -> CalibrationMap:
        """The chosen map, fitted on all rows."""
        from calibrant.maps import recipe_of

        wanted = candidates_for(predictions) if self.candidates is None else self.candidates
        recipes = {each if isinstance(each, str) else repr(each): recipe_of(each) for each in wanted}
        n, columns = predictions.n, 1 if predictions.is_binary else predictions.n_classes
        small = n <= NESTED_UP_TO and n * columns <= LARGE
        nested = small if self.nested == "auto" else bool(self.nested)
        with reported(self.progress, "Trying maps") as report:
            return _Trial(recipes, check_score(self.score), self.n_folds, nested, report).chosen(predictions)


@dataclass(slots=True)
class _Trial:
    """One run of the cross-validation."""

    recipes: dict[str, Any]
    rule: Score
    n_folds: int
    nested: bool
    report: Report
    done: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def fits(self) -> int:
        """Fits of one run."""
        plain = len(self.recipes) * (1 + self.n_folds)
        return plain + self.nested * self.n_folds * (len(self.recipes) * self.n_folds + 1)

    def chosen(self, predictions: Predictions) -> CalibrationMap:
        fitted = {name: self._fit(name, predictions) for name in self.recipes}
        sizes = {name: m.n_parameters for name, m in fitted.items()}
        rows, masks = _in_folds(predictions, self.n_folds)
        scores = self._held_out(rows, masks)
        name = _simplest(scores, sizes, rows)
        procedure = self._procedure(rows, masks, sizes) if self.nested and n_units(rows) >= 4 else None
        choice = self._choice(name, scores, procedure, sizes, rows)
        winner = fitted[name]
        return replace(winner, fit=replace(winner.fit, choice=choice))

    def _fit(self, name: str, predictions: Predictions) -> CalibrationMap:
        fitted: CalibrationMap = self.recipes[name].fit(predictions)
        self.done += 1
        self.report(self.done, self.fits)
        return fitted

    def _held_out(self, rows: Predictions, masks: list[Bools]) -> dict[str, Floats]:
        """The score of every row by maps fitted without it."""
        scores = {name: np.zeros(len(rows.labels)) for name in self.recipes}
        for test in masks:
            train, held_out = rows.rows(~test), rows.rows(test)
            for name, values in scores.items():
                values[test] = self._scores(name, train, held_out)
        return scores

    def _scores(self, name: str, train: Predictions, held_out: Predictions) -> Floats:
        try:
            return self.rule.rows(self._fit(name, train).apply(held_out))
        except CalibrantError as error:  # a map that refuses these rows is no candidate
            self.refused[name] = str(error)
            return np.full(len(held_out.labels), np.inf)

    def _procedure(self, rows: Predictions, masks: list[Bools], sizes: dict[str, int]) -> Floats:
        """The score of every row by the map that would have been chosen without it."""
        scores = np.zeros(len(rows.labels))
        for test in masks:
            train, held_out = rows.rows(~test), rows.rows(test)
            inner, inner_masks = _in_folds(train, self.n_folds)
            name = _simplest(self._held_out(inner, inner_masks), sizes, inner)
            scores[test] = self._scores(name, train, held_out)
        return scores

    def _choice(
        self, name: str, scores: dict[str, Floats], nested: Floats | None, sizes: dict[str, int], rows: Predictions
    ) -> Choice:
        reference = self.rule.rows(rows)

        def measured(each: str, values: Floats, size: int | None) -> Candidate:
            mean, interval, _ = mean_with_interval(values, rows.weights, LEVEL)
            change, around, _ = mean_with_interval(difference(values, reference), rows.weights, LEVEL)
            return Candidate(each, size, mean, interval, change, around)

        tried = sorted((measured(each, values, sizes[each]) for each, values in scores.items()), key=lambda c: c.score)
        procedure = None if nested is None else measured("auto", nested, None)
        note = f"{self.n_folds}-fold cross-validation of {rows.n:,} rows, ± 95 % margin; lower is better."
        note += "" if nested is None else " The last row is the procedure, on rows that took no part in the choice."
        note += "".join(f" {each} refused some rows: {why}" for each, why in self.refused.items())
        reason = _reason(name, scores, sizes, rows)
        return Choice(name, reason, self.rule.title, tuple(tried), procedure, note)


def _in_folds(predictions: Predictions, n_folds: int) -> tuple[Predictions, list[Bools]]:
    """Rows and masks of the folds; no masks where there is one row or group."""
    return in_folds(predictions, n_folds) if n_units(predictions) > 1 else (predictions, [])


def difference(values: Floats, reference: Floats) -> Floats:
    """Row by row; two infinite scores are equal."""
    same = np.isinf(values) & np.isinf(reference)
    return np.where(same, 0.0, values - np.where(same, 0.0, reference))


def _simplest(scores: dict[str, Floats], sizes: dict[str, int], rows: Predictions) -> str:
    """The fewest parameters within one standard error of the best; the fewest of all where rows are too few."""
    weights = rows.weights
    if n_units(rows) < FEWEST:
        return min(scores, key=lambda name: (np.isinf(scores[name]).any(), name != "identity", sizes[name]))
    best = _best(scores, weights)
    near = [name for name in scores if _behind(scores[name], scores[best], weights) <= 1]
    return min(near, key=lambda name: (name != "identity", sizes[name], np.average(scores[name], weights=weights)))


def _best(scores: dict[str, Floats], weights: Array | None) -> str:
    return min(scores, key=lambda name: np.average(scores[name], weights=weights))


def _behind(values: Floats, best: Floats, weights: Array | None) -> float:
    """How far behind the best, in standard errors of the paired difference."""
    found = moments_of(difference(values, best), weights)
    if not np.isfinite(found.mean):
        return np.inf
    return found.mean / found.error if found.error else (np.inf if found.mean > 0 else 0.0)


def _reason(name: str, scores: dict[str, Floats], sizes: dict[str, int], rows: Predictions) -> str:
    if n_units(rows) < FEWEST:
        what = "rows" if rows.groups is None else "groups"
        return f"{name}: {n_units(rows)} {what} are too few to choose more; {FEWEST} are needed."
    best = _best(scores, rows.weights)
    if name == best:
        simpler = any(sizes[other] < sizes[name] for other in scores)
        rest = "every simpler map is more than one standard error behind" if simpler else "none is simpler"
        return f"{name}: the best score on held-out rows, and {rest}."
    behind = f"by only {number(_behind(scores[name], scores[best], rows.weights))} standard errors"
    if name == "identity":
        return f"identity: {best} scores best, but {behind}, which is no ground to change the model."
    return f"{name}: {best} scores best, but {behind}, and needs {sizes[best]} parameters instead of {sizes[name]}."
