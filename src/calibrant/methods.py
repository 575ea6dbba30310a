"""The register: one record per method, beside its function, from which every list is derived.

    @estimator("sweep", "sweep ECE", "ECE_sweep", views=EVERY_VIEW)
    def sweep_error(labels, probs=None, *, …) -> Estimate: …

What it estimates, its bias, cost and source are the notes of its docstring. The command line, the documentation, the lazily
loaded names, the stubs and the common tests read the register. Other packages add to it through `calibrant.extend` and the
entry-point group `calibrant.methods`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pkgutil import walk_packages
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from calibrant.options import checked
from calibrant.problems import InputError

Kind = Literal[
    "estimator", "clinical estimator", "forecast estimator", "test", "forecast test", "score", "forecast score", "map", "forecast map", "binning", "statistic", "batched"
]  # fmt: skip

PACKAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "estimator": ("estimate",),
        "clinical estimator": ("estimate",),
        "forecast estimator": ("estimate",),
        "test": ("detect",),
        "forecast test": ("detect", "estimate"),
        "score": ("score",),
        "forecast score": ("score",),
        "map": ("maps",),
        "forecast map": ("maps",),
        "binning": ("bins",),
        "statistic": ("resampling",),
        "batched": ("simulate",),
    }
)
"""The packages whose modules are imported to fill the register of a kind."""

GROUP = "calibrant.methods"
"""Entry-point group: each entry names a module that registers methods when it is imported."""

ONE_EVENT = ("binary", "top", "class k")
EVERY_VIEW = (*ONE_EVENT, "classwise")
FORECASTS = ("Gaussian", "quantile", "sample")

State = Literal["pooled", "bin sums", "class grid", "moments", ""]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Method:
    """What one method says about itself."""

    kind: str
    name: str
    """the name on the command line and in `method=` and `statistic=`"""
    function: Callable[..., Any]
    """the public function, or the class of a map's recipe, a score or a rule for bins"""
    title: str = ""
    """the name that is printed beside the number"""
    views: tuple[str, ...] = ()
    state: State = ""
    """the state it can be computed from, part by part; empty: it needs the rows themselves"""
    also_called: tuple[str, ...] = ()
    """acronyms and names users search for"""
    ways: tuple[str, ...] = ()
    """of a test: ways to the p-value; `exact` keeps its false-alarm rate at every sample size"""
    soft_labels: bool = True
    weights: bool = True
    of_the_error: bool = True
    """does it estimate the true calibration error of its norm, rather than a quantity of its own?"""
    better: Literal["lower", "nearer 0"] = "lower"
    """which values speak for a model"""
    of: Callable[..., Any] | None = None
    """of a `statistic` or `batched` form: the estimator that it computes for many sets of labels at once"""

    @property
    def summary(self) -> str:
        """What it does, in a line: the first one of its documentation."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    def note(self, *labels: str) -> str:
        """A line of the notes in its documentation, such as `Bias: up near calibration.`, without label and full stop.

        Parameters
        ----------
        *labels
            `Estimates` (of tests: `Power against`), `Bias`, `Cost` or `Source`; the first that there is.
        """
        text = cleandoc(self.function.__doc__ or "")
        found = re.search(rf"^(?:{'|'.join(labels)}): (.+(?:\n  .+)*)", text, re.MULTILINE)
        return " ".join(found[1].split()).removesuffix(".") if found else ""

    @property
    def quantity(self) -> str:
        """What an estimator estimates; the faults that a test has power against."""
        return self.note("Estimates", "Power against")


_REGISTER: dict[str, dict[str, Method]] = {kind: {} for kind in PACKAGES}


def method(kind: Kind, *, name: str | None = None, **facts: Any) -> Callable[[F], F]:
    """Register the function or class below it, whose options are then checked as annotated.

    Parameters
    ----------
    kind
        Which table it belongs to: `"estimator"`, `"test"`, `"score"`, `"map"`, `"binning"`, …
    name
        The name by which users ask for it; that of a class is its attribute `name`, that of
        a function its own name, unless given.
    **facts
        The other fields of `Method`.
    """
    if kind not in _REGISTER:
        raise InputError("kind", f"must be one of {', '.join(map(repr, _REGISTER))}", f"it is {kind!r}")

    def register(function: F) -> F:
        function = function if "of" in facts else checked(function)  # fast forms get what was checked
        own = str(name or getattr(function, "name", function.__name__))
        known = _REGISTER[kind].get(own)
        if known is not None and _origin(known.function) != _origin(function):
            raise InputError("name", f"{own!r} is already a registered {kind}", f"by {_origin(known.function)}")
        _REGISTER[kind][own] = Method(kind, own, function, **{"title": getattr(function, "title", ""), **facts})
        return function

    return register


def estimator(
    name: str, title: str, *also_called: str, kind: Kind = "estimator", state: State = "pooled", **facts: Any
) -> Callable[[F], F]:
    """Register an estimator for classes: of one event and from pooled rows, unless `views` and `state` say otherwise.

    A `"clinical estimator"` measures a quantity that is no error: it is not 0, or not
    smallest, for a calibrated model.
    """
    facts = {"views": ONE_EVENT, "also_called": also_called, "state": state} | facts
    return method(kind, name=name, title=title, **facts)


def find_measure(name: str) -> Method | None:
    """The estimator of one event or of classes with this name or acronym, clinical ones included."""
    return find("estimator", name) or find("clinical estimator", name)


def methods(kind: Kind) -> Mapping[str, Method]:
    """Every method of a kind in the order of the names, those of installed plugins included.

    Parameters
    ----------
    kind
        `"estimator"`, `"test"`, `"score"`, `"map"`, `"binning"`, …, as for `method`.
    """
    import_packages(PACKAGES[kind])
    import_plugins()
    return MappingProxyType(dict(sorted(_REGISTER[kind].items())))


def find(kind: Kind, name: str) -> Method | None:
    """The method of a kind with this name or acronym, whatever the case."""
    wanted = _plain(name)
    return next(
        (each for each in methods(kind).values() if wanted in map(_plain, (each.name, *each.also_called))), None
    )


def method_of(function: Any, kind: Kind = "estimator") -> Method | None:
    """What a function says about itself; None if it is not registered."""
    return next((each for each in methods(kind).values() if each.function is function), None)


@cache
def import_packages(packages: tuple[str, ...]) -> None:
    """Import every module of these packages, so that what they define is registered."""
    for name in packages:
        package = import_module(f"calibrant.{name}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)


@cache
def import_plugins() -> None:
    """Import what other packages declare in the entry-point group; one that fails is named in a warning and left out."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:
            text = f"the plugin {entry.name!r} ({entry.value}) cannot be loaded and is left out: {error!r}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def _origin(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")
