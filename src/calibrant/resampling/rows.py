"""The rows of one event as a test sees them: in order of the prediction, with all that calibration says about their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice
from calibrant.predictions import Event, Predictions, repeats_groups
from calibrant.problems import InputError

Floats = NDArray[np.float64]
Cluster = Literal["any", "same"]
Weighting = Literal["auto", "counts", "fixed"]

WEIGHTINGS = ("auto", "counts", "fixed")

MOST_COUNTED = 1e15
"""Rows that weights may stand for: above, float64 does not tell one more from none."""


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """`count` independent rows that say `p` and weigh `unit` each, `hits` of which happened; in order of p."""

    p: Floats
    unit: Floats
    count: NDArray[np.int64]
    hits: Floats
    cluster: NDArray[np.int64] | None
    """number of the row's cluster, where rows may depend on each other"""
    view: str
    n: int
    """rows given"""
    unsaid: bool = False
    """have the rows groups, and did no one say whether rows of a group depend on each other?"""

    @property
    def errors(self) -> Floats:
        """Σ w(p − y) of each atom."""
        errors: Floats = self.unit * (self.count * self.p - self.hits)
        return errors

    @property
    def weight(self) -> Floats:
        weight: Floats = self.unit * self.count
        return weight

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    @property
    def variance(self) -> Floats:
        """Of each error, if the labels follow the predictions and rows are independent."""
        variance: Floats = self.unit**2 * self.count * self.p * (1 - self.p)
        return variance

    @property
    def gaps(self) -> Floats:
        """Distance to the next prediction, that of the last to 1; 0 inside a tie."""
        return np.diff(self.p, append=1.0)

    @property
    def impossible(self) -> int:
        """Atoms whose labels cannot happen if the predictions are right."""
        return int((((self.p == 0) & (self.hits > 0)) | ((self.p == 1) & (self.hits < self.count))).sum())

    @property
    def fixed(self) -> bool:
        """Are weights properties of rows rather than numbers of rows?"""
        return bool((self.unit != 1).any())

    def event(self) -> Event:
        """The same as an event, for rules that cut it into bins."""
        return Event(self.p, np.zeros(len(self.p), np.uint8), None if self.plain else self.weight, self.view)

    @property
    def plain(self) -> bool:
        """Is every atom one row that weighs 1?"""
        return not self.fixed and bool((self.count == 1).all())


def atoms_of(predictions: Predictions, view: Any, cluster: Any = None, weighting: Any = "auto") -> Atoms:
    """The event of a view as atoms. Equal rows are pooled unless weights or clusters keep them apart."""
    refuse_soft(predictions)
    check_choice("weighting", weighting, WEIGHTINGS)
    event, kind, unsaid = (
        predictions.event(view),
        cluster_kind(predictions, cluster),
        unsaid_groups(predictions, cluster),
    )
    if kind is None and counts_rows(event.weights, weighting):
        groups = event.groups
        refuse_many(float(groups.weight.sum()), MOST_COUNTED)
        counts = np.round(groups.weight).astype(np.int64)
        return Atoms(groups.values, np.ones(len(counts)), counts, groups.hits, None, event.name, event.n, unsaid)
    weights = np.ones(event.n) if event.weights is None else event.weights
    kept = weights > 0
    p, y, w = event.probs[kept].astype(np.float64), event.outcomes[kept].astype(np.float64), weights[kept]
    of = cluster_codes(predictions)[kept] if kind else np.zeros(len(p), np.int64)
    order = np.lexsort((y, w, of, p))
    ones = np.ones(len(p), np.int64)
    return Atoms(p[order], w[order], ones, y[order], of[order] if kind else None, event.name, event.n, unsaid)


def refuse_soft(predictions: Predictions) -> None:
    """Shares have no distribution that the predictions would fix."""
    if predictions.soft:
        raise InputError(
            "labels",
            "must be classes for a test of calibration",
            "they are shares (soft labels), whose distribution the predictions do not tell",
            "Use hard labels, or an estimator with its interval",
        )


def counts_rows(weights: Floats | None, weighting: str) -> bool:
    """Does a weight of w stand for w rows, each with a label of its own?"""
    if weights is None:
        return True
    whole = bool((weights == np.floor(weights)).all())
    if weighting == "counts" and not whole:
        where = int(np.argmax(weights != np.floor(weights)))
        raise InputError(
            "weighting",
            "'counts' needs weights that are whole numbers",
            f"weights[{where}] is {weights[where]:g}",
            "Use weighting='fixed': a row has one label, and its weight belongs to it",
        )
    return whole and weighting != "fixed"


def refuse_many(rows: float, most: float) -> None:
    """Weights that stand for more rows than can be counted, or held."""
    if rows > most:
        raise InputError(
            "weights",
            f"must stand for at most {most:.3g} rows",
            f"they stand for {rows:.3g}",
            "Divide them by a constant if they are not numbers of rows",
        )


def cluster_kind(predictions: Predictions, cluster: Any) -> Cluster | None:
    """How rows of a cluster may depend on each other; None for independent rows."""
    if cluster is False or cluster is None:
        return None
    kind: Cluster = "any" if cluster is True else check_choice("cluster", cluster, ("any", "same"))
    if predictions.groups is None:
        raise InputError("cluster", "needs groups", "the predictions have none", "Pass Predictions(..., groups=...)")
    return kind


def unsaid_groups(predictions: Predictions, cluster: Any) -> bool:
    """Do groups hold several rows, with nothing said about how these depend on each other?"""
    return cluster is None and repeats_groups(predictions)


def refuse_cluster(kind: Cluster | None, method: str) -> None:
    """Formulas are for independent rows."""
    if kind is not None:
        raise InputError("cluster", "needs method='exact'", f"method is {method!r}")


def cluster_codes(predictions: Predictions) -> NDArray[np.int64]:
    """The clusters as numbers from 0."""
    assert predictions.groups is not None
    return np.unique(predictions.groups, return_inverse=True)[1].ravel().astype(np.int64)
