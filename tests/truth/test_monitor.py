"""Claims about monitors, on streams whose truth is known. A reduced form of studies/monitoring.py."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.monitor import Monitor, state
from calibrant.predictions import Event
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow

SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "confident": lambda rng, n: np.minimum(rng.beta(2.8, 0.05, n), 1.0),
    "tied": lambda rng, n: rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0], n),
}


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    monkeypatch.setattr(state, "COMPILE_FROM", 1)


def add(monitor, rng, p, truth):
    rows = Event(p, (rng.random(len(p)) < truth).astype(np.uint8), None, "binary")
    monitor.state = state.updated(monitor.state, rows, None)
    return monitor


@pytest.mark.parametrize("scores", SCORES)
def test_false_alarms_are_at_most_the_level_however_often_one_looks(rng, scores):
    streams = 2000
    peaks = []
    for _ in range(streams):
        p = SCORES[scores](rng, 400)
        peaks.append(add(Monitor(view="binary"), rng, p, p).state.peak)
    for level in (0.05, 0.01):
        share = np.mean(np.array(peaks) >= 1 / level)
        assert share <= level + STANDARD_ERRORS * np.sqrt(level * (1 - level) / streams)
    assert np.mean(np.array(peaks) >= 3) > 0.01  # it does bet: an e-value that never moves would pass as well


def test_the_e_value_is_one_on_average(rng):
    values = []
    for _ in range(4000):
        p = rng.random(60)
        values.append(add(Monitor(view="binary"), rng, p, p).e_value)
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - 1) <= STANDARD_ERRORS * error


def test_merged_parts_have_no_more_false_alarms(rng):
    streams = 1000
    alarms = 0
    for _ in range(streams):
        whole = Monitor(view="binary")
        for _part in range(4):
            p = rng.random(100)
            whole = whole.merge(add(Monitor(view="binary"), rng, p, p))
        alarms += whole.alarm()
    assert alarms / streams <= 0.05 + STANDARD_ERRORS * np.sqrt(0.05 * 0.95 / streams)


def test_false_alarms_of_the_detector_are_as_seldom_as_promised(rng):
    lengths = []
    for _ in range(300):
        monitor = Monitor(view="binary")
        while monitor.run_length < 100 and monitor.n < 4000:
            p = rng.random(20)
            add(monitor, rng, p, p)
        lengths.append(monitor.n)
    assert np.mean(lengths) >= 100


@pytest.mark.parametrize("before", [0, 3000])
def test_a_shift_of_half_is_seen_within_a_thousand_rows_and_dated(rng, before):
    found = []
    for _ in range(60):
        p = rng.random(before + 3000)
        truth = np.where(np.arange(len(p)) < before, p, 1 / (1 + np.exp(-(np.log(p / (1 - p)) - 0.5))))
        monitor = add(Monitor(view="binary"), rng, p[:before], truth[:before]) if before else Monitor(view="binary")
        while not monitor.alarm() and monitor.n < len(p):
            rows = slice(monitor.n, monitor.n + 50)
            add(monitor, rng, p[rows], truth[rows])
        if monitor.n > before:
            found.append((monitor.n - before, monitor.since()))
    delays, told = zip(*found, strict=True)
    assert np.median(delays) < 1000
    told = [change for change in told if change is not None]
    assert np.median([abs(change.row - before) for change in told]) < 200
    assert np.mean([change.earliest <= before <= change.latest for change in told]) > 0.75
