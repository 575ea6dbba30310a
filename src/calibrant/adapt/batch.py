"""What a network gave and what happened, as tensors: checked once, for losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import ROW_SUM_TOLERANCE
from calibrant.problems import InputError, MissingExtra

try:
    import torch
    from torch.nn import functional
except ImportError as error:
    raise MissingExtra("torch", "torch", "calibrant.adapt.losses") from error

SMALLEST = float(np.finfo(np.float64).tiny)
"""A probability of 0 is read as this where its logarithm is needed, as in `canonical_error`."""
DIVERGED = "Has the training diverged?"


@dataclass(frozen=True, slots=True)
class Batch:
    """Checked outputs of a network with what happened."""

    said: Any
    """logits or probabilities, `(n,)` or `(n, K)`"""
    from_logits: bool
    labels: Any
    """class indices `(n,)` or shares shaped as `said`; for a single event always shares"""
    weights: Any

    @property
    def rows(self) -> Any:
        """Probabilities, `(n, K)`; a single event as two classes."""
        x = self.said
        if x.ndim == 1:
            return torch.stack([torch.sigmoid(-x), torch.sigmoid(x)] if self.from_logits else [1 - x, x], dim=1)
        return torch.softmax(x, dim=1) if self.from_logits else x

    @property
    def log_rows(self) -> Any:
        """Logarithms of `rows`, none below that of the smallest positive number."""
        x = self.said
        if not self.from_logits:
            return self.rows.clamp(min=SMALLEST).log()
        if x.ndim == 1:
            logs = torch.stack([functional.logsigmoid(-x), functional.logsigmoid(x)], dim=1)
        else:
            logs = torch.log_softmax(x, dim=1)
        return logs.clamp(min=float(np.log(SMALLEST)))

    @property
    def shares(self) -> Any:
        """What happened, shaped as `rows`."""
        y = self.labels
        if self.said.ndim == 1:
            return torch.stack([1 - y, y], dim=1)
        return y if y.ndim == 2 else functional.one_hot(y, self.said.shape[1]).to(self.said.dtype)

    @property
    def top(self) -> tuple[Any, Any]:
        """The event, or the top class: its probability and whether it happened."""
        if self.said.ndim == 1:
            return (torch.sigmoid(self.said) if self.from_logits else self.said), self.labels
        rows = self.rows
        top = rows.argmax(dim=1, keepdim=True)
        return rows.gather(1, top)[:, 0], self.shares.gather(1, top)[:, 0]

    def wide(self) -> Batch:
        """The same in float64, without rows of weight 0."""
        kept = self.weights > 0
        labels = self.labels.double() if self.labels.is_floating_point() else self.labels
        return Batch(self.said.double()[kept], self.from_logits, labels[kept], self.weights.double()[kept])


def admit(labels: Any, probs: Any, logits: Any, weights: Any) -> Batch:
    """Probabilities or logits with labels and weights, checked."""
    name, given = one_of("probs", probs, "logits", logits)
    said = _floats(name, given)
    if said.ndim not in (1, 2) or not said.numel():
        raise InputError(name, "must have shape (n,) or (n, K)", f"it has shape {tuple(said.shape)}")
    refuse(~torch.isfinite(said), name, said, "must be finite", DIVERGED)
    if name == "probs":
        refuse((said < 0) | (said > 1), name, said, "must lie in [0, 1]", "If these are logits, pass them as logits=")
        _check_row_sums(name, said)
    return Batch(said, name == "logits", _labels(labels, said, name), row_weights(weights, said))


def one_of(first: str, one: Any, second: str, other: Any) -> tuple[str, Any]:
    """The argument that was given, by name."""
    if (one is None) == (other is None):
        raise InputError(first, f"or {second} must be given", "neither is" if one is None else "both are")
    return (first, one) if other is None else (second, other)


def _floats(name: str, given: Any) -> Any:
    """A tensor of floats as it is, half precision as float32; one column as `(n,)`."""
    if not isinstance(given, torch.Tensor) or not given.is_floating_point():
        what = given.dtype if isinstance(given, torch.Tensor) else f"a {type(given).__name__}"
        raise InputError(name, "must be a tensor of floats", f"it is {what}")
    given = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
    return given if given.dtype in (torch.float32, torch.float64) else given.float()


def column(name: str, given: Any) -> Any:
    """One finite float a row."""
    values = _floats(name, given)
    if values.ndim != 1 or not len(values):
        raise InputError(name, "must hold one number a row", f"its shape is {tuple(given.shape)}")
    refuse(~torch.isfinite(values), name, values, "must be finite", "" if name == "labels" else DIVERGED)
    return values


def numbers(name: str, given: Any, like: Any) -> Any:
    """Numbers as a tensor on the device of the outputs."""
    try:
        return torch.as_tensor(given, device=like.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(name, "must hold numbers", f"it is a {type(given).__name__}") from error


def _labels(labels: Any, said: Any, name: str) -> Any:
    found = numbers("labels", labels, said)
    found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
    if found.shape not in (said.shape, said.shape[:1]):
        shapes = f"({len(said)},)" + (f" or {tuple(said.shape)}" if said.ndim == 2 else "")
        raise InputError("labels", f"must have shape {shapes}, as {name}", f"it has shape {tuple(found.shape)}")
    if found.shape == said.shape:
        shares = found.to(said.dtype)
        refuse(~((shares >= 0) & (shares <= 1)), "labels", shares, "must lie in [0, 1]", "Did you swap the arguments?")
        _check_row_sums("labels", shares)
        return shares
    last = said.shape[1] - 1
    wrong = (found < 0) | (found > last) | (found != found.long())
    refuse(wrong, "labels", found, f"must be classes 0 … {last}, as {name} has {last + 1} columns")
    return found.long()


def row_weights(weights: Any, like: Any) -> Any:
    """One finite, non-negative number a row, not all zero; ones if none are given."""
    if weights is None:
        return torch.ones(len(like), dtype=like.dtype, device=like.device)
    found = numbers("weights", weights, like).to(like.dtype)
    if found.shape != like.shape[:1]:
        raise InputError(
            "weights", f"must hold one number a row, {len(like)} in all", f"its shape is {tuple(found.shape)}"
        )
    refuse(~(torch.isfinite(found) & (found >= 0)), "weights", found, "must be finite and not negative")
    if not found.any():
        raise InputError("weights", "must not all be zero")
    return found


def _check_row_sums(name: str, rows: Any) -> None:
    if rows.ndim == 2:
        sums = rows.sum(dim=1)
        wrong = (sums - 1).abs() > ROW_SUM_TOLERANCE
        if wrong.any():
            row = int(wrong.nonzero()[0])
            raise InputError(name, "must have rows that sum to 1", f"row {row} sums to {sums[row].item():.6g}")


def refuse(wrong: Any, name: str, values: Any, expected: str, advice: str = "") -> None:
    """Raise if any entry is wrong, and show the first."""
    if wrong.any():
        where = wrong.nonzero()[0].tolist()
        raise InputError(name, expected, f"{name}{where} is {values[tuple(where)].item():g}", advice)
