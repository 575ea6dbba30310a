"""Maps read from their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calibrant import options
from calibrant.maps.calibration_map import SavedMap
from calibrant.problems import MapError
from calibrant.results import Record, checked_schema, saved_text


@options.checked
def load_map(path: str | Path) -> Any:
    """Read a map that `save` wrote, of class probabilities or of a regression.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import calibrant as cal, tempfile, os
    >>> fitted = cal.Temperature().fit([0, 1, 1, 0], logits=[-1.0, 2.0, -0.5, 0.3])
    >>> path = os.path.join(tempfile.mkdtemp(), "map.json")
    >>> fitted.save(path)
    >>> cal.load_map(path) == fitted
    True
    """
    text = saved_text(path, "map")
    try:
        found = Record.from_data(checked_schema(text))
    except MapError as error:
        raise MapError(f"{str(path)!r} is not a saved map: {error}") from error
    if not isinstance(found, SavedMap):
        raise MapError(f"{str(path)!r} holds a saved {type(found).__name__}, not a map")
    return found
