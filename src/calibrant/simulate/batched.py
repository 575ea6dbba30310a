"""Batched forms: estimators that compute many data sets at once; all others take the data sets one by one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrant.bins import BinSums, Edges, EqualMass, EqualWidth
from calibrant.estimate.binned import LEVEL, Options, binned_error, each_error, ece
from calibrant.estimate.chosen import rule_name
from calibrant.estimate.label_binned import label_binned_error
from calibrant.estimate.sweep import sweep_error
from calibrant.infer.squared import squared_ends
from calibrant.methods import method, methods
from calibrant.simulate.batch import Batch
from calibrant.types import Floats

Values = tuple[Floats, Floats, Floats]
"""Value and both ends of the interval for each data set, `(R,)`; the ends are nan where
the estimator has no interval.
"""


def batched(function: Callable[..., Any], options: Mapping[str, Any], batch: Batch) -> Values | None:
    """Estimates on all data sets of a batch; None if the estimator has no batched form
    or this one lacks an option.

    A batched form is registered with `@method("batched", name=…, of=estimator)`. It
    takes a `Batch` and, as keywords, the options it understands, and returns None for
    values of them that it does not.
    """
    form = next((each.function for each in methods("batched").values() if each.of is function), None)
    if form is None or not options.keys() <= inspect.signature(form).parameters.keys():
        return None
    values: Values | None = form(batch, **options)
    return values


def is_batched(bins: Any) -> bool:
    """Can a batch be binned by this rule? Not by one of another package, one that
    splits ties, or one that drops rows.
    """
    known = type(bins) in (EqualMass, EqualWidth, Edges)
    return known and getattr(bins, "ties", "keep") == "keep" and getattr(bins, "ends", True)


@method("batched", name="binned", of=binned_error)
def batched_binned(
    batch: Batch,
    *,
    bins: Any = EqualMass(15),  # noqa: B008  (frozen)
    norm: Any = 1,
    debiased: bool = False,
    root: bool = True,
    clip: bool = True,
) -> Values | None:
    """`binned_error`."""
    return _finish(batch.sums(bins), norm, debiased, root, clip) if is_batched(bins) else None


@method("batched", name="ece", of=ece)
def batched_ece(batch: Batch, *, n_bins: int = 15) -> Values | None:
    """`ece`."""
    return batched_binned(batch, bins=EqualWidth(n_bins))


@method("batched", name="sweep", of=sweep_error)
def batched_sweep(
    batch: Batch, *, bins: Any = "mass", norm: Any = 1, debiased: bool = False, root: bool = True, clip: bool = True
) -> Values:
    """`sweep_error`."""
    return _finish(batch.swept(rule_name(bins)), norm, debiased, root, clip)


@method("batched", name="label_binned", of=label_binned_error)
def batched_label_binned(
    batch: Batch,
    *,
    bins: Any = EqualMass(15),  # noqa: B008  (frozen)
    norm: Any = 1,
    root: bool = True,
) -> Values | None:
    """`label_binned_error`."""
    if not is_batched(bins):
        return None
    distances = batch.distances(bins)
    values = distances.max(axis=1) if norm == "max" else (distances**norm).mean(axis=1)
    return _without_interval(np.sqrt(values) if norm == 2 and root else values)


def _finish(state: BinSums, norm: Any, debiased: bool, root: bool, clip: bool) -> Values:
    values = each_error(state, Options(norm, debiased, root, clip))
    if norm != 2 or not debiased:
        return _without_interval(values)
    low, high = squared_ends(state, LEVEL)
    return (values, np.sqrt(low), np.sqrt(high)) if root else (values, low, high)


def _without_interval(values: Floats) -> Values:
    none = np.full(len(values), np.nan)
    return values, none, none
