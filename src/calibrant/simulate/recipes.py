"""An estimator given as a function, as a partial of one, or by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from calibrant.methods import find, method_of, methods
from calibrant.problems import InputError


@dataclass(frozen=True, slots=True)
class Named:
    """An estimator that can be called, with the facts a comparison needs."""

    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        return self.function(*arguments, **{**self.options, **more})

    def option(self, name: str, default: Any) -> Any:
        """An option as it is set, or the function's default."""
        known = inspect.signature(self.function).parameters.get(name)
        unset = default if known is None or known.default is inspect.Parameter.empty else known.default
        return self.options.get(name, unset)

    @property
    def norm(self) -> Any:
        """The order of the error it estimates."""
        return self.option("norm", 1)

    @property
    def of_the_error(self) -> bool:
        """Does it estimate the true error of its norm? Functions that are not registered are taken to do so."""
        registered = _registered(self.function)
        return registered is None or bool(registered.of_the_error)


def named(estimator: Any, name: str | None = None) -> Named:
    """An estimator as a `Named`."""
    if isinstance(estimator, Named):
        return estimator if name is None else Named(name, estimator.function, estimator.options)
    if isinstance(estimator, str):
        registered = _registered(estimator)
        if registered is None:
            names = ", ".join(methods("estimator"))
            raise InputError("estimator", f"must be one of {names}, or a function", f"it is {estimator!r}")
        return Named(name or registered.name, registered.function)
    if isinstance(estimator, partial):
        if estimator.args:
            raise InputError("estimator", "must be a partial of keywords only", f"it fixes {estimator.args!r}")
        inner = named(estimator.func)
        options = {**inner.options, **estimator.keywords}
        shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
        return Named(name or f"{inner.function.__name__}({shown})", inner.function, options)
    if not callable(estimator):
        raise InputError(
            "estimator", "must be a function (labels, probs), a partial of one, or a name", f"it is {estimator!r}"
        )
    return Named(name or str(getattr(estimator, "__name__", repr(estimator))), estimator)


def named_all(estimators: Any) -> tuple[list[Named], bool]:
    """One estimator, a list of them, or a mapping of names to them; and whether it was one alone."""
    if isinstance(estimators, Mapping):
        return [named(each, name) for name, each in estimators.items()], False
    if isinstance(estimators, list | tuple):
        return [*map(named, estimators)], False
    return [named(estimators)], True


def _registered(estimator: Any) -> Any:
    """What the register says of an estimator, given by name or as the function; None if nothing."""
    return find("estimator", estimator) if isinstance(estimator, str) else method_of(estimator)
