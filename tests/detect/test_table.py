"""What every test says about itself."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from calibrant import InputError, detect
from calibrant.detect import TESTS
from calibrant.results import TestResult

ABOUTS = list(TESTS.values())


@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
def test_every_about_is_filled_in(about):
    for fact in ("name", "title", "sees", "cost", "source"):
        assert getattr(about, fact).strip(), fact
    assert set(about.views) <= {"canonical", "binary", "top", "class k", "classwise"}
    assert about.methods[0] == "exact"
    assert TESTS[about.name] is about
    assert getattr(detect, about.function.__name__) is about.function


@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
def test_truth_comes_first_and_every_method_answers(rng, about):
    first, second, *_ = inspect.signature(about.function).parameters.values()
    assert (first.name, second.name) == ("labels", "probs")
    p = rng.random(40)
    y = rng.random(40) < p
    for method in about.methods:
        options = {"method": method} if "method" in inspect.signature(about.function).parameters else {}
        found = about.function(y, p, **options)
        assert isinstance(found, TestResult)
        assert 0 < found.p_value <= 1
        assert found.settings["method"] == method or not options
        assert TestResult.from_json(found.to_json()) == found
        assert len(repr(found)) < 500


@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
def test_the_order_of_rows_does_not_matter(rng, about):
    p = rng.integers(0, 11, 60) / 10
    y = rng.random(60) < p
    order = rng.permutation(60)
    assert about.function(y[order], p[order], n_draws=49).p_value == about.function(y, p, n_draws=49).p_value


@pytest.mark.parametrize("about", ABOUTS, ids=lambda about: about.name)
def test_one_row_gives_a_p_value_or_a_reason(about):
    for label in (0, 1):
        if about.name == "skce":
            with pytest.raises(InputError, match="at least two rows"):
                about.function([label], [0.7], n_draws=19)
        else:
            assert 0 < about.function([label], [0.7], n_draws=19).p_value <= 1


def test_importing_the_folder_loads_no_test():
    code = "import sys, calibrant.detect; print([m for m in sys.modules if m.startswith('calibrant.detect.') or m in ('numba', 'scipy')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_folder_lists_what_it_has():
    assert {about.function.__name__ for about in ABOUTS} | {"TESTS", "test"} == set(detect.__all__)
    assert all(callable(getattr(detect, name)) or name == "TESTS" for name in detect.__all__)
