"""What a search for the temperature needs, of logits on an accelerator: see `inverse_temperature` and `log_space`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

BLOCK_NUMBERS = 1 << 26
"""Logits that are looked at together."""


def label_gaps_on(z: Any, predictions: Any) -> Any:
    """The logit of the label of each row less the largest of the row, in float64."""
    return z.gather(1, predictions.codes.long()[:, None])[:, 0].double() - z.amax(dim=1).double()


def predicted_gaps_on(z: Any) -> Any:
    """What these are in the mean if the predictions softmax(z) are right."""
    import torch

    return torch.cat([_moments(below.double(), 1.0)[1] for _, below in _blocks(z)])


def slopes_on(z: Any, gaps: Any, weights: None, beta: float) -> tuple[float, float, float]:  # noqa: ARG001
    """L, L' and L'' at β, of rows without weights. Entries are in the logits' precision, sums in float64."""
    import torch

    total = torch.zeros(3, dtype=torch.float64, device=z.device)
    for rows, below in _blocks(z):
        size, mean, square = _moments(below, beta)
        gap = gaps[rows]
        total += torch.stack([size.log() - beta * gap, mean - gap, square - mean**2]).sum(dim=1)
    loss, first, second = (total / len(z)).tolist()
    return loss, first, second


def _blocks(z: Any) -> Iterator[tuple[slice, Any]]:
    """Logits less the largest of their row."""
    few = max(1, BLOCK_NUMBERS // z.shape[1])
    for start in range(0, len(z), few):
        part = z[start : start + few]
        yield slice(start, start + few), part - part.amax(dim=1, keepdim=True)


def _moments(below: Any, beta: float) -> tuple[Any, Any, Any]:
    """Σ e^(βx), and the means of x and x² with these weights, per row, in float64."""
    import torch

    share = (below * beta).exp_()
    size = share.sum(dim=1, dtype=torch.float64)
    share *= below
    mean = share.sum(dim=1, dtype=torch.float64) / size
    share *= below
    return size, mean, share.sum(dim=1, dtype=torch.float64) / size
