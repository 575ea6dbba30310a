"""Which classes are wrong? Every class by itself, worst first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.bins import EqualWidth
from calibrant.predictions import Predictions
from calibrant.results import Answer, ClassTable, Curve, Table, kind, number, p_cell
from calibrant.results.constraints import Shape, Within
from calibrant.results.record import plain
from calibrant.results.tables import gap_cell, row_count
from calibrant.types import Floats
from calibrant.verbs.class_findings import ClassFindings
from calibrant.verbs.curves import binned_curve

DRAWN = 60
"""Classes whose reliability diagrams are kept: of more, the worst."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Classes(Answer):
    """Mean prediction, observed rate and class-wise ECE of every class, the largest ECE first."""

    classes: tuple[Any, ...]
    rows: Annotated[Floats, Shape("classes")]
    """rows whose label is the class"""
    mean_prob: Annotated[Floats, Shape("classes")]
    label_rate: Annotated[Floats, Shape("classes")]
    error: Annotated[Floats, Shape("classes")]
    """class-wise ECE"""
    curves: tuple[Curve, ...]
    """reliability diagrams of the first classes"""
    tested: ClassFindings | None = None
    adjusted: Annotated[Floats, Shape("classes"), Within(0, 1)] | None = None
    """p-value of each class, adjusted for all classes; None where they were not tested"""
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "Which classes are wrong?"
    printed_tables: ClassVar[int | None] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", plain(list(self.classes)))
        super().__post_init__()

    def sentence(self) -> str:
        """The classes at fault, or that none was found."""
        largest = f"The largest class-wise ECE is that of class {self.classes[0]}: {number(self.error[0])}."
        if self.tested is None:
            return largest
        if not self.tested.n_wrong:
            return f"No class is clearly wrong by itself. {largest}"
        wrong, k = self.tested.n_wrong, len(self.classes)
        many = f"All {k:,} classes are" if wrong == k else f"{wrong:,} of {k:,} classes {'is' if wrong == 1 else 'are'}"
        return f"{many} clearly wrong{', most clearly' if wrong > 1 else ':'} {self.tested.worst()}."

    def figures(self) -> dict[str, Any]:
        """How many classes there are and how many are clearly wrong."""
        wrong = {} if self.tested is None else {"n_wrong": self.tested.n_wrong}
        return {"n_classes": len(self.classes), **wrong, "largest": float(self.error[0])}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per class."""
        fields = (self.classes, self.rows, self.mean_prob, self.label_rate, self.error)
        names = ("class", "rows", "mean_prob", "label_rate", "error")
        return [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]

    def tables(self) -> tuple[Table, ...]:
        """Every class, worst first."""
        columns = ("class", "rows", "mean", "observed", "gap", "ECE", "p, adjusted", "finding")
        told, p = {}, [""] * len(self.classes)
        if self.tested is not None and self.adjusted is not None:
            p = [p_cell(each, self.tested.least) for each in self.adjusted.tolist()]
            told = dict(zip(map(str, self.tested.classes), self.tested.findings, strict=True))
        gaps = map(gap_cell, (self.mean_prob - self.label_rate).tolist())
        figures = (self.mean_prob.tolist(), self.label_rate.tolist(), gaps, self.error.tolist())
        found = zip(map(str, self.classes), map(row_count, self.rows.tolist()), *figures, p, strict=True)
        rows = tuple((*row, told.get(row[0], "")) for row in found)
        note = "gap: mean prediction − observed rate; ECE over 15 equal-width bins. " + (
            "p-values are adjusted for all classes." if told else ""
        )
        if self.tested is not None and self.tested.n_wrong > len(told):
            note += f" What is wrong is said of the {len(told)} classes that are most clearly so."
        return (Table("Class by class", columns, rows, note.strip()),)


def classes_of(predictions: Predictions, table: ClassTable, tested: ClassFindings | None) -> Classes:
    """Every class, from a diagnosis that has measured them.

    Parameters
    ----------
    predictions
        Of several classes, with rows.
    table
        The class-wise ECE.
    tested
        What the tests of the classes found.
    """
    order = np.argsort(-table.values, kind="stable")
    probs, weights = predictions.probs, predictions.weights
    total = float(predictions.n if weights is None else weights.sum())
    sums = np.sum(probs, axis=0, dtype=np.float64) if weights is None else weights @ probs.astype(np.float64)
    mean = np.asarray(sums) / total
    curves = tuple(_curve(predictions, k) for k in order[:DRAWN].tolist())
    names = tuple(table.classes[k] for k in order.tolist())
    adjusted = None if tested is None or len(tested.every) != len(order) else tested.every[order]
    facts = names, table.n[order], mean[order], table.n[order] / total, table.values[order]
    return Classes(*facts, curves, tested, adjusted)


def _curve(predictions: Predictions, k: int) -> Curve:
    return binned_curve(EqualWidth(15).collect(predictions.event(("class", predictions.classes[k]))).table())
