from __future__ import annotations

import numpy as np

import calibrant as cal
from calibrant.interval import wilson
from calibrant.verbs.curves import binned_curve, estimated_curves


def test_bins_get_wilsons_interval():
    bins = cal.binned_error([0, 1, 1, 0], [0.1, 0.3, 0.9, 0.8], bins=2).parts["bins"]
    curve = binned_curve(bins)
    np.testing.assert_array_equal(curve.x, bins.mean_prob)
    np.testing.assert_array_equal(np.array([curve.low, curve.high]), wilson(bins.label_rate, bins.rows, 0.95))
    assert curve.support.sum() == 1


def test_a_diagnosis_has_its_own_bins_first_and_the_curves_of_its_estimates():
    p = np.linspace(0.01, 0.99, 300)
    found = cal.diagnose(np.arange(300) % 3 == 0, p)
    curves = estimated_curves(found)
    assert list(curves)[:2] == ["15 equal-mass bins", "curve, posterior median"]
    assert "15 equal-width bins" in curves
    assert any(name.endswith("equal-mass bins") and name != "15 equal-mass bins" for name in curves)  # the sweep's
    assert curves["15 equal-mass bins"] is found.curve
