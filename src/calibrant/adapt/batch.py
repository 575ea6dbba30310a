"""Outputs of a network with labels and weights, as tensors, checked as all other predictions are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.arrays import device_of, to_numpy
from calibrant.inputs import check_column, check_weights
from calibrant.predictions import Predictions, labels_on_device
from calibrant.problems import InputError, MissingExtra

try:
    import torch as torch  # noqa: PLC0414  (given on)
    from torch.nn import functional as functional  # noqa: PLC0414
except ImportError as error:
    raise MissingExtra("torch", "torch", "calibrant.adapt.losses") from error

SMALLEST = float(np.finfo(np.float64).tiny)
"""A probability of 0 is read as this where its logarithm is needed, as in `canonical_error`."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Checked outputs of a network with labels and weights."""

    outputs: Any
    """logits or probabilities, `(n,)` or `(n, K)`"""
    from_logits: bool
    labels: Any
    """class indices `(n,)` or shares shaped as `outputs`; for a single event always shares"""
    weights: Any

    @property
    def rows(self) -> Any:
        """Probabilities, `(n, K)`; a single event as two classes."""
        x = self.outputs
        if x.ndim == 1:
            return torch.stack([torch.sigmoid(-x), torch.sigmoid(x)] if self.from_logits else [1 - x, x], dim=1)
        return torch.softmax(x, dim=1) if self.from_logits else x

    @property
    def log_rows(self) -> Any:
        """Logarithms of `rows`, none below that of the smallest positive number."""
        x = self.outputs
        if not self.from_logits:
            return self.rows.clamp(min=SMALLEST).log()
        if x.ndim == 1:
            logs = torch.stack([functional.logsigmoid(-x), functional.logsigmoid(x)], dim=1)
        else:
            logs = torch.log_softmax(x, dim=1)
        return logs.clamp(min=float(np.log(SMALLEST)))

    @property
    def shares(self) -> Any:
        """Labels as shares of the classes, shaped as `rows`."""
        y = self.labels
        if self.outputs.ndim == 1:
            return torch.stack([1 - y, y], dim=1)
        return y if y.ndim == 2 else functional.one_hot(y, self.outputs.shape[1]).to(self.outputs.dtype)

    @property
    def top(self) -> tuple[Any, Any]:
        """Probability and outcome of the event, or of the top class."""
        if self.outputs.ndim == 1:
            return (torch.sigmoid(self.outputs) if self.from_logits else self.outputs), self.labels
        rows = self.rows
        top = rows.argmax(dim=1, keepdim=True)
        return rows.gather(1, top)[:, 0], self.shares.gather(1, top)[:, 0]

    @property
    def relative_weights(self) -> Any:
        """The weights over the largest of them: their products neither overflow nor vanish."""
        return self.weights / self.weights.max()

    def wide(self) -> Batch:
        """The same in float64, without rows of weight 0."""
        kept = self.weights > 0
        labels = self.labels.double() if self.labels.is_floating_point() else self.labels
        return Batch(self.outputs.double()[kept], self.from_logits, labels[kept], self.weights.double()[kept])


def admit(labels: Any, probs: Any, logits: Any, weights: Any) -> Batch:
    """Outputs, labels and weights, checked as `Predictions`; the tensors keep their gradients."""
    name, given = one_of("probs", probs, "logits", logits)
    outputs = _floats(name, given)
    y = _one_column(labels if isinstance(labels, torch.Tensor) else to_numpy(labels, "labels"))
    soft = tuple(y.shape) == tuple(outputs.shape) and (isinstance(y, torch.Tensor) or y.dtype.kind in "iufb")
    if device_of(outputs) is not None and isinstance(y, torch.Tensor):
        found = labels_on_device(y, outputs.detach(), logits=name == "logits", soft=soft)
        if found is not None:
            y = y if soft else found.long()
            y = y.to(outputs.device, outputs.dtype if soft or outputs.ndim == 1 else None)
            return Batch(outputs, name == "logits", y, row_weights(weights, outputs))
    if name == "probs":
        checked = Predictions.borrowed(y, outputs, normalize=None, soft=soft)
    else:
        checked = Predictions.from_logits(y, outputs, soft=soft)
    if not (soft and isinstance(y, torch.Tensor)):  # a tensor of shares may have a gradient
        y = torch.as_tensor(np.array(checked.labels, dtype=np.float64 if soft else np.int64))
    y = y.to(outputs.device, outputs.dtype if soft or outputs.ndim == 1 else None)
    return Batch(outputs, name == "logits", y, row_weights(weights, outputs))


def one_of(first: str, one: Any, second: str, other: Any) -> tuple[str, Any]:
    """The argument that was given, by name."""
    if (one is None) == (other is None):
        raise InputError(first, f"or {second} must be given", "neither is" if one is None else "both are")
    return (first, one) if other is None else (second, other)


def column(name: str, given: Any, n: int | None = None) -> Any:
    """One finite float per row, `n` of them if that is known."""
    values = _floats(name, given)
    check_column(values, name, n)
    return values


def column_like(name: str, given: Any, like: Any) -> Any:
    """One finite number per row in any container, as a tensor with the device and precision of the outputs."""
    found = check_column(given, name, len(like))
    return (_one_column(given) if isinstance(given, torch.Tensor) else torch.as_tensor(found)).to(like)


def row_weights(weights: Any, like: Any) -> Any:
    """One finite, non-negative number per row, not all zero, in the precision of the outputs; ones if none are given."""
    if weights is None:
        return torch.ones(len(like), dtype=like.dtype, device=like.device)
    check_weights(weights, len(like))
    found = column_like("weights", weights, like)
    check_weights(found, len(like))  # 1e-300 is 0 in float32, and 1e300 infinite
    return found


def _floats(name: str, given: Any) -> Any:
    """A tensor of floats as it is, half precision as float32; one column as `(n,)`."""
    if not isinstance(given, torch.Tensor) or not given.is_floating_point():
        what = given.dtype if isinstance(given, torch.Tensor) else f"a {type(given).__name__}"
        raise InputError(name, "must be a tensor of floats", f"it is {what}")
    given = _one_column(given)
    return given if given.dtype in (torch.float32, torch.float64) else given.float()


def _one_column(values: Any) -> Any:
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
