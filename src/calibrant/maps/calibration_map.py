"""What every recalibration map is: plain data and one function, saved as JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from calibrant import inputs
from calibrant.predictions import Predictions
from calibrant.problems import FileError, InputError, MapError
from calibrant.results import Interval, Line, Record, Table, checked_schema, kind, number


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Candidate(Record):
    """A map, or the whole procedure of choosing one, on rows it has not seen."""

    name: str
    n_parameters: int | None
    score: float
    interval: Interval | None
    change: float
    """from leaving the predictions alone; negative is better"""
    change_interval: Interval | None


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Choice(Record):
    """Why this map: what held-out rows said of every candidate."""

    chosen: str
    reason: str
    title: str
    """of the score"""
    candidates: tuple[Candidate, ...]
    procedure: Candidate | None = None
    """the choosing itself, on rows that took no part in it"""
    note: str = ""

    @property
    def table(self) -> Table:
        """The candidates, best first, with their 95 % margins."""
        rows = []
        for each in (*self.candidates, *([] if self.procedure is None else [self.procedure])):
            size = "" if each.n_parameters is None else str(each.n_parameters)
            rows.append(
                (
                    each.name,
                    size,
                    _give_or_take(each.score, each.interval),
                    _give_or_take(each.change, each.change_interval),
                )
            )
        return Table("Candidates", ("map", "parameters", self.title, "change from identity"), tuple(rows), self.note)

    def __repr__(self) -> str:
        return f"{self.table!r}\n{self.reason}"

    def _repr_html_(self) -> str:
        return self.table.to_html() + f"<p>{escape(self.reason)}</p>"


def _give_or_take(value: float, interval: Interval | None) -> str:
    return number(value) if interval is None else f"{number(value)} ± {number((interval.high - interval.low) / 2)}"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Fit(Record):
    """How a map was fitted."""

    n: int
    loss: float | None = None
    """mean log score on the fitting data after the fit, in nats"""
    converged: bool = True
    cautions: tuple[str, ...] = ()
    choice: Choice | None = None
    """how the map was chosen among others, where it was"""

    def __repr__(self) -> str:
        return f"fitted on {self.n:,} rows" + ("" if self.converged else ", did not converge")


class Recalibrator(Protocol):
    """A recipe for a map: options now, data later."""

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> CalibrationMap:
        """The map that repairs these predictions best."""


class SavedMap(Record, ABC):
    """What maps of every kind share: how they were fitted, parameters by name, a file of their own."""

    fit: Fit
    every_field_needed: ClassVar[bool] = True

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The fitted numbers by name."""

    @property
    def n_parameters(self) -> int:
        return sum(np.size(value) for value in self.parameters.values())

    def save(self, path: str | Path) -> None:
        """Write the map as JSON; read it back with `calibrant.load_map`."""
        try:
            Path(path).write_text(self.to_json() + "\n", encoding="utf-8")
        except OSError as error:
            raise FileError(f"cannot write the map {str(path)!r}: {error.strerror}") from error

    def __repr__(self) -> str:
        values = self.parameters
        if len(values) > MANY_PARAMETERS:
            shown = f"{self.n_parameters} parameters"
        else:
            sizes = {k: number(v) if np.ndim(v) == 0 else f"{np.size(v)} numbers" for k, v in values.items()}
            shown = ", ".join(f"{name}={text}" for name, text in sizes.items())
        cautions = self.fit.cautions[:MANY_PARAMETERS]
        more = len(self.fit.cautions) - len(cautions)
        lines = [f"{type(self).__name__}({shown}; {self.fit!r})", *(f"  caution: {c}" for c in cautions)]
        lines += [f"  and {more} more"] if more else []
        return "\n".join([*lines, *([] if self.fit.choice is None else [f"  chosen: {self.fit.choice.reason}"])])


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationMap(SavedMap):
    """A function from what was said to what should have been said.

    `injective`: different predictions stay different, so that any change in a proper score is a change in calibration.
    `keeps_ranking`: within a row no class overtakes another; for a single event, no row overtakes another. `keeps_accuracy`: the
    top class stays the top class; for a single event, what was above ½ stays above. All three up to the rounding of the answer,
    and but for predictions so close to 0 or 1 that the fit had to read them as further away, with a caution.
    """

    classes: tuple[Any, ...]
    """the classes of the columns; two for a single event"""
    single: bool
    """made for one column, the probability of an event"""
    fit: Fit = field(default_factory=lambda: Fit(0))

    method: ClassVar[str]
    keeps_ranking: ClassVar[bool]
    keeps_accuracy: ClassVar[bool]

    def __post_init__(self) -> None:
        if not isinstance(self.classes, tuple | list):
            raise MapError(f"classes must be a list; it is {self.classes!r}")
        object.__setattr__(self, "classes", tuple(self.classes))
        if not isinstance(self.single, bool) or not isinstance(self.fit, Fit):
            raise MapError(f"single must be true or false and fit a Fit; they are {self.single!r} and {self.fit!r}")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(each.default, float) and not is_number(value):
                raise MapError(f"{each.name} must be a number; it is {value!r}")
            if each.default == () and each.name != "maps" and not is_numbers(value):
                raise MapError(f"{each.name} must be numbers; it is {value!r:.60}")

    @property
    @abstractmethod
    def injective(self) -> bool:
        """Do different predictions stay different?"""

    @abstractmethod
    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Checked probabilities to repaired ones."""

    @abstractmethod
    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """Checked logits to repaired probabilities."""

    def new_logits(self, logits: NDArray[Any]) -> NDArray[Any] | None:  # noqa: ARG002
        """Repaired logits, for maps that have them: they hold what a probability rounded to 0 or 1 has lost."""
        return None

    @overload
    def apply(self, probs: Predictions) -> Predictions: ...
    @overload
    def apply(self, probs: Any = None, *, logits: Any = None) -> NDArray[Any]: ...
    def apply(self, probs: Any = None, *, logits: Any = None) -> Any:
        """Repaired probabilities for probabilities, for `logits=`, or for a whole `Predictions`."""
        if isinstance(probs, Predictions):
            if logits is not None:
                raise InputError("probs", "is a Predictions, which carries its own logits", advice="Pass it alone")
            self._check_shape(probs.said, "predictions")
            self._check_order(probs.classes)
            if probs.logits is None:
                return probs.with_probs(self.from_probs(probs.probs), made_by=self)
            repaired = self.new_logits(probs.logits)
            if repaired is not None:
                return probs.with_logits(repaired, made_by=self)
            return probs.with_probs(self.from_logits(probs.logits), made_by=self)
        if (probs is None) == (logits is None):
            raise InputError("probs", "or logits must be given, one of the two")
        if logits is not None:
            said = inputs.floats(logits, "logits")
            inputs.check_finite(said, "logits")
            self._check_shape(said, "logits")
            return self.from_logits(said)
        said = inputs.floats(probs, "probs")
        inputs.check_probabilities(said)
        if said.ndim == 2:
            said = inputs.check_row_sums(said, None)
        self._check_shape(said, "probs")
        return self.from_probs(said)

    def moves(self, probs: NDArray[Any]) -> NDArray[np.float64]:
        """What the map adds to checked probabilities, before anything is kept within [0, 1]."""
        p = probs.astype(np.float64)
        return self.from_probs(p) - p

    def curve(self, points: int = 201) -> Line:
        """The map of a single event, for drawing: what is said and what should be."""
        inputs.check_count(points, "points", 2)
        if not self.single:
            raise MapError(
                f"a map of {len(self.classes)} classes is no curve: each probability depends on the others of its row"
            )
        x = np.linspace(0, 1, points)
        return Line(x, self.from_probs(x))

    def _check_order(self, classes: tuple[Any, ...]) -> None:
        """The same classes in another order would be mended as one another."""
        ours, theirs = [str(c) for c in self.classes], [str(c) for c in classes]
        if ours != theirs and sorted(ours) == sorted(theirs):
            raise InputError(
                "predictions",
                "must have the classes in the order of the map",
                f"{classes!r} is not {self.classes!r}",
                "Pass classes= in the map's order, with the columns of probs to match",
            )

    def _check_shape(self, said: NDArray[Any], argument: str) -> None:
        columns = 1 if said.ndim == 1 else said.shape[1]
        expected = 1 if self.single else len(self.classes)
        if columns != expected:
            raise InputError(
                argument,
                f"must have {expected} column{'s' * (expected > 1)}, as this map was fitted",
                f"it has {columns}",
            )


def is_number(value: Any) -> bool:
    """A real number, perhaps infinite, but not NaN."""
    return isinstance(value, float | int | np.number) and not isinstance(value, bool) and not np.isnan(value)


def is_numbers(value: Any) -> bool:
    """An array of real numbers without NaN."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return not np.isnan(array).any()


MANY_PARAMETERS = 4
"""Parameters and cautions shown one by one."""


def load_map(path: str | Path) -> Any:
    """Read a map that `save` wrote, of class probabilities or of a regression.

    Examples
    --------
    >>> import calibrant as cal, tempfile, os
    >>> fitted = cal.Temperature().fit([0, 1, 1, 0], logits=[-1.0, 2.0, -0.5, 0.3])
    >>> path = os.path.join(tempfile.mkdtemp(), "map.json")
    >>> fitted.save(path)
    >>> cal.load_map(path) == fitted
    True
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot read the map {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MapError(f"{str(path)!r} is not a saved map: it is not text") from error
    try:
        found = Record.from_dict(checked_schema(text))
    except MapError as error:
        raise MapError(f"{str(path)!r} is not a saved map: {error}") from error
    if not isinstance(found, SavedMap):
        raise MapError(f"{str(path)!r} holds a saved {type(found).__name__}, not a map")
    return found


def admit_fit(labels: Any, probs: Any, logits: Any, weights: Any) -> Predictions:
    """The data of a fit: a `Predictions`, or labels with probs or logits."""
    if isinstance(labels, Predictions):
        if probs is not None or logits is not None or weights is not None:
            raise InputError("labels", "is a Predictions and carries its own data", advice="Pass it alone")
        return labels
    if (probs is None) == (logits is None):
        raise InputError("probs", "or logits must be given, one of the two")
    if logits is not None:
        return Predictions.from_logits(labels, logits, weights=weights)
    return Predictions(labels, probs, weights=weights)
