"""Short calls: plain arrays take a shorter road than predictions do, to the same results."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.interval.mean import moments

MEASURES = {
    "ece": cal.ece,
    "ten bins": partial(cal.ece, bins=10),
    "binned": partial(cal.binned_error, bins=cal.EqualWidth(15)),
    "brier": cal.brier_score,
    "brier of the event": partial(cal.brier_score, view="binary"),
    "log": cal.log_score,
    "log of the event": partial(cal.log_score, view="auto", level=0.9),
}
measures = pytest.mark.parametrize("name", MEASURES)


def rows(n, labels=np.uint8, probs=np.float64):
    rng = np.random.default_rng(n)
    p = rng.uniform(0.01, 0.99, n)
    return (rng.random(n) < p).astype(labels), p.astype(probs)


def fields(estimate):
    return estimate.to_json()


@measures
@pytest.mark.parametrize("n", [1, 100, 1000, 16384, 16385])
@pytest.mark.parametrize("labels", [np.uint8, np.int64, np.bool_])
@pytest.mark.parametrize("probs", [np.float64, np.float32])
def test_plain_arrays_and_predictions_give_the_same(name, n, labels, probs):
    y, p = rows(n, labels, probs)
    measure = MEASURES[name]
    assert fields(measure(y, p)) == fields(measure(cal.Predictions(y, p))) == fields(measure(y[:, None][:, 0], p[::1]))


@measures
@pytest.mark.parametrize("given", ["arrays", "strided", "predictions", "lists"])
def test_what_waits_is_made_of_the_rows_as_they_were(name, given):
    y, p = rows(300)
    expected = fields(MEASURES[name](y, p))
    if given == "strided":
        y, p = np.repeat(y, 2)[::2], np.repeat(p, 2)[::2]
    data = {"predictions": (cal.Predictions(y, p),), "lists": (y.tolist(), p.tolist())}.get(given, (y, p))
    found = MEASURES[name](*data)
    y[:], p[:] = 1, 0.5
    assert fields(found) == expected


@measures
def test_a_user_may_write_to_the_arrays_after_the_call(name):
    y, p = rows(300)
    MEASURES[name](y, p)
    assert y.flags.writeable
    assert p.flags.writeable


@pytest.mark.parametrize("measure", [cal.ece, cal.brier_score, cal.log_score])
def test_views_and_options_are_refused_as_for_predictions(measure):
    y, p = rows(20)
    wrong = [{"view": "top"}, {"view": "class x"}, {"view": "nothing"}, {"view": 1.5}]
    wrong += [{"bins": 0}, {"bins": "many"}] if measure is cal.ece else [{"level": 1.0}, {"cluster": "any"}]
    for options in wrong:
        texts = []
        for data in ((y, p), (cal.Predictions(y, p),)):
            with pytest.raises(cal.InputError) as refused:
                measure(*data, **options)
            texts.append(str(refused.value))
        assert texts[0] == texts[1]


BAD_PROBS = [np.nan, np.inf, -np.inf, 1.2, -0.1, np.nextafter(1, 2), -5e-324]
BAD_LABELS = [(np.uint8, 2), (np.int64, 2), (np.int64, -1), (np.int64, 256), (np.int8, -1), (np.uint64, 1 << 63)]


@pytest.mark.parametrize("measure", [cal.ece, cal.brier_score, cal.log_score])
@pytest.mark.parametrize("n", [20, 300, 5000])
def test_bad_rows_are_refused_in_the_words_of_predictions(measure, n):
    y, p = rows(n)
    cases = [(y, np.where(np.arange(n) == 7, bad, p)) for bad in BAD_PROBS]
    for dtype, bad in BAD_LABELS:
        cases.append((y.astype(dtype), p))
        cases[-1][0][7] = bad
    for labels, probs in cases:
        texts = []
        for ask in (measure, cal.Predictions):
            with pytest.raises(cal.InputError) as refused:
                ask(labels, probs)
            texts.append(str(refused.value))
        assert texts[0] == texts[1]


@measures
@pytest.mark.parametrize("labels", "?bhilqBHILQ")
def test_whole_numbers_of_every_kind_are_read_alike(name, labels):
    y, p = rows(50)
    p[:2] = 0.0, -0.0
    y[:2], p[2:4], y[2:4] = 0, 1.0, 1
    kept = fields(MEASURES[name](cal.Predictions(y, p)))
    assert fields(MEASURES[name](y.astype(labels), p)) == kept
    assert fields(MEASURES[name](y.astype(labels).astype(np.dtype(labels).newbyteorder()), p)) == kept


@pytest.mark.parametrize("apart", [1.0, 1e-6])
def test_moments_in_the_memory_of_the_values_are_the_same(apart):
    values = 3 + apart * np.random.default_rng(0).normal(size=1000)  # close together, they are written a second time
    own = values.copy()
    assert moments(own, None, lambda: own.__setitem__(slice(None), values)) == moments(values, None)
