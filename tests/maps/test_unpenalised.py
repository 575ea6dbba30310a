from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

import calibrant as cal
from tolerances import OPTIMISER


def test_it_is_the_maximum_of_the_likelihood(rng):
    logits = rng.normal(size=(300, 3))
    labels = (logits @ rng.normal(size=(3, 3)) + rng.gumbel(size=(300, 3))).argmax(axis=1)
    fitted = cal.maps.UnpenalisedMatrix().fit(labels, logits=logits)

    def loss(theta):
        scores = log_softmax(logits @ theta[:9].reshape(3, 3).T + theta[9:], axis=1)
        return -scores[np.arange(300), labels].mean()

    best = minimize(loss, np.append(np.eye(3).ravel(), np.zeros(3)), method="BFGS", options={"gtol": 1e-8})
    assert fitted.fit.loss == pytest.approx(best.fun, abs=OPTIMISER)
    assert fitted.method == "unpenalised_matrix"
    assert fitted.penalty is None
    assert cal.recalibrate(cal.Predictions.from_logits(labels, logits), "unpenalised_matrix") == fitted
