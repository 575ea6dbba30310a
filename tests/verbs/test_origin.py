from __future__ import annotations

import numpy as np

import calibrant as cal
from calibrant.verbs.origin import fingerprint, origin_of

LABELS, PROBS = np.array([0, 1, 1, 0]), np.array([0.25, 0.5, 0.75, 0.125])


def test_the_container_does_not_matter():
    first = fingerprint(cal.Predictions(LABELS, PROBS))
    assert len(first) == 64
    assert fingerprint(cal.Predictions(LABELS.tolist(), PROBS.astype(np.float32))) == first
    assert fingerprint(cal.Predictions(LABELS.astype(bool), PROBS[::1].copy())) == first


def test_every_number_matters():
    first = fingerprint(cal.Predictions(LABELS, PROBS))
    others = [
        cal.Predictions(1 - LABELS, PROBS),
        cal.Predictions(LABELS, PROBS + np.array([0, 0, 1e-12, 0])),
        cal.Predictions(LABELS, PROBS, weights=[1, 1, 1, 2]),
        cal.Predictions(LABELS, PROBS, groups=["a", "a", "b", "b"]),
        cal.Predictions(LABELS, np.c_[1 - PROBS, PROBS]),
        cal.Predictions.from_gaussian(LABELS.astype(float), PROBS, np.ones(4)),
        cal.Predictions.from_quantiles(LABELS.astype(float), [0.2, 0.8], np.c_[PROBS, PROBS + 1]),
        cal.Predictions.from_multilabel(np.c_[LABELS, LABELS], np.c_[PROBS, PROBS]),
    ]
    assert len({first, *map(fingerprint, others)}) == 1 + len(others)


def test_long_arrays_are_hashed_in_parts(monkeypatch):
    data = cal.Predictions(LABELS, np.c_[1 - PROBS, PROBS])
    whole = fingerprint(data)
    monkeypatch.setattr("calibrant.verbs.origin.AT_ONCE", 2)
    assert fingerprint(data) == whole


def test_the_table_leaves_out_what_is_not_known():
    found = origin_of(None)
    assert [row[0] for row in found.table().rows] == ["versions"]
    assert f"calibrant {cal.__version__}" in found.table().rows[0][1]
    full = origin_of(cal.Predictions(LABELS, PROBS), command="calibrant where a.csv", source="a.csv", seed=3)
    assert [row[0] for row in full.table().rows[:4]] == ["command", "data", "fingerprint of the data (SHA-256)", "seed"]
    assert type(full).from_json(full.to_json()) == full
