from __future__ import annotations

import numpy as np
import pytest

from calibrant import InputError
from calibrant.monitor import Monitor
from calibrant.plot.evidence import evidence

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


def watched(rng, wrong_from):
    p = rng.random(4000)
    truth = np.where(np.arange(4000) < wrong_from, p, p**2)
    monitor = Monitor()
    for day in range(40):
        rows = slice(100 * day, 100 * day + 100)
        monitor.update(rng.random(100) < truth[rows], p[rows], mark=f"day {day}")
    return monitor


def test_an_alarm_is_drawn_with_the_time_since_when(rng, ax):
    monitor = watched(rng, 2000)
    assert monitor.plot(ax) is ax
    course = monitor.course()
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), course.x)
    assert ax.lines[0].get_ydata().max() == pytest.approx(min(course.y.max(), 1e12))
    assert ax.lines[1].get_ydata()[0] == 20
    assert ax.lines[2].get_xdata()[0] == monitor.since().row
    assert ax.get_title(loc="left").startswith(f"{monitor.since().direction}: e-value")
    ax.figure.canvas.draw()


def test_no_alarm_has_a_line_to_stay_below(rng, ax):
    monitor = watched(rng, 4000)
    evidence(monitor, ax=ax, alpha=0.01, label="model")
    assert len(ax.lines) == 2
    assert ax.get_ylim()[1] >= 200
    assert ax.get_title(loc="left").startswith("no alarm: e-value")


def test_the_answer_of_a_monitor_is_drawn_as_the_monitor_is(rng, ax):
    monitor = watched(rng, 2000)
    monitor.answer(0.01).plot(ax)
    monitor.plot(ax, alpha=0.01)
    first, second = (line for line in ax.lines if line.get_gid() == "calibrant-series")
    np.testing.assert_allclose(first.get_ydata(), second.get_ydata(), rtol=1e-9)
    assert ax.get_title(loc="left").count("e-value") == 1


def test_the_course_ends_at_the_evidence_now(rng):
    monitor = watched(rng, 2000)
    course = monitor.course()
    assert (course.x[0], course.y[0], course.x[-1]) == (0, 1, monitor.n)
    assert course.y[-1] == pytest.approx(monitor.e_value)
    assert course.y.max() <= monitor.state.peak * (1 + 1e-12)
    again = Monitor.from_json(monitor.to_json()).course()
    np.testing.assert_array_equal(again.y, course.y)


def test_parts_of_a_stream_have_one_course(rng):
    p = rng.random(2000)
    y = rng.random(2000) < p**1.5
    first, then = Monitor().update(y[:1000], p[:1000]), Monitor().update(y[1000:], p[1000:])
    joined = first.merge(then).course()
    assert joined.x[-1] == 2000
    assert joined.y[-1] == pytest.approx(first.merge(then).e_value)
    beside = first.merge(then, beside=True)
    assert beside.course().y[-1] == pytest.approx(beside.e_value)


def test_other_things_are_refused(ax):
    with pytest.raises(InputError, match="must be a Monitor"):
        evidence([1.0], ax=ax)
    with pytest.raises(InputError, match="alpha"):
        evidence(Monitor(), ax=ax, alpha=2)
    assert evidence(Monitor(), ax=ax) is ax  # nothing seen yet
