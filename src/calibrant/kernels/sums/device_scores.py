"""Scores of rows on an accelerator: tensors of probabilities in float64 and class indices to a score for each row."""

from __future__ import annotations

from typing import Any


def squared(probs: Any, labels: Any) -> Any:
    """Σ_k (p_k − [y = k])²."""
    p_y, rest = _label_and_rest(probs, labels)
    return rest + (1 - p_y) ** 2


def angles(probs: Any, labels: Any) -> Any:
    """1 − p_y/‖p‖₂."""
    p_y, rest = _label_and_rest(probs, labels)
    norm = (p_y**2 + rest).sqrt()
    return rest / (norm * (norm + p_y))


def surprises(probs: Any, labels: Any) -> Any:
    """−ln p_y."""
    return 0.0 - _of_labels(probs, labels).log()


def ranked(probs: Any, labels: Any) -> Any:
    """Σ_k (P(Y ≤ k) − [y ≤ k])² over the thresholds."""
    import torch

    below = probs[:, :-1].cumsum(dim=1)
    return (below - (labels[:, None] <= torch.arange(below.shape[1], device=probs.device)).double()).square().sum(dim=1)


def _of_labels(probs: Any, labels: Any) -> Any:
    return probs.gather(1, labels.long()[:, None])[:, 0]


def _label_and_rest(probs: Any, labels: Any) -> tuple[Any, Any]:
    """p_y, and the sum of the squares of the other classes."""
    p_y = _of_labels(probs, labels)
    return p_y, (probs.square().sum(dim=1) - p_y**2).clamp(min=0)
