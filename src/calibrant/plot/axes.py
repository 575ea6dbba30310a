"""New axes to draw on."""

from __future__ import annotations

from typing import Any

from calibrant.problems import MissingExtra

DIAGRAM = (5.2, 5.8)
"""Inches of a reliability diagram, and of what stands beside it."""


def fresh_axes(size: tuple[float, float] = DIAGRAM) -> Any:
    """One set of axes, of so many inches."""
    return fresh_row(1, size)[0]


def fresh_row(many: int, size: tuple[float, float]) -> Any:
    """Several side by side."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot", "plotting") from error
    return plt.subplots(1, many, figsize=(many * size[0], size[1]), layout="constrained", squeeze=False)[1].ravel()
