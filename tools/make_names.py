"""Write the public face of the package: the table of lazily loaded names, the stub for type checkers and `calibrant.regression`.

Every estimator in the register is public, with the functions of the scores; verbs and nouns are listed here. Where a name is defined is
looked up.

Run: python tools/make_names.py    (tests/test_public_names.py holds the files equal to what this writes)
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from textwrap import fill
from types import ModuleType

import calibrant
from calibrant import SUBMODULES
from calibrant.methods import methods
from calibrant.results import Record

PACKAGE = Path(calibrant.__file__).parent

LISTED = {
    "verbs": "assess_answers audit clinical collect compare compare_answers decompose diagnose examine optimism plan plan_validation recalibrate scan trust where",
    "detect": "calibration_test is_calibrated",
    "infer": "band_of_bins calibration_error_interval classwise_intervals confidence_band consistency_band "
    "cumulative_interval interval_of simultaneous_band squared_error_interval",
    "bins": "Edges EqualMass EqualWidth",
    "maps": "Auto Beta Dirichlet Histogram Isotonic OneVsRest Platt Temperature TopLabel VennAbers load_map",
    "score": "brier_score log_score ranked_probability_score spherical_score",
    "estimate": "sampled_error selective_risk upper_bound",
    "monitor": "Monitor",
    "state": "State",
    "predictions": "Predictions",
    "files": "read",
    "examples": "example",
    "problems": "CalibrantError FileError InputError MapError MissingExtra",
}
"""Public names beside the estimators, by the package or module that defines them."""

REGRESSION = {
    "forecasts": "BentForecasts Forecasts GaussianForecasts QuantileForecasts SampleForecasts",
    "maps": "RegressionMap",
    "score": "crps dawid_sebastiani_score gaussian_log_score interval_score pinball_score",
}
"""Names in `calibrant.regression` beside those that the register holds for forecasts."""

MARK = "Written by tools/make_names.py."
LAYOUT = ("# fmt: off", "# ruff: noqa: I001")
"""Of the written files: one statement per module, which the formatter would take apart."""
WIDTH, INDENT = 120, "    "


def modules(package: str) -> Iterable[ModuleType]:
    """A module of the package, and those inside it."""
    top = import_module(f"calibrant.{package}")
    yield top
    for inner in walk_packages(getattr(top, "__path__", ()), f"{top.__name__}."):
        yield import_module(inner.name)


def home(package: str, name: str) -> str:
    """The module that defines a name, without `calibrant.`."""
    for module in modules(package):
        if getattr(getattr(module, name, None), "__module__", None) == module.__name__:
            return short(module.__name__)
    raise LookupError(f"calibrant.{package} does not define {name}")


def short(module: str) -> str:
    return module.removeprefix("calibrant.")


def ours(*kinds: str) -> dict[str, str]:
    """Functions and classes of the register that belong to this package, with their homes."""
    found = [each.function for kind in kinds for each in methods(kind).values()]
    return {each.__name__: short(each.__module__) for each in found if each.__module__.startswith("calibrant.")}


def listed(names: dict[str, str]) -> dict[str, str]:
    return {name: home(package, name) for package, some in names.items() for name in some.split()}


def public() -> dict[str, str]:
    """Every public name with its home."""
    return ours("estimator") | listed(LISTED)


def regression() -> dict[str, str]:
    """Every name in `calibrant.regression` with its home."""
    kinds = ("forecast estimator", "forecast score", "forecast map", "forecast test")
    return ours(*kinds) | listed(REGRESSION)


def records() -> dict[str, str]:
    """Every record outside `calibrant.results` that can be read back from JSON, with its home."""
    packages = sorted(path.stem for path in PACKAGE.iterdir() if path.name[0] != "_" and path.suffix in ("", ".py"))
    found = {}
    for package in packages:
        if package in ("adapt", "cli", "data", "extend", "regression", "results"):
            continue
        for module in modules(package):
            for name, each in vars(module).items():
                if inspect.isclass(each) and issubclass(each, Record) and each.__module__ == module.__name__:
                    found[name] = short(module.__name__)
    return found


def by_home(names: dict[str, str]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for name in sorted(names):
        found[names[name]].append(name)
    return dict(sorted(found.items()))


def table() -> str:
    """The file `names.txt`: a line per module, public names marked by `:` and records by `=`."""
    lines = [f"# Where public names (:) and records (=) are defined. {MARK}"]
    for mark, names in ((":", public()), ("=", records())):
        lines += [f"{home} {mark} {' '.join(some)}" for home, some in by_home(names).items()]
    return "\n".join([*lines, ""])


def imported(module: str, names: Iterable[str]) -> str:
    """One import statement that gives names on, wrapped at 120 columns."""
    start, given = f"from {module} import ", ", ".join(f"{name}_as_{name}" for name in names)
    if len(start + given) > WIDTH:
        given = f"(\n{fill(given, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)}\n)"
    return start + re.sub(r"(\w+)_as_\1\b", r"\1 as \1", given)


def outermost(home: str, name: str) -> str:
    """The package that gives a name on, if any does, else the module that defines it."""
    parts = home.split(".")
    found = [".".join(parts[: k + 1]) for k in range(len(parts))]
    value = getattr(import_module(f"calibrant.{home}"), name)
    return next(each for each in found if getattr(import_module(f"calibrant.{each}"), name, None) is value)


def imports(names: dict[str, str]) -> list[str]:
    given = by_home({name: outermost(home, name) for name, home in names.items()})
    return [imported(f"calibrant.{home}", some) for home, some in given.items()]


def stub() -> str:
    """The file `__init__.pyi`."""
    head = [f'"""The public names, for type checkers. {MARK}"""', "", *LAYOUT, imported("calibrant", SUBMODULES)]
    return "\n".join([*head, *imports(public()), "", "SUBMODULES: tuple[str, ...]", "__version__: str", ""])


def namespace() -> str:
    """The file `regression.py`."""
    head = [f'"""All that is made for forecasts of a real number. {MARK}"""', "", *LAYOUT]
    return "\n".join([*head, *imports(regression()), ""])


FILES = {"names.txt": table, "__init__.pyi": stub, "regression.py": namespace}

if __name__ == "__main__":
    for name, make in FILES.items():
        (PACKAGE / name).write_text(make(), encoding="utf-8")
        print(name)
