"""What `audit` returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from calibrant.results import Answer, Interval, Keyed, Record, Table, ends, kind, number, p_cell, p_words
from calibrant.results.constraints import Probability, Shape

Verdict = Literal["too high", "too low", "wrong both ways", "no error seen", "too few rows"]

SHOWN = 15
"""Segments in a printed audit; `table()` has all."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class AuditedSegment(Record):
    """One segment: mean prediction, observed rate, and how sure the difference is."""

    name: str
    conditions: tuple[str, ...]
    n: int
    """rows; weights that count rows are counted"""
    mean_prob: float
    label_rate: float
    gap: float
    """mean prediction − observed rate: positive where predictions are too high"""
    interval: Interval
    """of the gap; holds for all segments at once"""
    standard_gap: float
    """Σ(y − p) / √Σp(1 − p): positive where predictions are too low"""
    standard_range: float | None
    """range of the running sum of errors over √Σp(1 − p); None for `statistic="gap"`"""
    score: float
    """common scale of all segments: as unlikely as a standard normal variable beyond ± this"""
    fired: Literal["gap", "range"]
    """the statistic with the larger score"""
    p_value: Probability
    """as if this were the only segment"""
    adjusted: Probability
    """p-value adjusted for all segments"""
    detectable: float | None
    """smallest gap, of either sign, detected with 80 % power; None if no possible gap would be"""
    verdict: Verdict
    same: tuple[str, ...] = ()
    """other descriptions of the same rows"""

    @property
    def also_called(self) -> tuple[str, ...]:
        """Other descriptions of the same rows."""
        return self.same

    @property
    def found(self) -> bool:
        """Is the segment called wrong?"""
        return self.verdict in ("too high", "too low", "wrong both ways")

    def sentence(self) -> str:
        """The finding in words."""
        facts = f"predicted {self.mean_prob:.1%}, observed {self.label_rate:.1%} ({self.n:,} rows".replace("%", " %")
        return f"{self.name}: {self.verdict}; {facts}, adjusted {p_words(self.adjusted)})."

    __repr__ = sentence


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Audit(Keyed[AuditedSegment], Answer):
    """Every segment, worst first, with verdicts that hold for all segments at once."""

    segments: Annotated[tuple[AuditedSegment, ...], Shape(least=1)]
    n: int
    view: str
    statistic: str
    level: Probability
    margin: float
    """the error that matters: a segment where it could be missed gets the verdict "too few rows" """
    critical: float
    """score that some segment of a calibrated model exceeds with probability 1 − `level`"""
    null: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()

    def results(self) -> dict[str, AuditedSegment]:
        """The segments by name."""
        return {segment.name: segment for segment in self.segments}

    def figures(self) -> dict[str, Any]:
        """Figures of all segments together; those of each are in `to_frame`."""
        counts = {"n": self.n, "n_segments": len(self), "n_found": len(self.found)}
        return {**counts, "p_value": self.p_value, "margin": self.margin, "could_be_missed": self.could_be_missed()}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per segment, worst first."""
        return [segment.as_row() for segment in self.segments]

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
        """Share of the segments in which an error would be missed more than one time in five.

        Parameters
        ----------
        error
            The size of the gap; by default the margin.
        """
        size = self.margin if error is None else error
        missed = [s.detectable is None or s.detectable > size for s in self.segments]
        return sum(missed) / len(missed)

    def sentence(self) -> str:
        """The finding in words."""
        many = f"{len(self.found):,}" if self.found else "None"
        first = f"{many} of {len(self.segments):,} segment{'s' * (len(self.segments) != 1)} called wrong"
        worst = f"; worst: {self.segments[0].sentence()}"
        more = worst if self.found else f" (smallest adjusted {p_words(self.p_value)})."
        missed = self.could_be_missed()
        share = f"{missed:.0%} of the segments".replace("%", " %") if missed else "no segment"
        return f"{first}{more} An error of {number(self.margin, 2)} could have been missed in {share}."

    def table(self, most: int | None = None) -> Table:
        """The segments, worst first.

        Parameters
        ----------
        most
            How many of them; by default all.
        """
        interval = f"{self.level:.0%} interval, all at once"
        columns = (
            "segment",
            "rows",
            "mean",
            "observed",
            "gap",
            interval,
            "score",
            "adjusted p",
            "detectable",
            "verdict",
        )
        note = (
            f"gap = mean prediction − rate. By chance some segment exceeds a score of {self.critical:.2f} with "
            f"probability {1 - self.level:.0%}. detectable: the gap detected with 80 % power."
        )
        return self._table(
            columns,
            note,
            most,
            lambda s: (
                s.name,
                f"{s.n:,}",
                s.mean_prob,
                s.label_rate,
                s.gap,
                ends(s.interval),
                f"{s.score:.2f} ({s.fired})",
                p_cell(s.adjusted),
                number(s.detectable),
                s.verdict,
            ),
        )

    def brief(self, most: int | None = None) -> Table:
        """The same in fewer columns.

        Parameters
        ----------
        most
            How many segments; by default all.
        """
        columns = ("segment", "rows", "gap", f"{self.level:.0%} interval", "adjusted p", "verdict")
        note = "gap: mean prediction − rate; intervals and p-values hold for all segments at once."
        return self._table(
            columns,
            note,
            most,
            lambda s: (
                s.name,
                f"{s.n:,}",
                number(s.gap, 3),
                ends(s.interval, digits=3),
                p_cell(s.adjusted),
                s.verdict,
            ),
        )

    def _table(
        self, columns: tuple[str, ...], note: str, most: int | None, row: Callable[[AuditedSegment], tuple[Any, ...]]
    ) -> Table:
        rows = tuple(map(row, self.segments[:most]))
        more = len(self.segments) - len(rows)
        note = f"… and {more:,} more segments. {note}" if more else note
        return Table("Segment by segment", columns, rows, note)

    def nested(self) -> Table:
        """The segments called wrong, each below the larger one that contains it."""
        rows: list[tuple[Any, ...]] = []
        waiting = list(self.found)

        def add(s: AuditedSegment, depth: int) -> None:
            waiting.remove(s)
            rows.append(("  " * depth + s.name, f"{s.n:,}", s.gap, p_cell(s.adjusted), s.verdict))
            for other in [each for each in waiting if set(s.conditions) < set(each.conditions)]:
                if other in waiting:
                    add(other, depth + 1)

        while waiting:
            add(min(waiting, key=lambda s: len(s.conditions)), 0)
        columns = ("segment", "rows", "gap", "adjusted p", "verdict")
        return Table("Called wrong, parts below the segments that contain them", columns, tuple(rows))

    def tables(self) -> tuple[Table, ...]:
        """What the terminal, the notebook and the report show."""
        return (self.brief(max(SHOWN, min(len(self.found), 2 * SHOWN))),)

    @property
    def heading(self) -> str:
        """Rows and view."""
        return f"Audit of {self.n:,} rows, view: {self.view}"
