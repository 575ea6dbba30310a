"""What all named tests share: data admitted, clusters checked, and an exact p-value or one by formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant.inputs import check_choice
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.resampling.draw import LARGEST, Statistic
from calibrant.resampling.exact import LEVEL, Exact, exact_result
from calibrant.resampling.null import hypothesis_of, null_warnings
from calibrant.resampling.rows import Atoms, Cluster, atoms_of
from calibrant.results import TestResult
from calibrant.types import Floats


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
    statistic: Callable[[Atoms], Statistic],
    data: tuple[Any, Any, Any],
    laws: Mapping[str, Law],
    *,
    method: Any,
    view: Any,
    n_draws: Any,
    cluster: Any,
    seed: Any,
    settings: dict[str, Any] | None = None,
) -> TestResult:
    """The test of one statistic: exact, or by one of the formulas; `data` is (labels, probs, weights)."""
    way = method_name(method, ("exact", *laws))
    labels, probs, weights = data
    atoms = atoms_of(admit(labels, probs, weights=weights), view, cluster)
    made = statistic(atoms)
    if way == "exact":
        exact = Exact.asked(method, n_draws, seed)
        return exact_result(hypothesis_of(atoms), made, exact, name, settings=settings)
    refuse_cluster(atoms.dependence, way)
    return _formula_result(atoms, made, name, way, laws[way])


def method_name(method: Any, ways: tuple[str, ...]) -> str:
    """The way to the p-value that `method` names; an `Exact` is "exact"."""
    return "exact" if isinstance(method, Exact) else check_choice("method", method, ways)


def refuse_cluster(kind: Cluster | None, method: str) -> None:
    """Formulas are for independent rows."""
    if kind is not None:
        raise InputError("cluster", "needs method='exact'", f"method is {method!r}")


def _formula_result(atoms: Atoms, statistic: Statistic, name: str, method: str, law: Law) -> TestResult:
    states = statistic.collect(atoms.errors[None])
    with np.errstate(over="ignore"):
        value = min(float(statistic.finish(states)[0]), LARGEST)
    found = law(atoms, value, states[0])
    return TestResult(
        name,
        found.title or statistic.title,
        value if found.value is None else found.value,
        found.p_value,
        atoms.n,
        f"rows independent; {found.law or f'{method} law'}, for many rows",
        {"view": atoms.view, "method": method} | atoms.settings,
        statistic.parts(states[0]) | dict(found.parts),
        null_warnings(atoms) + found.warnings,
        statistic.words(states[0]) if found.p_value <= LEVEL else "",
    )
