"""What every recalibration map is: plain data and one function, saved as JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Protocol,
    Self,
    TypeVar,
    dataclass_transform,
    overload,
)

import numpy as np

from calibrant import inputs, options
from calibrant.maps.choice import Choice
from calibrant.maps.log_space import admit_fit, given_of, prevalence_of, rows_that_count
from calibrant.maps.row_by_row import RowByRow
from calibrant.methods import Kind, State, method
from calibrant.predictions import MultilabelPredictions, Predictions
from calibrant.problems import InputError, MapError
from calibrant.results import Line, Record, checked, field_names, kind, number
from calibrant.results.constraints import BIG, Distinct, Holds, Shape, Within
from calibrant.results.notebook import Shown
from calibrant.types import Array, Floats
from calibrant.writing import write_text

if TYPE_CHECKING:
    from calibrant.maps.folds import Folds

ARRAY: Any = ()
"""Default of a field that holds an array of numbers."""
TWO = "must be two for a map of one column"
MANY_PARAMETERS = 4
"""Parameters and cautions shown one by one."""

R = TypeVar("R", bound=Record)
T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False)
def map_record(record: type[R]) -> type[R]:
    """A frozen record that JSON can be read back into: the class of a fitted map, or a part of one."""
    return kind(dataclass(frozen=True, eq=False, repr=False)(record))


@dataclass_transform(frozen_default=True)
def map_recipe(name: str, state: State = "", kind: Kind = "map") -> Callable[[type[T]], type[T]]:
    """A recipe of maps, its options frozen, registered by the name that users give."""
    return lambda options: method(kind, name=name, state=state)(dataclass(frozen=True, slots=True)(options))


@map_record
class Fit(Record):
    """How a map was fitted."""

    n: Annotated[int, Within(0)]
    loss: float | None = None
    """mean log score on the fitting data after the fit, in nats"""
    converged: bool = True
    cautions: tuple[str, ...] = ()
    choice: Choice | None = None
    """how the map was chosen among others, if it was"""
    prevalence: Annotated[Floats, Within(0, 1)] | None = None
    """the share of each class among the labels"""

    def __repr__(self) -> str:
        return f"fitted on {self.n:,} rows" + ("" if self.converged else ", did not converge")


class Recalibrator(Protocol):
    """A recipe for a map: options now, data later."""

    def fit(
        self, labels: Any, probs: Any = None, *, logits: Any = None, counts: Any = None, weights: Any = None
    ) -> CalibrationMap:
        """The map that recalibrates these predictions best."""


class SavedMap(Shown, Record, ABC):
    """What maps of every kind share: how they were fitted, parameters by name, a file of their own."""

    fit: Fit
    numbers: ClassVar[Within | None] = Within(-BIG, BIG)
    parameter_names: ClassVar[tuple[str, ...]] = ()
    """fields that hold the fitted numbers"""

    def __post_init__(self) -> None:
        for name, value in checked(type(self), self._values()).items():
            object.__setattr__(self, name, value)
        super().__post_init__()

    def with_fit(self, fit: Fit) -> Self:
        """The same map, fitted as said; its numbers need no other check."""
        other = object.__new__(type(self))
        other.__dict__.update(self._values() | {"fit": fit})
        return other

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in field_names(type(self))}

    @property
    def parameters(self) -> dict[str, Any]:
        """The fitted numbers by name."""
        return {name: getattr(self, name) for name in self.parameter_names}

    @property
    def n_parameters(self) -> int:
        """How many numbers were fitted."""
        return sum(np.size(value) for value in self.parameters.values())

    @options.checked
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the map as JSON, whole or not at all; read it back with `calibrant.load_map`.

        Parameters
        ----------
        path
            The file to write.
        overwrite
            May a file of another kind be replaced? A map may be replaced anyway.
        """
        write_text(path, self.to_json(), "map", overwrite=overwrite)

    def __repr__(self) -> str:
        sizes = {k: number(v) if np.ndim(v) == 0 else f"{np.size(v)} numbers" for k, v in self.parameters.items()}
        shown = ", ".join(f"{name}={text}" for name, text in sizes.items())
        if len(sizes) > MANY_PARAMETERS:
            shown = f"{self.n_parameters} parameters"
        more = len(self.fit.cautions) - MANY_PARAMETERS
        lines = [f"{type(self).__name__}({'; '.join(filter(None, (shown, repr(self.fit))))})"]
        lines += [f"  caution: {c}" for c in self.fit.cautions[:MANY_PARAMETERS]]
        lines += [f"  and {more} more"] * (more > 0)
        return "\n".join(lines + ([] if self.fit.choice is None else [f"  chosen: {self.fit.choice.reason}"]))


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationMap(RowByRow, SavedMap):
    """A function from predictions to recalibrated predictions.

    Three promises hold up to the rounding of the result, and except for predictions so
    close to 0 or 1 that the fit had to read them as further away, with a warning.
    `injective`: different predictions stay different, so that any change in a proper
    score is a change in calibration. `keeps_ranking`: within a row no class overtakes
    another; for a single event, no row overtakes another. `keeps_accuracy`: the top class
    stays the top class; for a single event, what was above ½ stays above.

    A subclass gives its fields defaults, and declares beside them what they must be
    (`calibrant.results.constraints`). They are checked, and arrays are kept so that they
    cannot be written to.
    """

    classes: Annotated[
        tuple[Any, ...],
        Distinct(),
        Shape(least=2),
        Holds(TWO, lambda classes, single, **_: len(classes) == 2 or not single),
    ]
    """the classes of the columns; two for a single event"""
    single: bool
    """made for one column, the probability of an event"""
    fit: Fit = field(default_factory=lambda: Fit(0))

    method: ClassVar[str]
    injective: ClassVar[bool] = False
    keeps_ranking: ClassVar[bool] = False
    keeps_accuracy: ClassVar[bool] = False
    per_label: ClassVar[bool] = False
    """for multi-label predictions, whose rows need not sum to 1"""

    @property
    def made_for(self) -> Floats | None:
        """The prevalences of the classes at which the map is calibrated: of the fit, or where it was shifted to."""
        return self.fit.prevalence

    def new_logits(self, logits: Array) -> Array | None:  # noqa: ARG002
        """Recalibrated logits, for maps that have them: they round less than probabilities."""
        return None

    @overload
    def apply(self, probs: Predictions) -> Predictions: ...
    @overload
    def apply(self, probs: Any = None, *, logits: Any = None) -> Array: ...
    def apply(self, probs: Any = None, *, logits: Any = None) -> Any:
        """Recalibrated probabilities.

        Parameters
        ----------
        probs
            Probabilities, `(n,)` or `(n, K)` as in the fit, or `Predictions`, of which
            recalibrated `Predictions` are returned.
        logits
            Logits instead of probabilities.
        """
        if isinstance(probs, Predictions):
            if logits is not None:
                raise InputError("probs", "is a Predictions, which carries its own logits", advice="Pass it alone")
            self._check_kind(probs)
            self._check_shape(probs.outputs, "predictions")
            self._check_order(probs.classes)
            new = None if probs.logits is None else self.new_logits(probs.logits)
            if new is not None:
                return probs.with_logits(new, made_by=self)
            found = self.from_probs(probs.probs) if probs.logits is None else self.from_logits(probs.logits)
            return probs.with_probs(found, made_by=self)
        values, are_logits = self._admitted(probs, logits)
        return self.from_logits(values) if are_logits else self.from_probs(values)

    def _admitted(self, probs: Any, logits: Any) -> tuple[Array, bool]:
        """Checked probabilities or logits, whichever was given, and whether these are logits."""
        if self.single and logits is None and (column := inputs.plain_column(probs)) is not None:
            return column, False
        name = given_of(probs, logits)
        values = inputs.floats(probs if logits is None else logits, name)
        if logits is not None:
            inputs.check_finite(values, name)
        elif values.ndim == 2 and not self.per_label:
            values = inputs.check_matrix(values, None)
        else:
            inputs.check_probabilities(values)
        self._check_shape(values, name)
        return values, logits is not None

    def moves(self, probs: Array) -> Floats:
        """What the map adds to checked probabilities, before anything is kept within [0, 1]."""
        p = probs.astype(np.float64)
        return self.from_probs(p) - p

    def curve(self, n_points: int = 201) -> Line:
        """The map of a single event, for drawing.

        Parameters
        ----------
        n_points
            Number of predictions, spread evenly over [0, 1].
        """
        inputs.check_count(n_points, "n_points", 2)
        if not self.single:
            row = "each probability depends on the others of its row"
            reason = "each label has a curve of its own, that of its map in `maps`" if self.per_label else row
            raise MapError(f"a map of {len(self.classes)} classes is no curve: {reason}")
        x = np.linspace(0, 1, n_points)
        return Line(x, self.from_probs(x))

    @options.checked
    def at_prevalence(self, new: Any = None, *, unlabelled: Any = None, old: Any = None, level: float = 0.95) -> Any:
        """This map for a population in which the classes have other prevalences.

        The classes must look the same there: only their proportions may differ.

        Parameters
        ----------
        new
            The prevalence of the event there, or one per class.
        unlabelled
            Instead of `new`: probabilities that the model gave to unlabelled rows there,
            from which the prevalences are estimated (maximum likelihood, the limit of EM).
            `Predictions` are read without their labels; rows of one of their groups may
            depend on each other. `intervals` of the map hold the prevalences also where
            this map and `old` have the error that so many rows of the fit leave, if these
            were independent; steps of few rows, as of `isotonic`, err by more. A caution
            says where no map was fitted, so that the predictions must be calibrated.
        old
            The prevalences at which this map is calibrated. None: `made_for`.
        level
            Confidence of the intervals.

        Examples
        --------
        >>> import calibrant as cal
        >>> fitted = cal.Platt().fit([0, 1, 1, 0, 1, 0], [0.1, 0.9, 0.6, 0.7, 0.8, 0.2])
        >>> rare = fitted.at_prevalence(0.05)
        >>> bool((rare.apply([0.3, 0.8]) < fitted.apply([0.3, 0.8])).all())
        True
        """
        from calibrant.maps.prior_shift import shifted  # which is made of maps

        return shifted(self, new, unlabelled, old, inputs.check_level(level))

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the map of a single event, or of the top class, and return the Axes.

        Parameters
        ----------
        ax, **options
            As in `calibrant.plot.curves`, which also draws several maps in one diagram.
        """
        from calibrant.plot.curves import curves  # drawing lies above the maps

        return curves(self, ax=ax, **options)

    def _check_order(self, classes: tuple[Any, ...]) -> None:
        """The same classes in another order would be recalibrated as one another."""
        ours, theirs = [str(c) for c in self.classes], [str(c) for c in classes]
        if ours != theirs and sorted(ours) == sorted(theirs):
            found = f"{classes!r} is not {self.classes!r}"
            advice = f"Pass {inputs.wrapped('classes=classes')} in the map's order, with the columns of probs to match"
            raise InputError("predictions", "must have the classes in the order of the map", found, advice)

    def _check_kind(self, given: Predictions) -> None:
        if isinstance(given, MultilabelPredictions) != self.per_label and not self.single:
            kinds = "one class per row", "multi-label predictions"
            wanted, found = kinds[self.per_label], kinds[not self.per_label]
            advice = "Fit the recipe on predictions of the kind that the map is applied to"
            raise InputError("predictions", f"must be of {wanted}, as this map was fitted", f"it has {found}", advice)

    def _check_shape(self, values: Array, argument: str) -> None:
        columns = 1 if values.ndim == 1 else values.shape[1]
        expected = 1 if self.single else len(self.classes)
        if columns != expected:
            wanted = f"must have {expected} column{'s' * (expected > 1)}, as this map was fitted"
            raise InputError(argument, wanted, f"it has {columns}")


Map_co = TypeVar("Map_co", bound=CalibrationMap, covariant=True)


class Recipe(ABC, Generic[Map_co]):
    """A recipe for a map of one kind."""

    def fit(
        self, labels: Any, probs: Any = None, *, logits: Any = None, counts: Any = None, weights: Any = None
    ) -> Map_co:
        """The map that recalibrates these predictions best.

        Parameters
        ----------
        labels
            Outcomes or classes, one per row; or `Predictions`, which carry everything.
        probs
            Probabilities: `(n,)` of the event, or `(n, K)`, one column per class.
        logits
            Logits instead of probabilities.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        rows = rows_that_count(admit_fit(labels, probs, logits, counts, weights))
        found = self.fit_labels(rows) if isinstance(rows, MultilabelPredictions) else self.fit_predictions(rows)
        return found.with_fit(replace(found.fit, prevalence=prevalence_of(rows)))

    def fit_labels(self, predictions: MultilabelPredictions) -> Any:
        """A map for each label of multi-label predictions, fitted by itself."""
        from calibrant.maps.several import fitted_per_label  # which is made of maps

        return fitted_per_label(self, predictions)

    @abstractmethod
    def fit_predictions(self, predictions: Predictions) -> Map_co:
        """The map fitted on checked predictions without rows of weight 0."""

    def fit_near(self, predictions: Predictions, near: Any) -> Map_co:  # noqa: ARG002
        """The map of these rows where that of nearly the same rows is known: a search begins there and ends sooner."""
        return self.fit_predictions(predictions)

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """Probabilities of every row by the map of the other folds; `fitted` is the map of all rows."""
        return folded.answers(fitted_once(self, rows, fitted) for rows in folded.others)


def fitted_once(recipe: Recipe[Map_co], predictions: Predictions, near: Any = None) -> Map_co:
    """The map of a recipe that others build on, fitted once to the same predictions."""

    def made() -> Map_co:
        return recipe.fit(predictions) if near is None else recipe.fit_near(predictions, near)

    found: Map_co = predictions.kept(f"fit of {recipe!r}", made)
    return found
