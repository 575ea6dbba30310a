"""calibrant in scikit-learn: a classifier that recalibrates another one, a map as a transformer, and scorers."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np

from calibrant.adapt.display import CalibrationDisplay
from calibrant.adapt.scorers import as_mass, scorer, scorers
from calibrant.inputs import check_choice, check_groups
from calibrant.kernels.logits import two_columns
from calibrant.maps import CalibrationMap
from calibrant.predictions import Predictions
from calibrant.problems import InputError, MissingExtra
from calibrant.types import Array
from calibrant.verbs.recalibrate import recalibrate

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        MetaEstimatorMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, check_cv
    from sklearn.utils import _safe_indexing, indexable
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, has_fit_parameter
except ImportError as error:
    raise MissingExtra("scikit-learn", "sklearn", "calibrant.adapt.sklearn") from error

__all__ = ["CalibratedModel", "CalibrationDisplay", "MapTransformer", "scorer", "scorers"]

RESPONSES = ("auto", "predict_proba", "decision_function")


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are recalibrated by a map.

    Parameters
    ----------
    estimator
        Any classifier; a logistic regression if none is given.
    method
        The map: a name that `calibrant.recalibrate` knows, or a recipe such as `Beta(variant="ab")`.
    cv
        Number of folds, or a splitter, or splits. The estimator predicts every row without
        having seen it; one map is fitted on all these predictions, and the estimator once
        more on all rows.
    prefit
        The estimator is fitted already, and all rows are used to fit the map; the same holds
        for a `FrozenEstimator`.
    ensemble
        Keep the estimator of each fold, with its own map, and average their probabilities.
    response
        What the map takes: probabilities where the estimator has them (`"auto"`), or
        `"predict_proba"` or `"decision_function"`, whose numbers are taken as logits.
    n_jobs
        Number of folds fitted in parallel.

    Attributes
    ----------
    map_, estimator_
        The map, and the estimator it recalibrates.
    maps_, estimators_
        One per fold, with `ensemble=True`.
    classes_
        The classes in the order of the columns.

    Examples
    --------
    >>> from calibrant.adapt.sklearn import CalibratedModel
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CalibratedModel(GaussianNB(), "temperature").fit(X, y)
    >>> model.map_.temperature > 1  # naive Bayes is too sure of itself
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        estimator: Any = None,
        method: Any = "temperature",
        *,
        cv: Any = 5,
        prefit: bool = False,
        ensemble: bool = False,
        response: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator, self.method, self.cv, self.prefit = estimator, method, cv, prefit
        self.ensemble, self.response, self.n_jobs = ensemble, response, n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the estimator and the map.

        Parameters
        ----------
        X
            Features, one row per label.
        y
            Classes.
        sample_weight
            Weights, for the estimator and the map.
        groups
            A group per row, such as a patient: no group is in two folds, neither of `cv` nor
            of a map that is chosen by cross-validation.
        """
        check_choice("response", self.response, RESPONSES)
        for name in ("prefit", "ensemble"):
            if not isinstance(value := getattr(self, name), bool | np.bool_):
                raise InputError(name, "must be True or False", f"it is {value!r:.60}")
        labels = checked_labels(self, y)
        rows, labels = indexable(X, labels)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows)
        clusters = None if groups is None else check_groups(groups, len(labels))
        for name in ("estimators_", "maps_", "estimator_", "map_"):
            self.__dict__.pop(name, None)
        if self._is_fitted_already():
            self._fit_map(rows, labels, weights, clusters)
        else:
            self._fit_both(rows, labels, weights, clusters)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Recalibrated probabilities, one column per class.

        Parameters
        ----------
        X
            Features.
        """
        check_is_fitted(self, "classes_")
        alone = hasattr(self, "map_")
        pairs = [(self.estimator_, self.map_)] if alone else zip(self.estimators_, self.maps_, strict=True)
        found = [_recalibrated(m, *_outputs(e, X, self.response)) for e, m in pairs]
        return found[0] if len(found) == 1 else np.mean(found, axis=0)

    def predict(self, X: Any) -> Array:
        """The class of highest recalibrated probability.

        Parameters
        ----------
        X
            Features.
        """
        check_is_fitted(self, "classes_")
        found: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found

    @property
    def n_features_in_(self) -> int:
        """Columns of X, as the estimator counted them."""
        return int(self._one_estimator().n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns, where X had names."""
        return np.asarray(self._one_estimator().feature_names_in_)

    def _one_estimator(self) -> Any:
        if not hasattr(self, "classes_"):
            raise AttributeError("the model is not fitted yet")
        return self.estimator_ if hasattr(self, "estimator_") else self.estimators_[0]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._template()).input_tags.sparse
        return tags

    def _template(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _is_fitted_already(self) -> bool:
        fitted = self.prefit or _is_frozen(self.estimator)
        if fitted and self.ensemble:
            raise InputError("ensemble", "needs an estimator that can be fitted to each fold", "this one is fitted")
        return fitted

    def _fit_map(self, X: Any, labels: Array, weights: Any, groups: Any) -> None:
        if self.estimator is None:
            raise InputError("estimator", "is required if prefit=True", "it is None")
        check_is_fitted(self.estimator)
        outputs, are_logits = _outputs(self.estimator, X, self.response)
        self.classes_ = np.asarray(self.estimator.classes_)
        self.map_ = _fitted_map(self.method, labels, outputs, are_logits, self.classes_, weights, groups)
        self.estimator_ = self.estimator

    def _fit_both(self, X: Any, labels: Array, weights: Any, groups: Any) -> None:
        classes, splits = self._splits(X, labels, groups)
        if weights is not None and not has_fit_parameter(self._template(), "sample_weight"):
            name = type(self._template()).__name__
            warnings.warn(f"{name} takes no sample_weight: only the map is weighted", stacklevel=3)
        job = delayed(self._fold)
        parts = Parallel(n_jobs=self.n_jobs)(job(X, labels, weights, classes, *split) for split in splits)
        estimators, outputs, are_logits = zip(*parts, strict=True)

        def fitted(found: Array, rows: Any) -> CalibrationMap:
            mass, clusters = (None if each is None else each[rows] for each in (weights, groups))
            return _fitted_map(self.method, labels[rows], found, are_logits[0], classes, mass, clusters)

        held_out = [test for _, test in splits]
        if self.ensemble:
            self.estimators_ = list(estimators)
            self.maps_ = [fitted(found, rows) for found, rows in zip(outputs, held_out, strict=True)]
        else:
            self.map_ = fitted(np.concatenate(outputs), np.concatenate(held_out))
            self.estimator_ = self._fitted(X, labels, weights)
        self.classes_ = classes

    def _splits(self, X: Any, labels: Array, groups: Any) -> tuple[Array, list[tuple[Any, Any]]]:
        """The classes, and rows to fit and to predict for each fold."""
        if getattr(X, "shape", (1, 1))[1:] == (0,):
            found = f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required"
            raise InputError("X", "must have columns", found)
        classes = np.unique(labels)
        if len(classes) < 2:
            found = f"it holds {len(classes)} class in {len(labels)} rows"
            raise InputError("y", "must hold at least two classes", found)
        cv = check_cv(self.cv, labels, classifier=True)
        if groups is not None and (self.cv is None or isinstance(self.cv, Integral)):
            folds, known = cv.get_n_splits(), len(np.unique(groups))
            if known < folds:
                raise InputError("groups", f"must be at least {folds}, one for each fold", f"there are {known}")
            cv = StratifiedGroupKFold(folds)
        return classes, list(cv.split(X, labels, groups))

    def _fold(
        self, X: Any, labels: Array, weights: Any, classes: Array, train: Any, test: Any
    ) -> tuple[Any, Array, bool]:
        """The estimator of a fold, and its outputs for the held-out rows."""
        mass = None if weights is None else weights[train]
        fitted = self._fitted(_safe_indexing(X, train), labels[train], mass)
        if not np.array_equal(fitted.classes_, classes):
            raise InputError("cv", "must leave every class in every part that the estimator is fitted on")
        return fitted, *_outputs(fitted, _safe_indexing(X, test), self.response)

    def _fitted(self, X: Any, labels: Array, weights: Any) -> Any:
        fresh = clone(self._template())
        weighted = weights is not None and has_fit_parameter(fresh, "sample_weight")
        return fresh.fit(X, labels, sample_weight=weights) if weighted else fresh.fit(X, labels)


class MapTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A map as a transformer from probabilities to recalibrated probabilities.

    Parameters
    ----------
    method
        A name that `calibrant.recalibrate` knows, or a recipe.
    input
        What X holds: `"probs"` or `"logits"`. One column is a single event; several are one
        per class.
    classes
        The classes in the order of the columns: needed if not all of them are in y and they
        are not 0 … K−1.

    Examples
    --------
    >>> from calibrant.adapt.sklearn import MapTransformer
    >>> recalibrator = MapTransformer("platt").fit([[0.1], [0.9], [0.6], [0.7]], [0, 1, 1, 0])
    >>> recalibrator.transform([[0.99]]).shape
    (1, 1)
    """

    def __init__(self, method: Any = "temperature", *, input: str = "probs", classes: Any = None) -> None:  # noqa: A002
        self.method, self.input, self.classes = method, input, classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X
            Probabilities or logits.
        y
            Classes.
        sample_weight
            Weights of the rows.
        """
        check_choice("input", self.input, ("probs", "logits"))
        labels = checked_labels(self, y)
        values = _admitted(self, X, reset=True)
        indexable(values, labels)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, values)
        classes = self._column_classes(labels, values.shape[1])
        values = values[:, 0] if values.shape[1] == 1 else values
        self.map_ = _fitted_map(self.method, labels, values, self.input == "logits", classes, weights)
        self.classes_ = np.asarray(self.map_.classes)
        return self

    def transform(self, X: Any) -> Array:
        """Recalibrated probabilities, in as many columns as X has.

        Parameters
        ----------
        X
            Probabilities or logits.
        """
        check_is_fitted(self, "map_")
        found = self.map_.apply(**{self.input: _admitted(self, X, reset=False)})
        return found[:, None] if found.ndim == 1 else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.positive_only = self.input == "probs"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _column_classes(self, labels: Array, n_columns: int) -> Any:
        """As declared; else those of y if each has its column, else nothing: 0 … K−1."""
        if self.classes is not None:
            return self.classes
        seen = np.unique(labels)
        return seen if len(seen) == max(2, n_columns) else None


def checked_labels(estimator: Any, y: Any) -> Array:
    """One class per row."""
    if y is None:
        name = type(estimator).__name__
        raise InputError("y", f"is needed: {name} requires y to be passed, but the target y is None")
    labels: Array = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    return labels


def _is_frozen(estimator: Any) -> bool:
    try:
        from sklearn.frozen import FrozenEstimator
    except ImportError:  # before scikit-learn 1.6
        return False
    return isinstance(estimator, FrozenEstimator)


def _outputs(estimator: Any, X: Any, response: str) -> tuple[Array, bool]:
    """What the estimator predicts, one column for two classes; and whether these are logits."""
    if response == "auto":
        response = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
    if not hasattr(estimator, response):
        raise InputError("estimator", f"must have {response}", f"it is a {type(estimator).__name__}")
    found = np.asarray(getattr(estimator, response)(X))
    n_classes = len(estimator.classes_)
    if response == "predict_proba":
        return (found[:, 1] if n_classes == 2 else found), False
    found = found[:, 0] if found.shape[1:] == (1,) else found
    if found.shape[1:] != (() if n_classes == 2 else (n_classes,)):
        wanted = f"must have a decision_function of one column per class, {n_classes} in all"
        raise InputError("estimator", wanted, f"its shape is {found.shape}")
    return found, True


def _fitted_map(
    method: Any, labels: Array, outputs: Array, are_logits: bool, classes: Any, weights: Any, groups: Any = None
) -> CalibrationMap:
    make = Predictions.from_logits if are_logits else Predictions
    return recalibrate(make(labels, outputs, classes=classes, groups=groups, **as_mass(weights)), method)


def _recalibrated(fitted: CalibrationMap, outputs: Array, are_logits: bool) -> Array:
    found = fitted.apply(**{"logits" if are_logits else "probs": outputs})
    return two_columns(found) if found.ndim == 1 else found


def _admitted(estimator: Any, X: Any, reset: bool) -> Array:
    """X as floats, its columns counted and named as scikit-learn does."""
    floats = {"dtype": [np.float64, np.float32]}
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before scikit-learn 1.6
        return estimator._validate_data(X, reset=reset, **floats)
    return validate_data(estimator, X, reset=reset, **floats)
