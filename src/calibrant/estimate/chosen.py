"""Binned errors whose number of bins the data choose: what the sweep and the cross-validated error have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from calibrant.bins import EqualMass, EqualWidth
from calibrant.bins.equal_mass import Ties
from calibrant.bins.number import MOST_BINS
from calibrant.estimate.binned import Options, finish
from calibrant.kernels.rows.pooling import bin_numbers, cut_squares, cut_sums
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.state.bin_sums import BinSums, stacked

RULES: dict[str, Any] = {"mass": EqualMass, "width": EqualWidth}

Rule = type[EqualMass] | type[EqualWidth]

MANY_BINS = 1 << 12
"""Bins up to which there is an entry for each, rows or not."""

Choice = Callable[[Event, str], int]
"""The number of bins for an event, of equal mass or equal width"""


def chosen_error(
    predictions: Predictions,
    view: Any,
    bins: Any,
    choose: Choice,
    options: Options,
    *,
    name: str,
    kind: str,
    how: str,
    ties: Ties = "keep",
) -> Estimate:
    """The binned error with the number of bins that `choose` finds for the view's event, or for each class."""
    bins, chosen = rule_name(bins), predictions.view(view)
    rule = RULES[bins] if ties == "keep" else partial(EqualMass, ties=ties)
    events = predictions.class_events() if chosen == "classwise" else iter([predictions.event(chosen)])
    states = [_collected(rule(choose(event, bins)), event) for event in events]
    counts = [state.bins.n_bins for state in states]
    joined = states[0] if len(states) == 1 else stacked(states, states[0].bins)
    estimate = finish(joined, chosen, predictions.classes, options, kind)
    number = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(counts[0])
    described = dict(estimate.settings) | {"bins": f"{number} equal-{bins} bins, {how}"}
    described["n_bins"] = counts if chosen == "classwise" else counts[0]
    described |= {} if ties == "keep" else {"ties": ties}
    described.pop("rule", None)
    capped = (f"the sweep was ended at {MOST_BINS:,} bins",) if max(counts) >= MOST_BINS else ()
    return replace(estimate, name=name, settings=described, cautions=estimate.cautions + capped)


def _collected(rule: Any, event: Event) -> BinSums:
    """Per-bin sums; only of bins that hold rows where there are far fewer predictions than bins."""
    few = rule.n_bins <= MANY_BINS or getattr(rule, "ties", "keep") != "keep"
    if few or rule.n_bins <= len(event.pooled.values):
        found: BinSums = rule.collect_sorted(event)
        return found
    pooled, mass = event.pooled, isinstance(rule, EqualMass)
    below, allowance = pooled.below(), pooled.allowance
    marks = (below, rule.n_bins, below[-1], allowance) if mass else (pooled.values, rule.n_bins, 1.0, 0.0)
    filled, starts = np.unique(bin_numbers(*marks), return_index=True)
    cuts = np.append(starts, len(pooled.values))
    low, high = filled / rule.n_bins, (filled + 1) / rule.n_bins
    if mass:  # the last prediction of the bin below, and its own
        low = np.append(0.0, pooled.values[starts[1:] - 1])
        high = np.append(low[1:], 1.0 if filled[-1] == rule.n_bins - 1 else pooled.values[-1])
    sums, squares = cut_sums(pooled, cuts), cut_squares(pooled, cuts)
    return BinSums(sums[None], low[None], high[None], event.n, rule, squares=squares)


def rule_name(bins: Any) -> str:
    """`mass` or `width` by the rule's class; a number of bins is refused, as the data choose it."""
    for name, rule in RULES.items():
        if bins is rule:
            return name
    advice = "The number of bins is chosen by the data"
    raise InputError("bins", "must be EqualMass or EqualWidth, without a number", f"it is {bins!r}", advice)
