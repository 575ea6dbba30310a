"""T-Cal: bins of every width at once, so that no roughness of the errors has to be known."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.detect.about import AboutTest
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.resampling.exact import LEVEL, exactly, null_words, planned, weighting_settings
from calibrant.resampling.null import null_cautions
from calibrant.resampling.rank import together
from calibrant.resampling.rows import Atoms, atoms_of, cluster_kind
from calibrant.resampling.statistics import multi_scale
from calibrant.results import TestResult

FINEST = 50
"""Halvings of [0, 1] that float64 still resolves."""


def multi_scale_test(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    n_draws: int | None = None,
    cluster: Any = None,
    weights: Any = None,
    seed: int = 0,
) -> TestResult:
    """Is there miscalibration at any scale? T-Cal: the unbiased squared error in 2, 4, 8, … bins.

    At each scale, Σ over bins of (Σr)² − Σr² divided by the rows of the bin, over n. Scales go on until no two rows share a bin, at
    most to n² / log n bins. The paper compares each scale with a Bonferroni quantile; here all scales are judged together among
    the same draws, which is exact. `parts` has each scale's p-value.

    `cluster`: as in `is_calibrated`, but for `"any"`.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.detect import multi_scale_test
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(1000)
    >>> multi_scale_test(rng.random(1000) < probs + 0.15 * np.sign(np.sin(40 * probs)), probs, n_draws=999).p_value
    0.001
    """
    predictions = admit(labels, probs, weights=weights)
    kind, atoms = cluster_kind(predictions, cluster), atoms_of(predictions, view, cluster)
    if kind == "any":
        raise InputError(
            "cluster",
            "must be 'same' or False for this test",
            "it is 'any', which turns signs round, and squared errors are not kept",
            "Use is_calibrated",
        )
    levels = scales(atoms)
    plan = planned(n_draws, "random", seed, kind, len(atoms.p) * len(levels))
    statistics = multi_scale(atoms, levels)
    (found,), coin = exactly(atoms, statistics, plan)
    judged = together(found.values, plan.ties, coin)
    clearest = int(np.argmin(judged.each))
    return TestResult(
        "multi_scale",
        f"smallest of {len(statistics)} p-values",
        judged.smallest,
        judged.p_value,
        atoms.n,
        null_words(atoms, plan),
        {"view": atoms.view, "method": "exact"} | plan.settings | weighting_settings(atoms),
        {
            "n_bins": [2**level for level in levels],
            "squared_error": found.values[0].tolist(),
            "p_values": list(judged.each),
            "adjusted": list(judged.adjusted),
        },
        null_cautions(atoms, plan.kind),
        f"errors show best in {2 ** levels[clearest]} bins" if judged.p_value <= LEVEL else "",
    )


def scales(atoms: Atoms) -> range:
    """Levels 1, 2, … up to ⌊2 log₂(n / √log n)⌋, or to where bins hold equal predictions only, and none if all differ."""
    n = max(atoms.n, 3)
    most = max(1, min(FINEST, int(2 * np.log2(n / np.sqrt(np.log(n))))))
    distinct = len(np.unique(atoms.p))
    for level in range(1, most + 1):
        if len(np.unique(np.minimum(np.floor(atoms.p * 2.0**level), 2.0**level - 1))) == distinct:
            return range(1, level + 1 if distinct < atoms.n else max(2, level))
    return range(1, most + 1)


ABOUT = AboutTest(
    name="multi_scale",
    title="T-Cal",
    function=multi_scale_test,
    sees="errors of any roughness; near the best rate for each",
    views=("binary", "top", "class k"),
    methods=("exact",),
    cost="rows times draws times scales",
    source="Lee, Huang, Hassani, Dobriban 2023",
    also_called=("T-Cal", "tcal"),
)
