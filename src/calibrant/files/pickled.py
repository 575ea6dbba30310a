"""Pickled logits, as the literature shares them, read as data: no unpickler runs, and nothing is imported or called.

A pickle is a program for a small stack machine. The few instructions that write tuples,
lists and arrays of numbers are carried out here, on stand-ins of our own; any other
instruction, and any name but those that arrays need, is refused.
"""

from __future__ import annotations

import io
import pickletools
from math import prod
from pathlib import Path
from typing import Any

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

    The logits of many published networks are shared in this form. An unpickler runs what
    a file tells it to; none is used here, and nothing in the file is run or imported.
    Arrays of numbers, tuples and lists are read, and anything else is refused.

    Parameters
    ----------
    path
        The file, of any pickle protocol of Python 3, or of 1 and 2 of Python 2.

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
        try:
            content = _content(path.read_bytes())
        except _Refused as error:
            raise FileError(f"cannot read {str(path)!r}: {error}") from error
        parts = [_part(path, each) for each in _pair(path, content)]
    return parts[0], parts[1]


class _Refused(ValueError):
    """What stands in the file is not what this module reads."""


def _pair(path: Path, content: Any) -> tuple[Any, Any]:
    if not isinstance(content, tuple | list) or len(content) != 2:
        raise FileError(f"cannot read {str(path)!r}: it must hold {EXPECTED}")
    return content[0], content[1]


def _part(path: Path, content: Any) -> Predictions:
    """One pair of logits and labels; labels may stand in a column."""
    try:
        logits, labels = (each.array() if isinstance(each, _Array) else None for each in _pair(path, content))
    except _Refused as error:
        raise FileError(f"cannot read {str(path)!r}: {error}") from error
    if logits is None or labels is None:
        raise FileError(f"cannot read {str(path)!r}: it must hold {EXPECTED}, as arrays of numbers")
    return Predictions.from_logits(labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels, logits)


class _Array:
    """What a pickle says of an array: taken as data, never built by the pickle."""

    def __init__(self, *made: Any) -> None:
        self.state: Any = made

    def array(self) -> Array:
        """The array, if what was said is that of an array of numbers."""
        if not isinstance(self.state, tuple) or len(self.state) not in (4, 5):
            raise _Refused("an array in it is incomplete")
        if len(self.state) == 4:  # protocol 5: buffer, dtype, shape, order
            content, dtype, shape, order = self.state
            by_column = order == "F"
        else:
            _, shape, dtype, by_column, content = self.state
        content = content.encode("latin1") if isinstance(content, str) else content
        if not isinstance(content, bytes | bytearray) or not isinstance(dtype, _Dtype):
            raise _Refused("an array in it holds no plain numbers")
        flat = np.frombuffer(content, dtype.dtype())
        known = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
        if not known or prod(shape) != len(flat):
            raise _Refused("an array in it has another number of values than its shape")
        return flat.reshape(shape, order="F" if by_column else "C")


class _Dtype:
    """What a pickle says of the type of an array's numbers."""

    def __init__(self, name: Any = "", *_: Any) -> None:
        self.name, self.state = name, (0, "|")

    def dtype(self) -> np.dtype[Any]:
        """The type, if it is one of plain numbers."""
        name = self.name.decode("ascii", "replace") if isinstance(self.name, bytes) else self.name
        if not (isinstance(name, str) and len(name) == 2 and name[0] in KINDS and name[1] in "1248"):
            raise _Refused(f"an array in it is of type {name!r}, not of plain numbers")
        big = isinstance(self.state, tuple) and self.state[1:2] == (">",)
        return np.dtype((">" if big else "<") + name)


def _reconstructed(*_: Any) -> _Array:
    return _Array()


def _encoded(text: Any, encoding: Any = "latin1") -> bytes:
    """Bytes, as Python 3 writes them for the protocols of Python 2."""
    if not isinstance(text, str) or encoding != "latin1":
        raise _Refused("bytes in it are not encoded as latin1")
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


VALUES = frozenset(
    [
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "BINSTRING",
        "SHORT_BINSTRING",
        "UNICODE",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE8",
        "BINBYTES",
        "SHORT_BINBYTES",
        "BINBYTES8",
        "BYTEARRAY8",
    ]
)
"""Instructions that push what they hold."""
CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MARK = object()


def _content(data: bytes) -> Any:
    """What a pickle of tuples, lists and arrays holds."""
    machine = _Machine()
    try:
        for instruction, argument, _ in pickletools.genops(io.BytesIO(data)):
            if instruction.name == "STOP":
                return machine.stack.pop()
            machine.do(instruction.name, argument)
    except _Refused:
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise _Refused(f"it is damaged ({error})") from error
    raise _Refused("it ends too early")


class _Machine:
    """Carries out the instructions that tuples, lists and arrays of numbers need."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def do(self, name: str, argument: Any) -> None:
        """One instruction."""
        if name in VALUES:
            self.stack.append(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in SHORT_TUPLES:
            self.stack.append(tuple(self.popped(SHORT_TUPLES[name])))
        elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if name == "MEMOIZE" else argument] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif name in OTHERS:
            OTHERS[name](self, argument)
        elif name not in ("PROTO", "FRAME"):
            raise _Refused(f"it holds the instruction {name}, which no array needs; nothing of it was run")

    def popped(self, count: int) -> list[Any]:
        """The last so many values."""
        found = [self.stack.pop() for _ in range(count)]
        return found[::-1]

    def marked(self) -> list[Any]:
        """The values since the last mark."""
        found = []
        while (value := self.stack.pop()) is not _MARK:
            found.append(value)
        return found[::-1]

    def append(self, values: list[Any]) -> None:
        """To the list on top."""
        if not isinstance(self.stack[-1], list):
            raise _Refused("it appends to something that is no list")
        self.stack[-1].extend(values)

    def name(self, module: Any, name: Any) -> None:
        """A name stands for one of our own, and no other name is looked up."""
        if (module, name) not in ALLOWED:
            raise _Refused(f"it calls {module}.{name}, which is no array; nothing of it was run")
        self.stack.append(ALLOWED[module, name])

    def make(self) -> None:
        """A stand-in from its arguments."""
        maker, arguments = self.popped(2)
        if maker not in ALLOWED.values() or not isinstance(arguments, tuple):
            raise _Refused("it calls something that is no array; nothing of it was run")
        self.stack.append(maker(*arguments))

    def complete(self) -> None:
        """The rest of what is said of an array or its type."""
        state = self.stack.pop()
        if not isinstance(self.stack[-1], _Array | _Dtype):
            raise _Refused("it changes something that is no array; nothing of it was run")
        self.stack[-1].state = state


OTHERS: dict[str, Any] = {
    "MARK": lambda machine, _: machine.stack.append(_MARK),
    "POP": lambda machine, _: machine.stack.pop(),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.marked())),
    "LIST": lambda machine, _: machine.stack.append(machine.marked()),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "APPEND": lambda machine, _: machine.append(machine.popped(1)),
    "APPENDS": lambda machine, _: machine.append(machine.marked()),
    "GLOBAL": lambda machine, argument: machine.name(*argument.split(" ", 1)),
    "STACK_GLOBAL": lambda machine, _: machine.name(*machine.popped(2)),
    "REDUCE": lambda machine, _: machine.make(),
    "BUILD": lambda machine, _: machine.complete(),
}
"""Instructions that change the stack otherwise."""
