"""Segments of rows: named ones, groups, and all that a few conditions on features describe.

Every column becomes a level for each row. Rows that agree in all columns form a cell; a
segment is a union of cells, so candidates are counted and compared cell by cell. Labels
play no part in any of this: a segment chosen by the labels could not be judged by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arrays import column_names
from calibrant.inputs import MISSING, check_masks, plain_values, row_values
from calibrant.problems import InputError
from calibrant.types import Array, Floats, Indices

Codes = NDArray[np.int64]
ALL = "all rows"

FEW_VALUES = 10
"""Integers with at most this many values are categories, not quantities."""

MAX_LEVELS = 20
"""Levels of a category that are kept apart, the most frequent ones; the others are one level."""

MAX_KEYS = 1 << 62
"""Levels of several columns are combined in one integer up to here."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A level per row, −1 for none, and the names of the levels."""

    codes: Array
    """in small integers: there may be a thousand columns"""
    levels: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Segment:
    """Rows that meet all conditions."""

    conditions: tuple[str, ...]
    columns: tuple[int, ...]
    """whose levels it fixes"""
    level: int
    """the combined level of these columns"""
    size: float
    """weight of its rows"""
    same: list[str] = field(default_factory=list)
    """other descriptions of the same rows"""

    @property
    def name(self) -> str:
        return _name(self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Different segments, their cells, and what was left out."""

    found: tuple[Segment, ...]
    cells: Codes
    """of each row"""
    firsts: Indices
    """one row of each cell"""
    columns: tuple[Column, ...]
    too_small: int
    own_too_small: tuple[str, ...]
    """those among them that the user gave by name or by group"""
    stopped: int | None
    """number of conditions at which `max_segments` was reached; None if it was not"""

    def members(self, cells: Codes) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Positions of the segments' members among these rows, and where each segment starts."""
        parts: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(self.found)
        crossings: dict[tuple[int, ...], list[int]] = {}
        for s, segment in enumerate(self.found):
            crossings.setdefault(segment.columns, []).append(s)
        rows = self.firsts[cells]
        for chosen, places in crossings.items():
            if len(places) == 1:
                inside = _crossed(self.columns, rows, chosen)[0] == self.found[places[0]].level
                parts[places[0]] = np.flatnonzero(inside).astype(np.int32)
                continue
            levels, n_levels = _crossed(self.columns, self.firsts, chosen)
            owner = np.full(n_levels + 1, len(places), np.int16 if len(places) < 1 << 15 else np.int64)
            owner[[self.found[s].level for s in places]] = np.arange(len(places))
            owners = owner[levels][cells]  # level −1 reads the last entry: no owner
            order = np.argsort(owners, kind="stable").astype(np.int32)
            ends = np.cumsum(np.bincount(owners, minlength=len(places) + 1))[: len(places)]
            for s, part in zip(places, np.split(order, ends), strict=False):
                parts[s] = part
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        return np.concatenate(parts), starts


def segments_of(
    columns: Sequence[Column], named: Sequence[Column], counts: Floats, depth: int, least: float, most: int
) -> Segments:
    """All rows, every named segment, and up to `most` others of up to `depth` conditions.

    Those with few conditions come first, then those with many rows; where there are too
    many, more conditions are not tried.
    """
    every = (*columns, *named)
    cells, firsts = _cells(every, len(counts))
    marks = np.random.default_rng(0).integers(1, 1 << 30, (2, len(firsts)))
    sizes = np.vstack([np.bincount(cells, counts, len(firsts)), marks])
    stages: list[list[tuple[int, ...]]] = [[()], [(k,) for k in range(len(columns), len(every))]]
    stages += [list(combinations(range(len(columns)), d)) for d in range(1, depth + 1)]
    found: dict[tuple[float, ...], Segment] = {}
    named_so: dict[str, tuple[float, ...]] = {}
    own_too_small: list[str] = []
    too_small, asked = 0, 0
    stopped: int | None = None
    for stage, crossings in enumerate(stages):
        few, large = _candidates(every, firsts, crossings, sizes, least if stage else 0)
        too_small += len(few)
        own_too_small += [_name(_conditions(every, *each)) for each in few] if stage == 1 else []
        for key, segment in large:
            name = segment.name
            if named_so.setdefault(name, key) != key:
                found_twice = f"two of them are called {name!r}"
                raise InputError("segments", "must have different names", found_twice, "Rename yours")
            if key in found:
                found[key].same += [name] if name not in (found[key].name, *found[key].same) else []
            elif stage < 2 or len(found) - asked < most:
                found[key] = segment
            else:
                stopped = stage - 1
        if stopped is not None:
            break
        asked = len(found) if stage < 2 else asked
    return Segments(tuple(found.values()), cells, firsts, every, too_small, tuple(own_too_small), stopped)


def _candidates(
    columns: Sequence[Column], firsts: Indices, crossings: Sequence[tuple[int, ...]], sizes: Floats, least: float
) -> tuple[list[tuple[tuple[int, ...], int]], list[tuple[tuple[float, ...], Segment]]]:
    """The levels of the crossings that are too small; and the others, large ones first.

    Each of these comes with a key that only a segment of the same rows has: its size,
    and two sums of random integers per cell, the other rows of `sizes`.
    """
    few: list[tuple[tuple[int, ...], int]] = []
    found = []
    for chosen in crossings:
        levels, n_levels = _crossed(columns, firsts, chosen)
        inside = np.flatnonzero(levels >= 0)
        levels = levels[inside]
        sums = [
            np.bincount(levels, each[inside], n_levels) if n_levels > 1 else np.array([each[inside].sum()])
            for each in sizes
        ]
        present = (sums[0] > 0) | (n_levels == 1)  # a mask may be empty
        few += [(chosen, level) for level in np.flatnonzero(present & (sums[0] < least)).tolist()]
        for level in np.flatnonzero((sums[0] >= least) & (sums[0] > 0)).tolist():
            segment = Segment(_conditions(columns, chosen, level), chosen, level, float(sums[0][level]))
            found.append((tuple(float(each[level]) for each in sums), segment))
    return few, sorted(found, key=lambda pair: (-pair[1].size, pair[1].name))


def _crossed(columns: Sequence[Column], firsts: Indices, chosen: tuple[int, ...]) -> tuple[Array, int]:
    """The combined level of several columns per cell, −1 for none; and the number of levels."""
    if not chosen:
        return np.zeros(len(firsts), np.int8), 1
    levels, n_levels = columns[chosen[0]].codes[firsts], len(columns[chosen[0]].levels)
    for k in chosen[1:]:
        codes, own = columns[k].codes[firsts], len(columns[k].levels)
        levels = np.where((levels < 0) | (codes < 0), -1, levels.astype(np.int64) * own + codes)
        n_levels *= own
    return levels, n_levels


def _name(conditions: tuple[str, ...]) -> str:
    return " & ".join(conditions) or ALL


def _conditions(columns: Sequence[Column], chosen: tuple[int, ...], level: int) -> tuple[str, ...]:
    found = []
    for k in reversed(chosen):
        level, own = divmod(level, len(columns[k].levels))
        found.append(columns[k].levels[own])
    return tuple(reversed(found))


def _cells(columns: Sequence[Column], n: int) -> tuple[Codes, Indices]:
    """The cell of each row, numbered whatever the order of rows, and one row of each cell."""
    key, range_ = np.zeros(n, np.int64), 1
    for column in columns:
        levels = len(column.levels) + 1
        if range_ * levels >= MAX_KEYS:
            values, places = np.unique(key, return_inverse=True)
            key, range_ = places.ravel().astype(np.int64), len(values)
        key *= levels
        key += column.codes
        key += 1
        range_ *= levels
    _, firsts, cells = np.unique(key, return_index=True, return_inverse=True)
    return cells.ravel().astype(np.int64), firsts


def feature_columns(features: Any, kept: Any, counts: Floats, n: int, n_bins: int) -> list[Column]:
    """One column per feature of a dict, a table of any library, or a structured array."""
    names = features.dtype.names if isinstance(features, np.ndarray) else column_names(features)
    if isinstance(features, Mapping):
        names = tuple(features)
    if names is None:
        wanted, given = "must be a dict of columns, a table or a structured array", f"it is a {type(features).__name__}"
        raise InputError("features", wanted, given, "Pass groups= for one value per row")
    if len(names) == 0:
        raise InputError("features", "must hold at least one column", "it is empty")
    values = ((name, row_values(features[name], f"features[{name!r}]", n)[kept]) for name in names)
    return [feature_column(name, each, counts, n_bins) for name, each in values]


def group_column(groups: Any, kept: Any, n: int) -> Column:
    """Every group is a segment, however many there are."""
    return _categories("group", row_values(groups, "groups", n)[kept], None)


def mask_columns(segments: Any, kept: Any, n: int) -> list[Column]:
    """Named segments, each a mask of rows."""
    masks = check_masks(segments, n, "Or pass features")
    return [Column(mask[kept].astype(np.int8) - np.int8(1), (name,)) for name, mask in masks.items()]


def feature_column(name: Any, values: Array, counts: Floats, n_bins: int) -> Column:
    """Quantile bins of a quantity; the values of a category or of few integers."""
    if values.dtype.kind == "O":
        values = plain_values(values)
    if values.dtype.kind not in "iuf":
        return _categories(name, values, counts)
    numbers = values.astype(np.float64)
    missing = np.isnan(numbers)
    known = numbers[~missing]
    distinct = np.unique(known)
    integers = len(distinct) <= FEW_VALUES and bool((distinct == np.floor(distinct)).all())
    if integers or len(distinct) <= n_bins:
        codes, levels = np.searchsorted(distinct, numbers), [f"{name} = {text}" for text in _texts(distinct, "g")]
    else:
        inner = np.quantile(known, np.arange(1, n_bins) / n_bins, weights=counts[~missing], method="inverted_cdf")
        edges = np.unique(inner[inner < distinct[-1]])
        texts = _texts(edges, ".6g")
        codes, between = np.searchsorted(edges, numbers), [f"{low} < {name} ≤ {high}" for low, high in pairwise(texts)]
        levels = [f"{name} ≤ {texts[0]}", *between, f"{name} > {texts[-1]}"]
    if missing.any():
        codes, levels = np.where(missing, len(levels), codes), [*levels, f"{name} {MISSING}"]
    return Column(codes.astype(np.int32), tuple(levels))


def _texts(values: Floats, form: str) -> list[str]:
    """Numbers in few digits, or in all if different ones would look the same."""
    short = [format(value, form) for value in values]
    return short if len(set(short)) == len(short) else [repr(float(value)).removesuffix(".0") for value in values]


def _categories(name: Any, values: Array, counts: Floats | None) -> Column:
    """The values themselves; with `counts`, the rarer ones beyond MAX_LEVELS in one level."""
    if values.dtype.kind == "O":
        values = plain_values(values).astype(str)
    distinct, codes = np.unique(values, return_inverse=True)
    codes = codes.ravel().astype(np.int32)
    levels = tuple(f"{name} = {value}" for value in distinct.tolist())
    if counts is None or len(levels) <= MAX_LEVELS:
        return Column(codes, levels)
    order = np.argsort(-np.bincount(codes, counts, len(levels)), kind="stable")
    frequent = np.sort(order[: MAX_LEVELS - 1])
    place = np.full(len(levels), len(frequent), np.int32)
    place[frequent] = np.arange(len(frequent))
    others = f"{name}: {len(levels) - len(frequent)} rarer values"
    return Column(place[codes], (*(levels[k] for k in frequent), others))
