"""Predictions: what a model said and what happened, and the yes/no questions one can ask of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant import inputs
from calibrant.arrays import column_names, to_numpy
from calibrant.inputs import FloatArray
from calibrant.kernels.logits import probabilities
from calibrant.kernels.rows.pooling import Groups, grouped
from calibrant.problems import InputError

if TYPE_CHECKING:
    from calibrant.forecasts import GaussianForecasts, QuantileForecasts, SampleForecasts

VIEWS = ("auto", "binary", "top", "class k", "classwise")


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A yes/no question with its forecast: `probs` said it would happen, `outcomes` says whether it did."""

    probs: FloatArray
    outcomes: NDArray[Any]
    """uint8 zeros and ones, or float64 shares for soft labels"""
    weights: FloatArray | None
    name: str
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        return len(self.probs)

    @property
    def groups(self) -> Groups:
        """Rows pooled by equal prediction, in order; sorted once, when first asked for."""
        found: Groups = self.kept("groups", lambda: grouped(self.probs, self.outcomes, self.weights))
        return found

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """What was made of these rows before, or is made now: several estimators share the dear parts of their work."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def named(self, name: str) -> Event:
        """The same question under another name."""
        return Event(self.probs, self.outcomes, self.weights, name, self._kept)

    @property
    def hard(self) -> bool:
        """Is every outcome a plain yes or no?"""
        return self.outcomes.dtype == np.uint8


class Predictions:
    """What a model said and what happened, for `n` rows.

    Parameters
    ----------
    labels
        What happened: class indices, booleans, class names, or one-hot rows.
    probs
        What the model said: `(n,)`, the probability that the event happens, or `(n, K)`, one column a class.
    classes
        The classes in the order of the columns; for `(n,)` the pair `(negative, positive)`. Needed when labels are names
        (scikit-learn: `model.classes_`), and it lets a class be absent from the labels.
    weights
        How often each row counts: weight 2 equals the row twice.
    groups
        A segment or cluster for each row, kept for audits.
    normalize
        Divide rows that do not sum to 1 by their sum.
    soft
        Labels are probabilities of the event in [0, 1] (for `(n, K)`, rows of class shares), not classes.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.Predictions([0, 1, 1], [0.2, 0.7, 0.9])
    Predictions(3 rows, binary event, float64)
    >>> cal.Predictions(["cat", "dog"], [[0.8, 0.2], [0.4, 0.6]], classes=["cat", "dog"])
    Predictions(2 rows, 2 classes, float64)
    """

    __slots__ = ("_events", "_probs", "classes", "groups", "labels", "logits", "source", "weights")

    def __init__(
        self,
        labels: Any,
        probs: Any,
        *,
        classes: Any = None,
        weights: Any = None,
        groups: Any = None,
        normalize: bool = False,
        soft: bool = False,
    ) -> None:
        columns = column_names(probs)
        said = inputs.floats(probs, "probs")
        inputs.check_swapped(labels, said, soft)
        if said.ndim == 2:
            said = inputs.check_matrix(said, normalize)
        else:
            inputs.check_probabilities(said)
        self._fill(labels, said, None, classes, columns, weights, groups, soft)

    @classmethod
    def from_logits(
        cls,
        labels: Any,
        logits: Any,
        *,
        classes: Any = None,
        weights: Any = None,
        groups: Any = None,
        soft: bool = False,
    ) -> Predictions:
        """Predictions of a model that outputs logits: `(n,)` log-odds of the event, or `(n, K)` before the softmax.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions.from_logits([0, 2], [[2.0, 0.0, 0.0], [0.0, 1.0, 3.0]]).probs.round(2)
        array([[0.79, 0.11, 0.11],
               [0.04, 0.11, 0.84]])
        """
        self = object.__new__(cls)
        said = inputs.floats(logits, "logits")
        inputs.check_finite(said, "logits")
        self._fill(labels, None, said, classes, column_names(logits), weights, groups, soft)
        return self

    @classmethod
    def from_gaussian(
        cls, labels: Any, mean: Any, variance: Any, *, weights: Any = None, groups: Any = None
    ) -> GaussianForecasts:
        """Forecasts of a real number as a Gaussian: one mean and one variance a row.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions.from_gaussian([1.2, 0.3], mean=[1.0, 0.0], variance=[0.5, 0.5])
        GaussianForecasts(2 rows)
        """
        from calibrant.forecasts import GaussianForecasts  # forecasts stands on this module

        return GaussianForecasts(labels, mean, variance, weights=weights, groups=groups)

    @classmethod
    def from_quantiles(
        cls, labels: Any, levels: Any, values: Any, *, weights: Any = None, groups: Any = None
    ) -> QuantileForecasts:
        """Forecasts of a real number as quantiles: `levels` for all rows, and a row of `values` each, `(n, q)`.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions.from_quantiles([1.2, 0.3], [0.1, 0.5, 0.9], [[0, 1, 2], [-1, 0, 1]])
        QuantileForecasts(2 rows, 3 levels)
        """
        from calibrant.forecasts import QuantileForecasts

        return QuantileForecasts(labels, levels, values, weights=weights, groups=groups)

    @classmethod
    def from_samples(cls, labels: Any, samples: Any, *, weights: Any = None, groups: Any = None) -> SampleForecasts:
        """Forecasts of a real number as draws from its distribution, or members of an ensemble, `(n, m)`.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions.from_samples([1.2, 0.3], [[0.0, 1.0, 2.0, 0.5], [-1.0, 0.0, 1.0, 0.2]])
        SampleForecasts(2 rows, 4 samples)
        """
        from calibrant.forecasts import SampleForecasts

        return SampleForecasts(labels, samples, weights=weights, groups=groups)

    @classmethod
    def read(cls, path: Any, **columns: Any) -> Predictions:
        """Read a CSV, Parquet, Arrow/Feather, NPZ or JSON-lines file; see `calibrant.read` for the column names."""
        from calibrant.files import read  # files stands on this module

        return read(path, **columns)

    def _fill(
        self,
        labels: Any,
        probs: FloatArray | None,
        logits: FloatArray | None,
        classes: Any,
        columns: tuple[Any, ...] | None,
        weights: Any,
        groups: Any,
        soft: bool,
    ) -> None:
        said, name = (probs, "probs") if logits is None else (logits, "logits")
        assert said is not None  # one of the two is given
        n_classes = said.shape[1] if said.ndim == 2 else 2
        found = inputs.in_column_order(labels, columns)
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        inputs.check_lengths(found, said, name)
        self.classes = inputs.class_order(classes, columns, found, n_classes, said.ndim)
        if soft:
            self.labels = inputs.shares(found, said.ndim, n_classes)
        else:
            self.labels = inputs.codes(found, self.classes, name, said.ndim, classes is not None)[:]
        self._probs, self.logits = probs, logits
        self.weights = None if weights is None else inputs.check_weights(weights, len(said))
        self.groups = None if groups is None else inputs.check_groups(groups, len(said))
        self._events: dict[str, Event] = {}
        self.source: tuple[Predictions, Any] | None = None  # the predictions and the map these were made of
        self._protect()

    def _protect(self) -> None:
        """What is held cannot be written to."""
        for array in (self.labels, self._probs, self.logits, self.weights, self.groups):
            if array is not None:
                array.flags.writeable = False

    @property
    def probs(self) -> FloatArray:
        """Probabilities, `(n,)` or `(n, K)`; computed from the logits on first use."""
        if self._probs is None:
            assert self.logits is not None
            self._probs = probabilities(self.logits)
            self._probs.flags.writeable = False
        return self._probs

    @property
    def said(self) -> FloatArray:
        """What the model gave: logits if it gave logits, else probabilities."""
        return self.probs if self.logits is None else self.logits

    @property
    def n(self) -> int:
        return len(self.said)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def is_binary(self) -> bool:
        """One column: the probability of a single event."""
        return self.said.ndim == 1

    @property
    def soft(self) -> bool:
        """Are the labels shares rather than classes?"""
        return self.labels.dtype.kind == "f"

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        what = "binary event" if self.is_binary else f"{self.n_classes} classes"
        extras = [what, str(self.said.dtype)]
        extras += ["logits"] if self.logits is not None else []
        extras += ["soft labels"] if self.soft else []
        extras += ["weights"] if self.weights is not None else []
        extras += ["groups"] if self.groups is not None else []
        return f"Predictions({self.n:,} row{'s' * (self.n != 1)}, {', '.join(extras)})"

    def rows(self, which: Any) -> Predictions:
        """The predictions of some rows: a mask, a slice or indices.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions([0, 1, 1], [0.2, 0.7, 0.9]).rows(slice(1, 3)).probs
        array([0.7, 0.9])
        """
        chosen = chosen_rows(which, self.labels, self.weights)
        part = self._copy()
        part.labels = self.labels[chosen]
        part._probs = None if self._probs is None else self._probs[chosen]
        part.logits = None if self.logits is None else self.logits[chosen]
        part.weights = None if self.weights is None else self.weights[chosen]
        part.groups = None if self.groups is None else self.groups[chosen]
        part._protect()
        return part

    def with_probs(self, probs: Any, *, made_by: Any = None) -> Predictions:
        """The same rows with other probabilities of the same shape, such as a map's output (`made_by` that map)."""
        checked = inputs.floats(probs, "probs")
        if checked.shape != self.said.shape:
            raise InputError("probs", f"must have shape {self.said.shape}", f"it has {checked.shape}")
        changed = self._copy()
        if checked.ndim == 2:
            checked = inputs.check_matrix(checked, None)
        else:
            inputs.check_probabilities(checked)
        changed._probs, changed.logits = checked, None
        changed.source = None if made_by is None else (self, made_by)
        changed._protect()
        return changed

    def with_logits(self, logits: Any, *, made_by: Any = None) -> Predictions:
        """The same rows with other logits of the same shape."""
        checked = inputs.floats(logits, "logits")
        if checked.shape != self.said.shape:
            raise InputError("logits", f"must have shape {self.said.shape}", f"it has {checked.shape}")
        changed = self._copy()
        changed._probs, changed.logits = None, checked
        changed.source = None if made_by is None else (self, made_by)
        changed._protect()
        return changed

    def with_weights(self, weights: Any) -> Predictions:
        """The same rows with other weights; None counts each row once."""
        changed = self._copy()
        changed.weights = None if weights is None else inputs.check_weights(weights, self.n)
        changed._protect()
        return changed

    def _copy(self) -> Predictions:
        other = object.__new__(type(self))
        other.labels, other.classes, other.weights, other.groups = self.labels, self.classes, self.weights, self.groups
        other._probs, other.logits, other._events, other.source = self._probs, self.logits, {}, None
        return other

    def view(self, view: Any = "auto") -> str:
        """The full name of a view: `auto` is `binary` for one column and `top` for several."""
        if isinstance(view, tuple) and len(view) == 2 and view[0] == "class":
            view = f"class {view[1]}"
        if isinstance(view, int | np.integer) and not isinstance(view, bool):
            view = f"class {view}"
        if not isinstance(view, str):
            raise InputError("view", f"must be one of {inputs.listed(VIEWS)}", f"it is {view!r}")
        if view == "auto":
            return "binary" if self.is_binary else "top"
        if view in ("top", "classwise") and self.is_binary:
            raise InputError(
                "view", f"{view!r} needs one column a class", "probs has a single column", "Use view='binary'"
            )
        if view == "binary" and self.n_classes != 2:
            raise InputError(
                "view", "'binary' needs two classes", f"there are {self.n_classes}", "Use 'top' or 'class k'"
            )
        if view in ("binary", "top", "classwise"):
            return view
        if view.startswith("class "):
            return f"class {self.classes[self._class_index(view[6:])]}"
        raise InputError("view", f"must be one of {inputs.listed(VIEWS)}", f"it is {view!r}")

    def event(self, view: Any = "auto") -> Event:
        """The binary question that a view asks: `binary`, `top`, or `class k` with k a class name or index."""
        name = self.view(view)
        if name == "classwise":
            raise InputError("view", "'classwise' is many questions, not one", advice="Use class_events()")
        if name not in self._events:
            self._events[name] = self._make_event(name)
        return self._events[name]

    def class_events(self) -> Iterator[Event]:
        """The `class k` question of every class, in order."""
        for k, name in enumerate(self.classes):
            yield self._class_event(k, f"class {name}")

    def _make_event(self, name: str) -> Event:
        if name == "binary":
            return self._class_event(1, name)
        if name != "top":
            return self._class_event(self._class_index(name[6:]), name)
        top = np.argmax(self.probs, axis=1)  # the lowest class index wins a tie
        rows = np.arange(self.n)
        right = self.labels[rows, top] if self.soft else (top == self.labels).view(np.uint8)
        return Event(self.probs[rows, top], right, self.weights, name)

    def _class_event(self, k: int, name: str) -> Event:
        if self.is_binary:
            outcomes = self.labels if self.soft else self.labels.view(np.uint8)
            probs = self.probs
            if k == 0:
                probs, outcomes = 1 - probs, 1 - outcomes
            return Event(probs, outcomes, self.weights, name)
        outcomes = self.labels[:, k] if self.soft else (self.labels == k).view(np.uint8)
        return Event(self.probs[:, k], outcomes, self.weights, name)

    def _class_index(self, name: str) -> int:
        names = [str(c) for c in self.classes]
        if name in names:
            return names.index(name)
        if name.isdecimal() and int(name) < len(names):
            return int(name)
        raise InputError("view", f"must name one of the classes {inputs.listed(names)}", f"it asks for class {name!r}")


def chosen_rows(which: Any, labels: NDArray[Any], weights: NDArray[Any] | None) -> Any:
    """Rows by mask, slice or indices, checked."""
    if not isinstance(which, slice):
        which = to_numpy(which, "which")
        which = which.astype(np.intp) if not which.size else which
        if which.ndim != 1:
            raise InputError("which", "must be a mask, a slice or indices of rows", f"its shape is {which.shape}")
    try:
        found = labels[which]
    except IndexError as error:
        raise InputError("which", f"must be a mask, a slice or indices of {len(labels)} rows", str(error)) from error
    if not found.size:
        raise InputError("which", "must choose at least one row", "it chooses none")
    if weights is not None and not weights[which].any():
        raise InputError("which", "must choose rows of some weight", "all chosen weights are zero")
    return which


def as_predictions(event: Event) -> Predictions:
    """A yes/no question as predictions of their own."""
    found = Predictions(event.outcomes, event.probs, weights=event.weights, soft=not event.hard)
    found._events["binary"] = event.named("binary")
    return found


def repeats_groups(predictions: Predictions) -> bool:
    """Are there groups of several rows?"""
    return predictions.groups is not None and len(np.unique(predictions.groups)) < predictions.n


def admit(labels: Any, probs: Any = None, *, weights: Any = None) -> Predictions:
    """Predictions as they are, or made of `labels` and `probs`: how every public function takes its data."""
    if isinstance(labels, Predictions):
        if probs is not None or weights is not None:
            raise InputError("labels", "is a Predictions and carries its own probs and weights", advice="Pass it alone")
        return labels
    if isinstance(probs, Predictions):
        raise InputError(
            "probs", "is a Predictions, which carries its own labels", advice="Pass it as the only argument"
        )
    if probs is None:
        raise InputError("probs", "is required", "only labels were given", "Pass (labels, probs) or a Predictions")
    return Predictions(labels, probs, weights=weights)
