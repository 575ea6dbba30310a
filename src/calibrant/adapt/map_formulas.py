"""Formulas of the maps: of those that scale logits, of a single event, and of several classes made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant import maps
from calibrant.adapt.formulas import (
    Answer,
    Constants,
    Formula,
    Operations,
    Outputs,
    Value,
    as_probs,
    finished,
    formula,
    inside,
)
from calibrant.maps.binary import BentLineMap, narrowed
from calibrant.problems import InputError
from calibrant.types import Array

Tables = dict[str, Array]


@formula.register
def _(fitted: maps.IdentityMap, dtype: Any) -> Formula:  # noqa: ARG001
    return Formula({}, lambda c, outputs: Answer(outputs.value, outputs.kind))  # noqa: ARG005


def tempered(o: Operations, z: Value, temperature: Value, single: bool) -> Value:
    """z/T, with the largest of each row at 0."""
    return (z if single else z - o.largest(z)) / temperature


@formula.register
def _(fitted: maps.TemperatureMap, dtype: Any) -> Formula:
    def of(c: Constants, outputs: Outputs) -> Answer:
        z = tempered(outputs.o, outputs.plain_logits(fitted.zero), c["temperature"], outputs.single)
        return Answer(z, "logits")

    return Formula({"temperature": np.array(fitted.temperature, dtype)}, of, ("temperature",))


@formula.register
def _(fitted: maps.EnsembleMap, dtype: Any) -> Formula:
    base, shares = fitted.base, fitted.weights
    names = ("temperature", "share_tempered", "share_plain", "share_even")

    def of(c: Constants, outputs: Outputs) -> Answer:
        o = outputs.o
        z = tempered(o, outputs.plain_logits(base.zero), c["temperature"], outputs.single)
        sure = o.sigmoid(z) if outputs.single else o.softmax(z)
        even = c["share_even"] / len(fitted.classes)
        p = c["share_tempered"] * sure + c["share_plain"] * outputs.probs() + even
        return Answer(o.clip(p, float(np.finfo(dtype).tiny), _most(dtype) if outputs.single else None), "probs")

    values = (base.temperature, *shares)
    return Formula({n: np.array(v, dtype) for n, v in zip(names, values, strict=True)}, of, names)


@formula.register
def _(fitted: maps.OneVsRestTemperatureMap, dtype: Any) -> Formula:
    def of(c: Constants, outputs: Outputs) -> Answer:
        o = outputs.o
        z = outputs.plain_logits(fitted.zero)
        if outputs.single:
            return Answer(z / c["temperatures"], "logits")
        return Answer(-o.softplus(-class_log_odds(o, z) / c["temperatures"]), "logits")  # ln σ; the softmax divides

    shape = () if fitted.single else (-1,)
    return Formula({"temperatures": fitted.temperatures.astype(dtype).reshape(shape)}, of, ("temperatures",))


def class_log_odds(o: Operations, z: Value) -> Value:
    """z_k − ln Σ_(j≠k) e^(z_j), without cancellation or underflow."""
    below, top = z - o.largest(z), o.is_top(z)
    rest = o.where(top, 0.0, o.exp(below))
    others = o.where(top, -BELOW_ALL, below)
    second = o.largest(others)
    lead = -(second + o.log(o.total(o.where(top, 0.0, o.exp(others - second)))))
    return o.where(top, lead, below - o.log(1.0 + o.total(rest) - rest))


BELOW_ALL = 1e30
"""How far below the largest logit a class is put that takes no part."""


@formula.register
def _(fitted: maps.LinearMap, dtype: Any) -> Formula:
    def of(c: Constants, outputs: Outputs) -> Answer:
        if fitted.space == "logits" and outputs.kind == "probs":
            raise InputError("input", "must be 'logits' for this map", "it was fitted on logits as they were given")
        x = outputs.columns(fitted.zero) if fitted.space == "logits" else outputs.log_probs(fitted.zero)
        return linear(c, x, outputs, fitted.weight.ndim == 1)

    return Formula(linear_constants(fitted.weight, fitted.bias, dtype), of, ("weight", "bias"))


@formula.register
def _(fitted: maps.StructuredMap, dtype: Any) -> Formula:
    base, mix, weight, bias = fitted.base, fitted.mix, fitted.weight, fitted.bias

    def of(c: Constants, outputs: Outputs) -> Answer:
        o = outputs.o
        columns = outputs.columns(base.zero)
        q = (1 - mix) * o.softmax(tempered(o, columns, c["temperature"], single=False)) + mix / len(fitted.classes)
        return linear(c, o.log(q), outputs, weight.ndim == 1)

    constants = {"temperature": np.array(base.temperature, dtype)} | linear_constants(weight, bias, dtype)
    return Formula(constants, of, tuple(constants))


@formula.register
def _(fitted: maps.PriorShiftMap, dtype: Any) -> Formula:
    inner, shifts = inside("base", formula(fitted.base, dtype)), fitted.shifts

    def of(c: Constants, outputs: Outputs) -> Answer:
        z = finished(outputs.o, inner.of(c, outputs), outputs.single, "logits", dtype)
        return Answer(z + c["shift"], "logits")

    shift = np.array(shifts[1] - shifts[0] if fitted.single else shifts, dtype)
    return Formula({**inner.constants, "shift": shift}, of, (*inner.learned, "shift"))


def linear(c: Constants, x: Value, outputs: Outputs, diagonal: bool) -> Answer:
    """Wx + b; for a single event the difference of its two columns."""
    o = outputs.o
    z = (x * c["weight"] if diagonal else o.times(x, c["weight"])) + c["bias"]
    return Answer(o.column(z, 1) - o.column(z, 0) if outputs.single else z, "logits")


def linear_constants(weight: Any, bias: Any, dtype: Any) -> dict[str, Any]:
    """W and b."""
    return {"weight": weight.astype(dtype), "bias": bias.astype(dtype)}


def _most(dtype: Any) -> float:
    return 1 - float(np.finfo(dtype).epsneg)


@formula.register
def _(fitted: maps.LogOddsMap, dtype: Any) -> Formula:
    names = ("intercept", "slope", "square") if fitted.square else ("intercept", "slope")

    def of(c: Constants, outputs: Outputs) -> Answer:
        z = outputs.o.clip(outputs.log_odds(), -fitted.limit, fitted.limit)
        bend = c["slope"] + z * c["square"] if fitted.square else c["slope"]
        return Answer(c["intercept"] + z * bend, "logits")

    return Formula({name: np.array(getattr(fitted, name), dtype) for name in names}, of, names)


@formula.register
def _(fitted: maps.BetaMap, dtype: Any) -> Formula:
    def of(c: Constants, outputs: Outputs) -> Answer:
        o = outputs.o
        z = o.clip(outputs.log_odds(), -fitted.limit, fitted.limit)
        return Answer(c["c"] - c["a"] * o.softplus(-z) + c["b"] * o.softplus(z), "logits")

    return Formula({name: np.array(getattr(fitted, name), dtype) for name in "abc"}, of, tuple("abc"))


@formula.register
def _(fitted: maps.KnotMap, dtype: Any) -> Formula:
    tables, at = line(fitted.x, fitted.y, dtype)
    return Formula(tables, lambda c, outputs: Answer(at(outputs.o, c, outputs.probs()), "probs"))


@formula.register
def _(fitted: maps.StepMap, dtype: Any) -> Formula:
    tables, at = steps(fitted.cuts, fitted.heights, dtype)
    return Formula(tables, lambda c, outputs: Answer(at(outputs.o, c, outputs.probs()), "probs"))


@formula.register
def _(fitted: maps.UnitSlopeMap, dtype: Any) -> Formula:
    tables, shift = steps(fitted.cuts, fitted.shifts, dtype)

    def of(c: Constants, outputs: Outputs) -> Answer:
        p = outputs.probs()
        return Answer(outputs.o.clip(p + shift(outputs.o, c, p), fitted.margin, 1 - fitted.margin), "probs")

    return Formula(tables, of)


@formula.register
def _(fitted: maps.VennAbersMap, dtype: Any) -> Formula:
    lower, low = steps(fitted.low_cuts, fitted.low, dtype, closed="left", prefix="low_")
    upper, high = steps(fitted.high_cuts, fitted.high, dtype, prefix="high_")

    def of(c: Constants, outputs: Outputs) -> Answer:
        o, p = outputs.o, outputs.probs()
        top = high(o, c, p)
        return Answer(top / (1.0 - low(o, c, p) + top), "probs")

    return Formula(lower | upper, of)


@formula.register
def _(fitted: maps.SplineMap, dtype: Any) -> Formula:
    tables, place = line(fitted.scores, fitted.places, dtype)
    y, m, pieces = fitted.values, fitted.bends, len(fitted.values) - 1
    d = 1 / pieces
    tables |= {"rise": (np.diff(y) / d).astype(dtype), "left": (d / 6 * m[:-1]).astype(dtype)}
    tables |= {"right": (d / 6 * m[1:]).astype(dtype)}

    def of(c: Constants, outputs: Outputs) -> Answer:
        o, p = outputs.o, outputs.probs()
        t = place(o, c, p) * float(pieces)
        j = o.as_places(o.clip(t, 0.0, pieces - 0.5))
        u = t - o.as_floats(j)
        far = o.pick(c["right"], j) * (3.0 * u * u - 1.0)
        near = o.pick(c["left"], j) * (3.0 * (1.0 - u) * (1.0 - u) - 1.0)
        return Answer(o.clip(p + o.pick(c["rise"], j) + far - near, fitted.margin, 1 - fitted.margin), "probs")

    return Formula(tables, of)


@formula.register
def _(fitted: BentLineMap, dtype: Any) -> Formula:
    tables, at = line(fitted.knots, fitted.heights, dtype)
    first, last = float(fitted.knots[0]), float(fitted.knots[-1])

    def of(c: Constants, outputs: Outputs) -> Answer:
        o = outputs.o
        if isinstance(fitted, maps.PiecewiseMap) and fitted.space == "probability":
            return Answer(at(o, c, outputs.probs()), "probs")
        z = o.clip(outputs.log_odds(), -fitted.limit, fitted.limit)
        return Answer(at(o, c, z) + (z - o.clip(z, first, last)), "logits")

    return Formula(tables, of)


@formula.register
def _(fitted: maps.EvolvedMap, dtype: Any) -> Formula:
    t, h = fitted.knots, fitted.heights
    start = t[:-1].astype(dtype)
    inner = t[1:-1] if len(t) > 2 else np.full(1, np.inf)  # a table must hold something
    tables = {
        "inner": rounded(inner, dtype, up=True),
        "start": start,
        "rest": (t[:-1] - start.astype(np.float64)).astype(dtype),
    }
    tables |= {"length": np.diff(t).astype(dtype), "left": h[:-1].astype(dtype), "rise": np.diff(h).astype(dtype)}
    tables |= {"bends": fitted.bends.astype(dtype)}

    def of(c: Constants, outputs: Outputs) -> Answer:
        o, p = outputs.o, outputs.probs()
        j = o.n_up_to(p, c["inner"])
        u = ((p - o.pick(c["start"], j)) - o.pick(c["rest"], j)) / o.pick(c["length"], j)
        found = o.pick(c["left"], j) + o.pick(c["rise"], j) * u + o.pick(c["bends"], j) * u * (1.0 - u)
        return Answer(o.clip(found, fitted.margin, 1 - fitted.margin), "probs")

    return Formula(tables, of)


@formula.register
def _(fitted: maps.ScalingBinningMap, dtype: Any) -> Formula:
    scaling = inside("scaling", formula(fitted.scaling, dtype))
    tables, at = steps(fitted.cuts, fitted.heights, dtype)

    def of(c: Constants, outputs: Outputs) -> Answer:
        p = as_probs(outputs.o, scaling.of(c, outputs), single=True, dtype=dtype)
        return Answer(at(outputs.o, c, p), "probs")

    return Formula({**scaling.constants, **tables}, of)


@formula.register
def _(fitted: maps.OneVsRestMap, dtype: Any) -> Formula:
    every = [formula(m, dtype) for m in fitted.maps]
    smooth = all(type(m) is type(fitted.maps[0]) and isinstance(m, maps.LogOddsMap | maps.BetaMap) for m in fitted.maps)
    same = smooth and len({m.limit for m in fitted.maps}) == 1  # type: ignore[attr-defined]
    same = same and all(one.learned == every[0].learned for one in every)
    inner = at_once(every, dtype) if same else side_by_side(every, dtype)

    def of(c: Constants, outputs: Outputs) -> Answer:
        o, recalibrated = outputs.o, inner.of(c, outputs).value
        return Answer(o.clip(recalibrated / o.total(recalibrated), float(np.finfo(dtype).tiny), None), "probs")

    return Formula(inner.constants, of, inner.learned)


def at_once(every: list[Formula], dtype: Any) -> Formula:
    """Formulas that differ in numbers only, all columns in one go."""
    constants = {name: np.stack([one.constants[name] for one in every]) for name in every[0].constants}

    def of(c: Constants, outputs: Outputs) -> Answer:
        answer = every[0].of(c, Outputs(outputs.o, outputs.probs(), "probs", single=True))
        return Answer(as_probs(outputs.o, answer, single=True, dtype=dtype), "probs")

    return Formula(constants, of, every[0].learned)


def side_by_side(every: list[Formula], dtype: Any) -> Formula:
    """A formula for each column."""
    inner = [inside(f"class_{k}", one) for k, one in enumerate(every)]

    def of(c: Constants, outputs: Outputs) -> Answer:
        o, p = outputs.o, outputs.probs()
        events = [Outputs(o, o.column(p, k), "probs", single=True) for k in range(len(inner))]
        answers = [one.of(c, event) for one, event in zip(inner, events, strict=True)]
        return Answer(o.stack([as_probs(o, answer, single=True, dtype=dtype) for answer in answers]), "probs")

    constants = {name: value for one in inner for name, value in one.constants.items()}
    return Formula(constants, of, tuple(name for one in inner for name in one.learned))


@formula.register
def _(fitted: maps.TopLabelMap, dtype: Any) -> Formula:
    inner = inside("top", formula(fitted.top, dtype))
    info, n_others = np.finfo(dtype), max(1, len(fitted.classes) - 1)
    margin = 1 + 8 * float(info.eps)  # so that rounding makes no tie

    def of(c: Constants, outputs: Outputs) -> Answer:
        o, p = outputs.o, outputs.probs()
        first = o.is_top(p)
        others = o.where(first, 0.0, p)
        rest, second = o.total(others), o.largest(others)
        none = rest <= 0.0
        least = second / o.where(none, 1.0, rest + second) * margin
        recalibrated = as_probs(
            o, inner.of(c, Outputs(o, o.largest(p), "probs", single=True)), single=True, dtype=dtype
        )
        sure = o.maximum(recalibrated, o.clip(least, None, 1.0))
        shares = o.where(none, 1.0 / n_others, others / o.where(none, 1.0, rest))
        return Answer(o.clip(o.where(first, sure, (1.0 - sure) * shares), float(info.tiny), None), "probs")

    return Formula(inner.constants, of, inner.learned)


Pointwise = Callable[[Operations, Constants, Value], Value]


def steps(cuts: Any, heights: Any, dtype: Any, closed: str = "right", prefix: str = "") -> tuple[Tables, Pointwise]:
    """A step function, its tables named with a prefix.

    Cuts are rounded so that every number of this precision stays on its side of them.
    """
    right = closed == "right"
    kept = rounded(cuts, dtype, up=not right) if len(cuts) else np.full(1, np.inf, dtype)
    levels = narrowed(np.asarray(heights), dtype) if len(cuts) else np.repeat(heights, 2)
    tables = {f"{prefix}cuts": kept, f"{prefix}heights": levels.astype(dtype)}

    def at(o: Operations, c: Constants, p: Value) -> Value:
        count = o.n_below if right else o.n_up_to
        return o.pick(c[f"{prefix}heights"], count(p, c[f"{prefix}cuts"]))

    return tables, at


def line(x: Any, y: Any, dtype: Any) -> tuple[Tables, Pointwise]:
    """Straight lines between knots, level beyond them.

    A knot is kept as a sum of two numbers, so that the distance to it is exact to this precision even on steep pieces.
    """
    with np.errstate(over="ignore"):  # equal knots have no line between them
        slopes = np.divide(np.diff(y), np.diff(x), out=np.zeros(len(x) - 1), where=np.diff(x) > 0)
    most = float(np.finfo(dtype).max)
    slopes = np.clip(np.concatenate([[0.0], slopes, [0.0]]), -most, most)
    knots = np.concatenate([x[:1], x])
    coarse = knots.astype(dtype)
    tables = {
        "knots": rounded(x, dtype, up=True),
        "coarse": coarse,
        "fine": (knots - coarse.astype(np.float64)).astype(dtype),
        "heights": np.concatenate([y[:1], y]).astype(dtype),
        "slopes": slopes.astype(dtype),
    }
    low, high = float(np.min(y)), float(np.max(y))

    def at(o: Operations, c: Constants, p: Value) -> Value:
        j = o.n_up_to(p, c["knots"])
        distance = (p - o.pick(c["coarse"], j)) - o.pick(c["fine"], j)
        return o.clip(o.pick(c["heights"], j) + o.pick(c["slopes"], j) * distance, low, high)

    return tables, at


def rounded(values: Any, dtype: Any, up: bool) -> Array:
    """In this precision, never below (`up`) or never above what they are."""
    found = np.asarray(values).astype(dtype)
    off = found.astype(np.float64) < values if up else found.astype(np.float64) > values
    return np.where(off, np.nextafter(found, np.asarray(np.inf if up else -np.inf, dtype)), found)
