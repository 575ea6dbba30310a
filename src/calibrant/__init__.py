"""calibrant: is a model calibrated, how sure are we, how is it repaired, and did the repair help?

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant import plot, report
    from calibrant.bins import Edges, EqualMass, EqualWidth
    from calibrant.estimate.binned import binned_error, ece
    from calibrant.estimate.label_binned import label_binned_error
    from calibrant.estimate.mean_gap import mean_gap
    from calibrant.estimate.root_brier import root_brier
    from calibrant.examples import example
    from calibrant.files import read
    from calibrant.maps import CalibrationMap, Identity, Temperature, load_map
    from calibrant.predictions import Predictions
    from calibrant.problems import CalibrantError, FileError, InputError, MapError, MissingExtra
    from calibrant.results import BinTable, ClassTable, Curve, Estimate, Interval, Table
    from calibrant.score import BrierScore, LogScore, Score, brier_score, log_score
    from calibrant.verbs.compare import Comparison, compare
    from calibrant.verbs.diagnose import Diagnosis, diagnose
    from calibrant.verbs.recalibrate import recalibrate

__version__ = "0.1.0"

_HOMES = {
    "": ("plot", "report"),
    "bins": ("Edges", "EqualMass", "EqualWidth"),
    "estimate.binned": ("binned_error", "ece"),
    "estimate.label_binned": ("label_binned_error",),
    "estimate.mean_gap": ("mean_gap",),
    "estimate.root_brier": ("root_brier",),
    "examples": ("example",),
    "files": ("read",),
    "maps": ("CalibrationMap", "Identity", "Temperature", "load_map"),
    "predictions": ("Predictions",),
    "problems": ("CalibrantError", "FileError", "InputError", "MapError", "MissingExtra"),
    "results": ("BinTable", "ClassTable", "Curve", "Estimate", "Interval", "Table"),
    "score": ("BrierScore", "LogScore", "Score", "brier_score", "log_score"),
    "verbs.compare": ("Comparison", "compare"),
    "verbs.diagnose": ("Diagnosis", "diagnose"),
    "verbs.recalibrate": ("recalibrate",),
}
"""Where each public name lives; tests/test_public_names.py holds it equal to the imports above."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    home = _HOME[name]
    value = getattr(import_module(f"calibrant.{home}"), name) if home else import_module(f"calibrant.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
