"""Is it calibrated? Several complementary statistics, one exact answer, and what is wrong in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import Predictions, admit
from calibrant.resampling import statistics as of
from calibrant.resampling.classes import ClassRows, class_bins, class_lines, class_rows, class_scores, of_top
from calibrant.resampling.draw import Statistic
from calibrant.resampling.exact import LEVEL, Exact, as_result, method_name, ranked_jointly
from calibrant.resampling.fine_bins import Grid, isotonic_ratio, neyman, rank_polynomials, waves
from calibrant.resampling.null import Hypothesis, hypothesis_of
from calibrant.resampling.rank import JointRank
from calibrant.resampling.rows import Atoms, atoms_of
from calibrant.results import TestResult
from calibrant.types import Cluster, Seed

MAX_FINDINGS = 3
"""Findings put into words."""

WEIGHTS = {
    "mean_gap": 0.1,
    "cox": 1.0,
    "spiegelhalter": 1.0,
    "kuiper": 0.35,
    "scan": 1.0,
    "neyman": 0.7,
    "rank_polynomials": 0.7,
    "waves": 0.2,
    "isotonic_ratio": 0.5,
}
"""How much the p-value of each statistic of one event counts: no alternative, strong or weak, may lie far behind the test
that is best for it. A shift is seen by Cox's test too, and by Kuiper's range, so that the mean gap needs little of its own.
Chosen on 35 alternatives at two strengths, other ones than those of studies/power.py, with other predictions and seeds."""


@method(
    "test",
    name="is_calibrated",
    title="is it calibrated?",
    views=(*ONE_EVENT, "canonical"),
    ways=("exact",),
    also_called=("omnibus",),
)
def is_calibrated(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact"] | Exact = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    ties: str = "random",
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
) -> TestResult:
    """Could a calibrated model have made these predictions? One p-value, exact at every sample size.

    No single statistic has power against every fault, so several are computed: mean gap
    and Cox's score test (too high, too low, too extreme), Spiegelhalter's z (the Brier
    score), Kuiper's range (errors that add up along the predictions), the clearest run of
    thirty bins (errors in a narrow range), and on a fine grid an adaptive Neyman test and
    polynomials of ranks (smooth errors), the periodogram of the errors (waves) and an
    isotonic likelihood ratio (anything, if rates rise). For all
    classes: the temperature and the Brier score, class frequencies together and the worst
    of them, the worst class in Cox's test, bins of every class, and Kuiper's range of the
    top class. Labels are drawn from the predictions, which are held fixed; every draw
    gets the p-values that it would have had, and the observed ones are ranked among them
    by their weighted harmonic mean. From 20 000 different predictions on, independent
    rows are drawn and ranked in cells of some 64 neighbours, which takes less time and is
    no less exact. `parts` holds every statistic's own p-value and the one
    adjusted for all of them; `parts["where"]` the range of predictions of one event that
    is most clearly wrong; `finding` says what is wrong.

    Parameters
    ----------
    labels, probs
        Outcomes and predictions, or a `Predictions` as the only argument.
    method
        `"exact"`, or `Exact(...)`, which holds `n_draws`, `ties` and `seed`.
    view
        `"binary"`, `"top"`, `"class k"`: labels of one event are drawn from its
        probability; `"auto"` is the first of them that fits. `"canonical"`: classes are
        drawn from the predicted distributions.
    n_draws, ties, seed
        Number of null draws, treatment of ties and choice of draws: see `Exact`.
    cluster
        For `Predictions` with groups. `"any"` (or True): rows of a group may depend on
        each other in any way. The signs of their errors are flipped together, which
        needs many groups that err; labels are drawn for independent rows as well, and
        the larger p-value counts. `"same"`: rows of a group share one outcome, as one
        question asked several times; exact. False: rows are independent; None assumes
        that, with a warning.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the
        same. Weights are held fixed: a row has one label, however much it matters.

    Notes
    -----
    Power against: shifts, over- and under-confidence, local errors, waves; each
      somewhat less than the best single test.
    Cost: one sort, and rows times draws up to 20 000 different predictions, from there
      on cells times draws: 0.3 s for 10⁵ rows and 10 000 draws.
    Source: Westfall & Young 1993 over the tests of Cox 1958, Spiegelhalter 1986, Kuiper
      1960, Neyman 1937, Fan 1996.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(500)
    >>> cal.is_calibrated(rng.random(500) < probs, probs).rejects()
    False
    >>> cal.is_calibrated(rng.random(500) < 0.25 + probs / 2, probs).finding.split(";")[0]
    'predictions are too extreme (over-confident)'
    """
    method_name(method, ("exact",))
    exact, predictions = Exact.asked(method, n_draws, seed, ties), admit(labels, probs, counts=counts, weights=weights)
    if view == "canonical" and not predictions.is_binary:
        return _of_all_classes(predictions, cluster, exact)
    atoms = atoms_of(predictions, "auto" if view == "canonical" else view, cluster)
    parts = {"where": of.clearest(atoms)}
    return _joint_result(hypothesis_of(atoms), components(atoms), exact.sized(len(atoms.p)), parts)


def _of_all_classes(predictions: Predictions, cluster: Any, exact: Exact) -> TestResult:
    """The same question about the predicted distributions over all classes."""
    rows = class_rows(predictions, cluster)
    # every class of every row is looked at: fewer draws from 20 000 rows on
    return _joint_result(
        rows.hypothesis, class_components(rows, predictions.classes), exact.sized(10 * len(rows.probs))
    )


def components(atoms: Atoms) -> list[Statistic]:
    """The statistics of one event."""
    sums, grid = of.scores(atoms), Grid(atoms)
    found = [
        of.mean_gap(atoms, sums),
        of.cox(atoms, sums),
        of.spiegelhalter(atoms, sums),
        of.kuiper(atoms),
        of.scan(atoms),
        neyman(atoms, grid),
        rank_polynomials(atoms, grid),
        waves(atoms, grid),
        *([isotonic_ratio(atoms, grid)] if atoms.dependence != "any" else []),
    ]
    return [replace(each, weight=WEIGHTS[each.name]) for each in found]


def class_components(rows: ClassRows, classes: tuple[Any, ...]) -> list[Statistic]:
    """The statistics of all classes, and one of the top class."""
    return [
        *class_scores(rows),
        *class_lines(rows, classes),
        class_bins(rows, classes),
        of_top(rows, of.kuiper),
    ]


def _joint_result(
    hypothesis: Hypothesis, statistics: Sequence[Statistic], exact: Exact, more: dict[str, Any] | None = None
) -> TestResult:
    """Each statistic as a result of its own in `parts`, and all of them as one."""
    values, states, rank = ranked_jointly(hypothesis, statistics, exact)
    words = [statistic.words(state) for statistic, state in zip(statistics, states, strict=True)]
    parts: dict[str, Any] = {}
    for one, value, p, adjusted, text in zip(statistics, values, rank.each, rank.adjusted, words, strict=True):
        null, finding = "p-value of this statistic alone", text if p <= LEVEL else ""
        own = {"adjusted": adjusted}
        parts[one.name] = TestResult(one.name, one.title, float(value), p, hypothesis.n, null, {}, own, (), finding)
    parts["adjusted"] = dict(zip(parts, rank.adjusted, strict=True))
    p_value = 0.0 if hypothesis.impossible else rank.p_value
    outcome = ("is_calibrated", f"smallest of {len(statistics)} p-values", rank.smallest, p_value)
    return as_result(hypothesis, exact, outcome, parts | (more or {}), _finding(hypothesis, rank, words))


def _finding(hypothesis: Hypothesis, rank: JointRank, words: Sequence[str]) -> str:
    """What the statistics that are significant after adjustment say, clearest first."""
    if hypothesis.impossible:
        return "some labels had predicted probability 0"
    if rank.p_value > LEVEL:
        return "no sign of miscalibration"
    order = np.argsort(rank.adjusted, kind="stable")
    fired = [words[j] for j in order if rank.adjusted[j] <= LEVEL] or [words[int(order[0])]]
    return "; ".join(list(dict.fromkeys(filter(None, fired)))[:MAX_FINDINGS])
