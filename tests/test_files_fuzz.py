"""Damaged files of every format: predictions or an error of our own, never another exception."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import feather, parquet

import calibrant as cal
from calibrant.cli import main
from calibrant.files import read_forecasts, read_predicted, write

ROWS = 30
TOKENS = [
    b"\0",
    b"\xff\xfe",
    b'"',
    b",",
    b"\n",
    b"\r",
    b"{",
    b"[" * 200,
    b"]",
    b"nan",
    b"1e999",
    b"-1",
    b"9" * 400,
    b"\xc3",
]


def table() -> dict[str, list[object]]:
    rng = np.random.default_rng(7)
    p = rng.dirichlet([1, 1], ROWS)
    days = [f"2024-01-{1 + k % 28:02d}" for k in range(ROWS)]
    columns = {"label": ["a", "b"] * (ROWS // 2), "prob_a": p[:, 0].tolist(), "prob_b": p[:, 1].tolist()}
    return {**columns, "day": days, "id": list(range(ROWS)), "note": ['x "y", z', None] * (ROWS // 2)}


def valid() -> dict[str, bytes]:
    """A file of each format, as bytes."""
    columns, made = table(), {}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    made["jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()
    cells = [
        ",".join('"' + str(v).replace('"', '""') + '"' if v and "," in str(v) else str(v or 0) for v in row.values())
        for row in rows
    ]
    made["csv"] = "\n".join([",".join(columns), *cells]).encode() + b"\n"
    made |= {f"{ending}.gz": gzip.compress(made[ending], mtime=0) for ending in ("csv", "jsonl")}
    arrow = pa.table({**columns, "kind": pa.array(columns["label"]).dictionary_encode()})
    for ending, save in {
        "parquet": lambda sink: parquet.write_table(arrow, sink),
        "arrow": lambda sink: feather.write_feather(arrow, sink, compression="uncompressed"),
        "feather": lambda sink: feather.write_feather(arrow, sink, compression="lz4"),
    }.items():
        sink = io.BytesIO()
        save(sink)
        made[ending] = sink.getvalue()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    made["ipc"] = sink.getvalue()
    for ending, save_arrays in {"npz": np.savez, "packed.npz": np.savez_compressed}.items():
        sink = io.BytesIO()
        save_arrays(sink, **{name: np.array(values) for name, values in columns.items() if name != "note"})
        made[ending] = sink.getvalue()
    return made


VALID = valid()


def mutated(content: bytes, seed: int) -> bytes:
    """The content with some bytes changed, removed, repeated or put in, or cut off."""
    rng = np.random.default_rng(seed)
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(data)))
        # headers and footers decide most
        at = int(rng.choice([at, at % 200, max(len(data) - 1 - at % 400, 0)]))
        length = int(rng.choice([1, 2, 4, 8, 40]))
        match int(rng.integers(7)):
            case 0:
                data[at] ^= 1 << int(rng.integers(8))
            case 1:
                data[at : at + length] = rng.bytes(length)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length] * int(rng.integers(1, 9))
            case 4:
                data[at:at] = TOKENS[int(rng.integers(len(TOKENS)))]
            case 5:
                data[at : at + 8] = int(rng.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1])).to_bytes(8, "little")
            case _:
                data = data[: max(at, 1)]
        data = data or bytearray(b" ")
    return bytes(data)


def uses(path: Path, target: Path) -> Iterator[object]:
    """Everything that is done with an input file."""
    yield lambda: cal.Predictions.read(path)
    yield lambda: read_forecasts(path, label="id", mean="prob_a", std="prob_b")
    yield lambda: keep(path, target)


def keep(path: Path, target: Path) -> None:
    found = read_predicted(path)
    write(target, found, found.values, overwrite=True)


def check(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"p.{ending}"
    path.write_bytes(content)
    for use in uses(path, tmp_path / f"out.{ending}"):
        message = ""
        try:
            use()
        except cal.CalibrantError as error:
            message = str(error)
        assert "\n" not in message
        assert len(message) < 2000


@pytest.mark.parametrize("ending", VALID)
def test_the_files_are_valid_before_they_are_damaged(tmp_path, ending):
    path = tmp_path / f"p.{ending}"
    path.write_bytes(VALID[ending])
    for use in uses(path, tmp_path / f"out.{ending}"):
        use()


@pytest.mark.some(2)
@pytest.mark.parametrize("ending", VALID)
def test_damaged_files_give_errors_of_our_own(tmp_path, ending):
    for seed in range(40):
        check(tmp_path, ending, mutated(VALID[ending], seed))


COMMANDS = [["diagnose"], ["test", "--draws", "19"], ["where"], ["audit", "--by", "day,note"], ["monitor"], ["answers"]]


@pytest.mark.parametrize("ending", VALID)
def test_no_damaged_file_crashes_a_command(tmp_path, ending):
    path = tmp_path / f"p.{ending}"
    for seed in range(2000, 2000 + 2 * len(COMMANDS)):
        path.write_bytes(mutated(VALID[ending], seed))
        name, *more = COMMANDS[seed % len(COMMANDS)]
        done = CliRunner().invoke(main, [name, str(path), "--json", *more])
        assert done.exit_code in (0, 3), (seed, done.output)


@pytest.mark.slow
@pytest.mark.parametrize("ending", VALID)
@pytest.mark.parametrize("part", range(3))
def test_many_damaged_files_give_errors_of_our_own(tmp_path, ending, part):
    for seed in range(1000 + 300 * part, 1300 + 300 * part):
        check(tmp_path, ending, mutated(VALID[ending], seed))


@pytest.mark.parametrize("ending", VALID)
def test_every_beginning_of_a_file_is_refused_or_read(tmp_path, ending):
    content = VALID[ending]
    for length in range(0, len(content), max(len(content) // 40, 1)):
        check(tmp_path, ending, content[:length])


@pytest.mark.parametrize("ending", VALID)
def test_noise_is_refused(tmp_path, ending):
    for seed in range(5):
        check(tmp_path, ending, np.random.default_rng(seed).bytes(500))
