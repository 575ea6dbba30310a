"""Proper scores and calibration errors as losses for training.

Functions follow calibrant, labels first: `brier_loss(labels, probs)` or
`brier_loss(labels, logits=z)`. Modules follow torch: `BrierLoss()(outputs, labels)`,
with logits as outputs unless `inputs="probs"`. In float64 both give the numbers of the
estimators of the same name. Outputs are `(n,)` or `(n, 1)` for a single event, else
`(n, K)`. Labels are class indices or shares of the classes, of the same shape as the
outputs. Labels and weights are moved to the device of the outputs, and half precision
is computed in float32. Data are checked on the CPU as all predictions are.

Proper scores (Brier, log, Dawid–Sebastiani) can be trained on alone. The calibration
errors cannot: a network that gives all rows the same prediction may be calibrated. Add
them to a score, as in `LogLoss()(z, y) + 0.5 * MMCELoss()(z, y)`. They compare all
pairs of rows of a batch, in O(n²) memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from calibrant.adapt.batch import admit, column, column_like, functional, one_of, row_weights, torch
from calibrant.adapt.error_losses import Estimator, canonical_loss, mmce_loss, skce_loss
from calibrant.inputs import check_all_positive, check_choice, check_column, check_positive
from calibrant.options import checked

Reduction = Literal["mean", "sum", "none"]
Inputs = Literal["logits", "probs"]


@checked
def brier_loss(
    labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Brier score Σ_k (p_k − [y = k])²; for a single event both classes count.

    With shares q as labels it is the expectation over labels drawn from them,
    Σ_k (p_k − q_k)² + 1 − Σ_k q_k².

    Parameters
    ----------
    labels
        Class indices, or shares of the classes shaped as the outputs.
    probs
        Probabilities: `(n,)` of the event, or `(n, K)`.
    logits
        Logits instead of probabilities.
    weights
        How much each row matters, relative to the others; by default all the same.
    reduction
        `"mean"` over the rows, `"sum"`, or `"none"`: one value per row.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.losses import brier_loss
    >>> brier_loss([1, 0], torch.tensor([0.8, 0.4]))
    tensor(0.2000)
    """
    batch = admit(labels, probs, logits, weights)
    shares = batch.shares
    rows = ((batch.rows - shares) ** 2).sum(dim=1) + (1 - (shares**2).sum(dim=1))
    return _reduced(rows, batch.weights, reduction)


@checked
def log_loss(labels: Any, *, logits: Any, weights: Any = None, reduction: Reduction = "mean") -> Any:
    """Log score −ln p(label), in nats. Of logits only: a probability rounded to 0 has no gradient.

    Parameters
    ----------
    labels
        Class indices, or shares of the classes shaped as the outputs.
    logits
        Logits: `(n,)` of the event, or `(n, K)`.
    weights
        How much each row matters, relative to the others; by default all the same.
    reduction
        `"mean"` over the rows, `"sum"`, or `"none"`: one value per row.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.losses import log_loss
    >>> log_loss([1, 0], logits=torch.tensor([1000.0, 1000.0]))
    tensor(500.)
    """
    batch = admit(labels, None, logits, weights)
    if batch.outputs.ndim == 1:
        rows = functional.binary_cross_entropy_with_logits(batch.outputs, batch.labels, reduction="none")
    else:
        rows = functional.cross_entropy(batch.outputs, batch.labels, reduction="none")
    return _reduced(rows, batch.weights, reduction)


@checked
def dawid_sebastiani_loss(
    labels: Any,
    mean: Any,
    variance: Any = None,
    *,
    log_variance: Any = None,
    weights: Any = None,
    reduction: Reduction = "mean",
) -> Any:
    """Dawid–Sebastiani score (μ − y)²/σ² + ln σ² of forecasts of a mean and a variance.

    Parameters
    ----------
    labels
        Observed numbers, one per row.
    mean
        Forecast means.
    variance
        Forecast variances.
    log_variance
        Their logarithms instead.
    weights
        How much each row matters, relative to the others; by default all the same.
    reduction
        `"mean"` over the rows, `"sum"`, or `"none"`: one value per row.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.losses import dawid_sebastiani_loss
    >>> dawid_sebastiani_loss([1.0, 3.0], torch.tensor([0.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(0.5000)
    """
    name, spread = one_of("variance", variance, "log_variance", log_variance)
    mean = column("mean", mean)
    spread = column(name, spread, len(mean))
    y = column_like("labels", labels, mean)
    if name == "variance":
        check_all_positive(check_column(spread, name), name)
        rows = (mean - y) ** 2 / spread + spread.log()
    else:
        rows = (mean - y) ** 2 * torch.exp(-spread) + spread
    return _reduced(rows, row_weights(weights, mean), reduction)


class _Loss(torch.nn.Module):  # type: ignore[misc]
    """A function of this file called as torch calls losses."""

    def __init__(self, function: Callable[..., Any], inputs: str, **options: Any) -> None:
        super().__init__()
        self.function, self.options = function, options
        self.inputs = check_choice("inputs", inputs, ("logits", "probs"))

    def forward(self, outputs: Any, labels: Any, weights: Any = None) -> Any:
        """The loss of the outputs of a network, given labels and weights."""
        return self.function(labels, **{self.inputs: outputs}, weights=weights, **self.options)

    def extra_repr(self) -> str:
        """The settings."""
        return ", ".join(f"{name}={value!r}" for name, value in ({"inputs": self.inputs} | self.options).items())


@checked
class BrierLoss(_Loss):
    """`brier_loss` as a module: `loss(outputs, labels, weights=None)`.

    Parameters
    ----------
    inputs
        What the network gives: `"logits"` or `"probs"`.
    reduction
        `"mean"` over the rows, `"sum"`, or `"none"`: one value per row.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.losses import BrierLoss
    >>> BrierLoss()(torch.zeros(2, 4), torch.tensor([0, 3]))
    tensor(0.7500)
    """

    def __init__(self, *, inputs: Inputs = "logits", reduction: Reduction = "mean") -> None:
        super().__init__(brier_loss, inputs, reduction=_check_reduction(reduction))


@checked
class LogLoss(_Loss):
    """`log_loss` as a module: `loss(logits, labels, weights=None)`.

    Parameters
    ----------
    reduction
        `"mean"` over the rows, `"sum"`, or `"none"`: one value per row.
    """

    def __init__(self, *, reduction: Reduction = "mean") -> None:
        super().__init__(log_loss, "logits", reduction=_check_reduction(reduction))


@checked
class DawidSebastianiLoss(torch.nn.Module):  # type: ignore[misc]
    """`dawid_sebastiani_loss` as a module, called as `torch.nn.GaussianNLLLoss`.

    `loss(mean, labels, variance, weights=None)`.

    Parameters
    ----------
    log
        The third argument is ln σ².
    reduction
        `"mean"` over the rows, `"sum"`, or `"none"`: one value per row.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.losses import DawidSebastianiLoss
    >>> DawidSebastianiLoss(log=True)(torch.zeros(2), torch.tensor([1.0, -1.0]), torch.zeros(2))
    tensor(1.)
    """

    def __init__(self, *, log: bool = False, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.log, self.reduction = log, _check_reduction(reduction)

    def forward(self, mean: Any, labels: Any, variance: Any, weights: Any = None) -> Any:
        """The loss of forecast means and variances, or their logarithms, given labels and weights."""
        spread = {"log_variance" if self.log else "variance": variance}
        return dawid_sebastiani_loss(labels, mean, **spread, weights=weights, reduction=self.reduction)

    def extra_repr(self) -> str:
        """The settings."""
        return f"log={self.log}, reduction={self.reduction!r}"


@checked
class MMCELoss(_Loss):
    """`mmce_loss` as a module: `loss(outputs, labels, weights=None)`.

    Parameters
    ----------
    inputs
        What the network gives: `"logits"` or `"probs"`.
    bandwidth, root
        As in `mmce_loss`.
    """

    def __init__(self, *, inputs: Inputs = "logits", bandwidth: float = 0.4, root: bool = True) -> None:
        super().__init__(mmce_loss, inputs, bandwidth=check_positive("bandwidth", bandwidth), root=root)


@checked
class SKCELoss(_Loss):
    """`skce_loss` as a module: `loss(outputs, labels, weights=None)`.

    Parameters
    ----------
    inputs
        What the network gives: `"logits"` or `"probs"`.
    estimator, bandwidth
        As in `skce_loss`.
    """

    def __init__(
        self, *, inputs: Inputs = "logits", estimator: Estimator = "unbiased", bandwidth: float | None = None
    ) -> None:
        check_choice("estimator", estimator, ("unbiased", "biased"))
        width = bandwidth if bandwidth is None else check_positive("bandwidth", bandwidth)
        super().__init__(skce_loss, inputs, estimator=estimator, bandwidth=width)


@checked
class CanonicalLoss(_Loss):
    """`canonical_loss` as a module: `loss(outputs, labels, weights=None)`.

    Parameters
    ----------
    inputs
        What the network gives: `"logits"` or `"probs"`.
    bandwidth, norm, root
        As in `canonical_loss`.
    """

    def __init__(
        self, *, bandwidth: float, inputs: Inputs = "logits", norm: Literal[1, 2] = 1, root: bool = True
    ) -> None:
        check_choice("norm", norm, (1, 2))
        width = check_positive("bandwidth", bandwidth)
        super().__init__(canonical_loss, inputs, bandwidth=width, norm=norm, root=root)


def _check_reduction(reduction: Reduction) -> Reduction:
    return check_choice("reduction", reduction, ("mean", "sum", "none"))


def _reduced(rows: Any, weights: Any, reduction: Reduction) -> Any:
    """The weighted mean or sum of rows, or each row times its weight."""
    weighted = weights * rows
    if _check_reduction(reduction) == "none":
        return weighted
    return weighted.sum() / (weights.sum() if reduction == "mean" else 1)
