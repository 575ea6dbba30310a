"""Squared kernel calibration error: calibration of all classes jointly, with an unbiased estimator."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from calibrant.arrays import device_of, to_numpy
from calibrant.inputs import check_choice, check_count, check_positive, check_seed
from calibrant.interval import mean_with_interval
from calibrant.kernels.pairs.device_pairs import distinct_on, pair_sum_on
from calibrant.kernels.pairs.line_pairs import laplace_pair_sum, median_distance, middle_counts, pair_sum
from calibrant.kernels.pairs.row_pairs import matrix_pair_sum
from calibrant.kernels.sums.stable_sums import inner
from calibrant.methods import ONE_EVENT, estimator
from calibrant.predictions import DevicePredictions, Event, Predictions, admit, shares_on_device
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.u_score import KERNELS, Kernel, gaussian, share_rows
from calibrant.types import Floats, Indices, Seed

Kind = Literal["unbiased", "biased", "block"]

EXACT_MEDIAN_ROWS = 1500
"""Up to this many distinct rows the median distance is exact; above, from sampled pairs."""

SAMPLED_PAIRS = 200_000

PAIR_ENTRIES = 1 << 18
"""Differences of probabilities held at once, 2 MB, on the way to the distances of pairs."""


@estimator("skce", "SKCE", "SKCE", "KCE", views=("canonical", *ONE_EVENT), of_the_error=False)
def skce(
    labels: Any,
    probs: Any = None,
    *,
    estimator: Kind = "unbiased",
    kernel: Literal["tv", "laplace", "gaussian"] = "tv",
    bandwidth: float | None = None,
    block_size: int = 2,
    view: Any = "canonical",
    seed: Seed = 0,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """Is the predicted distribution calibrated? Squared kernel calibration error.

    Mean of κ(p, p')·⟨e_y − p, e_y' − p'⟩ over pairs of rows.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`. Where `probs` is a torch tensor on a GPU, pairs are summed there.
    estimator
        `unbiased` averages over pairs of different rows and may be negative, as it should if
        the truth is near 0. `biased` takes all pairs. `block` averages the unbiased value
        over consecutive blocks of rows, in their order, and has an interval.
    kernel
        `tv` is exp(−TV/ν), `laplace` exp(−‖·‖₂/ν), `gaussian` exp(−‖·‖₂²/(2ν²)).
    bandwidth
        ν; by default the median distance over pairs, exact up to 1500 distinct rows (always
        for one event), else of sampled pairs.
    block_size
        Rows per block; 2 is the linear estimator.
    view
        `canonical` is all classes jointly; or a yes/no question: `binary`, `top`,
        `class k`. A state has yes/no questions only.
    seed
        Of the sampled pairs.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: squared kernel calibration error of the predicted distribution; 0 only for a
      calibrated model.
    Bias: none for the unbiased and block estimators; up for the biased one.
    Cost: one sort for a single event with a Laplace kernel; all pairs of rows
      otherwise, in O(n) memory.
    Source: Widmann, Lindsten, Zachariah 2019.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.skce([1, 0], [[1.0, 0.0], [0.0, 1.0]], kernel="gaussian", bandwidth=1.0)
    >>> round(found.value, 6)  # −2/e
    -0.735759
    """
    predictions, device = admit(labels, probs, counts=counts, weights=weights), device_of(probs)
    check_choice("estimator", estimator, ("unbiased", "biased", "block"))
    check_choice("kernel", kernel, tuple(KERNELS))
    if estimator != "block":  # then it is compared with the number of rows
        check_count(block_size, "block_size", 2)
    if bandwidth is not None:
        check_positive("bandwidth", bandwidth)
    name = "canonical" if view == "canonical" else predictions.view(view)
    single = predictions.is_binary or name != "canonical"
    event = predictions.event("auto" if name == "canonical" else name) if single else None
    width, cautions = (
        (bandwidth, ()) if bandwidth is not None else _median(predictions, event, kernel, check_seed(seed), device)
    )
    described = {"view": name, "estimator": estimator, "kernel": kernel, "bandwidth": width}
    title = f"SKCE ({estimator})"
    if estimator == "block":  # blocks are independent, so there is an interval
        values = _block_values(predictions, event, KERNELS[kernel], width, block_size)
        value, interval, few = mean_with_interval(values, None, 0.95)
        left = predictions.n - len(values) * block_size
        few += (f"{left} rows do not fill a block and are not used",) if left else ()
        described |= {"block_size": block_size, "n_blocks": len(values)}
        return Estimate("skce", title, value, predictions.n, interval, 0.0, described, {}, cautions + few)
    sums = _row_sums(predictions, kernel, width, device) if event is None else _line_sums(event, kernel, width)
    total, diagonal, n, floor = sums
    if estimator == "unbiased" and n < 2:
        raise InputError("labels", "must hold at least two rows for the unbiased estimator", f"it holds {n:g}")
    value = (total - diagonal) / (n * (n - 1)) if estimator == "unbiased" else total / n**2
    expected = 0.0 if estimator == "unbiased" else floor / n**2
    return Estimate("skce", title, value, predictions.n, None, expected, described, {}, cautions)


def _line_sums(event: Event, kernel: str, width: float) -> tuple[float, float, float, float]:
    """Sums over all pairs and over the diagonal, number of rows, and the diagonal expected if calibrated."""
    pooled = event.pooled
    scaled = width / KERNELS[kernel].line
    if kernel == "gaussian":
        total = pair_sum(pooled.values, pooled.residual, lambda d: gaussian(scaled, d * d))
    else:
        total = laplace_pair_sum(pooled.values, pooled.residual, scaled)
    r = event.probs.astype(np.float64) - event.outcomes
    diagonal = inner(r, r) if event.spread is None else inner(event.spread, r * r)
    floor = inner(pooled.spread, pooled.values * (1 - pooled.values))
    return 2 * total, 2 * diagonal, pooled.total, 2 * floor


def _row_sums(
    predictions: Predictions, kernel: str, width: float, device: str | None = None
) -> tuple[float, float, float, float]:
    if device is not None and isinstance(predictions, DevicePredictions):
        return _sums_on_device(predictions, kernel, width)
    p, truth = share_rows(predictions)
    error = truth - p
    w = np.ones(len(p)) if predictions.weights is None else predictions.weights
    chosen, weighted = KERNELS[kernel], error * w[:, None]
    if device is None:
        total = matrix_pair_sum(p, weighted, partial(chosen.of, width), chosen.squared)
    else:
        total = pair_sum_on(device, p, weighted, kernel, width)
    own = w if predictions.spread is None else predictions.spread
    diagonal = inner(own, np.einsum("ij,ij->i", error, error))
    floor = inner(own, 1 - np.einsum("ij,ij->i", p, p))
    return total, diagonal, float(w.sum()), floor


def _sums_on_device(predictions: DevicePredictions, kernel: str, width: float) -> tuple[float, float, float, float]:
    """The same of rows that lie on a device: only weights travel there, and sums back."""
    import torch

    p, truth = shares_on_device(predictions)
    error, once = truth - p, np.ones(len(p))
    w, own = (
        torch.as_tensor(once if each is None else each.astype(np.float64), device=p.device)
        for each in (predictions.weights, predictions.spread)
    )
    total = pair_sum_on(str(p.device), p, error * w[:, None], kernel, width)
    diagonal, floor = (own * (error**2).sum(dim=1)).sum(), (own * (1 - (p**2).sum(dim=1))).sum()
    return total, float(diagonal), float(w.sum()), float(floor)


def _block_values(predictions: Predictions, event: Event | None, kernel: Kernel, width: float, size: int) -> Floats:
    """The unbiased value of each block of consecutive rows."""
    if predictions.squares is not None:
        raise InputError("weights", "must be left out with estimator='block'", advice="Use estimator='unbiased'")
    n_blocks = predictions.n // size if size >= 2 else 0
    if n_blocks < 1:
        raise InputError("block_size", "must be at least 2 and at most the number of rows", f"it is {size!r}")
    at = slice(None) if predictions.mass is None else predictions.mass.single()[0]
    p, truth = (x[at][: n_blocks * size].reshape(n_blocks, size, -1) for x in share_rows(predictions, event))
    error, values = truth - p, np.zeros(n_blocks)
    for i in range(size):
        for j in range(i + 1, size):
            step = p[:, i] - p[:, j]
            sums = (step * step if kernel.squared else np.abs(step)).sum(axis=-1)
            values += kernel.of(width, sums) * np.einsum("ij,ij->i", error[:, i], error[:, j])
    return values * (2 / (size * (size - 1)))


def _median(
    predictions: Predictions, event: Event | None, kernel: str, seed: int, device: str | None
) -> tuple[float, tuple[str, ...]]:
    """The median distance of two rows, or 1 if it is 0."""
    if event is not None:
        pooled = event.pooled
        found = median_distance(pooled.values, pooled.weight, pooled.spread) * KERNELS[kernel].line
    else:
        found = _median_of_rows(predictions, KERNELS[kernel], seed, device)
    equal = "at least half of all pairs of rows are equal: the median distance is 0, and the bandwidth was set to 1"
    return (found, ()) if found > 0 else (1.0, (equal,))


def _median_of_rows(predictions: Predictions, kernel: Kernel, seed: int, device: str | None) -> float:
    if device is None:
        rows, inverse = np.unique(predictions.probs.astype(np.float64), axis=0, return_inverse=True)
    else:
        there = predictions.tensor if isinstance(predictions, DevicePredictions) else predictions.probs
        rows, inverse = distinct_on(device, there)
    weight, spread = (
        np.bincount(inverse.ravel(), each, minlength=len(rows)).astype(np.float64)
        for each in (predictions.weights, predictions.spread)
    )
    rows, spread, weight = rows[weight > 0], spread[weight > 0], weight[weight > 0]
    i, j, mass, equal = pairs_of_rows(weight, spread, seed)
    distance = kernel.distance(_sums_of_steps(rows, i, j, kernel.squared))
    order = np.argsort(distance, kind="stable")
    below = np.cumsum(mass[order]) + equal
    if not len(order):
        return 0.0
    counts = np.array(middle_counts(float(below[-1])))
    middles = np.append(distance[order], distance[order[-1]])[np.searchsorted(below, counts)]
    return float(np.where(counts <= equal, 0.0, middles).mean())


def _sums_of_steps(rows: Any, i: Indices, j: Indices, squared: bool) -> Floats:
    """Σ_k |x_ik − x_jk|, or of squares, of given pairs: few pairs at a time, as their rows may be long."""
    sums, few = np.empty(len(i)), max(1, PAIR_ENTRIES // rows.shape[1])
    for start in range(0, len(i), few):
        at = slice(start, start + few)
        step = rows[i[at]] - rows[j[at]]
        sums[at] = to_numpy((step * step if squared else abs(step)).sum(axis=1), "probs")
    return sums


def pairs_of_rows(weight: Floats, spread: Floats, seed: int) -> tuple[Indices, Indices, Floats, float]:
    """Pairs of different rows with their weights, and the weight of pairs of equal rows; sampled where rows are many."""
    if len(weight) <= EXACT_MEDIAN_ROWS:
        i, j = np.triu_indices(len(weight), 1)
        return i, j, weight[i] * weight[j], float(np.maximum((weight**2 - spread) / 2, 0).sum())
    # pairs of ranks in the weighted order of the rows, so that neither order nor repetition of sorted rows matters
    i, j = np.searchsorted(np.cumsum(weight), np.random.default_rng(seed).random((2, SAMPLED_PAIRS)) * weight.sum())
    return i, j, np.ones(SAMPLED_PAIRS), 0.0
