"""Numba on first use, so that importing calibrant and small jobs never pay for the compiler."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

COMPILE_FROM = 300_000
"""Rows from which a compiled kernel is used. A rule by size alone keeps an answer the same from call to call; at this
size plain NumPy takes some 5 ms, and loading a cached kernel, once a process, about half a second."""


class compiled:  # noqa: N801  (a decorator)
    """A function that Numba compiles when it is first called, and caches on disk; `.plain` is the Python it was made of."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.plain = function
        self._fast: Callable[..., Any] | None = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if self._fast is None:
            import numba

            options = {"nogil": True, "error_model": "numpy"}
            try:
                self._fast = numba.njit(cache=True, **options)(self.plain)
            except RuntimeError:  # nowhere to keep a cache: compile for this process only
                self._fast = numba.njit(**options)(self.plain)
        return self._fast(*arguments)
