"""Predictions: what a model predicted and what was observed, and the yes/no questions one can ask of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant import inputs
from calibrant.arrays import column_names
from calibrant.inputs import FloatArray
from calibrant.kernels.logits import probabilities
from calibrant.predictions.event import Event
from calibrant.predictions.views import Views, chosen_rows
from calibrant.problems import InputError

if TYPE_CHECKING:
    from calibrant.forecasts import GaussianForecasts, QuantileForecasts, SampleForecasts


class Predictions(Views):
    """What a model predicted and what was observed, for `n` rows.

    Parameters
    ----------
    labels
        What was observed: class indices, booleans, class names, or one-hot rows.
    probs
        What the model predicted: `(n,)`, the probability that the event happens, or `(n, K)`,
        one column per class.
    classes
        The classes in the order of the columns; for `(n,)` the pair `(negative, positive)`.
        Needed when labels are names (scikit-learn: `model.classes_`), and lets a class be
        absent from the labels.
    weights
        How often each row occurred: weight 2 equals the row twice.
    groups
        A segment or cluster for each row, kept for audits and for intervals and tests of
        clustered rows.
    normalize
        Divide rows that do not sum to 1 by their sum.
    soft
        Labels are probabilities of the event in [0, 1] (for `(n, K)`, rows of class shares),
        not classes.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.Predictions([0, 1, 1], [0.2, 0.7, 0.9])
    Predictions(3 rows, binary event, float64)
    >>> cal.Predictions(["cat", "dog"], [[0.8, 0.2], [0.4, 0.6]], classes=["cat", "dog"])
    Predictions(2 rows, 2 classes, float64)
    """

    __slots__ = ("_events", "_probs", "classes", "counted", "groups", "labels", "logits", "source", "weights")

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
        outputs = inputs.floats(probs, "probs")
        inputs.check_swapped(labels, outputs, soft)
        if outputs.ndim == 2:
            outputs = inputs.check_matrix(outputs, normalize)
        else:
            inputs.check_probabilities(outputs)
        self._fill(labels, outputs, None, classes, columns, weights, groups, soft)

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
        """Predictions of a model that outputs logits.

        Parameters
        ----------
        labels
            What was observed, as for `Predictions`.
        logits
            `(n,)` log-odds of the event, or `(n, K)` before the softmax.
        classes
            The classes in the order of the columns.
        weights
            How often each row occurred; by default once.
        groups
            A cluster for each row, such as a patient or a document.
        soft
            Labels are probabilities, not classes.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions.from_logits([0, 2], [[2.0, 0.0, 0.0], [0.0, 1.0, 3.0]]).probs.round(2)
        array([[0.79, 0.11, 0.11],
               [0.04, 0.11, 0.84]])
        """
        self = object.__new__(cls)
        outputs = inputs.floats(logits, "logits")
        inputs.check_finite(outputs, "logits")
        self._fill(labels, None, outputs, classes, column_names(logits), weights, groups, soft)
        return self

    @classmethod
    def from_gaussian(
        cls, labels: Any, mean: Any, variance: Any, *, weights: Any = None, groups: Any = None
    ) -> GaussianForecasts:
        """Forecasts of a real number as Gaussian distributions.

        Parameters
        ----------
        labels
            The observed numbers.
        mean, variance
            One mean and one variance per row.
        weights
            How often each row occurred; by default once.
        groups
            A cluster for each row, such as a patient or a document.

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
        """Forecasts of a real number as quantiles.

        Parameters
        ----------
        labels
            The observed numbers.
        levels
            Probabilities of the quantiles, the same for all rows.
        values
            One row of quantiles per label, `(n, q)`.
        weights
            How often each row occurred; by default once.
        groups
            A cluster for each row, such as a patient or a document.

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
        """Forecasts of a real number as samples of its distribution, or an ensemble's members.

        Parameters
        ----------
        labels
            The observed numbers.
        samples
            One row of samples per label, `(n, m)`.
        weights
            How often each row occurred; by default once.
        groups
            A cluster for each row, such as a patient or a document.

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
        """Read predictions from a file; the same as `calibrant.read`.

        Parameters
        ----------
        path
            A CSV, Parquet, Arrow/Feather, NPZ or JSON-lines file.
        **columns
            Names of the columns, as for `calibrant.read`.
        """
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
        outputs, name = (probs, "probs") if logits is None else (logits, "logits")
        assert outputs is not None  # one of the two is given
        n_classes = outputs.shape[1] if outputs.ndim == 2 else 2
        found = inputs.in_column_order(labels, columns)
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        inputs.check_lengths(found, outputs, name)
        self.classes = inputs.class_order(classes, columns, found, n_classes, outputs.ndim)
        if soft:
            self.labels = inputs.shares(found, outputs.ndim, n_classes)
        else:
            self.labels = inputs.codes(found, self.classes, name, outputs.ndim, classes is not None)[:]
        self._probs, self.logits = probs, logits
        self.weights = None if weights is None else inputs.check_weights(weights, len(outputs))
        self.groups = None if groups is None else inputs.check_groups(groups, len(outputs))
        self._events: dict[str, Event] = {}
        self.counted: int | None = None  # rows that these stand for, where a state holds fewer
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
    def outputs(self) -> FloatArray:
        """What the model gave: logits if it gave logits, else probabilities."""
        return self.probs if self.logits is None else self.logits

    @property
    def n(self) -> int:
        """Number of rows; a state that pooled equal predictions holds fewer, `len(labels)`."""
        return len(self.outputs) if self.counted is None else self.counted

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def is_binary(self) -> bool:
        """One column: the probability of a single event."""
        return self.outputs.ndim == 1

    @property
    def soft(self) -> bool:
        """Are the labels shares rather than classes?"""
        return self.labels.dtype.kind == "f"

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        what = "binary event" if self.is_binary else f"{self.n_classes} classes"
        flags = {
            "logits": self.logits,
            "soft labels": self.soft or None,
            "weights": self.weights,
            "groups": self.groups,
        }
        extras = [what, str(self.outputs.dtype), *(name for name, found in flags.items() if found is not None)]
        return f"Predictions({self.n:,} row{'s' * (self.n != 1)}, {', '.join(extras)})"

    def rows(self, which: Any) -> Predictions:
        """The predictions of some rows.

        Parameters
        ----------
        which
            A mask, a slice or indices.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions([0, 1, 1], [0.2, 0.7, 0.9]).rows(slice(1, 3)).probs
        array([0.7, 0.9])
        """
        chosen = chosen_rows(which, self.labels, self.weights)
        part = self._copy()
        part.counted = None
        part.labels = self.labels[chosen]
        part._probs = None if self._probs is None else self._probs[chosen]
        part.logits = None if self.logits is None else self.logits[chosen]
        part.weights = None if self.weights is None else self.weights[chosen]
        part.groups = None if self.groups is None else self.groups[chosen]
        part._protect()
        return part

    def with_probs(self, probs: Any, *, made_by: Any = None) -> Predictions:
        """The same rows with other probabilities of the same shape, such as a map's output.

        Parameters
        ----------
        probs
            The new probabilities.
        made_by
            The map that made them, if one did.
        """
        checked = self._checked_shape(probs, "probs")
        if checked.ndim == 2:
            checked = inputs.check_matrix(checked, None)
        else:
            inputs.check_probabilities(checked)
        return self._changed(checked, None, made_by)

    def with_logits(self, logits: Any, *, made_by: Any = None) -> Predictions:
        """The same rows with other logits of the same shape.

        Parameters
        ----------
        logits
            The new logits.
        made_by
            The map that made them, if one did.
        """
        return self._changed(None, self._checked_shape(logits, "logits"), made_by)

    def _checked_shape(self, values: Any, name: str) -> FloatArray:
        checked = inputs.floats(values, name)
        if checked.shape != self.outputs.shape:
            raise InputError(name, f"must have shape {self.outputs.shape}", f"it has {checked.shape}")
        return checked

    def _changed(self, probs: FloatArray | None, logits: FloatArray | None, made_by: Any) -> Predictions:
        changed = self._copy()
        changed._probs, changed.logits = probs, logits
        changed.source = None if made_by is None else (self, made_by)
        changed._protect()
        return changed

    def with_weights(self, weights: Any) -> Predictions:
        """The same rows with other weights.

        Parameters
        ----------
        weights
            How often each row occurred; None counts each row once.
        """
        changed = self._copy()
        changed.weights = None if weights is None else inputs.check_weights(weights, len(self.outputs))
        changed.counted = None
        changed._protect()
        return changed

    def _copy(self) -> Predictions:
        other = object.__new__(type(self))
        other.labels, other.classes, other.weights, other.groups = self.labels, self.classes, self.weights, self.groups
        other._probs, other.logits, other._events, other.source = self._probs, self.logits, {}, None
        other.counted = self.counted
        return other
