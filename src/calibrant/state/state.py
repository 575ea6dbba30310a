"""The state of a stream of predictions: what estimators, tests, intervals, maps and verbs need, without the rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from calibrant.problems import FileError, InputError, MapError
from calibrant.results import SCHEMA, Record, checked_schema
from calibrant.state.bin_sums import BinSums
from calibrant.state.pooled import Pooled
from calibrant.types import Floats
from calibrant.writing import whole_or_nothing, write_text

VERSION = 1
"""Of the saved form; raised when an old reader could misread a new file."""


@dataclass(slots=True, eq=False, repr=False)
class State:
    """What was collected of some rows: mergeable, saved as JSON or Arrow, and accepted wherever `Predictions` are.

    Made by `calibrant.collect`. One event (`binary`, or `top` of several classes) is kept as its distinct predictions
    with their weight and hits, which is all that a method on one event needs: the answers are those of the rows.
    Several classes also have a grid of equal-width cells per class, for class-wise errors, and the sums of proper
    scores.

    Parameters
    ----------
    n
        Number of rows.
    classes
        The classes, in the order of the columns.
    one_column
        Were the predictions one column, the probability of one event?
    tables
        For each view, its pooled rows.
    grid
        Per-class sums in equal-width cells, for several classes.
    scores
        For each proper score of all classes, its sums.
    parts
        Names of the parts that were merged; no part can be merged twice.
    precision
        `float32` if every prediction came in single precision, else `float64`: maps read 0 and 1 by their rounding unit.

    Examples
    --------
    >>> import calibrant as cal
    >>> monday = cal.collect([0, 1, 1], [0.2, 0.7, 0.9])
    >>> tuesday = cal.collect([0, 1], [0.4, 0.9])
    >>> week = monday.merge(tuesday)
    >>> week
    State(5 rows in 2 parts, binary event; binary: 4 distinct predictions)
    >>> cal.ece(week) == cal.ece([0, 1, 1, 0, 1], [0.2, 0.7, 0.9, 0.4, 0.9])
    True
    """

    n: int
    classes: tuple[Any, ...]
    one_column: bool
    tables: dict[str, list[Pooled]]
    grid: BinSums | None = None
    scores: dict[str, Any] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    precision: str = "float64"

    def __post_init__(self) -> None:
        self.tables = {view: list(tables) for view, tables in self.tables.items()}

    @property
    def views(self) -> tuple[str, ...]:
        """The yes/no questions whose rows were pooled."""
        return tuple(self.tables)

    def pooled(self, view: str) -> Pooled:
        """The distinct predictions of a view's event, with weight and hits."""
        if view not in self.tables:
            raise InputError(
                "view",
                f"must be one of {', '.join(map(repr, self.tables))} for this state",
                f"it is {view!r}",
                f"Collect it: collect(labels, probs, views=[{view!r}])",
            )
        tables = self.tables[view]
        while len(tables) > 1:
            tables.append(tables.pop().merge(tables.pop()))
        return tables[0]

    def update(
        self, labels: Any, probs: Any = None, *, counts: Any = None, weights: Any = None, part: str | None = None
    ) -> Self:
        """Take in more rows, in any order; returns the state itself.

        Parameters
        ----------
        labels, probs, counts, weights
            As in `calibrant.collect`; or one `Predictions`, or another state.
        part
            A name for these rows, such as a file's: a part with this name cannot be taken in twice.
        """
        from calibrant.verbs.collect import collect

        self._add(collect(labels, probs, counts=counts, weights=weights, part=part, like=self))
        return self

    def merge(self, other: State) -> State:
        """Both states as a new one: that of all rows, whatever the order of merging.

        Parameters
        ----------
        other
            A state of other rows of the same model: the same classes and views.
        """
        if not isinstance(other, State):
            raise InputError("other", "must be a State", f"it is a {type(other).__name__}")
        merged = replace(self)
        merged._add(other)
        return merged

    def _add(self, other: State) -> None:
        if (self.classes, self.one_column, self.views) != (other.classes, other.one_column, other.views):
            mine, theirs = ((s.classes if len(s.classes) <= 12 else len(s.classes), s.views) for s in (self, other))
            raise InputError("other", "must have the classes and views of this state", f"{theirs} are not {mine}")
        twice = set(self.parts) & set(other.parts)
        if twice:
            raise InputError(
                "other",
                "must hold parts that were not merged before",
                f"{min(twice)!r} is in both",
                "Each row may count once: leave this part out",
            )
        if (self.grid is None) != (other.grid is None) or set(self.scores) != set(other.scores):
            raise InputError("other", "must hold the same sums as this state", "grid or scores differ")
        self.grid = None if self.grid is None or other.grid is None else self.grid.merge(other.grid)
        self.scores = {name: found.merge(other.scores[name]) for name, found in self.scores.items()}
        for view, tables in self.tables.items():
            tables.append(other.pooled(view))
            # tables of falling size, each at least twice the next: adding many small parts then costs O(n log n) in all
            while len(tables) > 1 and len(tables[-2]) < 2 * len(tables[-1]):
                tables.append(tables.pop().merge(tables.pop()))
        self.n, self.parts = self.n + other.n, self.parts + other.parts
        self.precision = max(self.precision, other.precision)

    def to_data(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists and dicts."""
        return {
            "kind": "State",
            "version": VERSION,
            "n": self.n,
            "parts": list(self.parts),
            "classes": [c.item() if isinstance(c, np.generic) else c for c in self.classes],
            "one_column": self.one_column,
            "precision": self.precision,
            "events": {view: self.pooled(view).to_data() for view in self.tables},
            "grid": None if self.grid is None else self.grid.sums.tolist(),
            "scores": {name: found.to_data() for name, found in self.scores.items()},
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The state that `to_data` described, refused if it is damaged."""
        if data.get("kind") != "State" or data.get("version") != VERSION:
            raise MapError(f"this is no saved state of version {VERSION}: {data.get('kind')}, {data.get('version')}")
        try:
            tables = {view: [Pooled.from_data(table)] for view, table in data["events"].items()}
            grid = None if data["grid"] is None else grid_of(np.array(data["grid"], dtype=np.float64), data["n"])
            scores = {name: Record.from_data(found) for name, found in data["scores"].items()}
            facts = data["n"], tuple(data["classes"]), data["one_column"], tables, grid, scores, tuple(data["parts"])
            found = cls(*facts, data["precision"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise MapError(f"the saved state is incomplete or damaged: {error!r}") from error
        found._check()
        return found

    def _check(self) -> None:
        """Refuse numbers that no rows could have given."""
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise MapError(f"the saved state has no number of rows: {self.n!r}")
        if self.precision not in ("float32", "float64"):
            raise MapError(f"the saved state has no known precision: {self.precision!r}")
        totals = {view: self.pooled(view).total for view in self.tables}
        if len(set(totals.values())) > 1:
            raise MapError(f"the saved state's views do not agree on the number of rows: {totals}")
        for each in (sums.moments for sums in self.scores.values()):
            spread = each.squares >= 0 or math.isinf(each.mean)
            if not (each.rows >= 1 and 0 < each.weight < math.inf and spread and not math.isnan(each.mean)):
                raise MapError("the saved moments of a score are damaged")
        if self.grid is not None and self.grid.sums.shape[0] != len(self.classes):
            raise MapError("the saved state's grid does not have one row of cells per class")

    def to_json(self, *, indent: int | None = None) -> str:
        """JSON text with the schema's version; read it back with `from_json`."""
        return json.dumps({"schema": SCHEMA} | self.to_data(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The state that `to_json` wrote."""
        return cls.from_data(checked_schema(text))

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the state: `.json`, or `.arrow` for large ones. Whole or not at all.

        Parameters
        ----------
        path
            File to write; its ending says the format.
        overwrite
            May a file of another kind be replaced? A state may be replaced anyway.
        """
        if _format(path) == ".json":
            return write_text(path, self.to_json(), "state", overwrite=overwrite)
        from calibrant.state.arrow import write_arrow

        with whole_or_nothing(path, "state", overwrite=overwrite) as partial:
            write_arrow(partial, self)
        return None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The state in a file that `save` wrote.

        Parameters
        ----------
        path
            A `.json` or `.arrow` file.
        """
        try:
            if _format(path) == ".json":
                return cls.from_json(Path(path).read_text(encoding="utf-8"))
            from calibrant.state.arrow import read_arrow

            return cls.from_data(read_arrow(path))
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(
                f"cannot read the state {str(path)!r}: {getattr(error, 'strerror', None) or error}"
            ) from error

    def __repr__(self) -> str:
        what = "binary event" if self.one_column else f"{len(self.classes)} classes"
        each = "; ".join(f"{view}: {len(self.pooled(view)):,} distinct predictions" for view in self.tables)
        return f"State({self.n:,} rows in {len(self.parts):,} part{'s' * (len(self.parts) != 1)}, {what}; {each})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.to_data() == other.to_data()

    def __hash__(self) -> int:
        return hash(self.parts)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return State.from_data, (self.to_data(),)


def grid_of(sums: Floats, n: int) -> BinSums:
    """Per-class sums in equal-width cells, as `BinSums` of the rule that made them."""
    if sums.ndim != 3 or sums.shape[2] != 4 or not np.isfinite(sums).all() or (sums < 0).any():
        raise MapError("the saved state's grid is damaged")
    from calibrant.bins.equal_width import EqualWidth  # rules for bins stand above the states they fill

    return EqualWidth(sums.shape[1]).state_of(sums, n)


def _format(path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".arrow"):
        raise FileError(f"a state must end in .json or .arrow; {str(path)!r} does not")
    return suffix
