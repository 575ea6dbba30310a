"""The bytes of text files as UTF-8, whatever they are written in: a byte-order mark or the caller says so."""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calibrant.problems import FileError, InputError

CHUNK = 1 << 22
UTF8 = "utf-8"
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""What the first bytes of a file declare; that of UTF-32 begins with that of UTF-16."""


def check_encoding_name(given: str | None) -> str | None:
    """The name of a text encoding as Python writes it; None stays None.

    Parameters
    ----------
    given
        What the caller said, such as `latin-1`.
    """
    if given is None:
        return None
    try:
        found = codecs.lookup(given)
        "a".encode(found.name)
    except (LookupError, ValueError, TypeError) as error:
        advice = "Common ones: utf-8, utf-16, latin-1, cp1252, shift_jis"
        raise InputError("encoding", "must name a text encoding", f"it is {given!r}", advice) from error
    return None if found.name in (UTF8, "ascii") else found.name


def declared(path: Path) -> str | None:
    """The encoding that a file's byte-order mark declares, unless it is UTF-8."""
    with opened(path) as file:
        head = file.read(4)
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)


def opened(path: Path) -> Any:
    """A text file as bytes, unpacked if it ends in .gz."""
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")


def blocks(path: Path, encoding: str | None = None) -> Iterator[bytes]:
    """The content of a text file in UTF-8, unpacked if it ends in .gz.

    Parameters
    ----------
    path
        The file.
    encoding
        What it is written in; None: UTF-8, or what its byte-order mark declares.
    """
    encoding = encoding or declared(path)
    with opened(path) as file:
        if encoding is None:
            while block := file.read(CHUNK):
                yield block
            return
        decoder = codecs.getincrementaldecoder(encoding)()
        while block := file.read(CHUNK):
            yield decoder.decode(block).encode()
        yield decoder.decode(b"", final=True).encode()


class Recoded(io.RawIOBase):
    """A text file as a stream of UTF-8."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.parts, self.held = blocks(path, encoding), memoryview(b"")

    def readable(self) -> bool:
        """It is for reading only."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as bytes are at hand."""
        while not self.held:
            part = next(self.parts, None)
            if part is None:
                return 0
            self.held = memoryview(part)
        taken = min(len(buffer), len(self.held))
        buffer[:taken], self.held = self.held[:taken], self.held[taken:]
        return taken


def utf8_source(path: Path, encoding: str | None = None) -> Any:
    """What a library is to read: the path itself, or a stream of UTF-8 where it is written otherwise.

    Parameters
    ----------
    path, encoding
        As for `blocks`.
    """
    encoding = encoding or declared(path)
    return path if encoding is None else io.BufferedReader(Recoded(path, encoding))


def lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of a text that comes in parts, with their ends."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def not_utf8(path: Path) -> FileError:
    """The error for a text that is not UTF-8: the first line that is not, and what reads it."""
    number, line = next(((k, line) for k, line in enumerate(lines(blocks(path)), 1) if not _is_utf8(line)), (0, b""))
    where = "it is not text in UTF-8"
    if number:
        byte = next(byte for byte in line if byte > 127)
        where = (
            f"line {number} is not text in UTF-8 (byte 0x{byte:02x}, {bytes([byte]).decode('latin-1')!r} in Latin-1)"
        )
    return FileError(f"cannot read {str(path)!r}: {where}. Pass encoding='latin-1', or what it was saved in.")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
