"""Draws from the null: the published generator, the right distributions, and nothing that depends on how work is dealt out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import InputError
from calibrant.kernels.compiled import many_calls
from calibrant.kernels.draws import null_draws
from calibrant.kernels.draws.null_draws import (
    COUNTED,
    STEP,
    binomial_tables,
    draw_classes,
    draw_pooled,
    draw_shared,
    draw_single,
    flip_signs,
    mixed,
    number,
    replicate_seeds,
)
from tolerances import STANDARD_ERRORS


def test_the_stream_is_splitmix64():
    # the first outputs of the authors' C code from state 0
    states = np.arange(1, 4, dtype=np.uint64) * STEP
    published = ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]
    assert [hex(z) for z in mixed.plain(states).tolist()] == published
    assert [hex(number(np.uint64(0), i)) for i in range(3)] == published


def test_seeds_of_replicates_differ_and_start_alike():
    seeds = replicate_seeds(7, 1000)
    assert len(set(seeds.tolist())) == 1000
    assert (replicate_seeds(7, 10) == seeds[:10]).all()
    assert not (replicate_seeds(8, 10) == seeds[:10]).any()


def single(p, seeds):
    errors = np.empty((len(seeds), len(p)))
    draw_single(p, binomial_tables(p, np.ones(len(p), np.int64)).thresholds, seeds, errors)
    return errors


def pooled(p, count, unit, seeds):
    tables = binomial_tables(p, count)
    errors = np.empty((len(seeds), len(p)))
    draw_pooled(count * p, unit, tables.starts, tables.lowest, tables.thresholds, seeds, errors)
    return errors


def test_single_rows_are_hit_as_often_as_they_say(rng):
    p = np.sort(rng.random(40))
    hits = p - single(p, replicate_seeds(1, 20_000))
    assert set(np.unique(hits.round(12))) == {0.0, 1.0}
    assert (np.abs(hits.mean(axis=0) - p) <= STANDARD_ERRORS * np.sqrt(p * (1 - p) / 20_000)).all()


def test_rows_and_replicates_are_uncorrelated(rng):
    p = np.full(60, 0.5)
    z = 2 * single(p, replicate_seeds(2, 60))
    between_rows, between_replicates = np.corrcoef(z.T), np.corrcoef(z)
    for table in (between_rows, between_replicates):
        off = table[np.triu_indices(60, 1)]
        assert np.abs(off).max() <= STANDARD_ERRORS / np.sqrt(60)
        assert off.mean() == pytest.approx(0, abs=STANDARD_ERRORS / np.sqrt(60 * len(off)))


def test_certain_rows_never_surprise():
    p = np.array([0.0, 1.0])
    assert not single(p, replicate_seeds(3, 5000)).any()
    assert not pooled(p, np.array([7, 9]), np.ones(2), replicate_seeds(3, 5000)).any()


def test_tiny_probabilities_keep_their_size():
    p = np.array([1e-300, 2.0**-62, 1 - 2.0**-53])
    table = binomial_tables(p, np.ones(3, np.int64)).thresholds.astype(float) / 2.0**63
    assert (1 - table[:2] <= 2.0**-53).all()
    assert table[2] == 2.0**-53


def test_one_row_an_atom_is_the_same_by_table(rng):
    p, seeds = np.sort(rng.random(30)), replicate_seeds(4, 200)
    assert (single(p, seeds) == pooled(p, np.ones(30, np.int64), np.ones(30), seeds)).all()


@pytest.mark.parametrize(("count", "p"), [(2, 0.3), (7, 0.85), (50, 0.02), (400, 0.5), (100_000, 0.001)])
def test_hits_of_pooled_rows_are_binomial(count, p):
    draws = 20_000
    errors = pooled(np.array([p, 0.5]), np.array([count, 3]), np.array([1.0, 2.0]), replicate_seeds(5, draws))
    hits = count * p - errors[:, 0]
    assert hits.round(6) == pytest.approx(hits, abs=1e-6)
    for k in np.unique(np.quantile(hits.round(), [0.05, 0.3, 0.5, 0.7, 0.95])):
        truth = binom.cdf(k, count, p)
        assert np.mean(hits <= k + 0.5) == pytest.approx(truth, abs=STANDARD_ERRORS * np.sqrt(0.25 / draws))
    assert set(np.unique((errors[:, 1] / 2).round(9))) == {-1.5, -0.5, 0.5, 1.5}


def test_a_replicate_does_not_depend_on_its_block(rng):
    p, seeds = np.sort(rng.random(50)), replicate_seeds(6, 8)
    whole = single(p, seeds)
    for r in range(8):
        assert (single(p, seeds[r : r + 1])[0] == whole[r]).all()


def test_rows_of_a_cluster_share_their_fate(rng):
    p, cluster = np.sort(rng.random(30)), rng.integers(0, 4, 30)
    errors = np.empty((500, 30))
    missed = binomial_tables(p, np.ones(30, np.int64)).thresholds
    draw_shared(p, np.full(30, 2.0), missed, cluster, replicate_seeds(7, 500), errors)
    hits = p - errors / 2
    for c in range(4):
        assert (np.diff(hits[:, cluster == c], axis=1) >= -1e-12).all()  # in order of p: once hit, always hit
    assert hits.mean(axis=0) == pytest.approx(p, abs=STANDARD_ERRORS * np.sqrt(0.25 / 500))


def test_signs_are_turned_cluster_by_cluster(rng):
    observed, cluster = rng.normal(size=30), rng.integers(0, 4, 30)
    errors = np.empty((400, 30))
    flip_signs(observed, cluster, replicate_seeds(8, 400), errors)
    signs = errors / observed
    assert set(np.unique(signs)) == {-1.0, 1.0}
    for c in range(4):
        assert (np.ptp(signs[:, cluster == c], axis=1) == 0).all()
    assert np.abs(signs.mean(axis=0)).max() <= STANDARD_ERRORS / np.sqrt(400)


def test_classes_are_drawn_from_their_vector():
    probs = np.array([[0.2, 0.0, 0.5, 0.3], [0.0, 1.0, 0.0, 0.0], [0.1, 0.6, 0.3, 0.0]])
    from calibrant.resampling.classes import ClassRows

    below = ClassRows(probs, np.zeros(3, np.int32), 3).below
    labels = np.empty((20_000, 3), np.int32)
    draw_classes(below, replicate_seeds(9, 20_000), labels)
    for i in range(3):
        share = np.bincount(labels[:, i], minlength=4) / 20_000
        assert (np.abs(share - probs[i]) <= STANDARD_ERRORS * np.sqrt(probs[i] * (1 - probs[i]) / 20_000)).all()


PLAIN = {
    "draw_single": lambda p, o: (p, binomial_tables(p, np.ones(6, np.int64)).thresholds),
    "draw_shared": lambda p, o: (p, np.ones(6), binomial_tables(p, np.ones(6, np.int64)).thresholds, np.arange(6) // 2),
    "flip_signs": lambda p, o: (p - 0.3, np.arange(6) // 2),
}


def all_forms(kernel, *arguments, shape, dtype=float):
    """What the compiled, the plain and the NumPy form of a kernel fill in."""
    found = np.empty((3, *shape), dtype)
    with many_calls():
        kernel(*arguments, found[0])
    with np.errstate(over="ignore"):
        kernel.plain(*arguments, found[1])
    kernel(*arguments, found[2])
    return found


@pytest.mark.parametrize("name", PLAIN)
def test_all_forms_draw_the_same(rng, name):
    kernel, p, seeds = getattr(null_draws, name), np.sort(rng.random(6)), replicate_seeds(1, 50)
    compiled, plain, in_numpy = all_forms(kernel, *PLAIN[name](p, None), seeds, shape=(50, 6))
    assert (compiled == plain).all()
    assert (compiled == in_numpy).all()


def test_all_forms_read_the_same_tables(rng):
    p, count, seeds = np.sort(rng.random(6)), np.array([1, 2, 9, 1, 40, 3]), replicate_seeds(1, 50)
    tables = binomial_tables(p, count)
    arguments = (count * p, np.ones(6), tables.starts, tables.lowest, tables.thresholds, seeds)
    compiled, plain, in_numpy = all_forms(draw_pooled, *arguments, shape=(50, 6))
    assert (compiled == plain).all()
    assert (compiled == in_numpy).all()


@pytest.mark.parametrize("n_classes", [2, 4, COUNTED + 1, COUNTED + 2])
def test_all_forms_draw_the_same_classes(rng, n_classes):
    probs, seeds = rng.dirichlet(np.ones(n_classes), 6), replicate_seeds(1, 50)
    below = (np.cumsum(probs, axis=1)[:, :-1] * 2.0**63).astype(np.uint64)
    compiled, plain, in_numpy = all_forms(draw_classes, below, seeds, shape=(50, 6), dtype=np.int32)
    assert (compiled == plain).all()
    assert (compiled == in_numpy).all()


def test_tables_made_in_parts_are_those_made_at_once(monkeypatch):
    p, count = np.linspace(0, 1, 40), np.arange(1, 4001, 100)
    whole = binomial_tables(p, count)
    monkeypatch.setattr(null_draws, "AT_ONCE", 77)
    parts = binomial_tables(p, count)
    assert (parts.thresholds == whole.thresholds).all()
    assert (parts.starts == whole.starts).all()


def test_tables_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(null_draws, "QUICK", 500)
    monkeypatch.setattr(null_draws, "MOST_THRESHOLDS", 1000)
    with pytest.raises(InputError, match=r"counts stand for too many rows to draw labels for: .* 1,000 numbers"):
        binomial_tables(np.full(3, 0.5), np.full(3, 10**6))


def test_hits_of_very_many_rows_are_drawn_in_steps(monkeypatch):
    p, count = np.array([0.5, 0.1, 0.3]), np.array([10**8, 10**7, 1])
    monkeypatch.setattr(null_draws, "QUICK", 3000)
    tables = binomial_tables(p, count)
    assert len(tables.thresholds) < 3000
    assert tables.step.min() == 1.0 < tables.step.max()
    seeds = null_draws.replicate_seeds(0, 20_000)
    step, errors = tables.step, np.empty((20_000, 3))
    draw_pooled(count * p / step, step, tables.starts, tables.lowest / step, tables.thresholds, seeds, errors)
    spread = np.sqrt(count * p * (1 - p))
    assert (np.abs(errors.mean(axis=0)) < 4 * spread / np.sqrt(20_000)).all()
    assert np.allclose(errors.std(axis=0), spread, rtol=0.02)
