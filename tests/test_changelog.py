"""Notes are gathered into the changelog, again and again, and nothing is lost."""

import re
from pathlib import Path

import make_changelog

ROOT = Path(__file__).parent.parent
HEAD = "# Changelog\n\nWords.\n"


def test_notes_are_gathered_by_group():
    notes = [
        "group: New\n- one,\n  and more\n- two\n",
        "Plain text\nin two lines.\n\nAnother paragraph.\n",
        "group: New\n- three\n",
    ]
    made = make_changelog.gathered(HEAD, notes, "1.0.0")
    assert made == (
        "# Changelog\n\nWords.\n\n## 1.0.0\n\n### New\n\n- one, and more\n- two\n- three\n\n"
        "### Other changes\n\n- Plain text in two lines.\n- Another paragraph.\n"
    )


def test_later_notes_join_their_release_and_older_ones_stay():
    first = make_changelog.gathered(HEAD, ["group: New\n- one\n"], "1.0.0")
    again = make_changelog.gathered(first, ["group: Fixed\n- two\n", "group: New\n- one\n"], "1.0.0")
    assert again.endswith("## 1.0.0\n\n### New\n\n- one\n\n### Fixed\n\n- two\n")
    later = make_changelog.gathered(again, ["- three\n"], "1.1.0")
    assert re.findall(r"^## (.*)$", later, re.MULTILINE) == ["1.1.0", "1.0.0"]
    assert make_changelog.gathered(later, [], "1.1.0") == later


def test_the_changelog_has_the_version_and_the_citation_too():
    version = make_changelog.version()
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_recipe_asks_for_what_the_package_asks_for():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wanted = re.search(r"^dependencies = \[(.*)\]$", project, re.MULTILINE)[1]
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    lines = re.findall(r"^    - (\w+) (>=\S+)$", recipe.split("  run:")[1].split("\ntest:")[0], re.MULTILINE)
    assert [f'"{name}{bound}"' for name, bound in lines if name != "python"] == wanted.split(", ")
