"""Tests of calibration, one a file: how often would chance alone show as much? `table.py` lists them; names load on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.detect.calibration import calibration_test
    from calibrant.detect.calibration import calibration_test as test
    from calibrant.detect.cox import cox_test
    from calibrant.detect.cumulative import cumulative_test
    from calibrant.detect.hosmer_lemeshow import hosmer_lemeshow_test
    from calibrant.detect.multi_scale import multi_scale_test
    from calibrant.detect.omnibus import is_calibrated
    from calibrant.detect.skce import skce_test
    from calibrant.detect.spiegelhalter import spiegelhalter_test
    from calibrant.detect.table import TESTS
    from calibrant.detect.two_part import two_part_test

__all__ = [
    "TESTS",
    "calibration_test",
    "cox_test",
    "cumulative_test",
    "hosmer_lemeshow_test",
    "is_calibrated",
    "multi_scale_test",
    "skce_test",
    "spiegelhalter_test",
    "test",
    "two_part_test",
]

_HOMES = {
    "TESTS": "table",
    "calibration_test": "calibration",
    "is_calibrated": "omnibus",
} | {f"{name}_test": name for name in ("cox", "cumulative", "hosmer_lemeshow", "multi_scale", "skce", "spiegelhalter", "two_part")}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a test on first use; `test` is `calibration_test`."""
    wanted = "calibration_test" if name == "test" else name
    if wanted not in _HOMES:
        raise AttributeError(f"module 'calibrant.detect' has no attribute {name!r}")
    return getattr(import_module(f"calibrant.detect.{_HOMES[wanted]}"), wanted)
