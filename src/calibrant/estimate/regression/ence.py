"""Expected normalised calibration error: are errors as large as was said, where little and where much was said?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.estimate.regression.variance_bins import variance_bins
from calibrant.forecasts import admit_forecasts
from calibrant.interval import normal_quantile
from calibrant.methods import method
from calibrant.results import Estimate

Floats = NDArray[np.float64]


LEFT = 2 - 2**0.5
"""What debiasing leaves of pure noise: two folded normals of one variance less one of the double variance."""


@method(
    "forecast estimator",
    title="ENCE",
    quantity="mean relative gap between predicted and observed size of the errors, over bins of σ",
    views=("Gaussian", "quantile", "sample"),
    bias="up by noise: see the noise floor; less so for the debiased form",
    cost="one sort",
    source="Levi, Gispan, Giladi, Fetaya 2020",
    also_called=("ENCE",),
)
def ence(forecasts: Any, *, n_bins: int = 15, debiased: bool = False, level: float = 0.95) -> Estimate:
    """Are errors as large as was said, bin by bin of σ? The mean over bins of |RMV − RMSE| / RMV.

    RMV is the root of a bin's mean predicted variance, RMSE that of its mean squared error; bins hold equally many rows. Noise alone
    makes it positive: `noise_floor` is what a calibrated model with normal errors shows, exact where the variances of a bin are
    equal. `debiased` takes away what the noise of each bin adds to it (normal errors assumed), and is never below 0. Of pure noise 0.59
    is left, where a gap and the noise added to it are of the same size; of clear gaps nothing.
    `parts["curve"]` holds RMV and RMSE of each bin with intervals of `level`.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.ence import ence
    >>> said = cal.Predictions.from_gaussian([2.0, -2.0, 3.0, -3.0], mean=[0.0] * 4, variance=[1.0, 1.0, 9.0, 9.0])
    >>> ence(said, n_bins=2).value  # RMSE of 2 and 3 where 1 and 3 were said
    0.5
    """
    said = admit_forecasts(forecasts)
    normal_quantile(level)
    bins = variance_bins(said, n_bins)
    ratio = np.sqrt(bins.square / bins.variance)
    plain = float(np.abs(1 - ratio).mean())
    floor = float(noise(bins.degrees).mean())
    if debiased:
        expected = folded(1 - ratio, ratio / np.sqrt(2 * bins.degrees))
        plain, floor = max(2 * plain - float(expected.mean()), 0.0), LEFT * floor
    described = {"bins": f"{len(ratio)} equal-mass bins of σ", "forecasts": said.kind, "debiased": debiased}
    title = "debiased ENCE" if debiased else "ENCE"
    return Estimate("ence", title, plain, said.n, None, floor, described, {"curve": bins.curve(level)})


def noise(degrees: Floats) -> Floats:
    """E|1 − χ_ν/√ν|: the part of a bin of ν normal errors whose size is as predicted."""
    from scipy.special import gammainc, gammaln

    half = degrees / 2
    mean = np.exp(gammaln(half + 0.5) - gammaln(half)) / np.sqrt(half)  # of χ_ν/√ν
    below, shifted = gammainc(half, half), gammainc(half + 0.5, half)
    found: Floats = 2 * (below - mean * shifted) + mean - 1
    return found


def folded(mean: Floats, sd: Floats) -> Floats:
    """E|X| for X ~ N(mean, sd²), also where sd is 0."""
    from scipy.special import erf

    z = np.divide(mean, sd, out=np.full(len(mean), np.inf), where=sd > 0)
    found: Floats = sd * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + np.abs(mean) * np.abs(erf(z / np.sqrt(2)))
    return found
