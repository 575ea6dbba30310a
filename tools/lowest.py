"""The lowest versions that pyproject.toml declares, as a constraints file for pip.

    python tools/lowest.py > lowest.txt && pip install --constraint lowest.txt '.[test]'
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = ("plot", "sklearn", "test")


def lowest(text: str) -> list[str]:
    """`name==version` for every `name>=version` of the package, its plots and its tests."""
    project = tomllib.loads(text)["project"]
    declared = project["dependencies"] + [r for extra in EXTRAS for r in project["optional-dependencies"][extra]]
    found = (re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement) for requirement in declared)
    return [f"{each[1]}=={each[2]}" for each in found if each]


if __name__ == "__main__":
    print("\n".join(lowest(PYPROJECT.read_text(encoding="utf-8"))))
