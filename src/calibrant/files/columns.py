"""Which columns of a file play which role: found by name, whatever the case, or given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from calibrant.inputs import listed
from calibrant.problems import FileError, InputError

NAMES: dict[str, tuple[str, ...]] = {
    "label": ("label", "labels", "y", "y_true", "target", "truth", "outcome", "class", "correct"),
    "probs": ("probs", "prob", "proba", "probability", "probabilities", "p", "y_prob", "y_proba"),
    "logits": ("logits", "logit"),
    "confidence": ("conf", "confidence"),
    "pred": ("pred", "prediction", "predicted", "y_pred"),
    "weights": ("weight", "weights", "sample_weight"),
    "groups": ("group", "groups"),
    "mean": ("mean", "mu", "y_mean", "pred_mean"),
    "variance": ("variance", "var", "sigma2", "y_var", "pred_var"),
    "std": ("std", "sd", "sigma", "y_std", "pred_std"),
}
"""The column names known for each role. `probs` and `logits` also know families: `prob_cat`, `logit_0`, `p1` and so on."""
NONE = "none"
"""Said instead of a column's name: leave this role empty, whatever the columns are called."""
_FAMILIES = {
    "probs": re.compile(r"(probs?|proba|probability|y_proba?|p(?=[_. -]?\d+$))(?:[_. -](.+)|(\d+))", re.IGNORECASE),
    "logits": re.compile(r"(logits?)(?:[_. -](.+)|(\d+))", re.IGNORECASE),
}


SAID = ("probs", "logits", "confidence")
"""What a model says about classes; the first that a file has is used."""


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
    truth = find_column("label", label, names, file)
    if truth is None and label != NONE:
        raise none_found(names, file, "for the labels", "label='NAME'")
    confident = kind == "confidence" or _key(said[0]) in NAMES["confidence"]
    if pred is None and (not confident or truth is None or _key(truth) == "correct"):
        pred = NONE
    return Columns(
        said,
        kind == "logits",
        suffixes,
        truth,
        find_column("pred", pred, names, file),
        None if truth is None else find_column("weights", weights, names, file),
        None if truth is None else find_column("groups", groups, names, file),
    )


def find_column(role: str, given: str | None, names: Sequence[str], file: str) -> str | None:
    """The one column of a role, or None."""
    if given is not None:
        name = named(given, names)
        if name is None and given != NONE:
            raise UnknownColumn(role, f"must name a column of {file}", f"{given!r} is not among {listed(names)}")
        return name
    found = [name for name in names if _key(name) in NAMES[role]]
    if len(found) > 1:
        raise _several(role, found, file)
    return found[0] if found else None


class Candidate(NamedTuple):
    """Columns that may hold what the model said, and what tells their names apart."""

    kind: str
    said: tuple[str, ...]
    suffixes: tuple[str, ...] | None = None


def _find_said(names: Sequence[str], file: str, probs: Any, logits: Any) -> Candidate:
    """The columns of probabilities; failing these, of logits; failing these, of confidences."""
    for kind, given in (("probs", probs), ("logits", logits)):
        if given is not None:
            return given_columns(kind, given, names, file)
    for kind in SAID:
        found = _candidates(kind, names)
        if len(found) > 1:
            raise _several("probs" if kind == "confidence" else kind, [c.said[0] for c in found], file)
        if found:
            return found[0]
    raise none_found(names, file, "for probabilities or logits", "probs='NAME', probs='PREFIX_*' or logits=")


def has_probabilities(names: Sequence[str]) -> bool:
    """Is any column named for probabilities, logits or confidences?"""
    return any(_candidates(kind, names) for kind in SAID)


def _candidates(kind: str, names: Sequence[str]) -> list[Candidate]:
    found = [Candidate(kind, (name,)) for name in names if _key(name) in NAMES[kind]]
    return found + (_families(kind, names) if kind in _FAMILIES else [])


def _families(kind: str, names: Sequence[str]) -> list[Candidate]:
    """Columns such as prob_cat and prob_dog, by what they begin with."""
    members: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        found = _FAMILIES[kind].fullmatch(name.strip())
        if found:
            members.setdefault(found[1].lower(), []).append((name, found[2] or found[3]))
    return [_family(kind, pairs) for pairs in members.values()]


def _family(kind: str, pairs: list[tuple[str, str]], *, ordered: bool = False) -> Candidate:
    """Names with their suffixes; numbers in the order of counting, unless the caller gave the order."""
    if not ordered and all(suffix.isdecimal() for _, suffix in pairs):
        pairs = sorted(pairs, key=lambda pair: int(pair[1]))
    names, suffixes = zip(*pairs, strict=True)
    return Candidate(kind, names, suffixes if len(names) > 1 else None)


def given_columns(kind: str, given: Any, names: Sequence[str], file: str) -> Candidate:
    """The columns that a name, a list, a prefix or a pattern stands for."""
    if isinstance(given, str):
        name = named(given, names)
        if name is not None:
            return Candidate(kind, (name,))
        if "," not in given:
            pattern = given.lower() if re.search(r"[*?\[]", given) else given.lower() + "*"
            start = len(re.split(r"[*?\[]", pattern)[0])
            pairs = [(n, n.strip()[start:].lstrip("_. -")) for n in names if fnmatchcase(_key(n), pattern)]
            if not pairs:
                raise unknown(kind, given, names, file)
            return _family(kind, pairs)
        given = given.split(",")
    found = [(named(part, names), part) for part in given]
    for name, part in found:
        if name is None:
            raise unknown(kind, part, names, file)
    chosen = [str(name) for name, _ in found]
    return _family(kind, list(zip(chosen, _suffixes(chosen), strict=True)), ordered=True)


def _suffixes(names: Sequence[str]) -> list[str]:
    """What tells names apart, after the last separator they share: prob_cat and prob_cow are cat and cow."""
    first, last = min(names), max(names)
    same = next((k for k, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    cut = max(first[:same].rfind(mark) for mark in "_. -") + 1
    numbers = [re.fullmatch(r"\D*(\d+)", name[cut:]) for name in names]
    return [found[1] for found in numbers if found] if all(numbers) else [name[cut:] for name in names]


def named(given: str, names: Sequence[str]) -> str | None:
    """The column of that name, or the only one that differs from it in case."""
    alike = [given] if given in names else [name for name in names if _key(name) == _key(given)]
    return alike[0] if len(alike) == 1 else None


def known_as(name: str, *roles: str) -> bool:
    """Is a column called as those of a role are?"""
    return any(_key(name) in NAMES[role] for role in roles)


def _key(name: str) -> str:
    return name.strip().lower()


def _several(role: str, found: Sequence[str], file: str) -> FileError:
    return FileError(f"{file} has several columns for {role}: {listed(found)}. Say which: {role}={found[0]!r}.")


def unknown(kind: str, given: str, names: Sequence[str], file: str) -> UnknownColumn:
    """What to say where a name or a pattern fits no column."""
    return UnknownColumn(kind, f"must name columns of {file}", f"{given!r} fits none of {listed(names)}")


def none_found(names: Sequence[str], file: str, purpose: str, option: str) -> FileError:
    """What to say where no column has a known name."""
    text = f"{file} has no column that is named {purpose}; it has {listed(names)}."
    if all(re.fullmatch(r"[-+.\deE]+", name) for name in names):
        return FileError(f"{text} The first line seems to hold data: add a header such as label,prob.")
    return FileError(f"{text} Say which: {option}.")
