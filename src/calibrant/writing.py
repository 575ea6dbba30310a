"""Files written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calibrant.problems import FileError


@contextmanager
def whole_or_nothing(path: str | Path) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the place of `path` when all is written, and is removed on failure."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, what: str) -> None:
    """A text file in UTF-8 that ends in one line break, written whole or not at all.

    Parameters
    ----------
    path
        The file.
    text
        Its content.
    what
        What the file is, for the error text: `"report"`.
    """
    try:
        with whole_or_nothing(path) as partial, partial.open("w", encoding="utf-8") as stream:
            stream.write(text.rstrip("\n") + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise FileError(f"cannot write the {what} {str(path)!r}: {error.strerror or error}") from error
