"""The command line for forecasts of a real number."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import calibrant as cal
from calibrant.cli import main
from calibrant.files import read_forecasts

COLUMNS = ["--label", "price", "--mean", "mu", "--variance", "var"]


@pytest.fixture
def files(tmp_path, rng):
    for name, n in (("valid", 300), ("test", 300)):
        mean, variance = rng.normal(10, 3, n), rng.gamma(2.0, 1.0, n)
        labels = rng.normal(mean, np.sqrt(2 * variance + 0.5))
        table = np.stack([labels, mean, variance, np.sqrt(variance)], axis=1)
        np.savetxt(tmp_path / f"{name}.csv", table, delimiter=",", header="price,mu,var,sd", comments="", fmt="%.17g")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, [str(each) for each in arguments])


def test_diagnose(files):
    found = run("diagnose", files / "test.csv", *COLUMNS, "--report", files / "r.html")
    assert found.exit_code == 0, found.output
    assert "Not calibrated: too sure." in " ".join(found.output.split())
    assert "Labels from 'price', mean from 'mu', variance from 'var'" in found.output
    assert "PIT histogram" in (files / "r.html").read_text(encoding="utf-8")


def test_json_is_the_diagnosis(files):
    found = run("diagnose", files / "test.csv", *COLUMNS, "--json")
    forecasts, _ = read_forecasts(files / "test.csv", label="price", mean="mu", variance="var")
    assert json.loads(found.stdout) == json.loads(cal.diagnose(forecasts, name="test.csv").to_json())


def test_a_bound_can_fail(files):
    assert run("diagnose", files / "test.csv", *COLUMNS, "--fail-above", "0.01").exit_code == 1
    assert run("diagnose", files / "test.csv", *COLUMNS, "--fail-above", "0.9").exit_code == 0


def test_recalibrate_compare_and_apply_agree(files):
    assert run("recalibrate", files / "valid.csv", *COLUMNS, "-o", files / "m.json").exit_code == 0
    first = run("compare", files / "test.csv", files / "m.json", *COLUMNS, "--json", "--report", files / "r.html")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout[: first.stdout.rindex("}") + 1])["verdict"] == "better"
    assert "Did the repair help?" in (files / "r.html").read_text(encoding="utf-8")
    done = run(
        "apply", files / "m.json", files / "test.csv", "-o", files / "b.csv", "--mean", "mu", "--variance", "var"
    )
    assert done.exit_code == 0, done.output
    second = run("compare", files / "test.csv", files / "b.csv", *COLUMNS, "--json")
    a, b = (json.loads(each.stdout[: each.stdout.rindex("}") + 1]) for each in (first, second))
    assert a["difference"]["value"] == pytest.approx(b["difference"]["value"], abs=1e-9)  # through decimal text


def test_standard_deviations_come_and_go(files):
    assert run("recalibrate", files / "valid.csv", *COLUMNS, "-o", files / "m.json").exit_code == 0
    done = run("apply", files / "m.json", files / "test.csv", "-o", files / "b.csv", "--mean", "mu", "--std", "sd")
    assert done.exit_code == 0, done.output
    fitted = cal.load_map(files / "m.json")
    before, _ = read_forecasts(files / "test.csv", label="price", mean="mu", std="sd")
    after, columns = read_forecasts(files / "b.csv", label="price", mean="mu", std="sd")
    np.testing.assert_allclose(after.variance, fitted.apply(before).variance, rtol=1e-12)
    assert str(columns) == "labels from 'price', mean from 'mu', std from 'sd'"


def test_columns_are_found_by_their_names(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("y,mu,sigma,weight\n1.5,1,2,1\n0.5,0,1,3\n")
    forecasts, columns = read_forecasts(path)
    assert forecasts.variance.tolist() == [4, 1]
    assert forecasts.weights.tolist() == [1, 3]
    assert columns.squared is False


REFUSED = {
    "both": (["--mean", "mu", "--variance", "var", "--std", "sd"], 3, "--variance and std cannot both be given"),
    "probs": (["--mean", "mu", "--probs", "var"], 2, "--probs is for probabilities of classes"),
    "unknown": (["--label", "price", "--mean", "nope"], 3, "--mean must name a column of"),
    "no label": (["--mean", "mu", "--variance", "var"], 3, "has no column that is named for the labels"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_wrong_columns_are_refused(files, case):
    found = run("diagnose", files / "test.csv", *case[0])
    assert found.exit_code == case[1], found.output
    assert case[2] in found.output


@pytest.mark.parametrize(("header", "what"), [("y,var", "the mean"), ("y,mean", "the variance")])
def test_missing_columns_are_told(tmp_path, header, what):
    path = tmp_path / "p.csv"
    path.write_text(f"{header}\n1,2\n")
    with pytest.raises(cal.FileError, match=f"has no column that is named for {what}"):
        read_forecasts(path)


def test_a_bad_value_is_told_in_words_of_the_file(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("y,mu,var\n1.5,1,2\n0.5,0,0\n")
    found = run("diagnose", path, "--mean", "mu")
    assert found.exit_code == 3
    assert "column 'var' must be positive; row 1 (the first is 0) is 0.0" in found.output


def test_maps_of_the_other_kind_are_refused(files, tmp_path):
    cal.recalibrate(cal.example()[0]).save(tmp_path / "classes.json")
    found = run("compare", files / "test.csv", tmp_path / "classes.json", *COLUMNS)
    assert found.exit_code == 2
    assert "is a map of probabilities, not of forecasts" in found.output
    forecasts, _ = read_forecasts(files / "valid.csv", label="price", mean="mu", variance="var")
    cal.recalibrate(forecasts, "quantile_recalibration").save(tmp_path / "bent.json")
    found = run("apply", tmp_path / "bent.json", files / "test.csv", "-o", tmp_path / "o.csv", "--mean", "mu")
    assert found.exit_code == 3
    assert "must change variances to be applied to a file; it is quantile_recalibration" in found.output
