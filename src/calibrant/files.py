"""Predictions from files, and repaired probabilities back into them.

The format follows from the name: `.csv`, `.tsv`, `.jsonl`, `.ndjson` (each also with `.gz`), `.parquet`, `.pq`, `.arrow`,
`.feather`, `.ipc`, `.npz`. Only the columns needed are read. They are found by name, whatever the case, or given.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant import inputs
from calibrant.inputs import listed
from calibrant.predictions import Predictions
from calibrant.problems import CalibrantError, FileError, InputError

NAMES: dict[str, tuple[str, ...]] = {
    "label": ("label", "labels", "y", "y_true", "target", "truth", "outcome", "class", "correct"),
    "probs": ("probs", "prob", "proba", "probability", "probabilities", "p", "y_prob", "y_proba"),
    "logits": ("logits", "logit"),
    "confidence": ("conf", "confidence"),
    "pred": ("pred", "prediction", "predicted", "y_pred"),
    "weights": ("weight", "weights", "sample_weight"),
    "groups": ("group", "groups"),
}
"""The column names known for each role. `probs` and `logits` also know families: `prob_cat`, `logit_0`, `p1` and so on."""

NONE = "none"
"""Said instead of a column's name: leave this role empty, whatever the columns are called."""

_FAMILIES = {
    "probs": re.compile(r"(probs?|proba|probability|y_proba?|p(?=[_. -]?\d+$))(?:[_. -](.+)|(\d+))", re.IGNORECASE),
    "logits": re.compile(r"(logits?)(?:[_. -](.+)|(\d+))", re.IGNORECASE),
}
_FORMATS = {
    "CSV": (".csv", ".tsv"),
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".arrow", ".feather", ".ipc"),
    "NPZ": (".npz",),
    "JSON lines": (".jsonl", ".ndjson"),
}
_TEXT = ("CSV", "JSON lines")
_FIRST_BYTES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",  # as a stream
    b"PK\x03\x04": "NPZ",
    b"\x1f\x8b": "gzip",
}
_ROWS_AT_ONCE = 1 << 14
_JSON_BLOCK = 1 << 26
"""Bytes of JSON read at once. A row must fit; one of 10,000 classes takes a quarter of a megabyte."""


class UnknownColumn(InputError):
    """A column was asked for that the file does not have."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a file play which role."""

    said: tuple[str, ...]
    """the columns of probabilities or logits"""
    logits: bool = False
    classes: tuple[str, ...] | None = None
    """the class that each of several columns is named after"""
    label: str | None = None
    pred: str | None = None
    """the predicted class: the event is then that it equals the label"""
    weights: str | None = None
    groups: str | None = None

    @property
    def used(self) -> tuple[str, ...]:
        """Every column to read, once."""
        others = (self.label, self.pred, self.weights, self.groups)
        return tuple(dict.fromkeys([*self.said, *(name for name in others if name is not None)]))

    @property
    def shown(self) -> str:
        """The columns of probabilities or logits in a few words."""
        return repr(self.said[0]) if len(self.said) == 1 else f"{self.said[0]!r} … {self.said[-1]!r}"

    def __str__(self) -> str:
        truth = self.label and (f"{self.pred!r} = {self.label!r}" if self.pred else repr(self.label))
        rest = {"weights": self.weights and repr(self.weights), "groups": self.groups and repr(self.groups)}
        found = {"labels": truth, "logits" if self.logits else "probabilities": self.shown, **rest}
        return ", ".join(f"{role} from {words}" for role, words in found.items() if words)


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said in a file, whatever happened later."""

    path: Path
    columns: Columns
    values: NDArray[Any]
    classes: tuple[Any, ...] | None
    """the classes of the columns, if the file or the caller names them"""


def read(
    path: str | Path,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    logits: str | Sequence[str] | None = None,
    pred: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
    classes: str | Iterable[Any] | None = None,
    normalize: bool = False,
    soft: bool = False,
) -> Predictions:
    """Predictions from a CSV, Parquet, Arrow/Feather, NPZ or JSON-lines file.

    Parameters
    ----------
    label
        The column of what happened, if it is not called `label`, `y_true`, `target` or the like.
    probs, logits
        What the model said: one column (of numbers, or of lists with a number for each class), several in a list or joined
        by commas, a prefix, or a pattern such as `"prob_*"`. If neither is given and both are found, probabilities are used.
    pred
        The predicted class beside a column of confidences: the event is that the prediction is right. Found beside `conf`
        and `confidence`.
    weights, groups
        As in `Predictions`. Columns called `weight` and `group` are used; `"none"` leaves them.
    classes
        The classes in the order of the columns; for one column `(negative, positive)`. Columns such as `prob_cat` name
        their classes themselves. Labels that are numbers, where classes are names, are positions among the classes.
    normalize, soft
        As in `Predictions`.

    Examples
    --------
    >>> import calibrant as cal, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "animals.csv")
    >>> _ = path.write_text("label,prob_cat,prob_dog\\ncat,0.8,0.2\\ndog,0.4,0.6\\n")
    >>> cal.Predictions.read(path).classes
    ('cat', 'dog')
    """
    columns = {"label": label, "probs": probs, "logits": logits, "pred": pred, "weights": weights, "groups": groups}
    return read_with_columns(path, classes=classes, normalize=normalize, soft=soft, **columns)[0]


def read_with_columns(
    path: str | Path, *, classes: Any = None, normalize: bool = False, soft: bool = False, **columns: Any
) -> tuple[Predictions, Columns]:
    """The predictions in a file and the columns they come from; options as for `read`."""
    store = _open(Path(path))
    order = _split(classes)
    chosen = choose(store.names, str(path), classes=order, **columns)
    with worded(str(path), chosen):
        found = _load(store, chosen)
        said = _stacked(found, chosen)
        labels = _truth(found, chosen)
        order = None if chosen.pred else order or chosen.classes
        labels, declared = _matched(labels, order, said, soft)
        options: dict[str, Any] = {"classes": declared, "soft": soft}
        options |= {role: found[name] for role in ("weights", "groups") if (name := getattr(chosen, role))}
        if chosen.logits:
            predictions = Predictions.from_logits(labels, said, **options)
        else:
            predictions = Predictions(labels, said, normalize=normalize, **options)
    if order is not None and declared is None:
        predictions.classes = order  # labels are positions; these are the names
    return predictions, chosen


def read_said(
    path: str | Path, *, probs: Any = None, logits: Any = None, classes: Any = None, normalize: bool = False
) -> Said:
    """What the model said in a file that need not hold labels; options as for `read`."""
    store = _open(Path(path))
    order = _split(classes)
    chosen = choose(store.names, str(path), label=NONE, probs=probs, logits=logits, classes=order)
    with worded(str(path), chosen):
        values = inputs.floats(_stacked(_load(store, chosen), chosen), "logits" if chosen.logits else "probs")
        if chosen.logits:
            inputs.check_finite(values, "logits")
        else:
            inputs.check_probabilities(values)
            values = inputs.check_row_sums(values, normalize) if values.ndim == 2 else values
    return Said(Path(path), chosen, values, order or chosen.classes)


def write(path: str | Path, said: Said, probs: NDArray[Any], *, overwrite: bool = False) -> None:
    """The file that `said` came from, all its columns kept, with `probs` in place of what the model said.

    Columns of logits give way to columns of probabilities: `logit_cat` becomes `prob_cat`.
    """
    target = Path(path)
    form = _format(target)
    if target.exists() and not overwrite:
        raise FileError(f"{str(path)!r} exists already. Choose another name, or pass overwrite=True.")
    store = _open(said.path)
    _check_distinct(store, store.names)
    keep_text = form == store.format == "CSV"  # so that 007 stays 007
    with _telling("read", said.path):
        table = store.load(store.names, [n for n in store.names if n not in said.columns.said] if keep_text else [])
    columns = _replaced(store.names, table, _new_columns(said, probs, expand=form == "CSV"))
    with _telling("write", target), _whole_or_nothing(target) as partial:
        if form == "NPZ":
            _save_npz(partial, columns)
        else:
            _save_table(partial, target, form, columns, getattr(table, "schema", None))


# Which columns?


def choose(
    names: Sequence[str],
    file: str,
    *,
    label: str | None = None,
    probs: Any = None,
    logits: Any = None,
    pred: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
    classes: tuple[Any, ...] | None = None,
) -> Columns:
    """The role of each column, from their names and what the caller says; `file` is for error texts."""
    if probs is not None and logits is not None:
        raise InputError("probs", "and logits cannot both be given", advice="Name the one to use")
    kind, said, suffixes = _find_said(names, file, probs, logits)
    if classes is not None and suffixes is not None and {str(c) for c in classes} == set(suffixes):
        said = tuple(said[suffixes.index(str(c))] for c in classes)
        suffixes = tuple(str(c) for c in classes)
    truth = _find("label", label, names, file)
    if truth is None and label != NONE:
        raise _nothing_found(names, file, "for the labels", "label='NAME'")
    confident = kind == "confidence" or _key(said[0]) in NAMES["confidence"]
    if pred is None and (not confident or truth is None or _key(truth) == "correct"):
        pred = NONE
    return Columns(
        said,
        kind == "logits",
        suffixes,
        truth,
        _find("pred", pred, names, file),
        None if truth is None else _find("weights", weights, names, file),
        None if truth is None else _find("groups", groups, names, file),
    )


def _find(role: str, given: str | None, names: Sequence[str], file: str) -> str | None:
    """The one column of a role, or None."""
    if given is not None:
        name = _named(given, names)
        if name is None and given != NONE:
            raise UnknownColumn(role, f"must name a column of {file}", f"{given!r} is not among {listed(names)}")
        return name
    found = [name for name in names if _key(name) in NAMES[role]]
    if len(found) > 1:
        raise _several(role, found, file)
    return found[0] if found else None


class _Candidate(NamedTuple):
    kind: str
    said: tuple[str, ...]
    suffixes: tuple[str, ...] | None = None


def _find_said(names: Sequence[str], file: str, probs: Any, logits: Any) -> _Candidate:
    """The columns of probabilities; failing these, of logits; failing these, of confidences."""
    for kind, given in (("probs", probs), ("logits", logits)):
        if given is not None:
            return _given(kind, given, names, file)
    for kind in ("probs", "logits", "confidence"):
        found = [_Candidate(kind, (name,)) for name in names if _key(name) in NAMES[kind]]
        if kind in _FAMILIES:
            found += _families(kind, names)
        if len(found) > 1:
            raise _several("probs" if kind == "confidence" else kind, [c.said[0] for c in found], file)
        if found:
            return found[0]
    raise _nothing_found(names, file, "for probabilities or logits", "probs='NAME', probs='PREFIX_*' or logits=")


def _families(kind: str, names: Sequence[str]) -> list[_Candidate]:
    """Columns such as prob_cat and prob_dog, by what they begin with."""
    members: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        found = _FAMILIES[kind].fullmatch(name.strip())
        if found:
            members.setdefault(found[1].lower(), []).append((name, found[2] or found[3]))
    return [_family(kind, pairs) for pairs in members.values()]


def _family(kind: str, pairs: list[tuple[str, str]], *, ordered: bool = False) -> _Candidate:
    """Names with their suffixes; numbers in the order of counting, unless the caller gave the order."""
    if not ordered and all(suffix.isdecimal() for _, suffix in pairs):
        pairs = sorted(pairs, key=lambda pair: int(pair[1]))
    names, suffixes = zip(*pairs, strict=True)
    return _Candidate(kind, names, suffixes if len(names) > 1 else None)


def _given(kind: str, given: Any, names: Sequence[str], file: str) -> _Candidate:
    """The columns that a name, a list, a prefix or a pattern stands for."""
    if isinstance(given, str):
        name = _named(given, names)
        if name is not None:
            return _Candidate(kind, (name,))
        if "," not in given:
            pattern = given.lower() if re.search(r"[*?\[]", given) else given.lower() + "*"
            start = len(re.split(r"[*?\[]", pattern)[0])
            pairs = [(n, n.strip()[start:].lstrip("_. -")) for n in names if fnmatchcase(_key(n), pattern)]
            if not pairs:
                raise _unknown(kind, given, names, file)
            return _family(kind, pairs)
        given = given.split(",")
    found = [(_named(part, names), part) for part in given]
    for name, part in found:
        if name is None:
            raise _unknown(kind, part, names, file)
    chosen = [str(name) for name, _ in found]
    return _family(kind, list(zip(chosen, _suffixes(chosen), strict=True)), ordered=True)


def _suffixes(names: Sequence[str]) -> list[str]:
    """What tells names apart, after the last separator they share: prob_cat and prob_cow are cat and cow."""
    first, last = min(names), max(names)
    same = next((k for k, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    cut = max(first[:same].rfind(mark) for mark in "_. -") + 1
    numbers = [re.fullmatch(r"\D*(\d+)", name[cut:]) for name in names]
    return [found[1] for found in numbers if found] if all(numbers) else [name[cut:] for name in names]


def _named(given: str, names: Sequence[str]) -> str | None:
    """The column of that name, or the only one that differs from it in case."""
    alike = [given] if given in names else [name for name in names if _key(name) == _key(given)]
    return alike[0] if len(alike) == 1 else None


def _key(name: str) -> str:
    return name.strip().lower()


def _several(role: str, found: Sequence[str], file: str) -> FileError:
    return FileError(f"{file} has several columns for {role}: {listed(found)}. Say which: {role}={found[0]!r}.")


def _unknown(kind: str, given: str, names: Sequence[str], file: str) -> UnknownColumn:
    return UnknownColumn(kind, f"must name columns of {file}", f"{given!r} fits none of {listed(names)}")


def _nothing_found(names: Sequence[str], file: str, purpose: str, option: str) -> FileError:
    text = f"{file} has no column that is named {purpose}; it has {listed(names)}."
    if all(re.fullmatch(r"[-+.\deE]+", name) for name in names):
        return FileError(f"{text} The first line seems to hold data: add a header such as label,prob.")
    return FileError(f"{text} Say which: {option}.")


# From columns to predictions


def _split(classes: Any) -> tuple[Any, ...] | None:
    if classes is None:
        return None
    parts = [part.strip() for part in classes.split(",")] if isinstance(classes, str) else classes
    return tuple(part.item() if isinstance(part, np.generic) else part for part in parts)


def _load(store: _Store, chosen: Columns) -> dict[str, NDArray[Any]]:
    _check_distinct(store, chosen.used)
    with _telling("read", store.path):
        table = store.load(chosen.used, [])
        found = {name: _values(table[name], name) for name in chosen.used}
    if not len(found[chosen.said[0]]):
        raise FileError(f"cannot read {str(store.path)!r}: it holds no rows.")
    return found


def _check_distinct(store: _Store, wanted: Iterable[str]) -> None:
    for name in wanted:
        if store.names.count(name) > 1:
            raise FileError(f"{str(store.path)!r} has several columns called {name!r}. Rename all but one.")


def _values(column: Any, name: str, per_row: int = 1) -> NDArray[Any]:
    """An Arrow column as `(n,)`, or `(n, K)` if it holds lists, of which `per_row` make a row; a NumPy array as it is."""
    if isinstance(column, np.ndarray):
        return column
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    array = array.cast(_plain_type(array.type))
    _check_filled(array, name, per_row)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        return _rows_of_lists(array, name)
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def _plain_type(found: Any) -> Any:
    """Decimals as floats, the many ways to store text as one, categories as what they stand for."""
    import pyarrow as pa

    if pa.types.is_dictionary(found):
        return _plain_type(found.value_type)
    if pa.types.is_decimal(found):
        return pa.float64()
    text = {"string", "binary", "large_binary", "binary_view", "string_view"}
    return pa.large_string() if str(found) in text else found


def _check_filled(array: Any, name: str, per_row: int) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    blank = pc.is_null(array) if array.null_count else None
    if blank is None and array.type == pa.large_string():
        blank = pc.equal(array, "")  # how CSV says that nothing is there
    row = -1 if blank is None else pc.index(blank, True).as_py() // per_row
    if row >= 0:
        raise InputError(
            f"column {name!r}", "must not hold missing values", f"row {row} is empty", "Drop or fill such rows"
        )


def _rows_of_lists(array: Any, name: str) -> NDArray[Any]:
    import pyarrow.compute as pc

    lengths = pc.list_value_length(array).to_numpy(zero_copy_only=False)
    odd = lengths != lengths[:1]
    if odd.any():
        row = int(np.argmax(odd))
        found = f"row 0 has {lengths[0]} numbers, row {row} has {lengths[row]}"
        raise InputError(f"column {name!r}", "must hold lists of one length", found)
    length = int(lengths[0]) if len(array) else 0
    inner = _values(array.flatten(), name, max(length, 1))
    return inner.reshape(len(array), length, *inner.shape[1:])


def _stacked(found: dict[str, NDArray[Any]], chosen: Columns) -> NDArray[Any]:
    """What the model said: `(n,)` or `(n, K)`."""
    argument = "logits" if chosen.logits else "probs"
    parts = [inputs.floats(found[name], argument) for name in chosen.said]
    if len({part.shape for part in parts}) > 1:
        raise InputError(argument, "must have as many rows in every column")
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)


def _truth(found: dict[str, NDArray[Any]], chosen: Columns) -> NDArray[Any]:
    """The labels, or whether the predicted class equals them."""
    labels = found[chosen.label or ""]
    if chosen.pred is None:
        return labels
    said = found[chosen.pred]
    if (labels.dtype.kind in "OUS") != (said.dtype.kind in "OUS") or labels.shape != said.shape:
        raise InputError(
            "labels",
            f"must hold classes as column {chosen.pred!r} does",
            f"one holds {labels.item(0)!r}, the other {said.item(0)!r}",
            "Pass pred='none' if it is not the predicted class",
        )
    right: NDArray[Any] = labels == said
    return right


def _matched(
    labels: NDArray[Any], classes: tuple[Any, ...] | None, said: NDArray[Any], soft: bool
) -> tuple[NDArray[Any], tuple[Any, ...] | None]:
    """Labels with the classes to declare for them; None if the labels are positions already."""
    n_classes = said.shape[1] if said.ndim == 2 else 2
    if classes is None or soft or len(set(classes)) != n_classes:
        return labels, classes
    if labels.dtype.kind in "OUS" and labels.ndim == 1:
        position = {str(c): k for k, c in enumerate(classes)}
        found = np.fromiter((position.get(label, -1) for label in labels.tolist()), np.int32, len(labels))
        return (found, None) if (found >= 0).all() else (labels, tuple(position))
    return labels, None if labels.ndim == 2 else _numbers(classes)


def _numbers(classes: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Class names as numbers or truth values, or None if they are words."""
    values: dict[str, Any] = {"false": False, "true": True}
    for name in map(str, classes):
        if re.fullmatch(r"-?\d+", name):
            values[name] = int(name)
        elif re.fullmatch(r"-?\d+\.\d*", name):
            values[name] = float(name)
    numbers = [values.get(str(c).lower()) for c in classes]
    return None if None in numbers else tuple(numbers)


@contextmanager
def worded(file: str, columns: Columns) -> Iterator[None]:
    """An InputError inside names the file and its columns instead of arguments."""
    try:
        yield
    except InputError as error:
        body, _, advice = _in_words_of_the_file(str(error), columns).rpartition(". ")
        told = InputError(f"{file}:", body or advice.removesuffix("."), "", body and advice.removesuffix("."))
        told.argument = error.argument
        raise told from error


def _in_words_of_the_file(text: str, columns: Columns) -> str:
    said = "logits" if columns.logits else "probs"
    roles = {said: columns.said, "labels": (columns.label,), "weights": (columns.weights,), "groups": (columns.groups,)}

    def at(found: re.Match[str]) -> str:
        names = roles.get(found[1], ())
        return f"row {found[2]}" + (f" of {names[int(found[3])]!r}" if found[3] and len(names) > 1 else "")

    text = re.sub(r"\b(labels|probs|logits|weights|groups)\[(\d+)(?:, (\d+))?\]", at, text)
    for role, names in roles.items():
        shown = columns.shown if role == said else repr(names[0])
        text = re.sub(rf"^{role}\b", f"column{'s' * (len(names) > 1)} {shown}", text)
    text = re.sub(r"(?<=; )row (\d+)", r"row \1 (the first is 0)", text)
    return text.replace("use Predictions.from_logits", f"pass logits={','.join(columns.said)!r}")


# Formats


class _Store(NamedTuple):
    """An opened file: `load(names, as_text)` gives an Arrow table, or a dict of arrays for NPZ."""

    path: Path
    format: str
    names: list[str]
    load: Callable[[Sequence[str], Sequence[str]], Any]


def _open(path: Path) -> _Store:
    form = _format(path)
    with _telling("read", path):
        _check_first_bytes(path, form)
        names, load = _OPENERS[form](path)
    return _Store(path, form, names, load)


def _format(path: Path) -> str:
    name = path.name.lower()
    bare = name.removesuffix(".gz")
    for form, endings in _FORMATS.items():
        if bare.endswith(endings) and (bare == name or form in _TEXT):
            return form
    known = ", ".join(ending for endings in _FORMATS.values() for ending in endings)
    raise FileError(
        f"{str(path)!r} has no ending that tells its format. Use one of {known}; .gz may follow a text format."
    )


def _check_first_bytes(path: Path, form: str) -> None:
    with path.open("rb") as file:
        head = file.read(8)
    if not head:
        raise FileError(f"cannot read {str(path)!r}: it is empty.")
    looks = next((f for first, f in _FIRST_BYTES.items() if head.startswith(first)), None)
    expected = "gzip" if path.name.lower().endswith(".gz") else form
    if looks != expected and (looks or expected in _FIRST_BYTES.values()):
        hint = f"; its first bytes are those of {looks}" if looks else ""
        raise FileError(f"cannot read {str(path)!r}: it is not {expected}{hint}.")


@contextmanager
def _telling(doing: str, path: Path) -> Iterator[None]:
    """Whatever goes wrong with a file, in one line with its path."""
    try:
        yield
    except CalibrantError:
        raise
    except (OSError, ValueError, KeyError, TypeError, NotImplementedError, EOFError) as error:
        missing = f"there is no such {'file' if doing == 'read' else 'folder'}"
        reason = missing if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None)
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise FileError(f"cannot {doing} {str(path)!r}: {reason or lines[0]}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise FileError(f"cannot {doing} {str(path)!r}: it is damaged ({error})") from error


def _open_csv(path: Path) -> tuple[list[str], Any]:
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True)

    def load(names: Sequence[str], as_text: Sequence[str]) -> Any:
        types = {name: pa.string() for name in as_text}
        convert = csv.ConvertOptions(include_columns=list(names), column_types=types)
        return csv.read_csv(path, parse_options=parse, convert_options=convert)

    with csv.open_csv(path, parse_options=parse) as reader:
        return reader.schema.names, load


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.name.lower() else ","


def _open_parquet(path: Path) -> tuple[list[str], Any]:
    from pyarrow import parquet

    def load(names: Sequence[str], _: Sequence[str]) -> Any:
        with parquet.ParquetFile(path) as file:
            return file.read(columns=list(names))

    return parquet.read_schema(path).names, load


def _open_arrow(path: Path) -> tuple[list[str], Any]:
    import pyarrow as pa

    def reader(**options: Any) -> Any:
        source = pa.memory_map(str(path))
        try:
            return pa.ipc.open_file(source, **options)
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(source, **options)

    def load(names: Sequence[str], _: Sequence[str]) -> Any:
        fields = sorted(everything.index(name) for name in names)
        return reader(options=pa.ipc.IpcReadOptions(included_fields=fields)).read_all()

    everything = reader().schema.names
    return everything, load


def _open_jsonl(path: Path) -> tuple[list[str], Any]:
    from pyarrow import json

    table = json.read_json(path, read_options=json.ReadOptions(block_size=_JSON_BLOCK))
    return table.column_names, lambda names, _: table.select(list(names))


def _open_npz(path: Path) -> tuple[list[str], Any]:
    def load(names: Sequence[str], _: Sequence[str]) -> dict[str, NDArray[Any]]:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in names}

    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return list(stored.files), load


_OPENERS: dict[str, Callable[[Path], tuple[list[str], Any]]] = {
    "CSV": _open_csv,
    "Parquet": _open_parquet,
    "Arrow": _open_arrow,
    "NPZ": _open_npz,
    "JSON lines": _open_jsonl,
}


# Back into a file


def _new_columns(said: Said, probs: NDArray[Any], *, expand: bool) -> dict[str, dict[str, NDArray[Any]]]:
    """For each column of what was said, the columns that take its place."""
    columns = said.columns
    if len(columns.said) > 1:
        names = [_new_name(columns, k) for k in range(len(columns.said))]
        return {old: {new: probs[:, k]} for k, (old, new) in enumerate(zip(columns.said, names, strict=True))}
    name = _new_name(columns, 0)
    if probs.ndim == 1 or not expand:
        return {columns.said[0]: {name: probs}}
    classes = said.classes or range(probs.shape[1])
    return {columns.said[0]: {f"{name}_{c}": probs[:, k] for k, c in enumerate(classes)}}


def _new_name(columns: Columns, k: int) -> str:
    old = columns.said[k]
    if not columns.logits:
        return old
    renamed = re.sub("logit", "prob", old, flags=re.IGNORECASE)
    if renamed != old:
        return renamed
    return "prob" if columns.classes is None else f"prob_{columns.classes[k]}"


def _replaced(names: Sequence[str], table: Any, new: dict[str, dict[str, NDArray[Any]]]) -> dict[str, Any]:
    """All columns in their old order, with the new ones in place of what was said."""
    fresh = {name for columns in new.values() for name in columns}
    result: dict[str, Any] = {}
    for name in names:
        if name in new:
            result |= new[name]
        elif name not in fresh:
            result[name] = table[name]
    return result


@contextmanager
def _whole_or_nothing(target: Path) -> Iterator[Path]:
    """A place to write beside the target, moved there once all is written."""
    partial = target.with_name(f".{target.name}.partial")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _save_npz(partial: Path, columns: dict[str, Any]) -> None:
    arrays = {}
    for name, column in columns.items():
        values = column if isinstance(column, np.ndarray) else _values(column, name)
        arrays[name] = np.array(values.tolist()) if values.dtype.kind == "O" else values
        if arrays[name].dtype.kind == "O":
            raise InputError(f"column {name!r}", "cannot be stored in NPZ", advice="Write .parquet instead")
    with partial.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _save_table(partial: Path, target: Path, form: str, columns: dict[str, Any], schema: Any) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.table({name: _arrow(column, name) for name, column in columns.items()})
    table = table.replace_schema_metadata(None if schema is None else schema.metadata)
    if form == "Parquet":
        parquet.write_table(table, partial)
    elif form == "Arrow":
        feather.write_feather(table, str(partial), compression="uncompressed")
    else:
        save = _save_csv if form == "CSV" else _save_jsonl
        with pa.output_stream(partial, compression="gzip" if target.name.lower().endswith(".gz") else None) as sink:
            save(table, sink, _delimiter(target))


def _arrow(column: Any, name: str) -> Any:
    """A NumPy array as an Arrow column, `(n, K)` as lists."""
    import pyarrow as pa

    if not isinstance(column, np.ndarray):
        return column
    if column.ndim not in (1, 2):
        raise InputError(f"array {name!r}", "has no place in a table", f"its shape is {column.shape}", "Write .npz")
    flat = pa.array(np.ascontiguousarray(column).ravel())
    return flat if column.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, column.shape[1])


def _save_csv(table: Any, sink: Any, delimiter: str) -> None:
    """Arrow finds the shortest text of each number; Python's writer quotes only what needs quotes."""
    import csv
    import io

    import pyarrow as pa

    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise InputError(f"column {field.name!r}", "holds lists, which CSV cannot", advice="Write .parquet instead")
    texts = table.cast(pa.schema([(name, pa.large_string()) for name in table.column_names]))
    batches = texts.to_batches(max_chunksize=_ROWS_AT_ONCE)
    parts = (zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches)
    for rows in chain([[table.column_names]], parts):
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
        sink.write(text.getvalue().encode())


def _save_jsonl(table: Any, sink: Any, _: str) -> None:
    import json

    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        rows = (json.dumps(row, ensure_ascii=False, allow_nan=False, default=str) for row in batch.to_pylist())
        sink.write(("\n".join(rows) + "\n").encode())
