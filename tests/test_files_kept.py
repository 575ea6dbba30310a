"""What `apply` leaves alone stays as it was: text, types, time zones, missing values."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import feather, parquet

import calibrant as cal
from calibrant.cli import main
from calibrant.files import read_predicted, write

NEW = np.array([0.1, 0.2, 0.3])


def kept(path: Path, target: str, **columns: Any) -> Path:
    output = path.parent / target
    write(output, read_predicted(path, **columns), NEW)
    return output


RAW = (
    b'\xef\xbb\xbf"id",p,when,big,flag,"a ""name""",note\r\n'
    b"017,.5,2024-01-02T03:04:05+02:00,12345678901234567890,True,1.50,NA\r\n"
    b"\r\n"
    b'"08", 0.25 ,2024-01-02,-0,FALSE,"","two\r\nlines, and ""quotes"""\r\n'
    b'x,7.5e-1,,1e3,,,5" pipe and 6" pipe'
)


def test_other_columns_of_csv_are_kept_byte_by_byte(tmp_path):
    (tmp_path / "p.csv").write_bytes(RAW)
    expected = RAW.replace(b"017,.5,", b"017,0.1,").replace(b'"08", 0.25 ,', b'"08",0.2,').replace(b"7.5e-1", b"0.3")
    assert kept(tmp_path / "p.csv", "o.csv").read_bytes() == expected
    (tmp_path / "p.tsv").write_bytes(b'id\tp\n0,1\t0.5\n\'2\t0.5\n"3\t"\t0.5\n')
    assert kept(tmp_path / "p.tsv", "o.tsv").read_bytes() == b'id\tp\n0,1\t0.1\n\'2\t0.2\n"3\t"\t0.3\n'
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(RAW))
    assert gzip.decompress(kept(tmp_path / "p.csv.gz", "o.csv.gz").read_bytes()) == expected


def test_logits_become_probabilities_among_untouched_text(tmp_path):
    (tmp_path / "p.csv").write_text('prob,n,"logit",m\n0.9,01,1,"q"\n0.9,02,2,r\n0.9,03,3,s\n')
    assert kept(tmp_path / "p.csv", "o.csv", logits="logit").read_text() == 'n,prob,m\n01,0.1,"q"\n02,0.2,r\n03,0.3,s\n'


def test_csv_that_lines_and_quotes_do_not_explain_is_written_by_a_parser(tmp_path):
    (tmp_path / "p.csv").write_bytes(b'note,p\r5" pipe,0.5\rb,0.5\rc,0.5\r')  # carriage returns alone
    assert kept(tmp_path / "p.csv", "o.csv").read_bytes() == b'note,p\n"5"" pipe",0.1\nb,0.2\nc,0.3\n'


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["017", "18", ""], ["017", "18", ""]),
        (["17", "-18", ""], [17, -18, None]),
        (["12345678901234567890", "1", "2"], ["12345678901234567890", "1", "2"]),
        (["1.50", "2", "nan"], [1.5, 2.0, None]),
        (["01.5", "2", "3"], ["01.5", "2", "3"]),
        (["True", "false", ""], [True, False, None]),
        (["2024-01-02", "", "2024-01-03"], [dt.date(2024, 1, 2), None, dt.date(2024, 1, 3)]),
        (["2024-01-02T03:04:05+02:00", "2024-01-02T03:04:05Z", ""],) * 2,
        (["2024-01-02 03:04:05", "", ""], [dt.datetime(2024, 1, 2, 3, 4, 5), None, None]),
        (["", "", ""], [None, None, None]),
        (["NA", "NA", ""], ["NA", "NA", ""]),
        (["a", "", "NA"], ["a", "", "NA"]),
    ],
)
def test_text_gets_a_type_only_where_nothing_is_lost(tmp_path, texts, found):
    (tmp_path / "p.csv").write_text("x,p\n" + "".join(f"{text},0.5\n" for text in texts))
    assert parquet.read_table(kept(tmp_path / "p.csv", "o.parquet"))["x"].to_pylist() == found


def typed() -> pa.Table:
    """Columns of every common type, missing values among them."""
    berlin = pa.timestamp("us", "Europe/Berlin")
    columns = {
        "p": pa.array([0.5, 0.25, 0.75]),
        "when": pa.array([dt.datetime(2024, 1, 2, 3, 4, 5), None, dt.datetime(2024, 7, 2, 3, 4, 5)], berlin),
        "nano": pa.array([1, None, 1704164645123456789], pa.timestamp("ns")),
        "day": pa.array([dt.date(2024, 1, 2), None, dt.date(1, 1, 1)]),
        "id": pa.array(["017", "", None]),
        "big": pa.array([2**64 - 1, None, 2**53 + 1], pa.uint64()),
        "flag": pa.array([True, None, False]),
        "money": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("2.00")]),
        "kind": pa.array(["u", None, "u"]).dictionary_encode(),
        "clock": pa.array([dt.time(1, 2, 3), None, dt.time(0)]),
        "raw": pa.array([b"a", b"\xff", None]),
        "list": pa.array([[1], None, []]),
    }
    table = pa.table(columns, metadata={"who": "me"})
    return table.cast(table.schema.set(4, pa.field("id", pa.string(), metadata={"unit": "none"})))


@pytest.mark.parametrize("source", ["parquet", "arrow"])
@pytest.mark.parametrize("target", ["parquet", "arrow"])
def test_types_are_kept_between_tables(tmp_path, source, target):
    path, table = tmp_path / f"p.{source}", typed()
    parquet.write_table(table, path) if source == "parquet" else feather.write_feather(table, str(path))
    output = kept(path, f"o.{target}")
    found = parquet.read_table(output) if target == "parquet" else feather.read_table(output)
    assert found.schema.equals(table.schema)
    assert found.schema.metadata[b"who"] == b"me"
    assert found.schema.field("id").metadata[b"unit"] == b"none"
    assert found.drop(["p"]).equals(table.drop(["p"]))
    assert found["p"].to_pylist() == NEW.tolist()


def test_types_become_text_that_says_the_same(tmp_path):
    parquet.write_table(typed().drop(["raw", "list"]), tmp_path / "p.parquet")
    first, second, third = kept(tmp_path / "p.parquet", "o.csv").read_text().splitlines()[1:]
    times = "2024-01-02 04:04:05.000000+0100,1970-01-01 00:00:00.000000001,2024-01-02"
    assert first == f"0.1,{times},017,18446744073709551615,true,1.10,u,01:02:03.000000"
    assert second == '0.2,,,,"",,,,,'  # an empty text, and missing values
    assert third.split(",")[1] == "2024-07-02 05:04:05.000000+0200"
    rows = [json.loads(line) for line in kept(tmp_path / "p.parquet", "o.jsonl").read_text().splitlines()]
    assert rows[0]["when"] == "2024-01-02 04:04:05.000000+0100"
    assert [row["big"] for row in rows] == [2**64 - 1, None, 2**53 + 1]
    assert [row["id"] for row in rows] == ["017", "", None]
    with pytest.raises(cal.InputError, match=r"column 'when' has a time zone, which NPZ has not\. Write \.parquet"):
        kept(tmp_path / "p.parquet", "o.npz")


def test_a_single_column_has_no_empty_lines(tmp_path):
    parquet.write_table(pa.table({"p": [0.5] * 3}), tmp_path / "p.parquet")
    assert kept(tmp_path / "p.parquet", "o.csv").read_text() == "p\n0.1\n0.2\n0.3\n"


JSON = [
    {"id": "017", "p": 0.5, "day": "2024-01-02", "big": 123456789012345678901234567890, "s": ""},
    {"id": "ä", "p": 0.5, "day": None, "big": 1, "deep": {"a": [1, 2], "b": True}},
    {"id": "x", "p": 0.5, "day": "2024-01-03T00:00:00Z", "big": -5},
]


def test_json_lines_keep_every_value(tmp_path):
    (tmp_path / "p.jsonl").write_text("\n\n".join(map(json.dumps, JSON)) + "\n")
    lines = kept(tmp_path / "p.jsonl", "o.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line]
    assert rows == [row | {"p": value} for row, value in zip(JSON, NEW.tolist(), strict=True)]
    assert [list(row) for row in rows] == [list(row) for row in JSON]
    found = parquet.read_table(kept(tmp_path / "p.jsonl", "o.parquet")).to_pydict()
    assert found["day"] == ["2024-01-02", None, "2024-01-03T00:00:00Z"]
    assert found["big"] == ["123456789012345678901234567890", "1", "-5"]


def test_the_command_keeps_them_too(tmp_path):
    (tmp_path / "p.csv").write_bytes(RAW)
    cal.maps.Identity().fit([0, 1], [0.2, 0.7]).save(tmp_path / "map.json")
    arguments = [str(tmp_path / name) for name in ("map.json", "p.csv")]
    done = CliRunner().invoke(main, ["apply", *arguments, "-o", str(tmp_path / "o.csv")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "o.csv").read_bytes().endswith(b'x,0.75,,1e3,,,5" pipe and 6" pipe')
