"""Predictions of a real, over-confident classifier for examples."""

from __future__ import annotations

import numpy as np

from calibrant.predictions import Predictions


def example() -> tuple[Predictions, Predictions]:
    """Predictions of a neural network for handwritten digits it was not trained on: (validation, test).

    The data are scikit-learn's digits; `tools/make_example.py` computes the predictions.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> test
    Predictions(899 rows, 10 classes, float32, logits)
    """
    from importlib.resources import files

    with files("calibrant.data").joinpath("digits.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        labels, logits, valid = stored["labels"], stored["logits"], stored["valid"]
    predictions = Predictions.from_logits(labels, logits)
    return predictions.rows(valid), predictions.rows(~valid)
