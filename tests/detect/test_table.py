"""What every registered test says about itself."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from calibrant import InputError, detect
from calibrant.methods import methods
from calibrant.results import TestResult

TESTS = list(methods("test").values())


@pytest.mark.parametrize("test", [*TESTS, *methods("forecast test").values()], ids=lambda test: test.name)
def test_every_fact_is_filled_in(test):
    for fact in ("name", "title", "quantity", "ways"):
        assert getattr(test, fact), fact
    assert all(map(test.note, ("Cost", "Source")))
    assert getattr(detect, test.function.__name__) is test.function
    file = test.function.__module__.rpartition(".")[2]
    assert test.function.__name__ in (file, f"{file}_test", "is_calibrated")


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_truth_comes_first_and_every_way_answers(rng, test):
    assert set(test.views) <= {"canonical", "binary", "top", "class k", "classwise"}
    assert test.ways[0] == "exact"
    parameters = inspect.signature(test.function).parameters
    assert list(parameters)[:2] == ["labels", "probs"]
    p = rng.random(40)
    y = rng.random(40) < p
    for way in test.ways:
        options = {"method": way} if "method" in parameters else {}
        found = test.function(y, p, **options)
        assert isinstance(found, TestResult)
        assert 0 < found.p_value <= 1
        assert found.settings["method"] == way
        assert TestResult.from_json(found.to_json()) == found
        assert len(repr(found)) < 500


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_every_parameter_is_documented(test):
    documented = inspect.getdoc(test.function)
    for name in inspect.signature(test.function).parameters:
        assert name in documented, name


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_the_order_of_rows_does_not_matter(rng, test):
    p = rng.integers(0, 11, 60) / 10
    y = rng.random(60) < p
    order = rng.permutation(60)
    assert test.function(y[order], p[order], n_draws=49).p_value == test.function(y, p, n_draws=49).p_value


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_one_row_gives_a_p_value_or_a_reason(test):
    for label in (0, 1):
        if test.name == "skce":
            with pytest.raises(InputError, match="at least two rows"):
                test.function([label], [0.7], n_draws=19)
        else:
            assert 0 < test.function([label], [0.7], n_draws=19).p_value <= 1


def test_importing_the_package_loads_no_test():
    code = "import sys, calibrant.detect; print([m for m in sys.modules if m.startswith('calibrant.detect.') or m in ('numba', 'scipy')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
