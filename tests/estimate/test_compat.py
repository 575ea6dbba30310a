"""What other packages print, edge for edge. Run with the packages installed; each is skipped where it is missing."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.estimate.compat import PRESETS, torch_linspace

TORCH_ROUNDING = 2e-6
"""Peers add up in the precision of the data, here float32; ours in float64."""


def peer(name):
    """A package that may warn when imported, which is its business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def awkward(rng, dtype):
    """Every value of several grids and both its neighbours, exact 0 and 1, ties, and ordinary numbers."""
    grids = np.concatenate([np.arange(b + 1) / b for b in (10, 15, 20)]).astype(dtype)
    beside = [np.nextafter(grids, dtype(end)) for end in (0, 1)]
    probs = np.concatenate([grids, *beside, rng.random(100), rng.integers(0, 2, 50)]).astype(dtype)
    return (rng.random(len(probs)) < 0.3 + 0.4 * probs).astype(int), probs


def awkward_matrix(rng, dtype, n=400):
    parts = rng.multinomial(20, [0.6, 0.2, 0.1, 0.1], n)
    return rng.integers(0, 4, n), (parts / 20).astype(dtype)


def fused_linspace(n_bins, dtype):
    """torch.linspace(0, 1): up from 0 in the lower half, down from 1 in the upper, each step·i rounded once with the
    addition, as every build with fused multiply-add does (AVX2, AVX-512, ARM, CUDA)."""
    step = Fraction(float(dtype(1) / dtype(n_bins)))
    half = (n_bins + 1) // 2
    exact = [step * i if i < half else 1 - step * (n_bins - i) for i in range(n_bins + 1)]
    return np.array([float(edge) for edge in exact]).astype(dtype)  # exact in float64 where dtype is float32


def guo(labels, probs, n_bins):
    """Guo et al.'s code with NumPy for torch: linspace in float32, gt lower and le upper; rows at 0 are in no bin."""
    labels, probs = np.asarray(labels), np.asarray(probs)
    confidences, right = probs, labels
    if probs.ndim == 2:
        confidences, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    edges = fused_linspace(n_bins, np.float32)
    total = 0.0
    for low, high in itertools.pairwise(edges):
        inside = (confidences > confidences.dtype.type(low)) & (confidences <= confidences.dtype.type(high))
        if inside.any():
            gap = confidences[inside].astype(float).mean() - right[inside].astype(float).mean()
            total += abs(gap) * inside.mean()
    return total


@pytest.mark.parametrize("n_bins", [1, 2, 5, 10, 15, 20, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_guo(rng, dtype, n_bins):
    for labels, probs in (awkward(rng, dtype), awkward_matrix(rng, dtype)):
        assert cal.ece(labels, probs, bins=n_bins, compat="guo").value == pytest.approx(
            guo(labels, probs, n_bins), abs=1e-12
        )


def test_guos_zeros_count_but_lie_in_no_bin():
    found = cal.ece([1, 1, 1], [0.0, 0.5, 0.5], compat="guo")
    assert found.value == pytest.approx(2 / 3 * 0.5)
    assert any("fall into no bin" in caution for caution in found.cautions)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_step_up_from_zero_and_down_from_one(dtype):
    for n_bins in [*range(1, 130), 255, 1000]:
        assert np.array_equal(torch_linspace(n_bins, dtype).astype(dtype), fused_linspace(n_bins, dtype)), n_bins


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_edges_are_those_of_torch(dtype):
    torch = peer("torch")
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        pytest.skip("this build of torch has no fused multiply-add")
    for n_bins in [*range(1, 130), 255, 1000]:
        expected = torch.linspace(0, 1, n_bins + 1, dtype=getattr(torch, dtype)).numpy()
        assert np.array_equal(torch_linspace(n_bins, dtype).astype(dtype), expected), n_bins


@pytest.mark.parametrize("n_bins", [5, 10, 15, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_torchmetrics(rng, dtype, n_bins):
    peer("torchmetrics")
    torch = peer("torch")
    from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

    labels, probs = awkward(rng, dtype)
    theirs = float(binary_calibration_error(torch.tensor(probs), torch.tensor(labels), n_bins=n_bins))
    assert cal.ece(labels, probs, bins=n_bins, compat="torchmetrics").value == pytest.approx(theirs, abs=TORCH_ROUNDING)
    labels, probs = awkward_matrix(rng, dtype)
    theirs = float(
        multiclass_calibration_error(torch.tensor(probs), torch.tensor(labels), num_classes=4, n_bins=n_bins)
    )
    assert cal.ece(labels, probs, bins=n_bins, compat="torchmetrics").value == pytest.approx(theirs, abs=TORCH_ROUNDING)


def test_torchmetrics_of_two_columns_is_the_top_class(rng):
    peer("torchmetrics")
    torch = peer("torch")
    from torchmetrics.functional.classification import multiclass_calibration_error

    labels, p = awkward(rng, np.float32)
    probs = np.stack([1 - p, p], axis=1)
    theirs = float(multiclass_calibration_error(torch.tensor(probs), torch.tensor(labels), num_classes=2, n_bins=15))
    assert cal.ece(labels, probs, compat="torchmetrics").value == pytest.approx(theirs, abs=TORCH_ROUNDING)


@pytest.mark.parametrize("n_bins", [5, 10, 15, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_netcal(rng, dtype, n_bins):
    peer("netcal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from netcal.metrics import ECE

        cases = [awkward(rng, dtype), awkward_matrix(rng, dtype)]
        theirs = [float(ECE(n_bins).measure(probs, labels)) for labels, probs in cases]
    ours = [cal.ece(labels, probs, bins=n_bins, compat="netcal").value for labels, probs in cases]
    assert ours == pytest.approx(theirs, abs=TORCH_ROUNDING)


def test_netcal_of_two_columns(rng):
    peer("netcal")
    labels, p = awkward(rng, np.float64)
    probs = np.stack([1 - p, p], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from netcal.metrics import ECE

        theirs = float(ECE(15).measure(probs, labels))
    assert cal.ece(labels, probs, compat="netcal").value == pytest.approx(theirs, abs=TORCH_ROUNDING)


@pytest.mark.parametrize("n_bins", [5, 10, 15, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sklearn(rng, dtype, n_bins):
    peer("sklearn")
    from sklearn.calibration import calibration_curve

    labels, probs = awkward(rng, dtype)
    rate, mean = calibration_curve(labels, probs, n_bins=n_bins)
    edges = np.linspace(0, 1, n_bins + 1)
    counts = np.bincount(np.searchsorted(edges[1:-1], probs), minlength=n_bins)
    expected = (np.abs(rate - mean) * counts[counts > 0]).sum() / len(labels)
    assert cal.ece(labels, probs, bins=n_bins, compat="sklearn").value == pytest.approx(expected, abs=1e-12)
    pair = np.stack([1 - probs, probs], axis=1)
    assert cal.ece(labels, pair, bins=n_bins, compat="sklearn").value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_says_how_it_differs(name):
    found = cal.ece([0, 1], [0.2, 0.7], compat=name)
    assert PRESETS[name].package in found.title
    assert found.settings["compat"] == name
    assert found.settings["differs"]
    assert cal.results.Estimate.from_json(found.to_json()) == found


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.norm == 1])
def test_away_from_edges_all_packages_agree(rng, name):
    probs = (rng.integers(0, 15, 300) + rng.uniform(0.1, 0.9, 300)) / 15
    labels = rng.random(300) < probs
    assert cal.ece(labels, probs, compat=name).value == pytest.approx(cal.ece(labels, probs).value, abs=1e-12)


@pytest.mark.parametrize("n_bins", [0, -3, 2.5, "15", True])
@pytest.mark.parametrize("name", [None, *PRESETS])
def test_the_number_of_bins_is_checked_for_every_package(name, n_bins):
    with pytest.raises(InputError, match=r"bins must be a (whole number|number of bins)"):
        cal.ece([0, 1], [0.2, 0.7], bins=n_bins, compat=name)


@pytest.mark.parametrize("compat", ["Guo", "", 3])
def test_an_unknown_package_is_refused(compat):
    with pytest.raises(
        InputError,
        match="compat must be one of 'guo', 'torchmetrics', 'torchmetrics_l2', 'torchmetrics_max', 'netcal', 'sklearn', 'hle'; it is",
    ):
        cal.ece([0, 1], [0.2, 0.7], compat=compat)


def test_the_default_is_fifteen_equal_width_bins(rng):
    said = Predictions(rng.integers(0, 2, 50), rng.random(50))
    assert cal.ece(said) == cal.binned_error(said, bins=cal.EqualWidth(15))


# Humanity's Last Exam: runs of a hundred rows, the last one skipped.


def exam_error(confidences, right, size=100, last=False):
    """Root mean square over runs of rows in order of confidence, as published, with a stable sort."""
    order = sorted(range(len(confidences)), key=lambda i: confidences[i])
    n, runs = len(order), len(order) // size
    ends = [size * i for i in range(max(runs, 1))] + [n]
    total = 0.0
    for start, stop in itertools.pairwise(ends if last else ends[:-1]):
        rows = order[start:stop]
        gap = sum(float(confidences[i]) for i in rows) / len(rows) - sum(float(right[i]) for i in rows) / len(rows)
        total += len(rows) / n * gap**2
    return total**0.5


@pytest.mark.parametrize("n", [1, 99, 100, 199, 200, 250, 999, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hle(rng, n, dtype):
    confidences = rng.choice([0.0, 0.5, 0.8, 0.9, 0.95, 1.0], n).astype(dtype)
    right = (rng.random(n) < confidences - 0.2).astype(int)
    found = cal.ece(right, confidences, compat="hle")
    assert found.value == pytest.approx(exam_error(confidences, right), abs=1e-12)
    assert found.parts["all_rows"].value == pytest.approx(exam_error(confidences, right, last=True), abs=1e-12)
    assert found.n == n
    left_out = n - 100 * max(n // 100 - 1, 0)
    assert f"the {left_out} most confident rows are left out" in found.cautions[0]


def test_hle_of_fewer_than_two_runs_is_always_zero():
    found = cal.ece([0] * 199, [1.0] * 199, compat="hle")
    assert found.value == 0
    assert found.parts["all_rows"].value == 1


def test_the_corrected_value_counts_every_row_and_subtracts_noise(rng):
    p = rng.random(3000)
    found = cal.ece(rng.random(3000) < p, p, compat="hle")
    again = cal.binned_error(rng.random(3000) < p, p, bins=cal.EqualMass(30), norm=2, debiased=True)
    assert found.parts["corrected"].settings == again.settings
    assert found.parts["corrected"].value < found.parts["all_rows"].value


def test_hle_knows_no_weights_and_no_classes():
    with pytest.raises(InputError, match="weights cannot be used with runs of rows"):
        cal.ece([0, 1], [0.2, 0.7], compat="hle", counts=[1, 2])
    with pytest.raises(InputError, match="'classwise' is many questions"):
        cal.ece([0, 1], [[0.2, 0.8], [0.3, 0.7]], compat="hle", view="classwise")


def test_runs_know_the_run_of_each_row(rng):
    from calibrant.estimate.compat import RunsOf

    event = Predictions(rng.integers(0, 2, 250), rng.integers(0, 4, 250) / 4).event()
    runs, state = RunsOf().index(event), RunsOf().collect(event)
    assert np.bincount(runs).tolist() == state.weight[0].tolist() == [100, 150]
    assert np.bincount(RunsOf(last=False).index(event)).tolist() == [100, 150]
    assert (state.low[0] <= state.mean_prob[0]).all()
    assert (state.mean_prob[0] <= state.high[0]).all()
    with pytest.raises(InputError, match="runs of rows cannot be used class by class"):
        RunsOf().collect_classes(event)
    assert not RunsOf().mergeable


@pytest.mark.parametrize(("compat", "norm"), [("torchmetrics_l2", 2), ("torchmetrics_max", "max")])
def test_other_norms_of_torchmetrics_have_its_bins(rng, compat, norm):
    p = np.append((rng.integers(0, 10, 300) + 0.5) / 10, [1.0] * 20)  # exactly 1 has a bin of its own
    y = (rng.random(320) < p**1.5).astype(int)
    index = (p * 10).astype(int)
    gaps = [(np.mean(index == k), abs(p[index == k].mean() - y[index == k].mean())) for k in set(index)]
    expected = max(gap for _, gap in gaps) if norm == "max" else sum(share * gap**2 for share, gap in gaps) ** 0.5
    found = cal.ece(y, p, bins=10, compat=compat)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert "torchmetrics with norm" in found.title


@pytest.mark.parametrize("norm", ["l2", "max"])
def test_other_norms_are_those_of_torchmetrics(rng, norm):
    peer("torchmetrics")
    torch = peer("torch")
    from torchmetrics.functional.classification import binary_calibration_error

    labels, probs = awkward(rng, np.float64)
    theirs = float(binary_calibration_error(torch.tensor(probs), torch.tensor(labels), n_bins=15, norm=norm))
    found = cal.ece(labels, probs, bins=15, compat=f"torchmetrics_{norm}").value
    assert found == pytest.approx(theirs, abs=TORCH_ROUNDING)
