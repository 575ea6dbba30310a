"""Null hypotheses of calibration, how to draw from them, and their descriptions and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.draws import null_draws as kernels
from calibrant.kernels.draws.null_draws import Seeds, Tables
from calibrant.resampling.rows import Atoms
from calibrant.types import Array, Floats

ALL_ROWS = slice(None)

FEW_CLUSTERS = 20
"""Effective number of erring clusters below which a warning calls sign flips rough; see
studies/results/false_alarms.md."""

LITTLE_CHANCE = {"sign flips are": 25.0, "the formula is": 50.0}
"""Σp(1 − p) below which a warning calls them rough: see studies/results/false_alarms.md and studies/results/power.md."""

IMPOSSIBLE = "some labels had predicted probability 0: the predictions are refuted whatever the p-value"

ASSUMED_INDEPENDENT = (
    "rows of a group are taken as independent: pass cluster='same' or cluster='any' if they depend on each other, "
    "cluster=False if they do not"
)


class Null(Protocol):
    """Draws of the rows' errors, signs or classes under a null hypothesis."""

    @property
    def observed(self) -> Array:
        """What was observed, one value per row."""

    def draws(self, seeds: Seeds) -> Array:
        """(R, rows): the same for one draw per seed."""


@dataclass(frozen=True, eq=False)
class LabelDraws:
    """Every label is drawn from its prediction, the predictions held fixed.

    With `atoms.dependence == "same"`, rows of a cluster share one uniform number, and a
    row has label 1 if the number lies below its prediction: the strongest dependence
    that labels can have, exact where a cluster is one question asked several times with
    one answer.
    """

    atoms: Atoms

    @property
    def observed(self) -> Floats:
        return self.atoms.errors

    @cached_property
    def tables(self) -> Tables:
        """Of the hits of every atom: made where atoms are drawn one by one."""
        return kernels.binomial_tables(self.atoms.p, self.atoms.count)

    def draws(self, seeds: Seeds, rows: slice = ALL_ROWS) -> Floats:
        atoms, tables = self.atoms, self.tables
        start, stop, _ = rows.indices(len(atoms.p))
        errors = np.empty((len(seeds), stop - start))
        p, unit = atoms.p[rows], atoms.unit[rows]
        shifted = from_row(seeds, start)
        if atoms.dependence == "same":
            assert atoms.cluster is not None
            kernels.draw_shared(p, unit, tables.thresholds[rows], atoms.cluster[rows], seeds, errors)
        elif atoms.plain:
            kernels.draw_single(p, tables.thresholds[rows], shifted, errors)
        else:
            starts, lowest, expected = tables.starts[start : stop + 1], tables.lowest[rows], atoms.count[rows] * p
            if tables.step is not None:
                step = tables.step[rows]
                unit, lowest, expected = unit * step, lowest / step, expected / step
            kernels.draw_pooled(expected, unit, starts, lowest, tables.thresholds, shifted, errors)
        return errors


def from_row(seeds: Seeds, start: int) -> Seeds:
    """Seeds of the streams without their first numbers: row i takes number i, wherever a part of the rows begins."""
    return np.asarray(seeds + np.uint64(start * int(kernels.STEP) % 2**64))


@dataclass(frozen=True, slots=True, eq=False)
class SignFlips:
    """The observed errors, those of a cluster all kept or all with their sign flipped.

    Rows of a cluster may depend in any way.

    Errors have mean 0 under calibration and clusters are independent, so flipped errors
    vary as the true ones do. Exact for symmetric errors, otherwise close where many
    clusters err.
    """

    observed: Floats
    cluster: NDArray[np.int64]

    def draws(self, seeds: Seeds, rows: slice = ALL_ROWS) -> Floats:
        observed = self.observed[rows]
        errors = np.empty((len(seeds), len(observed)))
        kernels.flip_signs(observed, self.cluster[rows], seeds, errors)
        return errors


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """What an exact p-value refutes, and what its reader should know.

    With several nulls, the largest p-value counts.
    """

    nulls: Sequence[Null]
    text: str
    """the null in words"""
    content: tuple[Array | None, ...]
    """the data, from which the seed of the draws is made"""
    n: int
    settings: dict[str, Any]
    warnings: tuple[str, ...]
    impossible: bool = False
    """some labels had predicted probability 0"""

    @property
    def rows(self) -> int:
        """Rows of each null draw."""
        return len(self.nulls[0].observed)


def hypothesis_of(atoms: Atoms) -> Hypothesis:
    """That the labels of an event follow its predictions."""
    text, settings, warnings = null_text(atoms), {"view": atoms.view} | atoms.settings, null_warnings(atoms)
    return Hypothesis(nulls_of(atoms), text, atoms.content, atoms.n, settings, warnings, bool(atoms.impossible))


def nulls_of(atoms: Atoms) -> list[LabelDraws | SignFlips]:
    """One null, or for clusters that depend in any way two to refute.

    The larger of two p-values is valid where either is.

    Sign flips need many clusters with errors. Independent rows need none, but ignore
    dependence.
    """
    labels = LabelDraws(atoms)
    if atoms.dependence != "any":
        return [labels]
    assert atoms.cluster is not None
    return [SignFlips(atoms.errors, atoms.cluster), labels]


def null_text(atoms: Atoms) -> str:
    """The null in words."""
    if atoms.dependence == "same":
        return "labels drawn from the predictions, one number for all rows of a cluster"
    rows = "labels drawn from the predictions, rows independent" + (", weights held fixed" if atoms.fixed else "")
    return rows if atoms.dependence is None else f"signs of the errors flipped cluster by cluster, and {rows}"


def null_warnings(atoms: Atoms) -> tuple[str, ...]:
    """What a reader of the p-value should know."""
    found = [IMPOSSIBLE] * bool(atoms.impossible) + [ASSUMED_INDEPENDENT] * atoms.assumed_independent
    if atoms.dependence == "any":
        effective = erring_clusters(atoms)
        if effective < FEW_CLUSTERS:
            found.append(f"few clusters err (as many as {effective:.1f} equal ones): the p-value is rough")
    elif atoms.fixed and atoms.dependence is None:
        found.append("weights are held fixed: a row has one label, however much it weighs")
    return tuple(found)


def rough(chance: float, what: str) -> tuple[str, ...]:
    """A warning where predictions are so sure that few rows can err; `chance` is Σp(1 − p)."""
    text = f"predictions leave little to chance (Σp(1 − p) = {chance:.1f}): {what} rough. Use method='exact'"
    return (text,) * (chance < LITTLE_CHANCE[what])


def erring_clusters(atoms: Atoms) -> float:
    """(ΣE²)² / ΣE⁴ over the clusters' sums of errors: the effective number of clusters."""
    squares = np.bincount(np.asarray(atoms.cluster), atoms.errors) ** 2
    fourth = float((squares**2).sum())
    return float(squares.sum()) ** 2 / fourth if fourth > 0 else 0.0
