"""Canonical calibration error: all classes jointly against a kernel estimate of the truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.arrays import device_of, to_numpy
from calibrant.inputs import check_positive
from calibrant.kernels.pairs.device_rates import loo_on, sorted_rows_on
from calibrant.kernels.pairs.row_pairs import loo_log_density, loo_rates
from calibrant.methods import estimator
from calibrant.norms import Norm, check_norm, mean_power, norm_of_name, rooted
from calibrant.predictions import DevicePredictions, Mass, Predictions, admit, shares_on_device
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.u_score import share_rows
from calibrant.types import Floats, Indices

GRID = np.logspace(-5, 0, 26)
"""Bandwidths tried: five per decade."""

JUDGES = 500
"""Rows whose likelihood chooses the bandwidth, spread evenly over the sorted rows."""

MOST_ROWS, NULL_DRAWS = 1000, 10
"""For the estimate with its noise floor: rows that are used, and data sets drawn from the predictions."""


@estimator("canonical", "canonical CE", "KDE-CE", "canonical", views=("canonical",), state="", of_the_error=False)
def canonical_error(
    labels: Any,
    probs: Any = None,
    *,
    norm: Norm = 1,
    bandwidth: float | None = None,
    root: bool = True,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far is the predicted distribution from the true one given the prediction?

    (mean ‖Ê[y|f] − f‖_p^p)^(1/p), with p = `norm`. Ê[y | f_i] is the kernel-weighted mean of
    the other rows' labels, with a Dirichlet kernel of concentration f_j/h + 1. A binary
    event counts as two classes.

    When to trust it: needs many rows for each class; the error of the estimate grows
    quickly with the number of classes.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`. Where `probs` is a
        torch tensor on a GPU, pairs are weighed there.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square, any
        number from 1 to 100; `"max"` the largest.
    bandwidth
        h; by default the one of 26 values from 10⁻⁵ to 1 with the largest leave-one-out
        likelihood (of at most 500 rows).
    root
        Take the α-th root; `False` gives the mean power, the squared error for norm 2.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: distance of the predicted distribution from a kernel estimate of the truth
      given it.
    Bias: up, by the noise of the kernel estimate; slowly vanishing.
    Cost: all pairs of rows and classes for the value, 500 rows against all for each of
      26 bandwidths; O(n) memory.
    Source: Popordanoska, Sayer, Blaschko 2022; Gruber & Buettner 2022, C.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> 0 < cal.canonical_error(test, norm=2).value < cal.root_brier(test).value
    True
    """
    predictions, device = admit(labels, probs, counts=counts, weights=weights), device_of(probs)
    norm = check_norm(norm)
    mass = predictions.mass or Mass(np.ones(len(predictions.labels)))
    counted = mass.weights > 0
    rows, truth = (x if counted.all() else x[counted] for x in _shares(predictions, device))
    weight, unit = mass.weights[counted], mass.unit[counted]
    if weight.sum() < 2:
        held = f"it holds {weight.sum():g}"
        raise InputError("labels", "must hold at least two rows: each is judged by the others", held)
    width = best_bandwidth(rows, weight, unit, device) if bandwidth is None else check_positive("bandwidth", bandwidth)
    if device is None:
        rates, _ = loo_rates(rows, truth, weight, width, unit)
    else:
        rates, _ = loo_on(device, rows, truth, weight, unit, width)
    value = rooted(_mean_power(abs(rates - rows), norm, weight), norm, root)
    described = {"view": "canonical", "norm": norm, "bandwidth": width, "root": root}
    title = norm_of_name(norm, root) + "canonical CE"
    return Estimate("canonical_error", title, value, predictions.n, None, None, described, {}, _cautions(rows))


def _shares(predictions: Predictions, device: str | None) -> tuple[Any, Any]:
    """Predictions and labels as rows of shares; tensors where there is a device."""
    if device is None:
        return share_rows(predictions)
    if isinstance(predictions, DevicePredictions):
        return shares_on_device(predictions)
    import torch

    rows, truth = share_rows(predictions)
    return torch.as_tensor(rows, device=device), torch.as_tensor(truth, device=device)


def _mean_power(distance: Any, norm: Norm, weight: Floats) -> float:
    """Of an array or a tensor; of each row one number is copied."""
    if norm == "max":
        largest = distance.amax(dim=1) if hasattr(distance, "amax") else distance.max(axis=1)
        return mean_power(to_numpy(largest, "probs"), norm, weight)
    return mean_power(to_numpy((distance**norm).sum(axis=1), "probs"), 1, weight)


def several_rows(predictions: Predictions) -> bool:
    """Are there two rows or more, counted by their weight?"""
    mass = predictions.mass
    return len(predictions.labels) > 1 and (mass is None or bool(mass.weights.sum() >= 2))


def canonical_with_noise(predictions: Predictions) -> Estimate:
    """The canonical error of at most a thousand rows, with what a calibrated model would show on them.

    Parameters
    ----------
    predictions
        Rows of several classes. Without weights the floor is known; None for soft labels.
    """
    step = -(-len(predictions.labels) // MOST_ROWS)
    used = predictions if step == 1 else predictions.rows(slice(None, None, step))
    found = canonical_error(used)
    cautions = found.cautions
    if step > 1:
        cautions += (f"of {used.n:,} of the {predictions.n:,} rows, one in {step}",)
    floor = None if used.soft or used.squares is not None else _noise(used, found.settings["bandwidth"])
    return replace(found, n=predictions.n, noise_floor=floor, cautions=cautions)


def _noise(predictions: Predictions, width: float) -> float:
    """The mean error of labels that are drawn from the predictions, in an order that does not depend on that of rows."""
    rows = predictions.probs.astype(np.float64)
    times = np.ones(len(rows)) if predictions.weights is None else predictions.weights
    order = np.lexsort((times, *rows.T[::-1]))
    order = order[times[order] > 0]
    rows, times = rows[order], times[order]
    rng, shares = np.random.default_rng(0), rows / rows.sum(axis=1, keepdims=True)
    drawn = rng.multinomial(times.astype(np.int64), shares, (NULL_DRAWS, len(rows))) / times[:, None]
    rates, _ = loo_rates(rows, np.concatenate(drawn, axis=1), times, width)
    each = np.split(rates, NULL_DRAWS, axis=1)
    return float(np.mean([_mean_power(np.abs(one - rows), 1, times) for one in each]))


def best_bandwidth(rows: Any, weight: Floats, unit: Floats | None = None, device: str | None = None) -> float:
    """The bandwidth of the grid with the largest leave-one-out likelihood; always one of the grid."""
    at, share = judges(rows, weight, device)

    def density(width: float) -> Floats:
        if device is None:
            return loo_log_density(rows, weight, width, at, unit)
        return to_numpy(loo_on(device, rows, None, weight, unit, width, at)[1], "probs")

    densities = (density(float(width)) for width in GRID)
    likelihood = [np.average(np.maximum(density, -1e6), weights=share) for density in densities]
    return float(GRID[int(np.argmax(likelihood))])


def judges(rows: Any, weight: Floats, device: str | None = None) -> tuple[Indices, Floats]:
    """All rows, or 500 evenly spread by weight over the sorted rows, so that neither order nor repetition matters."""
    order = np.lexsort(rows.T[::-1]) if device is None else to_numpy(sorted_rows_on(device, rows), "probs")
    if weight.sum() <= JUDGES:
        return order, weight[order]
    below = np.cumsum(weight[order])
    ranks = (np.arange(JUDGES) + 0.5) * below[-1] / JUDGES
    return order[np.searchsorted(below, ranks)], np.ones(JUDGES)


def _cautions(rows: Any) -> tuple[str, ...]:
    zeros = int((rows == 0).any(axis=1).sum())
    many = f"{zeros:,} rows hold" if zeros > 1 else "1 row holds"
    return (f"{many} a probability of 0, read as the smallest positive number",) if zeros else ()
