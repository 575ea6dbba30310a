"""Kernel estimates at each row from all others as torch operations and as one fused kernel: those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.pairs import device_rates
from calibrant.kernels.pairs.row_pairs import loo_log_density, loo_rates

torch = pytest.importorskip("torch", reason="torch is not installed")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]
ROUNDED = {"cpu": 1e-10, "cuda": 3e-6}  # weights are float32 in the fused kernel


def shares(rng, labels, k, n):
    return np.eye(k)[rng.integers(0, k, n)] if labels == "hard" else rng.dirichlet(np.ones(k), n)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bandwidth", [1e-4, 0.05, 1.0])
@pytest.mark.parametrize(
    ("n", "k", "labels"), [(700, 5, "hard"), (64, 2, "soft"), (333, 16, "soft"), (130, 63, "hard")]
)
def test_rates_are_those_of_numpy(monkeypatch, rng, n, k, labels, bandwidth, device):
    monkeypatch.setattr(device_rates, "BLOCK_PAIRS", 5000)
    p = rng.dirichlet(np.full(k, 0.3), n)
    p[40:50] = p[:10]  # equal rows
    p[50:53] = np.eye(k)[:1]  # zeros
    truth, weight = shares(rng, labels, k, n), rng.integers(1, 4, n).astype(float)
    found = device_rates.loo_on(device, p, truth, weight, None, bandwidth)
    for one, other in zip(found, loo_rates(p, truth, weight, bandwidth), strict=True):
        np.testing.assert_allclose(one.cpu(), other, rtol=ROUNDED[device], atol=ROUNDED[device])
    at = np.array([3, 50, n - 1])
    _, density = device_rates.loo_on(device, p, None, weight, np.ones(n), bandwidth, at)
    np.testing.assert_allclose(density.cpu(), loo_log_density(p, weight, bandwidth, at), rtol=ROUNDED[device])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("most", [2, 64])
def test_rows_are_sorted_as_numpy_does(monkeypatch, rng, most, device):
    monkeypatch.setattr(device_rates, "MOST_CLASSES", most)
    p = np.round(rng.dirichlet(np.ones(4), 300), 1)  # many ties
    found = device_rates.sorted_rows_on(device, torch.as_tensor(p, device=device))
    np.testing.assert_array_equal(found.cpu(), np.lexsort(p.T[::-1]))
