"""Calibration errors of a batch as losses: they compare all pairs of rows, in O(n²) memory."""

from __future__ import annotations

from typing import Any, Literal

from calibrant.adapt.batch import admit, torch
from calibrant.inputs import check_choice, check_positive
from calibrant.options import checked
from calibrant.problems import InputError

Estimator = Literal["unbiased", "biased"]


@checked
def mmce_loss(
    labels: Any,
    probs: Any = None,
    *,
    logits: Any = None,
    bandwidth: float = 0.4,
    root: bool = True,
    weights: Any = None,
) -> Any:
    """Maximum mean calibration error of the event or the top class.

    √(1/n² Σ_ij r_i r_j exp(−|p_i − p_j|/bandwidth)) with r = y − p. Its gradient at 0 is
    taken to be 0.

    Parameters
    ----------
    labels
        Class indices, or shares of the classes shaped as the outputs.
    probs
        Probabilities: `(n,)` of the event, or `(n, K)`.
    logits
        Logits instead of probabilities.
    bandwidth
        Scale of the Laplace kernel.
    root
        Return the error, not its square.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.losses import mmce_loss
    >>> mmce_loss([1, 0], torch.tensor([0.8, 0.4]))
    tensor(0.1878)
    """
    batch = admit(labels, probs, logits, weights)
    bandwidth = float(check_positive("bandwidth", bandwidth))
    (p, y), w = batch.top, batch.relative_weights
    r = w * (y - p)
    near = torch.exp((p[:, None] - p[None, :]).abs() / -bandwidth)
    square = (r[:, None] * r[None, :] * near).sum() / w.sum() ** 2
    return _root(square) if root else square


@checked
def skce_loss(
    labels: Any,
    probs: Any = None,
    *,
    logits: Any = None,
    estimator: Estimator = "unbiased",
    bandwidth: float | None = None,
    weights: Any = None,
) -> Any:
    """Squared kernel calibration error: mean of exp(−TV(p, p')/ν)·⟨e_y − p, e_y' − p'⟩ over pairs of rows.

    Parameters
    ----------
    labels
        Class indices, or shares of the classes shaped as the outputs.
    probs
        Probabilities: `(n,)` of the event, or `(n, K)`.
    logits
        Logits instead of probabilities.
    estimator
        `"unbiased"`, over pairs of different rows, may be negative; `"biased"` is not.
    bandwidth
        ν; the median distance of two rows of the batch if `None`, through which no gradient
        passes.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.losses import skce_loss
    >>> skce_loss([1, 0], torch.tensor([0.9, 0.2]), bandwidth=0.5)
    tensor(-0.0099)
    """
    batch = admit(labels, probs, logits, weights)
    check_choice("estimator", estimator, ("unbiased", "biased"))
    rows, w = batch.rows, batch.relative_weights
    if estimator == "unbiased" and (held := int((w > 0).sum())) < 2:
        raise InputError("labels", "must hold at least two rows for the unbiased estimator", f"it holds {held}")
    if bandwidth is None and weights is not None:
        reason = "The median distance counts each row once"
        raise InputError("bandwidth", "must be given with weights", "it is None", reason)
    width = _median_distance(rows.detach()) if bandwidth is None else float(check_positive("bandwidth", bandwidth))
    near = torch.exp(torch.cdist(rows, rows, p=1) / (-2 * width))
    error = batch.shares - rows
    pairs = torch.outer(w, w) - (torch.diag(w * w) if estimator == "unbiased" else 0)
    with torch.autocast(rows.device.type, enabled=False):
        products = error @ error.T
    return (pairs * near * products).sum() / pairs.sum()


@checked
def canonical_loss(
    labels: Any,
    probs: Any = None,
    *,
    logits: Any = None,
    bandwidth: float,
    norm: Literal[1, 2] = 1,
    root: bool = True,
    weights: Any = None,
) -> Any:
    """Canonical calibration error (mean ‖Ê[y|f] − f‖_p^p)^(1/p) by a kernel estimate.

    Ê[y | f_i] is the mean of the other rows' labels with Dirichlet kernels of concentration
    f_j/h + 1. Computed in float64, as narrow kernels are differences of large logarithms.
    Pass logits if some rows are nearly certain: the logarithm of a tiny probability has a
    very large gradient.

    Parameters
    ----------
    labels
        Class indices, or shares of the classes shaped as the outputs.
    probs
        Probabilities: `(n,)` of the event, or `(n, K)`.
    logits
        Logits instead of probabilities.
    bandwidth
        h of the kernels.
    norm
        p: 1 or 2.
    root
        Take the p-th root.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.losses import canonical_loss
    >>> canonical_loss([1, 0, 1], torch.tensor([0.8, 0.4, 0.6]), bandwidth=0.1)
    tensor(0.5472)
    """
    batch = admit(labels, probs, logits, weights)
    bandwidth = float(check_positive("bandwidth", bandwidth))
    check_choice("norm", norm, (1, 2))
    if (held := int((batch.weights > 0).sum())) < 2:
        raise InputError("labels", "must hold at least two rows: each is judged by the others", f"it holds {held}")
    dtype, batch = batch.outputs.dtype, batch.wide()
    rows, w = batch.rows, batch.relative_weights
    scaled = rows / bandwidth
    log_norm = torch.lgamma(scaled + 1).sum(dim=1) - torch.lgamma(scaled.sum(dim=1) + rows.shape[1])
    itself = torch.zeros_like(torch.outer(w, w)).fill_diagonal_(-torch.inf)  # a row is judged by the others
    log_kernel = batch.log_rows @ scaled.T + (w.log() - log_norm) + itself
    apart = torch.softmax(log_kernel, dim=1) @ batch.shares - rows
    power = (w * (apart.abs() if norm == 1 else apart**2).sum(dim=1)).sum() / w.sum()
    return (_root(power) if norm == 2 and root else power).to(dtype)


def _root(square: Any) -> Any:
    """√, with gradient 0 at 0."""
    positive = square > 0
    return torch.where(positive, torch.where(positive, square, 1.0).sqrt(), 0.0)


def _median_distance(rows: Any) -> Any:
    """The median total variation between two rows, or 1 if it is 0."""
    distance = torch.pdist(rows, p=1).sort().values / 2
    if not len(distance):
        return 1.0
    middle = (distance[(len(distance) - 1) // 2] + distance[len(distance) // 2]) / 2
    return torch.where(middle > 0, middle, 1.0)
