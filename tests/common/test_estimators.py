"""What every estimator must do, read from the table: a new one is covered by being listed."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import EqualWidth, InputError, Predictions
from calibrant.estimate import binned
from calibrant.methods import find, methods
from calibrant.results import Estimate
from tolerances import ROUNDING

ABOUTS = list(methods("estimator").values())
WEIGHTED = [about for about in ABOUTS if about.weights]
SOFT = [about for about in ABOUTS if about.soft_labels]


def fitting(abouts, shape):
    """(about, view) for every view that the shape has."""
    fits = {"event": ("binary", "class k", "canonical"), "matrix": ("top", "class k", "classwise", "canonical")}[shape]
    return [
        (about, "class 1" if view == "class k" else view) for about in abouts for view in about.views if view in fits
    ]


def quick_and_slow(found):
    """Each estimator's first case of an event and last of a matrix are quick; the others, more of the same code, are slow.

    Decision regret chooses among all maps, which takes long: its quick cases have one map.
    """
    events, matrices = ([case for case in found if (case[-1] == "event") is event] for event in (True, False))
    quick = {case[0].name: case for case in events[::-1]}.values(), {case[0].name: case for case in matrices}.values()
    params = []
    for about, *where in found:
        name, again = "-".join([about.name, *where]), not any((about, *where) in some for some in quick)
        slow = again or about.function is cal.decision_regret
        if slow and not again:
            with_one = replace(about, function=partial(about.function, method="isotonic", thresholds=(0.2, 0.5, 0.8)))
            params.append(pytest.param(with_one, *where, id=f"{name}-isotonic"))
        params.append(pytest.param(about, *where, id=name, marks=pytest.mark.slow if slow else ()))
    return params


def cases(abouts, shape):
    """(about, view) of one shape."""
    return pytest.mark.parametrize(("about", "view"), quick_and_slow(fitting(abouts, shape)))


def call(about, *data, view, **options):
    """The function, told the view unless it has only one."""
    views = {"view": view} if "view" in inspect.signature(about.function).parameters else {}
    return about.function(*data, **views, **options)


def estimate(about, said, view):
    """From arguments as `Predictions` takes them, so that the function's own front door is used too."""
    return call(about, said.labels, said.probs, view=view, **({} if said.weights is None else {"counts": said.weights}))


def same(a, b, tolerance=ROUNDING):
    """Equal values; the root of a square amplifies rounding near 0, so squares are compared there."""
    assert a.value == pytest.approx(b.value, abs=tolerance) or a.value**2 == pytest.approx(b.value**2, abs=tolerance)


def event_rows(rng, n=60):
    p = rng.beta(1.5, 1, n)
    return some.Rows((rng.random(n) < p**1.5).astype(int), p)


def matrix_rows(rng, n=60, n_classes=4):
    probs = rng.dirichlet(np.ones(n_classes), n)
    return some.Rows(np.array([rng.choice(n_classes, p=row) for row in probs]), probs)


ROWS = {"event": event_rows, "matrix": matrix_rows}


def every(abouts):
    """(about, view, shape) over both shapes."""
    found = [(*case, shape) for shape in ROWS for case in fitting(abouts, shape)]
    return pytest.mark.parametrize(("about", "view", "shape"), quick_and_slow(found))


@every(ABOUTS)
def test_the_order_of_the_rows_does_not_matter(rng, about, view, shape):
    said = ROWS[shape](rng)
    order = rng.permutation(said.n)
    same(estimate(about, said, view), estimate(about, some.Rows(said.labels[order], said.probs[order]), view))


@every(ABOUTS)
def test_the_order_of_tied_rows_does_not_matter(rng, about, view, shape):
    said = ROWS[shape](rng)
    tied = some.Rows(said.labels, said.probs[rng.integers(0, 6, said.n)])
    order = rng.permutation(said.n)
    same(estimate(about, tied, view), estimate(about, some.Rows(tied.labels[order], tied.probs[order]), view))


@every(WEIGHTED)
def test_weight_two_is_the_row_twice(rng, about, view, shape):
    said = ROWS[shape](rng)
    times = rng.integers(0, 4, said.n)
    weighted = estimate(about, some.Rows(said.labels, said.probs, times), view)
    repeated = estimate(about, some.Rows(np.repeat(said.labels, times), np.repeat(said.probs, times, axis=0)), view)
    same(weighted, repeated)
    if weighted.interval is not None:
        assert weighted.interval.low == pytest.approx(repeated.interval.low, abs=ROUNDING)
        assert weighted.interval.high == pytest.approx(repeated.interval.high, abs=ROUNDING)
    if weighted.noise_floor is not None:
        assert weighted.noise_floor == pytest.approx(repeated.noise_floor, abs=ROUNDING)


@every(WEIGHTED)
def test_equal_weights_are_no_weights(rng, about, view, shape):
    said = ROWS[shape](rng)
    same(estimate(about, some.Rows(said.labels, said.probs, np.ones(said.n)), view), estimate(about, said, view))


@every(ABOUTS)
def test_float32_is_close_to_float64(rng, about, view, shape):
    # Predictions keep away from the edges i/15 by more than float32 rounding: a row that changes its bin by being rounded
    # would change the value by 1/n. float32 is also below 2^-24 apart from float64, so ranks could change only among ties.
    if shape == "event":
        probs = (rng.integers(0, 15, 120) + rng.uniform(0.1, 0.9, 120)) / 15
    else:
        parts = rng.permuted(np.tile([0.04, 0.09, 0.22, 0.65], (120, 1)), axis=1) + rng.uniform(-1, 1, (120, 4)) * 1e-3
        probs = parts / parts.sum(axis=1, keepdims=True)
    labels = rng.integers(0, 2 if shape == "event" else 4, 120)
    wide, narrow = (estimate(about, some.Rows(labels, probs.astype(t)), view) for t in (np.float64, np.float32))
    assert narrow.value == pytest.approx(wide.value, abs=1e-5)  # float32 rounding, times a slope for narrow kernels


CONTAINERS = {
    "list": lambda a: a.tolist(),
    "pandas": lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a),
    "polars": lambda a: pl.DataFrame(a) if a.ndim == 2 else pl.Series(a),
    "arrow": lambda a: pa.table([pa.array(c) for c in a.T], names=[str(k) for k in range(a.shape[1])]) if a.ndim == 2 else pa.array(a),
}  # fmt: skip


@pytest.mark.slow
@every(ABOUTS)
def test_lists_arrays_and_frames_agree(rng, about, view, shape):
    said = ROWS[shape](rng, 40)
    expected = estimate(about, said, view)
    for make in CONTAINERS.values():
        assert call(about, make(said.labels), make(said.probs), view=view) == expected


@every(ABOUTS)
def test_predictions_and_arrays_agree(rng, about, view, shape):
    said = ROWS[shape](rng, 40)
    assert call(about, Predictions(said.labels, said.probs), view=view) == estimate(about, said, view)


@cases(ABOUTS, "matrix")
def test_relabelling_the_classes_changes_nothing(rng, about, view):
    said = matrix_rows(rng)
    order = rng.permutation(4)
    moved = some.Rows(np.argsort(order)[said.labels], said.probs[:, order])
    if view == "class 1":
        same(estimate(about, said, "class 1"), estimate(about, moved, int(np.argsort(order)[1])))
    else:
        same(estimate(about, said, view), estimate(about, moved, view))


@cases(ABOUTS, "matrix")
def test_class_names_change_nothing(rng, about, view):
    said = matrix_rows(rng)
    names = np.array(["one", "two", "three", "four"])
    named = Predictions(names[said.labels], said.probs, classes=names)
    found = call(about, named, view="class two" if view == "class 1" else view)
    same(found, estimate(about, said, view))


# Awkward data.


def number_or_reason(made):
    """An estimate, or None where the method says that it needs two rows."""
    try:
        return made()
    except InputError as refused:
        if "two rows" not in str(refused):
            raise
    return None


@pytest.mark.some(6)
@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
@given(data=st.data())
def test_any_data_give_a_number_that_survives_as_json(about, data):
    said = data.draw(some.predictions(weighted=about.weights))
    shape = "event" if said.probs.ndim == 1 else "matrix"
    views = [view for _, view in fitting([about], shape)]
    if not views:
        return
    found = number_or_reason(partial(estimate, about, said, data.draw(st.sampled_from(views))))
    if found is None:
        return
    assert math.isfinite(found.value)
    assert found.n == said.total
    assert found.noise_floor is None or math.isfinite(found.noise_floor)
    assert Estimate.from_json(found.to_json()) == found
    assert Estimate.from_data(found.to_data()) == found
    assert len(repr(found)) < 700
    assert repr(found).count("\n") == len(found.cautions)


@every(ABOUTS)
def test_one_row_gives_a_number_or_a_reason(about, view, shape):
    probs = [0.7] if shape == "event" else [[0.7, 0.2, 0.1]]
    for label in (0, 1):
        found = number_or_reason(partial(call, about, [label], probs, view=view))
        assert found is None or (math.isfinite(found.value) and found.n == 1)


@every(ABOUTS)
def test_one_class_only(rng, about, view, shape):
    said = ROWS[shape](rng, 50)
    for label in (0, 1):
        assert math.isfinite(estimate(about, some.Rows(np.full(50, label), said.probs), view).value)


@every(ABOUTS)
def test_equal_predictions_are_one_point(rng, about, view, shape):
    n = 60
    probs = np.full(n, 0.3) if shape == "event" else np.tile([0.1, 0.3, 0.6], (n, 1))
    found = estimate(about, some.Rows(rng.integers(0, 2, n), probs), view)
    assert math.isfinite(found.value)


@every(ABOUTS)
def test_certain_and_right(about, view, shape):
    labels = np.array([0, 1, 1, 0, 1])
    probs = labels.astype(float) if shape == "event" else np.eye(3)[labels]
    assert estimate(about, some.Rows(labels, probs), view).value <= SLACK.get(about.name, 0)


SLACK = {"fitted": 1 / 7, "posterior": 5e-16}
"""A mean over all maps still possible doubts five certain rows, by no more than the rule of succession; their median says the
number next to 0 or 1."""


@every(WEIGHTED)
def test_weights_a_billion_apart_give_a_number(rng, about, view, shape):
    said = ROWS[shape](rng, 30)
    weights = 10.0 ** rng.uniform(-3, 6, 30)
    assert math.isfinite(call(about, said.labels, said.probs, view=view, weights=weights).value)


@pytest.mark.slow
@every(WEIGHTED)
def test_rows_of_weight_zero_are_not_there(rng, about, view, shape):
    said = ROWS[shape](rng)
    kept = rng.random(said.n) < 0.7
    expected = estimate(about, some.Rows(said.labels[kept], said.probs[kept]), view)
    for mass in ({"counts": kept.astype(float)}, {"weights": 0.3 * kept}):
        same(call(about, said.labels, said.probs, view=view, **mass), expected)


@every(SOFT)
def test_soft_labels_are_accepted(rng, about, view, shape):
    said = ROWS[shape](rng)
    shares = rng.random(said.n) if shape == "event" else rng.dirichlet(np.ones(4), said.n)
    assert math.isfinite(call(about, Predictions(shares, said.probs, soft=True), view=view).value)


@every(SOFT)
def test_soft_labels_of_zero_and_one_are_hard_labels(rng, about, view, shape):
    said = ROWS[shape](rng)
    shares = said.labels.astype(float) if shape == "event" else np.eye(4)[said.labels]
    same(call(about, Predictions(shares, said.probs, soft=True), view=view), estimate(about, said, view))


# Parts and chunks.


@every([about for about in ABOUTS if about.function in (cal.ece, cal.binned_error)])
@pytest.mark.parametrize("options", [{}, {"norm": 2}, {"norm": "max"}, {"debiased": True}], ids=str)
def test_halves_merged_equal_the_whole(rng, about, view, shape, options):
    said = ROWS[shape](rng)
    whole = Predictions(said.labels, said.probs, counts=rng.integers(1, 4, said.n))
    states = [binned.collect(whole.rows(rows), EqualWidth(15), view) for rows in (slice(0, 25), slice(25, None))]
    found = binned.finish(states[0].merge(states[1]), whole.view(view), whole.classes, binned.Options(**options))
    expected = cal.binned_error(whole, bins=EqualWidth(15), view=view, **options)
    assert found.value == pytest.approx(expected.value, abs=ROUNDING)
    assert found.n == expected.n
    assert found.settings == expected.settings


@every(ABOUTS)
def test_the_size_of_chunks_does_not_matter(rng, monkeypatch, about, view, shape):
    from calibrant.kernels import logits
    from calibrant.kernels.rows import blocks, checks
    from calibrant.kernels.sums import bin_sums

    rows = 8  # a power of two, as the chunks are
    said = ROWS[shape](rng)
    expected = estimate(about, said, view)
    monkeypatch.setattr(bin_sums, "CHUNK", rows)
    monkeypatch.setattr(logits, "BLOCK", rows)
    monkeypatch.setattr(checks, "ONE_CHECK", rows)
    monkeypatch.setattr(checks, "TWO_CHECKS", rows)
    same(estimate(about, said, view), expected)
    monkeypatch.setattr(bin_sums, "COMPILE_FROM", 1)
    monkeypatch.setattr(bin_sums, "BLOCK_ENTRIES", rows)
    monkeypatch.setattr(bin_sums, "added_over_blocks", lambda n, part, block=rows: blocks.added_over_blocks(n, part, block))  # fmt: skip
    same(estimate(about, said, view), expected)


# What each says about itself.


@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
def test_every_about_is_filled_in(about):
    for fact in ("name", "title", "quantity", "summary"):
        assert getattr(about, fact).strip(), fact
    assert all(map(about.note, ("Bias", "Cost", "Source")))
    assert about.state in ("pooled", "bin sums", "class grid", "moments", "")
    assert set(about.views) <= {"canonical", "binary", "top", "class k", "classwise"}
    assert find("estimator", about.name.upper()) is about
    assert all(find("estimator", alias.lower()) is about for alias in about.also_called)
    assert getattr(cal, about.function.__name__) is about.function


def test_an_unknown_name_is_found_nowhere():
    assert find("estimator", "no such thing") is None


@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
def test_every_function_takes_truth_first_and_options_by_name(about):
    first, second, *rest = inspect.signature(about.function).parameters.values()
    assert (first.name, second.name) == ("labels", "probs")
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in rest)
    names = {parameter.name for parameter in rest}
    assert "weights" in names
    assert "view" in names or len(about.views) == 1


@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
def test_views_that_an_estimator_does_not_have_are_refused(about):
    if "view" not in inspect.signature(about.function).parameters:
        return
    for view in {"canonical", "classwise"} - set(about.views):
        with pytest.raises(InputError, match=r"^view "):
            about.function([0, 1], [[0.2, 0.8], [0.3, 0.7]], view=view)


@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
def test_every_function_refuses_what_the_door_refuses(about):
    with pytest.raises(InputError, match="did you swap labels and probs"):
        about.function([0.2, 0.7], [0, 1])
    with pytest.raises(InputError, match="probs is required"):
        about.function([0, 1])
    with pytest.raises(InputError, match="carries its own probs, counts and weights"):
        about.function(Predictions([0, 1], [0.2, 0.7]), counts=[1, 2])


HEAVY_ROWS = """
import sys
from calibrant.methods import methods
for name in sys.argv[1:]:
    methods("estimator")[name].function([0, 1, 0], [0.1, 0.2, 0.3], counts=[1e9, 1, 1])
"""


@pytest.mark.slow
def test_one_row_of_great_weight_takes_no_longer_than_many_rows():
    """In a process of its own: compiled code that hangs cannot be interrupted."""
    command = [sys.executable, "-c", HEAVY_ROWS, "sweep", "crossvalidated"]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
