"""What becomes of bad inputs: each call of the table tried on each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import calibrant as cal
from bad_inputs import ALLOWED, LARGE, NAMED_AS, OPTIONS, Call


def outcome(call: Call, kind: str, argument: str = "", /, **changes: Any) -> str:
    """What happens: "refused", "answered", or the raw exception."""
    try:
        answer = call(kind, **changes)
    except cal.InputError as error:
        names = (argument or error.argument, NAMED_AS.get(argument, argument or error.argument))
        return "refused" if any(name in str(error) for name in names) else f"names another argument: {error}"
    except (cal.FileError, cal.MapError):  # of a file and its text, not of an argument
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:120]}"
    value = getattr(answer, "value", 0.0)
    return "NaN" if isinstance(value, float) and value != value else "answered"


def plain(answer: Any) -> tuple[str, Any]:
    """An answer as text and numbers, without what differs from call to call: seconds, and the names of parts."""
    if isinstance(answer, cal.Predictions):
        return str(answer.labels.tolist()), answer.probs.ravel()
    text = answer.to_json() if hasattr(answer, "to_json") else repr(answer)
    text = re.sub(r'"seconds": [^,}]*|"parts": \[[^\]]*\]', "", text)
    numbers = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
    return numbers.sub("", text), np.array(numbers.findall(text), dtype=float)


def same(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    """Equal but for rounding, which depends on the layout of memory."""
    return one[0] == other[0] and np.allclose(one[1], other[1], rtol=1e-6, atol=1e-9)


def bad_data(call: Call) -> Iterator[tuple[str, str]]:
    """One bad column beside good ones."""
    for kind in call.kinds():
        for argument, name, changes in call.bad(kind):
            yield f"{kind}, {argument}: {name}", outcome(call, kind, **changes)


def bad_options(call: Call) -> Iterator[tuple[str, str]]:
    """One option that is nothing it could be."""
    for kind in call.kinds()[:1]:
        for argument in call.options:
            for name, value in OPTIONS.items():
                if (argument, name) not in ALLOWED and not (argument in call.empty and name == "an empty list"):
                    yield f"{argument}: {name}", outcome(call, kind, argument, **{argument: value})


def odd_numbers(call: Call) -> Iterator[tuple[str, str]]:
    """One option beyond all that is usual; and data at the edge of what is allowed."""
    for kind in call.kinds():
        for argument in call.options:
            for name, value in LARGE.items():
                yield f"{argument}: {name}", outcome(call, kind, **{argument: value})
        for name, changes in call.edges(kind).items():
            yield f"{kind}: {name}", outcome(call, kind, **changes)


def spellings(call: Call) -> Iterator[tuple[str, bool]]:
    """The same data in other containers and types: is the answer the same?"""
    for kind in call.kinds():
        answer = plain(call(kind))
        for argument, forms in call.forms(kind).items():
            for name, value in forms.items():
                yield f"{kind}, {argument}: {name}", same(plain(call(kind, **{argument: value})), answer)
