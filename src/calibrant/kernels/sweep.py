"""How many bins can there be before the observed rates stop rising?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled


@compiled
def rising_mass_bins(below: Any, hits: Any, first: int, most: int, slack: float) -> int:
    """The last number of equal-mass bins, counting up from `first`, before the rates fall.

    `below` and `hits` are cumulative weights and hits of the groups. Rates h/n are compared as h·n' ≤ h'·n, exact for whole
    numbers; `slack` allows for the rounding of other weights. A cut is found by bisection, as in `groups.mass_cuts`.
    """
    total = below[len(below) - 1]
    for b in range(first, most + 1):
        start_n, start_h = 0.0, 0.0
        last_n, last_h = 0.0, 0.0
        for i in range(1, b + 1):
            target = i * total / b + 1e-12 * total
            low, high = 0, len(below)
            while low < high:
                middle = (low + high) // 2
                if below[middle] <= target:
                    low = middle + 1
                else:
                    high = middle
            if i == b:
                low = len(below)
            if low == 0 or below[low - 1] == start_n:
                continue
            n, h = below[low - 1] - start_n, hits[low - 1] - start_h
            if last_h * n - h * last_n > slack * (n + last_n):
                return b - 1
            start_n, start_h, last_n, last_h = below[low - 1], hits[low - 1], n, h
    return most


@compiled
def rising_width_bins(values: Any, below: Any, hits: Any, first: int, most: int, slack: float) -> int:
    """The same for equal-width bins, closed on the right."""
    for b in range(first, most + 1):
        start_n, start_h = 0.0, 0.0
        last_n, last_h = 0.0, 0.0
        for i in range(1, b + 1):
            edge = i / b
            low, high = 0, len(values)
            while low < high:
                middle = (low + high) // 2
                if values[middle] <= edge:
                    low = middle + 1
                else:
                    high = middle
            if low == 0 or below[low - 1] == start_n:
                continue
            n, h = below[low - 1] - start_n, hits[low - 1] - start_h
            if last_h * n - h * last_n > slack * (n + last_n):
                return b - 1
            start_n, start_h, last_n, last_h = below[low - 1], hits[low - 1], n, h
    return most


def rates_rise(below: Any, hits: Any, cuts: Any, slack: float) -> bool:
    """The same check for one set of cuts between groups; `below` and `hits` begin with 0."""
    n, h = np.diff(below[cuts]), np.diff(hits[cuts])
    n, h = n[n > 0], h[n > 0]
    return bool((h[:-1] * n[1:] - h[1:] * n[:-1] <= slack * (n[1:] + n[:-1])).all())


def always_rising(weight: Any, hits: Any) -> bool:
    """Do the rates of the groups themselves never fall? Then those of no bins do."""
    rates = hits / weight
    return bool((np.diff(rates) >= 0).all())
