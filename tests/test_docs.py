"""Pages made from the code are what the code makes."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def load_tool():
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["estimators.md", "differences.md", "maps.md", "fitting.md", "scores.md"])
def test_a_made_page_is_up_to_date(page):
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == load_tool().PAGES[page]()


def test_every_page_is_linked_from_the_readme_or_made():
    assert {p.name for p in (ROOT / "docs").glob("*.md")} == set(load_tool().PAGES)
