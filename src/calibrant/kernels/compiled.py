"""Numba on first use, so that importing calibrant and small jobs never pay for the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

COMPILE_FROM = 300_000
"""Rows from which a compiled kernel is used. A rule by size alone keeps an answer the
same from call to call; at this size plain NumPy takes about 5 ms, and loading a cached
kernel, once per process, about half a second.
"""


_many_calls = False


@contextmanager
def many_calls() -> Iterator[None]:
    """Within this context there are many small inputs.

    Compiled kernels pay off from the first row on.
    """
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
    """A function that Numba compiles when it is first called, and caches on disk.

    It may call other compiled functions by their names in its module: compiled code
    calls compiled code, each with its own freedom, and `.plain` is the same function in
    Python, calling plain Python.
    """

    freedom: ClassVar[frozenset[str]] = frozenset()
    """what the compiler may do to arithmetic, in LLVM's words"""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._written: Any = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self._fast(*arguments)

    @cached_property
    def plain(self) -> Any:
        """The Python it was made of."""
        return self._calling({name: callee.plain for name, callee in self._callees.items()})

    @cached_property
    def _fast(self) -> Any:
        import numba

        function = self._calling({name: callee._fast for name, callee in self._callees.items()})
        options = {"nogil": True, "error_model": "numpy", "fastmath": set(self.freedom)}
        try:
            function.__qualname__ += self._stamp()
            return numba.njit(cache=True, **options)(function)
        except (OSError, RuntimeError):  # nowhere to keep a cache, or no source: compile for this process only
            return numba.njit(**options)(function)

    def _stamp(self) -> str:
        """A hash of the other files that hold callees.

        Numba's cache looks for changes in the function's own file alone, but takes a
        function of another name for another function.
        """
        from hashlib import sha256

        others = sorted(self._files() - {self._written.__code__.co_filename})
        return "_" + sha256(b"".join(Path(file).read_bytes() for file in others)).hexdigest()[:16] if others else ""

    def _files(self) -> set[str]:
        """Where its code and that of its callees stands."""
        return {self._written.__code__.co_filename}.union(*(callee._files() for callee in self._callees.values()))

    @cached_property
    def _callees(self) -> dict[str, compiled]:
        known = self._written.__globals__
        return {name: known[name] for name in self._written.__code__.co_names if isinstance(known.get(name), compiled)}

    def _calling(self, callees: dict[str, Any]) -> Any:
        """The function as written, other functions behind the names of its callees."""
        f = self._written
        if not callees:
            return f
        copy = FunctionType(f.__code__, f.__globals__ | callees, f.__name__, f.__defaults__, f.__closure__)
        return update_wrapper(copy, f)


class contracted(compiled):  # noqa: N801
    """The same, and a product may be added without being rounded first.

    Faster, and no less exact.
    """

    freedom = frozenset({"contract"})


class any_order(compiled):  # noqa: N801
    """The same, and sums may be taken in any order, so that they become vectors.

    On one kind of processor it is always the same order, whatever the number of cores.
    """

    freedom = frozenset({"contract", "reassoc"})
