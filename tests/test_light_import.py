"""Importing calibrant is cheap, its names are documented, and it leaves the process as it found it."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant.results import Record

HEAVY = ("numba", "scipy", "pandas", "polars", "matplotlib", "torch", "pyarrow", "rich", "click", "sklearn")
SMALL_JOB = "calibrant.ece([0, 1], [0.2, 0.7]); calibrant.brier_score([0, 1] * 20_000, [0.6, 0.3] * 20_000)"


def loaded_after(code):
    """Which heavy libraries a fresh process has loaded."""
    script = f"import sys, json, calibrant; {code}; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "code", ["pass", "calibrant.Predictions; calibrant.ece", SMALL_JOB], ids=["import", "names", "small job"]
)
def test_heavy_libraries_are_not_loaded(code):
    assert loaded_after(code) == []


def test_few_rows_of_a_file_are_diagnosed_without_pandas_and_without_a_compiler(tmp_path):
    rows = [f"{'yes' if i % 3 else 'no'},{i / 1000:.4f}" for i in range(1, 1000)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["label,prob_yes", *rows]) + "\n")
    given = [str(path), "--classes", "no,yes", "--quiet"]
    command = f"from calibrant.cli import main; main(['diagnose', *{given!r}], standalone_mode=False)"
    assert not {"pandas", "numba", "matplotlib"} & set(loaded_after(command))


def test_numbers_are_read_from_a_file_without_the_functions_of_arrow(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,prob\n0,0.2\n1,0.7\n")
    script = f"import sys; from calibrant import files; files.read({str(path)!r}); assert 'pyarrow.compute' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_one_family_of_maps_is_loaded_without_the_others():
    script = "import sys, calibrant.maps.temperature; assert 'calibrant.maps.every' not in sys.modules; "
    asked = "import calibrant.maps as maps; assert 'calibrant.maps.every' not in sys.modules; maps.Temperature; assert maps.auto.Auto is maps.Auto"
    subprocess.run([sys.executable, "-c", script + asked], check=True, timeout=60)
    with pytest.raises(AttributeError, match=r"module 'calibrant.maps' has no attribute 'Unknown'"):
        cal.maps.Unknown  # noqa: B018
    assert {"Temperature", "recipe_of", "temperature"} <= set(dir(cal.maps))


def test_star_import_gives_the_public_names():
    script = "from calibrant import *; import calibrant; assert set(calibrant.__all__) <= set(dir())"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_public_names_are_listed_once_and_none_is_private():
    assert len(set(cal.__all__)) == len(cal.__all__)
    assert not [name for name in cal.__all__ if name.startswith("_")]
    assert set(cal.__all__) <= set(dir(cal))


PUBLIC = [name for name in cal.__all__ if callable(getattr(cal, name))]


def test_every_public_callable_shows_an_example():
    for name in PUBLIC:
        thing = getattr(cal, name)
        text = inspect.getdoc(thing) or ""
        assert len(text) > 10, name
        result = isinstance(thing, type) and issubclass(thing, Record | Exception)
        assert result or inspect.isabstract(thing) or ">>>" in text, name


def test_every_public_signature_is_typed():
    for name in (name for name in PUBLIC if not isinstance(getattr(cal, name), type)):
        for parameter in inspect.signature(getattr(cal, name)).parameters.values():
            assert parameter.annotation is not parameter.empty, (name, parameter.name)


def state():
    return np.geterr(), list(warnings.filters), np.get_printoptions()


@pytest.mark.slow
def test_public_calls_leave_the_process_as_it_was(tmp_path):
    import scipy.optimize  # parts of SciPy add filters of their own when they are first imported
    import scipy.sparse
    import scipy.special  # noqa: F401

    before = state()
    valid, test = cal.example()
    fitted = cal.recalibrate(valid, "temperature")
    fitted.save(tmp_path / "map.json")
    cal.load_map(tmp_path / "map.json").apply(test)
    cal.compare(test, fitted, score="log")
    cal.diagnose(test)
    cal.log_score([0, 1], [0.0, 0.0])
    for compat in ("guo", "torchmetrics", "netcal", "sklearn"):
        cal.ece(test, compat=compat)
    with pytest.raises(cal.InputError, match="finite"):
        cal.ece([0], [float("nan")])
    assert state() == before


def test_the_global_generator_is_not_touched():
    before = np.random.get_state()  # noqa: NPY002
    cal.diagnose(cal.example()[1])
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_errors_are_a_tree():
    assert issubclass(cal.InputError, cal.CalibrantError)
    assert issubclass(cal.InputError, ValueError)
    assert issubclass(cal.FileError, OSError)
    assert issubclass(cal.MapError, ValueError)
    assert issubclass(cal.MissingExtra, ImportError)
