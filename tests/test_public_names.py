"""The public names, listed for the type checker and for lazy loading: the two lists must agree."""

import ast
from pathlib import Path

import calibrant as cal


def listed_for_the_type_checker():
    tree = ast.parse(Path(cal.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {(node.module.removeprefix("calibrant").lstrip("."), alias.name) for node in imports for alias in node.names}


def test_lazy_names_are_those_the_type_checker_sees():
    assert listed_for_the_type_checker() == {(home, name) for home, names in cal._HOMES.items() for name in names}


def test_every_public_name_can_be_loaded():
    assert all(getattr(cal, name) is not None for name in cal.__all__)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(cal, "no_such_name")


def test_listing_the_package_shows_the_public_names():
    assert set(cal.__all__) <= set(dir(cal))
