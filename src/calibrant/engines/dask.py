"""Dask: a state of a DataFrame, and a map applied to one. Needs `pip install 'calibrant[dask]'`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calibrant.engines.partitions import applied, check_columns, merged, state_of, used_columns
from calibrant.options import checked
from calibrant.problems import InputError, MissingExtra

if TYPE_CHECKING:
    from calibrant.maps import CalibrationMap


@checked
def scan(data: Any, **options: Any) -> Any:
    """Collect a state from a Dask DataFrame: each partition sums up its rows, and the sums are merged.

    Runs on the current Dask client, or on the threads of this process. A partition that is computed again, after a
    worker was lost, counts once.

    Parameters
    ----------
    data
        A Dask DataFrame.
    options
        Columns and settings as in `calibrant.scan`: `label`, `probs`, `logits`, `pred`, `counts`, `classes`,
        `normalize`, `segments`, `views`, `n_cells`, `max_distinct`.

    Returns
    -------
    State, or dict of State if `segments` is given
    """
    import_dask(data)
    import dask
    from dask.delayed import delayed

    used = used_columns(list(map(str, data.columns)), options)
    parts = data[used].to_delayed()
    states = [delayed(_state)(part, f"partition {k}", options) for k, part in enumerate(parts)]
    return merged(dask.compute(*states), options)


def _state(frame: Any, part: str, options: dict[str, Any]) -> str | None:
    import pyarrow as pa

    return state_of([pa.Table.from_pandas(frame, preserve_index=False)], part, options)


@checked
def apply(fitted: CalibrationMap, data: Any, probs: str | Sequence[str]) -> Any:
    """Recalibrate columns of a Dask DataFrame; lazily, partition by partition.

    Parameters
    ----------
    fitted
        A map, as `calibrant.recalibrate` fits and `calibrant.load_map` loads it.
    data
        A Dask DataFrame.
    probs
        The column of probabilities, or one per class in the order of the map's classes. They are replaced.
    """
    import_dask(data)
    columns = check_columns(probs, list(map(str, data.columns)))
    meta = data._meta.astype(dict.fromkeys(columns, "float64"))
    return data.map_partitions(_better, fitted.to_json(), columns, meta=meta)


def _better(frame: Any, text: str, columns: list[str]) -> Any:
    import pyarrow as pa

    from calibrant.maps import CalibrationMap

    table = applied(CalibrationMap.from_json(text), pa.Table.from_pandas(frame[columns], preserve_index=False), columns)
    return frame.assign(**{name: table.column(name).to_numpy() for name in columns})


def import_dask(data: Any) -> None:
    """Refuse what is no Dask DataFrame, or where there is no Dask."""
    try:
        import dask.dataframe  # noqa: F401
    except ImportError as error:
        raise MissingExtra("dask", "dask", "calibrant.engines.dask") from error
    if not (hasattr(data, "to_delayed") and hasattr(data, "map_partitions")):
        raise InputError("data", "must be a Dask DataFrame", f"it is a {type(data).__name__}")
