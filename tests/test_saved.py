"""Saved maps, states, monitors and results: read back, or refused with the field that is wrong; never a wrong answer."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from click.testing import CliRunner

import calibrant as cal
import saved_data as some
from calibrant.cli import main
from calibrant.problems import CalibrantError, FileError, MapError
from calibrant.results import Record, checked, reading
from calibrant.results import constraints as what
from calibrant.results.constraints import Constraint
from calibrant.types import Floats, Indices

FUZZED = {"map": (25, 4), "forecast map": (5, 2), "state": (40, 12), "monitor": (10, 6), "result": (60, 16)}
"""Of each kind of saved data every so manieth damage is tried, by default and in the full run."""


def tried(kind: str, every: int) -> int:
    """Read damaged data: each is refused with a clear error, or its answers are valid. Returns the number of cases."""
    count = 0
    for saved in some.SAVED[kind]().values():
        data = some.data_of(saved)
        cases = some.blind(data)
        for path, how, value in cases[count % every :: every]:
            count += 1
            try:
                some.CHECKS[kind](some.read_back(saved, some.damaged(data, path, how, value)))
            except CalibrantError:
                continue
            except Exception as error:
                pytest.fail(f"{type(saved).__name__}, {path}, {how} {value!r:.60}: {error!r}")
    return count


@pytest.mark.slow
@pytest.mark.parametrize("kind", some.SAVED)
def test_damaged_data_are_refused_or_give_valid_answers(kind):
    assert tried(kind, FUZZED[kind][0]) > 100


@pytest.mark.slow
def test_much_damage_is_refused_or_gives_valid_answers():
    assert sum(tried(kind, every) for kind, (_, every) in FUZZED.items()) >= 15_000


@pytest.mark.some(36)
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, found in some.SAVED.items() for name in found()])
def test_every_declared_constraint_is_enforced(kind, name):
    saved = some.SAVED[kind]()[name]
    data = some.data_of(saved)
    some.CHECKS[kind](some.read_back(saved, data))
    for path, how, value in some.declared(data, some.record_of(saved)):
        field = next(step for step in reversed(path) if isinstance(step, str))
        with pytest.raises(MapError) as caught:
            some.read_back(saved, some.damaged(data, path, how, value))
        assert field in str(caught.value), (path, value)


def test_every_kind_of_map_is_damaged():
    from calibrant._names import RECORDS

    concrete = {name for name in RECORDS if "map" in RECORDS[name] and cal.results.record_class(name)}
    held = json.dumps(
        [some.data_of(saved) for kind in ("map", "forecast map") for saved in some.SAVED[kind]().values()]
    )
    assert {name for name in concrete if f'"kind": "{name}"' not in held} <= {"MapDivergence", "MapQuality"}


def test_every_kind_of_constraint_has_its_violations():
    kinds = [each for each in vars(what).values() if isinstance(each, type) and issubclass(each, Constraint)]
    missing = [each for each in kinds if each is not Constraint and some.violations.dispatch(each) is some.violations.dispatch(object)]  # fmt: skip
    assert missing == []


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Record):
    """A record with a field of every kind."""

    whole: int = 1
    number: Annotated[float, what.Within(0, 1)] = 0.5
    maybe: Annotated[float, what.Above(0)] | None = None
    word: Annotated[str, what.OneOf("a", "b")] = "a"
    yes: bool = True
    edges: Annotated[Floats, what.Shape(least=2), what.Rising()] = (0.0, 1.0)  # type: ignore[assignment]
    rates: Annotated[Floats, what.Shape("edges+1"), what.SumsTo(1)] = (0.2, 0.3, 0.5)  # type: ignore[assignment]
    counts: Annotated[Indices, what.Shape("edges")] = (1, 2)  # type: ignore[assignment]
    pair: tuple[int, str] = (1, "x")
    anything: Any = None


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("whole", True, "Sample: whole must be a whole number; it is True"),
        ("whole", 1.0, "whole must be a whole number; it is 1.0"),
        ("whole", 1 << 63, "whole must be less than 2⁶³"),
        ("number", 1.5, "number must lie in [0, 1]; number is 1.5"),
        ("number", {"kind": "float", "value": "nan"}, "number must lie in [0, 1]; number is nan"),
        ("number", "0.5", "number must be a number; it is '0.5'"),
        ("maybe", 0, "maybe must be above 0 and finite; maybe is 0"),
        ("word", "c", "word must be 'a' or 'b'; it is 'c'"),
        ("yes", 1, "yes must be true or false; it is 1"),
        ("edges", [1.0, 0.0], "edges must increase; edges[1] is 0.0"),
        ("edges", [0.0], "edges must have the shape (any) and at least 2 entries; its shape is (1,)"),
        ("edges", [[0.0, 1.0]], "edges must have the shape (any) and at least 2 entries; its shape is (1, 2)"),
        ("edges", [0.0, True], "edges[1] must be a number; it is True"),
        ("edges", [[0.0], [1.0, 2.0]], "edges must be rows of numbers, equally long"),
        ("edges", 3, "edges must be a list of numbers; it is 3"),
        ("rates", [0.5, 0.5], "rates must have the shape (edges+1) = (3); its shape is (2,)"),
        ("rates", [0.5, 0.5, 0.5], "rates must sum to 1; the sum of rates is 1.5"),
        ("counts", [1, 2.5], "counts must be whole numbers; it is [1, 2.5]"),
        ("pair", [1], "pair must be a list of 2; it is [1]"),
        ("pair", [1, 2], "pair[1] must be a text; it is 2"),
        ("anything", {"kind": "Spaceship"}, "unknown kind of record: 'Spaceship'"),
    ],
)
def test_an_error_names_the_field_the_value_and_its_place(field, value, text):
    good = {name: each for name, each in Sample().to_data().items() if name != "kind"}
    assert checked(Sample, good)["edges"].tolist() == [0, 1]
    with pytest.raises(MapError) as caught:
        checked(Sample, good | {field: value})
    assert text in str(caught.value)


def test_every_field_and_no_other_must_be_there():
    good = {name: each for name, each in Sample().to_data().items() if name != "kind"}
    with pytest.raises(MapError, match="it has no field 'mood'"):
        checked(Sample, good | {"mood": 1})
    with pytest.raises(MapError, match="whole is missing"):
        checked(Sample, {name: each for name, each in good.items() if name != "whole"})


TEXTS = {
    "nested lists": ("[" * 100_000 + "]" * 100_000, "nested deeper than 50 levels"),
    "nested settings": (
        '{"schema": 1, "kind": "Table", "note": ' + '{"a":' * 60 + "1" + "}" * 60 + "}",
        "nested deeper",
    ),
    "a name twice": ('{"schema": 1, "kind": "Fit", "n": 3, "n": 4}', "names 'n' twice"),
    "a constant of no JSON": ('{"schema": 1, "n": NaN}', "holds NaN"),
    "thousands of digits": ('{"schema": 1, "n": ' + "9" * 5000 + "}", "this is not JSON"),
    "half a character": ('{"schema": 1, "n": "\\ud800"', "this is not JSON"),
}


@pytest.mark.parametrize(("text", "message"), TEXTS.values(), ids=TEXTS)
def test_text_that_is_no_plain_data_is_refused(text, message, tmp_path):
    (tmp_path / "saved.json").write_text(text, encoding="utf-8")
    for read in (lambda: Record.from_json(text), lambda: cal.load_map(tmp_path / "saved.json")):
        with pytest.raises(MapError, match=message):
            read()
    with pytest.raises(MapError, match=message):
        cal.State.load(tmp_path / "saved.json")
    with pytest.raises(MapError, match=message):
        cal.Monitor.from_json(text)


def test_what_is_too_large_is_neither_read_nor_written(monkeypatch, tmp_path):
    state = cal.collect([0, 1], [0.2, 0.7])
    state.save(tmp_path / "state.json")
    monkeypatch.setattr(reading, "MOST_BYTES", 100)
    monkeypatch.setattr("calibrant.state.state.MOST_BYTES", 100)
    with pytest.raises(MapError, match="larger than"):
        cal.State.load(tmp_path / "state.json")
    with pytest.raises(MapError, match="longer than"):
        cal.State.from_json(state.to_json())
    with pytest.raises(FileError, match=r"too large for JSON.*Save it as \.arrow"):
        state.save(tmp_path / "other.json")


@pytest.mark.some(3)
@pytest.mark.parametrize("name", some.saved_states())
def test_damaged_arrow_files_are_refused_or_give_valid_answers(name, tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "state.arrow"
    some.saved_states()[name].save(path)
    whole = path.read_bytes()
    for case in range(60):
        data = bytearray(whole[: rng.integers(len(whole))] if case % 3 == 0 else whole)
        for at in rng.integers(max(len(data), 1), size=1 + case % 4) if data else ():
            data[at] = rng.integers(256)
        path.write_bytes(bytes(data))
        with suppress(CalibrantError):
            some.check_state(cal.State.load(path))


def test_a_state_of_named_classes_is_used_like_its_rows():
    rows = cal.Predictions(["no", "yes", "yes"], [0.2, 0.7, 0.6], classes=["no", "yes"])
    assert cal.ece(cal.collect(rows)) == cal.ece(rows)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"{", b"[1]", b'{"schema": 1, "kind": "MonitorState"}', b" "])
def test_the_command_line_shows_no_traceback(content, tmp_path):
    rows, bad = tmp_path / "rows.csv", tmp_path / "bad.json"
    rows.write_text("label,prob\n0,0.2\n1,0.7\n1,0.9\n", encoding="utf-8")
    bad.write_bytes(content)
    for command in (
        ["monitor", rows, "--state", bad],
        ["compare", rows, bad],
        ["apply", bad, rows, "-o", tmp_path / "new.csv"],
    ):
        found = CliRunner().invoke(main, [str(word) for word in command])
        assert found.exit_code not in (0, 1), found.output
        assert isinstance(found.exception, SystemExit), found.exception
        assert "bad.json" in found.output or "saved" in found.output or "JSON" in found.output
        assert bad.read_bytes() == content
