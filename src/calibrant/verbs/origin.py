"""Where an answer comes from: the data by their fingerprint, the command, the versions."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import calibrant
from calibrant.forecasts import Forecasts
from calibrant.predictions import MultilabelPredictions, StatePredictions
from calibrant.results import Framed, Record, Table, kind

PACKAGES = ("numpy", "scipy", "numba", "pyarrow")
"""Whose versions can move a number."""

AT_ONCE = 1 << 20
"""Numbers that are hashed at once: a few megabytes."""

OF_CLASSES = ("probs", "weights", "squares", "groups")
OF_FORECASTS = ("labels", "levels", "weights", "squares", "groups")
"""What predictions and forecasts hold, beside the labels and the columns of a kind, in the order in which it is hashed."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Origin(Framed, Record):
    """What one needs to find or to repeat an answer."""

    versions: Mapping[str, str]
    fingerprint: str = ""
    """SHA-256 of the arrays, whatever file or container they came in; empty where there are no rows"""
    command: str = ""
    source: str = ""
    """file and columns"""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> Table:
        """What is known, a row each."""
        facts = {"command": self.command, "data": self.source, "fingerprint of the data (SHA-256)": self.fingerprint}
        facts |= {name: str(value) for name, value in self.settings.items()}
        facts |= {"versions": ", ".join(f"{name} {number}" for name, number in self.versions.items())}
        rows = tuple((name, text) for name, text in facts.items() if text)
        return Table("Settings and versions", ("", "value"), rows)


def origin_of(given: Any, *, command: str = "", source: str = "", **settings: Any) -> Origin:
    """The origin of an answer about predictions or forecasts.

    Parameters
    ----------
    given
        The predictions or forecasts; None: nothing was read.
    command, source
        As in `Origin`.
    **settings
        Options that were used.
    """
    versions = {"calibrant": calibrant.__version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return Origin(versions, "" if given is None else fingerprint(given), command, source, settings)


def fingerprint(given: Any) -> str:
    """SHA-256 of the labels, predictions, weights, groups and classes; numbers as little-endian float64.

    The same numbers in another file or container, or as float32 that hold the same values,
    have the same fingerprint; another order of the rows has another one. Empty for a state.

    Parameters
    ----------
    given
        Predictions or forecasts.
    """
    if isinstance(given, StatePredictions):
        return ""
    found = hashlib.sha256()
    if isinstance(given, Forecasts):
        names: tuple[str, ...] = (*given.per_row, *OF_FORECASTS)
    else:
        names = ("observed" if isinstance(given, MultilabelPredictions) else "labels", *OF_CLASSES)
    for name in names:
        array = getattr(given, name, None)
        if array is not None:
            found.update(f"{name}{np.shape(array)}".encode())
            _hash(found, np.asarray(array))
    found.update("\0".join(map(str, getattr(given, "classes", None) or ())).encode())
    return found.hexdigest()


def _hash(found: Any, array: Any) -> None:
    rows = max(AT_ONCE // max(int(np.prod(array.shape[1:])), 1), 1)
    for start in range(0, len(array), rows):
        part = array[start : start + rows]
        if part.dtype.kind in "fiub":
            found.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
        else:
            found.update("\0".join(map(str, part.ravel().tolist())).encode())
