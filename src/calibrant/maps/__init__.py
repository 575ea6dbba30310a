"""Recalibration maps, one family per file. All are loaded when one is first asked for by its name here."""

from importlib import import_module
from typing import Any

from calibrant import methods as _register
from calibrant.problems import InputError


def __getattr__(name: str) -> Any:
    if not name.startswith("_") or name == "__all__":
        every = import_module("calibrant.maps.every")
        names = [*every.__all__, "recipe_of"]
        globals().update({each: getattr(every, each) for each in every.__all__}, __all__=names)
    if name not in globals():
        raise AttributeError(f"module 'calibrant.maps' has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__getattr__("__all__"), *globals()})


def recipe_of(method: Any) -> Any:
    """The recipe of a map by its name.

    Parameters
    ----------
    method
        A registered name or `"auto"`; a recipe is returned as it is.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.maps.recipe_of("platt")
    Platt(penalty='targets')
    """
    from calibrant.maps.auto import Auto
    from calibrant.maps.calibration_map import CalibrationMap

    if not isinstance(method, type | CalibrationMap) and callable(getattr(method, "fit", None)):
        return method
    known = {"auto": Auto} | {name: found.function for name, found in _register.methods("map").items()}
    if not isinstance(method, str) or method not in known:
        names = ", ".join(map(repr, known))
        raise InputError("method", f"must be one of {names}, or a recipe with fit", f"it is {method!r}")
    return known[method]()
