"""In which segments of the data is the model wrong?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from calibrant.arrays import common_index
from calibrant.inputs import check_choice, check_count, check_level, check_positive, check_seed, check_statistic
from calibrant.options import checked
from calibrant.predictions import Event, MultilabelPredictions, Predictions, admit, cluster_kind, of_states
from calibrant.problems import InputError
from calibrant.resampling.exact import Exact
from calibrant.resampling.null import FEW_CLUSTERS, IMPOSSIBLE
from calibrant.resampling.rows import refuse_soft
from calibrant.state.state import State
from calibrant.types import Cluster, Floats, Seed
from calibrant.verbs.auditing.audited import Audit, AuditedSegment
from calibrant.verbs.auditing.family import Family, family_of
from calibrant.verbs.auditing.segments import Segments, feature_columns, group_column, mask_columns, segments_of
from calibrant.verbs.auditing.verdicts import Scored, Verdicts, scored

__all__ = ["Audit", "AuditedSegment", "audit"]

MAX_DEPTH = 3
"""Conditions of an automatic segment."""

DRAWS = ((9999, 1e9), (999, 5e10), (399, np.inf))
"""Default number of draws, and up to how many steps in all: seconds, half a minute, and what it takes."""

N_NAMED = 3
"""Segments that a warning names."""

STATISTICS = ("both", "gap", "range")


@checked
def audit(
    labels: Any,
    probs: Any = None,
    features: Any = None,
    *,
    groups: Any = None,
    segments: Any = None,
    view: Any = "auto",
    statistic: Literal["both", "gap", "range", "kuiper"] = "both",
    depth: int = 3,
    n_bins: int = 4,
    min_size: int = 50,
    max_segments: int = 1000,
    level: float = 0.95,
    margin: float = 0.05,
    cluster: bool | Cluster | None = None,
    n_draws: int | None = None,
    seed: Seed = 0,
    counts: Any = None,
    weights: Any = None,
) -> Audit:
    """In which segments is the model wrong, allowing for how many segments are looked at?

    Under calibration the labels are draws from the predictions. So they are drawn many
    times, every segment is scored on the same draws, and a segment is called wrong only
    if it stands out against the worst segment of a draw (Westfall and Young's
    step-down). The probability that any segment is called wrong by mistake is at most 1
    − `level`: at every sample size, however segments overlap, and whichever others are
    really wrong. "Wrong" means that not all rows of the segment are calibrated, so that
    a larger segment that holds a wrong one is wrong too.
    `audit(labels, probs, features)`, or `audit(predictions, features)`.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`; or a dict with
        a state for each segment, as `scan(…, segments=column)` returns. Labels must be hard.
    features
        Columns to cut segments from: a dict, a pandas, Polars or Arrow table, or a
        structured array. Categories give their values, quantities quantile bins,
        missing values a level of their own.
    groups
        One value per row: each is a segment. By default `predictions.groups`, if
        neither features nor segments are given.
    segments
        Segments of your own: a dict of names and masks. A warning names those below
        `min_size`.
    view
        Which event is audited: `"binary"`, `"top"` or `"class k"`; `"auto"` is the
        first that fits.
    statistic
        `"gap"` is Σ(y − p), which has power against predictions that are too high or
        too low in the segment. `"range"` or `"kuiper"` is that of the running sum of
        errors along the predictions (ECCE-R), which has power against errors that
        cancel, too. `"both"` takes the larger score.
    depth
        Conditions that are combined at most, 1 to 3.
    n_bins
        Quantile bins per quantity.
    min_size, max_segments
        Segments with fewer rows are left out. So are automatic ones beyond the number,
        small ones with many conditions first. Segments with the same rows are one.
    level
        Confidence of the intervals, all at once; 1 − level is the false-alarm rate.
    margin
        The error that matters to you: segments without a finding in which it could be
        missed get the verdict "too few rows".
    cluster
        How rows with the same of `Predictions(..., groups=)` depend on each other:
        `"any"` or True, in any way, `"same"`, they share one outcome; None or False, not
        at all. In the first two cases two nulls must agree to call a segment wrong:
        signs of the errors flipped cluster by cluster, which is exact for symmetric
        errors and close where many clusters err; and labels drawn as for independent
        rows.
    n_draws
        Number of null draws; by default 9999, 999 or 399, as time allows.
    seed
        Of the null draws, which also depend on the data.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(1)
    >>> p, age = rng.random(5000), rng.integers(18, 90, 5000)
    >>> sex = rng.choice(["f", "m"], 5000)
    >>> wrong = (sex == "f") & (age > 70)
    >>> y = rng.random(5000) < np.where(wrong, p**2, p)
    >>> found = cal.audit(y, p, {"age": age, "sex": sex})
    >>> print(found.segments[0].name, found.segments[0].verdict)
    age > 72 & sex = f too high
    """
    if isinstance(labels, Mapping):
        labels, view = of_states(labels, view), "auto"
    if isinstance(labels, Predictions) and features is None:
        probs, features = None, probs
    predictions, event = _asked(_rows(labels, probs, counts, weights), view)
    chosen, clustered = check_statistic(statistic, STATISTICS), _check(predictions, depth, cluster)
    level, margin = check_level(level), check_positive("margin", margin)
    exact = Exact(n_draws, "count", check_seed(seed))
    kept, counts = _counted(predictions)
    limits = (depth, n_bins, min_size, max_segments)
    cut = _cut(predictions, (features, groups, segments), kept, counts, clustered, limits)
    family = family_of(event, predictions, cut, kept, clustered)
    n_draws = exact.n_draws or next(draws for draws, most in DRAWS if family.work * draws <= most)
    families = [family, family.independent()] if clustered else [family]
    nulls = [scored(each, chosen, level, n_draws, exact.seed) for each in families]
    settings = {
        "depth": depth,
        "n_bins": n_bins,
        "min_size": min_size,
        "max_segments": max_segments,
        "n_draws": n_draws,
        "seed": exact.seed,
        "cluster": clustered,
        "too_small": cut.too_small,
    }
    how = "signs of the errors flipped, cluster by cluster" if clustered else "labels drawn from the predictions"
    how += f", all segments on the same {n_draws:,} draws; step-down"
    return Audit(
        Verdicts(nulls, chosen, level, margin).of(cut.found),
        predictions.n,
        event.name,
        chosen,
        level,
        margin,
        nulls[0].steps.critical,
        how,
        settings,
        _warnings(family, nulls[0], cut),
    )


def _rows(labels: Any, probs: Any, counts: Any, weights: Any) -> Predictions:
    if isinstance(labels, State):
        raise InputError("labels", "must be rows", "it is a state, which has no features", "Pass (labels, probs)")
    return admit(labels, probs, counts=counts, weights=weights)


def _asked(predictions: Predictions, view: Any) -> tuple[Predictions, Event]:
    """The rows and the event that is audited; of multi-label predictions the rows are those of its label."""
    event = predictions.event(view)
    if isinstance(predictions, MultilabelPredictions):
        predictions = predictions.label(event.name.removeprefix("class "))
    return predictions, event


def _check(predictions: Predictions, depth: Any, cluster: Any) -> bool:
    """Refuse what cannot be audited; do rows of a group depend on each other?"""
    refuse_soft(predictions)
    check_choice("depth", depth, tuple(range(1, MAX_DEPTH + 1)))
    return cluster_kind(predictions, cluster) is not None


def _counted(predictions: Predictions) -> tuple[Any, Floats]:
    """The rows of positive weight, and how many rows each stands for."""
    mass = predictions.mass
    if mass is None:
        return slice(None), np.ones(len(predictions.labels))
    kept = mass.weights > 0
    return kept, mass.counts[kept]


def _cut(
    predictions: Predictions,
    sources: tuple[Any, ...],
    kept: Any,
    counts: Floats,
    clustered: bool,
    limits: tuple[int, ...],
) -> Segments:
    """The segments that were asked for; `sources` are features, groups and segments."""
    n, (features, groups, segments), (depth, n_bins, min_size, most) = len(predictions.labels), sources, limits
    if all(source is None for source in sources):
        groups = None if clustered else predictions.groups
        if groups is None:
            where = " beside the clusters" if clustered else ""
            raise InputError("features", "or groups or segments must be given", f"there are none{where}")
    common_index(predictions=predictions, **_each(features=features, groups=groups, segments=segments))
    check_count(n_bins, "n_bins", 2)
    columns = [] if features is None else feature_columns(features, kept, counts, n, n_bins)
    named = [] if segments is None else mask_columns(segments, kept, n)
    named += [] if groups is None else [group_column(groups, kept, n)]
    least, most = check_count(min_size, "min_size"), check_count(most, "max_segments")
    return segments_of(columns, named, counts, depth, least, most)


def _each(**sources: Any) -> dict[str, Any]:
    """Tables and columns by argument; those of a dict one by one."""
    found: dict[str, Any] = {}
    for name, source in sources.items():
        columns = source.items() if isinstance(source, Mapping) else ()
        found |= {name: source} | {f"{name}[{key!r}]": column for key, column in columns}
    return found


def _warnings(family: Family, found: Scored, cut: Segments) -> tuple[str, ...]:
    """What a reader of the audit should know."""
    warnings = [IMPOSSIBLE] * bool(family.atoms.impossible)
    own = cut.own_too_small
    if own:
        names = ", ".join(map(repr, own[:N_NAMED])) + (f" and {len(own) - N_NAMED:,} more" * (len(own) > N_NAMED))
        are, were = ("is", "was") if len(own) == 1 else ("are", "were")
        small = f"{are} smaller than min_size and {were} not audited"
        warnings.append(f"{len(own):,} of your own segments or groups {small}: {names}")
    if len(cut.found) == 1 and cut.too_small:
        warnings.append(f"all {cut.too_small:,} segments are smaller than min_size: only all rows were audited")
    if cut.stopped is not None:
        more = "" if cut.stopped == MAX_DEPTH else ", and those of more conditions"
        skipped = f"small ones of {cut.stopped} conditions{more} were not audited"
        warnings.append(f"more than max_segments were found: {skipped}")
    few = 0 if found.laws.effective is None else int((found.laws.effective < FEW_CLUSTERS).sum())
    rough = f"few clusters err (fewer than {FEW_CLUSTERS} equal ones): p-values are rough there"
    return (*warnings, *([f"in {few:,} segments {rough}"] if few else []))
