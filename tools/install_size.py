"""Measure what an installation of calibrant weighs, package by package, and write the table of docs/install.md.

Run: python tools/install_size.py    (it installs the checkout into a new environment)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from docs_tables import filled, table

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "install.md"
FOR = {
    "llvmlite": "compiler, for Numba",
    "pyarrow": "files",
    "scipy": "distributions, optimisers",
    "numpy": "arrays",
    "numba": "fast passes over rows",
    "calibrant": "",
    "rich": "the terminal",
    "pygments": "for rich",
    "joblib": "simulations on several processes",
    "click": "the command line",
}
"""What each package is for; others are listed together."""

WEIGH = """
import json
from importlib.metadata import distributions
sizes = {}
for each in distributions():
    files = [each.locate_file(file) for file in each.files or ()]
    own = {path for path in files if path.is_file() and path.suffix != ".pyc"}
    sizes[each.name.lower()] = sum(path.stat().st_size for path in own)
print(json.dumps(sizes))
"""


def measured() -> dict[str, int]:
    """Bytes of every package in a new environment, without what pip needs for itself and without compiled bytecode."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ROOT], check=True)
        found = json.loads(subprocess.run([python, "-c", WEIGH], check=True, capture_output=True, text=True).stdout)
    return {name: size for name, size in found.items() if name not in ("pip", "setuptools")}


def page(sizes: dict[str, int]) -> str:
    """The page with the table between its marks."""
    named = sorted((name for name in FOR if name in sizes), key=lambda name: -sizes[name])
    rows = [[name, f"{sizes[name] / 1e6:.1f}", FOR[name]] for name in named]
    rest = sum(size for name, size in sizes.items() if name not in FOR)
    rows += [["others", f"{rest / 1e6:.1f}", ""], ["**all**", f"**{sum(sizes.values()) / 1e6:.0f}**", ""]]
    return filled(PAGE, {"sizes": table(("package", "MB", "for"), rows)})


if __name__ == "__main__":
    PAGE.write_text(page(measured()), encoding="utf-8")
    print(PAGE)
