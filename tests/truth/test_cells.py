"""Rows drawn in cells: false alarms come as often as they should, and power is that of rows drawn one by one. Seeds are fixed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.detect.omnibus import is_calibrated
from calibrant.resampling import cells
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow

SETS, N, DRAWS = 600, 1000, 99
WORLDS = {
    "uniform": lambda rng: rng.random(N),
    "beta": lambda rng: rng.beta(1, 8, N),
    "extreme": lambda rng: np.where(rng.random(N) < 0.5, 10 ** rng.uniform(-12, -1, N), expit(rng.normal(0, 4, N))),
    "repeated": lambda rng: np.repeat(rng.random(N // 4), 4),
}
FAULTS = {
    "shift": lambda p: expit(logit(p) + 0.2),
    "over-confident": lambda p: expit(0.8 * logit(p)),
    "hump": lambda p: np.where((p > 0.6) & (p < 0.65), p - 0.25, p),
    "waves": lambda p: np.clip(p + 0.08 * np.sin(12 * np.pi * p), 0, 1),
}


def p_values(monkeypatch, labels, probs, rows, seed):
    """The joint p-value and those of all statistics, with cells of so many rows; of 0, without cells."""
    monkeypatch.setattr(cells, "IN_CELLS_FROM", 1 if rows else np.inf)
    monkeypatch.setattr(cells, "CELL_ROWS", rows)
    found = is_calibrated(labels, probs, n_draws=DRAWS, seed=seed)
    return [found.p_value, *(part.p_value for part in found.parts.values() if hasattr(part, "p_value"))]


@pytest.mark.parametrize("rows", [8, 32])
@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms(monkeypatch, world, rows):
    found = []
    for seed in range(SETS):
        rng = np.random.default_rng([seed, rows])
        p = WORLDS[world](rng)
        found.append(p_values(monkeypatch, rng.random(N) < p, p, rows, seed))
    for level in (0.05, 0.01):
        rejected = (np.array(found) <= level).mean(axis=0)
        error = STANDARD_ERRORS * np.sqrt(level * (1 - level) / SETS)
        assert rejected[0] == pytest.approx(level, abs=error)
        assert (rejected <= level + error).all()  # those alone count ties


@pytest.mark.parametrize("fault", FAULTS)
def test_power_is_that_of_single_rows(monkeypatch, fault):
    more, rejected = [], []
    for seed in range(SETS // 3):
        rng = np.random.default_rng(seed)
        p = rng.random(N)
        y = rng.random(N) < FAULTS[fault](p)
        both = [np.array(p_values(monkeypatch, y, p, rows, seed)) <= 0.05 for rows in (16, 0)]
        more.append(both[0].astype(float) - both[1])
        rejected.append(both[1])
    error = np.std(more, axis=0) / np.sqrt(len(more))
    assert (np.abs(np.mean(more, axis=0)) <= STANDARD_ERRORS * error).all()
    assert 0.2 < np.mean(rejected, axis=0)[0] < 1  # the fault is found, not always
