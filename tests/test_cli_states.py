"""The command line on many files: patterns, folders, checkpoints, saved states."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import calibrant as cal
from calibrant.cli import data
from calibrant.cli.data import scan_lake
from test_cli import run


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "lake"
    folder.mkdir()
    for k in range(3):
        rng = np.random.default_rng(k)
        probs = rng.random(200).round(3)
        columns = {
            "label": (rng.random(200) < probs**2).astype(int),
            "prob": probs,
            "site": rng.choice(["a", "b"], 200),
        }
        parquet.write_table(pa.table(columns), folder / f"{k}.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("source", ["lake", "lake/*.parquet"])
def test_commands_take_folders_and_patterns(lake, source):
    path = lake.parent / source
    assert "600 rows" in run("diagnose", path).output
    rows = [parquet.read_table(each) for each in sorted(lake.iterdir())]
    labels, probs = (np.concatenate([each[name].to_numpy() for each in rows]) for name in ("label", "prob"))
    found = json.loads(run("measure", path, "ece", "--json").output)[0]
    assert found["value"] == pytest.approx(cal.ece(labels, probs).value, rel=1e-12)
    for command in (("test",), ("where",), ("decompose",), ("trust", "--data-sets", 5)):
        run(command[0], path, *command[1:])
    assert (
        "site = a" in run("audit", path, "--by", "site").output
        or "group = a" in run("audit", path, "--by", "site").output
    )


@pytest.mark.slow
def test_a_long_file_is_read_in_batches(lake, monkeypatch):
    whole = run("diagnose", lake / "0.parquet", "--json").output
    asked = []
    monkeypatch.setattr(data, "LONG_ROWS", 100)
    monkeypatch.setattr(
        data, "scan_lake", lambda *given, **options: asked.append(given) or scan_lake(*given, **options)
    )
    long = run("diagnose", lake / "0.parquet", "--json").output
    assert len(asked) == 1
    one, other = ([each["value"] for each in json.loads(text)["estimates"]] for text in (whole, long))
    assert one == pytest.approx(other, rel=1e-12)
    run("diagnose", lake / "0.parquet", "--groups", "site")  # a state would lose the groups
    assert len(asked) == 1


@pytest.mark.slow
def test_collect_resumes_and_merge_joins(lake, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.arrow"
    run("collect", lake / "[01].parquet", "-o", first)
    assert "600 rows in 3 parts" in run("collect", lake, "-o", first).stderr
    run("collect", lake / "2.parquet", "-o", second)
    assert "is in both" in run("merge", first, second, "-o", tmp_path / "all.json", code=3).stderr
    run("collect", lake / "[01].parquet", "-o", tmp_path / "two.json")
    run("merge", tmp_path / "two.json", second, "-o", tmp_path / "all.json")
    assert cal.State.load(tmp_path / "all.json").pooled("binary") == cal.State.load(first).pooled("binary")
    for state in (first, second):
        assert "rows" in run("diagnose", state).output


def test_a_checkpoint_is_kept_by_any_command(lake, tmp_path):
    saved = tmp_path / "saved.json"
    run("measure", lake, "ece", "--checkpoint", saved)
    assert cal.State.load(saved).n == 600
    again = json.loads(run("measure", lake, "ece", "--checkpoint", saved, "--json").output)[0]
    assert again["value"] == json.loads(run("measure", saved, "ece", "--json").output)[0]["value"]


def test_a_map_is_fitted_to_many_files_and_compared(lake, tmp_path):
    run("recalibrate", lake / "[01].parquet", "--method", "platt", "-o", tmp_path / "map.json")
    assert "The repair helped" in run("compare", lake / "*.parquet", tmp_path / "map.json").output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--weights", "prob"), "--weights cannot be used with a pattern, a folder or a checkpoint"),
        (("--soft",), "soft cannot be used with"),
        (("--label", "town"), "town"),
    ],
)
def test_what_a_state_cannot_hold_is_refused(lake, options, words):
    assert words in run("diagnose", lake, *options, code=3).stderr


def test_an_audit_of_many_files_needs_one_column(lake):
    assert "--by NAME" in run("audit", lake, code=2).stderr
    assert "--checkpoint cannot be used" in run("audit", lake, "--by", "site", "--checkpoint", "s.json", code=2).stderr
    assert "at least two" in run("merge", lake, "-o", "s.json", code=2).stderr
