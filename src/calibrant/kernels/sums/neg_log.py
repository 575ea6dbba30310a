"""−ln of probabilities, in a loop that the compiler turns into vectors: right to 1.5
units in the last place.

With u = 2^e·(1 + f) and 1 + f between √½ and √2, s = f/(2 + f) and h = f²/2,

    ln(1 + f) = f − (h − s·(h + R)),   R = Σ_k 2·s^(2k)/(2k + 1),

which is the series of ln((1 + s)/(1 − s)). As s² ≤ 0.0295, ten terms of R leave an
error below 10⁻¹⁷.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import contracted
from calibrant.kernels.sums.score_rows import label_probs
from calibrant.types import Array, Floats

LN2_HIGH = float.fromhex("0x1.62e42f8p-1")
"""ln 2 with half its digits, so that e times it is exact"""
LN2_LOW = 1.2996506893889889e-08
"""the other half"""

LIFT, LIFTED = 2.0**54, np.int64(54 + 1023)
"""Every u is multiplied by this first, so that none is subnormal; the bias of the
exponent that is left."""

ROOT_HALF = np.int64(0x3FE6A09E << 32)
"""bits of a number just below √½"""
ABOVE = np.int64((0x3FF00000 - 0x3FE6A09E) << 32)
"""what moves √½ to the next power of two"""
MANTISSA, MANTISSA_BITS = np.int64((1 << 52) - 1), np.int64(52)
"""mask and number of the bits below the exponent"""

R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 = (2 / (2 * k + 1) for k in range(1, 11))
"""coefficients of R"""


@contracted
def surprises(probs: Any, outcomes: Any, out: Any) -> None:
    """−ln p where the outcome is 1, else −ln(1−p); infinite where that is ln 0.

    1 − p is rounded; the rounding error is known exactly, and added to ln(1 − p), where
    it matters only if p is small.
    """
    for i in range(len(out)):
        p = np.float64(probs[i])
        positive = outcomes[i] != 0
        u = p if positive else 1.0 - p
        lost = 0.0 if positive else (1.0 - u) - p
        bits = np.float64(u * LIFT).view(np.int64) + ABOVE
        e = np.float64((bits >> MANTISSA_BITS) - LIFTED)
        f = np.int64((bits & MANTISSA) + ROOT_HALF).view(np.float64) - 1.0
        s = f / (2.0 + f)
        z = s * s
        w = z * z
        odd = R1 + w * (R3 + w * (R5 + w * (R7 + w * R9)))
        even = R2 + w * (R4 + w * (R6 + w * (R8 + w * R10)))
        h = 0.5 * f * f
        surprise = (h - (s * (h + (z * odd + w * even)) + (e * LN2_LOW + lost))) - f - e * LN2_HIGH
        out[i] = surprise + 0.0 if u > 0.0 else np.inf


def label_surprises(probs: Array, labels: Array, out: Floats) -> None:
    """−ln p_y: of each row one entry is read."""
    chosen = np.empty(len(out))
    label_probs(probs, labels, chosen)
    surprises(chosen, np.ones(len(out), dtype=np.uint8), out)
