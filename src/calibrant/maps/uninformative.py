"""Maps that reduce a calibration error by discarding information.

They are those of Gruber & Buettner (2022, appendices D.4 and E.1). They show what an error
does not measure, and are not offered by `recalibrate`. To read one back from JSON, import
this module first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.kernels.logits import inside, probabilities
from calibrant.maps.calibration_map import CalibrationMap, Fit, map_record
from calibrant.maps.log_space import admit_fit
from calibrant.maps.order_preserving import class_shares
from calibrant.maps.several import several_classes
from calibrant.results.constraints import OneOf, Shape, SumsTo, Within
from calibrant.types import Array, Floats, Indices

REST = ("proportional", "even")


@dataclass(frozen=True, slots=True)
class TopAccuracy:
    """Predict the model's accuracy for the top class of every row.

    The other classes share the rest. Every error of the top class becomes 0 (ECE, KS, MMCE),
    the accuracy stays, and the predictions are still not calibrated.

    Parameters
    ----------
    rest
        Do the other classes share the rest in proportion to their predictions
        (`"proportional"`) or evenly (`"even"`)?

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.maps.uninformative import TopAccuracy
    >>> valid, test = cal.example()
    >>> uninformative = TopAccuracy().fit(test).apply(test)
    >>> cal.ece(uninformative).value < 1e-6 < cal.ece(test).value
    True
    """

    rest: Literal["proportional", "even"] = "proportional"

    def __post_init__(self) -> None:
        check_choice("rest", self.rest, REST)

    def fit(
        self, labels: Any, probs: Any = None, *, logits: Any = None, counts: Any = None, weights: Any = None
    ) -> TopAccuracyMap:
        """Estimate the accuracy.

        Parameters
        ----------
        labels, probs, logits, counts, weights
            As in every map's `fit`.
        """
        predictions = several_classes(admit_fit(labels, probs, logits, counts, weights))
        accuracy = float(np.average(predictions.event("top").outcomes, weights=predictions.weights))
        fitted = TopAccuracyMap(predictions.classes, False, Fit(predictions.n), accuracy, self.rest)
        if fitted.keeps_accuracy:
            return fitted
        low = f"an accuracy of {accuracy:.3g} is so low that another class can become the top one"
        return replace(fitted, fit=Fit(predictions.n, cautions=(low,)))


@map_record
class TopAccuracyMap(CalibrationMap):
    """The top probability becomes the accuracy; the others share the rest."""

    single: Annotated[bool, OneOf(False)]
    accuracy: Annotated[float, Within(0, 1)] = 1.0
    rest: Literal["proportional", "even"] = "proportional"

    method: ClassVar[str] = "top_accuracy"
    parameter_names: ClassVar[tuple[str, ...]] = ("accuracy",)

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        """Is the accuracy above what any other class can be given?"""
        return self.accuracy > (0.5 if self.rest == "proportional" else 1 / len(self.classes))

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        return self.keeps_accuracy and self.rest == "proportional"

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The accuracy for the top class, the rest for the others."""
        p = (probabilities(predictions) if are_logits else predictions).astype(np.float64)
        rows, top = np.arange(len(p)), p.argmax(axis=1)
        p[rows, top] = 0.0
        others = p.sum(axis=1, keepdims=True)
        even = np.full_like(p, 1 / (p.shape[1] - 1))
        shares = even if self.rest == "even" else np.divide(p, others, out=even, where=others > 0)
        p = (1 - self.accuracy) * shares
        p[rows, top] = self.accuracy
        return inside(p, predictions.dtype)


@dataclass(frozen=True, slots=True)
class LabelFrequencies:
    """Predict the class frequencies among the rows with the same top class.

    That is calibrated, and as accurate as before wherever a top class is right more
    often than any other. All other information of the model is lost, as a proper score
    shows. For a single event there is one rate below ½ and one above.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.maps.uninformative import LabelFrequencies
    >>> fitted = LabelFrequencies().fit([0, 0, 1, 1, 1], [0.1, 0.3, 0.2, 0.7, 0.9])
    >>> fitted.apply([0.05, 0.6]).round(3)
    array([0.333, 1.   ])
    """

    def fit(
        self, labels: Any, probs: Any = None, *, logits: Any = None, counts: Any = None, weights: Any = None
    ) -> LabelFrequenciesMap:
        """A table of class frequencies by top class.

        A class that is never the top class gets the overall frequencies.

        Parameters
        ----------
        labels, probs, logits, counts, weights
            As in every map's `fit`.
        """
        predictions = admit_fit(labels, probs, logits, counts, weights)
        shares = class_shares(predictions)
        if predictions.weights is not None:
            shares = shares * predictions.weights[:, None]
        sums = np.zeros((predictions.n_classes, predictions.n_classes))
        np.add.at(sums, top_class(predictions.probs), shares)
        size = sums.sum(axis=1, keepdims=True)
        overall = np.broadcast_to(sums.sum(axis=0) / size.sum(), sums.shape)
        table = np.divide(sums, size, out=overall.copy(), where=size > 0)
        never = [str(c) for c, rows in zip(predictions.classes, size[:, 0], strict=True) if not rows]
        cautions = (f"never the top class: {', '.join(never[:3])}{' …' * (len(never) > 3)}",) if never else ()
        fit = Fit(predictions.n, cautions=cautions)
        return LabelFrequenciesMap(predictions.classes, predictions.is_binary, fit, table)


@map_record
class LabelFrequenciesMap(CalibrationMap):
    """The row of a table that belongs to the top class."""

    table: Annotated[Floats, Shape("classes", "classes"), Within(0, 1), SumsTo(1)] = ((1.0, 0.0), (0.0, 1.0))  # type: ignore[assignment]
    """class frequencies `(K, K)`, one row for each top class"""

    method: ClassVar[str] = "label_frequencies"
    parameter_names: ClassVar[tuple[str, ...]] = ("table",)

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        """Is each top class the most frequent one of its rows?"""
        return bool((self.table.argmax(axis=1) == np.arange(len(self.classes))).all())

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The frequencies that belong to the top class."""
        probs = probabilities(predictions) if are_logits else predictions
        rows = self.table[top_class(probs)]
        return (rows[:, 1] if probs.ndim == 1 else rows).astype(probs.dtype)


def top_class(probs: Array) -> Indices:
    """The top class; of a single event the second from ½ on."""
    return (probs >= 0.5).astype(np.intp) if probs.ndim == 1 else probs.argmax(axis=1)
