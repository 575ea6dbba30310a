"""What a worker answers: the numbers of the public verbs, and the command line's own error texts."""

import io
import json
import os
import re
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

import calibrant as cal
from calibrant.cli import main
from calibrant.cli.serving import read, worded
from calibrant.files.guards import SETTING
from calibrant.serve.answers import Answers, parts_of


@pytest.fixture(autouse=True)
def _own_limit(monkeypatch):
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setenv(SETTING, "1000000000")


@pytest.mark.slow
def test_the_diagnosis_is_that_of_the_verb(ask, binary_csv):
    found = ask(binary_csv)
    predictions = cal.read(ask.folder / "data.csv")
    expected = cal.diagnose(predictions, name="mine.csv")
    assert found["sentence"] == expected.verdict
    assert found["colour"] == "bad"
    assert found["rows"] == 300
    assert found["curves"][0]["y"] == expected.curve.y.tolist()
    assert [each["title"] for each in found["tables"]] == [each.title for each in expected.tables()]
    assert found["source"] == "Labels from 'label', probabilities from 'prob'"
    json.dumps(found, allow_nan=False)


@pytest.mark.slow
def test_the_report_is_that_of_the_command(ask, binary_csv, tmp_path):
    assert ask(binary_csv, "report")["files"] == ["report.html"]
    written = (ask.folder / "report.html").read_text(encoding="utf-8")
    source = ask.folder / "data.csv"
    CliRunner().invoke(
        main, ["diagnose", str(source), "--report", str(tmp_path / "other.html")], catch_exceptions=False
    )
    other = (
        (tmp_path / "other.html")
        .read_text(encoding="utf-8")
        .replace(str(source), "mine.csv")
        .replace("data.csv", "mine.csv")
    )
    assert lines_of(written) == lines_of(other)


def lines_of(page):
    """The text of a report without what differs from run to run: the command, the files and the time."""
    text = re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.DOTALL)
    words = [line.strip() for line in re.sub(r"<[^>]+>", "\n", text).splitlines() if line.strip()]
    return [line for line in words if not re.search(r"calibrant (serve|diagnose|0)|UTC|pytest|mine\.csv: ", line)]


@pytest.mark.slow
def test_views_and_classes(ask, classes_csv):
    found = ask(classes_csv)
    assert found["classes"] == ["cat", "dog", "<b>cow</b>"]
    predictions = cal.read(ask.folder / "data.csv")
    one = ask(classes_csv, view="class <b>cow</b>")
    assert one["sentence"] == cal.diagnose(predictions, view="class <b>cow</b>").verdict
    assert "classwise" not in [each["name"] for each in one["estimators"]]
    every = ask(classes_csv, view="classwise")
    assert sorted(each["name"] for each in every["curves"]) == ["<b>cow</b>", "cat", "dog"]
    assert "adaptive" in [each["name"] for each in every["estimators"]]


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "drawn"), [("sweep", True), ("fitted", True), ("smooth", False)])
def test_an_estimator_is_measured_and_its_curve_drawn(ask, binary_csv, estimator, drawn):
    found = ask(binary_csv, "measure", estimator=estimator)
    value = cal.diagnose(cal.read(ask.folder / "data.csv"), measures=[estimator]).estimates[-1].value
    assert float(found["tables"][0]["rows"][0][1]) == pytest.approx(value, abs=5e-5)
    assert bool(found["curves"]) is drawn


@pytest.mark.slow
def test_repairs_are_judged_on_rows_that_no_fit_has_seen(ask, binary_csv):
    found = ask(binary_csv, "compare", methods=["platt", "isotonic"], parts=3)
    assert "Fitted on 200 rows and judged on 100 others" in found["held_out"]
    predictions = cal.read(ask.folder / "data.csv")
    fitted = cal.load_map(ask.folder / "platt.json")
    assert fitted.fit.n == 200
    whole = cal.compare(predictions, {"platt": fitted})["platt"].difference.value
    (platt,) = [each for each in found["repairs"] if each["name"] == "platt"]
    assert platt["change"] != pytest.approx(whole)
    assert platt["low"] < platt["change"] < platt["high"]
    assert found["best"] == found["repairs"][0]["name"]


def test_no_row_is_in_both_parts():
    rng = np.random.default_rng(0)
    p, groups = rng.random(100), np.repeat(np.arange(20), 5)
    fitting, judging = parts_of(cal.Predictions(rng.random(100) < p, p, groups=groups), 5)
    assert fitting.n == 80
    assert not set(fitting.groups) & set(judging.groups)
    assert sorted([*fitting.probs, *judging.probs]) == sorted(p)


@pytest.mark.slow
def test_maps_can_be_used_in_all_their_forms(ask, classes_csv):
    found = ask(classes_csv, "compare", methods=["temperature", "prior_shift", "beta"], parts=2)
    assert [sorted(each["files"])[:2] for each in found["repairs"]]
    fitted = cal.load_map(ask.folder / "temperature.json")
    code: dict = {}
    exec((ask.folder / "temperature.py").read_text(encoding="utf-8"), code)
    probs = np.array([[0.2, 0.3, 0.5]])
    np.testing.assert_array_equal(code["recalibrate"](probs), fitted.apply(probs))
    assert "comparison.html" in found["files"]
    assert set(found["files"]) >= {name for each in found["repairs"] for name in each["files"]}


@pytest.mark.slow
def test_onnx_or_the_reason_why_there_is_none(ask, binary_csv):
    (found,) = ask(binary_csv, "compare", methods=["platt"], parts=2)["repairs"]
    try:
        import onnx
    except ImportError:
        assert "pip install 'calibrant[onnx]'" in found["no_onnx"]
        assert "platt.onnx" not in found["files"]
    else:
        assert found["no_onnx"] == ""
        onnx.load(ask.folder / "platt.onnx")


@pytest.mark.slow
def test_a_repair_that_cannot_be_fitted_does_not_take_the_others_along(ask, classes_csv):
    only = "\n".join(
        classes_csv.splitlines()[:1] + [line for line in classes_csv.splitlines() if line.startswith("cat")]
    )
    found = ask(only, "compare", methods=["identity", "unpenalised_matrix"], parts=2)
    assert {each["name"] for each in found["repairs"]} | set(found["refused"]) == {"identity", "unpenalised_matrix"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"methods": []},
        {"methods": "platt"},
        {"methods": ["../x"]},
        {"methods": None},
        {"parts": 1},
        {"parts": "2"},
        {"parts": [2]},
        {"methods": [{}]},
    ],
)
def test_wrong_comparisons_are_refused(ask, binary_csv, wrong):
    assert "must be" in ask(binary_csv, "compare", **{"methods": ["platt"], "parts": 2, **wrong})["error"]


def test_forecasts_are_diagnosed_and_have_no_repairs_here(ask):
    rng = np.random.default_rng(1)
    content = "y,mu,sd\n" + "".join(f"{rng.normal():.4f},0,1\n" for _ in range(60))
    options = {"label": "y", "mean": "mu", "std": "sd"}
    found = ask(content, options=options)
    assert found["rows"] == 60
    assert "maps" not in found
    assert "forecasts" in ask(content, "compare", options=options, methods=["platt"], parts=2)["error"]


def zipped(**members):
    """An archive whose members are these bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def bomb():
    """Ten megabytes that unpack to ten gigabytes, by their header."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1_250_000_000,)})
    return zipped(label=header.getvalue() + bytes(1 << 20), prob=npy(np.full(4, 0.5)))


class Trap:
    def __reduce__(self):
        return (exec, ("raise SystemExit('a pickle was run')",))


HOSTILE = {
    "bomb.npz": bomb(),
    "pickle.npz": zipped(label=npy(np.array([Trap(), Trap()]), allow_pickle=True), prob=npy(np.full(2, 0.5))),
    "broken.parquet": b"PAR1" + bytes(range(256)) * 20 + b"\x00\x01\x00\x00PAR1",
    "broken.arrow": b"ARROW1\x00\x00" + b"\xff" * 500,
    "no_zip.npz": b"PK\x03\x04" + b"\xff" * 300,
    "deep.jsonl": b"[" * 100_000,
    "empty.csv": b"",
    "nul.csv": b"label,prob\n1,0.5\x00\n",
    "no_rows.csv": b"label,prob\n",
    "<img src=x onerror=alert(1)>.csv": b"<script>alert(1)</script>,b\n1,2\n",
    "strange.csv": "label,prob\n1,0.5\n\u202e0,no number\n".encode(),
    "swapped.csv": b"label,prob\n0.5,1\n",
    "semicolons.csv": b"label;prob\n1;0,5\n",
    "text.parquet": b"label,prob\n1,0.5\n",
    "bad.csv.gz": b"\x1f\x8b" + b"\xff" * 100,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_file_gives_the_error_of_the_command_line(ask, name, tmp_path):
    ending = next(e for e in (".csv.gz", ".csv", ".parquet", ".arrow", ".npz", ".jsonl") if name.endswith(e))
    found = ask(HOSTILE[name], name=name, ending=ending)
    path = tmp_path / f"data{ending}"
    printed = CliRunner().invoke(main, ["diagnose", str(path)])
    assert printed.exit_code == 3
    assert f"Error: {found['error']}" == printed.stderr.rstrip("\n").replace(str(path), name)
    assert str(tmp_path) not in json.dumps(found)


def test_an_archive_may_unpack_to_a_few_times_an_upload_unless_the_environment_says_otherwise(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "data.npz", label=np.zeros(100_000), prob=np.full(100_000, 0.5))
    question = {"action": "diagnose", "path": str(tmp_path / "data.npz"), "folder": str(tmp_path), "name": "a.npz"}
    monkeypatch.delenv(SETTING)
    assert "at most 0.001 GB may be used" in Answers(read, worded, 1_000_000)(question)["error"]
    assert os.environ[SETTING] == "1000000"


def test_columns_are_offered_where_the_names_tell_nothing(ask):
    found = ask("<i>a</i>,b\n1,0.5\n")
    assert found["columns"] == ["<i>a</i>", "b"]
    assert "--probs NAME" in found["error"]
    assert ask("a,b\n1,0.5\n0,0.25\n", options={"label": "a", "probs": "b"})["rows"] == 2
    assert ask("a;b\n1;0,5\n0;0,25\n", options={"label": "a", "probs": "b", "sep": ";", "decimal": ","})["rows"] == 2


def test_a_file_is_read_once_for_the_same_options(binary_csv, tmp_path):
    times = []

    def counted(path, options):
        times.append(options)
        return read(path, options)

    answers = Answers(counted, worded, 10**9)
    path = tmp_path / "data.csv"
    path.write_text(binary_csv)
    question = {"action": "measure", "path": str(path), "folder": str(tmp_path), "name": "a", "estimator": "ece"}
    for options in ({}, {}, {"label": "label"}, {}):
        answers({**question, "options": options})
    assert times == [{}, {"label": "label"}, {}]


def test_what_no_user_can_have_caused_is_raised(tmp_path):
    def broken(path, options):
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        Answers(broken, worded, 1)({"action": "diagnose", "path": "a", "folder": "b", "name": "c"})
