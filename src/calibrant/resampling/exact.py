"""Results of tests: p-values by null draws, of one statistic or of several, and p-values by formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from calibrant.inputs import check_choice, check_count, check_seed
from calibrant.problems import InputError
from calibrant.resampling.draw import LARGEST, Drawn, Statistic, content_seed, drawn
from calibrant.resampling.null import Hypothesis, hypothesis_of, null_warnings, rough
from calibrant.resampling.rank import JointRank, Ties, joint_rank, rank_p_value
from calibrant.resampling.rows import Atoms
from calibrant.results import TestResult
from calibrant.types import Cluster, Floats

LEVEL = 0.05
"""Up to this p-value a result describes what is wrong."""

MANY_DRAWS, FEW_DRAWS = 9999, 999
MAX_WORK = 2e9
"""Labels drawn by default: a few seconds."""

MIN_DRAWS = 19
"""With fewer, no p-value could reach 5 %."""


@dataclass(frozen=True, slots=True)
class Exact:
    """How an exact p-value is computed: `method=Exact(...)` of every test that has an exact p-value.

    Parameters
    ----------
    n_draws
        Number of null draws, at least 19. By default 9999 where that takes seconds,
        else 999.
    ties
        A statistic may take few values. `"random"` gives the observed one a random
        place among its equals, drawn by a number made of the data: false alarms come as
        often as they should. `"count"` counts every tie against the model: false alarms
        are rarer.
    seed
        Chooses the draws, together with the data: the same data and seed give the same
        p-value.

    Examples
    --------
    >>> from calibrant.detect.cox import cox_test
    >>> from calibrant.resampling.exact import Exact
    >>> cox_test([0, 1, 1], [0.2, 0.6, 0.9], method=Exact(n_draws=99, ties="count")).settings["n_draws"]
    99
    """

    n_draws: int | None = None
    ties: Ties = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, ("random", "count"))
        object.__setattr__(self, "seed", check_seed(self.seed))
        if self.n_draws is not None:
            object.__setattr__(self, "n_draws", check_count(self.n_draws, "n_draws", MIN_DRAWS))

    @classmethod
    def asked(cls, method: Any, n_draws: Any = None, seed: Any = 0, ties: Any = "random") -> Self:
        """The plan that a test's keywords describe: `method` if it is one, else the others."""
        if not isinstance(method, cls):
            return cls(n_draws, ties, seed)
        if (n_draws, seed, ties) != (None, 0, "random"):
            raise InputError("method", "is an Exact, which holds n_draws, ties and seed", advice="Give them there")
        return method

    def sized(self, work: float) -> Self:
        """The same with a number of draws: unless given, many where `work` labels per draw take seconds."""
        default = MANY_DRAWS if work * MANY_DRAWS <= MAX_WORK else FEW_DRAWS
        return replace(self, n_draws=default) if self.n_draws is None else self


def drawn_values(
    hypothesis: Hypothesis, statistics: Sequence[Statistic], exact: Exact, in_cells: bool = False
) -> tuple[list[Drawn], float]:
    """Observed and drawn values of the statistics under each null, and a uniform number for ties."""
    assert exact.n_draws is not None
    seed, coin = content_seed(exact.seed, *hypothesis.content)
    return [drawn(null, statistics, exact.n_draws, seed, in_cells) for null in hypothesis.nulls], coin


def exact_result(
    hypothesis: Hypothesis,
    statistic: Statistic,
    exact: Exact,
    name: str,
    title: str = "",
    settings: dict[str, Any] | None = None,
    work: float | None = None,
) -> TestResult:
    """The result of one statistic; by the null with the largest p-value, where there are several."""
    exact = exact.sized(work or (math.inf if statistic.serial else hypothesis.rows))
    found, coin = drawn_values(hypothesis, [statistic], exact)
    p_values = [rank_p_value(each.values[:, 0], exact.ties, coin) for each in found]
    p_value, state = max(p_values), found[0].states[0]
    values = found[p_values.index(p_value)].values[:, 0]
    null = {"null_mean": float(values[1:].mean()), "null_95": float(np.quantile(values[1:], 0.95))}
    parts = {"p_counting_ties": rank_p_value(values, "count", coin)} | null | statistic.parts(state)
    finding = statistic.words(state) if p_value <= LEVEL else ""
    outcome = (name, title or statistic.title, values[0], p_value)
    return as_result(hypothesis, exact, outcome, parts, finding, settings)


def ranked_jointly(
    hypothesis: Hypothesis, statistics: Sequence[Statistic], exact: Exact
) -> tuple[Floats, tuple[Floats, ...], JointRank]:
    """Observed values and states of statistics, and their joint rank by the least favourable null.

    Many rows are drawn and ranked in cells; the values are those of the rows.
    """
    found, coin = drawn_values(hypothesis, statistics, exact, in_cells=True)
    weights = [statistic.weight for statistic in statistics]
    ranks = [joint_rank(each.values, exact.ties, coin, weights) for each in found]
    return found[0].observed, found[0].states, max(ranks, key=lambda rank: rank.p_value)


def as_result(
    hypothesis: Hypothesis,
    exact: Exact,
    outcome: tuple[str, str, float, float],
    parts: dict[str, Any],
    finding: str,
    settings: dict[str, Any] | None = None,
) -> TestResult:
    """A result with what every exact one has in common; `outcome` is name, title, statistic and p-value."""
    described = {"method": "exact"} | hypothesis.settings | (settings or {}) | asdict(exact)
    null = f"{hypothesis.text}; {exact.n_draws:,} draws"
    return TestResult(*outcome, hypothesis.n, null, described, parts, hypothesis.warnings, finding)


@dataclass(frozen=True, slots=True)
class Formula:
    """A p-value by formula; `value` and `title` where its statistic is not the one of the exact test."""

    p_value: float
    parts: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None
    title: str = ""
    law: str = ""
    """the distribution in words"""
    warnings: tuple[str, ...] = ()


Law = Callable[[Atoms, float, Floats], Formula]
"""The formula of the rows, the observed statistic and the state that it was computed from."""


def named_test(
    name: str,
    atoms: Atoms,
    made: Statistic,
    laws: Mapping[str, Law],
    exact: tuple[Any, Any, Any],
    settings: dict[str, Any] | None = None,
) -> TestResult:
    """The test of one statistic: exact, or by one of the formulas; `exact` is (method, n_draws, seed)."""
    way = method_name(exact[0], ("exact", *laws))
    if way == "exact":
        return exact_result(hypothesis_of(atoms), made, Exact.asked(*exact), name, settings=settings)
    refuse_cluster(atoms.dependence, way)
    states = made.collect(atoms.errors[None])
    with np.errstate(over="ignore"):
        value = min(float(made.finish(states)[0]), LARGEST)
    found = laws[way](atoms, value, states[0])
    return TestResult(
        name,
        found.title or made.title,
        value if found.value is None else found.value,
        found.p_value,
        atoms.n,
        f"rows independent; {found.law or f'{way} law'}, for many rows",
        {"view": atoms.view, "method": way} | atoms.settings,
        made.parts(states[0]) | dict(found.parts),
        null_warnings(atoms) + rough(atoms.chance, "the formula is") + found.warnings,
        made.words(states[0]) if found.p_value <= LEVEL else "",
    )


def method_name(method: Any, ways: tuple[str, ...]) -> str:
    """The way to the p-value that `method` names; an `Exact` is "exact"."""
    return "exact" if isinstance(method, Exact) else check_choice("method", method, ways)


def refuse_cluster(kind: Cluster | None, method: str) -> None:
    """Formulas are for independent rows."""
    if kind is not None:
        raise InputError("cluster", "needs method='exact'", f"method is {method!r}")
