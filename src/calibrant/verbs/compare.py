"""Did the repair help, and by how much?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from calibrant.forecasts import Forecasts
from calibrant.inputs import check_positive
from calibrant.interval import (
    ClusterMean,
    LimitedMean,
    Moments,
    SkewedMean,
    around,
    cluster_mean,
    holm,
    normal_quantile,
)
from calibrant.maps import CalibrationMap, RegressionMap
from calibrant.options import checked
from calibrant.predictions import Predictions, admit, cluster_kind
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.score.forecast_score import ForecastScore, check_forecast_score, skewed_pair
from calibrant.score.passes import paired_moments
from calibrant.score.possible import RootChange, limited_pair
from calibrant.score.rule import Rule
from calibrant.score.score import Score, check_score, first_infinite
from calibrant.state.state import State
from calibrant.types import Cluster
from calibrant.verbs.comparison import Comparison, Comparisons, Split, Verdict
from calibrant.verbs.decompose import decompose
from calibrant.verbs.recalibrate import admitted
from calibrant.verbs.same_rows import check_same_forecasts, check_same_rows, how_injective

__all__ = ["Comparison", "Comparisons", "Split", "compare"]

Candidate = Predictions | CalibrationMap | Forecasts | RegressionMap
Whole = Predictions | Forecasts | State
"""What carries labels and probabilities."""
MOST_SPLIT = 2_000_000
"""Probabilities up to which a change is split by default."""


@overload
def compare(
    labels: Whole, before: Mapping[str, Candidate], after: None = None, *args: Any, **options: Any
) -> Comparisons: ...
@overload
def compare(labels: Whole, before: Candidate, after: None = None, *args: Any, **options: Any) -> Comparison: ...
@overload
def compare(labels: Any, before: Any, after: Mapping[str, Any], *args: Any, **options: Any) -> Comparisons: ...
@overload
def compare(labels: Any, before: Any, after: Any, *args: Any, **options: Any) -> Comparison: ...
@checked
def compare(
    labels: Any,
    before: Any = None,
    after: Any = None,
    *,
    score: str | Rule = "auto",
    level: float = 0.95,
    cluster: bool | Cluster | None = None,
    margin: float | None = None,
    method: Any = "auto",
    injective: bool | None = None,
    counts: Any = None,
    weights: Any = None,
) -> Comparison | Comparisons:
    """Did `after` predict better than `before` on the same rows, and by how much?

    The answer is the mean difference in a proper score over the same rows with its
    paired interval. When the map is injective the difference equals the improvement in
    the score's calibration error, whatever the size of the test set (Gruber & Buettner
    2022, Prop. 4.5). Differences of ECE have no such property. `root` is the difference
    of the roots for the Brier score; its interval allows for the bend of a root of few
    rows.
    `compare(labels, before, after)`, or `compare(predictions, after)`.

    Parameters
    ----------
    labels, before
        Outcomes, then the predicted probabilities to compare with; or both as one
        `Predictions`, as forecasts of a real number, or as a state from `collect`, if
        `after` is a map.
    after
        The recalibrated ones; or the map itself, which is then applied to those before;
        or several candidates, a dict of names. Then the intervals hold for all of them
        simultaneously (Bonferroni), and the verdicts and p-values are Holm's, which
        find more: a verdict may be sure of a change whose interval still includes 0.
    score
        A proper score or its name. `"auto"` is Brier for classes; for forecasts it is
        Dawid–Sebastiani where they are Gaussian, pinball for quantiles, else CRPS.
    level
        Confidence of the intervals.
    cluster
        How rows with the same of `Predictions(..., groups=)` depend on each other: `"any"` or True,
        in any way, `"same"`, they share one outcome; None or False, not at all. The
        interval is Student's of whole groups in either case, with one degree of freedom
        less than there are groups.
    margin
        The largest change you call negligible: `equivalent` then says whether the
        interval lies within it.
    method
        How to estimate which part of the change is calibration and which is sharpness,
        by `decompose` on both: the name or recipe of a map, or bins. `"auto"` does so
        by isotonic regression where the map is not known to be injective and the data are
        not huge, `None` never.
    injective
        Was `after` made of `before` by a map that keeps different predictions different?
        Known of a map that is passed, or whose output is; of plain arrays only you know.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> result = cal.compare(test, cal.recalibrate(valid, "temperature"))
    >>> result.verdict, result.injective
    ('better', True)
    >>> several = cal.compare(test, {name: cal.recalibrate(valid, name) for name in ("temperature", "vector", "identity")})
    >>> several["identity"].verdict
    'no detectable change'
    >>> cal.compare([0, 1, 1], [0.4, 0.5, 0.6], [0.1, 0.8, 0.9]).difference.value < 0
    True
    """
    normal_quantile(level)
    if margin is not None:
        check_positive("margin", margin)
    if isinstance(labels, Whole):
        before, after = admitted(labels, after, counts, weights), before
    else:
        before = admitted(labels, before, counts, weights)
    clustered = cluster_kind(before, cluster) is not None
    several = _candidates(labels, after, counts, weights)
    family = _Family(
        before, _rule(score, before), level, 1 - (1 - level) / len(several), clustered, margin, method, injective
    )
    found = [family.compared(each, name) for name, each in several.items()]
    return (
        simultaneous(dict(zip(map(str, after), found, strict=True)), level) if isinstance(after, Mapping) else found[0]
    )


def simultaneous(found: dict[str, Comparison], level: float) -> Comparisons:
    """Holm's verdicts for several candidates, whose intervals are already wide enough."""
    adjusted = holm([1.0 if each.p_value is None else each.p_value for each in found.values()])
    judged = {
        name: replace(each, p_value=p, verdict=_verdict(each.difference.value, p <= 1 - level))
        for (name, each), p in zip(found.items(), adjusted, strict=True)
    }
    method = f"Intervals hold simultaneously at {level:.0%} (Bonferroni); verdicts and p-values are Holm's."
    return Comparisons(judged, level, method)


def _rule(score: str | Rule, before: Predictions | Forecasts) -> Rule:
    if isinstance(before, Forecasts):
        return check_forecast_score(score, before)
    return check_score("brier" if isinstance(score, str) and score == "auto" else score)


def _candidates(labels: Any, after: Any, counts: Any, weights: Any) -> dict[str, Any]:
    """What is compared with `before`, each by the name of its argument; probabilities as predictions of the labels."""
    if isinstance(after, Mapping) and not after:
        raise InputError("after", "must hold at least one candidate", "it is empty")
    several = {"after": after}
    if isinstance(after, Mapping):
        several = {f"after[{name!r}]": each for name, each in after.items()}
    for name, each in several.items():
        if isinstance(each, Candidate):
            continue
        if each is None or isinstance(labels, Whole):
            raise InputError(name, "must be a Predictions or a map", f"it is a {type(each).__name__}")
        several[name] = admit(labels, each, counts=counts, weights=weights)
    return several


def _verdict(change: float, found: bool) -> Verdict:
    return "no detectable change" if not found or change == 0 else "better" if change < 0 else "worse"


Mean = Moments | LimitedMean | ClusterMean | SkewedMean


@dataclass(frozen=True, slots=True)
class _Means:
    """Means of two scores of the same rows, and of their difference."""

    old: Mean
    new: Mean
    change: Mean
    root: RootChange | None = field(default=None, kw_only=True)
    """the change of the roots of the means, where rows are few"""


@dataclass(frozen=True, slots=True)
class _Family:
    """What all candidates are compared with, and how."""

    before: Predictions | Forecasts
    rule: Rule
    level: float
    level_of_change: float
    """higher for several candidates, so that their intervals hold simultaneously"""
    cluster: bool
    margin: float | None
    method: Any
    injective: bool | None

    def means(self, after: Predictions | Forecasts) -> _Means:
        """Of the scores before, after and of after − before; one pass unless clustered."""
        w, groups = self.before.weights, self.before.groups
        if not self.cluster or groups is None:
            if isinstance(self.rule, Score) and isinstance(self.before, Predictions) and isinstance(after, Predictions):
                seen = paired_moments(self.rule, self.before, after)
                means, root = limited_pair(self.rule, self.before, after, seen)
                return _Means(*means, root=root)
            assert isinstance(self.rule, ForecastScore)
            assert isinstance(self.before, Forecasts)
            assert isinstance(after, Forecasts)
            return _Means(*skewed_pair(self.rule, self.before, after))
        counted = slice(None) if w is None else w > 0
        old, new = (self.rule.rows(each)[counted] for each in (self.before, after))
        kept, groups = None if w is None else w[counted], groups[counted]
        with np.errstate(invalid="ignore"):  # ∞ − ∞: the means are refused as infinite later
            mean = cluster_mean if isinstance(self.rule, Score) else SkewedMean.of_clusters
            return _Means(*(mean(values, kept, groups) for values in (old, new, new - old)))

    def described(self) -> dict[str, Any]:
        """Settings of every result."""
        view = {"view": "canonical"} if isinstance(self.before, Predictions) else {"forecasts": self.before.kind}
        return {**view, "score": self.rule.name}

    def recalibrated(self, after: Any, name: str) -> Predictions | Forecasts:
        """A candidate's predictions for the rows of `before`."""
        new = after.apply(self.before) if isinstance(after, CalibrationMap | RegressionMap) else after
        if isinstance(self.before, Predictions) and isinstance(new, Predictions):
            check_same_rows(self.before, new)
        elif isinstance(self.before, Forecasts) and isinstance(new, Forecasts):
            check_same_forecasts(self.before, new, self.rule)
        else:
            kind = "Predictions" if isinstance(self.before, Predictions) else "Forecasts"
            raise InputError(name, f"must be {kind}, as before is", f"it is a {type(new).__name__}")
        return new

    def estimate(self, given: Predictions | Forecasts, mean: Mean, name: str) -> Estimate:
        """The score of one side, refused if it is infinite."""
        if np.isinf(mean.mean):
            row, advice = first_infinite(self.rule.rows(given), given.weights), "Use score='brier', or pass logits"
            wanted, seen = f"must have a finite {self.rule.title}", f"row {row} gives probability 0 to its label"
            raise InputError(name, wanted, seen, advice)
        interval, cautions = mean.interval(self.level)
        name, title = f"{self.rule.name}_score", self.rule.title
        return Estimate(name, title, mean.mean, given.n, interval, settings=self.described(), cautions=cautions)

    def compared(self, after: Any, name: str) -> Comparison:
        """One candidate."""
        new = self.recalibrated(after, name)
        means = self.means(new)
        first, second = self.estimate(self.before, means.old, "before"), self.estimate(new, means.new, name)
        change, title = means.change, f"change in {self.rule.title}"
        interval, cautions = change.interval(self.level_of_change)
        described = self.described() | ({"cluster": True} if self.cluster else {})
        difference = Estimate("score_difference", title, change.mean, new.n, interval, settings=described)
        injective, grounds = how_injective(self.before, new, self.injective)
        verdict = _verdict(change.mean, interval is not None and 0 not in interval)
        root, split = self._root(means) if self.rule.rooted else None, self._split(new, injective)
        if split is None and not injective and self._automatic and isinstance(self.rule, Score):
            cautions = (
                *cautions,
                "so many probabilities are not split into calibration and sharpness unless asked for",
            )
        found = (difference, first, second, injective, grounds, verdict, cautions, root, split)
        return Comparison(*found, self.margin, change.p_value())

    def _root(self, means: _Means) -> Estimate:
        """√after − √before, which moves as the two means do, each over twice its root."""
        roots = [max(each.mean - self.rule.infimum, 0.0) ** 0.5 for each in (means.old, means.new)]
        apart = roots[1] - roots[0]
        interval = self._around_roots(means, roots, apart) if min(roots) > 0 else None
        title, described = f"change in root {self.rule.title}", {"score": self.rule.name}
        return Estimate("root_difference", title, apart, self.before.n, interval, settings=described)

    def _around_roots(self, means: _Means, roots: list[float], apart: float) -> Interval | None:
        level = self.level_of_change
        if means.root is not None:
            return means.root.interval(level)
        errors = [each.error for each in (means.old, means.new, means.change)]
        if None in errors:
            return None
        first, second, both = ((error or 0.0) ** 2 for error in errors)  # Var(new − old) gives the covariance
        a, b = (1 / (2 * root) for root in roots)
        variance = a * a * first + b * b * second - a * b * (first + second - both)
        return around(apart, max(variance, 0.0) ** 0.5, means.change.degrees, level, "delta method, Student t")

    @property
    def _automatic(self) -> bool:
        return isinstance(self.method, str) and self.method == "auto"

    def _split(self, after: Predictions | Forecasts, injective: bool | None) -> Split | None:
        automatic = self._automatic
        if not isinstance(self.before, Predictions) or not isinstance(self.rule, Score):
            if self.method is not None and not automatic:
                raise InputError(
                    "method", "is for probabilities of classes, not for forecasts", f"it is {self.method!r}"
                )
            return None
        size = self.before.n * (1 if self.before.is_binary else self.before.n_classes)
        if self.method is None or (automatic and (injective or size > MOST_SPLIT)):
            return None
        method = "isotonic" if automatic else self.method
        old, new = (decompose(each, score=self.rule, method=method) for each in (self.before, after))
        refinement = new.refinement - old.refinement
        return Split(new.miscalibration - old.miscalibration, refinement, str(new.settings["how"]))
