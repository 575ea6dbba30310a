"""Predictions: what a model predicted and what was observed, and the yes/no questions one can ask of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from calibrant import inputs
from calibrant.arrays import column_names, common_index, own, read_only
from calibrant.inputs import FloatArray
from calibrant.kernels.logits import probabilities
from calibrant.options import checked
from calibrant.predictions import labels as labelling
from calibrant.predictions.columns import Rows
from calibrant.predictions.constructors import Constructors
from calibrant.predictions.mass import Mass, Weighed, check_mass
from calibrant.predictions.views import Views, chosen_rows
from calibrant.problems import InputError
from calibrant.types import Array


class Predictions(Constructors, Views, Weighed, Rows):
    """What a model predicted and what was observed, for `n` rows.

    The numbers are its own: arrays that somebody else may write to are copied. Columns of
    pandas must have the same index, in the same order.

    Parameters
    ----------
    labels
        What was observed: class indices, booleans, class names, or one-hot rows.
    probs
        What the model predicted: `(n,)`, the probability that the event happens, or `(n, K)`,
        one column per class. Rows sum to 1 within 1e-4, or within the rounding of float16 and
        bfloat16, ε/2·(1 + log₂K) (ε is 2⁻¹⁰ and 2⁻⁷), if all numbers are of such a type.
    classes
        The classes in the order of the columns; for `(n,)` the pair `(negative, positive)`.
        Needed when labels are names (scikit-learn: `model.classes_`), and lets a class be
        absent from the labels.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.
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

    __slots__ = (
        "_events",
        "_probs",
        "classes",
        "counted",
        "groups",
        "index",
        "is_confidence",
        "labels",
        "logits",
        "source",
        "squares",
        "weights",
    )

    held: ClassVar[tuple[str, ...]] = ("labels", "_probs", "logits", "weights", "squares", "groups")
    """the arrays that predictions hold"""
    told: ClassVar[tuple[str, ...]] = ("classes", "counted", "index", "is_confidence")
    """what else they know"""

    @checked
    def __init__(
        self,
        labels: Any,
        probs: Any,
        *,
        classes: Any = None,
        counts: Any = None,
        weights: Any = None,
        groups: Any = None,
        normalize: bool = False,
        soft: bool = False,
    ) -> None:
        self._read(labels, probs, classes, (counts, weights), groups, normalize, soft)
        self._hold(own)

    @classmethod
    def borrowed(
        cls,
        labels: Any,
        probs: Any,
        *,
        classes: Any = None,
        counts: Any = None,
        weights: Any = None,
        groups: Any = None,
        normalize: bool | None = False,
        soft: bool = False,
    ) -> Predictions:
        """The same without copies, where nobody writes to the arrays as long as the object lives: within one call."""
        self = object.__new__(cls)
        self._read(labels, probs, classes, (counts, weights), groups, normalize, soft)
        self._hold(read_only)
        return self

    def _read(
        self,
        labels: Any,
        probs: Any,
        classes: Any,
        mass: tuple[Any, Any],
        groups: Any,
        normalize: bool | None,
        soft: bool,
    ) -> None:
        outputs = inputs.floats(probs, "probs")
        labelling.check_swapped(labels, outputs, soft)
        if outputs.ndim == 2:
            outputs = inputs.check_matrix(outputs, normalize)
        else:
            inputs.check_probabilities(outputs)
        self._fill(labels, outputs, "probs", probs, classes, mass, groups, soft)

    @classmethod
    @checked
    def from_logits(
        cls,
        labels: Any,
        logits: Any,
        *,
        classes: Any = None,
        counts: Any = None,
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
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
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
        self._fill(labels, outputs, "logits", logits, classes, (counts, weights), groups, soft)
        self._hold(own)
        return self

    def _fill(
        self,
        labels: Any,
        outputs: FloatArray,
        name: str,
        given: Any,
        classes: Any,
        mass: tuple[Any, Any],
        groups: Any,
        soft: bool,
    ) -> None:
        """Check and keep the rest; `outputs`, already checked, are the `given` probs or logits, whichever `name` says."""
        n_classes, columns = outputs.shape[1] if outputs.ndim == 2 else 2, column_names(given)
        found = labelling.in_column_order(labels, columns)
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        labelling.check_lengths(found, outputs, name)
        counts, weights = mass
        self.index = common_index(**{"labels": labels, name: given}, counts=counts, weights=weights, groups=groups)
        self.classes = labelling.class_order(classes, columns, found, n_classes, outputs.ndim)
        named = columns[0] if columns else getattr(given, "name", None)
        self.is_confidence = named is not None and outputs.ndim == 1 and labelling.is_confidence(named)
        if outputs.ndim == 1 and named is not None:
            labelling.check_names_event(named, self.classes, name)
        if soft:
            self.labels = labelling.shares(found, outputs.ndim, n_classes)
        else:
            self.labels = labelling.codes(found, self.classes, name, outputs.ndim, classes is not None)[:]
        self._probs: FloatArray | None = outputs if name == "probs" else None
        self.logits: FloatArray | None = outputs if name == "logits" else None
        self._weigh(check_mass(counts, weights, len(outputs)))
        self.groups = None if groups is None else inputs.check_groups(groups, len(outputs))
        self._events: dict[str, Any] = {}
        self.source: tuple[Predictions, Any] | None = None  # the predictions and the map these were made of

    def _weigh(self, mass: Mass | None) -> None:
        """Keep how much each row counts."""
        self.weights, self.squares = (None, None) if mass is None else (mass.weights, mass.squares)
        self.counted: int | None = None if mass is None else mass.n

    def _hold(self, kept: Callable[[Array], Array]) -> None:
        """Hold the arrays as `kept` leaves them: `own` or `read_only`."""
        for name in self.held:
            if (array := getattr(self, name)) is not None:
                setattr(self, name, kept(array))

    @property
    def probs(self) -> FloatArray:
        """Probabilities, `(n,)` or `(n, K)`; computed from the logits on first use."""
        if self._probs is None:
            assert self.logits is not None
            self._probs = read_only(probabilities(self.logits))
        return self._probs

    @property
    def observed(self) -> Array:
        """What was observed: the labels; of multi-label predictions `(n, K)`, 1 where a label is true."""
        return self.labels

    @property
    def outputs(self) -> FloatArray:
        """What the model gave: logits if it gave logits, else probabilities."""
        return self.probs if self.logits is None else self.logits

    @property
    def shape(self) -> tuple[int, ...]:
        """`(n,)` or `(n, K)`, of what the model gave."""
        return self.outputs.shape

    @property
    def precision(self) -> str:
        """`float32` or `float64`."""
        return str(self.outputs.dtype)

    @property
    def n(self) -> int:
        """Number of rows, repeated ones included and those of weight 0 left out; `len(labels)` are held."""
        return len(self.outputs) if self.counted is None else self.counted

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def is_binary(self) -> bool:
        """One column: the probability of a single event."""
        given = self._probs if self.logits is None else self.logits
        return given is not None and given.ndim == 1

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
            "counts": self.weights if self.squares is None else None,
            "weights": self.squares,
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
        chosen = chosen_rows(which, self)
        part = self._copy()
        part.index = None if self.index is None else self.index[chosen]
        part._hold(lambda array: read_only(array[chosen]))
        part._weigh(None if self.mass is None else self.mass.rows(chosen))
        part._hold(read_only)
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
        return self._changed(self._check_outputs(self._checked(probs, "probs", made_by)), None, made_by)

    def _check_outputs(self, probs: FloatArray) -> FloatArray:
        """Probabilities of the shape of these, checked."""
        if probs.ndim == 2:
            return inputs.check_matrix(probs, None)
        inputs.check_probabilities(probs)
        return probs

    def with_logits(self, logits: Any, *, made_by: Any = None) -> Predictions:
        """The same rows with other logits of the same shape.

        Parameters
        ----------
        logits
            The new logits.
        made_by
            The map that made them, if one did.
        """
        checked = self._checked(logits, "logits", made_by)
        inputs.check_finite(checked, "logits")
        return self._changed(None, checked, made_by)

    def _checked(self, values: Any, name: str, made_by: Any) -> FloatArray:
        """Floats in the shape and order of these rows; the output of a map is nobody else's."""
        checked = inputs.floats(values, name)
        if checked.shape != self.outputs.shape:
            raise InputError(name, f"must have shape {self.outputs.shape}", f"it has {checked.shape}")
        common_index(**{"predictions": self, name: values})
        return read_only(checked) if made_by is not None else own(checked)

    def _changed(self, probs: FloatArray | None, logits: FloatArray | None, made_by: Any) -> Predictions:
        changed = self._copy()
        changed._probs, changed.logits = probs, logits
        changed.source = None if made_by is None else (self, made_by)
        return changed

    def with_groups(self, groups: Any) -> Predictions:
        """The same rows in other groups.

        Parameters
        ----------
        groups
            The group of each row; None for no groups.
        """
        common_index(predictions=self, groups=groups)
        changed = self._copy()
        changed.groups = None if groups is None else own(inputs.check_groups(groups, len(self.outputs)))
        return changed

    def with_mass(self, mass: Mass | None) -> Predictions:
        """The same rows, each counting as much as `mass` says.

        Parameters
        ----------
        mass
            As `check_mass` gives it; None counts each row once.
        """
        changed = self._copy()
        changed._weigh(mass)
        changed._hold(read_only)
        return changed

    def copied(self) -> Predictions:
        """The same with arrays of its own, where these were borrowed."""
        lent = [name for name in self.held if (array := getattr(self, name)) is not None and array.base is not None]
        if not lent:
            return self
        other = self._copy()
        for name in lent:
            setattr(other, name, read_only(getattr(other, name).copy(order="K")))
        return other

    def _copy(self) -> Predictions:
        other = object.__new__(type(self))
        for name in self.held + self.told:
            setattr(other, name, getattr(self, name))
        other._events, other.source = {}, None
        return other
