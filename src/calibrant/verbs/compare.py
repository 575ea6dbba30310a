"""Did the repair help, and by how much?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.interval import mean_with_interval
from calibrant.maps import CalibrationMap
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Estimate, Record, Table, kind, number
from calibrant.score.score import Score, check_score, first_infinite


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Record):
    """The paired difference in a proper score, after − before: negative is better."""

    difference: Estimate
    before: Estimate
    after: Estimate
    injective: bool | None
    """do different predictions stay different? None when that cannot be told"""
    grounds: str
    """how injectivity is known"""
    verdict: Literal["better", "worse", "no detectable change"]
    cautions: tuple[str, ...] = ()

    @property
    def calibration(self) -> Estimate | None:
        """Change in the score's calibration error: the difference itself when the map is injective, else unknown here."""
        return self.difference if self.injective else None

    def sentence(self) -> str:
        """The finding in words."""
        gain, interval = self.difference, self.difference.interval
        title = self.before.title
        size = f"{title} {number(self.before.value)} → {number(self.after.value)}, change {number(gain.value)}"
        if interval is not None:
            size += f" ({interval.level:.0%} interval {number(interval.low)} to {number(interval.high)})"
        what = {"better": "The repair helped", "worse": "The repair made it worse"}.get(
            self.verdict, "No detectable change"
        )
        return f"{what}: {size}. {self.meaning()}"

    def meaning(self) -> str:
        """What the difference says about calibration."""
        if self.injective:
            return f"The map keeps different predictions different ({self.grounds}), so all of it is calibration."
        if self.injective is None:
            return f"{self.grounds[:1].upper()}{self.grounds[1:]}, so the change mixes calibration and sharpness."
        return f"The map merges different predictions ({self.grounds}), so the change mixes calibration gained and sharpness lost."

    def tables(self) -> tuple[Table, ...]:
        """The comparison as a table."""
        rows = []
        for name, estimate in (("before", self.before), ("after", self.after), ("after − before", self.difference)):
            interval = estimate.interval
            rows.append(
                (name, estimate.value, "–" if interval is None else f"{number(interval.low)} … {number(interval.high)}")
            )
        level = "" if self.difference.interval is None else f"{self.difference.interval.level:.0%} interval"
        return (
            Table(f"Did it help? {self.before.title}", ("", "value", level or "interval"), tuple(rows), self.meaning()),
        )

    def __repr__(self) -> str:
        return "\n".join([self.sentence(), *(f"  caution: {c}" for c in self.cautions)])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self.sentence())}</p>" + "".join(table.to_html() for table in self.tables())


def compare(
    before: Predictions, after: Predictions | CalibrationMap, *, score: str | Score = "brier", level: float = 0.95
) -> Comparison:
    """Did `after` predict better than `before` on the same rows, and by how much?

    `after` is the repaired predictions, or the map itself, which is then applied to `before`. The answer is the mean
    difference in a proper score over the same rows with its paired interval. When the map is injective the difference
    equals the improvement in the score's calibration error, whatever the size of the test set (Gruber & Buettner,
    Prop. 4.5). Differences of ECE have no such property.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> result = cal.compare(test, cal.recalibrate(valid))
    >>> result.verdict, result.injective
    ('better', True)
    """
    for name, given in (("before", before), ("after", after)):
        if not isinstance(given, Predictions) and not (name == "after" and isinstance(given, CalibrationMap)):
            raise InputError(name, "must be a Predictions", f"it is a {type(given).__name__}")
    repaired: Predictions = after.apply(before) if isinstance(after, CalibrationMap) else after
    check_same_rows(before, repaired)
    rule = check_score(score)
    injective, grounds = how_injective(before, repaired)
    estimates = [rule.score(each, level=level) for each in (before, repaired)]
    rows = rule.rows(repaired), rule.rows(before)
    _check_finite_scores(rows, rule, before.weights)
    counted = slice(None) if before.weights is None else before.weights > 0
    kept = None if before.weights is None else before.weights[counted]
    value, interval, cautions = mean_with_interval(rows[0][counted] - rows[1][counted], kept, level)
    described = {"score": rule.name, "view": "canonical"}
    difference = Estimate("score_difference", f"change in {rule.title}", value, before.n, interval, settings=described)
    verdict: Literal["better", "worse", "no detectable change"] = "no detectable change"
    if interval is not None and 0 not in interval:
        verdict = "better" if value < 0 else "worse"
    return Comparison(difference, estimates[0], estimates[1], injective, grounds, verdict, cautions)


def check_same_rows(before: Predictions, after: Predictions) -> None:
    """Both must speak of the same rows: same labels, classes and weights."""
    if before.said.shape != after.said.shape:
        raise InputError("after", "must have the shape of before", f"{after.said.shape} is not {before.said.shape}")
    if [str(c) for c in before.classes] != [str(c) for c in after.classes]:
        raise InputError(
            "after", "must have the classes of before, in the same order", f"{after.classes} is not {before.classes}"
        )
    if before.soft != after.soft:
        raise InputError("after", "must have the labels of before", "one has classes, the other shares")
    if not np.array_equal(before.labels, after.labels):
        row = int(np.argmax((before.labels != after.labels).reshape(before.n, -1).any(axis=1)))
        raise InputError(
            "after",
            "must have the labels of before",
            f"row {row} differs: {before.labels[row]} and {after.labels[row]}",
            "Compare the same rows in the same order",
        )
    same = (before.weights is None) == (after.weights is None)
    if not same or (before.weights is not None and not np.array_equal(before.weights, after.weights)):  # type: ignore[arg-type]
        raise InputError("after", "must have the weights of before")


def how_injective(before: Predictions, after: Predictions) -> tuple[bool | None, str]:
    """Does the change keep different predictions different? From the map if it is known, else from the rows at hand."""
    if after.source is not None and after.source[0] is before:
        used = after.source[1]
        return used.injective, f"{used.method} does by construction" if used.injective else f"{used.method} does not"
    old, new = row_ids(before.probs), row_ids(after.probs)
    pairs = len(np.unique(old.astype(np.int64) * (int(new.max()) + 1) + new))
    n_old, n_new = int(old.max()) + 1, int(new.max()) + 1
    if pairs > n_old:
        return None, "equal predictions before differ after, so this is not a map of the predictions alone"
    if n_new < n_old:
        return False, f"{n_old:,} distinct predictions before, {n_new:,} after"
    return True, "on these rows"


def row_ids(probs: NDArray[Any]) -> NDArray[np.intp]:
    """A number for each row such that equal rows, and only they, share it."""
    rows: NDArray[Any] = np.ascontiguousarray(probs) + 0.0  # −0 is 0
    if rows.ndim == 2:
        rows = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    return np.unique(rows, return_inverse=True)[1].ravel()


def _check_finite_scores(rows: tuple[NDArray[np.float64], ...], rule: Score, weights: NDArray[Any] | None) -> None:
    for name, values in zip(("after", "before"), rows, strict=True):
        row = first_infinite(values, weights)
        if row is not None:
            raise InputError(
                name,
                f"must have a finite {rule.title}",
                f"row {row} gives probability 0 to what happened",
                "Use score='brier', or pass logits",
            )
