"""The lowest versions that pyproject.toml declares, as a constraints file for pip.

python tools/lowest.py > lowest.txt
PIP_CONSTRAINT=lowest.txt make test
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def declared(project: dict[str, Any], extra: str) -> Iterator[str]:
    """The requirements of an extra, those of the extras that it names included."""
    for requirement in project["optional-dependencies"][extra]:
        named = re.fullmatch(rf"{project['name']}\[(.+)\]", requirement)
        if named:
            for other in named[1].split(","):
                yield from declared(project, other.strip())
        else:
            yield requirement


def lowest(text: str) -> list[str]:
    """`name==version` for every `name>=version` that the package and its tests require."""
    project = tomllib.loads(text)["project"]
    required = [*project["dependencies"], *declared(project, "test")]
    return [requirement.replace(">=", "==") for requirement in required]


if __name__ == "__main__":
    print("\n".join(lowest(PYPROJECT.read_text(encoding="utf-8"))))
