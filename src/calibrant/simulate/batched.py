"""Estimators of the binned family for many data sets at once; every other estimator takes them one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import BinSums, EqualMass, EqualWidth
from calibrant.estimate.binned import LEVEL, binned_error, each_error, ece
from calibrant.estimate.chosen import rule_name
from calibrant.estimate.label_binned import label_binned_error
from calibrant.estimate.sweep import sweep_error
from calibrant.infer.squared import squared_ends
from calibrant.simulate.batch import Batch

Floats = NDArray[np.float64]

Found = tuple[Floats, Floats, Floats]
"""Value and interval of each data set, `(R,)`; the interval is nan where the estimator has none."""


def of_binned(batch: Batch, options: Mapping[str, Any]) -> Found:
    """`binned_error`."""
    return _finished(batch.sums(options.get("bins", EqualMass(15))), options)


def of_ece(batch: Batch, options: Mapping[str, Any]) -> Found:
    """`ece`."""
    return _finished(batch.sums(EqualWidth(options.get("n_bins", 15))), {})


def of_sweep(batch: Batch, options: Mapping[str, Any]) -> Found:
    """`sweep_error`."""
    return _finished(batch.swept(rule_name(options.get("bins", "mass"))), options)


def of_label_binned(batch: Batch, options: Mapping[str, Any]) -> Found:
    """`label_binned_error`."""
    norm, away = options.get("norm", 1), batch.distances(options.get("bins", EqualMass(15)))
    values = away.max(axis=1) if norm == "max" else (away**norm).mean(axis=1)
    none = np.full(len(values), np.nan)
    return (np.sqrt(values) if norm == 2 and options.get("root", True) else values), none, none


BATCHED: dict[Any, tuple[Callable[[Batch, Mapping[str, Any]], Found], frozenset[str]]] = {
    binned_error: (of_binned, frozenset({"bins", "norm", "debiased", "root", "clip"})),
    ece: (of_ece, frozenset({"n_bins"})),
    label_binned_error: (of_label_binned, frozenset({"bins", "norm", "root"})),
    sweep_error: (of_sweep, frozenset({"bins", "norm", "debiased", "root", "clip"})),
}
"""How each is taken together, and which of its options that understands."""


def together(function: Any, options: Mapping[str, Any]) -> Callable[[Batch, Mapping[str, Any]], Found] | None:
    """How an estimator takes many data sets at once, or None."""
    of, known = BATCHED.get(function, (None, frozenset()))
    splits = getattr(options.get("bins"), "ties", "keep") == "split"  # where ties are split, the order of rows matters
    return of if options.keys() <= known and not splits else None


def _finished(state: BinSums, options: Mapping[str, Any]) -> Found:
    norm, debiased, root = options.get("norm", 1), options.get("debiased", False), options.get("root", True)
    values = each_error(state, norm=norm, debiased=debiased, root=root, clip=options.get("clip", True))
    if norm == 2 and debiased:
        low, high = squared_ends(state, LEVEL)
        return (values, np.sqrt(low), np.sqrt(high)) if root else (values, low, high)
    none = np.full(len(values), np.nan)
    return values, none, none
