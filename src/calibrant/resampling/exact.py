"""The exact p-value of statistics of one event, and what goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import check_choice, check_count
from calibrant.resampling.draw import Drawn, Statistic, content_seed, drawn
from calibrant.resampling.null import null_cautions, null_text, nulls_of
from calibrant.resampling.rank import Floats, Ties, rank_p_value
from calibrant.resampling.rows import Atoms, Cluster
from calibrant.results import TestResult

LEVEL = 0.05
"""Up to this p-value a result says what the errors look like."""

MANY_DRAWS, FEW_DRAWS = 9999, 999
MOST_WORK = 2e9
"""Labels drawn without being asked: some seconds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a null is drawn from."""

    n_draws: int
    ties: Ties
    seed: int
    kind: Cluster | None = None

    @property
    def settings(self) -> dict[str, Any]:
        cluster = {} if self.kind is None else {"cluster": self.kind}
        return {"n_draws": self.n_draws, "ties": self.ties, "seed": self.seed} | cluster


def planned(n_draws: Any, ties: Any, seed: Any, kind: Cluster | None, rows: int, fast: bool = True) -> Plan:
    """A plan with its choices checked; draws are many where they cost little, unless told."""
    check_choice("ties", ties, ("random", "count"))
    check_count(seed, "seed", 0)
    if n_draws is None:
        n_draws = MANY_DRAWS if fast and rows * MANY_DRAWS <= MOST_WORK else FEW_DRAWS
    return Plan(check_count(n_draws, "n_draws", 19), ties, int(seed), kind)


def exactly(atoms: Atoms, statistics: Sequence[Statistic], plan: Plan) -> tuple[list[Drawn], float]:
    """Values of the statistics on what was observed and on draws, under each null that has to be refuted; and a coin for ties."""
    seed, coin = content_seed(plan.seed, atoms.p, atoms.unit, atoms.count, atoms.hits, atoms.cluster)
    return [drawn(null, statistics, plan.n_draws, seed) for null in nulls_of(atoms, plan.kind)], coin


def exact_result(
    atoms: Atoms,
    statistic: Statistic,
    plan: Plan,
    name: str,
    title: str,
    described: dict[str, Any],
    parts: dict[str, Any] | None = None,
) -> TestResult:
    """The answer of one statistic."""
    found, coin = exactly(atoms, [statistic], plan)
    p_values = [rank_p_value(each.values[:, 0], plan.ties, coin) for each in found]
    worst = int(np.argmax(p_values))
    values, p_value = found[worst].values[:, 0], p_values[worst]
    settings = {"view": atoms.view, "method": "exact"} | described | plan.settings | weighting_settings(atoms)
    return TestResult(
        name,
        title,
        values[0],
        p_value,
        atoms.n,
        null_words(atoms, plan),
        settings,
        null_parts(values, coin) | (parts or {}),
        null_cautions(atoms, plan.kind),
        statistic.words(found[0].states[0]) if p_value <= LEVEL else "",
    )


def null_words(atoms: Atoms, plan: Plan) -> str:
    """The null in a line."""
    return f"{null_text(plan.kind, atoms.fixed)}; {plan.n_draws:,} draws"


def null_parts(values: Floats, coin: float) -> dict[str, float]:
    """What the statistic shows if the model is calibrated, and the p-value that counts every tie against it."""
    chance = values[1:]
    return {
        "p_counting_ties": rank_p_value(values, "count", coin),
        "null_mean": float(chance.mean()),
        "null_95": float(np.quantile(chance, 0.95)),
    }


def weighting_settings(atoms: Atoms) -> dict[str, Any]:
    """How weights were read, where there are any that matter."""
    return {"weighting": "fixed"} if atoms.fixed else {}
