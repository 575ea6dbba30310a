"""Multi-label predictions: several labels of a row may be true, and each column is an event of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant import inputs
from calibrant.arrays import column_names, common_index, own
from calibrant.inputs import FloatArray
from calibrant.predictions import labels as labelling
from calibrant.predictions.door import as_predictions
from calibrant.predictions.event import Event
from calibrant.predictions.mass import check_mass
from calibrant.predictions.predictions import Predictions
from calibrant.problems import InputError
from calibrant.types import Array

WHY = "these are multi-label predictions, where several labels of a row may be true"
ONE_OF = "predictions.label(NAME) are those of one label, which view='class NAME' asks about where there is a view"
INSTEAD = f"Use class-wise errors, such as static_error or classwise_error; {ONE_OF}; `observed` holds all labels"


class MultilabelPredictions(Predictions):
    """What a model predicted of K labels and which of them were true, for `n` rows; made by `from_multilabel`.

    `observed` are the labels, `(n, K)`, 1 where true.
    """

    __slots__ = ("_labels", "observed")

    held = ("observed", "_probs", "logits", "weights", "squares", "groups")

    def __init__(
        self,
        labels: Any,
        probs: Any,
        *,
        classes: Any = None,
        counts: Any = None,
        weights: Any = None,
        groups: Any = None,
    ) -> None:
        outputs = _columns(inputs.floats(probs, "probs"), "probs")
        inputs.check_probabilities(outputs)
        self.index = common_index(labels=labels, probs=probs, counts=counts, weights=weights, groups=groups)
        self._probs, self.logits = outputs, None
        self.classes, order = _names(labels, probs, classes, outputs.shape[1])
        found = _columns(inputs.floats(labels, "labels"), "labels")
        labelling.check_lengths(found, outputs, "probs")
        if found.shape != outputs.shape:
            expected = f"must have the shape of probs, {outputs.shape}"
            raise InputError("labels", expected, f"it has {found.shape}", "Pass one column of 0 and 1 per label")
        inputs.check_finite(found, "labels")
        inputs.refuse((found != 0) & (found != 1), found, "labels", "must be 0 or 1", "1 says that the label is true")
        self.observed: Array = found[:, order].astype(np.uint8)
        self._weigh(check_mass(counts, weights, len(outputs)))
        self.groups = None if groups is None else inputs.check_groups(groups, len(outputs))
        self._events, self.source, self.is_confidence = {}, None, False
        self._labels: dict[int, Predictions] = {}
        self._hold(own)

    is_binary = soft = False

    def _no_class(self) -> Any:
        raise InputError("labels", "must be one class per row for this", WHY, INSTEAD)

    labels = property(_no_class)

    def view(self, view: Any = "auto") -> str:
        """The full name of a view: `auto` is `classwise`.

        Parameters
        ----------
        view
            `auto`, `classwise`, `class k` with k the name or index of a label, or an index.
        """
        if isinstance(view, str) and view in ("top", "binary", "canonical"):
            advice = f"Use 'classwise' for all labels; {ONE_OF}"
            raise InputError("view", f"{view!r} needs one class per row", WHY, advice)
        return super().view("classwise" if isinstance(view, str) and view == "auto" else view)

    def event(self, view: Any = "auto") -> Event:
        """The yes/no question of a label.

        Parameters
        ----------
        view
            `class k` with k the name or index of a label.
        """
        if self.view(view) == "classwise":
            first = self.classes[0]
            advice = f"Pass predictions.label({first!r}), or view='class {first}' where there is a view"
            raise InputError("view", "must name one label for this", WHY, advice)
        return super().event(view)

    def label(self, name: Any) -> Predictions:
        """The predictions of one label: those of a single event.

        Parameters
        ----------
        name
            The name or index of the label.

        Examples
        --------
        >>> import calibrant as cal
        >>> tagged = cal.Predictions.from_multilabel([[1, 1], [0, 1]], [[0.9, 0.6], [0.2, 0.7]])
        >>> tagged.label(1).probs
        array([0.6, 0.7])
        """
        k = self._class_index(str(name))
        if k not in self._labels:
            found = as_predictions(self.event(f"class {self.classes[k]}"), self.groups)
            found.index = self.index
            before, maps = (None, ()) if self.source is None else (self.source[0], getattr(self.source[1], "maps", ()))
            if isinstance(before, MultilabelPredictions) and maps:
                found.source = before.label(name), maps[k]
            self._labels[k] = found
        return self._labels[k]

    def _copy(self) -> MultilabelPredictions:
        other: Any = super()._copy()
        other._labels = {}
        return other

    def _class_event(self, k: int, name: str) -> Event:
        return self._asked(self.probs[:, k], self.observed[:, k], name)

    def _check_outputs(self, probs: FloatArray) -> FloatArray:
        inputs.check_probabilities(probs)
        return probs

    def with_logits(self, logits: Any, *, made_by: Any = None) -> Predictions:  # noqa: ARG002
        """Refused: these are probabilities.

        Parameters
        ----------
        logits, made_by
            As in `Predictions`.
        """
        raise InputError("logits", "cannot replace the probabilities of labels", WHY, "Use with_probs")

    def __repr__(self) -> str:
        told = super().__repr__().replace(f"{self.n_classes} classes", f"{self.n_classes} labels")
        return f"Multilabel{told}"


def _columns(values: Array, name: str) -> Array:
    """One column per label, at least two."""
    if values.ndim == 1:
        advice = "Use Predictions(labels, probs) for a single event"
        raise InputError(name, "must have one column per label, at least two", "it has a single column", advice)
    return values


def _names(labels: Any, probs: Any, classes: Any, k: int) -> tuple[tuple[Any, ...], Any]:
    """The names of the labels, and the columns of `labels` in the order of the probabilities.

    Columns of tables are matched by name, where both have names.
    """
    named, seen = column_names(probs), column_names(labels)
    order: Any = slice(None)
    if named and seen and len(named) == len(seen) == k:
        labelling.check_distinct(named)
        plain = tuple(_plain(name) for name in named)
        match = next((each for each in (named, plain) if set(each) == set(seen)), None)
        if match is None:
            other = next((name for name in seen if name not in (*named, *plain)), seen[0])
            advice = "Give both the same names, or pass arrays whose columns have the same order"
            raise InputError("labels", "must have the columns of probs", f"probs has no column {other!r}", advice)
        order, named = [seen.index(name) for name in match], match
    if classes is None and (named or seen):
        names = named or seen or ()
        return labelling.check_distinct(names if len(names) == k else tuple(range(k))), order
    return labelling.class_order(classes, None, np.zeros(1), k, 2), order


def _plain(name: Any) -> Any:
    """The name of a label behind words such as `prob_`."""
    family = labelling.FAMILY.fullmatch(name) if isinstance(name, str) else None
    return family[1] if family else name
