"""T-Cal: bins of every width at once, so that no roughness of the errors has to be known."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.resampling.exact import LEVEL, Exact, as_result, method_name, ranked_jointly
from calibrant.resampling.null import hypothesis_of
from calibrant.resampling.pairs import multi_scale
from calibrant.resampling.rows import Atoms, atoms_of
from calibrant.results import TestResult
from calibrant.types import Cluster, Seed

FINEST = 50
"""Halvings of [0, 1] that float64 still resolves."""


@method("test", name="multi_scale", title="T-Cal", views=ONE_EVENT, ways=("exact",), also_called=("T-Cal", "tcal"))
def multi_scale_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact"] | Exact = "exact",
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
) -> TestResult:
    """Is there miscalibration at any scale? T-Cal: the unbiased squared error in 2, 4, 8, … bins.

    At each scale, Σ over bins of (Σr)² − Σr² divided by the rows of the bin, over n,
    where r = p − y. Scales go on until no two rows share a bin, at most to n² / log n
    bins. The paper compares each scale with a Bonferroni quantile; here all scales are
    ranked jointly among the same null draws, which is exact. `parts` has each scale's
    p-value.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    method
        `"exact"`, or `Exact(...)`, which says how.
    view, n_draws, seed
        As in `is_calibrated`.
    cluster
        As in `is_calibrated`, without `"any"`.

    Notes
    -----
    Power against: errors of any roughness; near the best rate for each.
    Cost: rows times draws times scales.
    Source: Lee, Huang, Hassani, Dobriban 2023.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(1000)
    >>> truth = probs + 0.15 * np.sign(np.sin(40 * probs))
    >>> cal.detect.multi_scale_test(rng.random(1000) < truth, probs, n_draws=999).p_value
    0.001
    """
    method_name(method, ("exact",))
    atoms = atoms_of(admit(labels, probs, counts=counts, weights=weights), view, cluster)
    if atoms.dependence == "any":
        # flipped errors do not tell the squared errors of single rows
        raise InputError("cluster", "must be 'same' or False for this test", "it is 'any'", "Use is_calibrated")
    levels = scales(atoms)
    hypothesis, exact = hypothesis_of(atoms), Exact.asked(method, n_draws, seed).sized(len(atoms.p) * len(levels))
    values, _, rank = ranked_jointly(hypothesis, multi_scale(atoms, levels), exact)
    parts = {"n_bins": [2**level for level in levels], "squared_error": values.tolist()}
    parts |= {"p_values": list(rank.each), "adjusted": list(rank.adjusted)}
    finding = f"errors show best in {2 ** levels[int(np.argmin(rank.each))]} bins" if rank.p_value <= LEVEL else ""
    outcome = ("multi_scale", f"smallest of {len(levels)} p-values", rank.smallest, rank.p_value)
    return as_result(hypothesis, exact, outcome, parts, finding)


def scales(atoms: Atoms) -> range:
    """Levels 1, 2, … up to ⌊2 log₂(n / √log n)⌋, or to where a bin holds equal predictions only.

    If no two predictions are equal, that last level is left out: no two rows share a bin.
    """
    n = max(atoms.n, 3)
    most = max(1, min(FINEST, int(2 * np.log2(n / np.sqrt(np.log(n))))))
    distinct = len(np.unique(atoms.p))
    for level in range(1, most + 1):
        if len(np.unique(np.minimum(np.floor(atoms.p * 2.0**level), 2.0**level - 1))) == distinct:
            return range(1, level + 1 if distinct < atoms.n else max(2, level))
    return range(1, most + 1)
