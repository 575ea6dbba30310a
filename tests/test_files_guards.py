"""Files that lie about their size, or are no text: refused before a library reads them."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import calibrant as cal
from calibrant.files import guards
from calibrant.files.batches import MOST, parts_of
from calibrant.files.encodings import CHUNK, lines
from calibrant.files.guards import check_depth, max_bytes

TEXT = b"label,p\n1,0.5\n0,0.25\n"


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(cal.FileError) as caught:
        cal.Predictions.read(path)
    return str(caught.value).replace(str(path), path.name)


def archive(header: dict[str, object], body: bytes = bytes(16)) -> bytes:
    """An NPZ file of two arrays with this header."""
    sink, array = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(array, header)
    with zipfile.ZipFile(sink, "w") as file:
        for name in ("label", "p"):
            file.writestr(f"{name}.npy", array.getvalue() + body)
    return sink.getvalue()


@pytest.mark.parametrize("shape", [(10**12,), (10**30,), (3,), (1,), (-2,), (10**6, 10**6)])
def test_headers_that_lie_about_their_shape_are_refused(tmp_path, shape):
    message = refusal(tmp_path / "p.npz", archive({"descr": "<f8", "fortran_order": False, "shape": shape}))
    assert message.startswith("cannot read 'p.npz': it is damaged (array 'p' should hold ")
    assert message.endswith(" bytes by its header, and holds 16)")


def test_an_empty_array_of_any_shape_is_refused(tmp_path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (0, 10**30)}
    assert refusal(tmp_path / "p.npz", archive(header, b"")).startswith("cannot read 'p.npz': ")


def test_packed_arrays_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setenv(guards.SETTING, "1000000")
    np.savez_compressed(tmp_path / "p.npz", label=np.zeros(10**5), p=np.zeros(10**5))
    with pytest.raises(
        cal.FileError, match=r"what it unpacks to would take 0\.0016 GB of memory, and at most 0\.001 GB"
    ):
        cal.Predictions.read(tmp_path / "p.npz")
    monkeypatch.setenv(guards.SETTING, "2000000")
    assert cal.Predictions.read(tmp_path / "p.npz").n == 10**5


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv.gz", "jsonl.gz"])
def test_packed_text_is_bounded_and_the_bound_can_be_set(tmp_path, monkeypatch, ending):
    monkeypatch.setenv(guards.SETTING, "1000000")
    text = TEXT if ending == "csv.gz" else b'{"label": 1, "p": 0.5}\n{"label": 0, "p": 0.25}\n'
    bomb = gzip.compress(text + b"\n" * (1 << 25))
    assert len(bomb) < 40_000
    message = refusal(tmp_path / f"p.{ending}", bomb)
    assert message.startswith(f"cannot read 'p.{ending}': what it unpacks to would take ")
    assert message.endswith("If that is meant, set the environment variable CALIBRANT_MAX_BYTES.")
    monkeypatch.setenv(guards.SETTING, "100000000")
    assert cal.Predictions.read(tmp_path / f"p.{ending}").n == 2


@pytest.mark.slow
def test_a_bomb_is_not_unpacked_whole(tmp_path, monkeypatch):
    monkeypatch.setenv(guards.SETTING, str(1 << 23))
    seen = []
    true = guards.check_size
    monkeypatch.setattr(guards, "check_size", lambda path, size, what: (seen.append(size), true(path, size, what)))
    refusal(tmp_path / "p.csv.gz", gzip.compress(TEXT + b"\n" * (1 << 26)))
    assert max(seen) <= (1 << 23) + CHUNK


def test_a_small_parquet_file_of_many_rows_is_bounded(tmp_path, monkeypatch):
    table = pa.table({"label": np.zeros(10**6, np.int8), "p": np.full(10**6, 0.5)})
    parquet.write_table(table, tmp_path / "p.parquet")
    monkeypatch.setenv(guards.SETTING, "40000000")
    expected = r"its rows would take 0\.041 GB of memory, .* calibrant\.scan reads it in batches"  # with their use
    with pytest.raises(cal.FileError, match=expected):
        cal.Predictions.read(tmp_path / "p.parquet")
    assert cal.scan(tmp_path / "p.parquet", progress=False).n == 10**6
    monkeypatch.setenv(guards.SETTING, "41000000")
    assert cal.Predictions.read(tmp_path / "p.parquet").n == 10**6


def test_a_row_group_of_any_size_is_read_in_batches(tmp_path):
    n = 3 * 10**6
    table = pa.table({"label": np.zeros(n, np.int8), "p": np.full(n, 0.5)})
    parquet.write_table(table, tmp_path / "p.parquet", row_group_size=n)
    assert (tmp_path / "p.parquet").stat().st_size < 50_000
    (part,) = parts_of(tmp_path / "p.parquet")
    assert [batch.n for batch in part().batches(("label", "p"))] == [MOST, MOST, n - 2 * MOST]


@pytest.mark.parametrize("kind", [pa.ipc.new_file, pa.ipc.new_stream])
def test_a_small_arrow_file_of_many_rows_is_bounded(tmp_path, monkeypatch, kind):
    table = pa.table({"label": np.zeros(10**5, np.int8), "p": np.full(10**5, 0.5), "other": np.zeros(10**5)})
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    with kind(str(tmp_path / "p.arrow"), table.schema, options=packed) as file:
        for _ in range(5):
            file.write_table(table)
    assert (tmp_path / "p.arrow").stat().st_size < 50_000
    monkeypatch.setenv(guards.SETTING, "2000000")
    with pytest.raises(cal.FileError, match=r"what it unpacks to would take 0\.0027 GB .* reads it in batches"):
        cal.Predictions.read(tmp_path / "p.arrow")  # refused with the third batch, before the others are unpacked
    assert cal.scan(tmp_path / "p.arrow", progress=False).n == 5 * 10**5
    monkeypatch.setenv(guards.SETTING, "4500000")
    assert cal.Predictions.read(tmp_path / "p.arrow").n == 5 * 10**5


def test_the_bound_is_half_of_the_memory_or_the_setting(monkeypatch):
    monkeypatch.delenv(guards.SETTING, raising=False)
    monkeypatch.setattr("os.sysconf", lambda name: {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}[name])
    assert max_bytes() == 2_048_000
    monkeypatch.setattr("os.sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert max_bytes() == guards.UNKNOWN_MEMORY // 2
    monkeypatch.setenv(guards.SETTING, "many")
    with pytest.raises(cal.FileError, match="CALIBRANT_MAX_BYTES must be a whole number of bytes; it is 'many'"):
        max_bytes()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", TEXT.decode().encode("utf-16-le"), "no text has. Pass encoding='utf-16-le' if it is UTF-16."),
        ("p.csv", TEXT.decode().encode("utf-16-be"), "no text has. Pass encoding='utf-16-be' if it is UTF-16."),
        ("p.csv", TEXT.replace(b"1,", b"1\0,"), "it holds NUL bytes, which no text has. Save it as text in UTF-8."),
        ("p.csv", b"\xff\xfe" + "label,p\n1,0.5\n".encode("utf-16-le")[:-1], "not text in utf-16-le (truncated data)"),
        ("p.csv.gz", gzip.compress(b"label,p\n\0", mtime=0), "it holds NUL bytes"),
        (
            "p.csv.gz",
            gzip.compress(TEXT, mtime=0)[:-9],
            "Compressed file ended before the end-of-stream marker was reached",
        ),
        (
            "p.csv",
            "läbel,p\n1,0.5\n".encode("latin-1"),
            "line 1 is not text in UTF-8 (byte 0xe4, 'ä' in Latin-1). Pass encoding='latin-1'",
        ),
        ("p.jsonl", b'{"a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}", "its JSON is nested more than 100 levels deep."),
        ("p.jsonl", b"[" * 10**6, "its JSON is nested more than 100 levels deep."),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, name, content, message):
    assert message in refusal(tmp_path / name, content)


def test_brackets_in_strings_are_no_nesting(tmp_path):
    rows = [{"label": k % 2, "p": 0.5, "note": '[{" \\' * 200} for k in range(4)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    check_depth(tmp_path / "p.jsonl")
    assert cal.Predictions.read(tmp_path / "p.jsonl").n == 4


def test_huge_integers_are_refused_or_left(tmp_path):
    (tmp_path / "p.csv").write_text("label,p,x\n1,0.5," + "9" * 5000 + "\n0,0.5,1\n")
    assert cal.Predictions.read(tmp_path / "p.csv").n == 2
    (tmp_path / "p.csv").write_text("label,p\n1,0.5\n" + "9" * 5000 + ",0.5\n")
    with pytest.raises(cal.InputError, match="column 'label' must be finite"):
        cal.Predictions.read(tmp_path / "p.csv")


def test_lines_are_put_together_again():
    text = b"a\nbb\r\n\nccc"
    for size in range(1, len(text) + 1):
        parts = (text[k : k + size] for k in range(0, len(text), size))
        assert list(lines(parts)) == [b"a\n", b"bb\r\n", b"\n", b"ccc"]
