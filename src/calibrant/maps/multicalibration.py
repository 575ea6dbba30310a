"""Multicalibration: log-odds shifted in one segment and range of predictions after another, while one is seen to be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.arrays import common_index
from calibrant.inputs import check_count, check_level, check_masks, listed
from calibrant.kernels.logits import inside, log_odds, probabilities, sigmoid
from calibrant.kernels.sums.segment_sums import gap_scores
from calibrant.maps.binary import LAST
from calibrant.maps.calibration_map import CalibrationMap, Fit, map_record
from calibrant.maps.log_space import admit_fit, prevalence_of, rows_that_count, soft_shares
from calibrant.maps.segmented import MOST_NAMED, BySegment, of_all_rows
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.progress import Progress, check_progress, reported
from calibrant.results import Record, Table, number
from calibrant.results.constraints import BIG, Distinct, Holds, Like, Shape, Within
from calibrant.types import Array, Bools, Floats, Indices

ALL = "all rows"
"""The segment that every row is in."""

PRIOR = 2.0
"""Rows with outcomes as predicted that are counted beside those of a cell: its shift stays finite."""

NEWTON_STEPS, LARGEST_STEP = 100, 4.0
"""Of the search for a shift, which stops long before where the rows are ordinary."""

AS_MASKS = "Pass one value per row to `Segmented`"


@map_record
class Shift(Record):
    """One step: the log-odds of a class are shifted where it is predicted from `low` to below `high` in a segment."""

    segment: str
    column: Annotated[int, Within(0)]
    """of the class; that of a single event is 1"""
    low: Annotated[float, Within(0, 1)]
    high: Annotated[float, Within(0, 2)]
    """above 1 for a range without an end"""
    size: Annotated[float, Within(-BIG, BIG)]
    """added to the log-odds"""
    score: Annotated[float, Within(0)]
    """the evidence: as unlikely as a standard normal variable beyond ± this"""


@checked
@dataclass(frozen=True, slots=True)
class Multicalibration:
    """The map of all rows, then shifts of the log-odds in segments that may overlap.

    Predictions are cut into ranges. Of all segments and ranges the one whose observed rate
    is least likely, if the predictions are right, is shifted until it fits, again and
    again, until none is less likely than chance explains among so many. A shift counts
    two more rows with outcomes as predicted. Where no segment is seen to be wrong, the
    result is the map of all rows.

    Parameters
    ----------
    method
        A name or a recipe of the map of all rows.
    level
        1 − level is the probability that anything is shifted where the map of all rows is
        right (Bonferroni over all segments and ranges).
    n_bins
        Cuts of the predictions into parts of equal mass; ranges are these parts and
        neighbouring ones together.
    min_size
        Ranges of segments with fewer rows are left alone.
    max_steps
        The most shifts.
    progress
        True: a bar on the terminal; a function is called with the numbers of steps done and
        of the most there can be.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p, old, south = rng.random(4000), rng.random(4000) < 0.5, rng.random(4000) < 0.5
    >>> y = rng.random(4000) < np.where(old & south, p**2, p)
    >>> fitted = cal.maps.Multicalibration("identity").fit(
    ...     y, p, segments={"old": old, "south": south, "old and south": old & south}
    ... )
    >>> {shift.segment for shift in fitted.shifts}
    {'old and south'}
    >>> masks = {"old": [True, True], "south": [True, False], "old and south": [True, False]}
    >>> first, second = fitted.apply([0.5, 0.5], segments=masks)
    >>> bool(first < 0.35), float(second)
    (True, 0.5)
    """

    method: Any = "auto"
    level: float = 0.95
    n_bins: int = 5
    min_size: int = 25
    max_steps: int = 200
    progress: Progress = False

    def __post_init__(self) -> None:
        from calibrant.maps import recipe_of

        recipe_of(self.method)
        check_level(self.level)
        for name in ("n_bins", "min_size", "max_steps"):
            check_count(getattr(self, name), name)
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
    ) -> MulticalibrationMap:
        """The map of all rows and the shifts after it.

        Parameters
        ----------
        labels
            Outcomes or classes, one per row; or `Predictions`, which carry everything.
        probs
            Probabilities: `(n,)` of the event, or `(n, K)`, one column per class.
        segments
            A dict of names and masks, which may overlap.
        logits
            Logits instead of probabilities.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        if isinstance(segments, Mapping):
            masks = {f"segments[{name!r}]": mask for name, mask in segments.items()}
            common_index(labels=labels, probs=probs, logits=logits, **masks)
        predictions = admit_fit(labels, probs, logits, counts, weights)
        masks = check_masks(segments, len(predictions.labels), AS_MASKS)
        if ALL in masks:
            raise InputError("segments", "must have other names than that of all rows", f"one is {ALL!r}", "Rename it")
        base = of_all_rows(self.method, predictions)
        cells = _Cells.of(base.apply(predictions), {ALL: np.ones(len(predictions.labels), bool), **masks}, self)
        with reported(self.progress, "Shifting") as report:
            shifts = tuple(_counted(cells.steps(), report, self.max_steps))
        cautions = [f"{ALL}: {text}" for text in base.fit.cautions]
        if len(shifts) == self.max_steps:
            cautions.append(f"stopped after {self.max_steps} shifts: some segments are still seen to be wrong")
        if predictions.groups is not None:
            cautions.append("the evidence takes rows of the same group as independent")
        whole, prevalence = len(shifts) < self.max_steps, prevalence_of(rows_that_count(predictions))
        fit = Fit(predictions.n, None, base.fit.converged and whole, tuple(cautions), None, prevalence)
        return MulticalibrationMap(predictions.classes, predictions.is_binary, fit, base, tuple(masks), shifts)


def _counted(steps: Iterator[Shift], report: Any, most: int) -> Iterator[Shift]:
    for done, shift in enumerate(steps, 1):
        yield shift
        report(done, most)
        if done == most:
            return


@dataclass(slots=True, eq=False)
class _Cells:
    """Rows in segments and ranges, and their probabilities as they are shifted."""

    probs: Floats
    """`(n, columns)`, of the classes that are shifted"""
    hits: Floats
    weights: Floats
    squares: Floats
    cubes: Floats
    step: float
    """of a sum of hits: 1 where rows are counted"""
    members: dict[str, Indices]
    columns: tuple[int, ...]
    edges: tuple[Floats, ...]
    options: Multicalibration
    z: float = field(init=False)
    """the score that chance exceeds with probability 1 − level in some cell"""

    @staticmethod
    def of(rows: Predictions, masks: dict[str, Array], options: Multicalibration) -> _Cells:
        """Ranges of equal mass of each class; a single event is one column."""
        probs = np.array(rows.probs, dtype=np.float64)
        n, k = len(rows.labels), rows.n_classes
        shares = soft_shares(rows) if rows.soft else np.eye(k)[rows.labels]
        w = np.ones(n) if rows.weights is None else np.asarray(rows.weights, dtype=np.float64)
        square = w if rows.squares is None else np.asarray(rows.squares, dtype=np.float64)
        cube = np.divide(square**2, w, out=np.zeros(n), where=w > 0)
        columns = (1,) if rows.is_binary else tuple(range(k))
        probs, hits = (probs[:, None], shares[:, 1:]) if rows.is_binary else (probs, shares)
        cuts = np.arange(1, options.n_bins) / options.n_bins
        edges = tuple(np.unique(np.quantile(p, cuts, weights=w, method="inverted_cdf")) for p in probs.T)
        members = {name: np.flatnonzero(mask & (w > 0)) for name, mask in masks.items()}
        return _Cells(probs, hits, w, square, cube, float(rows.squares is None), members, columns, edges, options)

    def __post_init__(self) -> None:
        n_cells = sum((len(e) + 1) * (len(e) + 2) // 2 for e in self.edges) * len(self.members)
        self.z = -NormalDist().inv_cdf((1 - self.options.level) / (2 * n_cells))

    def steps(self) -> Iterator[Shift]:
        """Shifts of the cells that stand out most, as long as one does."""
        while (found := max(self._worst(), key=lambda each: each[0], default=(0.0,)))[0] > self.z:
            score, name, at, low, high = found  # type: ignore[misc]
            p = self.probs[:, at]
            rows = self.members[name]
            rows = rows[(p[rows] >= low) & (p[rows] < high)]
            by = _shift(p[rows], self.hits[rows, at], self.weights[rows])
            _move(self.probs, rows, at, by)
            yield Shift(name, self.columns[at], low, high, by, score)

    def _worst(self) -> Iterator[tuple[float, str, int, float, float]]:
        """The range of each segment and class that stands out most: score, segment, column, ends."""
        for at, edges in enumerate(self.edges):
            p, m = self.probs[:, at], len(edges) + 1
            spread = p * (1 - p)
            gaps = self.weights * (p - self.hits[:, at])
            moments = gaps, self.squares * spread, self.cubes * spread * (1 - 2 * p), self.weights
            bins = np.searchsorted(edges, p, side="right")
            first, last = np.triu_indices(m)
            ends = np.concatenate([[0.0], edges, [2.0]])
            for name, rows in self.members.items():
                sums = [np.append(0.0, np.cumsum(np.bincount(bins[rows], v[rows], m))) for v in moments]
                gap, variance, third, size = (each[last + 1] - each[first] for each in sums)
                use = (size >= self.options.min_size) & (variance > 0)
                if use.any():
                    sigma = np.sqrt(variance[use])
                    scores = gap_scores(gap[use], sigma, third[use] / sigma**3, np.full(len(sigma), self.step))
                    i = int(scores.argmax())
                    low, high = ends[first[use][i]], ends[last[use][i] + 1]
                    yield float(scores[i]), name, at, float(low), float(high)


def _shift(p: Floats, hits: Floats, w: Floats) -> float:
    """The δ for which σ(z + δ) sums to the outcomes and to those of the prior's rows."""
    share = PRIOR / (float(w.sum()) + PRIOR)
    target, z, by = float(w @ ((1 - share) * hits + share * p)), np.clip(log_odds(p), -LAST, LAST), 0.0
    for _ in range(NEWTON_STEPS):
        q = sigmoid(z + by)
        slope = float(w @ (q * (1 - q)))
        step = (target - float(w @ q)) / max(slope, np.finfo(np.float64).tiny)
        step = min(max(step, -LARGEST_STEP), LARGEST_STEP)
        by += step
        if abs(step) < 1e-12:
            break
    return by


def _move(probs: Floats, rows: Indices, at: int, by: float) -> None:
    """Shift the log-odds of one column of these rows; the others share the rest as before."""
    p = probs[rows, at]
    new = sigmoid(np.clip(log_odds(p), -LAST, LAST) + by)
    if probs.shape[1] > 1:
        probs[rows] *= np.divide(1 - new, 1 - p, out=np.ones_like(p), where=p < 1)[:, None]
    probs[rows, at] = new


def _known(
    shifts: tuple[Shift, ...], segments: tuple[str, ...], classes: tuple[Any, ...], single: bool, **_: Any
) -> bool:
    columns = (1,) if single else range(len(classes))
    return all(each.segment in (ALL, *segments) and each.column in columns for each in shifts)


@map_record
class MulticalibrationMap(BySegment):
    """The map of all rows, then the shifts, one after the other."""

    base: Annotated[CalibrationMap, Like("classes", "single")] = None  # type: ignore[assignment]
    segments: Annotated[tuple[str, ...], Distinct(), Shape(least=1)] = ()
    shifts: Annotated[tuple[Shift, ...], Holds("must be of segments and classes of this map", _known)] = ()

    method: ClassVar[str] = "multicalibration"
    segments_are: ClassVar[str] = "a dict of names and masks"

    @property
    def parameters(self) -> dict[str, Any]:
        own = {"shifts": np.array([each.size for each in self.shifts])}
        return {f"{ALL}: {key}": value for key, value in self.base.parameters.items()} | own

    @property
    def table(self) -> Table:
        """The shifts in their order."""
        rows = tuple(
            (
                s.segment,
                str(self.classes[s.column]),
                f"{number(s.low)} … {number(min(s.high, 1.0))}",
                number(s.size),
                f"{s.score:.2f}",
            )
            for s in self.shifts
        )
        return Table("Shifts", ("segment", "class", "predictions", "shift of the log-odds", "score"), rows)

    def in_segments(self, predictions: Array, are_logits: bool, segments: Any) -> Array:
        """The map of all rows, then every shift in its segment."""
        masks = check_masks(segments, len(predictions), AS_MASKS)
        if lacking := [name for name in self.segments if name not in masks]:
            wanted = "must have a mask for each segment of the fit"
            raise InputError("segments", wanted, f"{listed(lacking, MOST_NAMED)} is not among them")
        masks[ALL] = np.ones(len(predictions), dtype=bool)
        values, as_logits = self._after_base(predictions, are_logits)
        found = np.array(probabilities(values) if as_logits else values).reshape(len(predictions), -1)
        for each in self.shifts:
            at = 0 if self.single else each.column
            p: Floats = found[:, at]
            inside_it: Bools = masks[each.segment] & (p >= each.low) & (p < each.high)
            _move(found, np.flatnonzero(inside_it), at, each.size)
        return inside(found[:, 0] if self.single else found, predictions.dtype)
