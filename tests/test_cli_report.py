"""`--report` on every command that answers a question: written before anything is printed, with the command and the data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import calibrant as cal
from calibrant.cli import main
from calibrant.verbs.origin import fingerprint

COMMANDS = {
    "diagnose": (),
    "measure": ("ece", "sweep"),
    "clinical": (),
    "decompose": (),
    "test": ("--test", "spiegelhalter"),
    "where": (),
    "audit": ("--by", "site"),
    "answers": (),
    "trust": ("--data-sets", "2"),
    "plan": ("--error", "0.1", "--statistic", "binned"),
    "recalibrate": ("--method", "platt", "--json"),
    "monitor": (),
}
SLOW = ("trust",)
NOTHING_TO_SHOW = {"apply", "collect", "merge", "study", "demo", "simulate", "report", "compare", "serve", "examples"}
"""Commands that write files, or have the report as their output; `compare` takes two files and is tested with the others."""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("rows") / "rows.csv", np.random.default_rng(1)
    p = np.round(rng.uniform(0.1, 0.9, 200), 1)
    y, site = (rng.random(200) < p).astype(int), np.where(np.arange(200) % 2, "a", "b")
    lines = [f"{a},{b},{c}" for a, b, c in zip(y, p, site, strict=True)]
    path.write_text("\n".join(["label,prob,site", *lines]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.slow if each in SLOW else ()) for each in COMMANDS]
)
def test_the_report_is_written_and_says_where_it_comes_from(name, file, tmp_path):
    page = tmp_path / "r.html"
    arguments = [name, str(file), *COMMANDS[name], "--report", str(page)]
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 0, ran.output
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert f"calibrant {name}" in text
    assert "rows.csv" in text
    if name not in ("recalibrate", "answers"):
        assert fingerprint(cal.read(file)) in text


@pytest.mark.parametrize("name", ["where", "decompose"])
def test_json_holds_the_answer_and_its_origin(name, file, tmp_path):
    ran = CliRunner().invoke(main, [name, str(file), "--report", str(tmp_path / "r.json")])
    assert ran.exit_code == 0, ran.output
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert set(content) == {"schema", "origin", "answers"}
    assert content["origin"]["fingerprint"] == fingerprint(cal.read(file))


def test_it_is_there_before_anything_is_printed(file, tmp_path, monkeypatch):
    page, seen = tmp_path / "r.html", []
    monkeypatch.setattr("calibrant.cli.screen.show_answer", lambda *_, **__: seen.append(page.exists()))
    assert CliRunner().invoke(main, ["where", str(file), "--report", str(page)]).exit_code == 0
    assert seen == [True]


def test_every_command_has_it_or_nothing_to_show():
    have = {name for name, each in main.commands.items() if any("--report" in option.opts for option in each.params)}
    assert have >= set(COMMANDS)
    assert set(main.commands) - have <= NOTHING_TO_SHOW
