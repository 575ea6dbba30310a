"""Segments scored on the same null draws; verdict, interval and detectable error of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from calibrant.interval import normal_quantile
from calibrant.resampling.rank import CLOSE, StepDown, critical_score, step_down
from calibrant.results import Interval
from calibrant.types import Bools, Floats
from calibrant.verbs.auditing.audited import AuditedSegment, Verdict
from calibrant.verbs.auditing.family import Family, segment_draws
from calibrant.verbs.auditing.laws import Laws, laws_of
from calibrant.verbs.auditing.segments import Segment

POWER = 0.8
"""Probability with which a detectable error is found."""

METHODS = {
    False: "distribution of the errors, all segments at once",
    True: "spread of the clusters, all segments at once",
}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What was observed in each segment, scored and ranked among draws from one null."""

    laws: Laws
    sums: Floats
    """Σ(p − y)"""
    ranges: Floats | None
    fired: list[Literal["gap", "range"]]
    """the statistic with the larger score"""
    scores: Floats
    alone: Floats
    """p-value of each segment as if there were no other"""
    steps: StepDown
    interval_scores: Floats
    """scores up to which gaps may vary, so that all do with probability `level`"""


def scored(family: Family, statistic: str, level: float, n_draws: int, seed: int) -> Scored:
    """Draw, score and rank all segments."""
    laws, found = laws_of(family), segment_draws(family, n_draws, seed, statistic != "gap")
    gaps, observed = laws.gap_scores(found.sums), None
    scores, by_gap = gaps, np.ones(family.n_segments, bool)
    if found.ranges is not None:
        ranges, observed = laws.range_scores(found.ranges), found.ranges[0]
        scores = ranges if statistic == "range" else np.maximum(gaps, ranges)
        by_gap = (gaps[0] >= ranges[0]) & (statistic == "both")
    fired: list[Literal["gap", "range"]] = ["gap" if each else "range" for each in by_gap]
    alone = (scores >= scores[0] * (1 - CLOSE)).mean(axis=0)
    steps, interval_scores = step_down(scores, level), joint_scores(gaps, laws.uninformative, level)
    return Scored(laws, found.sums[0], observed, fired, scores[0], alone, steps, interval_scores)


def joint_scores(scores: Floats, uninformative: Bools, level: float) -> Floats:
    """Scores up to which gaps may vary, so that all do with probability `level`.

    They follow from the draws, and where these say nothing, from an equal share of the
    allowed errors (Bonferroni).
    """
    alone = normal_quantile(1 - (1 - level) / len(uninformative))
    if uninformative.all():
        return np.full(len(uninformative), alone)
    rest = 1 - (1 - level) * (1 - uninformative.mean())
    informative = max(critical_score(scores[:, ~uninformative], rest), normal_quantile(rest))
    return np.where(uninformative, alone, informative)


class Verdicts:
    """Scores turned into verdicts, intervals and detectable errors.

    Those under a second null must agree to call a segment wrong.
    """

    def __init__(self, nulls: list[Scored], statistic: str, level: float, margin: float) -> None:
        self.found, self.laws = nulls[0], nulls[0].laws
        self.statistic, self.level, self.margin = statistic, level, margin
        self.adjusted = np.max([each.steps.adjusted for each in nulls], axis=0)
        self.alone = np.max([each.alone for each in nulls], axis=0)

    def of(self, segments: tuple[Segment, ...]) -> tuple[AuditedSegment, ...]:
        """All segments, worst first."""
        found, laws = self.found, self.laws
        (low, high), detectable = self.ends(), self.detectable()
        directed = laws.direction_scores(found.sums) >= found.steps.needed
        sigma = np.where(laws.sigma > 0, laws.sigma, np.inf)
        order = np.lexsort((-laws.weight, -found.scores, self.adjusted))
        predicted, observed, gaps = (
            (each / laws.weight).tolist() for each in (laws.predicted, laws.observed, found.sums)
        )
        standard, scores, alone, adjusted = (
            each.tolist() for each in (-found.sums / sigma, found.scores, self.alone, self.adjusted)
        )
        ranges = None if found.ranges is None else (found.ranges / sigma).tolist()
        method = METHODS[laws.effective is not None]
        return tuple(
            AuditedSegment(
                segments[s].name,
                segments[s].conditions,
                round(segments[s].size),
                predicted[s],
                observed[s],
                gaps[s],
                Interval(float(low[s]), float(high[s]), self.level, method),
                standard[s],
                ranges and ranges[s],
                scores[s],
                found.fired[s],
                alone[s],
                adjusted[s],
                float(detectable[s]) if np.isfinite(detectable[s]) else None,
                self.verdict(s, bool(directed[s]), float(detectable[s])),
                tuple(segments[s].same),
            )
            for s in order.tolist()
        )

    def ends(self) -> tuple[Floats, Floats]:
        """Ends of the intervals: gaps that the observed sum does not refute.

        It is taken to vary as the errors show, or as those of a model with that gap would.
        """
        laws, sums, z = self.laws, self.found.sums, self.found.interval_scores
        shown = replace(laws, sigma=laws.spread, skew=laws.skew / laws.inflation)
        most, least = laws.farthest(-sums, z, upward=False), -laws.farthest(-sums, z, upward=True)
        low = np.minimum(sums - shown.critical_sums(z, upward=False), least) / laws.weight
        high = np.maximum(sums + shown.critical_sums(z, upward=True), most) / laws.weight
        mean = laws.predicted / laws.weight
        return np.clip(low, mean - 1, mean), np.clip(high, mean - 1, mean)

    def detectable(self) -> Floats:
        """Smallest gap, of either sign, that scores above the critical value with 80 % power.

        ∞ if no possible gap does.
        """
        laws, z = self.laws, NormalDist().inv_cdf(POWER)
        critical = max(self.found.steps.critical, normal_quantile(self.level))
        scale = laws if laws.effective is None else replace(laws, sigma=np.ones_like(laws.sigma))
        ranged = self.statistic == "range"
        least = [
            laws.detectable(
                scale.critical_ranges(critical) if ranged else scale.critical_sums(critical, upward), z, upward
            )
            for upward in (False, True)
        ]
        missed = np.minimum(least, [laws.largest(False), laws.largest(True)]).max(axis=0) / laws.weight
        return np.where(np.isinf(least).all(axis=0), np.inf, missed)

    def verdict(self, s: int, directed: bool, detectable: float) -> Verdict:
        """The verdict in words; a direction needs a significant gap (by the observed spread)."""
        if self.adjusted[s] > 1 - self.level + CLOSE:
            return "too few rows" if detectable > self.margin else "no error seen"
        if not directed:
            return "wrong both ways"
        return "too high" if self.found.sums[s] > 0 else "too low"
