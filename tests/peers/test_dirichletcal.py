"""dirichletcal: our Dirichlet maps reach an objective as low as its own, by its own definition of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibrant as cal

full = pytest.importorskip("dirichletcal.calib.fulldirichlet", reason="dirichletcal is not installed")


def objective(labels, probs, weight, bias, strength, intercept):
    """Mean log loss + λ Σ off-diagonal² + μ Σ b², or λ Σ all² without μ."""
    z = np.log(probs) @ weight.T + bias
    z -= z.max(axis=1, keepdims=True)
    loss = (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(z)), labels]).mean()
    if intercept is None:
        return loss + strength * ((weight**2).sum() + (bias**2).sum())
    off = weight[~np.eye(len(bias), dtype=bool)]
    return loss + strength * (off**2).sum() + intercept * (bias**2).sum()


@pytest.mark.parametrize(("strength", "intercept"), [(1e-3, 1e-3), (1e-1, 1e-4), (1e-2, None)])
def test_the_objective_is_as_low_or_lower(rng, strength, intercept):
    z = rng.normal(size=(300, 4)) * 2
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (z * 0.5 + rng.gumbel(size=z.shape)).argmax(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = full.FullDirichletCalibrator(reg_lambda=strength, reg_mu=intercept).fit(probs, labels)
    penalty = "l2" if intercept is None else "odir"
    ours = cal.Dirichlet(penalty=penalty, strength=strength, intercept=intercept or 0.0, prior=None).fit(labels, probs)
    lowest = objective(labels, probs, ours.weight, ours.bias, strength, intercept)
    found = objective(labels, probs, np.asarray(theirs.coef_), np.asarray(theirs.intercept_), strength, intercept)
    assert lowest <= found + 1e-9
