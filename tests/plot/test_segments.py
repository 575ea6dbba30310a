from __future__ import annotations

import sys

import numpy as np
import pytest

import calibrant as cal
from calibrant.plot.segments import LOOKS, segments
from calibrant.problems import InputError, MissingExtra
from calibrant.results import p_words
from calibrant.verbs.auditing.audit import audit

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(3)
    p, team = rng.random(3000), rng.choice(["a", "b", "c", "d"], 3000, p=[0.05, 0.15, 0.3, 0.5])
    y = rng.random(3000) < np.where(team == "c", p**2, p)
    return audit(cal.Predictions(y, p), groups=team, n_draws=199)


def lines_of(ax):
    """Those of the segments; the first collection marks 0."""
    return [c for c in ax.collections if hasattr(c, "get_segments")][1:]


def points_of(ax):
    return [c for c in ax.collections if not hasattr(c, "get_segments")]


def test_gaps_and_intervals_are_drawn_where_they_lie(found, ax):
    assert segments(found, ax=ax) is ax
    for k, segment in enumerate(found.segments):
        np.testing.assert_allclose(points_of(ax)[k].get_offsets(), [[segment.gap, k]])
        (ends,) = lines_of(ax)[k].get_segments()
        np.testing.assert_allclose(ends, [[segment.interval.low, k], [segment.interval.high, k]])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the worst on top


def test_names_rows_and_verdicts_are_shown(found, ax):
    segments(found, ax=ax)
    words = [t.get_text() for t in ax.texts]
    assert all(s.name in text and s.verdict in text for s, text in zip(found.segments, words, strict=True))
    first = found.segments[0]
    assert words[0] == f"{first.name}  {first.verdict}, {p_words(first.adjusted)}, n = {first.n:,}"
    assert points_of(ax)[0].get_facecolor()[0] == pytest.approx(matplotlib.colors.to_rgba(LOOKS[first.verdict][0]))


def test_the_worst_are_drawn_where_there_are_many(found, ax):
    segments(found, ax=ax, most=2)
    assert len(ax.texts) == 2
    assert ax.get_title(loc="left").startswith(f"{len(found.found)} of 5 segments called wrong; the 2 worst")


def test_larger_segments_have_larger_points(found, ax):
    segments(found, ax=ax)
    areas = np.array([c.get_sizes()[0] for c in points_of(ax)])
    rows = np.array([s.n for s in found.segments])
    assert (np.diff(areas[np.argsort(rows)]) >= 0).all()


def test_a_fresh_figure_is_made_where_none_is_given(found):
    ax = segments(found)
    assert ax.get_figure() is not None
    ax.get_figure().canvas.draw()
    matplotlib.pyplot.close("all")


def test_refusals_say_what_is_wrong(found, monkeypatch):
    with pytest.raises(InputError, match="audit must be an Audit; it is a list"):
        segments([1])
    with pytest.raises(InputError, match="most must be a whole number"):
        segments(found, most=0)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match="plotting needs matplotlib"):
        segments(found)
