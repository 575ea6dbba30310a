"""The JSON Schema describes what is written."""

from __future__ import annotations

import copy
import json
from functools import cache

import pytest

import calibrant as cal
from calibrant import simulate
from calibrant.results import SCHEMA, json_schema
from calibrant.results.schema import meanings
from registered import METHODS
from results.every_answer import ANSWERS

whole = cache(json_schema)
TYPES = {
    "object": dict, "array": list, "string": str, "null": type(None), "boolean": bool, "integer": int, "number": (int, float)
}  # fmt: skip


def fits(value, schema) -> bool:
    """A validator of the few keywords that are used."""
    if "$ref" in schema and not fits(value, whole()["$defs"][schema["$ref"].removeprefix("#/$defs/")]):
        return False
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(isinstance(value, TYPES[kind]) and (kind == "boolean") >= isinstance(value, bool) for kind in kinds):
        return False
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        return False
    if "anyOf" in schema and not any(fits(value, each) for each in schema["anyOf"]):
        return False
    if isinstance(value, list):
        inside = [
            *zip(value, schema.get("prefixItems", ()), strict=False),
            *((v, schema.get("items", {})) for v in value),
        ]
        return len(value) >= schema.get("minItems", 0) and all(fits(*pair) for pair in inside)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        inside = [(v, known.get(name, schema.get("additionalProperties", {}))) for name, v in value.items()]
        return set(schema.get("required", ())) <= set(value) and all(fits(*pair) for pair in inside)
    return True


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_fits_the_schema(name):
    assert fits(json.loads(ANSWERS[name].to_json()), whole())


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_map_fits_the_schema(method):
    several, _ = cal.example()
    for data in (several, cal.Predictions(several.labels == 3, several.probs[:, 3])):
        assert fits(json.loads(cal.recalibrate(data, method).to_json()), whole())


def test_worlds_fit_the_schema():
    assert fits(json.loads(simulate.power_world(0.05).to_json()), whole())


def test_what_is_not_so_written_does_not_fit():
    written = json.loads(ANSWERS["diagnosis"].to_json())

    def changed(change):
        other = copy.deepcopy(written)
        change(other)
        return fits(other, whole())

    assert changed(lambda data: None)
    assert not changed(lambda data: data.pop("verdict"))
    assert not changed(lambda data: data.update(schema=SCHEMA + 1))
    assert not changed(lambda data: data.update(kind="Spaceship"))
    assert not changed(lambda data: data.update(n="many"))
    assert not changed(lambda data: data["estimates"][0].update(value=None))
    assert not changed(lambda data: data["summary"].pop("numbers"))


def test_fields_are_described():
    interval = whole()["$defs"]["AuditedSegment"]["properties"]["interval"]
    assert interval == {"$ref": "#/$defs/Interval", "description": "of the gap; holds for all segments at once"}
    assert meanings(cal.results.Estimate)["value"] == ""
