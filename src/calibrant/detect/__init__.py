"""Tests of calibration, one per file; each is registered and found here by its name."""

from typing import Any

from calibrant.methods import methods


def _tests() -> dict[str, Any]:
    registered = (*methods("test").values(), *methods("forecast test").values())
    return {each.function.__name__: each.function for each in registered}


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else _tests().get(name)
    if found is None:
        raise AttributeError(f"module 'calibrant.detect' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return [*_tests()]
