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


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.slow if p == "maps.md" else ()) for p in load_tool().PAGES],  # fits all maps
)
def test_a_made_page_is_up_to_date(page):
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == load_tool().PAGES[page]()


def test_every_page_is_linked_from_the_readme():
    """Pages that are not made from the code are written by hand; their examples run as tests."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in (ROOT / "docs").glob("*.md") if f"docs/{p.name}" not in readme] == []


def test_pages_written_by_hand_show_what_they_say():
    by_hand = [p for p in (ROOT / "docs").glob("*.md") if p.name not in load_tool().PAGES]
    assert [p.name for p in by_hand if ">>> " not in p.read_text(encoding="utf-8")] == []


def test_the_readme_shows_the_scoreboard_as_the_study_wrote_it():
    assert (ROOT / "README.md").read_text(encoding="utf-8") == load_tool().readme()
