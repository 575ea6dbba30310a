"""Several statistics reported together: each as a result of its own, and all in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant.resampling.draw import Statistic
from calibrant.resampling.exact import LEVEL
from calibrant.resampling.rank import Together
from calibrant.resampling.vectors import LabelStatistic
from calibrant.results import TestResult

MOST_SAID = 3
"""Findings put into words."""


def component_parts(
    statistics: Sequence[Statistic | LabelStatistic], values: Any, judged: Together, words: Sequence[str], n: int
) -> dict[str, Any]:
    """Each statistic as a result of its own, and all adjusted p-values."""
    each = {
        statistic.name: TestResult(
            statistic.name,
            statistic.title,
            value,
            p,
            n,
            "p-value of this statistic alone",
            parts={"adjusted": adjusted},
            finding=said if p <= LEVEL else "",
        )
        for statistic, value, p, adjusted, said in zip(
            statistics, values.tolist(), judged.each, judged.adjusted, words, strict=True
        )
    }
    adjusted = dict(zip(each, judged.adjusted, strict=True))
    return {**each, "adjusted": adjusted}


def finding(judged: Together, words: Sequence[str], impossible: int) -> str:
    """What the statistics that are significant together say, clearest first."""
    if impossible:
        return "something happened that was given probability 0"
    if judged.p_value > LEVEL:
        return "no sign of miscalibration"
    order = np.argsort(judged.adjusted, kind="stable")
    fired = [words[j] for j in order if judged.adjusted[j] <= LEVEL] or [words[int(order[0])]]
    return "; ".join(list(dict.fromkeys(filter(None, fired)))[:MOST_SAID])
