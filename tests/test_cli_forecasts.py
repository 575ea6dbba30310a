"""The command line for forecasts of a real number."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

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


@pytest.mark.slow
def test_diagnose(files):
    found = run("diagnose", files / "test.csv", *COLUMNS, "--report", files / "r.html")
    assert found.exit_code == 0, found.output
    assert "Not calibrated: too sure." in " ".join(found.output.split())
    assert "Labels from 'price', mean from 'mu', variance from 'var'" in found.output
    assert "PIT histogram" in (files / "r.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_json_is_the_diagnosis(files):
    found = run("diagnose", files / "test.csv", *COLUMNS, "--json")
    forecasts, _ = read_forecasts(files / "test.csv", label="price", mean="mu", variance="var")
    data = json.loads(found.stdout)
    assert data.pop("input")["columns"]["labels"] == "price"
    assert data == json.loads(cal.diagnose(forecasts, name="test.csv").to_json())


@pytest.mark.slow
def test_a_bound_can_fail(files):
    assert run("diagnose", files / "test.csv", *COLUMNS, "--fail-above", "0.01").exit_code == 1
    assert run("diagnose", files / "test.csv", *COLUMNS, "--fail-above", "0.9").exit_code == 0


@pytest.mark.slow
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
    assert read_forecasts(path)[0].weights is None
    forecasts, columns = read_forecasts(path, weights="weight")
    assert forecasts.variance.tolist() == [4, 1]
    assert forecasts.weights == pytest.approx([0.4, 1.2])
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
    cal.recalibrate(cal.example()[0], "temperature").save(tmp_path / "classes.json")
    found = run("compare", files / "test.csv", tmp_path / "classes.json", *COLUMNS)
    assert found.exit_code == 2
    assert "is a map of probabilities, not of forecasts" in found.output
    forecasts, _ = read_forecasts(files / "valid.csv", label="price", mean="mu", variance="var")
    cal.recalibrate(forecasts, "quantile_recalibration").save(tmp_path / "bent.json")
    found = run("apply", tmp_path / "bent.json", files / "test.csv", "-o", tmp_path / "o.csv", "--mean", "mu")
    assert found.exit_code == 3
    assert "must change variances to be applied to a file; it is quantile_recalibration" in found.output


# Quantiles and samples

NAMES = {"quantiles": "'q05' (0.05), 'q50' (0.5), 'q95' (0.95)", "samples": "'member_1' … 'member_20' (20 columns)"}
KINDS = {"quantiles": ["--quantiles", "q*"], "samples": ["--samples", "member_*"]}


@pytest.fixture
def many(tmp_path, rng):
    """Forecasts that are too sure, and wider ones, as quantiles and as samples beside each other."""
    n = 200
    mean = rng.normal(10, 3, n)
    labels = rng.normal(mean, 1)
    for name, scale in (("old", 0.4), ("new", 1.0)):
        columns = {"price": labels}
        columns |= {f"q{level}": mean + scale * z for level, z in (("95", 1.645), ("05", -1.645), ("50", 0.0))}
        columns |= {f"member_{k}": rng.normal(mean, scale) for k in range(1, 21)}
        table = np.stack(list(columns.values()), axis=1)
        header = ",".join(columns)
        np.savetxt(tmp_path / f"{name}.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
        parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_are_diagnosed(many, kind, ending):
    found = run("diagnose", many / f"old.{ending}", "--label", "price", *KINDS[kind], "--report", many / "r.html")
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    assert "Not calibrated" in said
    assert f"Labels from 'price', {kind} from {NAMES[kind]}" in said
    assert "PIT histogram" in (many / "r.html").read_text(encoding="utf-8")
    assert (
        run("diagnose", many / f"old.{ending}", "--label", "price", *KINDS[kind], "--fail-above", 0.01).exit_code == 1
    )


@pytest.mark.parametrize("kind", KINDS)
def test_json_of_other_kinds_is_the_diagnosis(many, kind):
    found = run("diagnose", many / "old.csv", "--label", "price", *KINDS[kind], "--json")
    table = np.genfromtxt(many / "old.csv", delimiter=",", names=True)
    if kind == "quantiles":
        values = np.stack([table[name] for name in ("q05", "q50", "q95")], axis=1)
        forecasts = cal.Predictions.from_quantiles(table["price"], [0.05, 0.5, 0.95], values)
    else:
        values = np.stack([table[f"member_{k}"] for k in range(1, 21)], axis=1)
        forecasts = cal.Predictions.from_samples(table["price"], values)
    data = json.loads(found.stdout)
    assert data.pop("input")["columns"]["labels"] == "price"
    assert data == json.loads(cal.diagnose(forecasts, name="old.csv").to_json())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(("kind", "score"), [("quantiles", "pinball"), ("samples", "crps")])
def test_other_kinds_are_compared(many, kind, score, ending):
    files = [many / f"old.{ending}", many / f"new.{ending}"]
    found = run("compare", *files, "--label", "price", *KINDS[kind], "--json", "--report", many / "r.html")
    assert found.exit_code == 0, found.output
    result = json.loads(found.stdout[: found.stdout.rindex("}") + 1])
    assert result["verdict"] == "better"
    assert result["difference"]["settings"]["score"] == score
    assert "Did the repair help?" in (many / "r.html").read_text(encoding="utf-8")
    back = run("compare", *reversed(files), "--label", "price", *KINDS[kind], "--fail-if-worse")
    assert back.exit_code == 1, back.output


def test_levels_can_be_given_on_the_command_line(many):
    (many / "p.csv").write_text((many / "old.csv").read_text().replace("q95,q05,q50", "high,low,middle", 1))
    given = "low=0.05,middle=0.5,high=0.95"
    found = run("diagnose", many / "p.csv", "--label", "price", "--quantiles", given)
    assert found.exit_code == 0, found.output
    said = "Labels from 'price', quantiles from 'low' (0.05), 'middle' (0.5), 'high' (0.95)"
    assert said in " ".join(found.output.split())


def test_quantiles_are_found_by_their_names_where_no_probabilities_are(many, tmp_path):
    found = run("diagnose", many / "old.csv", "--label", "price")
    assert found.exit_code == 0, found.output
    assert "quantiles from 'q05' (0.05), 'q50' (0.5), 'q95' (0.95)" in " ".join(found.output.split())
    assert run("compare", many / "old.csv", many / "new.csv", "--label", "price").exit_code == 0
    rows = "\n".join(["0,0.2,1,2", "1,0.8,1,2"] * 20)
    (tmp_path / "p.csv").write_text(f"label,prob,q05,q95\n{rows}\n")
    assert "Labels from 'label', probabilities from 'prob'" in run("diagnose", tmp_path / "p.csv").output
    (tmp_path / "p.csv").write_text(f"label,value,q1,q2\n{rows}\n")
    assert "no column that is named for probabilities" in run("diagnose", tmp_path / "p.csv").output


def test_files_of_two_kinds_are_not_compared(many, tmp_path):
    table = np.genfromtxt(many / "old.csv", delimiter=",", names=True)
    columns = np.stack([table["price"], table["q50"], np.ones(len(table))], axis=1)
    np.savetxt(tmp_path / "g.csv", columns, delimiter=",", header="price,mu,sd", comments="", fmt="%.17g")
    found = run("compare", many / "old.csv", tmp_path / "g.csv", "--label", "price")
    assert found.exit_code == 2
    assert "holds quantile forecasts and" in found.output
    assert "Gaussian ones. Name columns of one kind." in " ".join(found.output.split())


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_no_map_for_other_kinds(files, many, kind):
    told = f"--{kind} cannot be recalibrated; maps are for Gaussian forecasts. Say --mean NAME and --variance NAME, or widen"
    assert run("recalibrate", files / "valid.csv", *COLUMNS, "-o", many / "m.json").exit_code == 0
    columns = ["--label", "price", *KINDS[kind]]
    for arguments in (
        ["recalibrate", many / "old.csv", *columns, "-o", many / "n.json"],
        ["compare", many / "old.csv", many / "m.json", *columns],
        ["apply", many / "m.json", many / "old.csv", *KINDS[kind], "-o", many / "b.csv"],
    ):
        found = run(*arguments)
        assert found.exit_code == 3, found.output
        assert told in found.output
    assert not (many / "n.json").exists()
    assert not (many / "b.csv").exists()


OTHERS_REFUSED = {
    "two kinds": (
        ["--quantiles", "q*", "--samples", "m*"],
        3,
        "--quantiles and samples cannot both be given. Name the",
    ),
    "a mean": (["--mean", "q50", "--samples", "m*"], 3, "--samples and mean cannot both be given."),
    "probs": (["--samples", "m*", "--probs", "q50"], 2, "--probs is for probabilities of classes"),
    "level": (
        ["--quantiles", "q05=five"],
        3,
        "--quantiles must give each column a level between 0 and 1; 'q05' has 'fi",
    ),
    "no level": (["--quantiles", "price,q50"], 3, "--quantiles must name columns of"),
    "unclear": (["--quantiles", "member_*"], 3, "as in --quantiles member_1=LEVEL,member_2=LEVEL, or choose other"),
    "unknown": (["--samples", "sample_*"], 3, "--samples must name columns of"),
}


@pytest.mark.parametrize("case", OTHERS_REFUSED.values(), ids=OTHERS_REFUSED)
def test_wrong_columns_of_other_kinds_are_refused(many, case):
    found = run("diagnose", many / "old.csv", "--label", "price", *case[0])
    assert found.exit_code == case[1], found.output
    assert case[2] in found.output


def test_crossing_quantiles_are_told_in_words_of_the_file(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("y,q05,q95\n1.5,1,2\n0.5,3,2\n")
    found = run("diagnose", path)
    assert found.exit_code == 3
    assert "row 1 (the first is 0) has 3.0 in 'q05' and 2.0 in 'q95'. Sort the quantiles of each row" in found.output


def test_help_shows_the_options_where_they_are_of_use():
    for name in ("diagnose", "compare"):
        shown = run(name, "--help").output
        assert "--quantiles 'q*'" in shown
        assert "--samples 'member_*'" in shown
    for name in ("recalibrate", "apply"):
        assert "--quantiles" not in run(name, "--help").output
