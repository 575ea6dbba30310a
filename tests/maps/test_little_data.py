"""Maps of a single event fitted on next to nothing: a few rows, one class, equal scores, exact zeros and ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import strategies as some

RECIPES = {
    "bayesian binning": cal.maps.BayesianBinning(),
    "histogram": cal.Histogram(),
    "isotonic": cal.Isotonic(),
    "kernel density": cal.maps.KernelDensity(),
    "scaling-binning": cal.maps.ScalingBinning(),
    "natural spline": cal.maps.Spline(),
    "parabolic spline": cal.maps.Spline("parabolic"),
    "cubic spline": cal.maps.Spline("cubic"),
    "unit slope": cal.maps.UnitSlopeBins(),
    "Venn–Abers": cal.VennAbers(),
}
each = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
AT = np.array([0, 5e-324, 1e-9, 0.25, 0.5, 0.75, 1 - 1e-9, 1])


@each
@given(said=some.events(most=8))
def test_no_outcome_is_called_impossible(recipe, said):
    fitted = recipe.fit(said.labels, said.probs, counts=said.weights)
    for at in (AT, AT.astype(np.float32), said.probs):
        mended = fitted.apply(at)
        assert mended.dtype == at.dtype
        assert ((mended > 0) & (mended < 1)).all()


@each
@pytest.mark.parametrize("happened", [0, 1])
def test_one_class_is_told_and_believed_in_part(recipe, happened):
    fitted = recipe.fit([happened] * 40, np.linspace(0.3, 0.7, 40))
    mended = fitted.apply(np.linspace(0.3, 0.7, 40))
    assert (np.abs(mended - happened) < 0.4).all()
    if not isinstance(recipe, cal.Histogram | cal.Isotonic):
        word = "always" if happened else "never"
        assert f"the event {word} occurred: the map says little else" in fitted.fit.cautions


@each
def test_equal_scores_all_get_about_their_rate(recipe):
    fitted = recipe.fit([0, 1, 1, 1] * 25, [0.4] * 100)
    assert fitted.apply([0.4])[0] == pytest.approx(0.75, abs=0.01)


@each
def test_one_row(recipe):
    for happened, said in ((0, 0.0), (1, 0.0), (0, 1.0), (1, 1.0), (1, 0.3)):
        mended = recipe.fit([happened], [said]).apply(AT)
        assert ((mended > 0) & (mended < 1)).all()


@each
def test_rows_without_weight_do_not_matter(recipe, rng):
    probs = rng.random(50)
    labels = (rng.random(50) < probs).astype(int)
    weights = np.arange(50) % 3
    kept = weights > 0
    with_them = recipe.fit(labels, probs, counts=weights)
    without = recipe.fit(labels[kept], probs[kept], counts=weights[kept])
    np.testing.assert_allclose(with_them.apply(AT), without.apply(AT), atol=1e-12)


@each
def test_a_share_is_a_row_of_either_outcome_in_proportion(recipe, rng):
    if isinstance(recipe, cal.maps.Spline):
        recipe = replace(recipe, n_knots=5)  # folds of rows split in two are other folds
    probs, hits = rng.random(60), rng.integers(0, 5, 60)
    soft = recipe.fit(cal.Predictions(hits / 4, probs, counts=np.full(60, 4), soft=True))
    both = recipe.fit([1] * 60 + [0] * 60, np.tile(probs, 2), counts=np.concatenate([hits, 4 - hits]))
    at = np.linspace(0, 1, 37)
    np.testing.assert_allclose(soft.apply(at), both.apply(at), atol=1e-9)
