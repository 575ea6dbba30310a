"""Folds that neither the order of rows nor their labels decide."""

import numpy as np

from calibrant import Predictions
from calibrant.maps.folds import dealt, unit_rows


def rows(rng, n=200):
    p = rng.random(n).round(2)
    return Predictions(rng.random(n) < p, p)


def test_folds_are_of_equal_size(rng):
    assert np.bincount(dealt(rows(rng, 203), 5)).tolist() == [41, 41, 41, 40, 40]


def test_the_order_of_the_rows_does_not_matter(rng):
    said = rows(rng)
    order = rng.permutation(said.n)
    here, there = dealt(said, 4), dealt(said.rows(order), 4)

    def content(predictions, fold):
        return sorted(zip(fold, predictions.probs, predictions.labels, strict=True))

    assert content(said, here) == content(said.rows(order), there)


def test_whole_weights_are_rows(rng):
    said = Predictions([0, 1, 1], [0.2, 0.5, 0.9], weights=[2, 0, 1])
    assert unit_rows(said).probs.tolist() == [0.2, 0.2, 0.9]
    assert unit_rows(said).weights is None
    part = Predictions([0, 1, 1], [0.2, 0.5, 0.9], weights=[0.5, 0, 1])
    assert unit_rows(part).weights.tolist() == [0.5, 1.0]


def test_groups_stay_together(rng):
    groups = rng.integers(0, 30, 200)
    said = Predictions(rng.random(200) < 0.5, rng.random(200), groups=groups)
    fold = dealt(said, 5)
    assert all(len(set(fold[groups == g])) == 1 for g in np.unique(groups))
    assert len(set(fold)) == 5


def test_folds_know_nothing_of_the_labels(rng):
    # neighbours in p: does one row's label tell anything about labels of the other folds nearby? It must not.
    n = 4000
    p = np.sort(rng.random(n))
    y = (rng.random(n) < 0.5).astype(float)
    fold = dealt(Predictions(y.astype(int), p), 2)
    pairs = n // 20
    gaps = [
        y[20 * i : 20 * i + 20][fold[20 * i : 20 * i + 20] == 0].mean() - 0.5
        for i in range(pairs)
    ]  # fmt: skip
    other = [y[20 * i : 20 * i + 20][fold[20 * i : 20 * i + 20] == 1].mean() - 0.5 for i in range(pairs)]
    correlation = np.corrcoef(gaps, other)[0, 1]
    assert abs(correlation) < 4 / np.sqrt(pairs)


def test_the_names_of_the_classes_do_not_matter(rng):
    probs, labels = rng.dirichlet(np.ones(4), 100), rng.integers(0, 4, 100)
    turned = np.array([2, 0, 3, 1])
    here = dealt(Predictions(labels, probs), 5)
    there = dealt(Predictions(np.argsort(turned)[labels], probs[:, turned]), 5)
    assert np.array_equal(here, there)
