"""Numba on first use, so that importing calibrant and small jobs never pay for the compiler."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

COMPILE_FROM = 300_000
"""Rows from which a compiled kernel is used. A rule by size alone keeps an answer the
same from call to call; at this size plain NumPy takes about 5 ms, and loading a cached
kernel, once per process, about half a second.
"""

CALL, ENOUGH_WORK = 1000, 2_000_000
"""What a call costs beside its rows, in rows, and rows of work in NumPy, some 20 ms, after which a
kernel that gives the same numbers is loaded or compiled, in a process that has compiled another one.
"""

MANY_TIMES, LONG = 50, 100_000
"""So many times as much work is enough to load Numba itself, counted for arrays of so many numbers."""

_many_calls = ContextVar("many_calls", default=False)  # of one thread: what others compute stays the same


@contextmanager
def many_calls(really: bool = True) -> Iterator[None]:
    """Within this context, and this thread, there are many small inputs.

    Compiled kernels pay off from the first row on. If not `really`, nothing changes.
    """
    before = _many_calls.set(really or _many_calls.get())
    try:
        yield
    finally:
        _many_calls.reset(before)


def worth_compiling(size: int, least: int = COMPILE_FROM) -> bool:
    """Is the input large enough for a compiled kernel, or one of many?"""
    return size >= least or _many_calls.get()


def compiler_loaded() -> bool:
    """Has this process imported Numba already? Compiled code then need not save that time too."""
    return "numba" in sys.modules


class compiled:  # noqa: N801  (a decorator)
    """A function that Numba compiles when it is first called, and caches on disk.

    It may call other compiled functions by their names in its module: compiled code
    calls compiled code, each with its own freedom, and `.plain` is the same function in
    Python, calling plain Python. One that has a form `in_numpy` is compiled only where that
    pays off (`worth_compiling`). Without Numba that form or the plain one runs, with a
    warning; a cache that cannot be read or written is done without.
    """

    freedom: ClassVar[frozenset[str]] = frozenset()
    """what the compiler may do to arithmetic, in LLVM's words"""
    inline: ClassVar[str] = "never"
    """is it compiled as a part of its callers?"""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._written: Any = function
        self._numpy: Any = None
        self._least = COMPILE_FROM
        self._expected: set[Any] = set()
        self._done: dict[Any, int] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if self._numpy is not None and not self._pays(arguments):
            return self._numpy(*arguments)
        return self._fast(*arguments)

    def in_numpy(self, function: Callable[..., Any], least: int = COMPILE_FROM) -> Callable[..., Any]:
        """Register the same function in NumPy: inputs of fewer numbers never wait for a compiler."""
        self._numpy, self._least = function, least
        return function

    @property
    def numpy(self) -> Any:
        """The form that was registered as `in_numpy`; None where there is none."""
        return self._numpy

    def expect(self, *arrays: Any) -> None:
        """Note that it is about to be called, and so compiled, for arrays like these."""
        self._expected.add(_kinds(arrays))

    def ready(self, *arrays: Any, enough: int = ENOUGH_WORK) -> bool:
        """Is it compiled for arrays like these, or is that worth while now? Then it pays off for few rows too.

        It is for a form of it that gives the same numbers: once this process has compiled
        anything, so much work by the other form as takes the time to load this one from its
        cache is enough. Long arrays may also be the first to compile anything, after far more.
        """
        if not _loaded and (arrays[0].size < LONG or not _there()):
            return False
        if (kinds := _kinds(arrays)) not in self._expected:
            self._done[kinds] = self._done.get(kinds, 0) + CALL + arrays[0].size
            if self._done[kinds] < (enough if _loaded else MANY_TIMES * enough):
                return False
            self._expected.add(kinds)
        return bool(_loaded) or _numba() is not None

    def _pays(self, arguments: tuple[Any, ...]) -> bool:
        size = max(each.size for each in arguments if isinstance(each, np.ndarray))
        return worth_compiling(size, self._least) and _numba() is not None

    @cached_property
    def plain(self) -> Any:
        """The Python it was made of."""
        return self._calling({name: callee.plain for name, callee in self._callees.items()})

    @property
    def fast(self) -> Any:
        """The compiled form, for callers that know that it pays off."""
        return self._fast

    @cached_property
    def looped(self) -> Any:
        """The same in Python, calling the NumPy forms of its callees where there are any."""
        return self._calling({name: callee.numpy or callee.looped for name, callee in self._callees.items()})

    @cached_property
    def _fast(self) -> Any:
        numba = _numba()
        if numba is None:
            return self._slow
        function = self._calling({name: callee._inner for name, callee in self._callees.items()})
        made = numba.njit(no_cfunc_wrapper=True, **self._options)(function)
        made.compile = _uncollected()(made.compile)
        try:
            function.__qualname__ += self._stamp()
            made.enable_caching()
            made._cache = _AnyCache(made._cache)
        except (OSError, RuntimeError):  # nowhere to keep a cache, or no source: compile for this process only
            pass
        return made

    @cached_property
    def _inner(self) -> Any:
        """The same for compiled callers, which keep its code with their own: nothing in it is for Python."""
        function = self._calling({name: callee._inner for name, callee in self._callees.items()})
        alone = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "inline": self.inline}
        return _numba().njit(**alone, **self._options)(function)

    @property
    def _options(self) -> dict[str, Any]:
        return {"nogil": True, "error_model": "numpy", "fastmath": set(self.freedom)}

    def _slow(self, *arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # compiled arithmetic neither warns nor raises
            return self.plain(*arguments)

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


def _kinds(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a compiled function has one form each for."""
    return tuple([(each.dtype, (flags := each.flags).c_contiguous, flags.writeable) for each in arrays])


@contextmanager
def _uncollected() -> Iterator[None]:
    """Within this context garbage is not collected: a compiler makes many objects and little garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


_loaded: list[Any] = []
"""Numba, once it has compiled or loaded something in this process."""


@cache
def _there() -> bool:
    """Is Numba installed?"""
    from importlib.util import find_spec

    return find_spec("numba") is not None


@cache
def _numba() -> Any:
    """Numba, or None and a warning where it is missing or does not fit this NumPy."""
    try:
        with _uncollected():
            import numba
    except (ImportError, SystemError) as error:
        text = f"Numba cannot be imported ({error}): loops run in plain Python, up to 100 times slower. Install numba"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
        return None
    _loaded.append(numba)
    return numba


class _AnyCache:
    """Numba's cache of one function; damaged files and a full disk only cost the time to compile."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """What was compiled before, or None."""
        try:
            found = self._kept.load_overload(signature, context)
        except Exception:  # unpickling garbage may raise anything
            found = None
        if found is None:
            _announce()
        return found

    def save_overload(self, signature: Any, made: Any) -> None:
        """Keep what was compiled; files that cannot be read are begun anew."""
        try:
            self._kept.save_overload(signature, made)
        except Exception:
            try:
                self._kept.flush()
                self._kept.save_overload(signature, made)
            except Exception:  # a full or read-only disk: it is compiled, and not kept
                self._kept.disable()


@cache
def _announce() -> None:
    """Say on a terminal, once, what the user waits for."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("calibrant compiles its loops on first use and keeps them for later runs\n")


class in_caller(compiled):  # noqa: N801
    """The same, where one `compiled` function calls it: it becomes a part of that, which takes less time to compile."""

    inline = "always"


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
