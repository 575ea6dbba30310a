"""Is it calibrated? Several complementary statistics, one exact answer, and what is wrong in words."""

from __future__ import annotations

from typing import Any

from calibrant.bins import EqualMass
from calibrant.detect.about import AboutTest
from calibrant.detect.canonical_omnibus import is_calibrated_as_a_whole
from calibrant.predictions import admit
from calibrant.resampling.draw import Statistic
from calibrant.resampling.exact import exactly, null_words, planned, weighting_settings
from calibrant.resampling.null import null_cautions
from calibrant.resampling.rank import together
from calibrant.resampling.rows import Atoms, atoms_of, cluster_kind
from calibrant.resampling.statistics import (
    averaged_two_bin,
    between,
    clearest,
    course,
    cox,
    cumulative,
    cuts_of,
    hosmer_lemeshow,
    mean_gap,
    scan,
    scores,
    spiegelhalter,
)
from calibrant.resampling.wording import component_parts, finding
from calibrant.results import TestResult

COARSE, FINE = 10, 30
"""Bins of the two Hosmer–Lemeshow statistics."""


def is_calibrated(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    n_draws: int | None = None,
    ties: str = "random",
    cluster: Any = None,
    weights: Any = None,
    weighting: str = "auto",
    seed: int = 0,
) -> TestResult:
    """Could a calibrated model have made these predictions? One p-value, exact at every sample size.

    No single statistic sees every fault, so several are asked: mean gap and Cox's score test (too high, too low, too extreme),
    Spiegelhalter's z (the Brier score), Kuiper's range and the averaged two-bin error (errors that pile up along the predictions),
    Hosmer–Lemeshow's χ² on a coarse and on a fine grid of bins (wiggles), and a scan for the stretch that is most clearly wrong.
    Labels are drawn anew from the predictions, which are held fixed; every draw gets the p-values that it would have had, and
    the observed ones are ranked among them by their harmonic mean. `parts` holds every statistic's own p-value and the one
    adjusted for all of them; `finding` says what is wrong.

    Parameters
    ----------
    view
        `binary`, `top`, `class k`: labels of one event are drawn from its probability. `canonical`: classes are drawn from the
        whole vector.
    n_draws
        Labels are redrawn so often; 9999 where that takes seconds, else 999.
    ties
        A statistic may take few values. `random` gives the observed one a place drawn among its equals, by a coin made of the
        data: false alarms come as often as they should. `count` counts every equal against: false alarms come more rarely.
    cluster
        For `Predictions` with groups. `"any"` (or True): rows of a group may depend in any way. The signs of their errors are
        turned round together, which needs many groups that err; labels are drawn for independent rows as well, and the larger
        p-value counts. `"same"`: rows of a group share one fate, as one question asked several times; exact. False: they do not
        depend on each other; None takes that for granted, with a caution.
    weighting
        `counts`: a weight of 2 is the row twice, with two labels. `fixed`: a row has one label and keeps its weight. `auto` takes
        whole numbers as counts.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.detect import is_calibrated
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(500)
    >>> is_calibrated(rng.random(500) < probs, probs).rejects()
    False
    >>> is_calibrated(rng.random(500) < 0.25 + probs / 2, probs).finding.split(";")[0]
    'predictions are too extreme (over-confident)'
    """
    predictions = admit(labels, probs, weights=weights)
    kind = cluster_kind(predictions, cluster)
    if view == "canonical" and not predictions.is_binary:
        return is_calibrated_as_a_whole(predictions, cluster, n_draws, ties, seed)
    atoms = atoms_of(predictions, "auto" if view == "canonical" else view, cluster, weighting)
    plan = planned(n_draws, ties, seed, kind, len(atoms.p))
    statistics = components(atoms)
    every, coin = exactly(atoms, statistics, plan)
    found, judged = max(
        ((each, together(each.values, plan.ties, coin)) for each in every), key=lambda pair: pair[1].p_value
    )
    words = [statistic.words(state) for statistic, state in zip(statistics, found.states, strict=True)]
    return TestResult(
        "is_calibrated",
        f"smallest of {len(statistics)} p-values",
        judged.smallest,
        0.0 if atoms.impossible else judged.p_value,
        atoms.n,
        null_words(atoms, plan),
        {"view": atoms.view, "method": "exact"} | plan.settings | weighting_settings(atoms),
        component_parts(statistics, found.values[0], judged, words, atoms.n)
        | {"where": clearest(atoms, EqualMass(FINE))},
        null_cautions(atoms, plan.kind),
        finding(judged, words, atoms.impossible),
    )


def components(atoms: Atoms) -> list[Statistic]:
    """The statistics that are asked."""
    sums, along, fine = scores(atoms), course(atoms), between(cuts_of(atoms, EqualMass(FINE)))
    return [
        mean_gap(atoms, sums),
        cox(atoms, sums),
        spiegelhalter(atoms, sums),
        cumulative(atoms, "range", along),
        averaged_two_bin(atoms, along),
        hosmer_lemeshow(atoms, EqualMass(COARSE), "coarse bins"),
        hosmer_lemeshow(atoms, EqualMass(FINE), "fine bins", fine),
        scan(atoms, EqualMass(FINE), fine),
    ]


ABOUT = AboutTest(
    name="is_calibrated",
    title="is it calibrated?",
    function=is_calibrated,
    sees="shifts, over- and under-confidence, local errors and wiggles; somewhat less of each than the best single test",
    views=("binary", "top", "class k", "canonical"),
    methods=("exact",),
    cost="rows times draws: 3 s for 10⁵ rows and 10 000 draws",
    source="min-p of Westfall & Young 1993 over the tests of Cox 1958, Spiegelhalter 1986, Hosmer & Lemeshow 1980, Kuiper 1960",
    also_called=("omnibus",),
)

__all__ = ["is_calibrated"]
