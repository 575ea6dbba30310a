"""One thread for linear algebra on small matrices: where cores are shared, two threads
wait for each other longer than they work."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


SMALL = 50_000
"""Number of parameters up to which one thread does the work in seconds."""


def one_blas_thread(n_parameters: int) -> AbstractContextManager[Any]:
    """One thread where the problem is small, for as long as the context lasts; SciPy
    must have been imported."""
    if n_parameters > SMALL:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
