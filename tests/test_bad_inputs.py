"""Every public callable on every kind of bad input: an error that names the argument, or the right answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from bad_inputs import BAD, DATA, OPTIONS, Call, calls, edges, same_labels, same_probs

NAMES = [call.name for call in calls()]


def outcome(call: Call, kind: str, /, **changes: Any) -> str:
    """What happens: "refused", "answered", or the raw exception."""
    try:
        call(kind, **changes)
    except cal.InputError as error:
        return "refused" if error.argument in str(error) else f"names no argument: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:120]}"
    return "answered"


def plain(answer: Any) -> Any:
    """An answer as text, to compare."""
    if isinstance(answer, cal.Predictions):
        return answer.probs.tolist(), answer.labels.tolist()
    return answer.to_json() if hasattr(answer, "to_json") else repr(answer)


def refused(call: Call):
    """Cases that must be refused: one bad argument beside good ones."""
    for kind in call.kinds():
        for argument in call.data:
            for name, value in BAD[argument](*DATA[kind]).items():
                yield f"{kind}, {argument}: {name}", outcome(call, kind, **beside(argument, value, *DATA[kind]))


def beside(argument: str, value: Any, labels: Any, probs: Any) -> dict[str, Any]:
    """The bad argument; beside one with an index, another with the default one."""
    if not isinstance(value, pd.Series | pd.DataFrame) or isinstance(value.index, pd.RangeIndex) and value.index.start == 0:
        return {argument: value}
    other = {"labels": pd.Series(labels)} if argument != "labels" else {"probs": pd.DataFrame(probs)}
    return {argument: value, **other}


def options(call: Call):
    for kind in call.kinds()[:1]:
        for argument in call.options:
            for name, value in OPTIONS.items():
                yield f"{argument}: {name}", outcome(call, kind, **{argument: value})
