"""The answer of `compare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from calibrant.results import Answer, Estimate, Keyed, Record, Table, by_slug, ends, kind, number, p_cell
from calibrant.results.constraints import Probability, Shape

Verdict = Literal["better", "worse", "no detectable change"]


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Split(Record):
    """A change in two parts that add up to it, each after − before: negative is better."""

    calibration: float
    """change in miscalibration"""
    refinement: float
    """change in the score that remains after recalibration: in what the model can no longer tell apart"""
    how: str
    """how both were estimated"""

    def sentence(self) -> str:
        """The parts in words."""
        parts = f"calibration {number(self.calibration)}, refinement {number(self.refinement)}"
        return f"An estimate of the parts, {self.how}: {parts}; negative is better."

    __repr__ = sentence


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Answer):
    """The paired difference in a proper score, after − before: negative is better."""

    difference: Estimate
    before: Estimate
    after: Estimate
    injective: bool | None
    """do different predictions stay different? None when that is unknown"""
    grounds: str
    """how injectivity is known"""
    verdict: Verdict
    cautions: tuple[str, ...] = ()
    root: Estimate | None = None
    """difference of the roots, in the unit of the probabilities, for the scores that have one"""
    split: Split | None = None
    """estimated change in calibration and in refinement, where the map is not injective or a split was asked for"""
    margin: float | None = None
    """what the user calls a negligible change"""
    p_value: Probability | None = None
    """adjusted for the number of candidates, where there are several"""

    question: ClassVar[str] = "Did the repair help?"
    printed_tables: ClassVar[int | None] = 0

    also_called: ClassVar[tuple[str, ...]] = ()

    @property
    def calibration(self) -> Estimate | None:
        """Change in calibration error: the difference if the map is injective, else None."""
        return self.difference if self.injective else None

    @property
    def bound(self) -> float | None:
        """The far end of the interval: no change is larger, with the interval's confidence."""
        interval = self.difference.interval
        return None if interval is None else max(abs(interval.low), abs(interval.high))

    @property
    def equivalent(self) -> bool | None:
        """Is any change smaller than the margin? None without a margin or an interval.

        The interval must lie within ±margin. At 95 % that is stricter than two one-sided tests at 5 %.
        """
        return None if self.margin is None or self.bound is None else self.bound < self.margin

    def sentence(self) -> str:
        """The finding in words."""
        gain, scores = self.difference, f"{number(self.before.value)} → {number(self.after.value)}"
        size = f"{self.before.title} {scores}, change {number(gain.value)}"
        size += "" if gain.interval is None else f" ({gain.interval.in_words()})"
        what = self._effect() or "No detectable change"
        parts = "" if self.split is None else f" {self.split.sentence()}"
        return f"{what}: {size}{self._how_small()}. {self.meaning()}{parts}"

    def _effect(self) -> str:
        """The verdict in words: of a repair, where nothing else is known to have changed."""
        if not self.injective:
            return {"better": "Better after than before", "worse": "Worse after than before"}.get(self.verdict, "")
        return {"better": "The repair helped", "worse": "The repair made it worse"}.get(self.verdict, "")

    def _how_small(self) -> str:
        if self.equivalent:
            return f"; any change is smaller than the margin {number(self.margin)}"
        if self.equivalent is False:
            return f"; a change as large as the margin {number(self.margin)} is not excluded"
        small = self.verdict == "no detectable change" and self.bound
        return f"; any change is smaller than {number(self.bound)}" if small else ""

    def meaning(self) -> str:
        """What the difference says about calibration."""
        if self.injective:
            so = "any change is one of" if self.verdict == "no detectable change" else "all of it is"
            return f"The map keeps different predictions different ({self.grounds}), so {so} calibration."
        if self.injective is None:
            return f"The change may be calibration, sharpness or both: {self.grounds}."
        merged = f"some different predictions get the same value ({self.grounds})"
        return f"The change holds calibration and sharpness: {merged}."

    def tables(self) -> tuple[Table, ...]:
        """Before, after, the difference and its parts."""
        sides = {"before": self.before, "after": self.after, "after − before": self.difference}
        rows: list[tuple[Any, ...]] = [(name, each.value, ends(each.interval)) for name, each in sides.items()]
        if self.split is not None:
            rows += [(f"  of it {part}", getattr(self.split, part), "–") for part in ("calibration", "refinement")]
        interval = self.difference.interval
        level = "interval" if interval is None else f"{interval.level:.0%} interval"
        return (Table(f"Did it help? {self.before.title}", ("", "value", level), tuple(rows), self.meaning()),)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Keyed[Comparison], Answer):
    """Several candidates against the same predictions, with verdicts that hold simultaneously."""

    candidates: Annotated[Mapping[str, Comparison], Shape(least=1)]
    level: Probability
    method: str
    """how intervals and verdicts allow for the number of candidates"""

    question: ClassVar[str] = "Which repairs helped?"

    def results(self) -> Mapping[str, Comparison]:
        """The candidates by name."""
        return self.candidates

    @property
    def cautions(self) -> tuple[str, ...]:
        """The warnings of all candidates."""
        return tuple(f"{name}: {caution}" for name, each in self.candidates.items() for caution in each.cautions)

    def figures(self) -> dict[str, Any]:
        """The difference of each candidate and its adjusted p-value."""
        changes = {name: {"": each.difference, "p_value": each.p_value} for name, each in self.candidates.items()}
        return by_slug(changes)

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per candidate, lowest score first."""
        return [{"candidate": name, **each.as_row()} for name, each in self.ranked().items()]

    def ranked(self) -> dict[str, Comparison]:
        """The candidates, lowest score first."""
        return dict(sorted(self.candidates.items(), key=lambda pair: pair[1].difference.value))

    @property
    def best(self) -> str:
        """The candidate with the lowest score on these rows."""
        return next(iter(self.ranked()))

    @property
    def better(self) -> tuple[str, ...]:
        """The candidates that are detectably better, best first."""
        return tuple(name for name, each in self.ranked().items() if each.verdict == "better")

    def sentence(self) -> str:
        """The finding in words."""
        n, better = len(self.candidates), self.better
        if n == 1:
            return f"{self.best} helped detectably." if better else f"{self.best} did not help detectably."
        many = "All" if len(better) == n else f"{len(better)} of" if better else "None of"
        named = f" ({', '.join(better)})" if better else ""
        return f"{many} {n} candidates helped detectably{named}; the lowest score is that of {self.best}."

    def tables(self) -> tuple[Table, ...]:
        """The candidates, best first."""
        rows = tuple(
            (name, each.difference.value, ends(each.difference.interval), p_cell(each.p_value), each.verdict)
            for name, each in self.ranked().items()
        )
        title = f"Did they help? Change in {self.candidates[self.best].before.title}"
        columns = ("candidate", "after − before", "simultaneous interval", "adjusted p", "verdict")
        return (Table(title, columns, rows, self.method),)
