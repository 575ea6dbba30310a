"""Build wheel and sdist, look at what is in them, install them into clean environments of every Python found, and try them.

Run: python tools/release_check.py [--python PATH ...]     (`make release-check` does; it needs the package `build`)
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
WANTED = (
    "calibrant/py.typed",
    "calibrant/__init__.pyi",
    "calibrant/names.txt",
    "calibrant/data/digits.npz",
    "calibrant/report/style.css",
)
"""Files that are no modules and that the package needs."""
UNWANTED = ("tests/", "studies/", "benchmarks/", "docs/", "tools/", "__pycache__")

SMOKE = """
import json, pathlib, subprocess, sys, tempfile
import calibrant as cal
assert cal.__version__ == sys.argv[1], cal.__version__
valid, test = cal.example()
assert cal.diagnose(test).calibrated is False
folder = pathlib.Path(tempfile.mkdtemp())
fitted = cal.recalibrate(valid, method="temperature")
fitted.save(folder / "map.json")
assert cal.load_map(folder / "map.json") == fitted
assert cal.compare(test, fitted).verdict == "better"
program = pathlib.Path(sys.executable).with_name("calibrant")
subprocess.run([program, "demo", "--output", folder / "report.html"], check=True, stdout=subprocess.DEVNULL)
assert (folder / "report.html").stat().st_size > 10_000
said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
assert sys.argv[1] in said, said
print("imported, diagnosed, recalibrated, saved, loaded and reported")
"""


def run(*command: object, **more: object) -> str:
    done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def pythons() -> list[Path]:
    """One interpreter for each supported version: on the PATH, or among pyenv's."""
    root, found = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions", []
    for version in VERSIONS:
        places = [shutil.which(f"python{version}"), *sorted(root.glob(f"{version}.*/bin/python"))]
        for place in filter(None, places):
            said = subprocess.run(
                [place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                capture_output=True,
                text=True,
                check=False,
            )
            if said.stdout.strip() == version:
                found.append(Path(place))
                break
    return found


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist, built from a clean copy of what is under version control."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def contents(wheel: Path, sdist: Path, version: str) -> list[str]:
    """What is wrong with the two files."""
    inside = zipfile.ZipFile(wheel).namelist()
    with tarfile.open(sdist) as packed:
        source = [name.split("/", 1)[-1] for name in packed.getnames()]
    wrong = [f"the wheel lacks {name}" for name in WANTED if name not in inside]
    wrong += [
        f"the sdist has {name}"
        for name in source
        if name.startswith((".venv", "build/", "dist/")) or "__pycache__" in name
    ]
    wrong += [f"the wheel has {name}" for name in inside if name.startswith(UNWANTED) or "__pycache__" in name]
    wrong += [] if any(name.endswith("licenses/LICENSE") for name in inside) else ["the wheel lacks the licence"]
    wrong += [
        f"the sdist lacks {name}"
        for name in ("LICENSE", "README.md", "pyproject.toml", "src/calibrant/py.typed")
        if name not in source
    ]
    wrong += (
        []
        if version in wheel.name and version in sdist.name
        else [f"{wheel.name} and {sdist.name} are not of version {version}"]
    )
    return wrong


def tried(python: Path, package: Path, version: str) -> str:
    """Install into a new environment, away from the checkout, and try it."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", Path(folder) / "env")
        inside = Path(folder) / "env" / "bin" / "python"
        run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return run(inside, "-c", SMOKE, version, cwd=folder, env=environment).strip()


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--python", type=Path, nargs="*", help="interpreters to try; by default all that are found")
    chosen = given.parse_args().python or pythons()
    version = next(
        line.split('"')[1]
        for line in (ROOT / "src/calibrant/__init__.py").read_text().splitlines()
        if line.startswith("__version__")
    )
    with tempfile.TemporaryDirectory() as folder:
        wheel, sdist = built(Path(folder))
        if wrong := contents(wheel, sdist, version):
            raise SystemExit("\n".join(wrong))
        print(
            f"{wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) and {sdist.name} ({sdist.stat().st_size / 1e6:.1f} MB): contents as they should be"
        )
        for k, python in enumerate(chosen):
            for package in (wheel, sdist) if k == 0 else (wheel,):
                print(f"{python}: {package.name}: {tried(python, package, version)}", flush=True)
    missing = [each for each in VERSIONS if not any(each in str(python) for python in chosen)]
    print(
        "not found here, so not tried: Python " + ", ".join(missing)
        if missing
        else "all supported versions of Python tried"
    )


if __name__ == "__main__":
    main()
