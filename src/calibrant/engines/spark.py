"""Spark: a state of a DataFrame, and a map applied to one.

Needs `pip install 'calibrant[spark]'` and Java on the machines that run Spark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from calibrant.engines.partitions import applied, check_columns, merged, state_of, used_columns
from calibrant.options import checked
from calibrant.problems import InputError, MissingExtra

if TYPE_CHECKING:
    from calibrant.maps import CalibrationMap


def use_this_python() -> None:
    """Let workers run the Python that runs here, unless PYSPARK_PYTHON names one.

    Call it before the Spark session starts. Workers need calibrant too.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


@checked
def scan(data: Any, **options: Any) -> Any:
    """Collect a state from a Spark DataFrame: each partition sums up its rows, and the sums are merged.

    Only the states travel, some hundred kilobytes per partition at most. A partition that Spark computes again, after
    a worker was lost, counts once.

    Parameters
    ----------
    data
        A Spark DataFrame.
    options
        Columns and settings as in `calibrant.scan`: `label`, `probs`, `logits`, `pred`, `counts`, `classes`,
        `normalize`, `segments`, `views`, `n_cells`, `max_distinct`.

    Returns
    -------
    State, or dict of State if `segments` is given
    """
    _check(data)
    taken = data.select(*(f"`{name}`" for name in used_columns(data.columns, options)))

    def collected(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        part = f"partition {context.partitionId() if context else 0}"
        text = state_of(batches, part, options)
        if text is not None:
            yield pa.RecordBatch.from_pydict({"state": [text]})

    rows = taken.mapInArrow(collected, "state string").collect()
    return merged((row["state"] for row in rows), options)


@checked
def apply(fitted: CalibrationMap, data: Any, probs: str | Sequence[str]) -> Any:
    """Recalibrate columns of a Spark DataFrame; lazily, partition by partition.

    Parameters
    ----------
    fitted
        A map, as `calibrant.recalibrate` fits and `calibrant.load_map` loads it.
    data
        A Spark DataFrame.
    probs
        The column of probabilities, or one per class in the order of the map's classes. They are replaced.
    """
    from pyspark.sql.types import DoubleType

    _check(data)
    columns = check_columns(probs, data.columns)
    text = fitted.to_json()

    def better(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from calibrant.maps import CalibrationMap

        own = CalibrationMap.from_json(text)
        for batch in batches:
            yield from applied(own, pa.Table.from_batches([batch]), columns).to_batches()

    schema = type(data.schema)(list(data.schema.fields))
    for field in schema.fields:
        if field.name in columns:
            field.dataType = DoubleType()
    return data.mapInArrow(better, schema)


def _check(data: Any) -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise MissingExtra("pyspark", "spark", "calibrant.engines.spark") from error
    if not hasattr(data, "mapInArrow"):
        raise InputError("data", "must be a Spark DataFrame", f"it is a {type(data).__name__}")
