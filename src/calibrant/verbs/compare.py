"""Did the repair help, and by how much?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_positive
from calibrant.interval import ClusterMean, Moments, around, cluster_mean, holm, moments_of, normal_quantile, two_sided
from calibrant.maps import CalibrationMap
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.score.score import Score, check_score, first_infinite
from calibrant.verbs.comparison import Comparison, Comparisons, Split, Verdict
from calibrant.verbs.decompose import decompose
from calibrant.verbs.same_rows import check_same_rows, how_injective

__all__ = ["Comparison", "Comparisons", "Split", "compare"]

MOST_SPLIT = 2_000_000
"""Probabilities up to which a change is split without being asked."""


@overload
def compare(
    before: Predictions,
    after: Predictions | CalibrationMap,
    *,
    score: str | Score = "brier",
    level: float = 0.95,
    cluster: bool = False,
    margin: float | None = None,
    split: Any = "auto",
) -> Comparison: ...
@overload
def compare(
    before: Predictions,
    after: Mapping[str, Predictions | CalibrationMap],
    *,
    score: str | Score = "brier",
    level: float = 0.95,
    cluster: bool = False,
    margin: float | None = None,
    split: Any = "auto",
) -> Comparisons: ...
def compare(
    before: Predictions,
    after: Any,
    *,
    score: str | Score = "brier",
    level: float = 0.95,
    cluster: bool = False,
    margin: float | None = None,
    split: Any = "auto",
) -> Comparison | Comparisons:
    """Did `after` predict better than `before` on the same rows, and by how much?

    `after` is the repaired predictions, or the map itself, which is then applied to `before`. The answer is the mean
    difference in a proper score over the same rows with its paired interval. When the map is injective the difference
    equals the improvement in the score's calibration error, whatever the size of the test set (Gruber & Buettner,
    Prop. 4.5). Differences of ECE have no such property. `root` is the difference of the roots for the Brier score, with an
    interval by the delta method.

    `after` may also be several candidates, a dict of names. Then the intervals hold for all of them at once (Bonferroni), and the
    verdicts and p-values are Holm's, which find more: a verdict may be sure of a change whose interval still reaches 0.

    `cluster=True` lets rows of the same of `before.groups` depend on each other: the interval is Student's of the clusters,
    with one degree of freedom less than there are clusters. `margin` is the largest change you call negligible:
    `equivalent` then says whether the whole interval lies within it.

    `split` estimates how much of the change is calibration and how much is lost or won sharpness, by `decompose` on both: the name
    or recipe of a map, or bins. `"auto"` does so by isotonic regression where the map merges predictions and the data are
    not huge, `None` never.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> result = cal.compare(test, cal.recalibrate(valid))
    >>> result.verdict, result.injective
    ('better', True)
    >>> several = cal.compare(test, {name: cal.recalibrate(valid, name) for name in ("temperature", "vector", "identity")})
    >>> several["identity"].verdict
    'no detectable change'
    """
    normal_quantile(level)
    if margin is not None:
        check_positive("margin", margin)
    _check_kind("before", before)
    if cluster and before.groups is None:
        raise InputError("cluster", "needs the groups of before", "it has none", "Pass Predictions(..., groups=...)")
    if isinstance(after, Mapping) and not after:
        raise InputError("after", "must hold at least one candidate", "it is empty")
    several = (
        {f"after[{name!r}]": each for name, each in after.items()} if isinstance(after, Mapping) else {"after": after}
    )
    for name, each in several.items():
        _check_kind(name, each)
    family = _Family(before, check_score(score), level, 1 - (1 - level) / len(several), cluster, margin, split)
    base = family.measured(before, "before")
    found = [family.compared(each, base, name) for name, each in several.items()]
    return together(dict(zip(map(str, after), found, strict=True)), level) if isinstance(after, Mapping) else found[0]


def together(found: dict[str, Comparison], level: float) -> Comparisons:
    """Holm's verdicts for several candidates, whose intervals are already wide enough."""
    adjusted = holm([1.0 if each.p_value is None else each.p_value for each in found.values()])
    judged = {
        name: replace(each, p_value=p, verdict=_verdict(each.difference.value, p <= 1 - level))
        for (name, each), p in zip(found.items(), adjusted, strict=True)
    }
    method = f"Intervals hold together at {level:.0%} (Bonferroni); verdicts and p-values are Holm's."
    return Comparisons(judged, level, method)


def _check_kind(name: str, given: Any) -> None:
    if not isinstance(given, Predictions) and not (name != "before" and isinstance(given, CalibrationMap)):
        raise InputError(name, "must be a Predictions", f"it is a {type(given).__name__}")


def _verdict(change: float, found: bool) -> Verdict:
    return "no detectable change" if not found or change == 0 else "better" if change < 0 else "worse"


@dataclass(frozen=True, slots=True)
class _Measured:
    """The scores of one side: of each row that counts, and of all."""

    rows: NDArray[np.float64]
    mean: Moments | ClusterMean
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class _Family:
    """The candidates' common ground."""

    before: Predictions
    rule: Score
    level: float
    level_of_change: float
    """higher for several candidates, so that their intervals hold together"""
    cluster: bool
    margin: float | None
    split: Any

    def measured(self, said: Predictions, name: str) -> _Measured:
        """One pass over the predictions."""
        rows = self.rule.rows(said)
        if said.weights is not None:
            rows = rows[said.weights > 0]
        mean = self.mean(rows)
        if np.isinf(mean.mean):
            raise InputError(
                name,
                f"must have a finite {self.rule.title}",
                f"row {first_infinite(self.rule.rows(said), said.weights)} gives probability 0 to what happened",
                "Use score='brier', or pass logits",
            )
        interval, cautions = mean.interval(self.level)
        estimate = Estimate(
            f"{self.rule.name}_score",
            self.rule.title,
            mean.mean,
            said.n,
            interval,
            settings={"view": "canonical", "score": self.rule.name},
            cautions=cautions,
        )
        return _Measured(rows, mean, estimate)

    def mean(self, values: NDArray[np.float64]) -> Moments | ClusterMean:
        """Of rows that count."""
        w, groups = self.before.weights, self.before.groups
        counted = slice(None) if w is None else w > 0
        kept = None if w is None else w[counted]
        if not self.cluster or groups is None:
            return moments_of(values, kept)
        return cluster_mean(values, kept, groups[counted])

    def compared(self, after: Predictions | CalibrationMap, base: _Measured, name: str) -> Comparison:
        """One candidate."""
        repaired: Predictions = after.apply(self.before) if isinstance(after, CalibrationMap) else after
        check_same_rows(self.before, repaired)
        new = self.measured(repaired, name)
        change = self.mean(new.rows - base.rows)
        interval, cautions = change.interval(self.level_of_change)
        described = {"score": self.rule.name, "view": "canonical"} | ({"cluster": True} if self.cluster else {})
        difference = Estimate(
            "score_difference", f"change in {self.rule.title}", change.mean, repaired.n, interval, settings=described
        )
        injective, grounds = how_injective(self.before, repaired)
        return Comparison(
            difference,
            base.estimate,
            new.estimate,
            injective,
            grounds,
            _verdict(change.mean, interval is not None and 0 not in interval),
            cautions,
            self._root(base.mean, new.mean, change) if self.rule.rooted else None,
            self._split(repaired, injective),
            self.margin,
            None if change.error is None else two_sided(change.mean, change.error, change.degrees),
        )

    def _root(self, old: Moments | ClusterMean, new: Moments | ClusterMean, change: Moments | ClusterMean) -> Estimate:
        """√after − √before with the delta method: the errors of both and of their difference hold the covariance."""
        roots = [max(each.mean - self.rule.infimum, 0.0) ** 0.5 for each in (old, new)]
        interval: Interval | None = None
        errors = [each.error for each in (old, new, change)]
        if min(roots) > 0 and None not in errors:
            first, second, both = ((error or 0.0) ** 2 for error in errors)
            a, b = (1 / (2 * root) for root in roots)
            variance = a * a * first + b * b * second - a * b * (first + second - both)
            error = max(variance, 0.0) ** 0.5
            level = self.level_of_change
            interval = around(roots[1] - roots[0], error, change.degrees, level, "delta method, Student t")
        title, described = f"change in root {self.rule.title}", {"score": self.rule.name}
        return Estimate("root_difference", title, roots[1] - roots[0], self.before.n, interval, settings=described)

    def _split(self, after: Predictions, injective: bool | None) -> Split | None:
        size = self.before.n * (1 if self.before.is_binary else self.before.n_classes)
        automatic = isinstance(self.split, str) and self.split == "auto"
        if self.split is None or (automatic and (injective is not False or size > MOST_SPLIT)):
            return None
        by = "isotonic" if automatic else self.split
        old, new = (decompose(said, score=self.rule, by=by) for said in (self.before, after))
        change = new.miscalibration - old.miscalibration
        return Split(change, new.refinement - old.refinement, str(new.settings["how"]))
