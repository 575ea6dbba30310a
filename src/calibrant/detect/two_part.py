"""The cumulative test in two parts: is the model right on average, and apart from that along the predictions?"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.detect.about import AboutTest
from calibrant.inputs import check_choice
from calibrant.kernels.draws.null_sums import bridges
from calibrant.predictions import admit
from calibrant.resampling.draw import Statistic
from calibrant.resampling.exact import exact_result, planned
from calibrant.resampling.formulas import asymptotic_result, chi_square_p_value, kolmogorov_p_value, normal_p_value
from calibrant.resampling.rows import Atoms, atoms_of, cluster_kind, refuse_cluster
from calibrant.resampling.statistics import per, shift, stretch_words
from calibrant.results import TestResult

Floats = NDArray[np.float64]


def two_part_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact", "asymptotic"] = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: Any = None,
    weights: Any = None,
    seed: int = 0,
) -> TestResult:
    """Is the model right on average, and is it right along the predictions apart from that? One p-value for both.

    The running sum of errors, in units of its standard deviation and against its share of the variance, is a Brownian motion. Its
    last value is a normal Z; what is left when the line to it is taken away is a Brownian bridge, independent of Z, whose largest
    distance from 0 is Kolmogorov's. Their p-values are combined by Fisher's method: −2 ln(p₁p₂) is χ² with 4 degrees of freedom.
    `parts` has both. `exact` ranks the same statistic among draws.

    `cluster`: as in `is_calibrated`, for `exact`.

    Examples
    --------
    >>> from calibrant.detect import two_part_test
    >>> found = two_part_test([0, 1, 1, 0, 1, 1], [0.1, 0.3, 0.5, 0.6, 0.8, 0.9], method="asymptotic")
    >>> round(found.parts["z"], 4), round(found.parts["bridge"], 4)
    (0.7845, 0.6638)
    """
    check_choice("method", method, ("exact", "asymptotic"))
    predictions = admit(labels, probs, weights=weights)
    kind, atoms = cluster_kind(predictions, cluster), atoms_of(predictions, view, cluster)
    statistic = two_parts(atoms)
    z, bridge = statistic.collect(atoms.errors[None])[0]
    parts = {"z": -float(z), "bridge": float(bridge)}  # observed minus expected, as the authors have it
    if method == "exact":
        plan = planned(n_draws, "random", seed, kind, len(atoms.p))
        return exact_result(atoms, statistic, plan, "two_part", statistic.title, {}, parts)
    refuse_cluster(kind, method)
    parts |= {"p_mean": normal_p_value(z), "p_bridge": kolmogorov_p_value(float(bridge))}
    return asymptotic_result(
        atoms, statistic, "two_part", "asymptotic", lambda value: chi_square_p_value(value, 4), parts
    )


def two_parts(atoms: Atoms) -> Statistic:
    """−2 ln(p₁p₂) of the last value and of the bridge."""
    variance, gaps = atoms.variance, atoms.gaps
    scale = float(np.sqrt(variance.sum()))
    time = np.cumsum(per(variance, scale**2))

    def collect(errors: Floats) -> Floats:
        found = np.empty((len(errors), 2))
        bridges(errors, gaps, time, found)
        return np.asarray(per(found, scale))

    def finish(states: Floats) -> Floats:
        from scipy.special import erfc, kolmogorov

        # far out both p-values are 0 in floating point; the largest logarithm then decides
        tiny = np.finfo(np.float64).tiny
        first, second = erfc(np.abs(states[:, 0]) / np.sqrt(2)), kolmogorov(states[:, 1])
        found: Floats = -2 * (np.log(np.maximum(first, tiny)) + np.log(np.maximum(second, tiny)))
        return found

    def words(state: Floats) -> str:
        return shift(state) if normal_p_value(state[0]) < kolmogorov_p_value(state[1]) else stretch_words(atoms)

    return Statistic("two_part", "two-part cumulative χ²", collect, finish, words)


ABOUT = AboutTest(
    name="two_part",
    title="two-part cumulative test",
    function=two_part_test,
    sees="shifts, and errors of one sign over a stretch of predictions",
    views=("binary", "top", "class k"),
    methods=("exact", "asymptotic"),
    cost="one sort; rows times draws if exact",
    source="Sadatsafavi & Petkau 2024",
    also_called=("cumulcalib",),
)
