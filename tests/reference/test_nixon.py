"""Nixon et al., Measuring Calibration in Deep Learning (2019), Figure 5."""

from __future__ import annotations

import pytest

import calibrant as cal
from tolerances import ROUNDING

LABELS = [0] * 450 + [1] * 550
CONFIDENCES = [0.52] * 450 + [0.58] * 550


def test_errors_of_opposite_sign_cancel_within_a_bin():
    # one bin: mean confidence 0.45·0.52 + 0.55·0.58 = 0.553, accuracy 0.55
    assert cal.ece(LABELS, CONFIDENCES, bins=10).value == pytest.approx(0.003, abs=ROUNDING)


def test_bins_that_part_them_show_the_error():
    # 0.45·|0.52 − 0| + 0.55·|0.58 − 1|
    found = cal.binned_error(LABELS, CONFIDENCES, bins=cal.EqualMass(10))
    assert found.value == pytest.approx(0.45 * 0.52 + 0.55 * 0.42, abs=ROUNDING)


def test_the_label_binned_error_hides_less():
    # every row against the rate 0.55 of the one bin: 0.45·0.03 + 0.55·0.03
    found = cal.label_binned_error(LABELS, CONFIDENCES, bins=cal.EqualWidth(10))
    assert found.value == pytest.approx(0.03, abs=ROUNDING)


def test_as_the_confidences_of_a_two_class_model():
    probs = [[1 - c, c] for c in CONFIDENCES]
    assert cal.ece(LABELS, probs, bins=10, view="top").value == pytest.approx(0.003, abs=ROUNDING)
