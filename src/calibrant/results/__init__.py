"""What calibrant returns: frozen records that print well and are saved as JSON.

Every record class is found here by its name, whichever package defines it: `results.Diagnosis`, `results.Plan`, …
"""

from typing import Any

from calibrant._names import RECORDS
from calibrant.results.answer import Answer
from calibrant.results.estimate import Estimate, Interval, TestResult, estimate_table, rows_by_key
from calibrant.results.flat import Keyed, by_slug, keyed, looked_up, slug
from calibrant.results.frames import Framed, to_frame
from calibrant.results.reading import SCHEMA, checked_schema, saved_text
from calibrant.results.record import Record, checked, document, kind, record_class, summarized
from calibrant.results.tables import (
    BinTable,
    ClassRanges,
    ClassTable,
    Curve,
    Line,
    Table,
    ends,
    number,
    p_cell,
    p_words,
)
from calibrant.results.typed import field_names

__all__ = [
    "SCHEMA", "Answer", "BinTable", "ClassRanges", "ClassTable", "Curve", "Estimate", "Framed", "Interval", "Keyed", "Line", "Record",
    "Table", "TestResult", "by_slug", "checked", "checked_schema", "document", "ends", "estimate_table", "field_names", "keyed", "kind", "looked_up", "number",
    "p_cell", "p_words", "record_class", "rows_by_key", "saved_text", "slug", "summarized", "to_frame",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "json_schema":
        from calibrant.results.schema import json_schema

        return json_schema
    found = None if name.startswith("_") else record_class(name)
    if found is None:
        raise AttributeError(f"module 'calibrant.results' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return [*__all__, "json_schema", *RECORDS]
