"""Pairs of Gaussian forecasts with their labels, for the kernel calibration error.

After Widmann, Lindsten & Zachariah (2021).

With κ = exp(−W/ν) on forecasts, W² = (μ−μ')² + (σ−σ')² (Wasserstein), and k =
exp(−(y−y')²/(2γ²)) on labels, h = κ·(k(y, y') − E k(Z, y') − E k(y, Z') + E k(Z, Z'))
with Z, Z' drawn from the forecasts. All expectations are Gaussian integrals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.types import Floats

TILE = 256
"""Rows and columns of a tile of pairs: half a megabyte stays in a core's cache."""


class Rows(NamedTuple):
    """Forecasts and labels in units of the label's bandwidth γ: k(y, y') is exp(−(y−y')²/2).

    The functions below take two of them whose arrays broadcast: a column and a line for
    all pairs, or pairs side by side.
    """

    mean: Floats
    sd: Floats
    label: Floats
    rate: Floats
    """−1/(2(1 + σ²))"""
    peak: Floats
    """1/√(1 + σ²): with the rate, E k(Z, y) = peak·exp(rate·(y − μ)²)"""

    @classmethod
    def of(cls, mean: Floats, sd: Floats, label: Floats) -> Rows:
        return cls(mean, sd, label, -0.5 / (1 + sd * sd), 1 / np.sqrt(1 + sd * sd))

    def at(self, where: Any) -> Rows:
        return Rows(*(each[where] for each in self))


def nearness(rows: Rows, others: Rows, width: float) -> Floats:
    """κ."""
    across, along = rows.mean - others.mean, rows.sd - others.sd
    found: Floats = np.exp(-np.sqrt(across * across + along * along) / width)
    return found


def both_drawn(rows: Rows, others: Rows) -> Floats:
    """E k(Z, Z')."""
    apart, variance = rows.mean - others.mean, 1 + rows.sd**2 + others.sd**2
    found: Floats = np.exp(apart * apart * (-0.5 / variance)) / np.sqrt(variance)
    return found


def with_labels(rows: Rows, others: Rows) -> Floats:
    """k(y, y') − E k(Z, y') − E k(y, Z'): what of h depends on the labels."""
    apart = rows.label - others.label
    apart *= apart
    apart *= -0.5
    found = np.exp(apart, out=apart)
    found -= _one_drawn(rows, others)
    found -= _one_drawn(others, rows)
    return found


def _one_drawn(rows: Rows, others: Rows) -> Floats:
    """E k(Z, y') with Z from the rows and y' of the others."""
    apart = rows.mean - others.label
    apart *= apart
    apart *= rows.rate
    found = np.exp(apart, out=apart)
    found *= rows.peak
    return found


def pair_values(rows: Rows, others: Rows, width: float) -> Floats:
    """h."""
    return nearness(rows, others, width) * (with_labels(rows, others) + both_drawn(rows, others))


def pair_sums(rows: Rows, weights: Floats, unit: Floats | float, width: float) -> tuple[Floats, Floats]:
    """For each row Σ_j w_j h_ij and Σ_j w_j h_ij² over all other rows.

    Tile by tile, each pair once.

    `weights` are those of all copies of a row, `unit` is that of one: a row is another
    to its own copies.
    """
    n = len(rows.mean)

    def part(block: slice) -> Floats:
        total = np.zeros((2, n))
        own = rows.at((block, None))
        for start in range(block.start, n, TILE):
            line = slice(start, min(start + TILE, n))
            tile = pair_values(own, rows.at(line), width)
            for sums in total:
                sums[block] += (tile * weights[line]).sum(axis=1)
                if start != block.start:
                    sums[line] += (tile * weights[block, None]).sum(axis=0)
                tile *= tile
        return total

    sums, itself = added_over_blocks(n, part, TILE), pair_values(rows, rows, width)
    return sums[0] - unit * itself, sums[1] - unit * itself**2
