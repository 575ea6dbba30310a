"""An estimator by any of its names: a function, a partial of one, or the word on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from calibrant.about import find
from calibrant.estimate import ESTIMATORS
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
        """An option as it is set, or as the function has it."""
        if name in self.options:
            return self.options[name]
        known = inspect.signature(self.function).parameters.get(name)
        return default if known is None or known.default is inspect.Parameter.empty else known.default

    @property
    def norm(self) -> Any:
        """The order of the error it estimates."""
        return self.option("norm", 1)

    @property
    def root(self) -> bool:
        """Is the root taken?"""
        return bool(self.option("root", True))

    @property
    def of_the_error(self) -> bool:
        """Does it estimate the true error of its norm? Functions of the user's own are taken to do so."""
        about = next((a for a in ESTIMATORS.values() if a.function is self.function), None)
        return about is None or about.of_the_error


def named(estimator: Any, name: str | None = None) -> Named:
    """An estimator as a `Named`."""
    if isinstance(estimator, Named):
        return estimator if name is None else Named(name, estimator.function, estimator.options)
    if isinstance(estimator, str):
        about = find(ESTIMATORS, estimator)
        if about is None:
            raise InputError(
                "estimator", f"must be one of {', '.join(ESTIMATORS)}, or a function", f"it is {estimator!r}"
            )
        return Named(name or about.name, about.function)
    if isinstance(estimator, partial):
        if estimator.args:
            raise InputError("estimator", "must be a partial of keywords only", f"it fixes {estimator.args!r}")
        inner = named(estimator.func)
        options = {**inner.options, **estimator.keywords}
        told = ", ".join(f"{key}={value!r}" for key, value in options.items())
        return Named(name or f"{inner.function.__name__}({told})", inner.function, options)
    if not callable(estimator):
        raise InputError(
            "estimator", "must be a function (labels, probs), a partial of one, or a name", f"it is {estimator!r}"
        )
    return Named(name or str(getattr(estimator, "__name__", repr(estimator))), estimator)
