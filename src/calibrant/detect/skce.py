"""Tests of the squared kernel calibration error: by a bound that always holds, by turning signs, or by drawing labels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.detect.about import AboutTest
from calibrant.detect.calibration import calibration_test
from calibrant.estimate.skce import KERNELS, skce
from calibrant.inputs import check_choice
from calibrant.kernels.draws.null_draws import flip_signs, replicate_seeds
from calibrant.kernels.draws.null_sums import picked_sums, same_class_pairs, turned_pairs
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.predictions import Predictions, admit
from calibrant.problems import InputError
from calibrant.resampling import statistics
from calibrant.resampling.draw import BLOCK_ERRORS, content_seed, drawn
from calibrant.resampling.exact import Plan, exact_result, null_parts, planned
from calibrant.resampling.null import IMPOSSIBLE, UNSAID, TurnedSigns, null_cautions
from calibrant.resampling.rank import rank_p_value
from calibrant.resampling.rows import (
    Atoms,
    atoms_of,
    cluster_kind,
    refuse_cluster,
    refuse_many,
    refuse_soft,
    unsaid_groups,
)
from calibrant.resampling.vectors import MOST_HELD, NULL, WholeRows, cautions, drawn_labels, whole_rows
from calibrant.results import TestResult

Floats = NDArray[np.float64]

MOST_ROWS = 4000
"""Rows whose kernel is held as a matrix, of 128 MB."""

LITTLE_CHANCE = 25.0
"""Σp(1 − p) below which turning signs is told to be rough: see studies/results/false_alarms.md."""

TURNED = "signs of the errors turned round"

METHODS = ("exact", "asymptotic", "bound")


def skce_test(
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["exact", "asymptotic", "bound"] = "exact",
    estimator: Literal["unbiased", "biased"] = "unbiased",
    kernel: Literal["tv", "laplace", "gaussian"] = "tv",
    bandwidth: float | None = None,
    view: Any = "canonical",
    n_draws: int | None = None,
    cluster: Any = None,
    weights: Any = None,
    seed: int = 0,
) -> TestResult:
    """Is the whole distribution calibrated? A test of the squared kernel calibration error, which is 0 only if it is.

    `exact` draws classes from the predictions. `asymptotic` turns the signs of the rows' errors round at random, which gives
    the law of the statistic for many rows whose labels are uncertain. `bound` is Hoeffding's: a
    p-value that is never too small, and far too large in practice. Kernel and bandwidth are those of `cal.skce`.

    `cluster`: as in `is_calibrated`, for the `exact` test of one event.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.detect import skce_test
    >>> rng = np.random.default_rng(1)
    >>> probs = rng.dirichlet(np.ones(3), 200)
    >>> labels = (rng.random((200, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> skce_test(labels, probs).p_value > 0.05, skce_test(labels, probs, method="bound").p_value > 0.05
    (True, True)
    """
    check_choice("method", method, METHODS)
    check_choice("estimator", estimator, ("unbiased", "biased"))
    predictions = admit(labels, probs, weights=weights)
    refuse_soft(predictions)
    kind = cluster_kind(predictions, cluster)
    if method != "exact":
        refuse_cluster(kind, method)
    options = {"estimator": estimator, "kernel": kernel, "bandwidth": bandwidth, "view": view}
    found = skce(predictions, **options, seed=seed)
    options["bandwidth"] = found.settings["bandwidth"]
    if method == "bound":
        return _bound(predictions, found.value, options, cluster)
    if predictions.is_binary or view != "canonical":
        if kind is not None:
            return calibration_test(predictions, statistic=skce, n_draws=n_draws, cluster=kind, seed=seed, **options)
        return _event(predictions, method, options, n_draws, seed, cluster)
    return _whole(whole_rows(predictions, cluster), method, options, n_draws, seed)


def _bound(predictions: Predictions, value: float, options: dict[str, Any], cluster: Any) -> TestResult:
    """h lies in [−2, 2]: exp(−⌊n/2⌋(t/2)²/2) for the mean over pairs, exp(−max(√(nt/2) − 1, 0)²/2) for the mean over all."""
    n = predictions.n if predictions.weights is None else int(predictions.weights.sum())
    if predictions.weights is not None and (predictions.weights != np.floor(predictions.weights)).any():
        raise InputError("weights", "must be whole numbers for a bound on rows")
    if options["estimator"] == "unbiased":
        p = np.exp(-(n // 2) * (max(value, 0.0) / 2) ** 2 / 2)
    else:
        p = np.exp(-(max(np.sqrt(n * value / 2) - 1, 0.0) ** 2) / 2)
    null = "rows independent; distribution-free bound"
    told = ((IMPOSSIBLE,) if _impossible(predictions, options["view"]) else ()) + (
        (UNSAID,) if unsaid_groups(predictions, cluster) else ()
    )
    return TestResult(
        "skce", "SKCE", value, float(p), predictions.n, null, {"method": "bound"} | options, cautions=told
    )


def _impossible(predictions: Predictions, view: Any) -> bool:
    """Did something happen that was given probability 0?"""
    if predictions.is_binary or view != "canonical":
        return atoms_of(predictions, "auto" if view == "canonical" else view).impossible > 0
    refuted = predictions.probs[np.arange(predictions.n), predictions.labels] == 0
    return bool((refuted if predictions.weights is None else refuted & (predictions.weights > 0)).any())


def _event(
    predictions: Predictions, method: str, options: dict[str, Any], n_draws: Any, seed: int, cluster: Any
) -> TestResult:
    """One event: Laplace kernels by a recursion along the predictions, the Gaussian one by calling the estimator."""
    view, kernel, estimator = options["view"], options["kernel"], options["estimator"]
    if kernel == "gaussian":
        if method == "asymptotic":
            raise InputError("kernel", "must be 'tv' or 'laplace' for the asymptotic test of one event")
        return calibration_test(predictions, statistic=skce, n_draws=n_draws, cluster=cluster, seed=seed, **options)
    event_view = "auto" if view == "canonical" else view
    width = options["bandwidth"] / KERNELS[kernel].line
    if method == "exact":
        atoms = atoms_of(predictions, event_view, cluster, "counts")
        plan = planned(n_draws, "random", seed, None, len(atoms.p))
        statistic = statistics.laplace_pairs(atoms, width, estimator)
        return exact_result(atoms, statistic, plan, "skce", "SKCE", options)
    pooled = atoms_of(predictions, event_view, cluster, "counts")
    refuse_many(pooled.total, MOST_HELD)
    atoms = _single_rows(pooled)
    plan = planned(n_draws, "random", seed, "any", len(atoms.p))
    made, coin = content_seed(seed, atoms.p, atoms.hits)
    found = drawn(
        TurnedSigns(atoms), [statistics.laplace_pairs(atoms, width, estimator, turned=True)], plan.n_draws, made
    )
    told = null_cautions(pooled) + _rough(float(atoms.variance.sum()))
    return _result(found.values[:, 0], coin, plan, TURNED, atoms.n, options, "asymptotic", told)


def _single_rows(atoms: Atoms) -> Atoms:
    """Every row an atom and a cluster of its own."""
    place = np.arange(int(atoms.count.sum())) - np.repeat(np.cumsum(atoms.count) - atoms.count, atoms.count)
    hits = (place < np.repeat(atoms.hits, atoms.count)).astype(np.float64)
    ones = np.ones(len(hits))
    p = np.repeat(atoms.p, atoms.count)
    return Atoms(p, ones, ones.astype(np.int64), hits, np.arange(len(hits)), atoms.view, atoms.n)


def _whole(rows: WholeRows, method: str, options: dict[str, Any], n_draws: Any, seed: int) -> TestResult:
    n = len(rows.probs)
    if n > MOST_ROWS:
        raise InputError(
            "labels",
            f"must hold at most {MOST_ROWS} rows for this test of all classes",
            f"it holds {n}",
            "Use view='top', method='bound', is_calibrated(view='canonical') or fewer rows",
        )
    plan = planned(n_draws, "random", seed, None, n, fast=False)
    made, coin = content_seed(plan.seed, *rows.seed_arrays)
    kappa = kernel_matrix(rows.probs, options["kernel"], options["bandwidth"])
    seeds = replicate_seeds(made, plan.n_draws)
    if method == "exact":
        values = _drawn(rows, kappa, seeds, options["estimator"])
        return _result(values, coin, plan, NULL, rows.n, options, "exact", cautions(rows))
    values = _turned(rows, kappa, seeds, options["estimator"])
    left = float((1 - np.einsum("ik,ik->i", rows.probs, rows.probs)).sum()) / 2
    return _result(values, coin, plan, TURNED, rows.n, options, "asymptotic", cautions(rows) + _rough(left))


def _rough(chance: float) -> tuple[str, ...]:
    """A caution where predictions are so sure that few rows can err: Σp(1 − p) is small."""
    few = f"predictions leave little to chance (Σp(1 − p) = {chance:.1f}): turned signs are rough. Use method='exact'"
    return (few,) if chance < LITTLE_CHANCE else ()


def kernel_matrix(probs: Floats, kernel: str, bandwidth: float) -> Floats:
    """κ of all pairs of rows."""
    from scipy.spatial.distance import cdist

    chosen = KERNELS[kernel]
    apart = cdist(probs, probs, "sqeuclidean" if chosen.squared else "cityblock")
    return np.asarray(chosen.of(bandwidth, apart), dtype=np.float64)


def _drawn(rows: WholeRows, kappa: Floats, seeds: Any, estimator: str) -> Floats:
    """Σκ⟨e_y − p, e_y' − p'⟩ = Σκ1{y = y'} − 2Σκp'_y + Σκ⟨p, p'⟩ for the observed labels and for each draw."""
    p, n = rows.probs, len(rows.probs)
    mixed = np.einsum("ij,jk->ik", kappa, p, optimize=True)
    constant = float(np.einsum("ik,ik->", mixed, p)) + n  # κ is 1 on the diagonal
    own = 1 + np.einsum("ik,ik->i", p, p)[:, None] - 2 * p if estimator == "unbiased" else np.zeros_like(p)
    table = -2 * mixed - own
    pairs = n * (n - 1) if estimator == "unbiased" else n * n
    below = rows.below()

    def value(labels: Any) -> Floats:
        same, single = np.empty(len(labels)), np.empty(len(labels))
        same_class_pairs(kappa, labels, p.shape[1], same)
        picked_sums(labels, table, single)
        return np.asarray((same + single + constant) / pairs)

    parts = over_blocks(len(seeds), lambda b: value(drawn_labels(below, seeds[b])), max(1, BLOCK_ERRORS // n))
    return np.concatenate([value(rows.labels[None]), *parts])


def _turned(rows: WholeRows, kappa: Floats, seeds: Any, estimator: str) -> Floats:
    """The observed mean of h_ij over pairs, and with the signs of the rows turned round."""
    n = len(rows.probs)
    error = -rows.probs
    error[np.arange(n), rows.labels] += 1
    h = kappa * np.einsum("ik,jk->ij", error, error, optimize=True)
    ones, each = np.ones(n), np.arange(n)
    diagonal = 0.0 if estimator == "unbiased" else float(np.trace(h))
    pairs = n * (n - 1) if estimator == "unbiased" else n * n

    def value(signs: Floats) -> Floats:
        found = np.empty(len(signs))
        turned_pairs(h, signs, found)
        return (found + diagonal) / pairs

    def part(block: slice) -> Floats:
        signs = np.empty((block.stop - block.start, n))
        flip_signs(ones, each, seeds[block], signs)
        return value(signs)

    return np.concatenate([value(ones[None]), *over_blocks(len(seeds), part, max(1, BLOCK_ERRORS // n))])


def _result(
    values: Floats,
    coin: float,
    plan: Plan,
    null: str,
    n: int,
    options: dict[str, Any],
    method: str,
    told: tuple[str, ...] = (),
) -> TestResult:
    settings = {"method": method} | options | {"n_draws": plan.n_draws, "seed": plan.seed}
    p_value = rank_p_value(values, plan.ties, coin)
    words = f"{null}; {plan.n_draws:,} draws"
    return TestResult("skce", "SKCE", values[0], p_value, n, words, settings, null_parts(values, coin), told)


ABOUT = AboutTest(
    name="skce",
    title="SKCE test",
    function=skce_test,
    sees="any smooth error of the whole distribution",
    views=("canonical", "binary", "top", "class k"),
    methods=METHODS,
    cost="rows times draws for one event; rows² times draws, over the number of classes, for all",
    source="Widmann, Lindsten, Zachariah 2019",
    also_called=("KCE",),
)
