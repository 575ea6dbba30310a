"""Standard input, quiet runs and completion in the shell."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import calibrant as cal
from calibrant import files
from calibrant.cli import main
from calibrant.cli.stdin import ending

CSV = b"label,prob\n" + b"".join(b"%d,0.%d\n" % (k % 3 == 0, 1 + k % 8) for k in range(40))


def run(*arguments, given=b"", code=0):
    result = CliRunner(env={"COLUMNS": "120"}).invoke(main, [str(a) for a in arguments], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (CSV, ".csv"),
        (CSV.replace(b",", b"\t"), ".tsv"),
        (CSV.replace(b",", b";"), ".csv"),
        (gzip.compress(CSV, mtime=0), ".csv.gz"),
        (CSV.decode().encode("utf-16"), ".csv"),
        (b'{"label": 1, "prob": 0.5}\n{"label": 0, "prob": 0.5}\n', ".jsonl"),
        (b'[{"label": 1, "prob": 0.5}]', ".json"),
        (b'{\n "version": 2,\n "eval": {}}', ".json"),
        (b'{"schema": 1, "kind": "TemperatureMap"}', ".json"),
        (b"PAR1...", ".parquet"),
        (b"ARROW1..", ".arrow"),
        (b"PK\x03\x04....probs.npy", ".npz"),
        (b"PK\x03\x04....samples/1_epoch_1.json", ".eval"),
    ],
)
def test_the_format_of_standard_input_is_told_by_its_first_bytes(content, expected):
    assert ending(content) == expected


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "npz", "jsonl"])
def test_every_format_comes_through_standard_input(tmp_path, ending):
    rows = np.genfromtxt(CSV.decode().splitlines(), delimiter=",", names=True)
    path = tmp_path / f"p.{ending}"
    files.write_columns(path, {"label": rows["label"].astype(int), "prob": rows["prob"]})
    found = json.loads(run("measure", "-", "ece", "--json", given=path.read_bytes()).stdout)[0]
    assert found["value"] == float(cal.ece(cal.read(path)))
    assert found["input"]["file"] == "standard input"


@pytest.mark.parametrize(
    "command",
    [
        ("diagnose", "-"), ("clinical", "-"), ("decompose", "-"), ("test", "-"), ("where", "-"), ("answers", "-"),
        ("recalibrate", "-", "--method", "platt", "--json"), ("monitor", "-"),
        ("plan", "-", "--error", "0.3", "--statistic", "mean_gap"), ("collect", "-", "-o", "state.json"),
        ("report", "-", "-o", "r.html"), ("compare", "-", "map.json"), ("apply", "map.json", "-", "-o", "q.csv"),
    ],
)  # fmt: skip
def test_every_command_that_reads_a_file_reads_standard_input(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    if "map.json" in command:
        (tmp_path / "p.csv").write_bytes(CSV)
        cal.recalibrate(cal.read(tmp_path / "p.csv"), "platt").save("map.json")
    run(*command, given=CSV)


def test_errors_of_standard_input_do_not_name_a_temporary_file():
    message = run("diagnose", "-", given=b"label,prob\n1,0.5\n1,2\n", code=3).stderr
    assert message.startswith("Error: standard input: column 'prob' must lie in [0, 1]; row 1 (the first is 0) is 2.0.")
    assert "standard input: row 1" in run("diagnose", "-", given=b"label,prob\n1,0.5\n1\n", code=3).stderr
    assert "cannot read standard input: it is empty" in run("diagnose", "-", code=3).stderr
    assert "can be read once only" in run("compare", "-", "-", given=CSV, code=2).stderr


def test_nothing_names_the_temporary_file(tmp_path):
    wrong = b"label,prob\n" + b"0,0.9\n1,0.1\n" * 60
    printed = run("diagnose", "-", "--report", tmp_path / "r.html", given=wrong).output
    assert "calibrant compare - map.json" in printed
    assert "calibrant-" not in printed
    assert "/calibrant-" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_encodings_are_options_and_advice(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes("läbel,prob\n1,0.5\n0,0.2\n".encode("latin-1"))
    message = run("measure", path, "ece", "--label", "läbel", code=3).stderr
    assert "line 1 is not text in UTF-8 (byte 0xe4, 'ä' in Latin-1). Pass --encoding latin-1, or what it was" in message
    run("measure", path, "ece", "--label", "läbel", "--encoding", "latin-1")


@pytest.mark.parametrize("name", list(main.commands))
def test_every_command_can_be_quiet(name):
    assert "--quiet" in run(name, "--help").stdout


@pytest.mark.slow
def test_a_quiet_command_prints_errors_and_json_alone(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(CSV)
    quiet = run("diagnose", path, "--quiet", "--report", tmp_path / "r.html")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert (tmp_path / "r.html").exists()
    printed = run("diagnose", path, "-q", "--json")
    assert json.loads(printed.stdout)["n"] == 40
    assert "must lie in" in run("diagnose", "-", "-q", given=b"label,prob\n1,0.5\n1,2\n", code=3).stderr
    assert run("diagnose", path, "-q", "--fail-above", "ece=0.0001", code=1).stderr.startswith("Failed: ECE")


def completed(*arguments, incomplete=""):
    shell = ShellComplete(main, {}, "calibrant", "_CALIBRANT_COMPLETE")
    return {item.value for item in shell.get_completions(list(arguments), incomplete)}


def test_the_shell_completes_commands_measures_maps_scores_tests_and_worlds():
    assert {"diagnose", "demo", "decompose"} <= completed(incomplete="de") | completed(incomplete="di")
    assert "smECE" in completed("measure", "p.csv", incomplete="sm")
    assert {"sweep"} <= completed("measure", "p.csv", "ece", incomplete="sw")
    assert completed("recalibrate", "p.csv", "--method", incomplete="temp") == {"temperature"}
    assert "brier" in completed("decompose", "p.csv", "--score", incomplete="b")
    assert "spiegelhalter" in completed("test", "p.csv", "--test", incomplete="sp")
    assert "resnet110_c10" in completed("simulate", incomplete="resnet110_c")
    assert "smooth=" in completed("diagnose", "p.csv", "--fail-above", incomplete="smo")
    assert {"same", "any", "no"} == completed("test", "p.csv", "--cluster", incomplete="")
