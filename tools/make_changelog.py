"""Gather the notes of changelog.d into CHANGELOG.md, under the version of the package, and remove them.

A note may begin with a line `group: NAME`; without one it belongs to "Other changes". Notes that come after a release was gathered join
its section, so this can be run again. Run: python tools/make_changelog.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHANGELOG, NOTES = ROOT / "CHANGELOG.md", ROOT / "changelog.d"
REST = "Other changes"


def version(root: Path = ROOT) -> str:
    text = (root / "src" / "calibrant" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found
    return found[1]


def items(text: str) -> list[str]:
    """The entries of a note or of a part of the changelog, each one paragraph."""
    found: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith("- ") or not found or not line.strip():
            found.append(line.removeprefix("- ").strip())
        else:
            found[-1] = f"{found[-1]} {line.strip()}".strip()
    return [each for each in found if each]


def note(text: str) -> tuple[str, list[str]]:
    """The group of a note, and its entries."""
    head = re.match(r"group: (.+)\n", text)
    return (head[1].strip(), items(text[head.end() :])) if head else (REST, items(text))


def parsed(section: str) -> dict[str, list[str]]:
    """Groups and entries of a section that was written before."""
    parts = re.split(r"^### (.+)$", section, flags=re.MULTILINE)[1:]
    return {name: items(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def gathered(before: str, notes: list[str], release: str) -> str:
    """The changelog with these notes in the section of this release."""
    head, *sections = re.split(r"^(?=## )", before, flags=re.MULTILINE)
    old = next((each for each in sections if each.startswith(f"## {release}\n")), "")
    intro = re.split(r"^### ", old, flags=re.MULTILINE)[0].partition("\n")[2].strip()
    groups = parsed(old)
    for text in notes:
        group, found = note(text)
        groups.setdefault(group, []).extend(each for each in found if each not in groups.get(group, []))
    rest = groups.pop(REST, [])
    groups |= {REST: rest} if rest else {}
    lines = [f"## {release}", "", *([intro, ""] if intro else [])]
    for group, entries in groups.items():
        lines += [f"### {group}", "", *(f"- {each}" for each in entries), ""]
    others = [each for each in sections if each is not old]
    return head.rstrip() + "\n\n" + "\n".join(lines).rstrip() + "\n" + "".join("\n" + each for each in others)


def main() -> None:
    files = sorted(file for file in NOTES.glob("*.md") if file.name != "README.md")
    texts = [file.read_text(encoding="utf-8") for file in files]
    CHANGELOG.write_text(gathered(CHANGELOG.read_text(encoding="utf-8"), texts, version()), encoding="utf-8")
    for file in files:
        file.unlink()
    print(f"{len(files)} notes in {CHANGELOG.name} under {version()}")


if __name__ == "__main__":
    main()
