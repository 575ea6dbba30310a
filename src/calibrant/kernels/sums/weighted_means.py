"""Tails of a mean with Dirichlet weights, by saddlepoint approximation.

With M = Σ D_i x_i and D ~ Dirichlet(w), P(M > t) = P(Σ G_i (x_i − t) > 0) for
independent gamma variables G_i of shapes w_i. The cumulants of that sum are K(s) = −Σ
w_i ln(1 − s(x_i − t)). Written in λ = s/(1 + st), the point where K'(s) = 0 belongs to
an explicit t.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.kernels.fit.root import root
from calibrant.types import Floats

NEAR, FAR = 1e-7, 1 - 1e-14
"""Ends of λ, with the largest value at distance 1 from the mean."""


def value_beyond(values: Floats, weights: Floats, limit: float, z: float, unit: Floats | None = None) -> float:
    """The t that the mean exceeds as rarely as a normal variable exceeds z > 0.

    The mean has one more row of weight 1 at `limit`. `unit` is the weight of a single
    row where rows have weights.
    """
    if unit is not None:
        return _Weighed(values, weights, unit, limit).value_beyond(z)
    scaled = _Scaled(values, weights, limit)
    if scaled.unit == 0 or scaled.signed_root(FAR)[0] <= z:
        return limit
    guess = min(z / math.sqrt(scaled.squares), 0.5)
    near, far = guess * 0.8, guess * 1.25  # for many rows the root is about there
    if scaled.signed_root(far)[0] <= z or scaled.signed_root(near)[0] >= z:
        near, far = guess / 4, FAR
        while scaled.signed_root(near)[0] >= z and near > NEAR:
            near /= 8
    found = root(lambda x: scaled.signed_root(x)[0] - z, near, far, xtol=1e-16, rtol=1e-14) if near > NEAR else near
    return scaled.mean + scaled.unit * scaled.signed_root(found)[1]


def tail_beyond(values: Floats, weights: Floats, limit: float, t: float, unit: Floats | None = None) -> float:
    """The chance that such a mean exceeds t."""
    if unit is not None:
        return _Weighed(values, weights, unit, limit).tail_beyond(t)
    scaled = _Scaled(values, weights, limit)
    if t >= limit:
        return 0.0
    if t <= scaled.mean or scaled.unit == 0:
        return 1.0  # more likely than not, whatever it is
    target = (t - scaled.mean) / scaled.unit
    if scaled.signed_root(FAR)[1] <= target:
        return 0.0
    found = root(lambda x: scaled.signed_root(x)[1] - target, 0.0, FAR, xtol=1e-16, rtol=1e-14)
    return 0.5 * math.erfc(scaled.signed_root(max(found, NEAR))[0] / math.sqrt(2))


class _Weighed:
    """Rows with weights: M = Σ u_i G_i x_i / Σ u_i G_i, G_i gamma variables of shapes w_i / u_i.

    P(M > t) is that of Σ u_i G_i (x_i − t) > 0, whose cumulants are
    K(s) = −Σ (w_i / u_i) ln(1 − s u_i (x_i − t)).
    """

    def __init__(self, values: Floats, weights: Floats, unit: Floats, limit: float) -> None:
        self.limit = limit
        self.values, self.unit = np.append(values, limit), np.append(unit, 1.0)
        self.shape = np.append(weights / unit, 1.0)
        self.mean = float(self.shape * self.unit @ self.values) / float(self.shape @ self.unit)

    def signed_root(self, t: float) -> float:
        """r* at which a standard normal variable exceeds as rarely as the mean exceeds t, t above the mean."""
        a = self.unit * (self.values - t)
        scale = float(a.max())
        if scale <= 0:
            return np.inf
        a = a / scale

        def slope(s: float) -> float:
            return float(self.shape @ (a / (1 - s * a)))

        if slope(FAR) <= 0:
            return np.inf
        if slope(0.0) >= 0:  # the mean itself, to within rounding
            return 0.0
        s = root(slope, 0.0, FAR, xtol=1e-15, rtol=1e-13)
        left = 1 - s * a
        r = math.sqrt(max(2 * float(self.shape @ np.log1p(-s * a)), 0.0))  # near the mean s·a is too small for 1 − s·a
        q = s * math.sqrt(float(self.shape @ (a / left) ** 2))
        return r + math.log(q / r) / r if r > 1e-6 and q > 0 else 0.0

    def value_beyond(self, z: float) -> float:
        if self.limit <= self.mean or self.signed_root(last := self.limit - 1e-12 * (self.limit - self.mean)) <= z:
            return self.limit
        near = self.mean + 1e-9 * (self.limit - self.mean)
        return root(lambda t: min(self.signed_root(t), 40.0) - z, near, last, xtol=1e-13, rtol=1e-12)

    def tail_beyond(self, t: float) -> float:
        if t >= self.limit:
            return 0.0
        return 1.0 if t <= self.mean else 0.5 * math.erfc(self.signed_root(t) / math.sqrt(2))


class _Scaled:
    """Values and the limit, measured from the mean of all in units of the limit's distance."""

    def __init__(self, values: Floats, weights: Floats, limit: float) -> None:
        self.weight = float(weights.sum()) + 1
        self.mean = (float(weights @ values) + limit) / self.weight
        self.unit = limit - self.mean
        self.y = np.minimum((values - self.mean) / self.unit, 1.0) if self.unit > 0 else values
        self.w = weights
        self.squares = float(weights @ self.y**2) + 1
        self.unit = max(self.unit, 0.0)

    def signed_root(self, x: float) -> tuple[float, float]:
        """r* = r + ln(q/r)/r, as which a standard normal variable exceeds the t of this λ.

        That t.
        """
        if x <= 0:
            return 0.0, 0.0
        left = 1 - x * self.y
        inverse = self.w / left
        last = 1 / (1 - x)
        t = min((float(inverse @ self.y) + last) / (float(inverse.sum()) + last), 1.0)
        scale = 1 - x * t
        cumulant = self.weight * math.log(scale) - float(self.w @ np.log(left)) - math.log1p(-x)
        r = math.sqrt(max(-2 * cumulant, 0.0))
        apart = (self.y - t) / left
        q = x * math.sqrt(float((self.w * apart) @ apart) + ((1 - t) * last) ** 2)
        return (r + math.log(q / r) / r if r > 1e-6 and q > 0 else 0.0), t
