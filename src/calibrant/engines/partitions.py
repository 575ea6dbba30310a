"""What every engine does with a partition: its batches become one state, and maps are applied to them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

from calibrant.problems import FileError, InputError

if TYPE_CHECKING:
    from calibrant.maps import CalibrationMap
    from calibrant.state.state import State


def state_of(batches: Iterable[Any], part: str, options: dict[str, Any]) -> str | None:
    """The states of the rows of a partition with their segments, as JSON; None if it has no rows.

    Parameters
    ----------
    batches
        Arrow data or frames.
    part
        The partition's name: a partition that is computed twice counts once.
    options
        Those of `calibrant.scan`.
    """
    from calibrant.verbs.scan import scan

    found = (batch for batch in batches if len(batch))
    try:
        states = scan(found, progress=False, **options)
    except FileError as error:
        if "there are no rows" in str(error):
            return None
        raise
    each = states if options.get("segments") is not None else {None: states}
    for state in each.values():
        state.parts = (part,)
    return json.dumps([[segment, state.to_json()] for segment, state in each.items()])


def merged(states: Iterable[str | None], options: dict[str, Any]) -> Any:
    """The states of all partitions as one, or as one per segment.

    Parameters
    ----------
    states
        What `state_of` gave.
    options
        Those of `calibrant.scan`.
    """
    from calibrant.state.state import State

    found: dict[Any, list[State]] = {}
    for segment, text in (each for part in states if part is not None for each in json.loads(part)):
        found.setdefault(segment, []).append(State.from_json(text))
    if not found:
        raise InputError("data", "must hold rows", "all partitions are empty")
    joined = {segment: reduce(State.merge, parts) for segment, parts in found.items()}
    return joined[None] if options.get("segments") is None else dict(sorted(joined.items(), key=lambda x: str(x[0])))


def applied(fitted: CalibrationMap, table: Any, columns: list[str]) -> Any:
    """An Arrow table whose columns of probabilities are recalibrated.

    Parameters
    ----------
    fitted
        The map.
    table
        Arrow data.
    columns
        The columns of probabilities, in the order of the map's classes.
    """
    import numpy as np
    import pyarrow as pa

    if not table.num_rows:
        return table
    probs = np.stack([table.column(name).to_numpy(zero_copy_only=False) for name in columns], axis=1)
    better = fitted.apply(probs[:, 0] if len(columns) == 1 else probs).reshape(len(probs), -1)
    for k, name in enumerate(columns):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.array(better[:, k], pa.float64()))
    return table


def check_columns(columns: Any, names: list[str]) -> list[str]:
    """The columns of probabilities that `apply` replaces."""
    chosen = [columns] if isinstance(columns, str) else list(columns)
    unknown = [name for name in chosen if name not in names]
    if unknown or not chosen:
        found = f"{unknown[0]!r} is none" if unknown else "it names none"
        raise InputError("probs", f"must name columns of {', '.join(map(repr, names))}", found)
    return chosen


def used_columns(names: list[str], options: dict[str, Any]) -> list[str]:
    """The columns of a frame that `scan` reads, so that the engine reads no others."""
    from calibrant.files.columns import NONE, choose
    from calibrant.files.reading import class_names

    named = {name: options.get(name) for name in ("label", "probs", "logits", "pred", "counts")}
    order, segments = class_names(options.get("classes")), options.get("segments")
    if segments is not None and segments not in names:
        raise InputError("segments", "must name a column of the DataFrame", f"{segments!r} is none")
    used = choose(names, "the DataFrame", classes=order, groups=NONE, **named).used
    return list(dict.fromkeys((*used, *([] if segments is None else [segments]))))
