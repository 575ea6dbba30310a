"""What a file must be before a library reads it: text that is text, and no more than fits into memory."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.files.encodings import blocks, lines
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

_HEAD = 1 << 16
HALF = 0.5
"""Share of every other byte that is 0 in a text of two bytes per letter."""
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


def check_size(path: Path, size: float, what: str, advice: str = "") -> None:
    """Refuse to take more memory than there is.

    Parameters
    ----------
    path
        The file, for the error text.
    size
        Bytes that it would take.
    what
        What would take them.
    advice
        A sentence on how the file is read otherwise.
    """
    limit = max_bytes()
    if size > limit:
        raise FileError(
            f"cannot read {str(path)!r}: {what} would take {_bytes(size)} of memory, and at most {_bytes(limit)} may be"
            f" used. {advice + ' ' if advice else ''}If that is meant, set the environment variable {SETTING}."
        )


def _bytes(size: float) -> str:
    return f"{size / 1e9:,.3g} GB" if size < 1e18 else f"{size:.2g} bytes"


def check_text(path: Path, encoding: str | None = None) -> None:
    """Refuse a text file that unpacks to more than fits into memory, or that is no text.

    Parameters
    ----------
    path
        The file.
    encoding
        What it is written in, if the caller says so.
    """
    packed = path.name.lower().endswith(".gz")
    if packed and path.stat().st_size * GZIP_RATIO > max_bytes():
        size = 0
        for block in blocks(path, encoding):
            size += len(block)
            check_size(path, size, "what it unpacks to")
    check_encoding(path, encoding)


def check_encoding(path: Path, encoding: str | None = None) -> None:
    """Refuse a text file that begins with bytes no text has.

    Parameters
    ----------
    path, encoding
        As for `check_text`.
    """
    head = next(blocks(path, encoding), b"")[:_HEAD]
    if b"\0" in head:
        pairs = np.frombuffer(head[: len(head) // 2 * 2], np.uint8).reshape(-1, 2) == 0
        share = pairs.mean(axis=0).tolist()
        wide = {"utf-16-le": share[1] > HALF > share[0], "utf-16-be": share[0] > HALF > share[1]}
        meant = next((name for name, fits in wide.items() if fits), "")
        advice = f"Pass encoding={meant!r} if it is UTF-16" if meant else "Save it as text in UTF-8"
        raise FileError(f"cannot read {str(path)!r}: it holds NUL bytes, which no text has. {advice}.")


def check_depth(path: Path, encoding: str | None = None) -> None:
    """Refuse JSON that is nested deeper than a parser can follow.

    Parameters
    ----------
    path, encoding
        As for `check_text`.
    """
    level = highest = 0
    for block in filter(None, blocks(path, encoding)):
        depth = np.cumsum(_STEPS[np.frombuffer(block, np.uint8)], dtype=np.int64)
        highest = max(highest, level + int(depth.max()))
        level += int(depth[-1])
    if highest <= MAX_DEPTH:
        return
    for line in lines(blocks(path, encoding)):  # brackets within strings may have been counted
        steps = _STEPS[np.frombuffer(_STRING.sub(b"", line), np.uint8)]
        if np.cumsum(steps, dtype=np.int64).max(initial=0) > MAX_DEPTH:
            raise FileError(f"cannot read {str(path)!r}: its JSON is nested more than {MAX_DEPTH} levels deep.")


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
