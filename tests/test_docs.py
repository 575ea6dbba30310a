"""The docs: what is made from the code is what the code makes, links lead somewhere, and every answer is two clicks away."""

import inspect
import re
from pathlib import Path

import pytest

import docs_api
import docs_links
import docs_site
import make_docs
from conftest import NEEDED, SHORT_PAGES

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
OTHERS = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "studies/RESULTS.md",
    "benchmarks/RESULTS.md",
)
MADE = make_docs.PAGES | make_docs.FIGURES


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.slow if p == "maps.md" else ()) for p in MADE],  # fits all maps
)
def test_a_made_page_is_up_to_date(page):
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == MADE[page]()


def test_the_readme_shows_the_scoreboard_as_the_study_wrote_it():
    assert (ROOT / "README.md").read_text(encoding="utf-8") == make_docs.readme()


def test_the_readme_is_one_screen_with_a_picture():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 75
    assert "docs/images/start.svg" in text
    assert "__round__" not in text


def test_pages_written_by_hand_show_what_they_say():
    by_hand = [page for page in PAGES if page.removeprefix("docs/") not in make_docs.PAGES]
    assert [page for page in by_hand if ">>> " not in (ROOT / page).read_text(encoding="utf-8")] == []


def test_no_example_rounds_by_a_dunder():
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    assert [page for page, text in texts.items() if "__round__" in text] == []


def test_pages_that_need_a_library_or_time_are_there():
    named = {*SHORT_PAGES, *NEEDED} - {"README.md"}
    assert named <= {Path(page).name for page in PAGES} | {page.removeprefix("docs/") for page in PAGES}


# --- navigation and links ------------------------------------------------------------------------------------------------


def in_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1]
    return re.findall(r"(\S+\.md)$", text, re.MULTILINE)


def test_every_page_is_in_the_navigation_once():
    wanted = {page.removeprefix("docs/") for page in PAGES}
    found = in_navigation()
    assert len(found) == len(set(found))
    assert wanted <= set(found)
    made = {f"api/{name}.md" for name in [*docs_api.GROUPS, "index", "commands"]}
    assert set(found) - wanted - made <= set(docs_site.placed().values())


@pytest.mark.parametrize("page", [*PAGES, *OTHERS])
def test_links_lead_somewhere(page):
    assert docs_links.dead(page) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](nowhere.md)", ["docs/nowhere.md"]),
        ("[a](index.md#nothing)", ["docs/index.md#nothing"]),
        ("[a](#no-such)", ["docs/x.md#no-such"]),
        ("[a](http://no.example)", ["http://no.example"]),
        ("[a](index.md#the-ideas) `[b](nowhere.md)` [c](https://example.org/x)", []),
    ],
)
def test_a_dead_link_is_found(tmp_path, monkeypatch, text, expected):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Start\n\n## The ideas\n", encoding="utf-8")
    (tmp_path / "docs" / "x.md").write_text(f"# X\n\n{text}\n", encoding="utf-8")
    monkeypatch.setattr(docs_links, "ROOT", tmp_path)
    for cached in (docs_links.links, docs_links.anchors):
        cached.cache_clear()
    assert docs_links.dead("docs/x.md") == expected
    for cached in (docs_links.links, docs_links.anchors):
        cached.cache_clear()


def test_every_answer_is_at_most_two_clicks_from_the_start_page():
    """Without the page of questions, whose own links would make it two anyway."""
    ways, asked = docs_links.clicks(), docs_links.questions()
    assert len(asked) > 30
    assert {question: ways.get(page) for question, page in asked.items() if len(ways.get(page, "none")) - 1 > 2} == {}
    assert (docs_links.QUESTIONS, "") in docs_links.links(docs_links.START)


# --- the site ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference():
    return docs_api.pages()


def test_the_reference_has_every_public_name_with_every_parameter(reference):
    from test_house import CALLABLES

    text = "\n".join(part for name, part in reference.items() if name not in ("commands.md", "index.md"))
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    sections = {
        anchor: part
        for part in parts
        for anchor in re.findall(r'(?:^## .*\{ #|<span id=")([\w.]+)', part, re.MULTILINE)
    }
    missing = []
    for name, thing in CALLABLES.items():
        part = sections.get(name.removeprefix("cal."), "")
        taken = [p for p in inspect.signature(thing).parameters if p not in ("self", "cls")]
        lacking = [p for p in taken if not re.search(rf"^- \*\*`\**{p}`\*\*", part, re.MULTILINE)]
        missing += [f"{name}: {p}" for p in lacking] if part else [name]
    assert len(CALLABLES) > 150
    assert missing == []


def test_the_reference_has_every_command(reference):
    from calibrant import cli

    assert {name for name in cli.main.commands if f"## `{name}`" not in reference["commands.md"]} == set()


def test_links_are_moved_with_their_page():
    places = {"docs/concepts/a.md": "concepts/a.md", "docs/b.md": "b.md", "studies/RESULTS.md": "studies/index.md"}
    text = "[b](../b.md#x), [s](../../studies/RESULTS.md), [code](../../src/calibrant/cli/__init__.py) `[no](../b.md)` [w](https://example.org)"
    made = docs_site.relinked(text, "docs/concepts/a.md", places, "https://example.org/home")
    home = "https://example.org/home/blob/main/src/calibrant/cli/__init__.py"
    assert made == f"[b](../b.md#x), [s](../studies/index.md), [code]({home}) `[no](../b.md)` [w](https://example.org)"


def test_public_names_are_linked_to_the_reference():
    made = docs_site.linked(
        "`cal.ece(y, p)` and `ece`, `nothing`\n\n# `ece`\n```\n`ece`\n```", "howto/x.md", {"ece": "estimators.md#ece"}
    )
    assert made == "[`cal.ece(y, p)`](../api/estimators.md#ece) and `ece`, `nothing`\n\n# `ece`\n```\n`ece`\n```"


def test_the_source_of_the_site(tmp_path):
    assert docs_site.write(tmp_path / "site", "https://example.org/home") > 100
    assert {"index.md", "images/start.svg", "api/verbs.md", "studies/results/arena.md", "extra.css"} <= {
        path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.*")
    }


def test_the_gallery_shows_what_draws_each_picture():
    source = (ROOT / "tools" / "make_gallery.py").read_text(encoding="utf-8")
    calls = docs_site.calls_of(source)
    assert len(calls) > 30
    assert calls["reliability"] == "digits().plot()"
