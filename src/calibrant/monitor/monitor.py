"""A watch on predictions as they come: are they still calibrated, and if not, since when?"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from calibrant.inputs import check_level
from calibrant.monitor.alternatives import WEIGHTS, in_words
from calibrant.monitor.state import Change, MonitorState, likeliest_change, merged, updated
from calibrant.predictions import admit, repeats_groups
from calibrant.problems import InputError
from calibrant.results import Line, number

HUGE = 1e6
"""E-values from here on are printed with an exponent."""


class Monitor:
    """Are predictions still calibrated? Look as often as you like: the chance of ever being wrong stays below the level.

    The evidence is an e-value: the wealth of someone who starts with 1 and bets on fixed ways of being wrong (shifts and slopes in
    log-odds, everywhere or in one region of predictions), from the first row on or from a later one. While each row is right given
    all before it, that wealth exceeds 1/α at any time with a probability of at most α (Ville): `alarm(0.05)` is wrong on one
    stream in twenty at most, however long it runs and however often one looks.

    Rows must come in time order, and each only when its outcome is known. Weights are refused: a row counted twice is a bet that
    cannot lose twice. Soft labels are taken. Rows of one group that share a fate break the promise; `cautions` says so where groups
    hold several rows.

    `merge` puts states together: that of a later time (`beside=False`), or that of another machine at the same time
    (`beside=True`). The bets are the same everywhere, so their logarithms add up.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.monitor import Monitor
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(3000)
    >>> truth = np.where(np.arange(3000) < 2000, p, p**2)
    >>> monitor = Monitor()
    >>> for day in range(30):
    ...     rows = slice(100 * day, 100 * day + 100)
    ...     _ = monitor.update(rng.random(100) < truth[rows], p[rows], mark=f"day {day}")
    ...     if monitor.alarm():
    ...         break
    >>> day, monitor.since().mark
    (22, 'day 20')
    """

    __slots__ = ("state",)

    def __init__(self, *, view: Any = "auto", state: MonitorState | None = None) -> None:
        self.state = MonitorState(view) if state is None else state

    def update(self, labels: Any, probs: Any = None, *, mark: Any = None) -> Self:
        """Take in the next rows, in time order; `mark` (a date, a name) is remembered for `since`."""
        predictions = admit(labels, probs)
        if predictions.weights is not None:
            raise InputError("weights", "cannot be used in a monitor", "these predictions have them", "Repeat no rows")
        if not (mark is None or isinstance(mark, str | int | float)):
            raise InputError("mark", "must be a string or a number", f"it is a {type(mark).__name__}")
        view = predictions.view(self.state.view)
        if self.state.n and view != self.state.view:
            raise InputError("labels", f"must answer the view {self.state.view!r}", f"these are {view!r}")
        grouped = predictions.n if repeats_groups(predictions) else 0
        self.state = updated(self.state, predictions.event(view), mark, grouped)
        return self

    def merge(self, other: Monitor, *, beside: bool = False) -> Monitor:
        """This part and another one, as a new monitor.

        `beside=False`: the rows of `other` came after those of this one. The e-value is that of one stream, at most a little
        lower, as later beginnings are given the least of their priors; its peak is looked for at the ends of `other`'s blocks.

        `beside=True`: both ran at the same time. The e-value, that of bets placed on both from their first rows, may be looked
        at again and again as the parts grow; it has no memory of former peaks, and `since` knows no time.
        """
        if not isinstance(other, Monitor):
            raise InputError("other", "must be a Monitor", f"it is a {type(other).__name__}")
        return Monitor(state=merged(self.state, other.state, beside))

    @property
    def n(self) -> int:
        """Rows seen."""
        return self.state.n

    @property
    def e_value(self) -> float:
        """Evidence now: 1 says nothing, 20 is strong, and it may fall again."""
        return self.state.e_value

    @property
    def p_value(self) -> float:
        """1 over the highest e-value so far: valid whenever one stops."""
        return min(1.0, 1.0 / self.state.peak)

    def alarm(self, level: float = 0.05) -> bool:
        """Has the e-value ever reached 1/level? False alarms: at most this share of streams, ever."""
        return self.state.peak >= 1 / check_level(level)

    @property
    def run_length(self) -> float:
        """The e-detector, the sum of evidence over every row a change could have begun at, at its highest.

        Whoever alarms at c sees a false alarm once in c rows on average, or more seldom. It forgets a long calibrated past,
        so it is the quicker one where alarms are dealt with and watching goes on.
        """
        return self.state.restart_peak

    def since(self, level: float = 0.05) -> Change | None:
        """When did it go wrong? None while there is no alarm. The time is known to a block: at worst 1/64 of the rows."""
        return likeliest_change(self.state, in_words) if self.alarm(level) else None

    def course(self) -> Line:
        """The e-value (y) after so many rows (x), at the ends of at most 128 blocks."""
        rows = np.concatenate([[0], np.cumsum(self.state.block_rows)])
        return Line(rows.astype(np.float64), np.concatenate([[1.0], self.state.block_values]))

    def plot(self, ax: Any = None, *, level: float = 0.05) -> Any:
        """Draw the evidence over time, the line of alarm, and since when it may have gone wrong (needs matplotlib)."""
        from calibrant.plot.evidence import evidence

        return evidence(self, ax=ax, level=level)

    def direction(self) -> str:
        """What is wrong, in words, as the winning bet has it; says nothing about whether it is more than chance."""
        if not self.n:
            return "nothing seen yet"
        return in_words(int(np.argmax(self.state.sums + np.log(WEIGHTS))), self.state.view)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader of the evidence should know."""
        found = []
        if self.state.contradicted:
            found.append(f"{self.state.contradicted} predictions of 0 or 1 did not come true")
        if self.state.grouped:
            found.append("rows of a group are taken as independent: watch one row a group if they depend on each other")
        return tuple(found)

    def to_json(self, *, indent: int | None = None) -> str:
        """The state as JSON."""
        return self.state.to_json(indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The monitor whose state this is."""
        return cls(state=MonitorState.from_json(text))

    def __repr__(self) -> str:
        found = self.since()
        words = "no alarm" if found is None else f"alarm, {found!r}"
        told = "".join(f"; {caution}" for caution in self.cautions)
        return f"Monitor({self.n:,} rows, e = {_short(self.e_value)}, p = {number(self.p_value)}: {words}{told})"


def _short(value: float) -> str:
    """A number that may be huge."""
    return number(value) if value < HUGE else f"{value:.2g}"
