"""Numbers of bins that the data choose: many bins and few predictions."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.estimate.chosen import MANY_BINS, _collected


@pytest.mark.parametrize("rule", [cal.EqualMass, cal.EqualWidth])
def test_only_the_bins_with_rows_are_kept_of_many(rule: type) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        probs = np.unique(rng.choice([0.0, 1.0, 0.25, *rng.random(20), *(np.arange(5) / (MANY_BINS + 1))], 12))
        labels, weights = rng.random(len(probs)) < 0.5, rng.integers(1, 10**4, len(probs)) / rng.choice([1, 3])
        mass = {"weights": weights} if seed % 3 == 0 else {"counts": np.ceil(weights)}
        event = cal.Predictions(labels, probs, **mass).event("binary")
        bins = rule(int(rng.integers(MANY_BINS + 1, 3 * MANY_BINS)))
        few, every = _collected(bins, event), bins.collect_sorted(event)
        filled = every.weight[0] > 0
        assert few.sums.shape[1] == filled.sum() <= len(probs)
        for name in ("sums", "low", "high", "spread"):
            assert np.array_equal(getattr(few, name), getattr(every, name)[:, filled]), name


def test_a_sweep_over_one_prediction_needs_no_more_bins_than_predictions() -> None:
    found = cal.sweep_error([0, 1], [0.3, 0.3], counts=[28_000_000, 12_000_000])
    assert found.settings["n_bins"] == 1 << 24
    assert found.cautions[0] == "tied predictions leave 1 of 16777216 bins"
    assert found.parts["bins"].weight.tolist() == [40_000_000]
    assert found.value == pytest.approx(0, abs=1e-12)
