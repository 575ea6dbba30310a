"""What other packages offer, estimator by estimator: how they are called, what they return, and where their convention differs.

Inputs are put in the form a package likes best before the clock starts. A package that cannot be imported is left out with a reason.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import calibrant as cal

BINS = 15
EDGES = BINS + 1
"""MAPIE counts edges, not bins."""


@dataclass(frozen=True)
class Peer:
    """One way to get an estimate elsewhere."""

    name: str
    call: Callable[[], Any]
    read: Callable[[Any], float] = float
    """from what it returns to the number that ours gives"""
    ours: Callable[[], Any] | None = None
    """our estimate for the question it asks, where that is another question than ours"""
    differs: str = ""
    """why the numbers need not agree"""
    other: bool = False
    """another quantity under the same name, so not counted as the fastest peer but shown beside it"""
    private: bool = False
    """not offered by the package's public functions, so treated likewise"""
    once: bool = False
    """too slow to repeat: one run, not warm"""


@dataclass
class Data:
    """Binary labels and probabilities in the forms that packages like."""

    labels: np.ndarray
    probs: np.ndarray

    @cached_property
    def ints(self) -> np.ndarray:
        return self.labels.astype(np.int64)

    @cached_property
    def floats(self) -> np.ndarray:
        return self.labels.astype(np.float64)

    @cached_property
    def two_columns(self) -> np.ndarray:
        return np.stack([1 - self.probs, self.probs], axis=1)

    @cached_property
    def top(self) -> tuple[np.ndarray, np.ndarray]:
        """Correct or not, and confidence, of the more probable class."""
        said = self.probs >= 0.5
        return (said == self.labels).astype(np.uint8), np.where(said, self.probs, 1 - self.probs)

    @cached_property
    def tensors(self) -> tuple[Any, Any]:
        import torch

        return torch.from_numpy(self.probs), torch.from_numpy(self.ints)

    @cached_property
    def single_tensors(self) -> tuple[Any, Any]:
        probs, labels = self.tensors
        return probs.float(), labels


@dataclass
class Found:
    """Peers that can be measured, and why the others cannot."""

    peers: list[Peer] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def ask(self, *makers: Callable[[], list[Peer]]) -> Found:
        for maker in makers:
            try:
                self.peers += maker()
            except ImportError as error:
                self.skipped.append(f"{maker.__name__.strip('_')}: {error}")
        return self


def torch_uncertainty() -> ModuleType:
    """Its calibration metrics alone: the package as a whole also wants torchvision and lightning, which they do not use."""
    wanted = "torch_uncertainty.metrics.classification.calibration"
    if wanted in sys.modules:
        return sys.modules[wanted]
    spec = importlib.util.find_spec("torch_uncertainty")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("No module named 'torch_uncertainty'")
    home = Path(next(iter(spec.submodule_search_locations))).parent
    for name in ("torch_uncertainty", "torch_uncertainty.metrics", "torch_uncertainty.metrics.classification"):
        package = ModuleType(name)
        package.__path__ = [str(home.joinpath(*name.split(".")))]
        sys.modules[name] = package
    return importlib.import_module(wanted)


def fresh(make: Callable[[], Any], *arguments: Any) -> Callable[[], Any]:
    """A torchmetrics-style metric made, fed and read."""

    def call() -> Any:
        metric = make()
        metric.update(*arguments)
        return metric.compute()

    return call


def equal_width(data: Data) -> Found:
    y, p = data.labels, data.probs

    def torchmetrics() -> list[Peer]:
        from torchmetrics.functional.classification import binary_calibration_error as error

        probs, labels = data.tensors
        return [
            Peer("torchmetrics", lambda: error(probs, labels, n_bins=BINS)),
            Peer("torchmetrics, unchecked", lambda: error(probs, labels, n_bins=BINS, validate_args=False)),
        ]

    def netcal() -> list[Peer]:
        from netcal.metrics import ECE

        return [Peer("netcal", lambda: ECE(BINS).measure(p, y))]

    def probcal() -> list[Peer]:
        from probcal.metrics import ece

        return [Peer("probcal", lambda: ece(y, p, n_bins=BINS, strategy="width"))]

    def mapie() -> list[Peer]:
        from mapie.metrics.calibration import expected_calibration_error as error

        return [Peer("MAPIE", lambda: error(data.ints, p, num_bins=EDGES, split_strategy="uniform"))]

    def uncertainty_calibration() -> list[Peer]:
        from calibration import get_ece

        return [Peer("uncertainty-calibration", lambda: get_ece(p, data.ints, num_bins=BINS))]

    def pycalib() -> list[Peer]:
        from pycalib.metrics import binary_ECE

        return [Peer("pycalib", lambda: binary_ECE(data.floats, p, bins=BINS))]

    def calzone() -> list[Peer]:
        from calzone.metrics import calculate_ece_mce
        from calzone.utils import reliability_diagram

        def call() -> Any:
            rates, means, _, counts = reliability_diagram(y, data.two_columns, num_bins=BINS, class_to_plot=1)
            return calculate_ece_mce(rates, means, counts)

        return [Peer("calzone", call, lambda found: float(found[0]))]

    def relplot() -> list[Peer]:
        from relplot.metrics import binnedECE

        return [Peer("relplot", lambda: binnedECE(p, data.floats, nbins=BINS))]

    def mcgrad() -> list[Peer]:
        from mcgrad.metrics import expected_calibration_error as error

        return [Peer("MCGrad", lambda: error(data.ints, p, num_bins=BINS))]

    def calibre() -> list[Peer]:
        from calibre import expected_calibration_error as error

        return [Peer("calibre", lambda: error(data.ints, p, n_bins=BINS))]

    makers = (torchmetrics, netcal, probcal, mapie, uncertainty_calibration, pycalib, calzone, relplot, mcgrad, calibre)
    return Found().ask(*makers)


def debiased_root(data: Data) -> Found:
    def uncertainty_calibration() -> list[Peer]:
        from calibration.utils import get_equal_prob_bins, lower_bound_scaling_ce

        options = {"p": 2, "debias": True, "num_bins": BINS, "binning_scheme": get_equal_prob_bins}
        return [Peer("uncertainty-calibration", lambda: lower_bound_scaling_ce(data.probs, data.ints, **options))]

    def probcal() -> list[Peer]:
        from probcal.metrics import ece_debiased

        note = "mean of the bins' roots, each bin floored at 0"
        call = partial(ece_debiased, data.labels, data.probs, n_bins=BINS, strategy="width")
        return [Peer("probcal", call, differs=note, other=True)]

    def torchmetrics() -> list[Peer]:
        from torchmetrics.functional.classification.calibration_error import _ce_compute

        probs, labels = data.tensors
        name = "torchmetrics, internal _ce_compute"
        return [Peer(name, lambda: _ce_compute(probs, labels, BINS, "l2", debias=True), private=True)]

    return Found().ask(uncertainty_calibration, probcal, torchmetrics)


def debiased_mean(data: Data) -> Found:
    def uncertainty_calibration() -> list[Peer]:
        from calibration import get_ece

        note = "1000 random draws where ours has the integral"
        call = partial(get_ece, data.probs, data.ints, debias=True, num_bins=BINS)
        return [Peer("uncertainty-calibration", call, differs=note)]

    return Found().ask(uncertainty_calibration)


def largest_sum(data: Data) -> Found:
    y, p = data.labels, data.probs

    def probcal() -> list[Peer]:
        from probcal.metrics import ecce

        return [Peer("probcal", lambda: ecce(y, p), lambda found: found.stat_max)]

    def mapie() -> list[Peer]:
        from mapie.metrics.calibration import kolmogorov_smirnov_statistic, length_scale

        scale = length_scale(p)
        return [Peer("MAPIE", lambda: kolmogorov_smirnov_statistic(data.ints, p), lambda found: found * scale)]

    return Found().ask(probcal, mapie)


def range_of_sums(data: Data) -> Found:
    def mcgrad() -> list[Peer]:
        from mcgrad.metrics import ecce

        return [Peer("MCGrad", lambda: ecce(data.ints, data.probs))]

    def mapie() -> list[Peer]:
        from mapie.metrics.calibration import kuiper_statistic, length_scale

        scale = length_scale(data.probs)
        return [Peer("MAPIE", lambda: kuiper_statistic(data.ints, data.probs), lambda found: found * scale)]

    return Found().ask(mcgrad, mapie)


def equal_mass(data: Data) -> Found:
    y, p = data.labels, data.probs
    cut = "cuts at interpolated quantiles: a row may change bins"

    def probcal() -> list[Peer]:
        from probcal.metrics import ece

        return [Peer("probcal", lambda: ece(y, p, n_bins=BINS, strategy="mass"), differs=cut)]

    def netcal() -> list[Peer]:
        from netcal.metrics import ECE

        return [Peer("netcal", lambda: ECE(BINS, equal_intervals=False).measure(p, y), differs=cut)]

    def mapie() -> list[Peer]:
        from mapie.metrics.calibration import expected_calibration_error as error

        return [Peer("MAPIE", lambda: error(data.ints, p, num_bins=EDGES, split_strategy="quantile"), differs=cut)]

    def uncertainty_calibration() -> list[Peer]:
        from calibration import get_ece_em

        note = "the first bins take the rows left over"
        return [Peer("uncertainty-calibration", lambda: get_ece_em(p, data.ints, num_bins=BINS), differs=note)]

    def mcgrad() -> list[Peer]:
        from mcgrad.metrics import adaptive_calibration_error as error

        note = "edges rounded to three digits by pandas.qcut"
        return [Peer("MCGrad", lambda: error(data.ints, p, num_bins=BINS), differs=note)]

    def calzone() -> list[Peer]:
        from calzone.metrics import calculate_ece_mce
        from calzone.utils import reliability_diagram

        def call() -> Any:
            options = {"num_bins": BINS, "class_to_plot": 1, "is_equal_freq": True}
            rates, means, _, counts = reliability_diagram(y, data.two_columns, **options)
            return calculate_ece_mce(rates, means, counts)

        return [Peer("calzone", call, lambda found: float(found[0]), differs=cut + "; drops the smallest")]

    def torch_uncertainty_() -> list[Peer]:
        metrics = torch_uncertainty()
        make, ours = (
            partial(metrics.AdaptiveCalibrationError, "binary", num_bins=BINS),
            partial(cal.binned_error, *data.top),
        )
        note = "asks about the more probable class, in float32"
        return [Peer("torch-uncertainty", fresh(make, *data.single_tensors), ours=ours, differs=note)]

    return Found().ask(probcal, netcal, mapie, uncertainty_calibration, mcgrad, calzone, torch_uncertainty_)


def sweep(data: Data) -> Found:
    def probcal() -> list[Peer]:
        from probcal.metrics import ece_sweep

        note = "cuts at interpolated quantiles, at most 100 bins"
        return [Peer("probcal", lambda: ece_sweep(data.labels, data.probs), differs=note)]

    return Found().ask(probcal)


def smooth(data: Data) -> Found:
    def relplot() -> list[Peer]:
        from relplot import smECE

        note = "the width to 1/1024; the cells at 0 and 1 do not conserve mass"
        return [Peer("relplot", lambda: smECE(data.probs, data.floats), differs=note)]

    def probcal() -> list[Peer]:
        from probcal.metrics import smooth_ece

        note = "smooths log-odds, not probabilities"
        return [Peer("probcal", lambda: smooth_ece(data.labels, data.probs), differs=note, other=True)]

    def torch_uncertainty_() -> list[Peer]:
        metrics = torch_uncertainty()
        make, ours = (
            partial(metrics.SmoothCalibrationError, kernel_type="reflected"),
            partial(cal.smooth_error, *data.top),
        )
        note = "asks about the more probable class, in float32; the width to 1/1024"
        return [Peer("torch-uncertainty", fresh(make, *data.single_tensors), ours=ours, differs=note)]

    return Found().ask(relplot, probcal, torch_uncertainty_)


def mean_embedding(data: Data) -> Found:
    """MMCE: all pairs at once in memory, so only for few rows."""

    def netcal() -> list[Peer]:
        from netcal.metrics import MMCE

        ours = partial(cal.mmce, *data.top)
        return [
            Peer(
                "netcal", lambda: MMCE().measure(data.two_columns, data.ints), ours=ours, differs="more probable class"
            )
        ]

    def probcal() -> list[Peer]:
        from probcal.metrics import skce

        options = {"estimator": "biased", "bandwidth": 0.4}
        call = partial(skce, data.labels, data.probs, **options)
        return [Peer("probcal, as skce", call, lambda found: math.sqrt(found / 2))]  # twice the squared MMCE

    return Found().ask(netcal, probcal)


def one_event_kernel(data: Data, bandwidth: float) -> Found:
    def probcal() -> list[Peer]:
        from probcal.metrics import skce

        return [Peer("probcal", lambda: skce(data.labels, data.probs, bandwidth=bandwidth))]

    return Found().ask(probcal)


def classwise(labels: np.ndarray, probs: np.ndarray) -> Found:
    edge = "edges in float32"

    def torchmetrics() -> list[Peer]:
        import torch
        from torchmetrics.functional.classification import binary_calibration_error as error

        columns, y = torch.from_numpy(np.ascontiguousarray(probs.T)), torch.from_numpy(labels.astype(np.int64))

        def call() -> float:
            each = [error(p, y == k, n_bins=BINS, validate_args=False) for k, p in enumerate(columns)]
            return float(torch.stack(each).mean())

        return [Peer("torchmetrics, unchecked, a loop over classes", call, differs=edge)]

    def pycalib() -> list[Peer]:
        from pycalib.metrics import classwise_ECE

        one_hot = np.zeros(probs.shape, np.uint8)
        one_hot[np.arange(len(labels)), labels] = 1
        return [Peer("pycalib", lambda: classwise_ECE(one_hot, probs, bins=BINS), differs="means in float32")]

    def mapie() -> list[Peer]:
        from mapie.metrics.calibration import expected_calibration_error as error

        options = {"num_bins": EDGES, "split_strategy": "uniform", "classwise": True, "class_labels": labels}
        return [Peer("MAPIE", lambda: error(None, probs, **options), differs="sums in float32")]

    def uncertainty_calibration() -> list[Peer]:
        from calibration import get_ece

        call = partial(get_ece, probs, labels, num_bins=BINS, mode="marginal")
        return [Peer("uncertainty-calibration", call, once=True)]

    return Found().ask(torchmetrics, pycalib, mapie, uncertainty_calibration)


def numpy_pairs(labels: np.ndarray, probs: np.ndarray, bandwidth: float) -> Found:
    """SKCE, unbiased, total variation kernel, as one would write it: no package for Python has it for several classes."""
    n, k = probs.shape
    error = np.eye(k)[labels] - probs

    def peer(name: str, total: Callable[..., float], **facts: Any) -> Peer:
        itself = float((error * error).sum())

        def call() -> float:
            with one_blas_thread():
                return (total(probs, error, bandwidth) - itself) / (n * (n - 1))

        return Peer(name, call, **facts)

    def scipy() -> list[Peer]:
        importlib.import_module("scipy.spatial.distance")
        return [peer("NumPy and SciPy's cdist, in blocks", total_by_cdist, differs="distances compiled", other=True)]

    plain = {"broadcast": total_by_broadcast, "class by class": total_by_class, "small tiles": total_by_tiles}
    return Found([peer(f"NumPy in blocks, {name}", total) for name, total in plain.items()]).ask(scipy)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Small products gain nothing from a second thread, and each waits some 8 ms for it when the other core is busy."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, "blas")


def total_by_broadcast(probs: np.ndarray, error: np.ndarray, bandwidth: float, rows: int = 64) -> float:
    total = 0.0
    for start in range(0, len(probs), rows):
        part = slice(start, start + rows)
        distance = np.abs(probs[part, None, :] - probs[None, :, :]).sum(axis=-1) / 2
        total += float((np.exp(-distance / bandwidth) * (error[part] @ error.T)).sum())
    return total


def total_by_class(probs: np.ndarray, error: np.ndarray, bandwidth: float, rows: int = 256) -> float:
    total = 0.0
    for start in range(0, len(probs), rows):
        part = slice(start, start + rows)
        distance = np.zeros((len(probs[part]), len(probs)))
        for column in probs.T:
            distance += np.abs(column[part, None] - column)
        total += float((np.exp(-distance / (2 * bandwidth)) * (error[part] @ error.T)).sum())
    return total


def total_by_tiles(probs: np.ndarray, error: np.ndarray, bandwidth: float, side: int = 256) -> float:
    """Class by class, with every temporary in cache."""
    total, n, columns = 0.0, len(probs), np.ascontiguousarray(probs.T)
    room = np.empty((2, side, side))
    for i in range(0, n, side):
        for j in range(0, n, side):
            rows, others = slice(i, min(i + side, n)), slice(j, min(j + side, n))
            distance, step = room[:, : rows.stop - i, : others.stop - j]
            distance[:] = 0.0
            for column in columns:
                np.subtract(column[rows, None], column[others], out=step)
                distance += np.abs(step, out=step)
            np.exp(np.multiply(distance, -0.5 / bandwidth, out=distance), out=distance)
            total += float((distance * (error[rows] @ error[others].T)).sum())
    return total


def total_by_cdist(probs: np.ndarray, error: np.ndarray, bandwidth: float, rows: int = 256) -> float:
    from scipy.spatial.distance import cdist

    total = 0.0
    for start in range(0, len(probs), rows):
        part = slice(start, start + rows)
        kernel = np.exp(cdist(probs[part], probs, "cityblock") / (-2 * bandwidth))
        total += float((kernel * (error[part] @ error.T)).sum())
    return total
