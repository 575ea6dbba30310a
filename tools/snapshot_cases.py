"""The cases of `snapshot.py`: one line each, on data made by NumPy with fixed seeds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

HOMES = ("", ".regression", ".simulate", ".results", ".detect", ".score", ".maps")
SEEN: set[str] = set()
"""names that were looked up, and types that results had"""

Case = Callable[[], Any]


def name(wanted: str) -> Any:
    """A public name, wherever it lives."""
    SEEN.add(wanted)
    for home in HOMES:
        try:
            found = getattr(import_module(f"calibrant{home}"), wanted)
        except (AttributeError, ImportError):
            continue
        SEEN.update(base.__name__ for base in getattr(found, "__mro__", ()))
        return found
    raise AttributeError(f"no public name {wanted!r}")


def public_names() -> list[str]:
    return list(import_module("calibrant").__all__)


# --- data: arrays are made once, predictions anew for each case, so that no case leans on what another has kept ---


@cache
def event_arrays(n: int, seed: int, tied: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 20, n) / 20 if tied else rng.beta(1.2, 0.9, n)
    return (rng.random(n) < p**1.3).astype(int), p


@cache
def class_arrays(n: int, seed: int = 4, k: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((n, k))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    softer = probs**0.6 / (probs**0.6).sum(axis=1, keepdims=True)
    return (rng.random((n, 1)) > softer.cumsum(axis=1)[:, :-1]).sum(axis=1), probs


@cache
def number_arrays(n: int = 300, seed: int = 5) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    mean, variance = rng.standard_normal(n), rng.uniform(0.3, 2.0, n)
    return mean + 1.2 * np.sqrt(variance) * rng.standard_normal(n), mean, variance


def predictions(arrays: tuple[Any, Any], **options: Any) -> Any:
    return name("Predictions")(*arrays, **options)


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


N = 500
LEVELS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)


def at_levels(forecasts: Any) -> Any:
    return np.stack([forecasts.quantile(level) for level in LEVELS], axis=1)


DATA: dict[str, Callable[[], Any]] = {
    "plain": lambda: predictions(event_arrays(N, 1, False)),
    "tied": lambda: predictions(event_arrays(N, 2, True)),
    "weighted": lambda: predictions(event_arrays(N, 3, True), counts=random(30).integers(1, 5, N)),
    "fractional": lambda: predictions(event_arrays(N, 1, False), weights=random(31).uniform(0.5, 2.0, N)),
    "float32": lambda: predictions((event_arrays(N, 1, False)[0], event_arrays(N, 1, False)[1].astype(np.float32))),
    "grouped": lambda: predictions(event_arrays(N, 2, True), groups=random(32).integers(0, 120, N)),
    "soft": lambda: predictions(
        (np.round(event_arrays(N, 1, False)[1] ** 1.2, 2), event_arrays(N, 2, True)[1]), soft=True
    ),
    "soft classes": lambda: predictions((class_arrays(N, 13)[1], class_arrays(N)[1]), soft=True),
    "classes": lambda: predictions(class_arrays(N)),
    "weighted classes": lambda: predictions(class_arrays(N), counts=random(33).integers(1, 4, N)),
    "logits": lambda: name("Predictions").from_logits(class_arrays(N)[0], np.log(class_arrays(N)[1])),
    "grouped classes": lambda: predictions(class_arrays(N), groups=random(32).integers(0, 120, N)),
    "small": lambda: predictions(event_arrays(200, 6, False)),
    "small classes": lambda: predictions(class_arrays(200, 7)),
    "big": lambda: predictions(event_arrays(400_000, 8, False)),
    "big tied": lambda: predictions(event_arrays(400_000, 9, True)),
    "big weighted": lambda: predictions(event_arrays(400_000, 9, True), counts=random(34).integers(1, 5, 400_000)),
    "big classes": lambda: predictions(class_arrays(400_000, 10)),
    "gaussian": lambda: name("Predictions").from_gaussian(*number_arrays()),
    "weighted gaussian": lambda: name("Predictions").from_gaussian(
        *number_arrays(), counts=random(35).integers(1, 4, 300)
    ),
    "quantiles": lambda: name("Predictions").from_quantiles(number_arrays()[0], LEVELS, at_levels(DATA["gaussian"]())),
    "samples": lambda: name("Predictions").from_samples(
        number_arrays()[0], number_arrays()[1][:, None] + random(36).standard_normal((300, 12))
    ),
    "bent": lambda: name("QuantileRecalibration")().fit(DATA["gaussian"]()).apply(DATA["gaussian"]()),
}

WIDE, NARROW = (
    ("plain", "tied", "weighted", "fractional", "soft", "soft classes", "classes"),
    ("plain", "tied", "weighted", "classes"),
)
HARD = ("plain", "tied", "weighted", "grouped", "classes")
MANY = ("classes", "weighted classes", "logits")
SMALL = ("small", "small classes")
BIG = ("big", "big tied", "big weighted", "big classes")
BIG_EVENT = ("big", "big tied", "big weighted")
NUMBERS = ("gaussian", "weighted gaussian", "quantiles", "samples", "bent")
GAUSSIAN = ("gaussian", "weighted gaussian")

CASES: dict[str, Case] = {}


def on(data: tuple[str, ...], **cases: Callable[[Any], Any]) -> None:
    """Each case on each of the data sets."""
    for title, call in cases.items():
        for which in data:
            CASES[f"{title} / {which}"] = partial(lambda call, which: call(DATA[which]()), call, which)


def alone(**cases: Case) -> None:
    """Cases that bring their own data."""
    CASES.update(cases)


def mass(n: int = 10, **options: Any) -> Any:
    return name("EqualMass")(n, **options)


def width(n: int = 10, **options: Any) -> Any:
    return name("EqualWidth")(n, **options)


def edges() -> Any:
    return name("Edges")((0.0, 0.1, 0.4, 0.7, 0.9, 1.0), closed="left")


def with_properties(answer: Any, *properties: str) -> list[Any]:
    return [answer, *(getattr(answer, each) for each in properties)]


def fitted_and_applied(recipe: Any, data: Any) -> dict[str, Any]:
    """A fitted map, its parameters, what it says, and the same after a round trip through a file."""
    fitted = recipe.fit(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.json"
        fitted.save(path)
        loaded = name("load_map")(path)
    answers = {
        "fit": getattr(fitted, "fit", None),
        "parameters": fitted.parameters,
        "said": fitted.apply(data),
        "loaded": loaded.apply(data),
    }
    return answers | ({"curve": fitted.curve(21)} if getattr(fitted, "single", False) else {})


def watched(data: Any, parts: int = 5) -> Any:
    monitor = name("Monitor")()
    for k, rows in enumerate(np.array_split(np.arange(data.n), parts)):
        monitor.update(data.rows(rows), mark=k)
    return monitor


def monitored(monitor: Any) -> dict[str, Any]:
    again = name("Monitor").from_json(monitor.to_json())
    asked = ("n", "e_value", "p_value", "run_length", "direction", "course")
    found = {each: getattr(monitor, each) for each in asked}
    found = {each: value() if callable(value) else value for each, value in found.items()}
    return found | {"since": monitor.since(), "alarm": monitor.alarm(), "again": again.e_value}


def drawn(world: Any, *views: str, norms: tuple[Any, ...] = (1, 2)) -> dict[str, Any]:
    truths = {f"{norm} {view}": world.truth(norm, view) for norm in norms for view in views or ("auto",)}
    sample = world.sample(100, 3)
    return truths | {"said": sample.outputs, "labels": sample.labels}


def forecast_facts(data: Any) -> dict[str, Any]:
    found = {"mean": data.mean, "variance": data.variance, "pit": data.pit(1), "cdf": data.cdf(data.labels)}
    found |= {
        "quantile": [data.quantile(level) for level in LEVELS],
        "draw": data.draw(random(1)),
        "range": data.pit_range(),
    }
    return {key: value() if callable(value) else value for key, value in found.items()}


def read_back(**columns: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        y, p = event_arrays(50, 11, False)
        path.write_text("y,p\n" + "".join(f"{a},{float(b)!r}\n" for a, b in zip(y, p, strict=True)))
        return name("read")(path, **columns)


def features(n: int = N) -> dict[str, Any]:
    rng = random(40)
    return {"a": rng.integers(0, 3, n).astype(str), "b": rng.integers(0, 2, n).astype(str), "x": rng.random(n)}


def answers() -> tuple[Any, Any, Any]:
    rng = random(41)
    share = rng.integers(0, 9, 160) / 8
    return (rng.random(160) < 0.1 + 0.7 * share).astype(int), share, rng.integers(0, 60, 160)


def pictured(kind: str, answer: Any, **options: Any) -> dict[str, Any]:
    """The lines and the points of a plot."""
    axes = getattr(name("plot"), kind)(answer, **options)
    lines = [np.asarray(line.get_xydata(), dtype=float) for line in axes.lines]
    return {"lines": lines, "points": [np.asarray(each.get_offsets(), dtype=float) for each in axes.collections]}
