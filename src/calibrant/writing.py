"""Files written whole or not at all, never over a file of another kind."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calibrant._names import RECORDS
from calibrant.problems import FileError

_HEAD = 1 << 12
"""Bytes at the beginning of a file by which its kind is known."""
_JSON = re.compile(rb'\s*\{\s*"schema":\s*\d+,\s*"(\w+)":\s*(?:"(\w+)")?')
_KINDS = {"maps": "map", "monitor": "monitor state"}
"""What a record of these packages is saved as; all others are parts of reports."""


def check_target(
    path: str | Path,
    what: str,
    *,
    endings: tuple[str, ...] = (),
    overwrite: bool = False,
    replace: bool = True,
    kept: tuple[Path, ...] = (),
) -> Path:
    """The file to write, links followed; refused before any work is done for it.

    Parameters
    ----------
    path
        The file.
    what
        What is to be written: "map", "state", "monitor state", "report", "model" or
        "file of predictions".
    endings
        The endings it may have; any if empty.
    overwrite
        May any file be replaced, also one of another kind or one of those `kept`?
    replace
        May a file of the same kind be replaced?
    kept
        Files that are read, such as the predictions that a report is about.
    """
    target, name = _place(path, what), str(path)
    if endings and not Path(path).name.lower().endswith(endings):
        suffix = Path(path).suffix.lower()
        found = f"it ends in {suffix!r}" if suffix else "it has no ending"
        known = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
        raise FileError(f"a {what} must end in {known}; {name!r} does not: {found}")
    refused = f"cannot write the {what} {name!r}"
    if target.is_dir():
        raise FileError(f"{refused}: it is a folder")
    if not target.parent.is_dir():
        raise FileError(f"{refused}: there is no such folder")
    if not os.access(target if target.exists() else target.parent, os.W_OK) or (
        target.is_file() and not os.access(target.parent, os.W_OK)
    ):
        raise FileError(f"{refused}: it may not be written (permission denied)")
    if overwrite or not target.is_file():
        return target
    advice = "Choose another name, or pass overwrite=True."
    if any(each.exists() and each.samefile(target) for each in kept):
        raise FileError(f"{name!r} is read by the same command. {advice}")
    found = kind_of(target)
    if found != "nothing" and not (found == what and replace):
        holds = "" if found in (what, "other data") else f" and holds a {found}"
        raise FileError(f"{name!r} exists already{holds}. {advice}")
    return target


def _place(path: str | Path, what: str) -> Path:
    """The file that a path leads to, refused where the system has no such names."""
    try:
        target = Path(os.path.realpath(path))
        target.is_dir()
    except (OSError, ValueError) as error:  # too long, or with a NUL
        raise FileError(f"cannot write the {what} {str(path)!r:.80}: {getattr(error, 'strerror', error)}") from error
    return target


def kind_of(path: str | Path) -> str:
    """What a file holds, by its first bytes: "map", "report" and so on, "nothing", or "other data".

    Parameters
    ----------
    path
        A file that exists.
    """
    with Path(path).open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        return "nothing"
    if head[:15].lower() == b"<!doctype html>" and b'content="calibrant"' in head:
        return "report"
    if head[:1] == b"\x08" and b"\x12\x09calibrant" in head[:16]:  # the producer of an ONNX model
        return "model"
    if head[:6] == b"ARROW1":
        return _kind_of_arrow(path)
    found = _JSON.match(head)
    if found is None:
        return "other data"
    key, record = (part.decode() if part else "" for part in found.groups())
    if key != "kind":
        return "report"
    if record == "State":
        return "state"
    home = RECORDS.get(record)
    return "other data" if home is None else _KINDS.get(home.split(".")[0], "report")


def _kind_of_arrow(path: str | Path) -> str:
    import pyarrow as pa

    try:
        with pa.OSFile(str(path), "rb") as source:
            metadata = pa.ipc.open_file(source).schema.metadata or {}
    except (pa.ArrowInvalid, OSError):
        return "other data"
    return "state" if b"calibrant.state" in metadata else "other data"


@contextmanager
def whole_or_nothing(path: str | Path, what: str, *, overwrite: bool = False) -> Iterator[Path]:
    """A path to write to; what stands there takes the place of `path` when all of it is on the disk.

    Until then the old file stays as it is: on a failure, on a full disk, and if the process
    is killed.

    Parameters
    ----------
    path
        The file.
    what
        As in `check_target`.
    overwrite
        As in `check_target`.
    """
    target = check_target(path, what, overwrite=overwrite)
    try:
        if target.exists() and not target.is_file():  # a pipe or a device, which nothing may replace
            from tempfile import TemporaryDirectory

            with TemporaryDirectory() as folder:
                yield (partial := Path(folder, target.name))
                with target.open("wb") as device:
                    device.write(partial.read_bytes())
            return
        partial = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")
        try:
            yield partial
            if target.exists():
                partial.chmod(target.stat().st_mode & 0o7777)
            _to_disk(partial)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        if os.name == "posix":
            _to_disk(target.parent)
    except FileError:
        raise
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise FileError(f"cannot write the {what} {str(path)!r}: {reason}") from error


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str | Path, text: str, what: str, *, overwrite: bool = False) -> None:
    """A text file in UTF-8 that ends in one line break, written whole or not at all.

    Parameters
    ----------
    path
        The file.
    text
        Its content.
    what
        What the file is: `"report"`; as in `check_target`.
    overwrite
        As in `check_target`.
    """
    content = (text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace")
    with whole_or_nothing(path, what, overwrite=overwrite) as partial:
        partial.write_bytes(content)


@contextmanager
def locked(path: str | Path, seconds: float = 60.0) -> Iterator[None]:
    """Hold a file for reading, changing and writing it, while other processes wait.

    A file `.NAME.lock` beside it is locked, and removed at the end. The system frees the
    lock of a process that is killed. Where there are no such locks (Windows) the file itself
    is the lock, and one that was left behind has to be removed.

    Parameters
    ----------
    path
        The file.
    seconds
        How long to wait for others.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    try:
        handle = _acquired(lock, seconds)
    except OSError as error:
        raise FileError(f"cannot lock {str(path)!r}: {error.strerror or error}") from error
    if handle is None:
        raise FileError(
            f"{str(path)!r} is being changed by another process. Try again; if none is, remove {str(lock)!r}."
        )
    try:
        yield
    finally:
        if os.name == "posix":
            lock.unlink(missing_ok=True)  # while it is held, so that nobody else's is removed
            os.close(handle)
        else:
            os.close(handle)
            lock.unlink(missing_ok=True)


def _acquired(lock: Path, seconds: float) -> int | None:
    """The handle of the lock, or None if others held it all the time."""
    from time import monotonic, sleep

    end = monotonic() + seconds
    while True:
        handle = _try_lock(lock)
        if handle is not None or monotonic() > end:
            return handle
        sleep(0.02)


def _try_lock(lock: Path) -> int | None:
    try:
        import fcntl
    except ImportError:
        try:
            return os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return None
    handle = os.open(lock, os.O_CREAT | os.O_WRONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == os.stat(lock).st_ino:  # nobody removed it in between
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(handle)
        raise
    os.close(handle)
    return None
