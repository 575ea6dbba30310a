"""The table of bad inputs: kinds of labels, probabilities, weights and options, and every public call to try them on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import calibrant as cal
from calibrant.methods import methods

N, NAN, INF = 12, float("nan"), float("inf")

P = np.array([1, 3, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15]) / 16
EVENT = np.array([0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1])
CODES = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
ROWS = np.stack([P / 2, P / 2, 1 - P], axis=1)
DATA = {"event": (EVENT, P), "classes": (CODES, ROWS)}

ODD_INDEX = pd.Index([3, 1, 2, 0, *range(4, N)])


class Raises:
    """Something like an array whose conversion fails."""

    def __len__(self) -> int:
        return N

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("device lost")


def changed(array: Any, value: Any, at: int = 5, dtype: Any = None) -> Any:
    """The array with one other entry."""
    made = np.array(array, dtype=dtype or (object if not isinstance(value, float | int) else float))
    made[at if made.ndim == 1 else (at, 0)] = value
    return made


NO_ARRAYS: dict[str, Any] = {
    "a number": 0.5,
    "a string": "0.5",
    "bytes": b"abcdefghijkl",
    "a set": {0.1, 0.2},
    "a dict": {"a": [0.1]},
    "a function": len,
    "a class": int,
    "an object": object(),
    "a generator": (x for x in ()),
    "a broken array": Raises(),
    "a scalar array": np.array(0.5),
    "empty": [],
    "no columns": np.empty((N, 0)),
    "three dimensions": np.zeros((N, 1, 2)),
    "ragged": [[0.5, 0.5], [1.0]] * (N // 2),
    "complex": np.full(N, 0.5 + 0j),
    "dates": np.array(["2020-01-01"] * N, dtype="M8[D]"),
    "durations": np.array([1] * N, dtype="m8[s]"),
    "records": np.zeros(N, dtype=[("a", float)]),
    "objects": np.array([object()] * N),
    "dicts": np.array([{}] * N),
    "datetimes": np.array([datetime(2020, 1, 1)] * N, dtype=object),
    "masked": np.ma.array(np.full(N, 0.5), mask=[True] + [False] * (N - 1)),
    "all None": [None] * N,
    "all NA": pd.Series([pd.NA] * N),
    "null in Arrow": pa.array([None, *[0.5] * (N - 1)]),
    "null in Polars": pl.Series([None, *[0.5] * (N - 1)]),
    "null column": pa.nulls(N),
    "dates of Arrow": pa.array([datetime(2020, 1, 1)] * N),
    "dates of Polars": pl.Series([datetime(2020, 1, 1)] * N),
    "dates of pandas": pd.Series(pd.date_range("2020", periods=N)),
    "structs": pl.Series([{"a": "x"}] * N),
    "maps": pa.array([[("a", 1)]] * N, type=pa.map_(pa.string(), pa.int64())),
}
"""no column of anything"""


def bad_numbers(good: Any) -> dict[str, Any]:
    """A column or matrix of finite numbers, spoiled."""
    strings = good.astype(str).astype(object)
    return {
        "NaN": changed(good, NAN),
        "first NaN": changed(good, NAN, 0),
        "all NaN": np.full(good.shape, NAN),
        "infinity": changed(good, INF),
        "minus infinity": changed(good, -INF, N - 1),
        "NaN in float32": changed(good, NAN, dtype=np.float32),
        "NaN in float16": changed(good, NAN, dtype=np.float16),
        "None": changed(good, None),
        "NA": changed(good, pd.NA),
        "NaT": changed(good, pd.NaT),
        "NaN as text": changed(strings, "nan"),
        "word": changed(strings, "high"),
        "blank": changed(strings, ""),
        "decimal NaN": changed(good.astype(object), Decimal("NaN")),
        "one row less": good[:-1],
        "one row more": np.concatenate([good, good[:1]]),
        "one row": good[:1],
        "no row": good[:0],
        "turned": good[None] if good.ndim == 1 else good.T,
        "another index": (pd.Series if good.ndim == 1 else pd.DataFrame)(good, index=ODD_INDEX),
        "other rows": (pd.Series if good.ndim == 1 else pd.DataFrame)(good, index=range(1, N + 1)),
    }


def bad_probs(labels: Any, probs: Any) -> dict[str, Any]:
    found = NO_ARRAYS | bad_numbers(probs) | {
        "above one": changed(probs, 1.25),
        "barely above one": changed(probs, 1 + 1e-9),
        "below zero": changed(probs, -1e-9),
        "percentages": probs * 100,
        "logits": np.log(probs) - np.log1p(-probs),
        "counts": np.arange(probs.size).reshape(probs.shape),
        "infinite float16": changed(probs, 1e9, dtype=np.float32),
        "predictions": cal.Predictions(labels, probs),
    }  # fmt: skip
    if probs.ndim == 1:
        return found | {"prob_0": pd.Series(probs, name="prob_0"), "p_no": pd.DataFrame({"p_no": probs})}
    short = probs.copy()
    short[5] *= 0.99
    return found | {
        "a short row": short,
        "a short row in float16": short.astype(np.float16),
        "a short row in float32": short.astype(np.float32),
        "rows of zeros": probs * 0,
        "doubled": probs * 2,
        "a column missing": probs[:, :2],
        "negative pair": np.stack([probs[:, 0] + 1, probs[:, 1] - 1, probs[:, 2]], axis=1),
    }


def bad_labels(labels: Any, probs: Any) -> dict[str, Any]:
    found = NO_ARRAYS | bad_numbers(labels) | {
        "fractions": labels * 0.5,
        "negative": changed(labels, -1),
        "too large": changed(labels, 7),
        "huge": changed(labels, 1e300),
        "huge integer": changed(labels.astype(object), 2**80),
        "names": np.array(["yes", "no"])[labels % 2],
        "mixed": changed(labels, "1"),
        "wide one-hot": np.eye(5, dtype=int)[labels],
        "two ones": np.ones((N, 2 if probs.ndim == 1 else 3)),
        "dates": pd.Series(pd.date_range("2020", periods=N)),
        "the probabilities": probs,
    }  # fmt: skip
    return found | ({"three classes": CODES} if probs.ndim == 1 else {})


def bad_weights() -> dict[str, Any]:
    good = np.array([1.0, 2, 1, 3, 1, 1, 2, 1, 1, 1, 2, 1])
    return NO_ARRAYS | bad_numbers(good) | {
        "negative": changed(good, -1.0),
        "barely negative": changed(good, -1e-300),
        "all zero": np.zeros(N),
        "far apart": changed(good, 1e-200),
        "words": np.array(["a"] * N),
        "two columns": np.ones((N, 2)),
    }  # fmt: skip


def bad_counts() -> dict[str, Any]:
    good = np.array([1.0, 2, 1, 3, 1, 1, 2, 1, 1, 1, 2, 1])
    broken = {"a half": changed(good, 0.5), "overflowing": np.full(N, 1e308), "too many": np.full(N, 1e15)}
    return {name: value for name, value in bad_weights().items() if name != "far apart"} | broken


def bad_groups() -> dict[str, Any]:
    good = np.array([1.0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6])
    dropped = ("dates", "durations", "infinity", "minus infinity", "NaN as text", "word", "blank")
    allowed = (
        "structs",
        "datetimes",
        "dates of pandas",
        "dates of Polars",
        "dates of Arrow",
        "decimal NaN",
    )  # values like others
    everything = NO_ARRAYS | bad_numbers(good)
    return {name: value for name, value in everything.items() if name not in dropped + allowed}


BAD: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "labels": bad_labels,
    "probs": bad_probs,
    "counts": lambda labels, probs: bad_counts(),
    "weights": lambda labels, probs: bad_weights(),
    "groups": lambda labels, probs: bad_groups(),
}

OPTIONS: dict[str, Any] = {
    "an object": object(),
    "a word": "nonsense",
    "an empty word": "",
    "bytes": b"auto",
    "NaN": NAN,
    "infinity": INF,
    "minus one": -1,
    "a complex number": 1j,
    "a list": ["a", None],
    "an empty list": [],
    "an array": np.array([0.1, NAN]),
    "a dict": {"a": 1},
    "a pair": ("a", None),
    "a function": len,
    "a class": int,
    "a date": datetime(2020, 1, 1),
}
"""no value of any option, but for those in `ALLOWED`"""

LARGE: dict[str, Any] = {"a huge number": 1e300, "a huge integer": 10**30, "a tiny number": 1e-300}
"""numbers that are refused or used"""

CALLABLES = {"statistic", "estimator", "estimators", "beside", "kernel", "measure", "measures"}
NUMBERS = ("intercept", "slope", "truth", "ignore")
ALLOWED = {(name, "a function") for name in CALLABLES} | {(name, "minus one") for name in NUMBERS}
ALLOWED |= {("label", "a word"), ("label", "an empty word"), ("path", "a word")}

NAMED_AS = {"views": "view", "after": "probs", "estimators": "estimator", "measures": "measure"} | dict.fromkeys(
    ("curve", "candidates", "maps"), "method"
)
"""Options whose entries an error names by what each of them is."""

FREE = {
    "labels", "probs", "logits", "counts", "weights", "groups", "self",  # data
    "name", "estimator_name", "source", "mark", "part",  # texts, or anything
    "progress", "checkpoint", "options", "columns", "path",
}  # fmt: skip


def same_probs(probs: Any) -> dict[str, Any]:
    """The same probabilities in other containers and types."""
    table = pd.Series if probs.ndim == 1 else pd.DataFrame
    return {
        "list": probs.tolist(),
        "objects": probs.astype(object),
        "strings": probs.astype(str),
        "longdouble": probs.astype(np.longdouble),
        "big-endian": probs.astype(">f8"),
        "Fortran": np.asfortranarray(probs),
        "read-only": np.broadcast_to(probs, probs.shape),
        "pandas": table(probs),
        "Polars": (pl.Series if probs.ndim == 1 else pl.DataFrame)(probs),
    }


def same_labels(labels: Any) -> dict[str, Any]:
    """The same labels in other containers and types."""
    return {
        "list": labels.tolist(),
        "floats": labels.astype(float),
        "objects": labels.astype(object),
        "int8": labels.astype(np.int8),
        "uint64": labels.astype(np.uint64),
        "column": labels[:, None],
        "one-hot": np.eye(labels.max() + 1)[labels],
        "nullable": pd.Series(labels, dtype="Int64"),
        "categories": pd.Series(labels, dtype="category"),
        "Arrow": pa.array(labels),
    }


def edges(labels: Any, probs: Any) -> dict[str, dict[str, Any]]:
    """Data at the edge of what is allowed: an answer or an error of ours, never anything else."""
    sure = (
        (probs == probs.max(axis=-1, keepdims=True)).astype(float) if probs.ndim == 2 else (probs > 0.5).astype(float)
    )
    return {
        "one row": {"labels": labels[:1], "probs": probs[:1]},
        "two rows": {"labels": labels[:2], "probs": probs[:2]},
        "one class": {"labels": labels * 0},
        "other class": {"labels": labels * 0 + 1},
        "equal rows": {"probs": np.repeat(probs[3:4], N, axis=0)},
        "certain": {"probs": sure},
        "all 0": {"probs": probs * 0 if probs.ndim == 1 else np.eye(3)[labels * 0]},
        "subnormal": {"probs": np.where(probs == probs.max(), 5e-324, probs) if probs.ndim == 1 else probs},
        "near 1": {"probs": np.full(N, 1 - 2.0**-53) if probs.ndim == 1 else probs},
        "one weight": {"weights": np.eye(N)[0]},
        "two weights": {"weights": np.eye(N)[0] + np.eye(N)[5]},
        "tiny weights": {"weights": np.linspace(1e-300, 3e-300, N)},
        "huge weights": {"weights": np.linspace(1e300, 1e307, N)},
        "weights far apart": {"weights": np.logspace(-12, 12, N)},
        "one count": {"counts": np.eye(N)[0]},
        "large counts": {"counts": np.full(N, 10.0**4)},
        "huge counts": {"counts": np.full(N, 10.0**13)},
    }


def _beside(argument: str, value: Any, labels: Any, probs: Any) -> dict[str, Any]:
    """Beside a bad argument with an index, another with the default one."""
    index = value.index if isinstance(value, pd.Series | pd.DataFrame) else None
    if index is None or (isinstance(index, pd.RangeIndex) and index.start == 0):
        return {}
    return {"probs": pd.DataFrame(probs)} if argument == "labels" else {"labels": pd.Series(labels)}


class Call:
    """One public callable on good data, of which single arguments are then replaced."""

    allowed: tuple[str, ...] = tuple(DATA)
    """the kinds of data that it may be for"""

    def __init__(self, name: str, function: Callable[..., Any], takes: Any = None, /, **given: Any) -> None:
        self.name, self.function = name, function
        parameters = inspect.signature(takes or function).parameters
        self.given = {name: value for name, value in QUICK.items() if name in parameters} | given
        self.options = [name for name in parameters if name not in FREE | WRAPPED]
        wrapped = "labels" not in parameters
        self.empty = [name for name, each in parameters.items() if each.default == ()]  # where an empty list says so
        self.second = "before" if "before" in parameters else "probs"
        self.wrapper = next(iter(parameters), None) if wrapped else None
        self.data = [name for name in BAD if wrapped or name in parameters or name == "probs"]
        if "features" in parameters:  # groups are segments there, and a missing value is one of them
            self.data.remove("groups")

    def __call__(self, kind: str, /, **changes: Any) -> Any:
        labels, probs = DATA[kind]
        arguments = {"labels": labels, "probs": probs} | self.given | changes
        if self.wrapper is not None:
            data = {name: arguments.pop(name) for name in BAD if name in arguments}
            arguments[self.wrapper] = cal.Predictions(**data)
        else:
            arguments[self.second] = arguments.pop("probs")
        return self.function(**arguments)

    def bad(self, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Each bad column, what is wrong with it, and the arguments that hold it."""
        for argument in self.data:
            for name, value in BAD[argument](*DATA[kind]).items():
                yield argument, name, {argument: value} | _beside(argument, value, *DATA[kind])

    def edges(self, kind: str) -> dict[str, dict[str, Any]]:
        """Data at the edge of what is allowed."""
        found = edges(*DATA[kind])
        return {name: changes for name, changes in found.items() if set(changes) <= set(self.data)}

    def forms(self, kind: str) -> dict[str, dict[str, Any]]:
        """The same data in other containers and types, by argument."""
        labels, probs = DATA[kind]
        forms = {"labels": same_labels(labels), "probs": same_probs(probs)}
        return {argument: found for argument, found in forms.items() if argument in self.data}

    @cache  # noqa: B019
    def kinds(self) -> list[str]:
        """The data that this call is for."""
        found = []
        for kind in self.allowed:
            try:
                self(kind)
                found.append(kind)
            except cal.InputError:
                continue
        return found


QUICK: dict[str, Any] = {"n_draws": 19, "n_data_sets": 4, "n_folds": 2, "workers": 1}
"""Small numbers where a method draws."""

WRAPPED = {"predictions", "before"}
"""What takes a `Predictions` only."""


def fitting(recipe: Any) -> Callable[..., Any]:
    """The fit of a recipe, its options among the arguments."""

    def fit(labels: Any, probs: Any, counts: Any = None, weights: Any = None, **options: Any) -> Any:
        return recipe(**options).fit(labels, probs, counts=counts, weights=weights)

    return fit


@cache
def calls() -> tuple[Call, ...]:
    """Every public function of labels and probabilities, every test, every recipe with its fit."""
    found = list(_calls())
    return tuple({call.name: call for call in found}.values())


def _calls() -> Iterator[Call]:
    given: dict[str, dict[str, Any]] = {
        "sampled_error": {"n_samples": 16},
        "decision_regret": {"n_draws": 0, "method": "platt"},
        "trust": {"estimators": ["ece"], "world": cal.simulate.named_world(next(iter(cal.simulate.NAMED_WORLDS)))},
        "expected_ece": {"n": 20},
        "interval_of": {"estimator": cal.ece, "n_draws": 100, "method": "bootstrap"},
        "consistency_band": {"n_draws": 100},
        "compare": {"after": cal.recalibrate(cal.Predictions(EVENT, P), "temperature")},
        "audit": {"features": {"f": P > 0.5}, "min_size": 2},
        "compare_answers": {"models": ["one", "other"] * (N // 2)},
    }
    for name in cal.__all__:
        function = getattr(cal, name)
        names = set(inspect.signature(function).parameters) if inspect.isfunction(function) else set()
        if names & {"labels", *WRAPPED} and name not in (
            "optimism",
            "plan",
            "plan_validation",
        ):  # which take no predictions
            yield Call(name, function, **given.get(name, {}))
    yield Call("Predictions", cal.Predictions)
    yield Call("fit_world", cal.simulate.fit_world)
    yield Call("Monitor.update", lambda **data: cal.Monitor().update(**data), cal.Monitor.update)
    for kind in ("test", "clinical estimator"):
        for name, each in methods(kind).items():
            yield Call(f"{kind} {name}", each.function)
    for name, each in methods("map").items():
        takes = inspect.signature(each.function)
        fit = fitting(each.function)
        fit.__signature__ = takes.replace(  # type: ignore[attr-defined]
            parameters=[*[*inspect.signature(fit).parameters.values()][:3], *_as_keywords(takes)]
        )
        yield Call(f"map {name}", fit)


def _as_keywords(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signature.parameters.values()]
