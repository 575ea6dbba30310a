"""What makes an estimate a number: arithmetic, comparison and rounding on its value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Real
from typing import Any, overload

import numpy as np

from calibrant.types import Floats


class Number:
    """Arithmetic on `value`. The result is a plain number, as it has no interval of its own.

    Equality with a number is by value, so that it agrees with `<=` and `>=`; equality with another record is by content.
    """

    value: float

    def __float__(self) -> float:
        return self.value

    def __int__(self) -> int:
        return int(self.value)

    __trunc__ = __int__

    def __floor__(self) -> int:
        return self.value.__floor__()

    def __ceil__(self) -> int:
        return self.value.__ceil__()

    @overload
    def __round__(self, digits: None = None) -> int: ...
    @overload
    def __round__(self, digits: int) -> float: ...
    def __round__(self, digits: int | None = None) -> float:
        return round(self.value, digits)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.asarray(self.value, dtype)

    def __neg__(self) -> float:
        return -self.value

    def __pos__(self) -> float:
        return self.value

    def __abs__(self) -> float:
        return abs(self.value)

    def __add__(self, other: float | Number) -> float:
        return _operate(operator.add, self, other)

    def __radd__(self, other: float) -> float:
        return _operate(operator.add, other, self)

    def __sub__(self, other: float | Number) -> float:
        return _operate(operator.sub, self, other)

    def __rsub__(self, other: float) -> float:
        return _operate(operator.sub, other, self)

    def __mul__(self, other: float | Number) -> float:
        return _operate(operator.mul, self, other)

    def __rmul__(self, other: float) -> float:
        return _operate(operator.mul, other, self)

    def __truediv__(self, other: float | Number) -> float:
        return _operate(operator.truediv, self, other)

    def __rtruediv__(self, other: float) -> float:
        return _operate(operator.truediv, other, self)

    def __floordiv__(self, other: float | Number) -> float:
        return _operate(operator.floordiv, self, other)

    def __rfloordiv__(self, other: float) -> float:
        return _operate(operator.floordiv, other, self)

    def __mod__(self, other: float | Number) -> float:
        return _operate(operator.mod, self, other)

    def __rmod__(self, other: float) -> float:
        return _operate(operator.mod, other, self)

    def __pow__(self, other: float | Number) -> float:
        return _operate(operator.pow, self, other)

    def __rpow__(self, other: float) -> float:
        return _operate(operator.pow, other, self)

    def __lt__(self, other: float | Number) -> bool:
        return _operate(operator.lt, self, other)

    def __le__(self, other: float | Number) -> bool:
        return _operate(operator.le, self, other)

    def __gt__(self, other: float | Number) -> bool:
        return _operate(operator.gt, self, other)

    def __ge__(self, other: float | Number) -> bool:
        return _operate(operator.ge, self, other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Number) or not isinstance(other, Real):
            return super().__eq__(other)
        return bool(self.value == other)

    def __hash__(self) -> int:
        return hash(self.value) if self.value == self.value else 0


Real.register(Number)


def _operate(operation: Callable[[float, float], Any], left: Any, right: Any) -> Any:
    """The operation on two numbers; arrays and other types are left to their own operators."""
    known = isinstance(left, Real) and isinstance(right, Real)
    return operation(float(left), float(right)) if known else NotImplemented
