"""Tests of the squared kernel calibration error: by null draws, sign flips, or a bound."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant.detect.calibration import statistic_test
from calibrant.estimate.skce import skce
from calibrant.inputs import check_choice
from calibrant.kernels.draws.null_sums import picked_sums, same_class_pairs, turned_pairs
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import Predictions, admit, cluster_kind
from calibrant.problems import InputError
from calibrant.resampling.classes import MAX_HELD, ClassRows, class_rows
from calibrant.resampling.draw import Statistic
from calibrant.resampling.exact import Exact, exact_result, method_name, refuse_cluster
from calibrant.resampling.null import ASSUMED_INDEPENDENT, IMPOSSIBLE, Hypothesis, SignFlips, hypothesis_of, rough
from calibrant.resampling.pairs import laplace_pairs
from calibrant.resampling.rows import Atoms, assumes_independence, atoms_of, refuse_many, refuse_soft
from calibrant.results import TestResult
from calibrant.score.u_score import KERNELS
from calibrant.types import Array, Cluster, Floats, Seed

MAX_ROWS = 4000
"""Rows whose kernel is held as a matrix, of 128 MB."""

METHODS = ("exact", "asymptotic", "bound")


@method("test", name="skce", title="SKCE test", views=("canonical", *ONE_EVENT), ways=METHODS, also_called=("KCE",))
def skce_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact", "asymptotic", "bound"] | Exact = "exact",
    estimator: Literal["unbiased", "biased"] = "unbiased",
    kernel: Literal["tv", "laplace", "gaussian"] = "tv",
    bandwidth: float | None = None,
    view: Any = "canonical",
    n_draws: int | None = None,
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
) -> TestResult:
    """Are the predicted distributions calibrated? A test of the squared kernel calibration error.

    The error is 0 only for a calibrated model.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    method
        `"exact"` draws classes from the predictions; `Exact(...)` says how.
        `"asymptotic"` flips the signs of the rows' errors at random, which gives the
        distribution of the statistic for many rows whose labels are uncertain.
        `"bound"` is Hoeffding's: a p-value that is never too small, and far too large
        in practice.
    estimator, kernel, bandwidth
        As in `cal.skce`.
    view
        `"canonical"` tests all classes, at most 4000 rows; `"top"` and `"class k"` one
        event.
    n_draws, cluster, seed
        As in `is_calibrated`; clusters need the exact test of one event.

    Notes
    -----
    Power against: any smooth error of the predicted distributions.
    Cost: rows times draws for one event; rows² times draws, over the number of classes,
      for all.
    Source: Widmann, Lindsten, Zachariah 2019.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(1)
    >>> probs = rng.dirichlet(np.ones(3), 200)
    >>> labels = (rng.random((200, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> [cal.detect.skce_test(labels, probs, method=m).p_value > 0.05 for m in ("exact", "bound")]
    [True, True]
    """
    way, exact = method_name(method, METHODS), Exact.asked(method, n_draws, seed)
    check_choice("estimator", estimator, ("unbiased", "biased"))
    predictions = admit(labels, probs, counts=counts, weights=weights)
    refuse_soft(predictions)
    kind = cluster_kind(predictions, cluster)
    if way != "exact":
        refuse_cluster(kind, way)
    options: dict[str, Any] = {"estimator": estimator, "kernel": kernel, "bandwidth": bandwidth}
    found = skce(predictions, **options, view=view, seed=exact.seed)
    options["bandwidth"] = found.settings["bandwidth"]
    if way == "bound":
        return _bound(predictions, found.value, options | {"view": view}, cluster)
    if not predictions.is_binary and view == "canonical":
        return _all_classes(class_rows(predictions, cluster), way, options, exact)
    if kernel == "gaussian" and way == "asymptotic":
        raise InputError("kernel", "must be 'tv' or 'laplace' for the asymptotic test of one event")
    if kind is not None or kernel == "gaussian":
        return statistic_test(predictions, skce, exact, view, cluster, options)
    atoms = atoms_of(predictions, "auto" if view == "canonical" else view, cluster)
    return _one_event(atoms, way, options | {"view": view}, exact)


def _bound(predictions: Predictions, value: float, options: dict[str, Any], cluster: Any) -> TestResult:
    """Hoeffding's bound on P(SKCE ≥ t), as h lies in [−2, 2].

    exp(−⌊n/2⌋(t/2)²/2) for the mean over pairs of different rows, exp(−max(√(nt/2) − 1, 0)²/2)
    for the mean over all pairs.
    """
    n = predictions.n
    if predictions.squares is not None:
        raise InputError("weights", "must be left out for a bound on rows", advice="Use method='exact'")
    unbiased = options["estimator"] == "unbiased"
    power = (n // 2) * (max(value, 0.0) / 2) ** 2 if unbiased else max(np.sqrt(n * value / 2) - 1, 0.0) ** 2
    p, warnings = np.exp(-power / 2), (IMPOSSIBLE,) * _impossible(predictions, options["view"])
    warnings += (ASSUMED_INDEPENDENT,) * assumes_independence(predictions, cluster)
    null, settings = "rows independent; distribution-free bound", {"method": "bound"} | options
    return TestResult("skce", "SKCE", value, float(p), predictions.n, null, settings, cautions=warnings)


def _impossible(predictions: Predictions, view: Any) -> bool:
    """Did some label have predicted probability 0?"""
    if predictions.is_binary or view != "canonical":
        return atoms_of(predictions, "auto" if view == "canonical" else view).impossible > 0
    refuted = predictions.probs[np.arange(len(predictions.labels)), predictions.labels] == 0
    return bool((refuted if predictions.weights is None else refuted & (predictions.weights > 0)).any())


def _one_event(atoms: Atoms, way: str, options: dict[str, Any], exact: Exact) -> TestResult:
    """One event with a Laplace kernel, by a recursion along the predictions."""
    width, estimator = options["bandwidth"] / KERNELS[options["kernel"]].line, options["estimator"]
    if way == "exact":
        return exact_result(hypothesis_of(atoms), laplace_pairs(atoms, width, estimator), exact, "skce", "", options)
    if atoms.fixed:
        raise InputError("weights", "must be left out for an asymptotic test", advice="Use method='exact'")
    refuse_many(atoms.total, MAX_HELD)
    p, hits = np.repeat(atoms.p, atoms.count), atoms.labels(atoms.hits).astype(np.float64)
    rows = Atoms.single(p, hits, atoms.view, atoms.n)
    hypothesis = _flipped(hypothesis_of(atoms), rows.errors, (rows.p, rows.hits), float(rows.variance.sum()))
    statistic = laplace_pairs(rows, width, estimator, flipped=True)
    return exact_result(hypothesis, statistic, exact, "skce", "", {"method": way} | options)


def _flipped(hypothesis: Hypothesis, observed: Floats, content: tuple[Array | None, ...], chance: float) -> Hypothesis:
    """The same rows under sign flips, with a warning where predictions are so sure that few rows can err."""
    nulls = [SignFlips(observed, np.arange(len(observed)))]
    warnings = hypothesis.warnings + rough(chance, "sign flips are")
    return replace(hypothesis, nulls=nulls, text="signs of the errors flipped", content=content, warnings=warnings)


def _all_classes(rows: ClassRows, way: str, options: dict[str, Any], exact: Exact) -> TestResult:
    n = len(rows.probs)
    if n > MAX_ROWS:
        expected = f"must hold at most {MAX_ROWS} rows for this test of all classes"
        advice = "Use view='top', method='bound', is_calibrated(view='canonical') or fewer rows"
        raise InputError("labels", expected, f"it holds {n}", advice)
    from scipy.spatial.distance import cdist

    kernel = KERNELS[options["kernel"]]
    apart = cdist(rows.probs, rows.probs, "sqeuclidean" if kernel.squared else "cityblock")
    kappa = np.asarray(kernel.of(options["bandwidth"], apart), dtype=np.float64)  # of all pairs of rows
    kappa *= rows.weights[:, None] * rows.weights
    hypothesis, make = rows.hypothesis, _of_labels
    if way != "exact":
        chance = float((1 - np.einsum("ik,ik->i", rows.probs, rows.probs)).sum()) / 2
        hypothesis, make = _flipped(hypothesis, np.ones(n), hypothesis.content, chance), _of_signs
    unbiased = options["estimator"] == "unbiased"
    statistic = Statistic("skce", "SKCE", make(rows, kappa, unbiased))
    # rows² steps per draw: few draws unless asked for more
    return exact_result(hypothesis, statistic, exact, "skce", "", {"method": way} | options, math.inf)


def _of_labels(rows: ClassRows, kappa: Floats, unbiased: bool) -> Any:
    """Σκ⟨e_y − p, e_y' − p'⟩ = Σκ1{y = y'} − 2Σκp'_y + Σκ⟨p, p'⟩ of each draw's labels."""
    p, own = rows.probs, np.diag(kappa)[:, None]
    mixed = np.einsum("ij,jk->ik", kappa, p, optimize=True)
    constant = float(np.einsum("ik,ik->", mixed, p)) + float(own.sum())
    itself = own * (1 + np.einsum("ik,ik->i", p, p)[:, None] - 2 * p) if unbiased else np.zeros_like(p)
    table, pairs = -2 * mixed - itself, _pairs(rows, unbiased)

    def collect(labels: Any) -> Floats:
        same, single = np.empty(len(labels)), np.empty(len(labels))
        same_class_pairs(kappa, labels, p.shape[1], same)
        picked_sums(labels, table, single)
        return np.asarray((same + single + constant) / pairs)[:, None]

    return collect


def _pairs(rows: ClassRows, unbiased: bool) -> float:
    """The weight of all pairs of rows, or of different ones."""
    return float(rows.weights.sum() ** 2 - unbiased * (rows.weights**2).sum())


def _of_signs(rows: ClassRows, kappa: Floats, unbiased: bool) -> Any:
    """The mean of h over pairs of rows, their errors multiplied by each draw's signs."""
    error, pairs = -rows.probs, _pairs(rows, unbiased)
    error[np.arange(len(error)), rows.labels] += 1
    h = kappa * np.einsum("ik,jk->ij", error, error, optimize=True)
    diagonal = 0.0 if unbiased else float(np.trace(h))

    def collect(signs: Floats) -> Floats:
        found = np.empty(len(signs))
        turned_pairs(h, signs, found)
        return np.asarray((found + diagonal) / pairs)[:, None]

    return collect
