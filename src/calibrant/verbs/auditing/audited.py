"""What `audit` hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from calibrant.results import Answer, Interval, Record, Table, kind, number

Verdict = Literal["too high", "too low", "wrong both ways", "no error seen", "too few rows"]

SHOWN = 15
"""Segments in a printed audit; `table()` has all."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class AuditedSegment(Record):
    """One segment: what was said there, what happened, and how sure the difference is among all segments."""

    name: str
    conditions: tuple[str, ...]
    n: int
    """rows; weights that count rows are counted"""
    mean_prob: float
    label_rate: float
    gap: float
    """mean prediction − rate: positive where it predicts too high"""
    interval: Interval
    """of the gap; holds for all segments at once"""
    standard_gap: float
    """Σ(y − p) / √Σp(1 − p): positive where it predicts too low"""
    standard_range: float | None
    """range of the running sum of errors over √Σp(1 − p); None where it was not asked for"""
    score: float
    """what segments are compared by: as unlikely as a normal variable beyond ± this"""
    fired: Literal["gap", "range"]
    """which statistic the score is that of"""
    p_value: float
    """as if this segment alone had been looked at"""
    adjusted: float
    """p-value that allows for all segments"""
    detectable: float | None
    """gap from which on all that are possible, either way, would be seen with 80 % probability; None where none would be"""
    verdict: Verdict
    same: tuple[str, ...] = ()
    """other descriptions of the same rows"""

    @property
    def found(self) -> bool:
        """Is the segment called wrong?"""
        return self.verdict in ("too high", "too low", "wrong both ways")

    def sentence(self) -> str:
        """The finding in words."""
        facts = f"says {self.mean_prob:.1%}, {self.label_rate:.1%} happen ({self.n:,} rows".replace("%", " %")
        return f"{self.name}: {self.verdict}; {facts}, adjusted p = {number(self.adjusted)})."

    def __repr__(self) -> str:
        return self.sentence()


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Audit(Answer):
    """Every segment, worst first, with verdicts that hold together."""

    segments: tuple[AuditedSegment, ...]
    n: int
    view: str
    statistic: str
    level: float
    margin: float
    """the error that matters: a segment where it could be missed is told apart from one where none was seen"""
    critical: float
    """score that no segment of a calibrated model reaches, with probability `level`"""
    null: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> AuditedSegment:
        """A segment by its name, or by another description of the same rows."""
        for segment in self.segments:
            if name == segment.name or name in segment.same:
                return segment
        raise KeyError(f"{name!r}; there are {', '.join(s.name for s in self.segments[:5])} …")

    def __len__(self) -> int:
        return len(self.segments)

    question: ClassVar[str] = "For whom is it wrong?"

    @property
    def found(self) -> tuple[AuditedSegment, ...]:
        """The segments that are called wrong, worst first."""
        return tuple(segment for segment in self.segments if segment.found)

    @property
    def p_value(self) -> float:
        """How often a calibrated model would show a segment as suspicious as the worst one."""
        return min(segment.adjusted for segment in self.segments)

    def could_be_missed(self, error: float | None = None) -> float:
        """Share of the segments in which an error of this size (by default the margin) would be missed more often than one time in five."""
        size = self.margin if error is None else error
        missed = [s.detectable is None or s.detectable > size for s in self.segments]
        return sum(missed) / len(missed)

    def sentence(self) -> str:
        """The finding in words."""
        many = f"{len(self.segments):,} segment{'s' * (len(self.segments) != 1)}"
        worst = self.segments[0]
        first = f"{len(self.found):,} of {many} called wrong" if self.found else f"None of {many} called wrong"
        told = f"; worst: {worst.sentence()}" if self.found else f" (smallest adjusted p = {number(self.p_value)})."
        share = f"{self.could_be_missed():.0%}".replace("%", " %")
        return f"{first}{told} An error of {number(self.margin, 2)} could have been missed in {share} of them."

    def table(self, most: int | None = None) -> Table:
        """The segments, worst first."""
        rows = tuple(
            (
                s.name,
                f"{s.n:,}",
                s.mean_prob,
                s.label_rate,
                s.gap,
                f"{number(s.interval.low)} … {number(s.interval.high)}",
                f"{s.score:.2f} ({s.fired})",
                number(s.adjusted),
                number(s.detectable),
                s.verdict,
            )
            for s in self.segments[:most]
        )
        columns = (
            "segment", "rows", "mean", "observed", "gap", f"{self.level:.0%} interval, all at once", "score", "adjusted p",
            "detectable", "verdict",
        )  # fmt: skip
        more = len(self.segments) - len(rows)
        note = (f"… and {more:,} more segments. " if more else "") + (
            f"gap = mean prediction − rate. A score of {self.critical:.2f} is reached by chance in some segment with probability "
            f"{1 - self.level:.0%}. detectable: the gap seen with 80 % probability."
        )
        return Table("Where is it wrong?", columns, rows, note)

    def brief(self, most: int | None = None) -> Table:
        """The same in fewer columns."""
        rows = tuple(
            (
                s.name,
                f"{s.n:,}",
                number(s.gap, 3),
                f"{number(s.interval.low, 3)} … {number(s.interval.high, 3)}",
                number(s.adjusted),
                s.verdict,
            )
            for s in self.segments[:most]
        )
        more = len(self.segments) - len(rows)
        note = (f"… and {more:,} more segments. " if more else "") + (
            "gap: mean prediction − rate; intervals and p-values hold for all segments at once."
        )
        columns = ("segment", "rows", "gap", f"{self.level:.0%} interval", "adjusted p", "verdict")
        return Table("Where is it wrong?", columns, rows, note)

    def nested(self) -> Table:
        """The segments called wrong, each below the larger one that holds it."""
        rows: list[tuple[Any, ...]] = []
        waiting = list(self.found)

        def add(segment: AuditedSegment, depth: int) -> None:
            waiting.remove(segment)
            inside = set(segment.conditions)
            rows.append(
                ("  " * depth + segment.name, f"{segment.n:,}", segment.gap, number(segment.adjusted), segment.verdict)
            )
            for other in [s for s in waiting if inside < set(s.conditions)]:
                if other in waiting:
                    add(other, depth + 1)

        while waiting:
            add(min(waiting, key=lambda s: len(s.conditions)), 0)
        columns = ("segment", "rows", "gap", "adjusted p", "verdict")
        return Table("Called wrong, the part below the whole", columns, tuple(rows))

    def tables(self) -> tuple[Table, ...]:
        """What the terminal, the notebook and the report show."""
        return (self.brief(self._shown),)

    @property
    def _shown(self) -> int:
        return max(SHOWN, min(len(self.found), 2 * SHOWN))

    @property
    def heading(self) -> str:
        """Rows and view."""
        return f"Audit of {self.n:,} rows, view: {self.view}"
