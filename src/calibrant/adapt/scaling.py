"""Formulas of the maps that scale logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.adapt.formulas import Answer, Constants, Formula, Outputs, formula
from calibrant.adapt.operations import Operations, Value
from calibrant.maps import EnsembleMap, IdentityMap, LinearMap, OneVsRestTemperatureMap, StructuredMap, TemperatureMap
from calibrant.problems import InputError


@formula.register
def _(fitted: IdentityMap, dtype: Any) -> Formula:  # noqa: ARG001
    return Formula({}, lambda c, outputs: Answer(outputs.value, outputs.kind))  # noqa: ARG005


def tempered(o: Operations, z: Value, temperature: Value, single: bool) -> Value:
    """z/T, with the largest of each row at 0."""
    return (z if single else z - o.largest(z)) / temperature


@formula.register
def _(fitted: TemperatureMap, dtype: Any) -> Formula:
    def of(c: Constants, outputs: Outputs) -> Answer:
        z = tempered(outputs.o, outputs.plain_logits(fitted.zero), c["temperature"], outputs.single)
        return Answer(z, "logits")

    return Formula({"temperature": np.array(fitted.temperature, dtype)}, of, ("temperature",))


@formula.register
def _(fitted: EnsembleMap, dtype: Any) -> Formula:
    base, shares = fitted.base, fitted.weights
    assert base is not None
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
def _(fitted: OneVsRestTemperatureMap, dtype: Any) -> Formula:
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
def _(fitted: LinearMap, dtype: Any) -> Formula:
    def of(c: Constants, outputs: Outputs) -> Answer:
        if fitted.space == "logits" and outputs.kind == "probs":
            raise InputError("input", "must be 'logits' for this map", "it was fitted on logits as they were given")
        x = outputs.columns(fitted.zero) if fitted.space == "logits" else outputs.log_probs(fitted.zero)
        return linear(c, x, outputs, fitted.weight.ndim == 1)

    return Formula(linear_constants(fitted.weight, fitted.bias, dtype), of, ("weight", "bias"))


@formula.register
def _(fitted: StructuredMap, dtype: Any) -> Formula:
    base, mix, weight, bias = fitted.base, fitted.mix, fitted.weight, fitted.bias
    assert base is not None
    assert weight is not None
    assert bias is not None

    def of(c: Constants, outputs: Outputs) -> Answer:
        o = outputs.o
        columns = outputs.columns(base.zero)
        q = (1 - mix) * o.softmax(tempered(o, columns, c["temperature"], single=False)) + mix / len(fitted.classes)
        return linear(c, o.log(q), outputs, weight.ndim == 1)

    constants = {"temperature": np.array(base.temperature, dtype)} | linear_constants(weight, bias, dtype)
    return Formula(constants, of, tuple(constants))


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
