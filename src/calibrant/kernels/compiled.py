"""Numba on first use, so that importing calibrant and small jobs never pay for the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any, ClassVar

COMPILE_FROM = 300_000
"""Rows from which a compiled kernel is used. A rule by size alone keeps an answer the same from call to call; at this
size plain NumPy takes some 5 ms, and loading a cached kernel, once a process, about half a second."""


_many_calls = False


@contextmanager
def many_calls() -> Iterator[None]:
    """Small inputs come in great numbers: compiled kernels pay from the first row on."""
    global _many_calls  # noqa: PLW0603
    before, _many_calls = _many_calls, True
    try:
        yield
    finally:
        _many_calls = before


def worth_compiling(size: int, least: int = COMPILE_FROM) -> bool:
    """Is the input large enough for a compiled kernel, or one of many?"""
    return size >= least or _many_calls


class compiled:  # noqa: N801  (a decorator)
    """A function that Numba compiles when it is first called, and caches on disk; `.plain` is the Python it was made of."""

    freedom: ClassVar[frozenset[str]] = frozenset()
    """what the compiler may do to arithmetic, in LLVM's words"""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.plain = function
        self._fast: Callable[..., Any] | None = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if self._fast is None:
            import numba

            options = {"nogil": True, "error_model": "numpy", "fastmath": set(self.freedom)}
            try:
                self._fast = numba.njit(cache=True, **options)(self.plain)
            except RuntimeError:  # nowhere to keep a cache: compile for this process only
                self._fast = numba.njit(**options)(self.plain)
        return self._fast(*arguments)


class contracted(compiled):  # noqa: N801
    """The same, and a product may be added without being rounded first: faster, and no less exact."""

    freedom = frozenset({"contract"})


class any_order(compiled):  # noqa: N801
    """The same, and sums may be taken in any order, so that they become vectors. On one kind of processor it is always the
    same order, whatever the number of cores."""

    freedom = frozenset({"contract", "reassoc"})
