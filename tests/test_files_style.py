"""How files write their values: separators, decimal commas, per cent, missing values, names that mean several things."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import calibrant as cal
from calibrant.cli import main
from calibrant.files import choose, read, read_forecasts, read_predicted, read_with_columns, write


def text(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(cal.CalibrantError) as caught:
        read(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


def run(*arguments: object, code: int = 0, given: str | bytes | None = None) -> str:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, [str(a) for a in arguments], input=given)
    assert result.exit_code == code, result.output
    return str(result.output)


# Names


@pytest.mark.parametrize(
    ("names", "label", "predicted"),
    [
        (["died", "risk"], "died", "risk"),
        (["Event", "predicted_risk"], "Event", "predicted_risk"),
        (["outcome", "Risk"], "outcome", "Risk"),
        (["y_true", "y_pred_proba"], "y_true", "y_pred_proba"),
        (["y_test", "y_score"], "y_test", "y_score"),
        (["label", "score"], "label", "score"),
        (["label", "event", "score", "p"], "label", "p"),
        (["outcome", "died", "risk", "prob"], "outcome", "prob"),
        (["label", "score", "confidence"], "label", "confidence"),
        (["label", "risk", "logit"], "label", "logit"),
    ],
)
def test_less_clear_names_are_used_where_no_clear_one_is(names, label, predicted):
    found = choose(names, "file")
    assert (found.label, found.predicted) == (label, (predicted,))


@pytest.mark.parametrize(
    ("names", "options"),
    [(["died", "event", "p"], "label: 'died', 'event'"), (["y", "risk", "score"], "probs: 'risk', 'score'")],
)
def test_several_less_clear_names_are_refused(names, options):
    with pytest.raises(cal.FileError, match=f"several columns for {options}"):
        choose(names, "file")


# Separators and decimal commas


def test_semicolons_and_decimal_commas_are_read(tmp_path):
    path = text(tmp_path / "p.csv", "label;prob;note", "1;0,75;a,b", "0;0,5;c")
    found = read(path, sep=";", decimal=",")
    assert found.probs.tolist() == [0.75, 0.5]
    assert found.labels.tolist() == [1, 0]


def test_tabs_may_be_named_and_quoted_decimal_commas_are_read(tmp_path):
    assert read(text(tmp_path / "p.csv", "label\tprob", "1\t0.25"), sep="tab").probs.tolist() == [0.25]
    assert read(text(tmp_path / "q.csv", "label,prob", '1,"0,25"'), decimal=",").probs.tolist() == [0.25]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            ["label;prob", "1;0.5"],
            {},
            "cannot read 'p.csv': its first line has no ',' but 1 ';'. Pass sep=';'.",
        ),
        (
            ["", "label;prob;x", "1;0,5;2"],
            {},
            "cannot read 'p.csv': its first line has no ',' but 2 ';'. Pass sep=';' and decimal=','.",
        ),
        (["label\tp", "1\t0.5"], {}, "cannot read 'p.csv': its first line has no ',' but 1 'tab'. Pass sep='tab'."),
        (["label,p", "1,0.5"], {"sep": ";"}, "cannot read 'p.csv': its first line has no ';' but 1 ','. Pass sep=','."),
        (
            ["label;prob", "1;0.5", "1;0,73"],
            {"sep": ";"},
            "p.csv: column 'prob' must hold numbers; row 1 (the first is 0) is '0,73'. "
            "Pass decimal=',' if this is a decimal comma.",
        ),
        (["label,p", "1,0.5"], {"sep": "ab"}, "sep must be one character, such as ';', or 'tab'; it is 'ab'."),
        (["label,p", "1,0.5"], {"sep": ""}, "sep must be one character, such as ';', or 'tab'; it is ''."),
        (["label,p", "1,0.5"], {"decimal": ";"}, "decimal must be one of '.', ','; it is ';'."),
        (["label,p", "1,0.5"], {"missing": "no"}, "missing must be one of 'error', 'drop'; it is 'no'."),
    ],
)
def test_another_style_is_named_with_the_option_that_reads_it(tmp_path, lines, options, message):
    assert refusal(text(tmp_path / "p.csv", *lines), **options) == message


@pytest.mark.parametrize("option", [{"sep": ";"}, {"decimal": ","}])
def test_styles_of_text_tables_are_for_text_tables(tmp_path, option):
    path = text(tmp_path / "p.jsonl", '{"label": 1, "p": 0.5}')
    assert "is for text tables only; the file is JSON lines. Leave it out." in refusal(path, **option)


def test_the_command_line_has_the_same_styles_and_hints(tmp_path):
    path = text(tmp_path / "p.csv", "label;prob", "1;0,75", "0;0,5", "1;0,625")
    assert "Pass --sep ';' and --decimal ,." in run("measure", path, "ece", code=3)
    found = json.loads(run("measure", path, "ece", "--sep", ";", "--decimal", ",", "--json"))
    assert found[0]["value"] == pytest.approx(float(cal.ece([1, 0, 1], [0.75, 0.5, 0.625])))


def test_forecasts_are_read_in_the_same_styles(tmp_path):
    path = text(tmp_path / "p.csv", "y;mu;sigma", "1,5;1;0,5", ";1;0,5", "0,5;0;0,25")
    found, columns = read_forecasts(path, sep=";", decimal=",", missing="drop")
    assert found.labels.tolist() == [1.5, 0.5]
    assert columns.dropped == 1
    options = ("--sep=;", "--decimal=,", "--missing=drop", "--mean=mu", "--std=sigma")
    assert "1 row with missing values dropped" in run("diagnose", path, *options)


def test_lakes_are_read_in_the_same_styles(tmp_path):
    text(tmp_path / "a.csv", "label;p", "1;75%", "0;50,5%", "1;")
    text(tmp_path / "b.csv", "label;p", ";25%", "0;25%")
    options: dict[str, Any] = {"sep": ";", "decimal": ",", "percent": True, "progress": False}
    with pytest.warns(UserWarning, match="scan: 2 rows with missing values dropped"):
        state = cal.scan(tmp_path, missing="drop", exact_bins=2, **options)
    assert float(cal.ece(state)) == pytest.approx(float(cal.ece([1, 0, 0], [0.75, 0.505, 0.25])))
    with pytest.raises(cal.InputError, match=r"row 2 \(the first is 0\) is empty. Fill them, or pass missing='drop'"):
        cal.scan(tmp_path / "a.csv", **options)


def test_recalibrated_files_keep_separator_decimal_comma_and_per_cent(tmp_path):
    path = text(tmp_path / "p.csv", "id;prob;note", "017;75,5;a,b", '018;50;"c"')
    found = read_predicted(path, sep=";", decimal=",", percent=True)
    assert found.values.tolist() == [0.755, 0.5]
    write(tmp_path / "q.csv", found, np.array([0.625, 0.25]))
    assert (tmp_path / "q.csv").read_text() == 'id;prob;note\n017;62,5;a,b\n018;25;"c"\n'


# Missing values


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "npz"])
def test_rows_with_missing_values_are_dropped_and_counted(tmp_path, ending):
    columns = {"label": [1.0, None, 0.0, 1.0], "p": [0.5, 0.25, None, 0.75]}
    path = tmp_path / f"p.{ending}"
    if ending == "csv":
        text(path, "label,p", "1,0.5", ",0.25", "0,", "1,0.75")
    elif ending == "jsonl":
        text(path, *(json.dumps({"label": y, "p": p}) for y, p in zip(*columns.values(), strict=True)))
    elif ending == "parquet":
        parquet.write_table(pa.table(columns), path)
    else:
        np.savez(path, **{name: np.array(each, dtype=float) for name, each in columns.items()})
    with pytest.raises(cal.InputError):
        read(path)
    with pytest.warns(UserWarning, match="2 rows with missing values dropped") as caught:
        found = read(path, missing="drop")
    assert Path(caught[0].filename) == Path(__file__)
    assert (found.labels.tolist(), found.probs.tolist()) == ([1, 1], [0.5, 0.75])
    assert str(read_with_columns(path, missing="drop")[1]).endswith("; 2 rows with missing values dropped")


def test_lists_and_texts_with_missing_values_are_dropped(tmp_path):
    rows = [("a", [0.5, 0.5]), ("b", [None, 0.5]), ("", [0.5, 0.5]), ("b", None), ("b", [0.25, 0.75])]
    path = text(tmp_path / "p.jsonl", *(json.dumps({"label": y, "probs": p}) for y, p in rows))
    found, columns = read_with_columns(path, missing="drop", classes="a,b")
    assert found.probs.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert columns.dropped == 3


def test_nothing_is_warned_of_where_nothing_is_missing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(text(tmp_path / "p.csv", "label,p,x", "1,0.5,", "0,0.25,"), missing="drop").n == 2


def test_rows_at_fault_are_those_of_the_file_where_others_were_dropped(tmp_path):
    path = text(tmp_path / "p.csv", "label,p", ",0.5", "1,0.5", ",0.5", "0,-7")
    assert "row 3 (the first is 0) is -7.0" in refusal(path, missing="drop")
    with pytest.raises(cal.InputError, match=r"row 3 \(the first is 0\) is -7.0"):
        cal.scan(path, missing="drop", progress=False)


def test_a_file_of_missing_values_is_refused(tmp_path):
    path = text(tmp_path / "p.csv", "label,p", ",0.5", "1,")
    assert refusal(path, missing="drop") == "cannot read 'p.csv': all 2 rows have missing values."
    with pytest.raises(cal.FileError, match="all its rows have missing values"):
        cal.scan(path, missing="drop", progress=False)


def test_commands_say_how_many_rows_were_dropped(tmp_path):
    path = text(tmp_path / "p.csv", "label,p,x", "1,0.5,1", ",0.5,2", "0,0.25,3")
    assert "Fill them, or pass --missing drop." in run("measure", path, "ece", code=3)
    assert "1 row with missing values dropped" in run("measure", path, "ece", "--missing", "drop")
    assert json.loads(run("where", path, "--missing", "drop", "--json"))["input"]["columns"]["dropped_rows"] == 1
    assert "1 row with missing values dropped" in run("audit", path, "--missing", "drop", "--min-size", 1)


def test_rows_that_are_paired_are_not_dropped(tmp_path):
    one = text(tmp_path / "one.csv", "label,p", "1,0.5", "0,", "0,0.25")
    two = text(tmp_path / "two.csv", "label,p", "1,0.5", "0,0.25", "0,")
    output = " ".join(run("compare", one, two, "--missing", "drop", code=3).split())
    assert "cannot be 'drop' for two files whose rows are paired" in output


# Per cent


@pytest.mark.parametrize("lines", [["1,95%", "0,12.5 %"], ["1,95", "0,12.5"]])
def test_per_cent_is_read_where_it_is_asked_for(tmp_path, lines):
    path = text(tmp_path / "p.csv", "label,confidence", *lines)
    assert read(path, percent=True).probs.tolist() == [0.95, 0.125]
    assert "ass percent=True" in refusal(path)
    assert "ass --percent" in run("answers", path, code=3)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,95%", "0,0.5"], "must all be written with % if any is; row 1 (the first is 0) is '0.5'."),
        (["1,95", "0,101"], "must lie in [0, 100] if they are in per cent; row 1 (the first is 0) is 101.0."),
        (["1,95%", "0,high%"], "must hold numbers; row 1 (the first is 0) is 'high%'."),
    ],
)
def test_what_is_not_per_cent_is_refused(tmp_path, lines, message):
    assert refusal(text(tmp_path / "p.csv", "label,p", *lines), percent=True) == f"p.csv: column 'p' {message}"


def test_logits_are_not_in_per_cent(tmp_path):
    assert "percent is for probabilities; the file has logits" in refusal(
        text(tmp_path / "p.csv", "label,logit", "1,2"), percent=True
    )
