"""The isotonic fit at a score if one more row with that score were a hit, for all
scores in one pass.

Let P_i = (W_i, H_i) be cumulative weights and hits. With one more hit of weight 1 in
group i, the fit there is max over a < i of min over b ≥ i of the slope from P_a to P_b
+ (1, 1): the bridge between the lower hulls of the points left and right of the added
row. As i grows the bridge only gets steeper, so that both its ends only move to the
right and no point is visited again once it is passed (after Vovk, Petej, Fedorova 2015,
sec. 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.types import Floats

COMPILE_FROM_POINTS = 20_000
"""Pooled from which the loop is compiled."""


def rates_if_hit(weight: Floats, hits: Floats) -> Floats:
    """The isotonic fit at each group with one more hit of weight 1 in that group."""
    w, h = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (weight, hits))
    kernel = moving_bridge if len(weight) >= COMPILE_FROM_POINTS else moving_bridge.plain
    out = np.empty(len(weight))
    kernel(w, h, np.empty(len(weight), dtype=np.intp), out)
    return out


def rates_if_missed(weight: Floats, hits: Floats) -> Floats:
    """The same with one more miss: scores and outcomes reversed."""
    return 1 - rates_if_hit(weight[::-1], (weight - hits)[::-1])[::-1]


@compiled
def moving_bridge(w: Any, h: Any, stack: Any, out: Any) -> None:
    """Slopes of the bridge for i = 1 … k. `stack` holds the right hull, its leftmost
    corner on top."""
    k = len(out)
    a, size = 0, 0
    for b in range(k, 0, -1):
        while size > 1:
            top, next_ = stack[size - 1], stack[size - 2]
            if (h[top] - h[b]) * (w[next_] - w[b]) < (h[next_] - h[b]) * (w[top] - w[b]):
                break
            size -= 1
        stack[size] = b
        size += 1
    for i in range(1, k + 1):
        if stack[size - 1] < i:
            size -= 1
        top = stack[size - 1]
        c = i - 1  # the point that has just come to the left side
        if (h[top] - h[c] + 1) * (w[top] - w[a] + 1) > (h[top] - h[a] + 1) * (w[top] - w[c] + 1):
            a = c
        while size > 1:
            top, next_ = stack[size - 1], stack[size - 2]
            if (h[top] - h[a] + 1) * (w[next_] - w[a] + 1) < (h[next_] - h[a] + 1) * (w[top] - w[a] + 1):
                break
            size -= 1
        top = stack[size - 1]
        out[i - 1] = (h[top] - h[a] + 1) / (w[top] - w[a] + 1)
