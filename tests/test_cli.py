"""The command line: what it prints, writes and returns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import calibrant as cal
from calibrant import files
from calibrant.cli import main, screen
from calibrant.cli.options import in_options
from calibrant.methods import methods
from calibrant.results import Record, Table

COMMANDS = [
    "diagnose",
    "measure",
    "clinical",
    "decompose",
    "recalibrate",
    "apply",
    "compare",
    "demo",
    "trust",
    "test",
    "where",
    "audit",
    "monitor",
    "plan",
    "answers",
    "collect",
    "merge",
    "report",
    "simulate",
    "examples",
    "serve",
    "study",
]


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def without_input(result: Result) -> dict[str, object]:
    """The printed JSON less the part that says which columns were read."""
    data = json.loads(result.stdout)
    assert data.pop("input")["columns"]["labels"] == "label"
    return data


def save(path: Path, predictions: cal.Predictions, prefix: str = "logit_", label: bool = True) -> Path:
    """The predictions as CSV, with an identifier that looks like a number."""
    said = predictions.outputs
    names = [f"{prefix}{k}" for k in range(said.shape[1])]
    rows = [["id", *names, *(["label"] if label else [])]]
    for k, row in enumerate(said.tolist()):
        rows.append([f"{k:05d}", *map(repr, row), *([str(predictions.labels[k])] if label else [])])
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with valid.csv, test.csv, new.csv (no labels) and map.json."""
    folder = tmp_path_factory.mktemp("digits")
    valid, test = cal.example()
    save(folder / "valid.csv", valid)
    save(folder / "test.csv", test)
    save(folder / "new.csv", test, label=False)
    cal.recalibrate(cal.Predictions.read(folder / "valid.csv"), "temperature").save(folder / "map.json")
    return folder


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    """A small file whose columns are named after their classes."""
    path = tmp_path / "animals.csv"
    lines = ["label,prob_cat,prob_dog,note"] + ["cat,0.8,0.2,x", "dog,0.4,0.6,y", "dog,0.7,0.3,z"] * 20
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# Diagnose


@pytest.fixture(scope="session")
def diagnosed(digits: Path) -> cal.results.Diagnosis:
    """What Python says of test.csv."""
    return cal.diagnose(cal.Predictions.read(digits / "test.csv"), name="test.csv")


@pytest.fixture(scope="session")
def in_json(digits: Path) -> Result:
    """What the command line says of it."""
    return run("diagnose", digits / "test.csv", "--json")


def test_diagnose_prints_verdict_tables_cautions_and_advice(digits, diagnosed):
    output, found = run("diagnose", digits / "test.csv").stdout, diagnosed
    flat = " ".join(output.split())
    for text in (found.verdict, *found.cautions, *found.advice):
        assert " ".join(text.split()) in flat
    for table in found.tables():
        assert table.title in output
        for row in table.texts():
            assert row[1] in output
    assert "test.csv: 899 rows, view: top" in output
    assert "Labels from 'label', logits from 'logit_0' … 'logit_9'" in output


@pytest.mark.slow
def test_diagnose_as_json_equals_the_result_in_python(in_json, diagnosed):
    assert without_input(in_json) == json.loads(diagnosed.to_json())
    assert cal.results.Diagnosis.from_json(in_json.stdout) == diagnosed
    assert in_json.stderr == ""


def test_a_view_and_columns_can_be_chosen(animals):
    data = json.loads(run("diagnose", animals, "--view", "class dog", "--probs", "prob_*", "--json").stdout)
    assert data["view"] == "class dog"
    data = json.loads(run("diagnose", animals, "--probs", "prob_dog", "--classes", "cat,dog", "--json").stdout)
    assert data["view"] == "binary"


def test_classes_may_begin_with_a_minus(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("label,p\n-1,0.2\n1,0.7\n")
    assert json.loads(run("diagnose", path, "--classes", "-1,1", "--json").stdout)["n"] == 2


@pytest.mark.slow
def test_an_error_above_the_limit_fails(digits):
    found = cal.posterior_error(cal.Predictions.read(digits / "test.csv"))
    result = run("diagnose", digits / "test.csv", "--json", "--fail-above", 0.05, code=1)
    title = f"{found.title} {found.value:.4f}: its {found.interval.in_words()}"
    assert result.stderr == f"Failed: {title} lies above 0.05.\n"
    assert json.loads(result.stdout)["calibrated"] is False
    between = (found.interval.low + found.value) / 2  # the estimate is above, the interval is not
    run("diagnose", digits / "test.csv", "--json", "--fail-above", between)


@pytest.mark.slow
def test_a_named_estimator_is_held_to_its_limit(digits):
    error = float(cal.smooth_error(cal.Predictions.read(digits / "test.csv")))
    result = run("diagnose", digits / "test.csv", "--quiet", "--fail-above", "smECE=0.05", code=1)
    assert (result.stdout, result.stderr) == (
        "",
        f"Failed: smooth ECE {error:.4f} is above 0.05; it has no interval.\n",
    )
    run("diagnose", digits / "test.csv", "--quiet", "--fail-above", f"smooth={error + 0.001}")
    assert "there is no measure 'nosuch'" in run("diagnose", "x.csv", "--fail-above", "nosuch=1", code=2).stderr
    assert "not a number, nor NAME=NUMBER" in run("diagnose", "x.csv", "--fail-above", "smooth=a", code=2).stderr


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["html", "json"])
def test_diagnose_writes_a_report(digits, tmp_path, ending):
    result = run("diagnose", digits / "test.csv", "--json", "--report", tmp_path / f"report.{ending}")
    assert "Wrote" in result.stderr
    assert "Not calibrated" in (tmp_path / f"report.{ending}").read_text(encoding="utf-8")


def test_a_report_never_replaces_the_predictions(animals):
    before = animals.read_text()
    result = run("diagnose", animals, "--report", animals, code=3)
    assert "a report must end in .html or .json" in result.stderr
    assert animals.read_text() == before


# Recalibrate


def test_a_map_saved_by_the_command_line_loads_in_python(digits, tmp_path):
    output = run("recalibrate", digits / "valid.csv", "--method", "temperature", "-o", tmp_path / "map.json").stdout
    fitted = cal.load_map(tmp_path / "map.json")
    assert fitted == cal.recalibrate(cal.Predictions.read(digits / "valid.csv"), "temperature")
    assert f"{fitted.parameters['temperature']:.4f}" in output
    assert "calibrant compare TEST" in output


@pytest.mark.slow
def test_a_map_is_chosen_unless_one_is_named(animals, tmp_path):
    output = run("recalibrate", animals, "-o", tmp_path / "map.json").stdout
    fitted = cal.load_map(tmp_path / "map.json")
    assert fitted == cal.recalibrate(cal.Predictions.read(animals))
    assert f"Chosen: {fitted.fit.choice.reason.split()[0]}" in output


def test_a_map_can_be_printed_instead(digits):
    text = run("recalibrate", digits / "valid.csv", "--method", "identity", "--json").stdout
    assert json.loads(text)["kind"] == "IdentityMap"


def test_a_map_is_saved_and_printed(digits, tmp_path):
    result = run("recalibrate", digits / "valid.csv", "--method", "temperature", "-o", tmp_path / "map.json", "--json")
    assert without_input(result) == json.loads((tmp_path / "map.json").read_text())
    (tmp_path / "printed.json").write_text(result.stdout)
    assert cal.load_map(tmp_path / "printed.json") == cal.load_map(tmp_path / "map.json")


def test_a_map_must_go_somewhere(digits):
    result = run("recalibrate", digits / "valid.csv", code=2)
    assert "Say where to save the map: -o map.json. Or print it with --json." in result.stderr


@pytest.mark.slow
def test_a_map_replaces_nothing_unless_forced(animals):
    before = animals.read_text()
    result = run("recalibrate", animals, "-o", animals, code=3)
    assert "a map must end in .json" in result.stderr
    assert animals.read_text() == before
    path = animals.parent / "map.json"
    path.write_text("{}")
    result = run("recalibrate", animals, "-o", path, code=3)
    assert result.stderr == f"Error: '{path}' exists already. Choose another name, or pass --force.\n"
    run("recalibrate", animals, "-o", path, "--force")
    first = cal.load_map(path)
    run("recalibrate", animals, "-o", path, "--method", "identity", code=3)  # not even another map
    assert cal.load_map(path) == first


# Apply


def test_a_map_applies_to_data_without_labels_and_keeps_other_columns(digits, tmp_path):
    output = run("apply", digits / "map.json", digits / "new.csv", "-o", tmp_path / "better.csv").stdout
    assert output == (
        f"Logits from 'logit_0' … 'logit_9'\nWrote {tmp_path / 'better.csv'}: 899 rows recalibrated by temperature.\n"
    )
    lines = (tmp_path / "better.csv").read_text().splitlines()
    assert lines[0] == "id," + ",".join(f"prob_{k}" for k in range(10))
    assert lines[8].startswith("00007,")
    expected = cal.load_map(digits / "map.json").apply(logits=files.read_predicted(digits / "new.csv").values)
    found = np.array([[float(cell) for cell in line.split(",")[1:]] for line in lines[1:]])
    assert np.array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "arrow", "npz", "jsonl", "tsv", "csv.gz"])
def test_the_output_has_the_format_of_its_ending(animals, tmp_path, ending):
    cal.recalibrate(cal.Predictions.read(animals)).save(tmp_path / "map.json")
    run("apply", tmp_path / "map.json", animals, "-o", tmp_path / f"better.{ending}")
    found = cal.Predictions.read(tmp_path / f"better.{ending}", groups="note")
    expected = cal.load_map(tmp_path / "map.json").apply(cal.Predictions.read(animals))
    assert np.array_equal(found.probs, expected.probs)
    assert found.groups is not None
    assert found.groups.tolist() == ["x", "y", "z"] * 20


@pytest.mark.slow
def test_columns_in_another_order_are_matched_by_name(animals, tmp_path):
    fitted = cal.recalibrate(cal.Predictions.read(animals))
    fitted.save(tmp_path / "map.json")
    lines = [line.split(",") for line in animals.read_text().splitlines()]
    turned = tmp_path / "turned.csv"
    turned.write_text("".join(f"{a},{c},{b}\n" for a, b, c, _ in lines))
    run("apply", tmp_path / "map.json", turned, "-o", tmp_path / "better.parquet")
    assert parquet.read_schema(tmp_path / "better.parquet").names == ["label", "prob_dog", "prob_cat"]
    found = cal.Predictions.read(tmp_path / "better.parquet", classes="cat,dog")
    assert np.array_equal(found.probs, fitted.apply(cal.Predictions.read(animals)).probs)
    data = [without_input(run("compare", path, tmp_path / "map.json", "--json")) for path in (animals, turned)]
    assert data[0] == data[1]


def test_a_map_for_other_classes_is_refused(animals, tmp_path):
    cal.recalibrate(cal.Predictions.read(animals)).save(tmp_path / "map.json")
    other = tmp_path / "other.csv"
    other.write_text(animals.read_text().replace("dog", "fox"))
    result = run("apply", tmp_path / "map.json", other, "-o", tmp_path / "better.csv", code=3)
    assert result.stderr == "Error: --classes must be those of the map, cat, dog; the file has cat, fox.\n"


def test_a_map_for_another_number_of_columns_is_refused(digits, animals, tmp_path):
    result = run("apply", digits / "map.json", animals, "-o", tmp_path / "better.csv", code=3)
    expected = "columns 'prob_cat' … 'prob_dog' must have 10 columns, as this map was fitted; it has 2."
    assert result.stderr == f"Error: {animals}: {expected}\n"
    assert not (tmp_path / "better.csv").exists()


def test_apply_replaces_nothing_unless_forced(digits, tmp_path):
    copy = tmp_path / "new.csv"
    copy.write_bytes((digits / "new.csv").read_bytes())
    result = run("apply", digits / "map.json", copy, "-o", copy, code=3)
    assert result.stderr == f"Error: '{copy}' is read by the same command. Choose another name, or pass --force.\n"
    assert copy.read_bytes() == (digits / "new.csv").read_bytes()
    run("apply", digits / "map.json", copy, "-o", copy, "--force")
    assert copy.read_text().startswith("id,prob_0,")


def test_what_is_no_map_is_refused_by_name(digits, tmp_path):
    result = run("apply", digits / "new.csv", digits / "new.csv", "-o", tmp_path / "x.csv", code=3)
    assert result.stderr.startswith(f"Error: '{digits / 'new.csv'}' is not a saved map: this is not JSON: ")
    (tmp_path / "found.json").write_text(cal.diagnose([0, 1], [0.2, 0.7]).to_json())
    result = run("compare", digits / "test.csv", tmp_path / "found.json", code=3)
    assert result.stderr == f"Error: '{tmp_path / 'found.json'}' holds a saved Diagnosis, not a map\n"


# Compare


def test_compare_takes_a_map_or_the_repaired_file(digits, tmp_path):
    run("apply", digits / "map.json", digits / "test.csv", "-o", tmp_path / "better.csv")
    by_map = without_input(run("compare", digits / "test.csv", digits / "map.json", "--json"))
    by_file = json.loads(run("compare", digits / "test.csv", tmp_path / "better.csv", "--json").stdout)
    assert by_map["difference"] == by_file["difference"]
    assert by_map["verdict"] == "better"
    expected = cal.compare(cal.Predictions.read(digits / "test.csv"), cal.load_map(digits / "map.json"))
    assert by_map == json.loads(expected.to_json())
    assert (by_file["injective"], by_file["split"] is None) == (None, False)
    stated = run("compare", digits / "test.csv", tmp_path / "better.csv", "--injective", "--json")
    assert json.loads(stated.stdout)["grounds"] == "as stated"


def test_two_files_do_not_show_that_a_change_is_calibration(event_file, tmp_path):
    lines = event_file.read_text().splitlines()
    place = lines[0].split(",").index("prob")
    rows = [line.split(",") for line in lines[1:]]
    for row in rows:
        row[place] = str(0.1 + 0.7 * float(row[place]))
    (tmp_path / "other.csv").write_text("\n".join([lines[0], *map(",".join, rows)]) + "\n")
    said = " ".join(run("compare", event_file, tmp_path / "other.csv").stdout.split())
    assert "The change may be calibration, sharpness or both" in said
    assert "An estimate of the parts" in said
    assert "so all of it is calibration" not in said
    said = " ".join(run("compare", event_file, tmp_path / "other.csv", "--injective").stdout.split())
    assert "so all of it is calibration" in said


def test_columns_named_for_the_first_file_may_be_renamed_in_the_second(digits, tmp_path):
    run("apply", digits / "map.json", digits / "test.csv", "-o", tmp_path / "better.csv")
    result = run("compare", digits / "test.csv", tmp_path / "better.csv", "--logits", "logit_*", "--json")
    assert json.loads(result.stdout)["verdict"] == "better"


def test_compare_prints_the_finding_once(digits):
    output = run("compare", digits / "test.csv", digits / "map.json", "--score", "log", "--level", "0.9").stdout
    found = cal.compare(
        cal.Predictions.read(digits / "test.csv"), cal.load_map(digits / "map.json"), score="log", level=0.9
    )
    assert found.sentence() in " ".join(output.split())
    assert output.count("keeps different") == 1
    assert "90% interval" in output
    assert "test.csv → map.json: 899 rows" in output


def test_a_worse_model_fails_when_asked(digits, tmp_path):
    run("apply", digits / "map.json", digits / "test.csv", "-o", tmp_path / "better.csv")
    result = run("compare", tmp_path / "better.csv", digits / "test.csv", "--fail-if-worse", code=1)
    assert result.stderr == f"Failed: {digits / 'test.csv'} is worse than {tmp_path / 'better.csv'}.\n"
    run("compare", tmp_path / "better.csv", digits / "test.csv")
    run("compare", digits / "test.csv", digits / "map.json", "--fail-if-worse")


@pytest.mark.slow
def test_compare_writes_a_report(digits, tmp_path):
    run("compare", digits / "test.csv", digits / "map.json", "--report", tmp_path / "report.json")
    data = json.loads((tmp_path / "report.json").read_text())
    assert {"diagnosis", "after", "comparison", "fitted"} <= set(data)


def test_other_rows_cannot_be_compared(digits):
    result = run("compare", digits / "test.csv", digits / "valid.csv", code=3)
    assert result.stderr == "Error: after must have the shape of before; (898, 10) is not (899, 10).\n"


# Decompose


def test_decompose_prints_the_parts_and_their_sum(digits):
    output = run("decompose", digits / "test.csv", "--score", "log", "--view", "top").stdout
    found = cal.decompose(cal.Predictions.read(digits / "test.csv"), score="log", view="top")
    flat = " ".join(output.split())
    assert " ".join(found.sentence().split()) in flat
    assert flat.count("by isotonic on the same rows") == 1
    assert found.tables()[0].title in output


def test_decomposed_json_is_what_python_decomposes(digits):
    output = run("decompose", digits / "test.csv", "--method", "temperature", "--cross-fitted", "--json").stdout
    expected = cal.decompose(cal.Predictions.read(digits / "test.csv"), method="temperature", cross_fitted=True)
    assert cal.results.Decomposition.from_json(output) == expected


@pytest.mark.slow
def test_clinical_prints_what_python_finds(digits, tmp_path):
    path, report = digits / "test.csv", tmp_path / "clinical.html"
    output = run("clinical", path, "--view", "class 3", "--threshold", 0.3, "--report", report).stdout
    found = cal.clinical(cal.Predictions.read(path), view="class 3", threshold=0.3, name="test.csv")
    assert all(title in output for title in ("O/E ratio", "calibration slope", "Emax", "threshold 0.3"))
    assert "Clinical validation" in report.read_text(encoding="utf-8")
    data = without_input(run("clinical", path, "--view", "class 3", "--threshold", 0.3, "--json"))
    assert data["estimates"] == json.loads(found.to_json())["estimates"]
    measured = json.loads(run("measure", path, "slope", "AUC", "--view", "class 3", "--json").stdout)
    assert [each["value"] for each in measured] == [found["calibration_slope"].value, found["c_statistic"].value]


def test_decompose_knows_its_maps_and_scores(digits):
    assert (
        "'no_such_map' is not one of" in run("decompose", digits / "test.csv", "--method", "no_such_map", code=2).output
    )
    assert "'ece' is not one of" in run("decompose", digits / "test.csv", "--score", "ece", code=2).output


# Demo


@pytest.mark.slow
def test_the_demo_shows_everything_and_writes_the_report(tmp_path):
    result = run("demo", "--output", tmp_path / "report.html")
    for text in ("Not calibrated", "Measured", "Bin by bin", "Fitted map", "Better after than before", "Afterwards: "):
        assert text in result.stdout
    assert (tmp_path / "report.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")


@pytest.mark.slow
def test_the_demo_writes_nothing_unasked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "calibrant demo --output report.html" in run("demo").stdout
    assert list(tmp_path.iterdir()) == []


# Help, errors and output


def test_help_lists_commands_methods_estimators_and_exit_codes():
    output = run("--help").stdout
    listed = re.findall(r"^  (\w+) {2,}", output, flags=re.MULTILINE)
    for name in (*COMMANDS, *methods("map"), *methods("estimator"), *methods("clinical estimator"), "0", "1", "2", "3"):
        assert name in listed
    assert [name for name in listed if name in COMMANDS] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_teaches_by_example(command):
    output = run(command, "--help").stdout
    examples = re.findall(rf"^ +calibrant {command}\b.*$", output, flags=re.MULTILINE)
    assert len(examples) >= 2
    assert "..." not in output


@pytest.mark.parametrize("command", [main, *main.commands.values()])
def test_examples_in_the_help_use_options_that_exist(command):
    for line in re.findall(r"^ +calibrant (\w+)(.*)$", command.help, flags=re.MULTILINE):
        known = {o for p in main.commands[line[0]].params if isinstance(p, click.Option) for o in p.opts}
        assert set(re.findall(r"(?<= )--?[a-z-]+", line[1])) <= known


def test_the_version_is_printed():
    assert run("--version").stdout == f"calibrant {cal.__version__}\n"


@pytest.mark.parametrize(
    ("content", "options", "code", "message"),
    [
        (None, [], 3, "cannot read 'p.csv': there is no such file"),
        ("label,value\n1,0.5\n", [], 3, "Say which: --probs NAME, --probs 'PREFIX_*' or --logits."),
        ("lab,p\n1,0.5\n", [], 3, "Say which: --label NAME."),
        ("label,p,y\n1,0.5,1\n", [], 3, "Say which: --label label."),
        (
            "label,p\n1,0.5\n",
            ["--label", "q"],
            3,
            "--label must name a column of p.csv; 'q' is not among 'label', 'p'.",
        ),
        ("label,p\n1,0.5\n", ["--probs", "q"], 3, "--probs must name columns of p.csv; 'q' fits none of 'label', 'p'."),
        ("label,p\n1,-8\n", [], 3, "row 0 (the first is 0) is -8.0. If these are logits, pass --logits p."),
        ("label,prob_a,prob_b\na,0.5,0.6\n", [], 3, "Pass --normalize to divide each row by its sum."),
        ("label,p\nyes,0.5\n", [], 3, "Pass --classes negative,positive (scikit-learn: model.classes_)."),
        ("label,p\n0.25,0.5\n", [], 3, "for shares in [0, 1] pass --soft."),
        ("label,conf,pred\ncat,0.5,3\n", [], 3, "Pass --pred none if it is not the predicted class."),
        ("label,p\n1,0.5\n", ["--view", "top"], 2, "--view 'top' needs one column per class"),
        ("label,p\n1,0.5\n", ["--view", "side"], 2, "--view must be one of 'auto', 'binary'"),
        ("label,p\n1,0.5\n", ["--fail-above", "-1"], 2, "Invalid value for '--fail-above'"),
        ("label,p\n1,0.5\n", ["--lable", "y"], 2, "No such option"),
        ("label,p\n1,0.5\n", ["--report", "r.pdf"], 3, "a report must end in .html or .json"),
        ("label,p\n1,0.5\n", ["--report", "none/r.html"], 3, "cannot write the report 'none/r.html'"),
    ],
)
def test_errors_are_short_speak_of_options_and_have_their_code(tmp_path, monkeypatch, content, options, code, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("p.csv").write_text(content)
    error = run("diagnose", "p.csv", *options, code=code).stderr
    assert message in error
    assert "Traceback" not in error
    assert len(re.sub(r"(?s)^Usage.*?\n\n", "", error).splitlines()) <= 2


def test_errors_of_the_file_system_are_told_in_a_line(digits, tmp_path):
    result = run("recalibrate", digits / "valid.csv", "-o", tmp_path / "none" / "map.json", code=3)
    assert "there is no such folder" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use score='brier', or pass logits", "Use --score brier, or pass logits"),
        ("Say which: probs='p q'.", "Say which: --probs 'p q'."),
        ("Pass Predictions(labels, probs, classes=classes), in order", "Pass --classes A,B,…, in order"),
        ("Pass Predictions.from_logits(labels, logits, soft=True)", "Pass --soft"),
        ("or Predictions(labels, probs, classes=('b', 'a')) if", "or --classes 'b','a' if"),
        ("or pass overwrite=True.", "or pass --force."),
    ],
)
def test_arguments_are_put_as_options(text, expected):
    assert in_options(cal.FileError(text)) == expected


def environment(**more: str) -> dict[str, str]:
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING")}
    return plain | more


@pytest.mark.slow
def test_the_module_runs_and_piped_output_is_plain(animals):
    command = [sys.executable, "-m", "calibrant", "diagnose", str(animals)]
    found = subprocess.run(command, capture_output=True, env=environment(PYTHONIOENCODING="ascii"), check=True)
    output = found.stdout.decode("utf-8")
    assert "\x1b" not in output
    assert "animals.csv: 60 rows, view: top" in output
    assert max(map(len, output.splitlines())) <= 80
    assert found.stderr == b""


def test_colour_is_for_terminals_that_want_it(monkeypatch):
    result = cal.compare(*[cal.Predictions([0, 1] * 9, [p, 0.8] * 9) for p in (0.5, 0.3)])
    for setting, coloured in (("FORCE_COLOR", True), ("NO_COLOR", False)):
        for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(setting, "1")
        terminal = screen.terminal()
        with terminal.capture() as captured:
            screen.show_answer(terminal, result)
        assert ("\x1b[1;32m" in captured.get()) == coloured


@pytest.mark.slow
def test_json_and_help_do_not_load_the_terminal_library(animals):
    calls = (["--help"], ["diagnose", str(animals), "--json"])
    run_all = f"for each in {calls!r}: main(each, standalone_mode=False)"
    code = f"import sys; from calibrant.cli import main\n{run_all}\nprint('rich' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert '"verdict"' in found.stdout
    assert found.stdout.splitlines()[-1] == "False"


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly(animals):
    command = f"{sys.executable} -m calibrant diagnose {animals} --json | head -c 10"
    found = subprocess.run(["bash", "-c", command], capture_output=True, env=environment(), check=True)
    assert found.stderr == b""


def test_names_are_never_taken_as_markup(capsys):
    screen.show_table(screen.terminal(), Table("[red]t", ("[b]a", "n"), (("[i]x[/i]", 1.0),), "[u]note"))
    output = capsys.readouterr().out
    for text in ("[red]t", "[b]a", "[i]x[/i]", "[u]note"):
        assert text in output


def test_numbers_stand_to_the_right(capsys):
    rows = (("a", 0.5, "0.1 … 0.2", "1,000"), ("b", -12.25, "", "7"))
    screen.show_table(screen.terminal(), Table("t", ("name", "value", "interval", "rows"), rows))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "name   value   interval   rows",
        "──────────────────────────────",
        "a     0.5000  0.1 … 0.2  1,000",
        "b     -12.25                 7",
        "",
    ]


def test_the_diagram_shows_said_and_happened_in_their_places(capsys):
    labels, probs = [1] * 50 + [0] * 50, [0.5] * 100
    screen.show_reliability(screen.terminal(), cal.diagnose(labels, probs))
    line = capsys.readouterr().out.splitlines()[2]
    assert line.startswith("  0.500  ")
    assert line.count("●") == 1
    assert line.count("│") == 0  # behind the point: said equals happened


# Measures by name.


def test_measures_are_known_by_name_and_acronym(digits):
    shown = run("measure", digits / "test.csv", "ece", "smECE", "TACE").output
    assert all(title in shown for title in ("ECE", "smooth ECE", "TACE"))


def test_measured_json_is_what_python_measures(digits):
    found = json.loads(run("measure", digits / "test.csv", "sweep", "ks", "--json").output)
    said = files.read(digits / "test.csv")
    assert [each["value"] for each in found] == [cal.sweep_error(said).value, cal.ks_error(said).value]


def test_a_view_reaches_the_measures_that_take_one(digits):
    found = json.loads(run("measure", digits / "test.csv", "sweep", "--view", "classwise", "--json").output)
    assert found[0]["settings"]["view"] == "classwise"


def test_a_view_no_measure_takes_is_wrong_usage(digits):
    found = run("measure", digits / "test.csv", "SCE", "--view", "top", code=2)
    assert "static takes no --view: it is always classwise" in found.output


def test_an_unknown_measure_is_wrong_usage_and_lists_the_known(digits):
    found = run("measure", digits / "test.csv", "ECEE", code=2)
    assert "There is no measure 'ECEE'. There are: adaptive, binned," in found.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("test",), ("where",), ("answers",), ("trust", "--data-sets", 3), ("plan", "--error", 0.3, "--data-sets", 20)],
)
def test_answers_in_words_and_as_json(event_file, command):
    name, *options = command
    text = run(name, event_file, *options).stdout
    found = Record.from_json(run(name, event_file, *options, "--json").stdout)
    assert found.sentence().split()[0] in text
    assert all(table.title in text for table in found.tables())


def test_a_small_p_value_fails_on_request(event_file):
    result = run("test", event_file, "--draws", 99, "--fail-below", 0.05, code=1)
    assert result.stderr == "Failed: p ≤ 0.01 is at most 0.05.\n"


@pytest.mark.slow
def test_trust_goes_into_the_report(event_file, tmp_path):
    run("trust", event_file, "--data-sets", 3, "--report", tmp_path / "r.html")
    assert "Which estimator can be trusted?" in (tmp_path / "r.html").read_text(encoding="utf-8")
    run("trust", event_file, "--data-sets", 3, "--report", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["answers"][0]["kind"] == "Trust"


def test_a_monitor_goes_on_where_it_stopped(event_file, tmp_path):
    state = tmp_path / "watch.json"
    once = json.loads(run("monitor", event_file, "--state", state, "--json").stdout)
    assert list(once["summary"]) == ["question", "answer", "calibrated", "numbers", "cautions"]
    assert once["summary"]["numbers"] == {name: once[name] for name in ("n", "e_value", "p_value")}
    assert once["summary"]["calibrated"] is (False if once["alarm"] else None)
    assert "alarm" in once["summary"]["answer"]
    twice = json.loads(run("monitor", event_file, "--state", state, "--json").stdout)
    assert twice["n"] == 2 * once["n"]
    result = run("monitor", event_file, "--state", state, "--fail-on-alarm", code=1)
    assert result.stderr == "Failed: an alarm at 0.05.\n"
    assert "too" in result.stdout


@pytest.fixture
def event_file(tmp_path, rng):
    p = rng.random(300)
    happened = (rng.random(300) < 0.3 + 0.4 * p).astype(int)
    path = tmp_path / "event.csv"
    path.write_text("label,prob\n" + "".join(f"{y},{q}\n" for y, q in zip(happened, p, strict=True)), encoding="utf-8")
    return path


@pytest.mark.slow
def test_audit_names_the_segments_that_are_wrong(tmp_path, rng):
    n = 2000
    p, sex, age = rng.random(n), rng.choice(["f", "m"], n), rng.integers(18, 90, n)
    happened = rng.random(n) < np.where(sex == "f", p**2, p)
    path = tmp_path / "people.csv"
    lines = [f"{int(y)},{q},{s},{a}" for y, q, s, a in zip(happened, p, sex, age, strict=True)]
    path.write_text("\n".join(["label,prob,sex,age", *lines]), encoding="utf-8")
    shown = run("audit", path, "--by", "sex,age", "--fail-if-wrong", code=1).output
    assert re.search(r"sex = f +[\d,]+ +0\.\d+ .* too high", shown)
    found = json.loads(run("audit", path, "--by", "sex", "--json").output)
    assert {s["name"] for s in found["segments"]} == {"all rows", "sex = f", "sex = m"}
    assert "age" in run("audit", path).output  # all columns that the predictions do not use
    assert "'height' is not among" in run("audit", path, "--by", "height", code=3).output


@pytest.fixture
def asked_often(tmp_path):
    rng = np.random.default_rng(0)
    groups, q = np.repeat(np.arange(40), 25), rng.random(40).round(1)
    right = (rng.random(40) < q)[groups]
    path = tmp_path / "answers.csv"
    lines = [f"{int(y)},{p},{g}" for y, p, g in zip(right, q[groups], groups, strict=True)]
    path.write_text("\n".join(["label,prob,question", *lines]), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", [("test", "--draws", 99), ("where",)])
def test_rows_of_a_group_may_share_a_fate(asked_often, command):
    told = " ".join(run(*command, asked_often, "--groups", "question").stdout.split())
    assert "pass --cluster same or --cluster any if they depend on each other, --cluster no if they do not" in told
    assert "taken as independent" not in run(*command, asked_often, "--groups", "question", "--cluster", "no").stdout
    found, alone = (
        Record.from_json(run(*command, asked_often, "--groups", "question", "--cluster", how, "--json").stdout)
        for how in ("same", "no")
    )
    assert found.p_value > 0.05 > alone.p_value


@pytest.mark.parametrize(
    "command", [("test", "--cluster", "same"), ("where", "--cluster", "any"), ("audit", "--cluster", "any")]
)
def test_clusters_need_a_column_of_groups(asked_often, command):
    shown = run(*command, asked_often, code=3).output
    assert "--cluster needs groups; the predictions have none. Name their column with --groups." in shown


def test_confidences_may_be_shares_of_samples(asked_often):
    assert "behind 10 samples" in run("answers", asked_often, "--samples", 10).stdout
    assert "samples" not in run("answers", asked_often).stdout


def test_a_monitor_tells_of_groups(asked_often):
    found = json.loads(run("monitor", asked_often, "--groups", "question", "--json").stdout)
    assert found["cautions"][0].startswith("rows of a group are taken as independent")


@pytest.mark.slow
def test_json_starts_with_a_summary(digits, in_json):
    from calibrant.results import json_schema

    data = json.loads(in_json.stdout)
    assert list(data)[:3] == ["schema", "kind", "summary"]
    assert data["summary"]["calibrated"] is False
    assert data["summary"]["answer"] == data["verdict"]
    assert data["summary"]["numbers"]["ece"] == data["estimates"][2]["value"]
    described = json_schema()
    assert set(data) <= {*described["properties"], *described["$defs"]["Diagnosis"]["properties"]}
    (measured,) = json.loads(run("measure", digits / "test.csv", "sweep", "--json").stdout)
    assert measured["summary"]["numbers"]["sweep_ece"] == measured["value"]


# Studies


def test_studies_are_listed_and_run():
    assert "niamey" in run("study", "--list").stdout
    assert "EMOS, uncertainty" in run("study", "niamey", "--quick").stdout
    assert "must be one of" in run("study", "nothing", code=2).stderr


def test_studies_need_a_checkout(monkeypatch, tmp_path):
    monkeypatch.setattr(cal, "__file__", str(tmp_path / "calibrant" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    assert "come with the source" in run("study", "--list", code=3).stderr
