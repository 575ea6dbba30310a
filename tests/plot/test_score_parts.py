from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from results.every_answer import ANSWERS

pytest.importorskip("matplotlib.pyplot")


def test_steps_add_up_to_the_score(ax):
    found = cal.decompose([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], view="binary")
    found.plot(ax)
    bars = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches]
    expected = [(0, 0.25), (0.125, 0.25), (0.125, 0.2), (0, 0.2)]
    np.testing.assert_allclose(bars, expected, atol=1e-12)
    assert [text.get_text() for text in ax.texts] == ["0.250", "-0.125", "0.075", "0.200"]
    assert "by isotonic on the same rows" in ax.get_title(loc="left")


def test_a_negative_part_stays_in_view(ax):
    found = cal.decompose([0, 1, 0, 1] * 5, [0.5, 0.5, 0.5, 0.5] * 5, view="binary", cross_fitted=True, n_folds=2)
    found.plot(ax)
    low, high = ax.get_ylim()
    assert all(low <= bar.get_y() + min(bar.get_height(), 0) for bar in ax.patches)
    assert all(bar.get_y() + max(bar.get_height(), 0) <= high for bar in ax.patches)


def test_a_comparison_draws_its_difference_and_its_parts(ax):
    found = ANSWERS["comparison"]
    found.plot(ax)
    points = [c.get_offsets()[0] for c in ax.collections if not hasattr(c, "get_segments")]
    assert points[0][0] == found.difference.value
    assert found.verdict in ax.get_title(loc="left")
    rng = np.random.default_rng(0)
    p = rng.random(300)
    rows = cal.Predictions(rng.random(300) < p, p)
    split = cal.compare(rows, cal.Isotonic().fit(rows), margin=0.1)
    ax.clear()
    split.plot(ax)
    assert [text.get_text().split("  ")[0] for text in ax.texts] == [
        "after − before", "of it calibration", "of it refinement",
    ]  # fmt: skip
    assert "margin 0.100" in ax.get_title(loc="left").replace("\n", " ")
