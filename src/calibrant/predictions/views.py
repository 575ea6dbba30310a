"""Views: the yes/no questions one can ask of predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant import inputs
from calibrant.arrays import alone, common_index, read_only, to_numpy
from calibrant.kernels.rows.top_class import top_class
from calibrant.predictions.event import Event
from calibrant.problems import InputError
from calibrant.types import Array

VIEWS = ("auto", "binary", "top", "class k", "classwise")

FEW_ROWS = 1 << 14
"""Rows up to which results keep them, or a copy of borrowed ones, and make of them what is asked for later."""

MANY_ENTRIES, COLUMNS = 1 << 18, 16
"""Entries of a matrix, too many for the nearest cache, of which as many columns are copied at a time."""


class Views:
    """What `Predictions` know of views."""

    __slots__ = ()

    if TYPE_CHECKING:
        labels: Array
        weights: Array | None
        squares: Array | None
        classes: tuple[Any, ...]
        counted: int | None
        _probs: inputs.FloatArray | None
        _events: dict[str, Any]

        @property
        def probs(self) -> inputs.FloatArray: ...
        @property
        def is_binary(self) -> bool: ...
        @property
        def soft(self) -> bool: ...
        @property
        def n_classes(self) -> int: ...

    def view(self, view: Any = "auto") -> str:
        """The full name of a view: `auto` is `binary` for one column and `top` for several.

        Parameters
        ----------
        view
            `auto`, `binary`, `top`, `classwise`, `class k` with k a class name or index, or an
            index.
        """
        if type(view) is str and view in ("auto", "binary") and self.is_binary:
            return "binary"
        if isinstance(view, str) and view == "auto":
            return "top"
        if isinstance(view, tuple) and len(view) == 2 and view[0] == "class":
            view = f"class {view[1]}"
        if isinstance(view, int | np.integer) and not isinstance(view, bool):
            view = f"class {view}"
        if not isinstance(view, str):
            raise InputError("view", f"must be one of {inputs.listed(VIEWS)}", f"it is {view!r}")
        if view in ("top", "classwise") and self.is_binary:
            raise InputError(
                "view", f"{view!r} needs one column per class", "probs has a single column", "Use view='binary'"
            )
        if view == "binary" and self.n_classes != 2:
            raise InputError(
                "view", "'binary' needs two classes", f"there are {self.n_classes}", "Use 'top' or 'class k'"
            )
        if view in ("binary", "top", "classwise"):
            return view
        if view.startswith("class "):
            return f"class {self.classes[self._class_index(view[6:])]}"
        raise InputError("view", f"must be one of {inputs.listed(VIEWS)}", f"it is {view!r}")

    def event(self, view: Any = "auto") -> Event:
        """The yes/no question that a view asks, with its predictions.

        Parameters
        ----------
        view
            `binary`, `top`, or `class k` with k a class name or index.
        """
        name = self.view(view)
        if name == "classwise":
            raise InputError("view", "'classwise' is many questions, not one", advice="Use class_events()")
        if name not in self._events:
            self._events[name] = self._make_event(name)
        return self._events[name]

    def few_rows(self, name: str) -> tuple[Array, Array] | None:
        """Outcomes and probabilities of a view, by its full name, in memory of their own: of few rows that count once."""
        if name == "classwise":
            return None
        if name == "binary" and self.is_binary:
            p, y, w = self.probs, self.labels, self.weights
        else:
            p, y, w = (event := self.event(name)).probs, event.outcomes, event.weights
        return (alone(y), alone(p)) if len(p) <= FEW_ROWS and w is None and y.dtype == np.uint8 else None

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """What was made of these predictions before under this name, which is that of no view, or is made now."""
        if name not in self._events:
            self._events[name] = make()
        return self._events[name]

    def class_events(self) -> Iterator[Event]:
        """The `class k` question of every class, in order."""
        columns: Array | None = None
        for k, name in enumerate(self.classes):
            event, place = self._class_event(k, f"class {name}"), k % COLUMNS
            columns = self._columns(k) if not place else columns
            yield event if columns is None else replace(event, probs=columns[place])

    def _columns(self, first: int) -> Array | None:
        """Some columns of many rows, copied together, as every cache line holds several; None of few rows.

        Also None where rows are on an accelerator.
        """
        p = self._probs
        if p is None or p.ndim == 1 or p.flags.f_contiguous or p.size < MANY_ENTRIES:
            return None
        return read_only(np.ascontiguousarray(p[:, first : first + COLUMNS].T))

    def _make_event(self, name: str) -> Event:
        if name == "binary":
            return self._class_event(1, name)
        if name != "top":
            return self._class_event(self._class_index(name[6:]), name)
        top, most = top_class(self.probs)  # the lowest class index wins a tie
        right = self.labels[np.arange(len(top)), top] if self.soft else (top == self.labels).view(np.uint8)
        return self._asked(most, right, name)

    def _class_event(self, k: int, name: str) -> Event:
        if self.is_binary:
            if k == 0:
                return self._asked(1 - self.probs, 1 - self.labels, name)
            return self._asked(self.probs, self.labels, name)
        outcomes = self.labels[:, k] if self.soft else (self.labels == k).view(np.uint8)
        return self._asked(self.probs[:, k], outcomes, name)

    def _asked(self, probs: inputs.FloatArray, outcomes: Array, name: str) -> Event:
        return Event(probs, outcomes, self.weights, name, counted=self.counted, squares=self.squares)

    def _class_index(self, name: str) -> int:
        names = [str(c) for c in self.classes]
        if name in names:
            return names.index(name)
        if name.isdecimal() and int(name) < len(names):
            return int(name)
        raise InputError("view", f"must name one of the classes {inputs.listed(names)}", f"it asks for class {name!r}")


def chosen_rows(which: Any, of: Any) -> Any:
    """Rows of predictions or forecasts by mask, slice or indices, checked."""
    labels, weights = of.observed, of.weights
    if not isinstance(which, slice):
        mask, which = which, to_numpy(which, "which")
        if which.dtype == np.bool_:
            common_index(predictions=of, which=mask)
        which = which.astype(np.intp) if not which.size else which
        if which.ndim != 1:
            raise InputError("which", "must be a mask, a slice or indices of rows", f"its shape is {which.shape}")
    try:
        found = labels[which]
    except IndexError as error:
        raise InputError("which", f"must be a mask, a slice or indices of {len(labels)} rows", str(error)) from error
    if not found.size:
        raise InputError("which", "must choose at least one row", "it chooses none")
    if weights is not None and not weights[which].any():
        raise InputError("which", "must choose rows of some weight", "all chosen weights are zero")
    return which
