"""Calibration errors and proper scores as scorers of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import isclass, signature
from typing import Any

import numpy as np

from calibrant.methods import Method, find, method_of, methods
from calibrant.predictions import Predictions
from calibrant.problems import InputError, MissingExtra
from calibrant.score.score import check_score
from calibrant.types import Array

try:
    from sklearn.metrics._scorer import _BaseScorer  # the class that routes sample weights to scorers
except ImportError as error:
    raise MissingExtra("scikit-learn", "sklearn", "calibrant.adapt.sklearn") from error


@dataclass(frozen=True)
class Measure:
    """An estimator or score as a function of labels and of probabilities with their classes; larger is better."""

    function: Callable[..., Any]
    options: dict[str, Any]
    best_at_zero: bool
    all_columns: bool
    """does it take the columns of all classes, also where there are two?"""
    pos_label: Any

    def __call__(self, y_true: Any, y_pred: tuple[Array, Array], sample_weight: Any = None) -> float:
        """The value with its sign turned."""
        probs, classes = y_pred
        labels, mass = np.asarray(y_true), {} if sample_weight is None else as_mass(np.asarray(sample_weight))
        if not self.all_columns and (self.pos_label is not None or len(classes) == 2):
            probs, classes = self._of_event(probs, classes)
        value = float(self.function(Predictions(labels, probs, classes=classes, **mass), **self.options))
        return -abs(value) if self.best_at_zero else -value

    def _of_event(self, probs: Array, classes: Array) -> tuple[Array, Array]:
        """The column of the positive class, and the pair (negative, positive)."""
        known = classes.tolist()
        positive = known[1] if self.pos_label is None else self.pos_label
        if len(known) != 2:
            found, advice = f"there are {len(known)}", f"Pass view='class {positive}' instead"
            raise InputError("pos_label", "is for models of two classes", found, advice)
        if positive not in known:
            raise InputError("pos_label", f"must be one of {', '.join(map(repr, known))}", f"it is {positive!r}")
        column = known.index(positive)
        return probs[:, column], classes[[1 - column, column]]


class CalibrationScorer(_BaseScorer):  # type: ignore[misc]
    """A scorer: called with a fitted classifier, features and labels; larger is better.

    `set_score_request(sample_weight=True)` has scikit-learn pass sample weights on to it.
    """

    def __init__(self, measure: Measure, name: str) -> None:
        super().__init__(measure, 1, {}, "predict_proba")
        self.name = name

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **given: Any) -> float:  # noqa: ARG002
        # Not by method_caller: what it keeps for several scorers is one column of two, of any scorer's positive class.
        if not hasattr(estimator, "predict_proba"):
            name = type(estimator).__name__
            raise InputError("estimator", "must have predict_proba", f"it is a {name}", "Wrap it in CalibratedModel")
        probs = np.asarray(estimator.predict_proba(X))
        return float(self._score_func(y_true, (probs, np.asarray(estimator.classes_)), **given))

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"


def scorer(measure: Any, *, pos_label: Any = None, **options: Any) -> CalibrationScorer:
    """A calibration error or proper score as a scorer, for `cross_val_score`, `GridSearchCV` and the like.

    Scorers are maximized, so that errors and scores come with their sign turned; the mean
    gap, which is best at 0, as minus its size. Classes are those of the fitted model, in
    its order, so labels may be names and a fold may lack some of them.

    Parameters
    ----------
    measure
        The name of an estimator or of a proper score, such as `"ece"`, `"smECE"` or
        `"brier"`; or a function of predictions that returns a number, lower for better
        models.
    pos_label
        Of a model of two classes: the class that the probabilities are of; by default the
        second one, as scikit-learn has it. Class-wise errors are of both.
    **options
        Options of the estimator, such as `bins` or `view`.

    Examples
    --------
    >>> from calibrant.adapt.sklearn import scorer
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool((cross_val_score(GaussianNB(), X, y, scoring=scorer("smECE")) < 0).all())
    True
    """
    known = _known(measure)
    if known is None and (not callable(measure) or isclass(measure)):
        raise InputError(
            "measure", f"must be a function or among {', '.join(map(repr, _names()))}", f"it is {measure!r}"
        )
    if known is None:
        function, name = measure, getattr(measure, "__name__", repr(measure))
    else:
        function, name = check_score(known.name).score if known.kind == "score" else known.function, known.name
    taken = [
        option for option in signature(function).parameters if option not in ("labels", "probs", "counts", "weights")
    ]
    for option in options:
        if option not in taken and known is not None:
            raise InputError(option, f"is no option of {name!r}", advice=f"It takes {', '.join(taken)}")
    if pos_label is not None and "view" in options:
        raise InputError("pos_label", "and view both say which class", advice="Pass one of them")
    best_at_zero = known is not None and known.better == "nearer 0"
    all_columns = "view" in options or (known is not None and known.views == ("classwise",))
    return CalibrationScorer(Measure(function, options, best_at_zero, all_columns, pos_label), name)


def scorers(*measures: str, pos_label: Any = None) -> dict[str, CalibrationScorer]:
    """Several scorers by name, for `cross_validate` and for searches by several metrics.

    Parameters
    ----------
    *measures
        Names as in `scorer`; by default every registered estimator and proper score.
    pos_label
        As in `scorer`.

    Returns
    -------
    dict
        `neg_` before each name, as scikit-learn calls what is better when lower.

    Examples
    --------
    >>> from calibrant.adapt.sklearn import scorers
    >>> scorers("ece", "brier")
    {'neg_ece': scorer('ece'), 'neg_brier': scorer('brier')}
    """
    return {f"neg_{name}": scorer(name, pos_label=pos_label) for name in measures or _names()}


def _names() -> list[str]:
    return [*methods("estimator"), *methods("score")]


def _known(measure: Any) -> Method | None:
    """What the register says of a measure."""
    if isinstance(measure, str):
        return find("estimator", measure) or find("score", measure)
    return method_of(measure)


def as_mass(sample_weight: Any) -> dict[str, Any]:
    """Sample weights as calibrant reads them: whole numbers count rows, as scikit-learn wants it; others are relative."""
    if sample_weight is None:
        return {}
    whole = bool((sample_weight == np.floor(sample_weight)).all())
    return {"counts" if whole else "weights": sample_weight}
