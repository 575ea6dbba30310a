"""The least value of a smooth function, by SciPy's L-BFGS-B."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from calibrant.types import Floats

Smooth = Callable[[Floats], tuple[float, Floats]]
"""A value and its slopes."""

OPTIONS: Any = {"maxiter": 2000, "maxfun": 4000, "maxcor": 30}
NEARLY = 1e-3
"""What the last step of a search that begins near its end gains at most, in nats of all rows: those that are judged by it
differ by more."""

LEVEL = 1e-6
"""Slopes this small, in units of the value where that exceeds 1, count as level."""


@dataclass(frozen=True, slots=True)
class Least:
    """Where the search ended."""

    at: Floats
    value: float
    converged: bool


def least(
    function: Smooth,
    start: Floats,
    lower: Floats | None = None,
    *,
    slope: float = 1e-11,
    gain: float = 0.0,
    creep: float = 0.0,
) -> Least:
    """The search from one start, above lower bounds where given.

    It never ends above where it began.

    It ends when every slope is below `slope`, or when a step gains less than the share
    `gain` of the value, or the last `STEPS` together less than the share `creep`.
    """
    from scipy.optimize import Bounds, minimize

    search: Any = minimize
    floor = np.full(start.size, -np.inf) if lower is None else lower
    options = OPTIONS | {"gtol": slope, "ftol": gain}
    with one_blas_thread(start.size):
        rest = {"bounds": Bounds(floor), "options": options, "callback": _Creeping(creep) if creep else None}
        found = search(function, start, jac=True, method="L-BFGS-B", **rest)
    free = np.where((found.x <= floor) & (found.jac > 0), 0.0, found.jac)
    level = np.abs(free).max() < LEVEL * max(1.0, abs(float(found.fun)))
    return Least(found.x, float(found.fun), bool(level))


STEPS = 20
"""Steps over which a search that creeps, as towards an optimum at infinity, is recognised."""


class _Creeping:
    """Ends a search whose last steps gained next to nothing."""

    def __init__(self, creep: float) -> None:
        self.creep, self.values = creep, deque[float](maxlen=STEPS + 1)

    def __call__(self, intermediate_result: Any) -> None:
        self.values.append(float(intermediate_result.fun))
        gained = self.values[0] - self.values[-1]
        if len(self.values) > STEPS and gained < self.creep * abs(self.values[-1]):
            raise StopIteration


@cache
def _controller(with_scipy: bool) -> Any:  # noqa: ARG001  (each sees the libraries that were loaded when it was made)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


SMALL = 50_000
"""Number of parameters up to which one thread does the work in seconds."""


def one_blas_thread(n_parameters: int = 0) -> AbstractContextManager[Any]:
    """One thread where the problem is small, for as long as the context lasts: two wait for each other where cores are busy."""
    if n_parameters > SMALL:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
    return limited
