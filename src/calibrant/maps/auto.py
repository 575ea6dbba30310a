"""The map by default: candidates judged on held-out rows, and averaged by how well they do there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice, check_count, check_level
from calibrant.kernels.fit.knot_paths import COMPILE_FROM, loops_beside
from calibrant.kernels.fit.lbfgs import one_blas_thread
from calibrant.kernels.logits import two_columns
from calibrant.maps.bent import Bent
from calibrant.maps.calibration_map import CalibrationMap, Fit, Recipe, fitted_once
from calibrant.maps.choice import Candidate, Choice
from calibrant.maps.folds import Folds, judged_of, n_units, numbered_folds, refuse_bound
from calibrant.maps.identity import Identity
from calibrant.maps.judged import Judged, effect_of_groups
from calibrant.maps.mixture import MixtureMap, lifted_logs
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import CalibrantError, InputError
from calibrant.progress import Progress, Report, check_progress, reported
from calibrant.results.later import Later
from calibrant.score.score import Score, check_score
from calibrant.types import Bools, Floats

LIFT = 0.05
"""The share a of a uniform guess in every part of an average is this many rows of n + 1. It costs a calibrated model at
most a, and bounds the loss of an outcome that was called impossible."""

SMALLEST = 0.01
"""Smaller weights are left out of an average."""

FEWEST = 10
"""Rows, or groups, below which the predictions are left as they are."""

FEW, FEW_OF_CLASSES = 50, 80
"""Rows of one event and of several classes, or as many as groups of rows tell, from which maps are tried that have a weak
prior, or none, or as many parameters as classes: fewer can be separated by chance."""

MANY_CLASSES, MOST_ORDERED = 100, 500_000
"""Classes up to which matrices are tried, and probabilities up to which order-preserving maps are: both take time."""

NO_GAIN = "identity: held-out rows do not show the average of the maps to be better, and one more could undo its gain."
NOT_SURE = "identity: at a level of {:.4g}, held-out rows do not show the average of the maps to be better."
ALONE_LEFT = "{}: no other map could be judged."
"""Why nothing is changed, or one map is taken."""

LEVEL = 0.95
"""Of the intervals that are shown."""

MOST_KEPT = 1 << 20
"""Held-out probabilities up to which these intervals wait until the choice is read: they take long, and few read them."""

FEW_ENOUGH = 10_000
"""Rows from which on one fold of them is judged, whatever the number of classes."""

ALONE = {"one event": ("temperature", "platt", "quadratic"), "several classes": ("temperature", "structured_vector")}
"""Maps that may be the best single one, and add next to nothing to an average in which the others are: found by
leaving them out on the sets that `studies/arena.py` names in `CHOSEN_ON`."""


WITHOUT_TEMPERATURE = ("dirichlet",)
"""Maps of several classes that do not begin at a temperature, tried where one that does is refused: no temperature helps
predictions whose classes are mixed up."""


def candidates_for(predictions: Predictions, alone: bool = False) -> tuple[Any, ...]:
    """Maps worth trying at this size, by name or as recipes, Identity first: for an average, or to be used `alone`."""
    n, k = predictions.n, predictions.n_classes
    names: tuple[Any, ...] = ("identity", "temperature", "ensemble_temperature")
    if n < (FEW if predictions.is_binary else FEW_OF_CLASSES) * effect_of_groups(predictions):
        return ("identity", "gaussian_process") if predictions.is_binary else names[::2]
    if predictions.is_binary:
        names += ("platt", "beta", "quadratic", "gaussian_process", "piecewise_linear", "venn_abers")
    elif k > MANY_CLASSES:
        return (*names, "structured_vector", Bent("structured_vector"))
    else:
        names += ("structured_vector", "structured_matrix", "bent", *("order_preserving",) * (n * k <= MOST_ORDERED))
    left_out = () if alone else ALONE["one event" if predictions.is_binary else "several classes"]
    return tuple(name for name in names if name not in left_out)


def recipes_of(candidates: Iterable[Any]) -> dict[str, Any]:
    """Recipes by their names, or by how they are written."""
    from calibrant.maps import recipe_of

    return {each if isinstance(each, str) else repr(each): recipe_of(each) for each in candidates}


@checked
@dataclass(frozen=True, slots=True)
class Auto(Recipe[CalibrationMap]):
    """Try the maps that suit the data, leaving it alone among them, and average them by their held-out scores.

    Each candidate is fitted on all folds but one and scored on the held-out rows. The
    result is one map: the mean of the candidates' log-probabilities, weighted by
    exp(−τ·n·(held-out log loss − the best)), τ = ¼, for several classes up to ½ with many rows;
    piecewise-linear maps weigh 1 + n/200 times as much, at most 8 times.
    The loss of a candidate includes one more row with the worst change from the predictions
    that is still credible, so that rows without an error do not speak for a map that is too
    sure. If the gain of the average over the predictions as they are, each fold by what the
    other folds decide, would not outlast one more such row, they are left exactly as they
    are (unless they hold a probability of 0). Groups of rows stay in one fold and count as
    the independent rows that tell as much, by the errors of the predictions. `fit.choice` of
    the returned map holds the candidates' scores and weights and the reason.

    Parameters
    ----------
    score
        The proper score that is shown, and that decides with `prefer="simple"`: a name or a
        `Score`. The weights of an average follow the log score.
    n_folds
        Number of folds of the cross-validation. From 3 000 probabilities (rows × classes)
        on, three of them are judged, two from 100 000, one from a million or 10 000 rows.
    candidates
        Names or recipes of maps. By default they follow from the number of rows and classes;
        an average leaves out some whose place others take, and where several classes have a
        temperature that ends at its bound, Dirichlet calibration is tried too.
    prefer
        `"average"`: the weighted mean of all candidates. `"simple"`: one of them, the one
        with the fewest parameters among those as good as the best.
    level
        Confidence with which held-out rows must show a gain: unless the interval of the
        average's change lies below 0, the predictions are left as they are; with `"simple"`,
        the interval of the best map's change from a simpler one. A high level harms fewer
        models, and forgoes small gains. `None`: the gain of an average must outlast one more
        row, as above, and that of the best single map one standard error.
    progress
        True: a bar on the terminal; a function is called with the numbers of steps done and
        of all.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> mixed = cal.Auto(candidates=("platt", "beta", "quadratic")).fit(valid)
    >>> mixed.method, round(float(mixed.weights.sum()), 12)
    ('mixture', 1.0)
    >>> simple = cal.Auto(candidates=("identity", "temperature", "vector"), prefer="simple").fit(valid)
    >>> simple.fit.choice.chosen in ("temperature", "vector")
    True
    """

    score: str | Score = "log"
    n_folds: int = 5
    candidates: tuple[Any, ...] | None = None
    prefer: Literal["average", "simple"] = "average"
    level: float | None = None
    progress: Progress = False

    def __post_init__(self) -> None:
        check_score(self.score)
        check_count(self.n_folds, "n_folds", 2)
        check_progress(self.progress)
        check_choice("prefer", self.prefer, ("average", "simple"))
        if self.level is not None:
            check_level(self.level)
        if self.candidates is not None and not (isinstance(self.candidates, tuple | list) and self.candidates):
            raise InputError("candidates", "must be names or recipes of maps", f"it is {self.candidates!r}")

    def fit_predictions(self, predictions: Predictions) -> CalibrationMap:
        """The average or the chosen map, fitted on all rows."""
        wanted = self.candidates or candidates_for(predictions, alone=self.prefer == "simple")
        recipes = recipes_of(wanted)
        with (
            reported(self.progress, "Trying maps") as report,
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            one_blas_thread(),
            loops_beside("piecewise_linear" in recipes and _has_many_values(predictions)),
        ):
            warnings.simplefilter("ignore", RuntimeWarning)  # a candidate that overflows scores badly, and that is all
            rule = check_score(self.score)
            by_default = self.candidates is None
            trial = _Trial(recipes, by_default, rule, self.n_folds, self.prefer, self.level, report, self.n_folds)
            return trial.result(predictions)


@dataclass(slots=True)
class _Trial:
    """One run of the cross-validation."""

    recipes: dict[str, Any]
    by_default: bool
    """were they chosen here?"""
    rule: Score
    n_folds: int
    prefer: str
    level: float | None
    report: Report
    n_judged: int
    """of the folds"""
    done: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    def result(self, predictions: Predictions) -> CalibrationMap:
        """The average or the chosen map."""
        if n_units(predictions) < FEWEST:
            return self._untouched(predictions)
        folds, masks = self._folds(predictions)
        rows, lift = folds.rows, LIFT / (_total(predictions) + 1)
        fitted, held = {}, {}
        while waiting := [name for name in self.recipes if name not in held and name not in self.refused]:
            for name in waiting:
                try:
                    fitted[name] = self._fit(name, predictions)
                    held[name] = lifted_logs(self._held_out(name, folds, fitted[name]), lift)
                except CalibrantError as error:
                    self.refused[name] = str(error)
                while self.done < (len(held) + len(self.refused)) * (1 + len(folds.masks)):  # folds at once, or none
                    self._step()
            self.recipes |= self._instead(predictions)
        if not held:
            why = "; ".join(f"{name}: {text}" for name, text in self.refused.items())
            raise InputError("candidates", "must hold a map that can be fitted to these rows", why)
        judged = Judged(rows, lifted_logs(rows.probs, lift), held, self.rule)
        if self.prefer == "average":
            return self._average(judged, fitted, masks, lift, predictions)
        return self._simple(judged, fitted, masks, lift, predictions)

    def _instead(self, predictions: Predictions) -> dict[str, Any]:
        """Recipes of the default candidates that are tried because others were refused."""
        n, k = predictions.n, predictions.n_classes
        if not (self.by_default and self.refused) or predictions.is_binary or k > MANY_CLASSES or n < FEW_OF_CLASSES:
            return {}
        return recipes_of(WITHOUT_TEMPERATURE)

    def _fit(self, name: str, predictions: Predictions) -> CalibrationMap:
        """The map of all rows; refused if it ends at a bound: then it is no candidate."""
        fitted: CalibrationMap = fitted_once(self.recipes[name], predictions)
        if len(self.recipes) > 1:
            refuse_bound(fitted)
        self._step()
        return fitted

    def _held_out(self, name: str, folds: Folds, fitted: CalibrationMap) -> Floats:
        """Probabilities of every row by a map fitted without it; any object with `fit` may be a candidate."""
        recipe = self.recipes[name]
        if isinstance(recipe, Recipe):
            return recipe.held_out(folds, fitted)
        return folds.answers(recipe.fit(rows) for rows in folds.others)

    def _step(self) -> None:
        self.done += 1
        self.report(self.done, len(self.recipes) * (1 + self.n_judged))

    def _folds(self, predictions: Predictions) -> tuple[Folds, list[Bools]]:
        """Rows to judge by with those to fit on, and folds of the former."""
        if predictions.groups is None and predictions.n >= 2 * FEWEST:
            self.n_judged = 1 if predictions.n >= FEW_ENOUGH else judged_of(predictions, self.n_folds)
        some = self.n_judged < self.n_folds
        every, fold = numbered_folds(predictions, self.n_folds ** (1 + some))
        turns, strict = self.n_folds if some else 1, len(self.recipes) > 1
        n_judged = min(self.n_judged, int(fold.max()) // turns + 1)
        folds = Folds(predictions, every, fold // turns, n_judged, strict, self._step)
        if not some:
            return folds, folds.masks
        part = fold[folds.judged] % turns  # the judged rows lie in folds of their own
        return folds, [part == f for f in range(int(part.max()) + 1)]

    def _untouched(self, predictions: Predictions) -> CalibrationMap:
        """The predictions as they are, where rows are too few to judge by."""
        n, what = n_units(predictions), "rows" if predictions.groups is None else "groups"
        reason = f"identity: {n} {what} are too few to judge a map by; {FEWEST} are needed."
        choice = Choice("identity", reason, self.rule.title, ())
        lift = LIFT / (_total(predictions) + 1)
        return _single(Identity().fit(predictions), choice, lift, predictions)

    def _average(
        self, judged: Judged, fitted: dict[str, CalibrationMap], masks: list[Bools], lift: float, given: Predictions
    ) -> CalibrationMap:
        procedure = judged.crossed(masks, lambda others, test: judged.mixed(judged.weights(others), test))
        doubted = judged.doubted(procedure, self.level)
        kept = {"identity": 1.0} if doubted(slice(None)) else _kept(judged.weights())
        no_gain = NO_GAIN if self.level is None else NOT_SURE.format(self.level)
        why = no_gain if doubted(slice(None)) else _why_mixed(kept)
        why = why if len(judged.held) > 1 else ALONE_LEFT.format(next(iter(judged.held)))

        def crossed() -> Floats:
            return judged.crossed(masks, lambda others, test: (judged.before if doubted(others) else procedure)[test])

        choice = self._choice(next(iter(kept)) if len(kept) == 1 else "mixture", judged, fitted, kept, crossed, why)
        if len(kept) == 1:
            return _single(fitted[choice.chosen], choice, lift, given)
        parts = tuple(fitted[name].with_fit(replace(fitted[name].fit, cautions=())) for name in kept)
        cautions = tuple(dict.fromkeys(f"{name}: {text}" for name in kept for text in fitted[name].fit.cautions))
        fit = Fit(given.n, None, all(fitted[name].fit.converged for name in kept), cautions, choice)
        return MixtureMap(given.classes, given.is_binary, fit, parts, np.array(list(kept.values())), lift)

    def _simple(
        self, judged: Judged, fitted: dict[str, CalibrationMap], masks: list[Bools], lift: float, given: Predictions
    ) -> CalibrationMap:
        sizes = {name: fitted[name].n_parameters for name in judged.held}
        name, reason = judged.simplest(sizes, level=self.level)

        def crossed() -> Floats:
            return judged.crossed(
                masks, lambda others, test: judged.held[judged.simplest(sizes, others, self.level)[0]][test]
            )

        choice = self._choice(name, judged, fitted, None, crossed, reason)
        return _single(fitted[name], choice, lift, given)

    def _choice(
        self,
        chosen: str,
        judged: Judged,
        fitted: dict[str, CalibrationMap],
        weights: dict[str, float] | None,
        crossed: Callable[[], Floats],
        reason: str,
    ) -> Choice:
        def measured(name: str, logs: Floats) -> Candidate:
            score, change = judged.measured(logs)
            numbers = score.mean, score.interval(LEVEL)[0], change.mean, change.interval(LEVEL)[0]
            if name not in fitted:
                return Candidate(name, None, *numbers)
            weight = None if weights is None else weights.get(name, 0.0)
            return Candidate(name, fitted[name].n_parameters, *numbers, weight)

        def tried() -> tuple[Candidate, ...]:
            every = (measured(name, logs) for name, logs in judged.held.items())
            return tuple(sorted(every, key=lambda each: each.score))

        small = judged.before.size * len(judged.held) <= MOST_KEPT
        found: Any = Later(tried) if small else tried()
        last: Any = Later(lambda: measured("auto", crossed())) if small else measured("auto", crossed())
        few = {1: "one fold", 2: "two folds", 3: "three folds"}
        how = f"{self.n_folds}-fold cross-validation" if self.n_judged == self.n_folds else few[self.n_judged]
        note = f"{how} of {judged.rows.n:,} rows, ± 95 % margin; lower is better."
        note += " The last row is the procedure: each fold by what the other folds decide."
        note += "".join(f" {each} is no candidate: {why.rstrip('.')}." for each, why in self.refused.items())
        return Choice(chosen, reason, self.rule.title, found, last, note)


def _has_many_values(predictions: Predictions) -> bool:
    """Are there so many different predictions of one event that their piecewise-linear fits are compiled?"""
    return predictions.is_binary and len(predictions.event("binary").pooled.values) >= COMPILE_FROM


def _kept(weights: dict[str, float]) -> dict[str, float]:
    """The weights that are not small."""
    found = {name: weight for name, weight in weights.items() if weight >= SMALLEST}
    return {name: weight / sum(found.values()) for name, weight in found.items()}


def _total(rows: Predictions) -> float:
    return float(rows.n if rows.weights is None else rows.weights.sum())


def _single(fitted: CalibrationMap, choice: Choice, lift: float, given: Predictions) -> CalibrationMap:
    """One map, with a share of a uniform guess where it would call an outcome impossible."""
    found = fitted.apply(given).probs
    columns = two_columns(found) if found.ndim == 1 else found
    fit = replace(fitted.fit, choice=choice)
    if columns.min() > np.finfo(columns.dtype).tiny:
        return fitted.with_fit(fit)
    caution = f"some predictions are 0: every answer is mixed with a share of {lift:.2g} of a uniform guess"
    fit = replace(fit, cautions=(*fit.cautions, caution))
    return MixtureMap(given.classes, given.is_binary, fit, (fitted.with_fit(Fit(given.n)),), np.ones(1), lift)


def _why_mixed(weights: dict[str, float]) -> str:
    """The parts of the average, the largest first."""
    ordered = sorted(weights.items(), key=lambda each: -each[1])
    parts = ", ".join(f"{name} {weight:.0%}" for name, weight in ordered)
    if len(weights) == 1:
        return f"{ordered[0][0]}: no other map comes near it on held-out rows."
    return f"mixture of {parts}: weights follow the log loss on held-out rows."
