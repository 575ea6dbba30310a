"""Formulas of maps that sort a row, bend the answers of another map, or average several."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant import maps
from calibrant.adapt.formulas import Answer, Constants, Formula, Outputs, Value, as_probs, formula, inside
from calibrant.adapt.map_formulas import line
from calibrant.kernels.fit.monotone_logits import at_cuts, places
from calibrant.types import Array


def _columns(outputs: Outputs, answer: Answer, dtype: Any) -> Value:
    """Probabilities, one column per class."""
    p = as_probs(outputs.o, answer, outputs.single, dtype)
    return outputs.o.stack([1.0 - p, p]) if outputs.single else p


@formula.register
def _(fitted: maps.MixtureMap, dtype: Any) -> Formula:
    parts = [inside(f"part_{j}", formula(part, dtype)) for j, part in enumerate(fitted.parts)]
    weights, even = fitted.weights.tolist(), max(fitted.lift / len(fitted.classes), float(np.finfo(dtype).tiny))

    def of(c: Constants, outputs: Outputs) -> Answer:
        o, total = outputs.o, 0.0
        for weight, part in zip(weights, parts, strict=True):
            p = _columns(outputs, part.of(c, outputs), dtype)
            total = total + o.log(p * (1 - fitted.lift) + even) * weight
        return Answer(o.column(total, 1) - o.column(total, 0) if outputs.single else total, "logits")

    constants = {name: value for part in parts for name, value in part.constants.items()}
    return Formula(constants, of, tuple(name for part in parts for name in part.learned))


@formula.register
def _(fitted: maps.BentMap, dtype: Any) -> Formula:
    base, bend = inside("base", formula(fitted.base, dtype)), inside("bend", formula(fitted.bend, dtype))
    info = np.finfo(dtype)

    def of(c: Constants, outputs: Outputs) -> Answer:
        o = outputs.o
        q = _columns(outputs, base.of(c, outputs), dtype)
        g = as_probs(o, bend.of(c, Outputs(o, q, "probs", single=True)), single=True, dtype=dtype)
        new = o.clip(g / o.total(g), float(info.tiny), 1 - float(info.epsneg) if outputs.single else None)
        return Answer(o.column(new, 1) if outputs.single else new, "probs")

    return Formula({**base.constants, **bend.constants}, of, base.learned)


@formula.register
def _(fitted: maps.OrderPreservingMap, dtype: Any) -> Formula:
    k = len(fitted.classes)
    first, last = np.eye(k)[:-1], np.eye(k)[1:]  # of K entries all but the last, and all but the first
    pieces = np.maximum(np.arange(len(fitted.slopes)) - 1, 0)
    tables: dict[str, Array] = {
        "cuts": fitted.cuts if len(fitted.cuts) else np.full(1, np.inf),
        "starts": fitted.cuts[pieces] if len(fitted.cuts) else np.zeros(2),
        "base": at_cuts(fitted.cuts, fitted.slopes) if len(fitted.cuts) else np.zeros(2),
        "slopes": fitted.slopes if len(fitted.cuts) else np.repeat(fitted.slopes, 2),
        "gaps": first - last,
        "below_gaps": np.tril(np.ones((k, k - 1)), -1),
        "first": first,
        "last": last,
    }
    lines = [inside_line(f"rates_{j}", fitted.knots, row, dtype) for j, row in enumerate(fitted.rates)]
    if lines:
        tables["places"] = np.eye(len(lines))[places(k)]
    if len(fitted.above):
        tables |= {"above": fitted.above, "below": fitted.below}

    def of(c: Constants, outputs: Outputs) -> Answer:
        o = outputs.o
        s, order = o.ranked(outputs.log_probs(fitted.zero))
        j = o.n_below(s, c["cuts"])
        f = o.pick(c["base"], j) + o.pick(c["slopes"], j) * (s - o.pick(c["starts"], j))
        z = f - o.largest(f)
        gaps, factors = o.times(s, c["gaps"]), None
        if lines:
            rest = o.times(s, c["last"])
            most = o.largest(rest)
            odds = o.column(o.largest(s) - most - o.log(o.total(o.exp(rest - most))), 0)
            factors = o.times(o.stack([at(c, o, odds) for _, at in lines]), c["places"])
        if len(fitted.above):
            ends = o.times(o.pick(c["above"], order), c["first"]) + o.times(o.pick(c["below"], order), c["last"])
            factors = ends if factors is None else factors + ends
        z = z if factors is None else z - o.times(factors * gaps, c["below_gaps"])
        new = o.unranked(z, order)
        return Answer(o.column(new, 1) - o.column(new, 0) if outputs.single else new, "logits")

    constants = {name: value.astype(dtype) for name, value in tables.items()}
    for found, _ in lines:
        constants |= found
    return Formula(constants, of)


def inside_line(prefix: str, x: Any, y: Any, dtype: Any) -> tuple[dict[str, Array], Any]:
    """Straight lines between knots, their tables named with a prefix, and a function of the constants."""
    tables, at = line(x, y, dtype)

    def found(c: Constants, o: Any, value: Value) -> Value:
        return at(o, {name: c[f"{prefix}_{name}"] for name in tables}, value)

    return {f"{prefix}_{name}": table for name, table in tables.items()}, found
