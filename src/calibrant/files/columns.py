"""The roles of a file's columns: found by name, ignoring case, or given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from calibrant.inputs import listed
from calibrant.predictions.labels import CONFIDENCE, PROBABILITY
from calibrant.problems import FileError, InputError
from calibrant.types import Array

NAMES: dict[str, tuple[str, ...]] = {
    "label": ("label", "labels", "y", "y_true", "target", "truth", "outcome", "class", "correct"),
    "probs": ("probs", "prob", "proba", "probability", "probabilities", "p", "y_prob", "y_proba"),
    "logits": ("logits", "logit"),
    "confidence": CONFIDENCE,
    "pred": ("pred", "prediction", "predicted", "y_pred"),
    "counts": ("count", "counts"),
    "weights": ("weight", "weights", "sample_weight"),
    "groups": ("group", "groups"),
    "mean": ("mean", "mu", "y_mean", "pred_mean"),
    "variance": ("variance", "var", "sigma2", "y_var", "pred_var"),
    "std": ("std", "sd", "sigma", "y_std", "pred_std"),
}
"""Known column names per role. `probs` and `logits` also have families: `prob_cat`, `logit_0`, `p1` and so on."""
LESS_CLEAR: dict[str, tuple[str, ...]] = {
    "label": (
        *("event", "died", "death", "dead", "observed", "actual", "y_test", "true_label", "true_class"),
        *("ground_truth", "gold", "is_correct"),
    ),
    "probs": (
        *("risk", "predicted_risk", "pred_risk", "pred_prob", "pred_proba", "predicted_prob", "predicted_proba"),
        *("predicted_probability", "y_pred_prob", "y_pred_proba", "y_score", "score"),
    ),
}
"""Names that also mean other things: they are used only if no column has a name of `NAMES` for the role."""
NONE = "none"
"""Given instead of a column's name: leave this role empty, whatever the columns are called."""

_FAMILIES = {
    "probs": re.compile(rf"({PROBABILITY}|p(?=[_. -]?\d+$))(?:[_. -](.+)|(\d+))", re.IGNORECASE),
    "logits": re.compile(r"(logits?)(?:[_. -](.+)|(\d+))", re.IGNORECASE),
}

PREDICTED = ("probs", "logits", "confidence")
"""What may be predicted of classes; the first that a file has is used."""


class UnknownColumn(InputError):
    """A column was asked for that the file does not have."""


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns of a file that are read, by their role."""

    predicted: tuple[str, ...]
    """the columns of predictions"""
    label: str | None = None
    counts: str | None = None
    weights: str | None = None
    groups: str | None = None
    pred: str | None = None
    """the predicted class: the event is then that it equals the label"""
    unused_weights: str | None = None
    """a column that is called as weights are, and was not asked for"""
    dropped: int = 0
    """rows with a missing value, left out because the caller asked for that"""
    abstained: int = 0
    """rows without a prediction, left out because the caller asked for that"""
    meaning: str = ""
    """what the predictions are, where the format says it"""

    def to_dict(self) -> dict[str, Any]:
        """The columns by role, None where there is none; for JSON."""
        (kind,) = ("predictions",) if len(self.described()) > 1 else self.described()
        found = {"labels": self.label, kind: list(self.predicted), "predicted_class": self.pred} | self.beside
        counts = {"dropped_rows": self.dropped, "abstained_rows": self.abstained, "meaning": self.meaning}
        return found | {name: value for name, value in counts.items() if value}

    @property
    def beside(self) -> dict[str, str | None]:
        """The columns of counts, weights and groups."""
        return {"counts": self.counts, "weights": self.weights, "groups": self.groups}

    @property
    def used(self) -> tuple[str, ...]:
        """Every column to read, once."""
        others = (self.label, self.pred, *self.beside.values())
        return tuple(dict.fromkeys([*self.predicted, *filter(None, others)]))

    @property
    def ends(self) -> str:
        """The first and the last column of predictions."""
        return " … ".join(dict.fromkeys((repr(self.predicted[0]), repr(self.predicted[-1]))))

    def described(self) -> dict[str, str]:
        """What the predictions are, and in which columns."""
        return {"predictions": self.ends}

    def reworded(self, text: str) -> str:
        """An error text with columns in place of arguments."""
        return text

    def __str__(self) -> str:
        truth = self.label and (f"{self.pred!r} = {self.label!r}" if self.pred else repr(self.label))
        others = {role: name and repr(name) for role, name in self.beside.items()}
        found = {"labels": truth, **self.described(), **others}
        text = ", ".join(f"{role} from {columns}" for role, columns in found.items() if columns)
        text += f"; {self.abstained:,} without a prediction" if self.abstained else ""
        return text + (f"; {self.dropped_rows()}" if self.dropped else "")

    def dropped_rows(self) -> str:
        """How many rows were dropped, in words."""
        return f"{self.dropped:,} row{'s' * (self.dropped != 1)} with missing values dropped"


@dataclass(frozen=True, slots=True)
class Columns(FileColumns):
    """The columns of predicted classes."""

    logits: bool = False
    classes: tuple[str, ...] | None = None
    """the class that each of several columns is named after"""

    def described(self) -> dict[str, str]:
        return {"logits" if self.logits else "probabilities": self.ends}

    def reworded(self, text: str) -> str:
        """`probs[3, 1]` as a row and a column, arguments as columns."""
        role = "logits" if self.logits else "probs"
        others = {"labels": (self.label,)} | {each: (name,) for each, name in self.beside.items()}
        roles = {role: self.predicted, **others}

        def at(found: re.Match[str]) -> str:
            names = roles.get(found[1], ())
            return f"row {found[2]}" + (f" of {names[int(found[3])]!r}" if found[3] and len(names) > 1 else "")

        text = re.sub(r"\b(labels|probs|logits|counts|weights|groups)\[(\d+)(?:, (\d+))?\]", at, text)
        for each, names in roles.items():
            shown = self.ends if each == role else repr(names[0])
            text = re.sub(rf"^{each}\b", f"column{'s' * (len(names) > 1)} {shown}", text)
        text = text.replace("divide by 100", "pass percent=True")
        return text.replace("use Predictions.from_logits", f"pass logits={','.join(self.predicted)!r}")


class Candidate(NamedTuple):
    """Columns that may hold the predictions, and the parts in which their names differ."""

    kind: str
    columns: tuple[str, ...]
    suffixes: tuple[str, ...] | None = None


class Header(NamedTuple):
    """The names of a file's columns; the file is for error texts."""

    names: Sequence[str]
    file: str

    def named(self, given: str) -> str | None:
        """The column of that name, or the only one that differs from it in case."""
        alike = [given] if given in self.names else [name for name in self.names if _key(name) == _key(given)]
        return alike[0] if len(alike) == 1 else None

    def known(self, role: str, given: str) -> str:
        """The column of that name; an error where there is none."""
        name = self.named(given)
        if name is None:
            raise self._unknown(role, given)
        return name

    def column(self, role: str, given: str | None) -> str | None:
        """The one column of a role, or None."""
        if given is not None:
            name = self.named(given)
            if name is None and given != NONE:
                found = f"{given!r} is not among {listed(self.names)}"
                raise UnknownColumn(role, f"must name a column of {self.file}", found)
            return name
        alike = [name for name in self.names if known_as(name, role)] or self.less_clear(role)
        if len(alike) > 1:
            raise self._several(role, alike)
        return alike[0] if alike else None

    def less_clear(self, role: str) -> list[str]:
        """The columns that may have a role by a name that means other things too."""
        return [name for name in self.names if _key(name) in LESS_CLEAR.get(role, ())]

    def others(
        self,
        label: str | None = None,
        counts: str | None = None,
        weights: str | None = None,
        groups: str | None = None,
    ) -> dict[str, str | None]:
        """The columns of labels, counts, weights and groups; without labels none of them is needed."""
        truth = self.column("label", label)
        if truth is None:
            if label != NONE:
                raise self.lacks("for the labels", "label='NAME'")
            counts, weights, groups = None, NONE, NONE
        found = {"label": truth, "groups": self.column("groups", groups)}
        if counts is not None:  # counts and weights are taken only if they are asked for
            found["counts"] = self.column("counts", counts)
        if weights is not None:
            return found | {"weights": self.column("weights", weights)}
        named = [name for name in self.names if known_as(name, "weights")]
        return found | {"unused_weights": named[0] if named else None}

    def predicted(self, probs: Any, logits: Any) -> Candidate:
        """The columns of probabilities; failing these, of logits; failing these, of confidences."""
        for kind, given in (("probs", probs), ("logits", logits)):
            if given is not None:
                return self.given(kind, given)
        clear = [(kind, _candidates(kind, self.names)) for kind in PREDICTED]
        for kind, found in (*clear, ("probs", [Candidate("probs", (name,)) for name in self.less_clear("probs")])):
            if len(found) > 1:
                raise self._several("probs" if kind == "confidence" else kind, [c.columns[0] for c in found])
            if found:
                return found[0]
        raise self.lacks("for probabilities or logits", "probs='NAME', probs='PREFIX_*' or logits=")

    def given(self, kind: str, given: Any) -> Candidate:
        """The columns that a name, a list, a prefix or a pattern refers to."""
        if isinstance(given, str):
            name = self.named(given)
            if name is not None:
                return Candidate(kind, (name,))
            if "," not in given:
                pattern = given.lower() if re.search(r"[*?\[]", given) else given.lower() + "*"
                start = len(re.split(r"[*?\[]", pattern)[0])
                pairs = [(n, n.strip()[start:].lstrip("_. -")) for n in self.names if fnmatchcase(_key(n), pattern)]
                if not pairs:
                    raise self._unknown(kind, given)
                return _family(kind, pairs)
            given = given.split(",")
        chosen = [self.known(kind, part) for part in given]
        return _family(kind, list(zip(chosen, _suffixes(chosen), strict=True)), ordered=True)

    def lacks(self, purpose: str, option: str) -> FileError:
        """The error where no column has a known name."""
        text = f"{self.file} has no column that is named {purpose}; it has {listed(self.names)}."
        if all(re.fullmatch(r"[-+.\deE]+", name) for name in self.names):
            return FileError(f"{text} The first line seems to hold data: add a header such as label,prob.")
        return FileError(f"{text} Say which: {option}.")

    def _unknown(self, kind: str, given: str) -> UnknownColumn:
        return UnknownColumn(kind, f"must name columns of {self.file}", f"{given!r} fits none of {listed(self.names)}")

    def _several(self, role: str, found: Sequence[str]) -> FileError:
        return FileError(
            f"{self.file} has several columns for {role}: {listed(found)}. Say which: {role}={found[0]!r}."
        )


def choose(
    names: Sequence[str],
    file: str,
    *,
    probs: Any = None,
    logits: Any = None,
    pred: str | None = None,
    classes: tuple[Any, ...] | None = None,
    **columns: str | None,
) -> Columns:
    """The role of each column, by name or as given by the caller; `columns` are those of `Header.others`.

    `file` is for error texts.
    """
    if probs is not None and logits is not None:
        raise InputError("probs", "and logits cannot both be given", advice="Name the one to use")
    header = Header(names, file)
    kind, predicted, suffixes = header.predicted(probs, logits)
    if classes is not None and suffixes is not None and {str(c) for c in classes} == set(suffixes):
        predicted = tuple(predicted[suffixes.index(str(c))] for c in classes)
        suffixes = tuple(str(c) for c in classes)
    others: dict[str, Any] = header.others(**columns)
    truth, confident = others["label"], kind == "confidence" or known_as(predicted[0], "confidence")
    if pred is None and (not confident or truth is None or _key(truth) in ("correct", "is_correct")):
        pred = NONE
    return Columns(predicted, **others, pred=header.column("pred", pred), logits=kind == "logits", classes=suffixes)


def has_probabilities(names: Sequence[str]) -> bool:
    """Is any column named for probabilities, logits or confidences?"""
    return any(_candidates(kind, names) for kind in PREDICTED)


def _candidates(kind: str, names: Sequence[str]) -> list[Candidate]:
    """Single columns of a known name, and columns such as prob_cat and prob_dog, by their common prefix."""
    members: dict[str, list[tuple[str, str]]] = {}
    for name in names if kind in _FAMILIES else ():
        found = _FAMILIES[kind].fullmatch(name.strip())
        if found:
            members.setdefault(found[1].lower(), []).append((name, found[2] or found[3]))
    single = [Candidate(kind, (name,)) for name in names if known_as(name, kind)]
    return single + [_family(kind, pairs) for pairs in members.values()]


def _family(kind: str, pairs: list[tuple[str, str]], *, ordered: bool = False) -> Candidate:
    """Names with their suffixes; numbers in increasing order, unless the caller gave the order."""
    if not ordered and all(suffix.isdecimal() for _, suffix in pairs):
        pairs = sorted(pairs, key=lambda pair: int(pair[1]))
    names, suffixes = zip(*pairs, strict=True)
    return Candidate(kind, names, suffixes if len(names) > 1 else None)


def _suffixes(names: Sequence[str]) -> list[str]:
    """The parts in which names differ after their last common separator: cat and cow of prob_cat, prob_cow."""
    first, last = min(names), max(names)
    same = next((k for k, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    cut = max(first[:same].rfind(mark) for mark in "_. -") + 1
    numbers = [re.fullmatch(r"\D*(\d+)", name[cut:]) for name in names]
    return [found[1] for found in numbers if found] if all(numbers) else [name[cut:] for name in names]


def known_as(name: str, *roles: str) -> bool:
    """Is a column named as those of one of the roles are?"""
    return any(_key(name) in NAMES[role] for role in roles)


def _key(name: str) -> str:
    return name.strip().lower()


@contextmanager
def worded(file: str, columns: FileColumns, first: int = 0, rows: Array | None = None) -> Iterator[None]:
    """An InputError inside names the file and its columns instead of arguments.

    Parameters
    ----------
    file, columns
        What is named.
    first
        The row of the file that is read as row 0.
    rows
        The rows that are read, if others were dropped, counted from `first`.
    """

    def place(found: re.Match[str]) -> str:
        row = int(found[1]) if rows is None else int(rows[int(found[1])])
        return f"row {first + row}{found[2] or ''} (the first is 0)"

    try:
        yield
    except InputError as error:
        text = re.sub(r"(?<=; )row (\d+)(, place \d+)?", place, columns.reworded(str(error)))
        body, _, advice = text.rpartition(". ")
        reworded = InputError(f"{file}:", body or advice.removesuffix("."), "", body and advice.removesuffix("."))
        reworded.argument = error.argument
        raise reworded from error
