"""What calibration says about the errors of the rows: three null hypotheses, each able to draw from itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.draws.null_draws import (
    Seeds,
    Tables,
    binomial_tables,
    draw_pooled,
    draw_shared,
    draw_single,
    flip_signs,
)
from calibrant.resampling.rows import Atoms, Cluster

Floats = NDArray[np.float64]

FEW_CLUSTERS = 20
"""Below this many that err equally, turning signs round is told to be rough; see studies/results/false_alarms.md."""

IMPOSSIBLE = "labels happened that were given probability 0: the predictions are refuted whatever the p-value"

UNSAID = (
    "rows of a group are taken as independent: pass cluster='same' or cluster='any' if they depend on each other, "
    "cluster=False if they do not"
)


class Null(Protocol):
    """Draws of the errors under calibration."""

    @property
    def atoms(self) -> Atoms: ...

    def draws(self, seeds: Seeds) -> Floats:
        """(R, A): errors of each atom, one row a seed."""


@dataclass(frozen=True, slots=True, eq=False)
class IndependentRows:
    """Every label is drawn from its prediction, the predictions held fixed."""

    atoms: Atoms
    tables: Tables
    plain: bool
    """is every atom one row that weighs 1?"""

    def draws(self, seeds: Seeds) -> Floats:
        atoms, tables = self.atoms, self.tables
        errors = np.empty((len(seeds), len(atoms.p)))
        if self.plain:
            draw_single(atoms.p, tables.thresholds, seeds, errors)
        else:
            expected = atoms.count * atoms.p
            draw_pooled(expected, atoms.unit, tables.starts, tables.lowest, tables.thresholds, seeds, errors)
        return errors


@dataclass(frozen=True, slots=True, eq=False)
class SharedFate:
    """Rows of a cluster share one uniform number and happen if it lies below their prediction: the closest that labels can be tied.

    Exact where a cluster is one question asked several times with one answer.
    """

    atoms: Atoms
    tables: Tables

    def draws(self, seeds: Seeds) -> Floats:
        atoms = self.atoms
        assert atoms.cluster is not None
        errors = np.empty((len(seeds), len(atoms.p)))
        draw_shared(atoms.p, atoms.unit, self.tables.thresholds, atoms.cluster, seeds, errors)
        return errors


@dataclass(frozen=True, slots=True, eq=False)
class TurnedSigns:
    """The errors of a cluster, all kept or all turned round by a coin: rows of a cluster may depend in any way.

    Errors have mean 0 under calibration and clusters are independent, so the turned errors vary as the true ones do. Exact for
    symmetric errors, otherwise close where many clusters err.
    """

    atoms: Atoms

    def draws(self, seeds: Seeds) -> Floats:
        observed = self.atoms.errors
        assert self.atoms.cluster is not None
        errors = np.empty((len(seeds), len(observed)))
        flip_signs(observed, self.atoms.cluster, seeds, errors)
        return errors


def nulls_of(atoms: Atoms, kind: Cluster | None) -> list[Null]:
    """Independent rows; clusters that share a fate (`same`); or, for clusters that depend in any way (`any`), two to refute.

    Turned signs need many clusters with errors. Independent rows need none, but know of no dependence. The larger of the two
    p-values is valid where either is.
    """
    tables = binomial_tables(atoms.p, atoms.count)
    independent = IndependentRows(atoms, tables, atoms.plain)
    if kind is None:
        return [independent]
    return [SharedFate(atoms, tables)] if kind == "same" else [TurnedSigns(atoms), independent]


def null_text(kind: Cluster | None, fixed: bool) -> str:
    """The same in a line."""
    if kind == "same":
        return "labels drawn from the predictions, one number for all rows of a cluster"
    rows = "labels drawn from the predictions, rows independent" + (", weights held fixed" if fixed else "")
    return rows if kind is None else f"signs of the errors turned round cluster by cluster, and {rows}"


def null_cautions(atoms: Atoms, kind: Cluster | None = None) -> tuple[str, ...]:
    """What a reader of the p-value should know."""
    found = []
    if atoms.impossible:
        found.append(IMPOSSIBLE)
    if atoms.unsaid:
        found.append(UNSAID)
    if kind == "any" and atoms.cluster is not None:
        effective = erring_clusters(atoms)
        if effective < FEW_CLUSTERS:
            found.append(f"few clusters err (as many as {effective:.1f} equal ones): the p-value is rough")
    elif atoms.fixed and kind is None:
        found.append("weights are held fixed: a row has one label, however much it weighs")
    return tuple(found)


def erring_clusters(atoms: Atoms) -> float:
    """(ΣE²)² / ΣE⁴ over the sums of the clusters' errors: how many equal ones would vary as they do."""
    squares = np.bincount(np.asarray(atoms.cluster), atoms.errors) ** 2
    fourth = float((squares**2).sum())
    return float(squares.sum()) ** 2 / fourth if fourth > 0 else 0.0
