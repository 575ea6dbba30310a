"""Text files in other encodings, and nested fields."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest

import calibrant as cal
from calibrant import files
from calibrant.files.encodings import CHUNK, Recoded, blocks, utf8_source

TEXT = "läbel,prob\n1,0.5\n0,0.25\n"


def read(path, **columns):
    found, chosen = files.read_with_columns(path, label="läbel", **columns)
    return found.probs.tolist(), str(chosen)


EXPECTED = ([0.5, 0.25], "labels from 'läbel', probabilities from 'prob'")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_tells_the_encoding(tmp_path, encoding, packed):
    content = TEXT.encode(encoding)
    path = tmp_path / ("p.csv.gz" if packed else "p.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert read(path) == EXPECTED
    assert cal.scan(path, label="läbel", progress=False).n == 2


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-be", "shift_jis"])
def test_the_caller_tells_the_encoding(tmp_path, encoding):
    if encoding == "shift_jis":
        text, label = TEXT.replace("läbel", "ラベル"), "ラベル"
    else:
        text, label = TEXT, "läbel"
    path = tmp_path / "p.csv"
    path.write_bytes(text.encode(encoding))
    found = cal.read(path, label=label, encoding=encoding)
    assert found.probs.tolist() == [0.5, 0.25]
    lines = tmp_path / "p.jsonl"
    lines.write_bytes(f'{{"{label}": 1, "prob": 0.5}}\n'.encode(encoding))
    assert cal.read(lines, label=label, encoding=encoding).probs.tolist() == [0.5]


def test_a_wrong_encoding_is_named_with_its_line_and_what_reads_it(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"label,prob\nno,0.5\nyes,0.25\n" + "café,0.3\n".encode("latin-1"))
    with pytest.raises(
        cal.FileError, match=r"line 4 is not text in UTF-8 \(byte 0xe9, 'é' in Latin-1\)\. Pass encoding="
    ):
        cal.read(path, classes=("no", "yes"))
    with pytest.raises(cal.InputError, match="encoding must name a text encoding; it is 'klingon'"):
        cal.read(path, encoding="klingon")
    np.savez(tmp_path / "p.npz", label=[1, 0], prob=[0.5, 0.2])
    with pytest.raises(cal.InputError, match="encoding is for text files only; the file is NPZ"):
        cal.read(tmp_path / "p.npz", encoding="latin-1")


def test_a_stream_of_utf8_is_the_same_in_pieces(tmp_path, monkeypatch):
    path = tmp_path / "p.csv"
    text = "label,näme\n" + "1,日本\n" * 5000
    path.write_bytes(text.encode("utf-16"))
    monkeypatch.setattr("calibrant.files.encodings.CHUNK", 1001)  # cuts letters in two
    assert b"".join(blocks(path)).decode() == text
    assert io.TextIOWrapper(io.BufferedReader(Recoded(path, "utf-16")), newline="").read() == text
    assert utf8_source(path).read(7) == b"label,n"
    assert CHUNK > 1001


def test_what_is_applied_to_a_file_of_another_encoding_is_written_in_utf8(tmp_path):
    path, target = tmp_path / "p.csv", tmp_path / "q.csv"
    path.write_bytes("prob,näme\n0.5,é\n0.25,ü\n".encode("latin-1"))
    given = files.read_predicted(path, encoding="latin-1")
    files.write(target, given, np.array([0.75, 0.5]))
    assert target.read_text(encoding="utf-8") == "prob,näme\n0.75,é\n0.5,ü\n"


def test_nested_fields_are_columns(tmp_path):
    path, target = tmp_path / "p.jsonl", tmp_path / "q.jsonl"
    path.write_text(
        '{"grade": {"right": 1, "by": {"p": 0.5}}, "n": 1}\n{"grade": {"right": 0, "by": {"p": 0.25}}, "n": 2}\n'
    )
    columns = {"label": "grade.right", "probs": "grade.by.p"}
    found, chosen = files.read_with_columns(path, **columns)
    assert (found.probs.tolist(), found.labels.tolist()) == ([0.5, 0.25], [1, 0])
    assert str(chosen) == "labels from 'grade.right', probabilities from 'grade.by.p'"
    assert cal.scan(path, progress=False, **columns).n == 2
    files.write(target, files.read_predicted(path, probs="grade.by.p"), np.array([0.125, 1.0]))
    assert target.read_text().splitlines()[0] == '{"grade": {"right": 1, "by": {"p": 0.125}}, "n": 1}'
    path.write_text('{"grade": {"right": 1}, "prob": 0.5}\n{"grade": null, "prob": 0.5}\n')
    with pytest.raises(
        cal.InputError, match=r"column 'grade\.right' must not hold missing values; row 1 \(the first is 0\)"
    ):
        cal.read(path, label="grade.right")


def test_a_row_of_other_fields_is_named(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('label,prob,note\n1,0.5,"a\nb"\n\n0,0.2,c\n1,0.5\n')
    message = r"row 2 \(the first is 0\) has 2 fields and the header 3\. Quote values"
    with pytest.raises(cal.FileError, match=message):
        cal.read(path)
    with pytest.raises(cal.FileError, match=message):
        cal.scan(path, progress=False)
