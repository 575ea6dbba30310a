"""A package from outside adds an estimator, a map, a score, a rule for bins and a test: tests/plugin, installed by hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import calibrant as cal
from calibrant import methods as register

PLUGIN = Path(__file__).parent / "plugin"


def installed(folder: Path, module: Path | None, name: str = "calibrant_example") -> dict[str, str]:
    """An environment whose path holds the module and the metadata an installer would write."""
    about = folder / "calibrant_example-0.1.0.dist-info"
    about.mkdir()
    about.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: calibrant-example\nVersion: 0.1.0\n")
    group = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [f"[{key}]\n" + "".join(f"{k} = {name}\n" for k in entries) for key, entries in group.items()]
    about.joinpath("entry_points.txt").write_text("".join(lines))
    if module is not None:
        shutil.copy(module, folder)
    package = Path(cal.__file__).parent.parent
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(package)])}


def run(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """Environment and working folder."""
    return installed(tmp_path_factory.mktemp("site"), PLUGIN / "calibrant_example.py"), tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def found(outside):
    """What a fresh process says when asked for all that the plugin adds."""
    environment, folder = outside
    return json.loads(run(environment, PLUGIN / "use.py", folder).stdout)


def test_all_five_are_registered(found):
    assert found["registered"] == dict.fromkeys(("estimator", "map", "score", "binning", "test"), True)


@pytest.mark.some(3)
@pytest.mark.parametrize("part", ["measure", "calibration_test", "diagnose"])
def test_a_foreign_estimator_is_used_by_its_name(found, part):
    assert found[part] == pytest.approx(found["by hand"], abs=1e-12)


def test_a_foreign_estimator_is_simulated(found):
    assert 0 < found["bias"] < 0.5


def test_foreign_methods_are_listed_in_the_help(found):
    for line in ("half_gap", "shrink", "mean_z"):
        assert f"\n  {line} " in found["help"]


def test_a_foreign_rule_for_bins_measures(found):
    assert found["binned_error"] == pytest.approx(found["by hand"], abs=0.2)
    assert 0 < found["binned_error, classwise"] < 1
    assert found["bins from settings"] == "Halves(cut=0.3)"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fixed", "moving"])
def test_a_foreign_rule_for_bins_is_simulated(found, kind):
    together, one_by_one = found[f"bias of {kind} bins"]
    assert together == pytest.approx(one_by_one, abs=1e-12)


@pytest.mark.slow
def test_a_foreign_map_loads_in_another_process(outside, found):
    environment, folder = outside
    factor, values = found["map"]
    script = "import calibrant, sys, json; m = calibrant.load_map(sys.argv[1]); print(json.dumps([m.factor, m.apply([0.2, 0.9]).tolist()]))"
    assert json.loads(run(environment, "-c", script, folder / "map.json").stdout) == [factor, values]
    assert 0.4 < factor < 0.8
    with pytest.raises(cal.MapError, match="unknown kind of record: 'ShrinkMap'"):
        cal.load_map(folder / "map.json")  # the plugin is not installed here


@pytest.mark.slow
def test_a_foreign_map_on_the_command_line(found):
    assert found["recalibrate"][0] == 0, found["recalibrate"][1]
    assert found["apply"][0] == 0, found["apply"][1]
    assert "400 rows recalibrated by shrink" in found["apply"][1]


def test_a_foreign_score_compares_and_decomposes(found):
    assert found["compare"] == "better"
    assert found["compare command"] == 0
    assert found["decompose"].startswith("Cubic score")
    assert "by shrink" in found["decompose"]


def test_a_foreign_test_runs_on_the_command_line(found):
    assert 0 <= found["test"] <= 1
    code, text = found["test, refused"]
    assert (code, "The test mean_z takes no --draws." in text) == (2, True)
    code, text = found["test, unknown"]
    assert (code, "'no_such_test' is not one of" in text, "'mean_z'" in text) == (2, True, True)


@pytest.mark.slow
def test_a_plugin_that_fails_is_named_and_left_out(tmp_path):
    environment = installed(tmp_path, None, "no_such_module")
    script = "import calibrant.methods as m; print(sorted(m.methods('score')))"
    done = run(environment, "-W", "always", "-c", script)
    assert "brier" in done.stdout
    assert "the plugin 'example' (no_such_module) cannot be loaded and is left out: ModuleNotFoundError" in done.stderr


# The register itself.


@pytest.fixture
def empty(monkeypatch):
    monkeypatch.setattr(register, "_REGISTER", {kind: {} for kind in register.PACKAGES})


def test_a_method_is_registered_under_its_own_name_unless_given(empty):
    @register.method("estimator", title="one")
    def first():
        """What it does.

        And more.
        """

    @register.method("score")
    class Second:
        name, title = "second", "a second score"

    known = register._REGISTER
    assert known["estimator"]["first"].function is first
    assert known["estimator"]["first"].summary == "What it does."
    assert (known["score"]["second"].function, known["score"]["second"].title) == (Second, "a second score")


def test_a_name_is_given_once(empty):
    register.method("map", name="same")(test_a_name_is_given_once)
    register.method("map", name="same")(test_a_name_is_given_once)  # the same module, imported again
    with pytest.raises(
        cal.InputError, match=r"name 'same' is already a registered map; by .*test_a_name_is_given_once"
    ):
        register.method("map", name="same")(run)


def test_an_unknown_kind_is_refused():
    with pytest.raises(cal.InputError, match=r"kind must be one of 'estimator', .*; it is 'thing'"):
        register.method("thing", name="x")


def test_names_and_acronyms_are_found_whatever_their_case():
    assert register.find("map", "Venn-Abers").function is cal.VennAbers
    assert register.find("map", "no such map") is None
    assert register.method_of(cal.VennAbers, "map").name == "venn_abers"
    assert register.method_of(print) is None
    assert list(register.methods("score")) == sorted(register.methods("score"))
