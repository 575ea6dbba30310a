from __future__ import annotations

import pytest

import calibrant as cal
from calibrant import plot

pytest.importorskip("matplotlib.pyplot")
mpl = pytest.importorskip("matplotlib")
FOUND = {f"${name}": cal.ece([0, 1, 1, 0], [0.2, 0.7, p, 0.4]) for name, p in (("a", 0.9), ("b", 0.6), ("c", 0.8))}


@pytest.mark.slow
def test_answers_stand_side_by_side_under_their_names():
    axes = plot.grid(FOUND, columns=2, style="gaps")
    assert [ax.get_title(loc="left").splitlines()[0] for ax in axes] == ["$a", "$b", "$c"]
    assert len(axes[0].figure.axes) == 3
    assert all(ax.get_legend() is None for ax in axes)
    axes[0].figure.draw_without_rendering()
    mpl.pyplot.close("all")


def test_axes_of_ones_own():
    axes = mpl.figure.Figure().subplots(1, 3)
    assert list(plot.grid(FOUND, ax=axes)) == list(axes)
    with pytest.raises(cal.InputError, match="ax must be 3 Axes; there are 1"):
        plot.grid(FOUND, ax=axes[0])


def test_refusals_say_what_is_wrong():
    with pytest.raises(cal.InputError, match="results must be a mapping"):
        plot.grid({})
    with pytest.raises(cal.InputError, match="results must hold answers; there is a int"):
        plot.grid({"a": 1})
