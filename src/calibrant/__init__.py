"""calibrant: is a model calibrated, how sure are we, how is it recalibrated, and did that help?

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import Any

from calibrant._names import HOMES

__version__ = "0.2.0"

SUBMODULES = ("detect", "extend", "files", "maps", "plot", "regression", "report", "results", "score", "simulate")

__all__ = [*HOMES, *SUBMODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Load a public name or submodule on first use."""
    if name in SUBMODULES:
        return import_module(f"calibrant.{name}")
    if name not in HOMES:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"calibrant.{HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
