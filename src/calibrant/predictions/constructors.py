"""Other ways to make what was predicted: several labels at once, forecasts of a real number, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.forecasts import GaussianForecasts, QuantileForecasts, SampleForecasts
    from calibrant.predictions.multilabel import MultilabelPredictions
    from calibrant.predictions.predictions import Predictions


class Constructors:
    """What `Predictions` make by other modules, which stand on them and are imported when called."""

    __slots__ = ()

    @classmethod
    def from_gaussian(
        cls, labels: Any, mean: Any, variance: Any, *, counts: Any = None, weights: Any = None, groups: Any = None
    ) -> GaussianForecasts:
        """Forecasts of a real number as Gaussian distributions.

        Parameters
        ----------
        labels
            The observed numbers.
        mean, variance
            One mean and one variance per row.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        groups
            A cluster for each row, such as a patient or a document.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions.from_gaussian([1.2, 0.3], mean=[1.0, 0.0], variance=[0.5, 0.5])
        GaussianForecasts(2 rows)
        """
        from calibrant.forecasts import GaussianForecasts

        return GaussianForecasts(labels, mean, variance, counts=counts, weights=weights, groups=groups)

    @classmethod
    def from_quantiles(
        cls, labels: Any, levels: Any, values: Any, *, counts: Any = None, weights: Any = None, groups: Any = None
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
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        groups
            A cluster for each row, such as a patient or a document.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions.from_quantiles([1.2, 0.3], [0.1, 0.5, 0.9], [[0, 1, 2], [-1, 0, 1]])
        QuantileForecasts(2 rows, 3 levels)
        """
        from calibrant.forecasts import QuantileForecasts

        return QuantileForecasts(labels, levels, values, counts=counts, weights=weights, groups=groups)

    @classmethod
    def from_samples(
        cls, labels: Any, samples: Any, *, counts: Any = None, weights: Any = None, groups: Any = None
    ) -> SampleForecasts:
        """Forecasts of a real number as samples of its distribution, or an ensemble's members.

        Parameters
        ----------
        labels
            The observed numbers.
        samples
            One row of samples per label, `(n, m)`.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        groups
            A cluster for each row, such as a patient or a document.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.Predictions.from_samples([1.2, 0.3], [[0.0, 1.0, 2.0, 0.5], [-1.0, 0.0, 1.0, 0.2]])
        SampleForecasts(2 rows, 4 samples)
        """
        from calibrant.forecasts import SampleForecasts

        return SampleForecasts(labels, samples, counts=counts, weights=weights, groups=groups)

    @classmethod
    def from_multilabel(
        cls,
        labels: Any,
        probs: Any,
        *,
        classes: Any = None,
        counts: Any = None,
        weights: Any = None,
        groups: Any = None,
    ) -> MultilabelPredictions:
        """Predictions of several labels, any number of which may be true in a row.

        Each column is an event of its own, and rows need not sum to 1. Errors are
        class-wise, maps are fitted label by label, and `view="class NAME"` asks about one
        label. What needs a distribution over classes is refused.

        Parameters
        ----------
        labels
            `(n, K)`, 1 where a label is true and 0 where not; or a table of such columns.
        probs
            `(n, K)`, the probability of each label. Columns of two tables are matched by
            name; `prob_NAME` in `probs` is `NAME` in `labels`.
        classes
            The names of the labels in the order of the columns; by default those of a
            table's columns, else 0 … K−1.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        groups
            A cluster for each row, such as a patient or a document.

        Examples
        --------
        >>> import calibrant as cal
        >>> tagged = cal.Predictions.from_multilabel(
        ...     [[1, 1], [0, 1], [0, 0]], [[0.9, 0.6], [0.2, 0.7], [0.1, 0.4]], classes=["sea", "sky"]
        ... )
        >>> tagged
        MultilabelPredictions(3 rows, 2 labels, float64)
        >>> round(cal.static_error(tagged).value, 3)
        0.25
        """
        from calibrant.predictions.multilabel import MultilabelPredictions

        return MultilabelPredictions(labels, probs, classes=classes, counts=counts, weights=weights, groups=groups)

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
        from calibrant.files import read

        return read(path, **columns)
