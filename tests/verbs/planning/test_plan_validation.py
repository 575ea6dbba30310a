"""Rows for an external validation: the published figures, and what simulated validations show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.kernels.logits import sigmoid
from calibrant.simulate import BetaWorld
from calibrant.verbs.planning.validation import ValidationPlan, concordance, newcombe, plan_validation
from tolerances import STANDARD_ERRORS

HEART_VALVES = {"prevalence": 0.018, "c_statistic": 0.8, "oe_width": 1.0}
"""The example of pmvalsampsize 0.1.0 (R), from Riley et al. 2021."""


def sizes(plan):
    return [each.n for each in plan.criteria]


def normals_of_r(seed, count):
    """`set.seed(seed); rnorm(count)` of R: a scrambled seed, Mersenne Twister, inversion of two uniform numbers."""
    from scipy.special import ndtri

    state = []
    for k in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        if k > 50:
            state.append(seed)
    twister = np.random.RandomState()  # R's generator, state and all
    twister.set_state(("MT19937", np.array(state, dtype=np.uint32), 624))
    uniform = np.frombuffer(twister.bytes(8 * count), dtype="<u4").reshape(count, 2) * 2.3283064365386963e-10
    return ndtri((np.floor(2.0**27 * uniform[:, 0]) + uniform[:, 1]) / 2.0**27)


def test_the_draws_are_those_of_r():
    assert normals_of_r(42, 3) == pytest.approx([1.3709584, -0.5646982, 0.3631284], abs=1e-7)


def test_published_sizes_on_the_published_draws():
    """pmvalsampsize(type = "b", prevalence = 0.018, cstatistic = 0.8, lpnormal = c(-5, 2.5), oeciwidth = 1, simobs = 1000): 905, 4501, 4252."""
    risks = sigmoid(-5 + 2.5 * normals_of_r(123456, 1000))
    found = plan_validation(**HEART_VALVES, scores=risks, compat="pmvalsampsize")
    assert sizes(found) == [905, 4501, 4252]
    assert (found.n, found.events) == (4501, 82)


def test_the_same_without_chance():
    found = plan_validation(**HEART_VALVES, log_odds=(-5, 2.5))
    assert sizes(found) == [906, 4554, 4252]
    assert "the mean predicted risk is 0.0523" in found.cautions[0]  # the example's own contradiction


def test_a_beta_distribution_is_near_the_published_draws():
    """simobs = 1000 draws from Beta(0.5, 0.5) gave 1641; by integration 1644."""
    found = plan_validation(**HEART_VALVES, scores=(0.5, 0.5))
    assert sizes(found) == [906, 1644, 4252]
    assert sizes(plan_validation(**HEART_VALVES, scores=BetaWorld(0.5, 0.5))) == [906, 1644, 4252]


def test_an_interval_of_o_over_e_is_as_wide_as_asked():
    n = sizes(plan_validation(0.1, 0.8, oe_width=0.4))[0]

    def width(rows):
        error = math.sqrt((1 - 0.1) / (0.1 * rows))
        return math.exp(1.959964 * error) - math.exp(-1.959964 * error)

    assert width(n) <= 0.4 < width(n - 1)


@pytest.mark.slow
def test_without_a_distribution_prevalence_and_c_statistic_make_one(rng):
    found = plan_validation(0.2, 0.75)
    assert not found.cautions
    sd = math.sqrt(2) * 0.6744897501960817  # c = Φ(sd/√2)
    n = 400_000
    events = rng.random(n) < 0.2
    odds = math.log(0.2 / 0.8) + np.where(events, 1, -1) * sd**2 / 2 + sd * rng.normal(size=n)
    groups = cal.Predictions(events, sigmoid(odds)).event().pooled
    assert concordance(groups) == pytest.approx(0.75, abs=0.005)
    drawn = plan_validation(0.2, 0.75, scores=sigmoid(odds))
    assert sizes(drawn)[1] == pytest.approx(sizes(found)[1], rel=0.02)
    residual = events - sigmoid(odds)  # the log-odds are calibrated
    assert abs(residual.mean()) < STANDARD_ERRORS * residual.std() / math.sqrt(n)


def test_the_slope_varies_as_planned(rng):
    """Logistic regressions on simulated validations of the planned size."""
    found = plan_validation(0.3, 0.8, scores=(2.0, 4.0), slope_width=0.4)
    criterion, runs, slopes = found.criteria[1], 300, []
    for _ in range(runs):
        p = rng.beta(2.0, 4.0, criterion.n)
        x = np.stack([np.ones(criterion.n), np.log(p / (1 - p))])
        y, beta = rng.random(criterion.n) < p, np.array([0.0, 1.0])
        for _ in range(6):
            q = sigmoid(beta @ x)
            beta = beta + np.linalg.solve((x * q * (1 - q)) @ x.T, x @ (y - q))
        slopes.append(beta[1])
    assert np.std(slopes, ddof=1) == pytest.approx(criterion.error, rel=STANDARD_ERRORS / math.sqrt(2 * runs))


def test_the_c_statistic_varies_as_planned(rng):
    """Newcombe's formula is for exponential scores in each group; two normal groups are near."""
    n, phi, c, runs = 500, 0.3, 0.75, 400
    values = []
    for _ in range(runs):
        y = rng.random(n) < phi
        z = rng.normal(size=n) + y * math.sqrt(2) * 0.6744897501960817
        values.append(concordance(cal.Predictions(y, sigmoid(z)).event().pooled))
    assert np.std(values, ddof=1) == pytest.approx(newcombe(c, phi, n), rel=STANDARD_ERRORS / math.sqrt(2 * runs))


def test_net_benefit_varies_as_planned(rng):
    threshold, runs = 0.3, 400
    found = plan_validation(1 / 3, 0.8, scores=(1.0, 2.0), threshold=threshold).criteria[3]
    values = []
    for _ in range(runs):
        p = rng.beta(1.0, 2.0, found.n)
        y = rng.random(found.n) < p
        acted = p >= threshold
        values.append(((acted & y).sum() - threshold / (1 - threshold) * (acted & ~y).sum()) / y.sum())
    spread = np.std(values, ddof=1)
    assert spread == pytest.approx(found.error, rel=STANDARD_ERRORS / math.sqrt(2 * runs))
    assert abs(np.mean(values) - found.value) < STANDARD_ERRORS * spread / math.sqrt(runs)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 9), st.integers(1, 3)), min_size=2, max_size=30))
def test_the_c_statistic_counts_pairs(rows):
    labels, tenths, weights = map(np.array, zip(*rows, strict=True))
    if labels.min() == labels.max():
        return
    won = total = 0.0
    for y, p, w in rows:
        for other, q, v in rows:
            if y > other:
                won += w * v * ((p > q) + (p == q) / 2)
                total += w * v
    groups = cal.Predictions(labels, tenths / 10, counts=weights).event().pooled
    assert concordance(groups) == pytest.approx(won / total, abs=1e-12)


def test_predictions_bring_prevalence_c_statistic_and_risks(rng):
    p = rng.beta(1, 4, 2000)
    rows = cal.Predictions(rng.random(2000) < p, p)
    found = plan_validation(predictions=rows)
    assert found.prevalence == rows.labels.mean()
    assert found.c_statistic == concordance(rows.event().pooled)
    assert sizes(found)[1] == sizes(plan_validation(0.2, 0.8, scores=p))[1]
    assert plan_validation(0.1, predictions=rows).prevalence == 0.1


def test_narrower_takes_more():
    base = plan_validation(0.2, 0.8)
    narrow = plan_validation(0.2, 0.8, oe_width=0.1, slope_width=0.1, c_width=0.05)
    assert all(a > b for a, b in zip(sizes(narrow), sizes(base), strict=True))
    assert all(a > b for a, b in zip(sizes(plan_validation(0.2, 0.8, alpha=0.01)), sizes(base), strict=True))


def test_a_plan_prints_and_travels():
    found = plan_validation(**HEART_VALVES, log_odds=(-5, 2.5), threshold=0.08)
    assert ValidationPlan.from_json(found.to_json()) == found
    assert repr(found).startswith(found.sentence())
    assert "calibration slope" in found.tables()[0].to_text()
    assert "rows with about" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "prevalence must lie between 0 and 1"),
        ({"prevalence": 0.2}, "c_statistic must lie between 0.5 and 1"),
        ({"prevalence": 1.2, "c_statistic": 0.8}, "prevalence must lie"),
        ({"prevalence": 0.2, "c_statistic": 0.4}, "c_statistic must lie"),
        ({"prevalence": 0.2, "c_statistic": 0.8, "log_odds": (0, 1), "scores": (1, 1)}, "only one can be given"),
        ({"prevalence": 0.2, "c_statistic": 0.8, "log_odds": (0, 0)}, "must be positive"),
        ({"prevalence": 0.2, "c_statistic": 0.8, "scores": [0.3, 0.3]}, "equal risks have no slope"),
        ({"prevalence": 0.2, "c_statistic": 0.8, "threshold": 2.0}, "threshold must lie"),
        ({"prevalence": 0.2, "c_statistic": 0.8, "oe_width": 0}, "oe_width must be positive"),
        ({"prevalence": 0.2, "c_statistic": 0.8, "compat": "other"}, "compat must be one of"),
        ({"predictions": cal.Predictions([0, 0], [0.1, 0.2])}, "prevalence must lie"),
    ],
)
def test_what_cannot_be_planned_is_refused(options, message):
    with pytest.raises(cal.InputError, match=message):
        plan_validation(**options)
