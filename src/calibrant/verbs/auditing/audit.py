"""In which segments of the data is the model wrong?"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice, check_count, check_level, check_positive
from calibrant.interval import normal_quantile
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.resampling.null import FEW_CLUSTERS, IMPOSSIBLE
from calibrant.resampling.rows import counts_rows, refuse_soft
from calibrant.results import Interval
from calibrant.verbs.auditing.audited import Audit, AuditedSegment, Verdict
from calibrant.verbs.auditing.draws import CLOSE, Family, Look, family_of, look
from calibrant.verbs.auditing.segments import Segments, feature_columns, group_column, mask_columns, segments_of

__all__ = ["Audit", "AuditedSegment", "audit"]

Floats = NDArray[np.float64]

DEEPEST = 3
"""Conditions of an automatic segment."""

POWER = 0.8
"""Probability with which a detectable error is seen."""

DRAWS = ((9999, 1e9), (999, 5e10), (399, np.inf))
"""How many draws unless told, and up to how many steps in all: seconds, half a minute, and what it takes."""

NAMED = 3
"""Segments that a caution names."""

METHODS = {
    False: "law of the errors, all segments at once",
    True: "spread of the clusters, all segments at once",
}


def audit(
    predictions: Predictions,
    features: Any = None,
    *,
    groups: Any = None,
    segments: Any = None,
    view: Any = "auto",
    statistic: Literal["both", "gap", "range"] = "both",
    depth: int = 3,
    n_bins: int = 4,
    min_size: int = 50,
    max_segments: int = 1000,
    level: float = 0.95,
    margin: float = 0.05,
    cluster: bool = False,
    n_draws: int | None = None,
    seed: int = 0,
) -> Audit:
    """In which segments is the model wrong, when so many are looked at that some look bad by chance?

    Under calibration the labels are draws from the predictions. So they are drawn anew many times, every segment is judged on the same
    draws, and a segment is called wrong only if it stands out against the worst segment of a draw (Westfall and Young's step-down). The
    probability that any segment is called wrong by mistake is at most 1 − `level`: at every sample size, however segments overlap, and
    whichever others are really wrong. "Wrong" means that not all rows of the segment are calibrated: a fault of a part is one of the whole.

    Parameters
    ----------
    features
        Columns to cut segments from: a dict, a pandas, Polars or Arrow table, or a structured array. Categories give their values,
        quantities `n_bins` quantile bins, missing values a level of their own; up to `depth` of them are combined.
    groups
        One value a row: each is a segment. By default `predictions.groups`, if neither features nor segments are given.
    segments
        Segments of your own: a dict of names and masks. Those below `min_size` are named in a caution.
    statistic
        `gap` is Σ(y − p), which sees a segment that is told too high or too low. `range` is that of the running sum of errors along the
        predictions (Kuiper, ECCE-R), which also sees errors that cancel. `both` takes whichever is more surprising.
    min_size, max_segments
        Segments with fewer rows are left out. So are automatic ones beyond the number, small ones with many conditions first. Segments
        with the same rows are one.
    margin
        The error that matters to you: segments where it could be missed are told apart.
    cluster
        Rows with the same of `predictions.groups` may depend on each other in any way. Two nulls must then agree to call a segment wrong:
        signs of the errors turned cluster by cluster, which is exact for symmetric errors and close where many clusters err; and labels
        drawn as for independent rows.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> from calibrant.verbs.auditing.audit import audit
    >>> rng = np.random.default_rng(1)
    >>> p, age, sex = rng.random(5000), rng.integers(18, 90, 5000), rng.choice(["f", "m"], 5000)
    >>> wrong = (sex == "f") & (age > 70)
    >>> y = rng.random(5000) < np.where(wrong, p**2, p)
    >>> found = audit(cal.Predictions(y, p), {"age": age, "sex": sex})
    >>> print(found.segments[0])
    age > 72 & sex = f: too high; says 48.2 %, 31.3 % happen (632 rows, adjusted p = 0.0001).
    """
    _check(predictions, statistic, depth, cluster)
    level, margin = check_level(level), check_positive("margin", margin)
    event, kept, counts = predictions.event(view), *_counted(predictions)
    cut = _cut(predictions, features, groups, segments, kept, counts, cluster, (depth, n_bins, min_size, max_segments))
    family = family_of(event, predictions, cut, kept, cluster)
    if n_draws is None:
        n_draws = next(draws for draws, most in DRAWS if family.work * draws <= most)
    plan = statistic, level, check_count(n_draws, "n_draws", 19), check_count(seed, "seed", 0)
    looks = [look(family, *plan)] + ([look(family.independent(), *plan)] if cluster else [])
    found = _Verdicts(cut, looks, statistic, level, margin)
    settings = {
        "depth": depth, "n_bins": n_bins, "min_size": min_size, "max_segments": max_segments, "n_draws": n_draws,
        "seed": seed, "cluster": cluster, "too_small": cut.too_small,
    }  # fmt: skip
    how = "signs of the errors turned, cluster by cluster" if cluster else "labels drawn from the predictions"
    return Audit(
        found.segments(),
        predictions.n,
        event.name,
        statistic,
        level,
        margin,
        looks[0].judged.critical,
        f"{how}, all segments on the same {n_draws:,} draws; step-down",
        settings,
        _cautions(family, looks[0], cut),
    )


def _check(predictions: Any, statistic: Any, depth: Any, cluster: bool) -> None:
    if not isinstance(predictions, Predictions):
        raise InputError("predictions", "must be a Predictions", f"it is a {type(predictions).__name__}")
    refuse_soft(predictions)
    check_choice("statistic", statistic, ("both", "gap", "range"))
    check_choice("depth", depth, tuple(range(1, DEEPEST + 1)))
    if cluster and predictions.groups is None:
        raise InputError("cluster", "needs groups", "the predictions have none", "Pass Predictions(..., groups=...)")


def _counted(predictions: Predictions) -> tuple[Any, Floats]:
    """The rows of some weight, and how many rows each stands for."""
    weights = predictions.weights
    if weights is None:
        return slice(None), np.ones(predictions.n)
    kept = weights > 0
    return kept, weights[kept] if counts_rows(weights, "auto") else np.ones(int(kept.sum()))


def _cut(
    predictions: Predictions,
    features: Any,
    groups: Any,
    segments: Any,
    kept: Any,
    counts: Floats,
    cluster: bool,
    limits: tuple[int, int, int, int],
) -> Segments:
    """The segments that were asked for."""
    n, (depth, n_bins, min_size, most) = predictions.n, limits
    if features is None and segments is None and groups is None and not cluster:
        groups = predictions.groups
    if features is None and segments is None and groups is None:
        where = " beside the clusters" if cluster else ""
        raise InputError("features", "or groups or segments must be given", f"there are none{where}")
    check_count(n_bins, "n_bins", 2)
    columns = [] if features is None else feature_columns(features, kept, counts, n, n_bins)
    named = [] if segments is None else mask_columns(segments, kept, n)
    named += [] if groups is None else [group_column(groups, kept, n)]
    least, most = check_count(min_size, "min_size"), check_count(most, "max_segments")
    return segments_of(columns, named, counts, depth, least, most)


class _Verdicts:
    """A look turned into verdicts, intervals and detectable errors; a second one, with another null, must agree to call a segment wrong."""

    def __init__(self, cut: Segments, looks: list[Look], statistic: str, level: float, margin: float) -> None:
        self.cut, self.look, self.laws = cut, looks[0], looks[0].laws
        self.statistic, self.level, self.margin = statistic, level, margin
        self.adjusted = np.max([each.judged.adjusted for each in looks], axis=0)
        self.alone = np.max([each.alone for each in looks], axis=0)

    def segments(self) -> tuple[AuditedSegment, ...]:
        """All of them, worst first."""
        found, laws, segments = self.look, self.laws, self.cut.found
        (low, high), detectable, sure = self.ends(), self.detectable(), laws.sure_scores(found.sums)
        sigma = np.where(laws.sigma > 0, laws.sigma, np.inf)
        order = np.lexsort((-laws.weight, -found.scores, self.adjusted))
        return tuple(
            AuditedSegment(
                segments[s].name,
                segments[s].conditions,
                round(segments[s].size),
                float(laws.said[s] / laws.weight[s]),
                float(laws.happened[s] / laws.weight[s]),
                float(found.sums[s] / laws.weight[s]),
                Interval(float(low[s]), float(high[s]), self.level, METHODS[laws.erring is not None]),
                float(-found.sums[s] / sigma[s]),
                None if found.ranges is None else float(found.ranges[s] / sigma[s]),
                float(found.scores[s]),
                self.fired(s),
                float(self.alone[s]),
                float(self.adjusted[s]),
                float(detectable[s]) if np.isfinite(detectable[s]) else None,
                self.verdict(s, sure, detectable),
                tuple(segments[s].same),
            )
            for s in order.tolist()
        )

    def fired(self, s: int) -> Literal["gap", "range"]:
        """The statistic that is more surprising."""
        gap, course = self.look.gap_scores, self.look.range_scores
        return "gap" if course is None or (self.statistic == "both" and gap[s] >= course[s]) else "range"

    def ends(self) -> tuple[Floats, Floats]:
        """Gaps that the observed sum does not refute, if it varied about them as the errors show, or as errors of such a model would."""
        laws, sums, z = self.laws, self.look.sums, self.look.reaching
        shown = replace(laws, sigma=laws.spread, skew=laws.skew / laws.wider)
        most, least = laws.farthest(-sums, z, upward=False), -laws.farthest(-sums, z, upward=True)
        low = np.minimum(sums - shown.critical_sums(z, upward=False), least) / laws.weight
        high = np.maximum(sums + shown.critical_sums(z, upward=True), most) / laws.weight
        mean = laws.said / laws.weight
        return np.clip(low, mean - 1, mean), np.clip(high, mean - 1, mean)

    def detectable(self) -> Floats:
        """Gap from which all that are possible score above the critical value with 80 % probability; ∞ where none does."""
        laws, z = self.laws, NormalDist().inv_cdf(POWER)
        critical = max(self.look.judged.critical, normal_quantile(self.level))

        known = laws if laws.erring is None else replace(laws, sigma=np.ones_like(laws.sigma))
        ways = []
        for upward in (False, True):
            if self.statistic == "range":
                needed = known.critical_ranges(critical)
            else:
                needed = known.critical_sums(critical, upward)
            ways.append((laws.seen(needed, z, upward), laws.reach(upward)))
        missed = np.max([np.minimum(seen, reach) for seen, reach in ways], axis=0) / laws.weight
        return np.where(np.isinf([seen for seen, _ in ways]).all(axis=0), np.inf, missed)

    def verdict(self, s: int, sure: Floats, detectable: Floats) -> Verdict:
        """In words. A direction needs a gap that would have been enough by itself, were errors as spread out as they look."""
        if self.adjusted[s] <= 1 - self.level + CLOSE:
            if sure[s] < self.look.judged.needed[s]:
                return "wrong both ways"
            return "too high" if self.look.sums[s] > 0 else "too low"
        return "too few rows" if detectable[s] > self.margin else "no error seen"


def _cautions(family: Family, found: Look, cut: Segments) -> tuple[str, ...]:
    cautions = []
    if family.atoms.impossible:
        cautions.append(IMPOSSIBLE)
    own = cut.own_too_small
    if own:
        more = f" and {len(own) - NAMED:,} more" if len(own) > NAMED else ""
        cautions.append(
            f"{len(own):,} of your own segments or groups {'is' if len(own) == 1 else 'are'} smaller than min_size and "
            f"{'was' if len(own) == 1 else 'were'} not looked at: {', '.join(map(repr, own[:NAMED]))}{more}"
        )
    if len(cut.found) == 1 and cut.too_small:
        cautions.append(
            f"all {cut.too_small:,} segments are smaller than min_size: only all rows together were looked at"
        )
    if cut.stopped is not None:
        more = "" if cut.stopped == DEEPEST else ", and those of more conditions"
        cautions.append(
            f"more than max_segments were found: small ones of {cut.stopped} conditions{more} were not looked at"
        )
    few = 0 if found.laws.erring is None else int((found.laws.erring < FEW_CLUSTERS).sum())
    if few:
        cautions.append(
            f"in {few:,} segments few clusters err (fewer than {FEW_CLUSTERS} equal ones): p-values are rough there"
        )
    return tuple(cautions)
