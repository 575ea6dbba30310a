"""The constraints file of the lowest declared versions."""

import runpy
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools" / "lowest.py"
PROJECT = """
[project]
name = "calibrant"
dependencies = ["numpy>=2.0", "scipy>=1.13"]

[project.optional-dependencies]
plot = ["matplotlib>=3.9"]
table = ["pandas>=2.2.2"]
torch = ["torch>=2.2"]
test = ["calibrant[plot, table]", "pytest>=8.2"]
"""


def test_it_names_what_the_package_and_its_tests_require():
    tool = runpy.run_path(str(TOOL))
    assert tool["lowest"](PROJECT) == ["numpy==2.0", "scipy==1.13", "matplotlib==3.9", "pandas==2.2.2", "pytest==8.2"]
    here = tool["lowest"](tool["PYPROJECT"].read_text(encoding="utf-8"))
    assert all(requirement.count("==") == 1 for requirement in here)  # every requirement has a lower bound
