"""A calibration display in the manner of scikit-learn's: with an error, its interval, and a band."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from calibrant.adapt.scorers import as_mass
from calibrant.infer import Band
from calibrant.inputs import check_choice
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.types import Array
from calibrant.verbs.diagnose import Diagnosis, diagnose


class CalibrationDisplay:
    """The reliability diagram of a classifier, used as scikit-learn's displays are.

    Make it by `from_estimator` or `from_predictions`. The mean prediction and the observed
    frequency of each bin are drawn with their intervals, and the calibration error with its
    interval stands above.

    Parameters
    ----------
    diagnosis
        The answer of `diagnose` that is drawn.
    estimator_name
        What to call the model in the legend; the name in the diagnosis if None.

    Attributes
    ----------
    ax_, figure_, line_
        The Axes, the figure and the line of the last `plot`.
    prob_true, prob_pred
        Observed frequency and mean prediction per bin.

    Examples
    --------
    >>> from calibrant.adapt.sklearn import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 1, 1, 0, 1], [0.2, 0.9, 0.6, 0.4, 0.7])
    >>> display.ax_.get_xlabel()
    'predicted probability'
    """

    @checked
    def __init__(self, diagnosis: Diagnosis, *, estimator_name: str | None = None) -> None:
        self.diagnosis = diagnosis
        self.estimator_name = diagnosis.name if estimator_name is None else estimator_name

    @property
    def prob_pred(self) -> Array:
        """Mean prediction per bin."""
        return self.diagnosis.curve.x

    @property
    def prob_true(self) -> Array:
        """Observed frequency per bin."""
        return self.diagnosis.curve.y

    @checked
    def plot(
        self,
        *,
        ax: Any = None,
        name: str | None = None,
        style: Literal["points", "bars", "gaps", "tilted"] = "points",
        scale: Literal["probability", "logit"] = "probability",
        band: Band | Literal["confidence", "consistency", "simultaneous"] | None = "confidence",
        color: Any = None,
        histogram: bool = True,
    ) -> Self:
        """Draw the diagram, and keep its Axes, figure and line as attributes.

        Parameters
        ----------
        ax
            The Axes to draw on; new ones if None.
        name
            What to call the model in the legend.
        style, scale, band, color, histogram
            As in `calibrant.plot.reliability`.
        """
        from calibrant.plot.axes import SERIES
        from calibrant.plot.reliability import reliability

        label = self.estimator_name if name is None else name
        options: dict[str, Any] = {"style": style, "scale": scale, "band": band, "color": color, "histogram": histogram}
        self.ax_ = reliability(self.diagnosis, ax=ax, label=label, **options)
        self.figure_ = self.ax_.figure
        self.line_ = [line for line in self.ax_.lines if line.get_gid() == SERIES][-1]
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        response_method: str = "predict_proba",
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw how well a fitted classifier is calibrated on some data.

        Parameters
        ----------
        estimator
            A fitted classifier, or a pipeline that ends in one.
        X
            Features, one row per label.
        y
            Classes.
        sample_weight
            How much each row matters, relative to the others.
        response_method
            `"predict_proba"`, or `"decision_function"`, whose numbers are taken as logits.
        pos_label
            The class whose probability is drawn: of two classes the second one unless
            given; of several the confidence in the predicted class unless given.
        name
            What to call the model in the legend; the name of its class if None.
        ax
            The Axes to draw on; new ones if None.
        **options
            Of `plot`: `style`, `scale`, `band`, `color`, `histogram`.
        """
        check_choice("response_method", response_method, ("predict_proba", "decision_function"))
        if not hasattr(estimator, response_method) or not hasattr(estimator, "classes_"):
            found = f"it is a {type(estimator).__name__}"
            raise InputError("estimator", f"must be a fitted classifier with {response_method}", found)
        classes, outputs = list(estimator.classes_), np.asarray(getattr(estimator, response_method)(X))
        if pos_label is not None and pos_label not in classes:
            raise InputError("pos_label", f"must be one of the classes {classes!r:.60}", f"it is {pos_label!r:.60}")
        if len(classes) == 2:
            place = 1 if pos_label is None else classes.index(pos_label)
            outputs = outputs[:, place] if outputs.ndim == 2 else outputs if place else -outputs
            classes, pos_label = [classes[1 - place], classes[place]], None
        make = Predictions if response_method == "predict_proba" else Predictions.from_logits
        rows = make(y, outputs, classes=classes, **_mass(sample_weight))
        return cls._of(rows, pos_label, type(estimator).__name__ if name is None else name, ax, options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw how well probabilities are calibrated.

        Parameters
        ----------
        y_true
            What was observed: classes, one per row; or `Predictions`, with `y_prob=None`.
        y_prob
            The probability of the second class, or one column per class.
        sample_weight
            How much each row matters, relative to the others.
        pos_label
            The class that `y_prob` is the probability of, or whose column is drawn.
        name
            What to call the model in the legend; "Classifier" if None.
        ax
            The Axes to draw on; new ones if None.
        **options
            Of `plot`: `style`, `scale`, `band`, `color`, `histogram`.
        """
        if isinstance(y_true, Predictions):
            return cls._of(y_true, pos_label, name or "Classifier", ax, options)
        classes = np.unique(np.asarray(y_true)).tolist()
        if pos_label is not None and np.ndim(y_prob) == 1:
            others = [each for each in classes if each != pos_label] or [f"not {pos_label}"]
            classes, pos_label = [*others, pos_label], None
        named = {"classes": classes} if any(isinstance(each, str) for each in classes) or len(classes) == 2 else {}
        rows = Predictions(y_true, y_prob, **named, **_mass(sample_weight))
        return cls._of(rows, pos_label, name or "Classifier", ax, options)

    @classmethod
    def _of(cls, rows: Predictions, pos_label: Any, name: str, ax: Any, options: dict[str, Any]) -> Self:
        """Diagnosed and drawn."""
        view = "auto" if pos_label is None else f"class {pos_label}"
        return cls(diagnose(rows, view=view, name=name)).plot(ax=ax, **options)


def _mass(sample_weight: Any) -> dict[str, Any]:
    return as_mass(None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
