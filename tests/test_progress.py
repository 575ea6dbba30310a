"""Progress: one option in every long call."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.progress import watched
from calibrant.simulate import bias, detection, power_world

WORLD = power_world(0.1)
CALLS = {
    "bias": partial(bias, cal.ece, WORLD, 50, 4, workers=1),
    "detection": partial(detection, cal.ece, WORLD, 50, n_data_sets=20, workers=1),
    "trust": partial(cal.trust, [0, 1] * 30, [0.3, 0.6] * 30, n_data_sets=4, workers=1, estimators=["ece"]),
    "plan": partial(cal.plan, 0.3, mean_variance=0.2, n_data_sets=20, check=True),
    "plan of a formula": partial(cal.plan, 0.3, statistic="mean_gap", mean_variance=0.2, n_data_sets=20, check=True),
    "Auto": lambda progress: cal.Auto(candidates=("identity", "platt"), n_folds=2, progress=progress).fit(
        np.tile([0, 1], 30), np.tile([0.3, 0.6], 30)
    ),
}
each = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@pytest.mark.slow
@each
def test_a_function_is_called_with_the_steps_done_and_all(call):
    seen = []
    call(progress=lambda done, of: seen.append((done, of)))
    assert seen[-1][0] == seen[-1][1]
    assert all(0 < done <= of for done, of in seen)


@pytest.mark.slow
@each
def test_a_bar_is_for_terminals(call, capsys):
    call(progress=True)
    assert capsys.readouterr() == ("", "")


@each
def test_anything_else_is_refused(call):
    with pytest.raises(
        cal.InputError, match=r"progress must be True, False or a function of \(done, of\); it is 'bar'"
    ):
        call(progress="bar")


def test_null_draws_of_any_test_can_be_watched():
    seen = []
    with watched(lambda done, of: seen.append((done, of)), "null draws"):
        cal.detect.cox_test(np.tile([0, 1], 2000), np.linspace(0, 1, 4000), n_draws=99)
    assert seen == [(k, len(seen)) for k in range(1, len(seen) + 1)]
    assert len(seen) > 1
    before = len(seen)
    cal.detect.cox_test([0, 1, 1], [0.3, 0.6, 0.8], n_draws=99)
    assert len(seen) == before
