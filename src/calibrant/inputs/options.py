"""Options: counts, levels, choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant.problems import InputError


def check_count(value: Any, argument: str = "n_bins", least: int = 1) -> int:
    """An integer, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(argument, f"must be a whole number, at least {least}", f"it is {value!r}")
    return int(value)


def check_choice(argument: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """One of a few allowed values."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | np.integer) or value not in choices:
        raise InputError(argument, f"must be one of {', '.join(map(repr, choices))}", f"it is {value!r}")
    return value


def check_positive(argument: str, value: Any) -> float:
    """A positive, finite number."""
    return _number(argument, value, _is_number(value) and 0 < value < np.inf, "must be positive and finite")


def check_level(level: Any) -> float:
    """A probability strictly between 0 and 1, such as the confidence of an interval."""
    return _number("level", level, _is_number(level) and 0 < level < 1, "must lie between 0 and 1")


def check_bandwidth(bandwidth: Any) -> float:
    """A bandwidth for which one reflection at either end of [0, 1] is enough."""
    return _number("bandwidth", bandwidth, _is_number(bandwidth) and 0 < bandwidth <= 1, "must lie in (0, 1]")


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int | np.number) and not isinstance(value, bool)


def _number(argument: str, value: Any, fits: bool, expected: str) -> float:
    if not fits:
        raise InputError(argument, expected, f"it is {value!r}")
    return float(value)


def listed(names: Sequence[Any], most: int = 12) -> str:
    """Names for an error text, the first dozen."""
    shown = ", ".join(repr(n) for n in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
