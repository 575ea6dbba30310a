"""Text that calibrant wrote, as plain data: its size, its depth and its version are checked before anything is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from calibrant.problems import FileError, InputError, MapError

SCHEMA = 1
"""Version of the JSON form; raised when an old reader could misread a new file."""

MOST_BYTES = 1 << 28
"""Largest JSON text that is read or written; a larger state is saved as Arrow."""

MOST_DEPTH = 50
"""Deepest nesting of lists and mappings that is read."""


def saved_text(path: str | Path, what: str) -> str:
    """The text of a saved file.

    Parameters
    ----------
    path
        The file.
    what
        What it should hold, for the error text: `"map"`.
    """
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise MapError(f"{str(path)!r} is not a saved {what}: it is larger than {MOST_BYTES >> 20} MB")
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # a path with a NUL character is a ValueError
        if isinstance(error, MapError):
            raise
        if isinstance(error, UnicodeDecodeError):
            raise MapError(f"{str(path)!r} is not a saved {what}: it is not text") from error
        raise FileError(f"cannot read the {what} {str(path)!r}: {getattr(error, 'strerror', None) or error}") from error


def parsed(text: str) -> Any:
    """Plain data from JSON text: no NaN, no name twice, not too long and not too deep."""
    if not isinstance(text, str):
        raise InputError("text", "must be a string", f"it is a {type(text).__name__}", "Pass what to_json returned")
    if len(text) > MOST_BYTES:
        raise MapError(f"this JSON is longer than {MOST_BYTES >> 20} million characters")
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except MapError:
        raise
    except RecursionError as error:
        raise MapError(f"this JSON is nested deeper than {MOST_DEPTH} levels") from error
    except (ValueError, TypeError) as error:
        raise MapError(f"this is not JSON: {error}") from error
    check_depth(data)
    return data


def check_depth(data: Any) -> None:
    """Refuse lists and mappings that are nested too deep."""
    level = [data] if isinstance(data, list | tuple | dict) else []
    for _ in range(MOST_DEPTH):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for entries in inner for each in entries if isinstance(each, list | tuple | dict)]
        if not level:
            return
    raise MapError(f"the saved data are nested deeper than {MOST_DEPTH} levels")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise MapError(f"this JSON names {next(n for i, n in enumerate(names) if n in names[:i])!r} twice")
    return found


def _no_constant(name: str) -> Any:
    raise MapError(f"this JSON holds {name}, which no JSON of calibrant does")


def checked_schema(text: str) -> dict[str, Any]:
    """The content of calibrant's JSON, refused if it comes from another schema.

    Parameters
    ----------
    text
        The JSON text.
    """
    data = parsed(text)
    if not isinstance(data, dict) or isinstance(data.get("schema"), bool) or not isinstance(data.get("schema"), int):
        raise MapError("this JSON was not written by calibrant: it has no schema version")
    if data["schema"] != SCHEMA:
        written = f"this was written with schema {data['schema']}"
        raise MapError(f"{written}; this calibrant reads {SCHEMA}. Upgrade calibrant")
    return data
