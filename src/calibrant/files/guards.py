"""What a file must be before a library reads it: text that is text, and no more than fits into memory."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.problems import FileError

SETTING = "CALIBRANT_MAX_BYTES"
"""The environment variable that sets the most bytes a file may unpack to."""
SHARE = 0.5
"""Of the machine's memory, what an unpacked file may take unless the setting says otherwise."""
UNKNOWN_MEMORY = 1 << 33
"""Bytes of memory where the system does not say."""
GZIP_RATIO = 1032
"""DEFLATE makes nothing shorter than by this factor: smaller files need not be measured."""
MAX_DEPTH = 100
"""Levels of nesting in JSON; a parser that calls itself for each would end the process at some ten thousand."""

_CHUNK = 1 << 22
_HEAD = 1 << 16
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?')
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[[ord("["), ord("{")]], _STEPS[[ord("]"), ord("}")]] = 1, -1


def max_bytes() -> int:
    """The most bytes that a file may unpack to."""
    given = os.environ.get(SETTING, "")
    if given:
        if not given.isdecimal():
            raise FileError(f"the environment variable {SETTING} must be a whole number of bytes; it is {given!r}")
        return int(given)
    try:
        # all of it: what is free at the moment would let the same file pass today and fail tomorrow
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        memory = UNKNOWN_MEMORY
    return int(SHARE * memory)


def check_size(path: Path, size: float, what: str) -> None:
    """Refuse to take more memory than there is.

    Parameters
    ----------
    path
        The file, for the error text.
    size
        Bytes that it would take.
    what
        What would take them.
    """
    limit = max_bytes()
    if size > limit:
        raise FileError(
            f"cannot read {str(path)!r}: {what} would take {_bytes(size)} of memory, and at most {_bytes(limit)} may be"
            f" used. If that is meant, set the environment variable {SETTING}."
        )


def _bytes(size: float) -> str:
    return f"{size / 1e9:,.3g} GB" if size < 1e18 else f"{size:.2g} bytes"


def blocks(path: Path) -> Iterator[bytes]:
    """The content of a text file, unpacked if it ends in .gz."""
    with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as file:
        while block := file.read(_CHUNK):
            yield block


def check_text(path: Path) -> None:
    """Refuse a text file that unpacks to more than fits into memory, or that is no text in UTF-8."""
    packed = path.name.lower().endswith(".gz")
    if packed and path.stat().st_size * GZIP_RATIO > max_bytes():
        size = 0
        for block in blocks(path):
            size += len(block)
            check_size(path, size, "what it unpacks to")
    check_encoding(path)


def check_encoding(path: Path) -> None:
    """Refuse a text file that does not begin as text in UTF-8."""
    for block in blocks(path):
        head = block[:_HEAD]
        other = _OTHER_ENCODINGS.get(head[:2])
        if other or b"\0" in head:
            found = f"it is written in {other}" if other else "it holds NUL bytes, which no text has"
            raise FileError(f"cannot read {str(path)!r}: {found}. Save it as text in UTF-8.")
        return


def check_depth(path: Path) -> None:
    """Refuse JSON that is nested deeper than a parser can follow."""
    level = highest = 0
    for block in blocks(path):
        depth = np.cumsum(_STEPS[np.frombuffer(block, np.uint8)], dtype=np.int64)
        highest = max(highest, level + int(depth.max()))
        level += int(depth[-1])
    if highest <= MAX_DEPTH:
        return
    for line in lines(blocks(path)):  # brackets within strings may have been counted
        steps = _STEPS[np.frombuffer(_STRING.sub(b"", line), np.uint8)]
        if np.cumsum(steps, dtype=np.int64).max(initial=0) > MAX_DEPTH:
            raise FileError(f"cannot read {str(path)!r}: its JSON is nested more than {MAX_DEPTH} levels deep.")


def lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of a text that comes in parts, with their ends."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def check_arrays(path: Path, archive: Any, names: Sequence[str]) -> None:
    """Refuse arrays whose headers promise other numbers of bytes than the archive holds, or too many.

    Parameters
    ----------
    path
        The file, for the error text.
    archive
        The opened `zipfile.ZipFile`.
    names
        The arrays that are needed.
    """
    total = 0
    for name in names:
        known = archive.namelist()
        member = archive.getinfo(f"{name}.npy" if f"{name}.npy" in known else name)
        with archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
            held = member.file_size - file.tell()
        promised = dtype.itemsize
        for length in shape:
            promised *= int(length)
        if not dtype.hasobject and (promised != held or min(shape, default=0) < 0):
            text = f"array {name!r} should hold {promised:,} bytes by its header, and holds {held:,}"
            raise FileError(f"cannot read {str(path)!r}: it is damaged ({text})")
        total += promised
    check_size(path, total, "what it unpacks to")
