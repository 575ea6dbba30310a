"""The folder that the site is built from: pages of docs/, the studies and benchmarks as they were recorded, and the API reference.

A link between files of the repository stays a link between pages, wherever the file comes to lie; what is no page is linked where
the code is kept.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shutil
from pathlib import Path

from docs_api import pages
from docs_links import LINK, ROOT, prose

KINDS = (".md", ".svg", ".png", ".json", ".css")
FOLDERS = {"docs": "", "studies/results": "studies/results/", "benchmarks/results": "benchmarks/results/"}
FILES = {
    "studies/RESULTS.md": "studies/index.md",
    "benchmarks/RESULTS.md": "benchmarks/index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "SECURITY.md": "project/security.md",
}


def placed() -> dict[str, str]:
    """Every file of the repository that is part of the site, with its place there."""
    found = dict(FILES)
    for folder, place in FOLDERS.items():
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in KINDS and not file.name.startswith(".") and ".rows." not in file.name:
                found[file.relative_to(ROOT).as_posix()] = place + file.relative_to(ROOT / folder).as_posix()
    return found


def relinked(text: str, file: str, places: dict[str, str], home: str) -> str:
    """A page with its links as they must be at its place in the site."""

    def moved(found: re.Match[str]) -> str:
        label, target, anchor = found[1], found[2], f"#{found[3]}" if found[3] else ""
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        if path not in places:
            return f"{label}({home}/blob/main/{path}{anchor})"
        return f"{label}({posixpath.relpath(places[path], posixpath.dirname(places[file]) or '.')}{anchor})"

    return "".join(LINK.sub(moved, part) if outside else part for outside, part in prose(text))


NAME = re.compile(r"(?<![\[`\w])`(?:cal\.)?([A-Za-z_]\w*(?:\.\w+)?)(\([^`]*\))?`(?![\]`])")


def linked(text: str, place: str, anchors: dict[str, str]) -> str:
    """A page with every public name in backticks linked to the reference, once per paragraph, list item or row."""
    up = posixpath.relpath("api", posixpath.dirname(place) or ".")
    lines, code = [], False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        seen: set[str] = set()

        def to_reference(found: re.Match[str], seen: set[str] = seen) -> str:
            name = found[1]
            if name not in anchors or name in seen:
                return found[0]
            seen.add(name)
            return f"[{found[0]}]({up}/{anchors[name]})"

        skip = code or line.startswith(("#", "    ", ">"))
        lines.append(line if skip else NAME.sub(to_reference, line))
    return "\n".join(lines)


def names_of(made: dict[str, str]) -> dict[str, str]:
    """Where each public name is documented: `ece` as `estimators.md#ece`, `maps.Platt` too."""
    found: dict[str, str] = {}
    for page, text in made.items():
        if page not in ("index.md", "commands.md"):
            for anchor in re.findall(r'(?:^## .* \{ #|<span id=")([\w.]+)', text, re.MULTILINE):
                found.setdefault(anchor, f"{page}#{anchor}")
                found.setdefault(anchor.rpartition(".")[2], f"{page}#{anchor}")
    return found


def write(folder: Path, home: str) -> int:
    """Write the site's source, and say how many pages it has."""
    shutil.rmtree(folder, ignore_errors=True)
    places, made = placed(), pages()
    anchors = names_of(made)
    for file, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.endswith(".md"):
            text = (ROOT / file).read_text(encoding="utf-8")
            text = relinked(text, file, places, home).replace("```python\n>>>", "```pycon\n>>>")
            target.write_text(linked(text, place, anchors) if file.startswith("docs/") else text, encoding="utf-8")
        else:
            shutil.copyfile(ROOT / file, target)
    (folder / "api").mkdir()
    for name, text in made.items():
        (folder / "api" / name).write_text(text, encoding="utf-8")
    return sum(1 for _ in folder.rglob("*.md"))


def calls_of(source: str) -> dict[str, str]:
    """What draws each picture of the gallery, as it is written in the table there."""
    tree = ast.parse(source)
    table = next(
        node.value for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "PICTURES"
    )
    assert isinstance(table, ast.Dict)
    return {
        ast.literal_eval(key): ast.unparse(value.elts[1].body)
        for key, value in zip(table.keys, table.values, strict=True)
    }  # type: ignore


def draw_gallery(folder: Path) -> int:
    """Draw every picture into the site's source, show them on the page of the gallery, and say how many there are."""
    import make_gallery

    (folder / "pictures").mkdir()
    lines, calls = [], calls_of(Path(make_gallery.__file__).read_text(encoding="utf-8"))
    for name, (title, _) in make_gallery.PICTURES.items():
        make_gallery.drawn(name, "light", 7.0, folder / "pictures" / f"{name}.svg")
        lines += [f"## {title}", "", "```python", calls[name], "```", "", f"![{title}](pictures/{name}.svg)", ""]
    page = folder / "gallery.md"
    page.write_text("\n".join([page.read_text(encoding="utf-8"), *lines]), encoding="utf-8")
    return len(make_gallery.PICTURES)
