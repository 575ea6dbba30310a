"""What a monitor has seen so far, as an answer that is printed, saved and put into a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant.monitor.state import Change
from calibrant.results import Answer, Line, Table, kind, number, p_cell
from calibrant.results.constraints import Probability


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Watched(Answer):
    """The evidence of a monitor at one time."""

    n: int
    e_value: float
    p_value: Probability
    alpha: Probability
    """largest share of calibrated streams on which there may ever be an alarm"""
    calibrated: bool | None
    """False: an alarm. None: none yet, which is no proof."""
    verdict: str
    direction: str
    """the winning bet in words, whether or not it is significant"""
    change: Change | None
    """when calibration was lost, after an alarm"""
    course: Line
    """log₁₀ of the e-value by rows"""
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "Is it still calibrated?"

    def sentence(self) -> str:
        """The rows seen, the evidence, and whether there is an alarm."""
        return self.verdict

    def figures(self) -> dict[str, Any]:
        """Rows, e-value and p-value."""
        return {"n": self.n, "e_value": self.e_value, "p_value": self.p_value}

    def tables(self) -> tuple[Table, ...]:
        """The evidence, and the change after an alarm."""
        rows: list[tuple[str, str]] = [("rows", f"{self.n:,}"), ("e-value", number(self.e_value))]
        rows += [("p-value, valid at any time", p_cell(self.p_value)), ("false alarms, at most", f"{self.alpha:g}")]
        rows += [
            ("alarm", "yes" if self.calibrated is False else "no"),
            ("what the evidence points to", self.direction),
        ]
        if self.change is not None:
            mark = "" if self.change.mark is None else f" ({self.change.mark})"
            rows.append(("wrong since about row", f"{self.change.row:,}{mark}"))
            rows.append(("between rows", f"{self.change.earliest:,} and {self.change.latest:,}"))
        return (Table("Evidence", ("quantity", "value"), tuple(rows)),)
