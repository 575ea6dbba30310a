"""Maps as formulas over the arrays of any library: constants, and a function of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal, Protocol

import numpy as np

from calibrant.maps import CalibrationMap
from calibrant.maps.binary import FAR, LAST
from calibrant.maps.log_space import NEVER
from calibrant.problems import InputError
from calibrant.types import Array

Constants = Mapping[str, Any]

Value = Any
"""An array of some library that adds, subtracts, multiplies, divides and compares"""


class Operations(Protocol):
    """What a library must be able to do; torch and ONNX each do it in their way.

    Rows run along the last axis; sums and maxima keep it, with length one.
    """

    def log(self, x: Value) -> Value: ...
    def exp(self, x: Value) -> Value: ...
    def softplus(self, x: Value) -> Value:
        """ln(1 + e^x)."""

    def sigmoid(self, x: Value) -> Value: ...
    def softmax(self, x: Value) -> Value: ...
    def log_softmax(self, x: Value) -> Value: ...
    def total(self, x: Value) -> Value: ...
    def largest(self, x: Value) -> Value: ...
    def is_top(self, x: Value) -> Value:
        """True at the first of the largest of each row."""

    def clip(self, x: Value, low: float | None, high: float | None) -> Value: ...
    def maximum(self, x: Value, y: Value) -> Value: ...
    def where(self, condition: Value, yes: Value | float, no: Value | float) -> Value: ...
    def times(self, x: Value, matrix: Value) -> Value:
        """x·Wᵀ."""

    def stack(self, columns: list[Value]) -> Value:
        """Side by side, along a new last axis."""

    def column(self, x: Value, k: int) -> Value: ...
    def n_below(self, x: Value, cuts: Value) -> Value:
        """How many cuts lie below each x."""

    def n_up_to(self, x: Value, cuts: Value) -> Value:
        """How many cuts lie below or at each x."""

    def pick(self, table: Value, places: Value) -> Value:
        """The entries of a table at these places."""

    def as_places(self, x: Value) -> Value:
        """Rounded down, as places in a table."""

    def as_floats(self, places: Value) -> Value: ...
    def ranked(self, x: Value) -> tuple[Value, Value]:
        """Each row from its largest entry down, and where the entries were."""

    def unranked(self, x: Value, order: Value) -> Value:
        """The entries of such a row where they were."""


LN_2 = float(np.log(2))


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of a model in a library's arrays: logits or probabilities, of one event or of classes."""

    o: Operations
    value: Value
    kind: Literal["logits", "probs"]
    single: bool

    def probs(self) -> Value:
        """Probabilities."""
        if self.kind == "probs":
            return self.value
        return self.o.sigmoid(self.value) if self.single else self.o.softmax(self.value)

    def log_odds(self) -> Value:
        """Log-odds of a single event, all finite: so gradients are, too."""
        o, p = self.o, self.value
        if self.kind == "logits":
            return o.clip(p, -FAR, FAR)
        never, sure = p <= 0.0, 1.0 - p <= 0.0
        found = o.log(o.where(never, 1.0, p)) - o.log(o.where(sure, 1.0, 1.0 - p))
        return o.where(never, -LAST, o.where(sure, LAST, found))

    def columns(self, zero: float) -> Value:
        """Logits as they were given, or ln p with 0 read as `zero`; a single event has two columns."""
        if self.kind == "probs":
            return _log_columns(self.o, self.value, zero, self.single)
        return self.o.stack([self.value * 0.0, self.value]) if self.single else self.value

    def log_probs(self, zero: float) -> Value:
        """ln p, one column per class."""
        columns = self.columns(zero)
        return columns if self.kind == "probs" else self.o.log_softmax(columns)

    def plain_logits(self, zero: float) -> Value:
        """Logits of the classes, or the log-odds of a single event."""
        if self.single and self.kind == "logits":
            return self.value
        columns = self.columns(zero)
        return self.o.column(columns, 1) - self.o.column(columns, 0) if self.single else columns


def _log_columns(o: Operations, probs: Value, zero: float, single: bool) -> Value:
    """ln p; as `calibrant.maps.log_space.log_columns`."""
    if single:
        probs = o.clip(o.stack([1.0 - probs, probs]), zero, None) if zero else o.stack([1.0 - probs, probs])
    never = probs <= 0.0
    found = o.log(o.where(never, 1.0, probs))
    if single or not zero:
        return o.where(never, NEVER, found)
    least = -o.largest(o.where(never, NEVER, -found)) - LN_2
    return o.where(never, o.clip(least, None, float(np.log(zero))), found)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a formula: logits or probabilities."""

    value: Value
    kind: Literal["logits", "probs"]


@dataclass(frozen=True, slots=True)
class Formula:
    """Constants by name, and a function of them and a model's outputs."""

    constants: Mapping[str, Array]
    of: Callable[[Constants, Outputs], Answer]
    learned: tuple[str, ...] = ()
    """constants that a gradient may change"""


@singledispatch
def formula(fitted: Any, dtype: Any) -> Formula:  # noqa: ARG001
    """The formula of a map, its constants in this precision."""
    what = f"a {type(fitted).__name__}" + (f" ({fitted.method})" if isinstance(fitted, CalibrationMap) else "")
    raise InputError("map", "must be a fitted map that has a formula", f"it is {what}")


def finished(o: Operations, answer: Answer, single: bool, output: str, dtype: Any) -> Value:
    """The answer as `"probs"`, `"log_probs"` or `"logits"`. No probability becomes 0 by rounding."""
    if output == "logits" and answer.kind == "logits":
        return answer.value
    if output == "log_probs" and answer.kind == "logits":
        return -o.softplus(-answer.value) if single else o.log_softmax(answer.value)
    p = as_probs(o, answer, single, dtype)
    if output == "probs":
        return p
    p = o.clip(p, float(np.finfo(dtype).tiny), 1 - float(np.finfo(dtype).epsneg) if single else None)
    return o.log(p) - o.log(1.0 - p) if single and output == "logits" else o.log(p)


def as_probs(o: Operations, answer: Answer, single: bool, dtype: Any) -> Value:
    """The answer as probabilities; those of a formula that ends with them may be 0 or 1."""
    if answer.kind == "probs":
        return answer.value
    info = np.finfo(dtype)
    if single:
        return o.clip(o.sigmoid(answer.value), float(info.tiny), 1 - float(info.epsneg))
    return o.clip(o.softmax(answer.value), float(info.tiny), None)


def inside(prefix: str, inner: Formula) -> Formula:
    """A formula within another: its constants under longer names, and a function that finds them there."""
    longer = {name: f"{prefix}_{name}" for name in inner.constants}

    def of(c: Constants, outputs: Outputs) -> Answer:
        return inner.of({name: c[found] for name, found in longer.items()}, outputs)

    constants = {longer[name]: value for name, value in inner.constants.items()}
    return Formula(constants, of, tuple(longer[name] for name in inner.learned))
