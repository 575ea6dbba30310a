"""Matrix scaling by maximum likelihood."""

from __future__ import annotations

from dataclasses import replace

from calibrant.maps.calibration_map import Recipe, map_recipe
from calibrant.maps.linear import LinearMap, MatrixScaling
from calibrant.predictions import Predictions


@map_recipe("unpenalised_matrix")
class UnpenalisedMatrix(Recipe[LinearMap]):
    """softmax(Wz + b) without any penalty: matrix scaling as Guo et al. and Nixon et al. fit it.

    With K² + K parameters it follows the noise of the rows unless there are very many;
    `MatrixScaling` has a penalty.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.maps.UnpenalisedMatrix().fit(valid)
    >>> fitted.fit.loss < cal.maps.MatrixScaling(strength=0.01, intercept=0.01).fit(valid).fit.loss
    True
    """

    def fit_predictions(self, predictions: Predictions) -> LinearMap:
        """The lowest log loss."""
        return replace(MatrixScaling(penalty=None).fit_predictions(predictions), recipe="unpenalised_matrix")
