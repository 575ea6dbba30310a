"""Any statistic as a test: its value among those that the same predictions show when the labels follow them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from calibrant.about import find
from calibrant.bins import EqualMass, EqualWidth
from calibrant.detect.about import AboutTest
from calibrant.estimate import binned, cumulative, mean_gap
from calibrant.estimate.table import ESTIMATORS
from calibrant.inputs import listed
from calibrant.kernels.draws.null_draws import replicate_seeds
from calibrant.methods import Method as About
from calibrant.predictions import Predictions, admit
from calibrant.problems import InputError
from calibrant.resampling import statistics as of
from calibrant.resampling.draw import Statistic, content_seed
from calibrant.resampling.exact import (
    Plan,
    exact_result,
    null_parts,
    null_words,
    planned,
    weighting_settings,
)
from calibrant.resampling.null import Null, null_cautions, nulls_of
from calibrant.resampling.rank import rank_p_value
from calibrant.resampling.rows import Atoms, atoms_of, cluster_kind
from calibrant.resampling.vectors import whole_test
from calibrant.results import TestResult

OWN: dict[str, Callable[..., Statistic]] = {
    "spiegelhalter": of.spiegelhalter,
    "cox": of.cox,
    "kuiper": lambda atoms: of.cumulative(atoms, "range"),
    "hosmer_lemeshow": lambda atoms, bins=EqualMass(10): of.hosmer_lemeshow(atoms, bins),  # noqa: B008  (frozen)
    "scan": lambda atoms, bins=EqualMass(30): of.scan(atoms, bins),  # noqa: B008
    "atb": of.averaged_two_bin,
}
"""Statistics that are no estimators, by name."""


def calibration_test(
    labels: Any,
    probs: Any = None,
    statistic: Any = "binned",
    *,
    view: Any = "auto",
    n_draws: int | None = None,
    ties: str = "random",
    cluster: Any = None,
    weights: Any = None,
    weighting: str = "auto",
    seed: int = 0,
    **options: Any,
) -> TestResult:
    """How often would a calibrated model show a calibration error as large as this? Exact at every sample size.

    If the model is calibrated, labels are draws from its predictions. So labels are drawn anew `n_draws` times, with the
    predictions held fixed, and the p-value is (1 + #{drawn ≥ observed}) / (n_draws + 1). No approximation, whatever the statistic.

    Parameters
    ----------
    statistic
        An estimator or its name (`"binned"`, `"ks"`, `"smooth"`, `cal.sweep_error`, …), one of `"spiegelhalter"`, `"cox"`, `"kuiper"`,
        `"hosmer_lemeshow"`, `"scan"`, `"atb"`, or any function of (labels, probs) that grows with miscalibration.
    options
        Passed on to the statistic, such as `bins=`.
    view
        `auto` is the estimator's own. With `canonical` and `classwise`, classes are drawn from the whole vector.

    `ties`, `cluster` and `weighting` are those of `is_calibrated`. Binned errors, KS, Kuiper, mean gap and the named ones are computed
    for all draws at once; other statistics are called on each draw.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.detect import calibration_test
    >>> labels, probs = [0] * 15 + [1] * 15, [0.2] * 15 + [0.8] * 15
    >>> calibration_test(labels, probs, "ece").rejects()  # 0.2 should happen once in a while
    True
    >>> calibration_test(labels, probs, lambda y, p: abs((y - p).mean()), n_draws=99, ties="count").p_value
    1.0
    """
    predictions = admit(labels, probs, weights=weights)
    kind = cluster_kind(predictions, cluster)
    name, function = resolved(statistic)
    if function is None:
        atoms = atoms_of(predictions, view, cluster, weighting)
        chosen = OWN[name](atoms, **options)
        plan = planned(n_draws, ties, seed, kind, len(atoms.p))
        return exact_result(atoms, chosen, plan, name, chosen.title, {"statistic": name} | options)
    wanted = _view_of(function, view)
    told = _views(function, wanted)
    title = function(predictions, **told, **options).title if known(function) else name
    described = {"view": wanted, "statistic": name} | options
    if wanted in ("canonical", "classwise") and not predictions.is_binary:
        value = _valued(function, name, told | options)
        return whole_test(predictions, name, title, value, described, cluster, (n_draws, ties, seed))
    atoms = atoms_of(predictions, "auto" if wanted == "canonical" else wanted, cluster, weighting)
    fast = fast_path(atoms, function, options)
    plan = planned(n_draws, ties, seed, kind, len(atoms.p), fast is not None)
    if fast is not None:
        return exact_result(atoms, fast, plan, name, title, described | {"view": atoms.view})
    return _called(atoms, predictions.weights is not None, name, title, _valued(function, name, options), plan, options)


calibration_test.__test__ = False  # type: ignore[attr-defined]  # not a test case, under whatever name it is imported


def resolved(statistic: Any) -> tuple[str, Callable[..., Any] | None]:
    """Name and function of a statistic; no function for those that are only known by name."""
    if isinstance(statistic, str):
        if statistic.lower() in OWN:
            return statistic.lower(), None
        about = find(ESTIMATORS, statistic)
        if about is None:
            raise InputError(
                "statistic", f"must be one of {listed([*OWN, *ESTIMATORS], 40)} or a function", f"it is {statistic!r}"
            )
        return about.name, about.function
    if not callable(statistic):
        raise InputError("statistic", "must be a name or a function of (labels, probs)", f"it is {statistic!r}")
    about = known(statistic)
    return about.name if about else getattr(statistic, "__name__", "statistic"), statistic


def known(function: Callable[..., Any]) -> About | None:
    """What an estimator says about itself; None for other functions."""
    return next((about for about in ESTIMATORS.values() if about.function is function), None)


def _view_of(function: Callable[..., Any], view: Any) -> Any:
    """The view that was asked for, or the function's own."""
    about = known(function)
    if view != "auto" or about is None:
        return view
    if len(about.views) == 1:
        return about.views[0]
    own = inspect.signature(function).parameters.get("view")
    return view if own is None else own.default


def _views(function: Callable[..., Any], view: Any) -> dict[str, Any]:
    """The view as an option, for functions that take one."""
    return {"view": view} if "view" in inspect.signature(function).parameters else {}


def fast_path(atoms: Atoms, function: Callable[..., Any], options: dict[str, Any]) -> Statistic | None:
    """The statistic of an estimator computed for all draws at once, where that is known."""
    if options.get("debiased") and atoms.cluster is not None:
        return None  # needs rates, which errors with their signs turned round do not give
    if function is binned.ece and set(options) <= {"n_bins"}:
        return of.binned(atoms, EqualWidth(options.get("n_bins", 15)))
    if function is binned.binned_error:
        rest = dict(options)
        bins = rest.pop("bins", EqualMass(15))
        if isinstance(bins, EqualMass) and bins.ties == "split":
            raise InputError("bins", "must keep ties together in a test", "ties='split' depends on the order of rows")
        return of.binned(atoms, bins, **rest)
    if function is cumulative.ks_error and set(options) <= {"statistic"}:
        return of.cumulative(atoms, options.get("statistic", "max"))
    if function is mean_gap.mean_gap and not options:
        return of.mean_gap(atoms)
    return None


def _valued(function: Callable[..., Any], name: str, options: dict[str, Any]) -> Callable[[Predictions], float]:
    """The statistic as a number: its size, where it has a sign; other people's functions take (labels, probs)."""
    ours = known(function) is not None

    def value(said: Predictions) -> float:
        found = float(function(said, **options) if ours else function(said.labels, said.probs, **options))
        if not np.isfinite(found):
            raise InputError("statistic", "must give a finite number on every draw", f"{name} gave {found}")
        return abs(found) if function is mean_gap.mean_gap else found

    return value


def _called(
    atoms: Atoms,
    weighted: bool,
    name: str,
    title: str,
    value: Callable[[Predictions], float],
    plan: Plan,
    options: dict[str, Any],
) -> TestResult:
    """The statistic called on every draw, one after the other: it may use the cores itself."""
    if plan.kind == "any":
        raise InputError(
            "cluster",
            "'any' needs a statistic that is computed from errors",
            f"{name} is computed from labels",
            "Use cluster='same', or a binned error, KS, Kuiper or is_calibrated",
        )
    (null,) = nulls_of(atoms, plan.kind)
    seed, coin = content_seed(plan.seed, atoms.p, atoms.unit, atoms.count, atoms.hits, atoms.cluster)
    seeds = replicate_seeds(seed, plan.n_draws)
    drawn = (hits_of(null, seeds[m : m + 1]) for m in range(plan.n_draws))
    values = np.array([value(rows_of(atoms, hits, weighted)) for hits in chain([atoms.hits], drawn)])
    return TestResult(
        name,
        title,
        values[0],
        rank_p_value(values, plan.ties, coin),
        atoms.n,
        null_words(atoms, plan),
        {"view": atoms.view, "method": "exact", "statistic": name}
        | options
        | plan.settings
        | weighting_settings(atoms),
        null_parts(values, coin),
        null_cautions(atoms, plan.kind),
    )


def hits_of(null: Null, seeds: Any) -> Any:
    """Hits of each atom in one draw."""
    atoms = null.atoms
    return np.round(atoms.count * atoms.p - null.draws(seeds)[0] / atoms.unit)


def rows_of(atoms: Atoms, hits: Any, weighted: bool) -> Predictions:
    """Atoms with so many hits as predictions: single rows, or rows with weights where weights were given."""
    if not weighted:
        place = np.arange(int(atoms.count.sum())) - np.repeat(np.cumsum(atoms.count) - atoms.count, atoms.count)
        labels = (place < np.repeat(hits, atoms.count)).astype(np.uint8)
        return Predictions(labels, np.repeat(atoms.p, atoms.count))
    weights = np.concatenate([atoms.unit * hits, atoms.unit * (atoms.count - hits)])
    labels = np.repeat(np.array([1, 0], np.uint8), len(atoms.p))
    kept = weights > 0
    return Predictions(labels[kept], np.tile(atoms.p, 2)[kept], weights=weights[kept])


ABOUT = AboutTest(
    name="calibration_test",
    title="exact test of any statistic",
    function=calibration_test,
    sees="what its statistic sees",
    views=("binary", "top", "class k", "classwise", "canonical"),
    methods=("exact",),
    cost="rows times draws: 1 s for a binned error, 10⁵ rows and 10 000 draws",
    source="Monte-Carlo test of Barnard 1963; predictions held fixed",
    also_called=("test", "monte carlo"),
)
