"""Sequential monitoring: are predictions still calibrated, and if not, since when?"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from calibrant.inputs import check_alpha
from calibrant.monitor.alternatives import WEIGHTS, in_words
from calibrant.monitor.state import Change, MonitorState, likeliest_change, merged, updated
from calibrant.monitor.watched import Watched
from calibrant.options import checked
from calibrant.predictions import admit, repeats_groups
from calibrant.predictions.content import one_by_one
from calibrant.problems import InputError
from calibrant.results import Framed, Line, number, p_words
from calibrant.results.notebook import Shown

HUGE = 1e6
"""E-values above this are printed with an exponent."""

SMALLEST, LARGEST = 1e-300, 1e300
"""Between these e-values are drawn."""


class Monitor(Shown, Framed):
    """Are predictions still calibrated? Valid at any time, however often it is checked.

    The evidence is an e-value: the wealth of someone who starts with 1 and bets on fixed
    ways of being miscalibrated (shifts and slopes in log-odds, for all rows or in one
    region of predictions), from the first row on or from a later one. As long as each
    prediction is right given all earlier rows, that wealth ever exceeds 1/α with a
    probability of at most α (Ville's inequality): `alarm(0.05)` is a false alarm in at
    most one stream of twenty, however long the stream and however often it is checked.

    When to trust it: rows come in time order, each when its outcome is known. `counts` are
    rows repeated. Weights that differ are refused: they are relative to all rows, also to
    those to come, while the promise on false alarms needs every stake fixed before the
    outcome. Soft labels are accepted. Rows of one group with dependent outcomes break the guarantee: `cautions`
    has a warning where groups hold several rows.

    `merge` combines states: that of a later time (`beside=False`), or that of another
    machine at the same time (`beside=True`). The bets are the same everywhere, so their
    logarithms add up.

    Parameters
    ----------
    view
        Which event is watched: "binary", "top", "class NAME"; "auto" takes "binary" for
        one probability per row and "top" for several.
    state
        Start from this state instead of from no rows; `view` is then that of the state.

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

    @checked
    def __init__(self, *, view: Any = "auto", state: MonitorState | None = None) -> None:
        self.state = MonitorState(view) if state is None else state

    def update(
        self, labels: Any, probs: Any = None, *, counts: Any = None, weights: Any = None, mark: Any = None
    ) -> Self:
        """Add the next rows, in time order.

        Parameters
        ----------
        labels
            Outcomes, or both outcomes and probabilities.
        probs
            Predicted probabilities, `(n,)` or `(n, K)`.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters. Equal ones change nothing, rows of weight 0 are left
            out; weights that differ are refused, as no bet on them could keep the promise
            on false alarms.
        mark
            The time of these rows (a date, a name), reported by `since`.
        """
        predictions = one_by_one(admit(labels, probs, counts=counts, weights=weights))
        if predictions.weights is not None:
            found = (
                "they are relative to all rows, also to later ones, but a bet is placed before the next row is known"
            )
            advice = "Pass counts= for rows that occurred several times, or watch rows that matter in their own Monitor"
            raise InputError("weights", "must all be equal in a monitor", found, advice)
        if not (mark is None or isinstance(mark, str | int | float)):
            raise InputError("mark", "must be a string or a number", f"it is a {type(mark).__name__}")
        view = predictions.view(self.state.view)
        if self.state.n and view != self.state.view:
            raise InputError("labels", f"must answer the view {self.state.view!r}", f"these are {view!r}")
        grouped = predictions.n if repeats_groups(predictions) else 0
        self.state = updated(self.state, predictions.event(view), mark, grouped)
        return self

    @checked
    def merge(self, other: Monitor, *, beside: bool = False) -> Monitor:
        """A new monitor that has seen the rows of both.

        Parameters
        ----------
        other
            The other part; it must bet on the same alternatives and watch the same event.
        beside
            False: the rows of `other` came after those of this monitor. The e-value is
            that of one stream or a little lower, as later starts get the smallest of
            their priors; its peak is searched at the ends of the blocks of `other` only.
            True: both ran at the same time. The e-value is that of bets placed on both
            from their first rows, and stays valid if the growing parts are merged again
            and again; former peaks are lost, and `since` has no common time.
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
        """Current evidence against calibration: 1 is none, 20 is strong; it may fall again."""
        return self.state.e_value

    @property
    def p_value(self) -> float:
        """1 over the highest e-value so far: a valid p-value at any stopping time."""
        return min(1.0, 1.0 / self.state.peak)

    def alarm(self, alpha: float = 0.05) -> bool:
        """Has the e-value ever reached 1/alpha?

        Parameters
        ----------
        alpha
            Largest share of calibrated streams on which it may ever give a false alarm.
        """
        return self.state.peak >= 1 / check_alpha(alpha)

    @property
    def run_length(self) -> float:
        """The highest value of the e-detector: evidence summed over all possible change points.

        An alarm whenever it reaches c gives on average at most one false alarm per c
        rows. It forgets a long calibrated past, so it is quicker than the e-value where
        alarms are handled and monitoring goes on.
        """
        return self.state.restart_peak

    def since(self, alpha: float = 0.05) -> Change | None:
        """When calibration was lost: the most likely change point, None without an alarm.

        It is an estimate at the resolution of a block of rows, at worst 1/64 of them.

        Parameters
        ----------
        alpha
            False-alarm rate of the alarm, as in `alarm`.
        """
        return likeliest_change(self.state) if self.alarm(alpha) else None

    def course(self) -> Line:
        """The e-value (y) by number of rows (x), at the ends of at most 128 blocks."""
        rows = np.concatenate([[0], np.cumsum(self.state.block_rows)])
        return Line(rows.astype(np.float64), np.concatenate([[1.0], self.state.block_values]))

    def columns_of_rows(self) -> dict[str, Any]:
        """The course of the e-value, as columns."""
        course = self.course()
        return {"rows": course.x, "e_value": course.y}

    @checked
    def answer(self, alpha: float = 0.05) -> Watched:
        """What was seen so far, as an answer: printed, saved as HTML or JSON.

        Parameters
        ----------
        alpha
            False-alarm rate of the alarm, as in `alarm`.
        """
        verdict = False if self.alarm(alpha) else None  # no alarm is no proof of calibration
        course = self.course()
        logs = Line(course.x, np.log10(np.clip(course.y, SMALLEST, LARGEST)))
        facts = (self.n, self.e_value, self.p_value, alpha, verdict, self.sentence(alpha), self.direction())
        return Watched(*facts, self.since(alpha), logs, self.cautions)

    @checked
    def plot(self, ax: Any = None, *, alpha: float = 0.05) -> Any:
        """Plot the e-value over the rows, the alarm line and the change (needs matplotlib).

        Parameters
        ----------
        ax
            Where to draw; a new figure by default.
        alpha
            False-alarm rate of the alarm line.
        """
        from calibrant.plot.evidence import evidence

        return evidence(self, ax=ax, alpha=alpha)

    def direction(self) -> str:
        """The winning bet in words: how predictions are off, whether or not it is significant."""
        if not self.n:
            return "nothing seen yet"
        return in_words(int(np.argmax(self.state.sums + np.log(WEIGHTS))), self.state.view)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Warnings about the data."""
        grouped = "rows of a group are taken as independent: monitor one row per group if they depend on each other"
        wrong = f"{self.state.contradicted} predictions of 0 or 1 did not come true"
        found = ((self.state.contradicted, wrong), (self.state.grouped, grouped))
        return tuple(text for rows, text in found if rows)

    def sentence(self, alpha: float = 0.05) -> str:
        """The rows seen, the evidence, and whether there is an alarm, in words.

        Parameters
        ----------
        alpha
            False-alarm rate of the alarm, as in `alarm`.
        """
        found = self.since(alpha)
        words = "no alarm" if found is None else f"alarm, {found!r}"
        e = number(self.e_value) if self.e_value < HUGE else f"{self.e_value:.2g}"
        return f"{self.n:,} rows, e = {e}, {p_words(self.p_value)}: {words}"

    def summary(self, alpha: float = 0.05) -> dict[str, Any]:
        """Question, answer in words, verdict, main numbers and warnings, as answers have them.

        Parameters
        ----------
        alpha
            False-alarm rate of the alarm, as in `alarm`.
        """
        numbers = {"n": self.n, "e_value": self.e_value, "p_value": self.p_value}
        verdict = False if self.alarm(alpha) else None  # no alarm is no proof of calibration
        facts = {"question": "Is it still calibrated?", "answer": self.sentence(alpha), "calibrated": verdict}
        return {**facts, "numbers": numbers, "cautions": list(self.cautions)}

    def to_dict(self) -> dict[str, float]:
        """Rows, e-value and p-value as flat numbers, for loggers."""
        return {name: float(value) for name, value in self.summary()["numbers"].items()}

    def to_json(self, *, indent: int | None = None) -> str:
        """The state as JSON.

        Parameters
        ----------
        indent
            Spaces per level of nesting; one line by default.
        """
        return self.state.to_json(indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The monitor saved by `to_json`.

        Parameters
        ----------
        text
            What `to_json` returned.
        """
        return cls(state=MonitorState.from_json(text))

    def __repr__(self) -> str:
        return f"Monitor({'; '.join([self.sentence(), *self.cautions])})"
