"""A map for each segment of the rows, no further from the map of all rows than its evidence allows."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.arrays import common_index
from calibrant.inputs import MISSING, listed, plain_values, row_values
from calibrant.kernels.logits import inside, probabilities
from calibrant.maps.auto import FEWEST, Auto
from calibrant.maps.calibration_map import CalibrationMap, Fit, map_record
from calibrant.maps.identity import IdentityMap
from calibrant.maps.log_space import admit_fit, prevalence_of, rows_that_count
from calibrant.maps.mixture import ALIKE, alike
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.progress import Progress, check_progress, reported
from calibrant.results import Table, number
from calibrant.results.constraints import Distinct, Holds, Like, Shape
from calibrant.types import Array, Bools, Indices

MOST_NAMED = 5
"""Segments named one by one in a warning."""


class BySegment(CalibrationMap):
    """A map that needs the segments of the rows beside their predictions."""

    base: CalibrationMap
    """the map of all rows, which comes first"""
    segments_are: ClassVar[str]
    """what `apply` must be given"""

    def apply(self, probs: Any = None, *, logits: Any = None, segments: Any = None) -> Any:
        """Recalibrated probabilities.

        Parameters
        ----------
        probs
            Probabilities, `(n,)` or `(n, K)` as in the fit, or `Predictions`, of which
            recalibrated `Predictions` are returned.
        logits
            Logits instead of probabilities.
        segments
            The segments of these rows, in the form of the fit.
        """
        if segments is None:
            raise self._without()
        common_index(probs=probs, logits=logits, segments=segments)
        if not isinstance(probs, Predictions):
            return self.in_segments(*self._admitted(probs, logits), segments)
        if logits is not None:
            raise InputError("probs", "is a Predictions, which carries its own logits", advice="Pass it alone")
        self._check_shape(probs.outputs, "predictions")
        self._check_order(probs.classes)
        return probs.with_probs(self.in_segments(probs.outputs, probs.logits is not None, segments), made_by=self)

    @abstractmethod
    def in_segments(self, predictions: Array, are_logits: bool, segments: Any) -> Array:
        """Recalibrated probabilities of checked probabilities or logits in these segments."""

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:  # noqa: ARG002
        """Refused: the predictions alone do not say what becomes of them."""
        raise self._without()

    def at_prevalence(self, *_: Any, **__: Any) -> Any:
        """Refused: segments have prevalences of their own."""
        raise InputError("map", "must be one of the predictions alone to be shifted", "this one needs their segments")

    def _without(self) -> InputError:
        advice = f"Use apply(…, segments=…) with {self.segments_are}, or `base`, the map of all rows"
        return InputError("segments", "must be given", "this map needs them beside the predictions", advice)

    def _after_base(self, predictions: Array, are_logits: bool) -> tuple[Array, bool]:
        """What the map of all rows makes of the predictions: logits where it has them."""
        wide = predictions.astype(np.float64)
        z = self.base.new_logits(wide) if are_logits else None
        return (self.base.recalibrated(wide, are_logits), False) if z is None else (z, True)


def segment_names(segments: Any, n: int) -> tuple[tuple[str, ...], Indices]:
    """The names of the segments and which of them each row has; a number is named alike as integer, float or text."""
    values = row_values(segments, "segments", n)
    values = plain_values(values) if values.dtype.kind == "O" else values
    distinct, at = np.unique(values, return_inverse=True)
    texts = [_text(value) for value in distinct.tolist()]
    names = tuple(dict.fromkeys(texts))
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[text] for text in texts], dtype=np.intp)[at.ravel()]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return MISSING if np.isnan(value) else repr(value).removesuffix(".0")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def of_all_rows(method: Any, predictions: Predictions) -> CalibrationMap:
    """The map of all rows by a name or a recipe, which must give a map of the predictions alone."""
    from calibrant.maps import recipe_of  # which lists this module too

    found = recipe_of(method).fit(predictions)
    if not isinstance(found, CalibrationMap):
        raise InputError("method", "must be that of a map of class probabilities", f"it is {method!r}")
    return found


def counts_at_all(predictions: Predictions) -> Bools:
    """Which rows have a weight."""
    weights = predictions.weights
    return np.ones(len(predictions.labels), dtype=bool) if weights is None else np.asarray(weights > 0)


@checked
@dataclass(frozen=True, slots=True)
class Segmented:
    """The map of all rows, then in each segment a map of its own, as far as its rows support it.

    A segment's map is fitted on what the map of all rows makes of its rows, or on the rows
    as they are, whichever has the lower log loss on held-out rows; in either case it is
    averaged with leaving them so, as `Auto` does. A segment with few rows, or none in the
    fit, gets the map of all rows.

    Parameters
    ----------
    method
        A name or a recipe of a map, for all rows and then within each segment.
    progress
        True: a bar on the terminal; a function is called with the numbers of segments done
        and of all.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p, clinic = rng.random(2000), rng.choice(["north", "south"], 2000)
    >>> y = rng.random(2000) < np.where(clinic == "south", p**2, p)
    >>> fitted = cal.maps.Segmented("platt").fit(y, p, segments=clinic)
    >>> north, south = fitted.apply([0.5, 0.5], segments=["north", "south"])
    >>> bool(south < 0.35 < 0.45 < north)
    True
    """

    method: Any = "auto"
    progress: Progress = False

    def __post_init__(self) -> None:
        from calibrant.maps import recipe_of

        recipe_of(self.method)
        check_progress(self.progress)

    def fit(
        self,
        labels: Any,
        probs: Any = None,
        *,
        segments: Any = None,
        logits: Any = None,
        counts: Any = None,
        weights: Any = None,
    ) -> SegmentedMap:
        """The map of all rows, and one for each segment.

        Parameters
        ----------
        labels
            Outcomes or classes, one per row; or `Predictions`, which carry everything.
        probs
            Probabilities: `(n,)` of the event, or `(n, K)`, one column per class.
        segments
            One value per row; missing values are a segment too.
        logits
            Logits instead of probabilities.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        common_index(labels=labels, probs=probs, logits=logits, segments=segments)
        predictions = admit_fit(labels, probs, logits, counts, weights)
        names, at = segment_names(segments, len(predictions.labels))
        used = counts_at_all(predictions)
        base = of_all_rows(self.method, predictions)
        parts, alone = [], []
        with reported(self.progress, "Fitting segments") as report:
            for i in range(len(names)):
                inside_it = used & (at == i)
                part, by_itself = self._part(predictions.rows(inside_it) if inside_it.any() else None, base)
                parts.append(part)
                alone.append(by_itself)
                report(i + 1, len(names))
        done, prevalence = all(m.fit.converged for m in (base, *parts)), prevalence_of(rows_that_count(predictions))
        fit = Fit(predictions.n, None, done, _cautions(names, base, parts), None, prevalence)
        return SegmentedMap(predictions.classes, predictions.is_binary, fit, base, names, tuple(parts), tuple(alone))

    def _part(self, rows: Predictions | None, base: CalibrationMap) -> tuple[CalibrationMap, bool]:
        """A segment's map, averaged with the identity by the evidence for it; True if it is better without that of all rows."""
        from calibrant.maps import recipe_of

        if rows is None:
            return IdentityMap(base.classes, base.single, Fit(0)), False
        recipe = recipe_of(self.method)
        if not isinstance(recipe, Auto):
            recipe = Auto(candidates=("identity", self.method))
        elif recipe.candidates is not None and "identity" not in recipe.candidates:
            recipe = replace(recipe, candidates=("identity", *recipe.candidates))
        after, alone = recipe.fit(base.apply(rows)), recipe.fit(rows)
        return (alone, True) if _held_out_loss(alone) < _held_out_loss(after) else (after, False)


def _held_out_loss(part: CalibrationMap) -> float:
    choice = part.fit.choice
    return math.inf if choice is None or choice.procedure is None else choice.procedure.score


def _cautions(names: tuple[str, ...], base: CalibrationMap, parts: list[CalibrationMap]) -> tuple[str, ...]:
    few = [name for name, part in zip(names, parts, strict=True) if part.fit.n < FEWEST]
    found = [f"all rows: {text}" for text in base.fit.cautions]
    if few:
        text = f"{len(few)} of {len(names)} segments have fewer than {FEWEST} rows and get the map of all rows"
        found.append(f"{text}: {listed(few, MOST_NAMED)}")
    return (*found, *(f"{name}: {text}" for name, m in zip(names, parts, strict=True) for text in m.fit.cautions))


@map_record
class SegmentedMap(BySegment):
    """m_s(m(p)) in the segment s, m being the map of all rows, or m_s(p) alone; m(p) in a segment that was not in the fit."""

    base: Annotated[CalibrationMap, Like("classes", "single")] = None  # type: ignore[assignment]
    segments: Annotated[tuple[str, ...], Distinct(), Shape(least=1)] = ()
    parts: Annotated[tuple[CalibrationMap, ...], Shape("segments"), Holds(ALIKE, alike)] = ()
    """m_s for each segment"""
    alone: Annotated[tuple[bool, ...], Shape("segments")] = ()
    """where m_s is not after m"""

    method: ClassVar[str] = "segmented"
    segments_are: ClassVar[str] = "one value per row"

    @property
    def parameters(self) -> dict[str, Any]:
        named = zip(self.segments, self.parts, strict=True)
        own = {f"{name}: {key}": value for name, part in named for key, value in part.parameters.items()}
        return {f"all rows: {key}": value for key, value in self.base.parameters.items()} | own

    @property
    def table(self) -> Table:
        """What was done in each segment, and the change of the held-out log loss that its own map makes."""
        rows = []
        for name, part, alone in zip(self.segments, self.parts, self.alone, strict=True):
            choice, change = part.fit.choice, ""
            if choice is not None and choice.procedure is not None:
                change = number(choice.procedure.change)
            after = "the predictions" if alone else "the map of all rows"
            rows.append((name, f"{part.fit.n:,}", after, "" if choice is None else choice.reason, change))
        return Table("Segments", ("segment", "rows", "after", "map", "change"), tuple(rows))

    def in_segments(self, predictions: Array, are_logits: bool, segments: Any) -> Array:
        """The map of all rows, then those of the segments."""
        names, at = segment_names(segments, len(predictions))
        after, as_logits = self._after_base(predictions, are_logits)
        found = np.array(probabilities(after) if as_logits else after)
        known = dict(zip(self.segments, zip(self.parts, self.alone, strict=True), strict=True))
        given = {False: (after, as_logits), True: (predictions.astype(np.float64), are_logits)}
        for i, name in enumerate(names):
            if name in known:
                part, alone = known[name]
                values, logits = given[alone]
                found[at == i] = part.recalibrated(values[at == i], logits)
        self._tell_of_others([name for name in names if name not in known], names, at)
        return inside(found, predictions.dtype)

    def _tell_of_others(self, others: list[str], names: tuple[str, ...], at: Indices) -> None:
        if others:
            n = int(np.isin(at, [names.index(name) for name in others]).sum())
            text = f"{n} rows are in segments that were not in the fit ({listed(others, MOST_NAMED)})"
            warnings.warn(f"{text}: they get the map of all rows", stacklevel=4)
