"""Commands that make files, and `answers` with its logs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import calibrant as cal
from calibrant.cli.samples import COMMANDS, sample_files
from test_cli_stdin import run
from test_files_logs import SAMPLES, as_eval, inspected, lines, sample

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("examples")
    assert f"Wrote {len(sample_files())} files" in run("examples", made).stdout
    return made


def named_files(commands):
    """Files that commands read: all but what they write."""
    words = [re.sub(r"(-o|--output|--report|--state|--checkpoint)\s+\S+", "", line) for line in commands]
    written = {each for line in commands for each in re.findall(r"(?:-o|--output)\s+(\S+)", line)}
    return {
        each for line in words for each in re.findall(r"\b[\w-]+\.(?:csv|parquet|npz|jsonl|json)\b", line)
    } - written


def test_the_files_of_the_readme_and_of_the_listed_commands_are_written(folder):
    block = [line.strip() for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("calibrant ")]
    assert named_files(COMMANDS) <= {path.name for path in folder.iterdir()}
    assert named_files(block)
    assert named_files(block) <= {path.name for path in folder.iterdir()}


LONG = ("recalibrate", "trust", "plan")
"""Commands that choose or simulate for seconds; tests/test_cli.py runs them on smaller files."""


@pytest.mark.slow
def test_listed_commands_run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    cal.recalibrate(cal.read("valid.parquet"), "temperature").save("map.json")
    for command in COMMANDS:
        if command.split()[1] not in LONG:
            run(*command.removesuffix(" --report report.html").split()[1:])


def test_sample_files_are_not_overwritten(folder):
    assert "exists already" in run("examples", folder, code=3).stderr
    run("examples", folder, "--force", "--quiet")


def test_sample_files_hold_what_they_show(folder):
    test = cal.example()[1]
    found = cal.read(folder / "test.parquet")
    assert np.abs(found.probs - test.probs).max() < 1e-5
    assert found.labels.tolist() == test.labels.tolist()
    assert "label" not in parquet.read_table(folder / "new.parquet").column_names


@pytest.mark.parametrize(("world", "more"), [("power", ["--error", 0.1]), ("resnet110_c10", []), ("calibrated", [])])
def test_simulated_files_hold_the_truth(tmp_path, world, more):
    path = tmp_path / "s.parquet"
    printed = run("simulate", world, *more, "--n", 4000, "--seed", 3, "-o", path).stdout
    rows = parquet.read_table(path).to_pydict()
    gap = np.mean(np.abs(np.array(rows["true_rate"]) - rows["prob"]))
    truth = float(re.search(r"True calibration error ([\d.]+)", printed)[1])
    assert truth == pytest.approx({"power": 0.1, "calibrated": 0.0}.get(world, truth), abs=1e-6)
    assert gap == pytest.approx(truth, abs=0.01)
    assert np.mean(rows["label"]) == pytest.approx(np.mean(rows["true_rate"]), abs=0.04)
    run("simulate", world, *more, "--n", 4000, "--seed", 3, "-o", tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet").to_pydict() == rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "'nosuch' is not one of 'calibrated', 'power'"),
        (["resnet110_c10", "--error", "0.1"], "has its own error and scores"),
        (["calibrated", "--error", "0.1"], "has no error"),
        (["power", "--scores", "1"], "--scores must be two numbers"),
    ],
)
def test_worlds_that_there_are_not(tmp_path, arguments, message):
    assert message in run("simulate", *arguments, "-o", tmp_path / "s.csv", code=2).stderr


def test_a_report_is_the_diagnosis(folder, tmp_path):
    path = tmp_path / "r.json"
    printed = run("report", folder / "monday.csv", "-o", path).stdout
    verdict = cal.diagnose(cal.read(folder / "monday.csv")).verdict
    assert verdict in printed
    assert verdict in path.read_text(encoding="utf-8")


# answers


def test_several_models_in_one_file(folder, tmp_path):
    report = tmp_path / "models.html"
    options = ["--percent", "--abstentions", "count", "--models", "model", "--groups", "question"]
    printed = run("answers", folder / "answers.csv", *options, "--report", report).stdout
    assert "models from 'model'" in " ".join(printed.split())
    assert "Pair by pair" in printed
    assert "Pair by pair" in report.read_text(encoding="utf-8")
    data = json.loads(run("answers", folder / "answers.csv", *options, "--json").stdout)
    assert list(data["models"]) == ["model-a", "model-b"]
    assert (data["kind"], data["input"]["columns"]["models"]) == ("AnswerComparison", "model")
    assert sum(each["abstained"] for each in data["models"].values()) == data["input"]["columns"]["abstained_rows"] > 0
    alone = json.loads(run("answers", folder / "answers.csv", *options[:2], "drop", "--json").stdout)
    assert alone["abstained"] == 0
    assert alone["cautions"][0].startswith("answers without a confidence were dropped: ")


def test_a_log_for_each_model(tmp_path):
    first = as_eval(tmp_path / "a.eval", [inspected(k, "CI"[k % 2], metadata={"confidence": 0.5}) for k in range(40)])
    second = lines(tmp_path / "b.jsonl", *(sample(k, int(k % 3 > 0), -1.0, -2.0) for k in range(40)))
    data = json.loads(run("answers", first, second, "--json").stdout)
    assert list(data["models"]) == ["ours/one", "b"]
    assert data["pairs"][0]["questions"] == 40
    assert "--ties is for the answers of one model" in run("answers", first, second, "--ties", "random", code=2).stderr


def test_what_the_confidence_is_comes_from_the_format(tmp_path):
    path = as_eval(tmp_path / "log.eval", SAMPLES)
    printed = run("answers", path, "--percent", "--abstentions", "count").stdout
    assert "1 without a prediction" in printed
    data = json.loads(run("answers", path, "--percent", "--abstentions", "count", "--json").stdout)
    assert (data["name"], data["source"], data["abstained"]) == ("ours/one", "stated by the model", 1)
    assert (
        json.loads(run("answers", path, "--percent", "--abstentions", "count", "--source", "judge", "--json").stdout)[
            "source"
        ]
        == "judge"
    )
    refused = run("answers", path, "--percent", code=3).stderr
    assert "column 'confidence' must hold a confidence for every answer; 1 are missing, the first in row 2" in refused
    assert "Pass --abstentions count if the model abstained there, or --abstentions drop." in refused
    assert "--models must name columns of" in run("answers", path, "--models", "nobody", code=3).stderr
