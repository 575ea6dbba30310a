"""Pickled logits, as the literature shares them, read without running what a pickle may hold."""

from __future__ import annotations

import pickle
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from calibrant.files.formats import file_errors
from calibrant.files.guards import check_size
from calibrant.predictions import Predictions
from calibrant.problems import FileError
from calibrant.types import Array

KINDS = "fiu"
"""Floats and whole numbers; arrays of anything else are refused."""
EXPECTED = "((logits, labels) of validation rows, (logits, labels) of test rows)"


def read_pickled_logits(path: str | Path) -> tuple[Predictions, Predictions]:
    """Validation and test predictions from a pickle of `((logits, labels), (logits, labels))`.

    The logits of many published networks are shared in this form. A pickle can run any
    program while it is read; here nothing in it is run or imported. Arrays of numbers,
    tuples and lists are read, and anything else is refused.

    Parameters
    ----------
    path
        The file, of any pickle protocol, also from Python 2.

    Examples
    --------
    >>> import pickle, pathlib, tempfile, numpy as np
    >>> from calibrant.files import read_pickled_logits
    >>> path = pathlib.Path(tempfile.mkdtemp(), "resnet_logits.p")
    >>> part = np.array([[2.0, -1.0], [0.5, 1.5]], np.float32), np.array([[0], [1]])
    >>> _ = path.write_bytes(pickle.dumps((part, part)))
    >>> valid, test = read_pickled_logits(path)
    >>> test.n, test.n_classes
    (2, 2)
    """
    path = Path(path)
    with file_errors("read", path):
        check_size(path, path.stat().st_size, "its contents")
        with path.open("rb") as file:
            try:
                content = _Arrays(file, encoding="latin1").load()
            except (pickle.UnpicklingError, EOFError) as error:
                raise FileError(f"cannot read {str(path)!r}: {error or 'it ends too early'}") from error
        parts = [_part(path, each) for each in _pair(path, content)]
    return parts[0], parts[1]


def _pair(path: Path, content: Any) -> tuple[Any, Any]:
    if not isinstance(content, tuple | list) or len(content) != 2:
        raise FileError(f"cannot read {str(path)!r}: it must hold {EXPECTED}")
    return content[0], content[1]


def _part(path: Path, content: Any) -> Predictions:
    """One pair of logits and labels; labels may stand in a column."""
    logits, labels = (each.array() if isinstance(each, _Array) else None for each in _pair(path, content))
    if logits is None or labels is None:
        raise FileError(f"cannot read {str(path)!r}: it must hold {EXPECTED}, as arrays of numbers")
    return Predictions.from_logits(labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels, logits)


class _Array:
    """What a pickle says of an array: taken as data, never built by the pickle."""

    def __init__(self, *made: Any) -> None:
        self._state: Any = made

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def array(self) -> Array:
        """The array, if what was said is that of an array of numbers."""
        if len(self._state) == 4:  # protocol 5: buffer, dtype, shape, order
            content, dtype, shape, order = self._state
            by_column = order == "F"
        else:
            _, shape, dtype, by_column, content = self._state
        content = content.encode("latin1") if isinstance(content, str) else content
        if not isinstance(content, bytes | bytearray) or not isinstance(dtype, _Dtype):
            raise pickle.UnpicklingError("an array in it holds no plain numbers")
        flat = np.frombuffer(content, dtype.dtype())
        if not isinstance(shape, tuple) or prod(shape) != len(flat):
            raise pickle.UnpicklingError("an array in it has another number of values than its shape")
        return flat.reshape(shape, order="F" if by_column else "C")


class _Dtype:
    """What a pickle says of the type of an array's numbers."""

    def __init__(self, name: Any = "", *_: Any) -> None:
        self._name, self._order = name, "|"

    def __setstate__(self, state: Any) -> None:
        self._order = state[1]

    def dtype(self) -> np.dtype[Any]:
        """The type, if it is one of plain numbers."""
        name = self._name.decode("ascii", "replace") if isinstance(self._name, bytes) else self._name
        if not (isinstance(name, str) and len(name) == 2 and name[0] in KINDS and name[1] in "1248"):
            raise pickle.UnpicklingError(f"an array in it is of type {name!r}, not of plain numbers")
        return np.dtype(("<" if self._order in ("<", "|", "=") else ">") + name)


def _reconstructed(*_: Any) -> _Array:
    return _Array()


def _encoded(text: Any, encoding: Any = "latin1") -> bytes:
    """Bytes, as Python 3 writes them for the protocols of Python 2."""
    if not isinstance(text, str) or encoding != "latin1":
        raise pickle.UnpicklingError("bytes in it are not encoded as latin1")
    return text.encode("latin1")


ALLOWED = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encoded,
} | {
    (f"numpy.{core}.{module}", name): stand_in
    for core in ("core", "_core")
    for module, name, stand_in in (("multiarray", "_reconstruct", _reconstructed), ("numeric", "_frombuffer", _Array))
}


class _Arrays(pickle.Unpickler):
    """Reads arrays of numbers; names stand for our own classes, and no other name is looked up."""

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a name, if it is one that arrays need."""
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it calls {module}.{name}, which is no array; nothing of it was run")
        return ALLOWED[module, name]

    def persistent_load(self, pid: Any) -> NoReturn:  # noqa: ARG002  (the name that pickle gives)
        """Nothing outside the file is loaded."""
        raise pickle.UnpicklingError("it refers to data outside the file")
