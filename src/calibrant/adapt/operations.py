"""The few operations that maps are made of. torch and ONNX each have their own; the formulas are written once."""

from __future__ import annotations

from typing import Any, Protocol

Value = Any
"""An array of some library that adds, subtracts, multiplies, divides and compares"""


class Operations(Protocol):
    """What a library must be able to do. Rows run along the last axis; sums and maxima keep it, with length one."""

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

    def whole(self, x: Value) -> Value:
        """Rounded down, as places in a table."""

    def as_floats(self, places: Value) -> Value: ...
