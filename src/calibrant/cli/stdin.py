"""Standard input as a file: `-` in place of a name."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import zlib
from pathlib import Path
from shutil import copyfileobj
from typing import Any

import click

from calibrant.problems import FileError

NAME = "standard input"
DASH = "-"
"""What stands for it in a command."""
HEAD = 1 << 23
"""Bytes that tell the format; a first line of JSON must fit."""
_ENDINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": ".arrow", b"PK\x03\x04": ".npz"}
"""By the first bytes."""
_KEPT = "calibrant.stdin"
"""Where the context keeps the path of what was read."""


class Input(click.Path):
    """A file to read; `-` is standard input, which is kept in a temporary file until the command ends."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; that of the temporary file for `-`."""
        if str(value) != DASH or ctx is None:
            return super().convert(value, param, ctx)
        if ctx.resilient_parsing:
            return Path(DASH)
        if _KEPT in ctx.meta:
            self.fail("standard input can be read once only.", param, ctx)
        head = sys.stdin.buffer.read(HEAD)
        if not head:
            raise FileError(f"cannot read {NAME}: it is empty.")
        folder = tempfile.TemporaryDirectory(prefix="calibrant-")
        ctx.find_root().call_on_close(folder.cleanup)
        path = Path(folder.name, f"stdin{ending(head)}")
        with path.open("wb") as file:
            file.write(head)
            copyfileobj(sys.stdin.buffer, file)
        ctx.meta[_KEPT] = str(path)
        return path


def ending(content: bytes) -> str:
    """The ending of a file's name that tells what its content is: CSV unless it begins otherwise.

    Parameters
    ----------
    content
        How it begins.
    """
    if content.startswith(b"\x1f\x8b"):
        try:
            return ending(zlib.decompressobj(wbits=31).decompress(content, HEAD)) + ".gz"
        except zlib.error as error:
            raise FileError(f"cannot read {NAME}: it is damaged ({error})") from error
    known = next((found for first, found in _ENDINGS.items() if content.startswith(first)), None)
    if known is not None:
        return ".eval" if known == ".npz" and b"samples/" in content and b".npy" not in content else known
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = content.decode("utf-16" if wide else "utf-8", "replace").lstrip("\ufeff \r\n\t")
    line = text.split("\n", 1)[0]
    if text.startswith(("{", "[")):
        try:
            first = json.loads(line)
        except ValueError:
            return ".json"  # one document over several lines
        saved = isinstance(first, dict) and "kind" in first and "schema" in first
        return ".json" if isinstance(first, list) or saved else ".jsonl"
    return ".tsv" if "\t" in line and not re.search("[,;]", line) else ".csv"


def shown(text: str, name: str = NAME) -> str:
    """A text in which the temporary file is called standard input.

    Parameters
    ----------
    text
        An error text, or a path.
    name
        What it is called.
    """
    ctx = click.get_current_context(silent=True)
    kept = None if ctx is None else ctx.meta.get(_KEPT)
    return text if kept is None else text.replace(repr(kept), name).replace(kept, name)
