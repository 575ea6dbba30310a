"""What calibrant returns: frozen records that print well and are saved as JSON.

Every record class is found here by its name, whichever package defines it: `results.Diagnosis`, `results.Plan`, …
"""

from typing import Any

from calibrant._names import RECORDS
from calibrant.results.answer import Answer
from calibrant.results.estimate import Estimate, Interval, TestResult, by_title, estimate_table
from calibrant.results.record import SCHEMA, Record, checked_schema, kind, record_class
from calibrant.results.tables import BinTable, ClassTable, Curve, Line, Table, ends, number

__all__ = [
    "SCHEMA", "Answer", "BinTable", "ClassTable", "Curve", "Estimate", "Interval", "Line", "Record", "Table", "TestResult",
    "by_title", "checked_schema", "ends", "estimate_table", "kind", "number", "record_class",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else record_class(name)
    if found is None:
        raise AttributeError(f"module 'calibrant.results' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return [*__all__, *RECORDS]
