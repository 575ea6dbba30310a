"""Sums over pairs as torch operations: those of NumPy, whatever the device."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from calibrant.kernels.pairs import device_pairs
from calibrant.kernels.pairs.row_pairs import matrix_pair_sum
from calibrant.kernels.sums import device_bins
from calibrant.score.u_score import KERNELS

torch = pytest.importorskip("torch", reason="torch is not installed")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]


@pytest.fixture
def rows(rng):
    p = rng.dirichlet(np.full(5, 0.3), 700)
    p[300:350] = p[:50]  # equal rows
    p[350:360] = p[:10] + 1e-9
    return p, rng.normal(size=p.shape)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KERNELS)
def test_pairs_are_those_of_numpy(monkeypatch, rows, kind, device):
    monkeypatch.setattr(device_pairs, "BLOCK_PAIRS", 5000)
    expected = matrix_pair_sum(*rows, partial(KERNELS[kind].of, 0.4), KERNELS[kind].squared)
    assert device_pairs.pair_sum_on(device, *rows, kind, 0.4) == pytest.approx(
        expected, rel=1e-12 if device == "cpu" else 1e-5
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bandwidth", [1e-4, 0.03, 10.0])
@pytest.mark.parametrize("kind", KERNELS)
def test_pairs_of_near_rows_and_unlike_weights(rng, kind, bandwidth, device):
    p = rng.dirichlet(np.full(12, 0.2), 500)
    p[100:200] = p[:100] * (1 + 1e-5)
    errors = rng.normal(size=p.shape) * np.exp(rng.uniform(0, 14, 500))[:, None]
    expected = matrix_pair_sum(p, errors, partial(KERNELS[kind].of, bandwidth), KERNELS[kind].squared)
    found = device_pairs.pair_sum_on(device, p, errors, kind, bandwidth)
    in_float32 = 1e-3 if bandwidth < 1e-3 else 1e-5  # distances of 1e-5 have few digits left there
    assert found == pytest.approx(expected, rel=1e-12 if device == "cpu" else in_float32)


@pytest.mark.parametrize("device", DEVICES)
def test_distinct_rows_are_those_of_numpy(rows, device):
    for one, other in zip(
        device_pairs.distinct_on(device, rows[0]), np.unique(rows[0], axis=0, return_inverse=True), strict=True
    ):
        np.testing.assert_array_equal(torch.as_tensor(one).cpu(), other)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_bins", [1, 15, 32, 100])
def test_bins_are_those_of_numpy(rng, dtype, n_bins, device):
    p = np.concatenate([rng.random(500), np.arange(n_bins + 1) / n_bins]).astype(dtype)
    y = rng.random(len(p)) < p
    sums = (
        device_bins.bin_sums(torch.as_tensor(p, device=device), torch.as_tensor(y, device=device), n_bins)[0]
        .cpu()
        .numpy()
    )
    index = np.maximum(np.searchsorted(np.arange(n_bins + 1) / n_bins, p.astype(float), side="left") - 1, 0)
    wide = p.astype(float)
    for column, terms in enumerate((np.ones(len(p)), wide, wide**2, y)):
        np.testing.assert_allclose(sums[:, column], np.bincount(index, terms, n_bins), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("classes", [7, 16, 100])
def test_bins_of_classes(rng, classes, device):
    p, y = rng.dirichlet(np.full(classes, 0.1), 403).astype(np.float32), rng.integers(0, classes, 403)
    p[:15] = 0
    p[np.arange(15), np.arange(15) % classes] = np.arange(1, 16) / 15  # at the edges
    y[:15] = np.arange(15) % classes
    sums = device_bins.bin_sums(torch.as_tensor(p, device=device), torch.as_tensor(y, device=device), 15).cpu()
    for k in range(classes):
        own = device_bins.bin_sums(torch.as_tensor(p[:, k]), torch.as_tensor(y == k), 15)[0]
        np.testing.assert_allclose(sums[k], own, rtol=1e-5, atol=1e-5)
