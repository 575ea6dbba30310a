"""How a map was chosen among others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from calibrant.results import Framed, Interval, Record, Table, kind, number
from calibrant.results.constraints import Within
from calibrant.results.frames import by_column
from calibrant.results.later import WhenRead
from calibrant.results.notebook import Shown


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Candidate(Record):
    """The score of a map, or of the procedure that chooses one, on held-out rows."""

    name: str
    n_parameters: Annotated[int, Within(0)] | None
    score: float
    interval: Interval | None
    change: float
    """from that of the identity; negative is better"""
    change_interval: Interval | None
    weight: Annotated[float, Within(0, 1)] | None = None
    """in the average, if it is one"""

    @property
    def row(self) -> tuple[str, ...]:
        """Its row in the table of candidates."""
        size, weight = ("" if each is None else number(each) for each in (self.n_parameters, self.weight))
        scores = _with_margin(self.score, self.interval), _with_margin(self.change, self.change_interval)
        return self.name, size, *scores, weight


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Choice(Shown, Framed, Record):
    """Why this map was chosen, or what was mixed: the held-out score of every candidate."""

    chosen: str
    reason: str
    title: str
    """of the score"""
    candidates: tuple[Candidate, ...]
    procedure: Candidate | None = None
    """the procedure of choosing, on rows that took no part in it"""
    note: str = ""

    @property
    def table(self) -> Table:
        """The candidates, best first, with their 95 % margins."""
        every = (*self.candidates, *([] if self.procedure is None else [self.procedure]))
        columns = ("map", "parameters", self.title, "change from identity", "weight")
        used = len(columns) if any(each.weight is not None for each in every) else -1
        return Table("Candidates", columns[:used], tuple(each.row[:used] for each in every), self.note)

    def columns_of_rows(self) -> dict[str, Any]:
        """A row per candidate."""
        return by_column(each.as_row() for each in self.candidates)

    def __repr__(self) -> str:
        return f"{self.table!r}\n{self.reason}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the candidates and return the Axes.

        Parameters
        ----------
        ax
            The Axes to draw on; new ones if None.
        """
        from calibrant.plot import draw  # drawing lies above the maps

        return draw(self, ax=ax)


for _field in (WhenRead("candidates", ()), WhenRead("procedure", None)):
    setattr(Choice, _field.name, _field)


def _with_margin(value: float, interval: Interval | None) -> str:
    return number(value) if interval is None else f"{number(value)} ± {number((interval.high - interval.low) / 2)}"
