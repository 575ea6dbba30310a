"""Add one of each kind of thing to a copy of the package, and see that everything knows it.

For every kind: the places that have to be written by hand, the test and the note in changelog.d included, and a check in a new process.

Run: python tools/walkthrough.py    (CONTRIBUTING.md holds what it prints; tests/test_walkthrough.py runs it)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
DATA = "import numpy as np; r = np.random.default_rng(0); p = r.random(200); y = (r.random(200) < p) * 1\n"


@dataclass(frozen=True)
class Addition:
    """What is written to add one thing, and how one sees that it is there."""

    files: dict[str, str]
    """new files, by path"""
    check: str
    """Python that fails if anything does not know the new thing"""
    lines: dict[str, tuple[str, str]] = field(default_factory=dict)
    """changed files: the line after which another one goes, and that line"""

    @property
    def places(self) -> list[str]:
        """Everything that is written by hand, the test and the note included."""
        return [*self.files, *self.lines, "its test", "changelog.d/"]


ESTIMATOR = '''"""Median gap."""
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.results import Estimate

@method("estimator", name="new_gap", title="new gap", views=ONE_EVENT, state="pooled", also_called=("NG",))
def new_gap(labels, probs=None, *, view="auto", counts=None, weights=None):
    """How far off is the mean?"""
    event = admit(labels, probs, counts=counts, weights=weights).event(view)
    pooled = event.pooled
    return Estimate("new_gap", "new gap", abs(pooled.residual.sum()) / pooled.total, event.n)
'''
TEST = '''"""A test of the mean."""
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.results import TestResult

@method("test", name="new", title="new test", views=ONE_EVENT, ways=("exact",))
def new_test(labels, probs=None, *, view="auto"):
    """Is the mean right?"""
    event = admit(labels, probs).event(view)
    return TestResult("new", "new test", 0.0, 1.0, event.n, "nothing is tested")
'''
SCORE = '''"""A score."""
from calibrant.methods import method
from calibrant.score.score import Score

@method("score")
class NewScore(Score):
    """Cubic."""
    name, title, infimum = "new", "new score", 0.0

    def expected(self, probs, truth):
        return 1 + (2 * probs**3 - 3 * truth * probs**2).sum(axis=-1)
'''
MAP = '''"""A map."""
from dataclasses import dataclass
from calibrant.maps.identity import Identity
from calibrant.methods import method

@method("map", name="new_map")
@dataclass(frozen=True)
class NewMap(Identity):
    """Nothing new."""
'''
WORLD = '''"""A world."""
from calibrant.simulate.world import BetaWorld

def new_world():
    """Uniform predictions, all of them right."""
    return BetaWorld(1.0, 1.0)
'''
PLOT = '''"""A plot."""
def new_plot(answer, ax=None):
    """The sentence of an answer."""
    import matplotlib.pyplot as plt
    ax = plt.gca() if ax is None else ax
    ax.set_title(answer.sentence())
    return ax
'''
COMMAND = '''"""A command."""
import click
from calibrant.cli.group import main

@main.command(short_help="Something new.")
def novelty():
    """Something new."""
    click.echo("new")
'''

ADDITIONS = {
    "an estimator": Addition(
        {"src/calibrant/estimate/new_gap.py": ESTIMATOR},
        "from calibrant.methods import find\n"
        "assert cal.new_gap(y, p).n == cal.new_gap(cal.collect(y, p)).n == 200 and find('estimator', 'NG')\n"
        "assert cal.calibration_test(y, p, 'new_gap', n_draws=99).p_value > 0\n"
        "assert cal.diagnose(y, p, measures=['NG'])['new gap']\n"
        "assert cal.simulate.bias('new_gap', cal.simulate.UniformWorld(), 50, 10).mean > 0\n",
    ),
    "a test of calibration": Addition(
        {"src/calibrant/detect/new.py": TEST}, "assert cal.detect.new_test(y, p).p_value == 1\n"
    ),
    "a proper score": Addition(
        {"src/calibrant/score/new.py": SCORE},
        "assert cal.compare(cal.Predictions(y, p), cal.Predictions(y, p), score='new').difference.value == 0\n",
    ),
    "a recalibration map": Addition(
        {"src/calibrant/maps/new_map.py": MAP},
        "assert cal.recalibrate(cal.Predictions(y, p), method='new_map').apply(p) is not None\n",
    ),
    "a world": Addition(
        {"src/calibrant/simulate/new_world.py": WORLD},
        "assert cal.simulate.bias('ece', cal.simulate.new_world(), 50, 10).mean > 0\n",
        {
            "src/calibrant/simulate/__init__.py": (
                "from calibrant.simulate.families",
                "from calibrant.simulate.new_world import new_world as new_world",
            )
        },
    ),
    "a plot": Addition(
        {"src/calibrant/plot/new_plot.py": PLOT},
        "import matplotlib; matplotlib.use('agg')\nassert cal.plot.new_plot(cal.ece(y, p)).get_title()\n",
        {
            "src/calibrant/plot/__init__.py": (
                "from calibrant.plot.forecasts",
                "from calibrant.plot.new_plot import new_plot as new_plot",
            )
        },
    ),
    "a command": Addition(
        {"src/calibrant/cli/new_command.py": COMMAND},
        "from click.testing import CliRunner; from calibrant.cli import main\n"
        "assert CliRunner().invoke(main, ['novelty']).output == 'new\\n'\n",
        {"src/calibrant/cli/__init__.py": ("from calibrant.cli import", "from calibrant.cli import new_command")},
    ),
}


def run(code: str, folder: Path, *command: str) -> None:
    """Python in a new process, with the package of a folder."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    arguments = command or ("-c", f"import calibrant as cal\n{DATA}{code}")
    done = subprocess.run(
        [sys.executable, *arguments], check=False, env=environment, capture_output=True, text=True, cwd=folder
    )
    if done.returncode:
        raise SystemExit(f"{arguments[-1]}\n{done.stderr}")


def added(addition: Addition, folder: Path) -> list[str]:
    """Add a thing to the copy, derive what is derived, and check that everything knows it."""
    for path, text in addition.files.items():
        (folder / path).write_text(text, encoding="utf-8")
    for path, (after, line) in addition.lines.items():
        old = (folder / path).read_text(encoding="utf-8").splitlines()
        at = next(i for i, each in enumerate(old) if each.startswith(after))
        (folder / path).write_text("\n".join([*old[: at + 1], line, *old[at + 1 :], ""]), encoding="utf-8")
    run("", folder, "tools/make_names.py")
    run(addition.check, folder)
    return addition.places


def walk() -> dict[str, list[str]]:
    """The places of every kind of addition, each of them really made."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in ("src", "tools"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        return {name: added(addition, folder) for name, addition in ADDITIONS.items()}


if __name__ == "__main__":
    print("| adding | places | they are |\n|---|---|---|")
    for name, places in walk().items():
        shown = ", ".join(f"`{place}`" if "/" in place else place for place in places)
        print(f"| {name} | {len(places)} | {shown} |")
