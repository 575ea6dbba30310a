"""An environment for each package of peers.toml, made once; one that cannot be made is recorded with the reason."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HOME = ROOT / "build" / "peers"
OWN = "calibrant"


@dataclass(frozen=True)
class Environment:
    """What became of one package."""

    name: str
    error: str = ""
    """why it could not be installed or imported"""
    version: str = ""
    megabytes: float = 0.0
    """of all files below site-packages, pip excluded, before anything was imported"""
    packages: dict[str, str] = field(default_factory=dict)
    install: list[str] = field(default_factory=list)
    """the requirements it was made for"""

    @property
    def python(self) -> Path:
        return HOME / self.name / "bin" / "python"


def peers() -> dict[str, dict[str, Any]]:
    """The packages by name, as peers.toml says."""
    return tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))


def wanted(name: str) -> tuple[list[str], str]:
    """Requirements and module; calibrant itself is installed from the checkout."""
    if name == OWN:
        return ["--editable", str(ROOT)], OWN
    found = peers()[name]
    return list(found["install"]), found["module"]


def environment(name: str, again: bool = True) -> Environment:
    """The environment of a package, made if it is not there; a failure is tried again, unless it is to be taken as recorded."""
    record, (install, module) = HOME / name / "environment.json", wanted(name)
    if record.exists():
        found = Environment(**json.loads(record.read_text(encoding="utf-8")))
        if (not found.error and found.install == install) or not again:
            return found
    print(f"-- installing {name}", flush=True)
    start = time.perf_counter()
    made = make(name, install, module)
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    print(
        f"   {made.error or f'{made.version}, {made.megabytes:.0f} MB'} ({time.perf_counter() - start:.0f} s)",
        flush=True,
    )
    return made


def make(name: str, install: Sequence[str], module: str) -> Environment:
    """Make the environment, install, measure, import."""
    found = Environment(name, install=list(install))
    steps = (
        ("venv", [sys.executable, "-m", "venv", "--clear", "--without-pip", str(HOME / name)]),
        ("pip", [*pip(found.python), "install", "--quiet", "--no-compile", "numpy", *install]),
    )
    for step, command in steps:
        if reason := failure(command):
            return Environment(name, f"{step}: {reason}", install=list(install))
    packages, megabytes = installed(found.python), size(HOME / name)
    version = packages.get(name.lower().replace("_", "-"), "")
    error = failure([str(found.python), "-c", f"import {module}"])
    return Environment(name, f"import: {error}" if error else "", version, megabytes, packages, list(install))


def pip(python: Path) -> list[str]:
    """This environment's pip, working for another one: making an environment takes half the time without its own."""
    return [sys.executable, "-m", "pip", "--python", str(python)]


def failure(command: Sequence[str]) -> str:
    """The last line of a failed command's standard error that names an error; empty where it succeeded."""
    around = {
        key: each for key, each in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }  # what is compiled is kept
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    if done.returncode == 0:
        return ""
    said = [line.strip() for line in done.stderr.splitlines() if line.strip() and not line.startswith("[notice]")]
    for pattern in (r"\w+Error: .*", r"ERROR: .*", r"error: .*", r".+"):
        if found := [match[0] for line in said if (match := re.search(pattern, line))]:
            return found[-1][:300]
    return f"exit status {done.returncode}"


def installed(python: Path) -> dict[str, str]:
    """Versions of everything in an environment but pip."""
    command = [*pip(python), "list", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {each["name"].lower().replace("_", "-"): each["version"] for each in json.loads(done.stdout)}
    return {name: version for name, version in found.items() if name not in ("pip", "setuptools")}


def size(home: Path) -> float:
    """Megabytes below site-packages, pip and setuptools excluded."""
    files = (file for file in home.glob("lib/python*/site-packages/**/*") if file.is_file() and not file.is_symlink())
    skipped = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    site = len(home.parts) + 3
    return sum(f.stat().st_size for f in files if not f.parts[site].startswith(skipped)) / 1e6


def all_environments(names: Sequence[str], again: bool = True) -> dict[str, Environment]:
    """calibrant's and those of the named packages, in that order."""
    return {name: environment(name, again) for name in (OWN, *names)}


if __name__ == "__main__":
    all_environments(sys.argv[1:] or list(peers()))
