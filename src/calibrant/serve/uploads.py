"""Uploaded files: each in a folder of its own with a random name, removed when it is dropped or the server ends."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from calibrant.files.formats import ENDINGS, LOGS, format_of
from calibrant.problems import FileError, visible
from calibrant.serve.workers import Busy, Gone

MOST_KEPT = 64
"""Uploads that are kept at once; the oldest go first."""
FULL_SIZED = 10
"""Uploads of the largest size that may lie on the disk at once."""
CHUNK = 1 << 18
LONGEST_NAME = 200


@dataclass(eq=False)
class Upload:
    """A file, and what was made of it; whoever works on it holds the lock."""

    id: str
    name: str
    """what its owner calls it: shown, never a path"""
    path: Path
    size: int
    complete: bool = False
    files: dict[str, Path] = field(default_factory=dict)
    """what can be downloaded, by name"""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def folder(self) -> Path:
        """What is its own."""
        return self.path.parent


class Uploads:
    """The uploads of a server, in a folder that nobody else may enter.

    Parameters
    ----------
    max_bytes
        The largest file.
    most_kept
        Uploads that are kept at once.
    """

    def __init__(self, max_bytes: int, most_kept: int = MOST_KEPT) -> None:
        self.max_bytes, self.most_kept = max_bytes, most_kept
        self.folder = Path(tempfile.mkdtemp(prefix="calibrant-serve-"))
        self.kept: dict[str, Upload] = {}
        self._lock = threading.Lock()

    def receive(self, name: str, size: int, read: Callable[[int], bytes]) -> Upload:
        """Write a file to the disk as it comes: `read` gives up to so many bytes, none at the end.

        Of the name that its owner gave it only the ending is used, if it is a known one.
        """
        shown = visible(re.split(r"[\\/]", name)[-1])[-LONGEST_NAME:]
        upload = self._begun(shown, _ending(shown), size)
        try:
            left = size
            with upload.path.open("xb") as file:
                while left and (block := read(min(left, CHUNK))):
                    left -= file.write(block)
            if left:
                raise Gone
        except BaseException:
            self.drop(upload.id)
            raise
        upload.complete = True
        return upload

    def _begun(self, name: str, ending: str, size: int) -> Upload:
        """A place for one more, for which the oldest that nobody works on make room."""
        with self._lock:
            idle = [each.id for each in self.kept.values() if each.complete and not each.lock.locked()]
            while self.kept and not self._fits(size):
                if not idle:
                    raise Busy("Too many files are being worked on. Try again in a moment.")
                self._remove(idle.pop(0))
            key = secrets.token_urlsafe(24)
            self.kept[key] = Upload(key, name, self.folder / key / f"data{ending}", size)
            self.kept[key].folder.mkdir(mode=0o700)
            return self.kept[key]

    def _fits(self, size: int) -> bool:
        total = size + sum(each.size for each in self.kept.values())
        return len(self.kept) < self.most_kept and total <= FULL_SIZED * self.max_bytes

    def drop(self, key: str) -> None:
        """Forget an upload and remove its folder."""
        with self._lock:
            self._remove(key)

    def _remove(self, key: str) -> None:
        found = self.kept.pop(key, None)
        if found is not None:
            shutil.rmtree(found.folder, ignore_errors=True)

    def find(self, key: object) -> Upload:
        """An upload by its id; an error where there is none."""
        found = self.kept.get(key) if isinstance(key, str) else None
        if found is None or not found.complete:
            raise FileError("This file is not here any more. Drop it again.")
        return found

    @contextmanager
    def held(self, key: object, gone: Callable[[], bool]) -> Iterator[Upload]:
        """An upload on which nobody else works; waits for whoever does, as long as the client is there."""
        upload = self.find(key)
        while not upload.lock.acquire(timeout=0.25):
            if gone():
                raise Gone
        try:
            yield self.find(key)
        finally:
            upload.lock.release()

    def close(self) -> None:
        """Remove everything."""
        with self._lock:
            self.kept.clear()
            shutil.rmtree(self.folder, ignore_errors=True)


def _ending(name: str) -> str:
    """The known ending of a name, the longest if there are several."""
    known = (*ENDINGS, *(ending for endings in LOGS.values() for ending in endings))
    fits = [ending for ending in known if name.lower().endswith(ending)]
    if not fits:
        format_of(Path(name))  # refuses it, in the words of every reader
    return max(fits, key=len)
