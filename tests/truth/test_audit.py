"""What is claimed of audits, on data whose truth is known. Seeds are fixed; standard errors computed here.

Three features with 5, 5 and 4 values make 180 overlapping segments. `studies/audit.py` does the same at full length.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.verbs.auditing.audit import audit
from tolerances import ROUNDING, STANDARD_ERRORS

pytestmark = pytest.mark.slow

ROWS, DRAWS, ALARMS = 2000, 99, 0.05
PREDICTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "confident": lambda rng, n: rng.beta(2.77, 0.04, n),
    "tied": lambda rng, n: rng.integers(0, 11, n) / 10,
}


def features(rng, n=ROWS):
    return {name: rng.integers(0, k, n).astype(str) for name, k in zip("abc", (5, 5, 4), strict=True)}


def at_most(hits, promised):
    error = (promised * (1 - promised) / len(hits)) ** 0.5
    return np.mean(hits) <= promised + STANDARD_ERRORS * error


@pytest.mark.parametrize(
    ("kind", "statistic"), [*((kind, "both") for kind in PREDICTIONS), ("uniform", "gap"), ("confident", "range")]
)
def test_a_calibrated_model_is_rarely_called_wrong_anywhere(rng, kind, statistic):
    alarms, alone = [], []
    for run in range(80):
        p = PREDICTIONS[kind](rng, ROWS)
        said = cal.Predictions(rng.random(ROWS) < p, p)
        found = audit(said, features(rng), statistic=statistic, min_size=1, n_draws=DRAWS, seed=run)
        alarms.append(bool(found.found))
        alone.append(any(s.p_value <= ALARMS for s in found.segments))
    assert at_most(alarms, ALARMS), np.mean(alarms)
    assert np.mean(alarms) > 0.01  # and not because nothing is ever found
    assert np.mean(alone) > 0.8  # looking at each segment alone is useless


@pytest.mark.parametrize("statistic", ["gap", "both"])
def test_where_one_cell_is_wrong_the_others_are_not_blamed(rng, statistic):
    named, blamed = [], []
    for run in range(60):
        p, columns = rng.random(ROWS), features(rng)
        bad = (columns["a"] == "0") & (columns["b"] == "0")
        y = rng.random(ROWS) < np.where(bad, p**3, p)
        found = audit(cal.Predictions(y, p), columns, statistic=statistic, min_size=10, n_draws=DRAWS, seed=run)
        called = [dict(c.split(" = ") for c in s.conditions) for s in found.found]
        named.append({"a": "0", "b": "0"} in called)
        blamed.append(any(c.get("a", "0") != "0" or c.get("b", "0") != "0" for c in called))
    assert at_most(blamed, ALARMS), np.mean(blamed)
    assert np.mean(named) > 0.5


@pytest.mark.parametrize("slope", [1.0, 0.6])
def test_all_intervals_hold_their_truths_at_once(rng, slope):
    covered = []
    for run in range(60):
        p, columns = rng.beta(0.7, 1.2, ROWS).clip(1e-6, 1 - 1e-6), features(rng)
        q = 1 / (1 + (1 / p - 1) ** slope)
        found = audit(cal.Predictions(rng.random(ROWS) < q, p), columns, min_size=20, n_draws=DRAWS, seed=run)
        inside = []
        for segment in found.segments:
            rows = np.all([columns[c[0]] == c[-1] for c in segment.conditions] or [np.ones(ROWS, bool)], axis=0)
            inside.append((p - q)[rows].mean() in segment.interval)
        covered.append(all(inside))
    assert at_most(~np.array(covered), ALARMS), np.mean(covered)


def never(rng):
    """0 is said, one in ten happens."""
    return np.zeros(ROWS), np.full(ROWS, 0.1)


def always(rng):
    """1 is said of some rows among ordinary ones, and is wrong for one in ten of them."""
    p = np.where(np.arange(ROWS) < ROWS // 5, 1.0, rng.random(ROWS))
    return p, np.where(p == 1, 0.9, p)


def confident(rng):
    """Nearly 1 is said nearly always, and right."""
    p = rng.beta(2.7752, 0.0478, ROWS)
    return p, p


def too_confident(rng):
    p = rng.beta(2.7752, 0.0478, ROWS)
    return p, 0.95 * p


@pytest.mark.parametrize("world", [never, always, confident, too_confident])
@pytest.mark.parametrize("many", [False, True])
def test_intervals_hold_where_hardly_anything_is_left_to_chance(rng, world, many):
    covered = []
    for run in range(50):
        p, q = world(rng)
        y, columns = rng.random(ROWS) < q, features(rng)
        first = np.arange(ROWS) < ROWS // 5
        options = {"min_size": 20, "n_draws": DRAWS, "seed": run}
        found = audit(cal.Predictions(y, p), columns if many else None, segments={"first": first}, **options)
        inside = []
        for segment in found.segments:
            parts = [first if c == "first" else columns[c[0]] == c[-1] for c in segment.conditions]
            rows = np.all(parts or [np.ones(ROWS, bool)], axis=0)
            gap = (p - q)[rows].mean()
            inside.append(segment.interval.low - ROUNDING <= gap <= segment.interval.high + ROUNDING)
        covered.append(all(inside))
    assert at_most(~np.array(covered), ALARMS), np.mean(covered)


@pytest.mark.parametrize("statistic", ["gap", "range", "both"])
def test_a_detectable_error_is_seen_four_times_in_five(rng, statistic):
    seen = []
    options = {"statistic": statistic, "min_size": 20, "n_draws": DRAWS, "depth": 2}
    for run in range(50):
        p, columns = 0.3 + 0.4 * rng.random(ROWS), features(rng)
        cell = audit(cal.Predictions(rng.random(ROWS) < p, p), columns, seed=run, **options)["a = 0"]
        q = np.where(columns["a"] == "0", p + cell.detectable * rng.choice([-1, 1]), p)
        seen.append(audit(cal.Predictions(rng.random(ROWS) < q, p), columns, seed=run, **options)["a = 0"].found)
    error = (0.8 * 0.2 / len(seen)) ** 0.5
    assert 0.8 - STANDARD_ERRORS * error <= np.mean(seen) <= 0.95, np.mean(seen)


def test_repeated_rows_are_no_alarm_once_told(rng):
    alarms = {True: [], False: []}
    for run in range(100):
        p, columns = np.repeat(rng.random(500), 4), {k: np.repeat(v, 4) for k, v in features(rng, 500).items()}
        said = cal.Predictions(np.repeat(rng.random(500), 4) < p, p, groups=np.repeat(np.arange(500), 4))
        for cluster, found in alarms.items():
            result = audit(said, columns, cluster=cluster, depth=1, min_size=200, n_draws=DRAWS, seed=run)
            found.append(bool(result.found))
    assert at_most(alarms[True], ALARMS), np.mean(alarms[True])
    assert np.mean(alarms[False]) > 0.5
