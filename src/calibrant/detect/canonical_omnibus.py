"""Is the whole vector of probabilities calibrated? The same question as `is_calibrated`, with classes drawn from the vector."""

from __future__ import annotations

from typing import Any

from calibrant.bins import EqualMass
from calibrant.predictions import Predictions
from calibrant.resampling.exact import planned
from calibrant.resampling.rank import together
from calibrant.resampling.statistics import cumulative, hosmer_lemeshow, spiegelhalter
from calibrant.resampling.vectors import (
    CLASS_BINS,
    NULL,
    LabelStatistic,
    WholeRows,
    cautions,
    class_bins,
    class_scores,
    drawn_whole,
    of_top,
    whole_rows,
)
from calibrant.resampling.wording import component_parts, finding
from calibrant.results import TestResult


def is_calibrated_as_a_whole(predictions: Predictions, cluster: Any, n_draws: Any, ties: Any, seed: Any) -> TestResult:
    """Temperature, Brier score, frequencies and bins of every class, and three statistics of the top class, judged together."""
    rows = whole_rows(predictions, cluster)
    plan = planned(n_draws, ties, seed, None, 10 * len(rows.probs))
    statistics = components(rows, predictions.classes)
    values, states, coin = drawn_whole(rows, statistics, plan)
    judged = together(values, plan.ties, coin)
    words = [statistic.words(state) for statistic, state in zip(statistics, states, strict=True)]
    return TestResult(
        "is_calibrated",
        f"smallest of {len(statistics)} p-values",
        judged.smallest,
        0.0 if rows.impossible else judged.p_value,
        rows.n,
        f"{NULL}; {plan.n_draws:,} draws",
        {"view": "canonical", "method": "exact"} | plan.settings,
        component_parts(statistics, values[0], judged, words, rows.n),
        cautions(rows),
        finding(judged, words, rows.impossible),
    )


def components(rows: WholeRows, classes: tuple[Any, ...]) -> list[LabelStatistic]:
    """The statistics that are asked."""
    return [
        *class_scores(rows),
        class_bins(rows, 1, classes),
        class_bins(rows, CLASS_BINS, classes),
        of_top(rows, spiegelhalter),
        of_top(rows, lambda atoms: cumulative(atoms, "range")),
        of_top(rows, lambda atoms: hosmer_lemeshow(atoms, EqualMass(10), "bins")),
    ]
