"""The JSON of results as a JSON Schema, derived from the fields of the records."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from calibrant._names import RECORDS
from calibrant.results.reading import SCHEMA
from calibrant.results.record import _KINDS, Record, record_class

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLAIN = {float: {"$ref": "#/$defs/float"}, int: {"type": "integer"}, bool: {"type": "boolean"}, str: {"type": "string"}}
NOT_FINITE = {
    "type": "object",
    "properties": {"kind": {"const": "float"}, "value": {"enum": ["inf", "-inf", "nan"]}},
    "required": ["kind", "value"],
}
FLOAT = {"description": "A number; JSON has none for infinity and NaN.", "anyOf": [{"type": "number"}, NOT_FINITE]}
SUMMARY: dict[str, Any] = {
    "description": "What an answer says, in short: derived from the fields, and not read back.",
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "answer": {"type": "string"},
        "calibrated": {"type": ["boolean", "null"]},
        "verdict": {"type": "string"},
        "numbers": {"type": "object", "additionalProperties": {"anyOf": [PLAIN[float], PLAIN[bool]]}},
        "cautions": {"type": "array", "items": PLAIN[str]},
    },
    "required": ["question", "answer", "numbers", "cautions"],
}


def json_schema() -> dict[str, Any]:
    """What `to_json` of any result, map or world writes, as a JSON Schema (draft 2020-12).

    Examples
    --------
    >>> from calibrant.results import json_schema
    >>> sorted(json_schema()["$defs"]["Interval"]["properties"])
    ['high', 'kind', 'level', 'low', 'method']
    """
    kinds = _kinds()
    document = {"schema": {"const": SCHEMA}, "summary": {"$ref": "#/$defs/summary"}, "input": {"type": "object"}}
    defined = {name: _described(record) for name, record in kinds.items()}
    return {
        "$schema": DIALECT,
        "title": f"JSON of calibrant, schema {SCHEMA}",
        "type": "object",
        "properties": document,
        "required": ["schema", "kind"],
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in kinds],
        "$defs": {"float": FLOAT, "summary": SUMMARY, **defined},
    }


def meanings(record: type[Record]) -> dict[str, str]:
    """What each field means: the text below it in the source; empty where its name says it.

    Parameters
    ----------
    record
        A record class.
    """
    found: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if base is not Record and issubclass(base, Record):
            found |= _texts(base)
    return {f.name: found.get(f.name, "") for f in fields(record)}


def _texts(record: type[Record]) -> dict[str, str]:
    """The strings that follow fields in the body of a class."""
    body = _bodies(sys.modules[record.__module__]).get(record.__qualname__, [])
    return {
        field.target.id: " ".join(cleandoc(text.value.value).split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


@cache
def _bodies(module: types.ModuleType) -> dict[str, list[ast.stmt]]:
    """The bodies of the classes of a module."""
    return {each.name: each.body for each in ast.parse(getsource(module)).body if isinstance(each, ast.ClassDef)}


@cache
def _kinds() -> dict[str, type[Record]]:
    """The records of this package that JSON can hold, by name."""
    for name in RECORDS:
        record_class(name)
    return {name: record for name, record in sorted(_KINDS.items()) if record.__module__.startswith("calibrant.")}


def _described(record: type[Record]) -> dict[str, Any]:
    types_of, texts = get_type_hints(record, include_extras=True), meanings(record)
    properties = {
        f.name: _schema_of(types_of[f.name]) | ({"description": texts[f.name]} if texts[f.name] else {})
        for f in fields(record)
    }
    return {
        "description": cleandoc(record.__doc__ or "").split("\n")[0],
        "type": "object",
        "properties": {"kind": {"const": record.__name__}, **properties},
        "required": ["kind", *properties],
    }


def _schema_of(annotation: Any) -> dict[str, Any]:
    """What JSON holds for a value of this type; anything where the type does not say."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if annotation in PLAIN:
        return dict(PLAIN[annotation])
    if annotation is type(None):
        return {"type": "null"}
    if origin is Annotated:
        return _schema_of(inside[0])
    if origin in (Union, types.UnionType):
        return _any_of([_schema_of(each) for each in inside])
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (np.ndarray, NDArray):
        return {"type": "array"}
    if origin is tuple and inside[1:] == (...,):
        return {"type": "array", "items": _schema_of(inside[0])}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_schema_of(each) for each in inside], "minItems": len(inside)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema_of(inside[1])}
    if isinstance(annotation, type) and issubclass(annotation, Record):
        names = [name for name, record in _kinds().items() if issubclass(record, annotation)]
        return _any_of([{"$ref": f"#/$defs/{name}"} for name in names])
    return {}


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    flat = [inner for each in schemas for inner in each.get("anyOf", [each])]
    return flat[0] if len(flat) == 1 else {"anyOf": flat}
