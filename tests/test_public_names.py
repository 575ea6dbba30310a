"""The public face: written by tools/make_names.py from the register and a short list, and loaded on first use."""

from importlib import util
from pathlib import Path

import pytest

import calibrant as cal

TOOL = Path(__file__).parent.parent / "tools" / "make_names.py"


@pytest.fixture(scope="module")
def tool():
    spec = util.spec_from_file_location("make_names", TOOL)
    made = util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("name", ["names.txt", "__init__.pyi", "regression.py"])
def test_the_files_are_what_the_tool_writes(tool, name):
    assert (tool.PACKAGE / name).read_text(encoding="utf-8") == tool.FILES[name](), "run: make names"


def test_a_name_that_is_defined_nowhere_is_an_error(tool):
    with pytest.raises(LookupError, match="verbs does not define no_such_verb"):
        tool.home("verbs", "no_such_verb")


def test_every_public_name_can_be_loaded():
    assert all(getattr(cal, name) is not None for name in cal.__all__)


def test_the_top_level_stays_small():
    assert len(cal.__all__) - len(cal.SUBMODULES) <= 80


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(cal, "no_such_name")
    assert not hasattr(cal.results, "no_such_name")


def test_listing_the_package_shows_the_public_names():
    assert set(cal.__all__) <= set(dir(cal))


def test_results_of_verbs_are_found_among_the_results():
    from calibrant.verbs.diagnose import Diagnosis

    assert cal.results.Diagnosis is Diagnosis
