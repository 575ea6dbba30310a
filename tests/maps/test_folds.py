"""Folds that neither the order of rows nor their labels decide."""

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.maps.folds import dealt, held_out, unit_rows


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


def test_held_out_rows_are_each_held_out_once(rng):
    said = rows(rng)
    assert (np.sum(list(held_out(said, 7)), axis=0) == 1).all()
    groups = np.repeat([0, 1, 2], [100, 60, 40])  # fewer groups than folds: no fold is empty
    grouped = Predictions(said.labels, said.probs, groups=groups)
    masks = list(held_out(grouped, 5))
    assert len(masks) == 3
    assert (np.sum(masks, axis=0) == 1).all()


@pytest.mark.parametrize(("groups", "what"), [(None, "rows"), ([1, 1], "groups")])
def test_one_row_or_group_cannot_be_judged_by_others(groups, what):
    said = Predictions([1], [0.4]) if groups is None else Predictions([1, 0], [0.4, 0.5], groups=groups)
    with pytest.raises(InputError, match=f"two {what} at least"):
        list(held_out(said, 5))
