"""The state of a stream of predictions: what estimators, tests, intervals, maps and verbs need, without the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np

from calibrant import options
from calibrant.problems import FileError, InputError, MapError
from calibrant.results import SCHEMA, Framed, Record, checked, checked_schema, saved_text
from calibrant.results.constraints import BIG, Distinct, Holds, OneOf, Shape, Within
from calibrant.results.notebook import Shown
from calibrant.results.reading import MOST_BYTES, check_depth
from calibrant.results.record import as_text
from calibrant.state.bin_sums import BinSums
from calibrant.state.pooled import Pooled
from calibrant.types import Floats
from calibrant.writing import whole_or_nothing, write_text


class Mergeable(Record):
    """What a state keeps of a proper score: a record with `merge`, defined where scores are."""

    def merge(self, other: Self) -> Self:
        """The sums of both sets of rows."""
        raise NotImplementedError


VERSION = 1
"""Of the saved form; raised when an old reader could misread a new file."""


VIEWS = 'must be "binary", "top" or "class NAME", and "binary" for one column'
SAME_ROWS = "must hold the same weight of rows in each view"


def known_views(classes: tuple[Any, ...], one_column: bool, events: Mapping[str, Any], **_: Any) -> bool:
    """Are the views those of these columns?"""
    known = {"binary"} if one_column else {"top", *(f"class {name}" for name in classes)}
    return bool(events) and events.keys() <= known | ({"binary"} if len(classes) == 2 else set())


def same_rows(events: Mapping[str, Pooled], grid: Floats | None, **_: Any) -> bool:
    """Do all views, and the cells of every class, have one total weight?"""
    totals = [table.total for table in events.values()]
    cells = () if grid is None else grid[..., 0].sum(axis=1)
    return all(abs(each - totals[0]) <= 1e-9 * totals[0] for each in (*totals, *cells))


def cells_of_rows(grid: Floats, **_: Any) -> bool:
    """Are Σwp² ≤ Σwp ≤ Σw and Σwy ≤ Σw in every cell, but for rounding?"""
    weight, probs, squares, hits = np.moveaxis(grid, -1, 0)
    most = weight * (1 + 1e-9)
    return bool(((probs <= most) & (squares <= probs * (1 + 1e-9)) & (hits <= most)).all())


@dataclass(frozen=True, eq=False, repr=False)
class SavedState(Record):
    """A state as it is saved."""

    version: Annotated[int, OneOf(VERSION)]
    n: Annotated[int, Within(1)]
    parts: Annotated[tuple[str, ...], Distinct()]
    classes: Annotated[tuple[Any, ...], Distinct(), Shape(least=2)]
    one_column: Annotated[
        bool, Holds("needs two classes", lambda classes, one_column, **_: len(classes) == 2 or not one_column)
    ]
    precision: Annotated[str, OneOf("float32", "float64")]
    events: Annotated[Mapping[str, Pooled], Holds(VIEWS, known_views), Holds(SAME_ROWS, same_rows)]
    grid: (
        Annotated[Floats, Shape("classes", None, 4), Within(0, BIG), Holds("must be sums of rows", cells_of_rows)]
        | None
    )
    scores: Mapping[str, Mergeable]
    max_distinct: Annotated[int | None, Within(1)] = None


@dataclass(slots=True, eq=False, repr=False)
class State(Shown, Framed):
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
    max_distinct
        How many distinct predictions a view may have; with more, its table is one of fine buckets (256 per halving of
        min(p, 1 − p), cut at the edges of 300 equal-width cells), each with its weight, hits, mean, lowest and highest
        prediction: at most 27 000 of them, whatever the number of rows. None: no limit.

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
    max_distinct: int | None = None
    growing: dict[str, Any] = field(default_factory=dict, init=False)
    """Views whose rows are being taken in: a table with `pooled()`, joined to the others when the view is asked for."""

    def __post_init__(self) -> None:
        self.tables = {view: [self._bounded(table) for table in tables] for view, tables in self.tables.items()}

    @property
    def views(self) -> tuple[str, ...]:
        """The yes/no questions whose rows were pooled."""
        return tuple(self.tables)

    @options.checked
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
        if view in self.growing:
            tables.append(self._bounded(self.growing.pop(view).pooled()))
        while len(tables) > 1:
            self._join_last(tables)
        return tables[0]

    def _join_last(self, tables: list[Pooled]) -> None:
        tables.append(self._bounded(tables.pop().merge(tables.pop())))

    def _bounded(self, table: Pooled) -> Pooled:
        """The table, or its buckets if it has more predictions than may be kept."""
        kept = self.max_distinct is None or table.coarse or len(table) <= self.max_distinct
        return table if kept else table.coarsened()

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

        self.add(collect(labels, probs, counts=counts, weights=weights, part=part, like=self))
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
        merged = replace(self, tables={view: [self.pooled(view)] for view in self.views})
        merged.add(other)
        return merged

    def add(self, other: State) -> None:
        """Take in another state, in place.

        Parameters
        ----------
        other
            As in `merge`.
        """
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
        limits = [each.max_distinct for each in (self, other) if each.max_distinct is not None]
        self.max_distinct = min(limits, default=None)
        for view, tables in self.tables.items():
            tables[:] = [*map(self._bounded, tables), self._bounded(other.pooled(view))]
            # tables of falling size, each at least twice the next: adding many small parts then costs O(n log n) in all
            while len(tables) > 1 and len(tables[-2]) < 2 * len(tables[-1]):
                self._join_last(tables)
        self.n, self.parts = self.n + other.n, self.parts + other.parts
        self.precision = max(self.precision, other.precision)

    def to_data(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists and dicts."""
        events = {view: self.pooled(view) for view in self.tables}
        grid = None if self.grid is None else self.grid.sums
        facts = self.n, self.parts, self.classes, self.one_column, self.precision
        return SavedState(VERSION, *facts, events, grid, self.scores, self.max_distinct).to_data() | {"kind": "State"}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The state that `to_data` described, refused if it is damaged."""
        check_depth(data)
        if not isinstance(data, Mapping) or data.get("kind") != "State":
            raise MapError(f"this is no saved state: {data!r:.60}")
        given = {name: value for name, value in data.items() if name not in ("kind", "schema")}
        found = SavedState(**checked(SavedState, given))
        return cls(
            found.n,
            found.classes,
            found.one_column,
            {view: [table] for view, table in found.events.items()},
            None if found.grid is None else grid_of(found.grid, found.n),
            dict(found.scores),
            found.parts,
            found.precision,
            found.max_distinct,
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """JSON text with the schema's version; read it back with `from_json`.

        Parameters
        ----------
        indent
            Spaces per level; None for a single line.
        """
        return as_text({"schema": SCHEMA} | self.to_data(), indent)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The state that `to_json` wrote.

        Parameters
        ----------
        text
            The JSON text.
        """
        return cls.from_data(checked_schema(text))

    @options.checked
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
            text = self.to_json()
            if len(text) > MOST_BYTES:
                raise FileError(f"this state is too large for JSON ({len(text) >> 20} MB). Save it as .arrow")
            return write_text(path, text, "state", overwrite=overwrite)
        from calibrant.state.arrow import write_arrow

        with whole_or_nothing(path, "state", overwrite=overwrite) as partial:
            write_arrow(partial, self)
        return None

    @classmethod
    @options.checked
    def load(cls, path: str | Path) -> Self:
        """The state in a file that `save` wrote.

        Parameters
        ----------
        path
            A `.json` or `.arrow` file.
        """
        if _format(path) == ".json":
            return cls.from_json(saved_text(path, "state"))
        from calibrant.state.arrow import read_arrow

        return cls.from_data(read_arrow(path))

    def columns_of_rows(self) -> dict[str, Any]:
        """The pooled predictions of every view, as columns."""
        tables = {view: self.pooled(view) for view in self.tables}
        names = {"prediction": "values", "weight": "weight", "hits": "hits"}
        joined = {k: np.concatenate([getattr(t, name) for t in tables.values()]) for k, name in names.items()}
        return {"view": [view for view, table in tables.items() for _ in range(len(table))], **joined}

    def __repr__(self) -> str:
        what = "binary event" if self.one_column else f"{len(self.classes)} classes"
        each = "; ".join(f"{view}: {_size(self.pooled(view))}" for view in self.tables)
        return f"State({self.n:,} rows in {len(self.parts):,} part{'s' * (len(self.parts) != 1)}, {what}; {each})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.to_data() == other.to_data()

    def __hash__(self) -> int:
        return hash(self.parts)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return State.from_data, (self.to_data(),)


def _size(table: Pooled) -> str:
    return f"{len(table):,} {'buckets of' if table.coarse else 'distinct'} predictions"


def grid_of(sums: Floats, n: int) -> BinSums:
    """Per-class sums in equal-width cells, as `BinSums` of the rule that made them."""
    from calibrant.bins.equal_width import EqualWidth  # rules for bins stand above the states they fill

    return EqualWidth(sums.shape[1]).state_of(sums, n)


def _format(path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".arrow"):
        raise FileError(f"a state must end in .json or .arrow; {str(path)!r} does not")
    return suffix
