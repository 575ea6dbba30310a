"""More of the table of bad inputs: forecasts of a real number, rules for bins, plans, worlds and what draws from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import calibrant as cal
from bad_inputs import (
    DATA,
    EVENT,
    NO_ARRAYS,
    ROWS,
    Call,
    N,
    P,
    bad_counts,
    bad_groups,
    bad_numbers,
    bad_weights,
    changed,
    same_probs,
)
from calibrant.methods import methods
from calibrant.simulate.curves import TrueCurve
from calibrant.simulate.scores import Scores
from calibrant.simulate.world import World

MEAN = np.linspace(-1.0, 1.0, N)
LABELS = MEAN + np.array([1, -1, 2, 0, -2, 1, 1, -1, 0, 3, -1, -2]) / 4
VARIANCE = np.linspace(0.5, 2.0, N)
LEVELS = np.array([0.1, 0.5, 0.9])
STEPS = np.array([-1.5, 0.0, 1.25])

FORECASTS: dict[str, dict[str, Any]] = {
    "gaussian": {"labels": LABELS, "mean": MEAN, "variance": VARIANCE},
    "quantiles": {"labels": LABELS, "levels": LEVELS, "values": MEAN[:, None] + STEPS},
    "samples": {"labels": LABELS, "samples": MEAN[:, None] + np.array([-1.25, 1.0, -0.5, 0.75, 0.0])},
}
"""The arguments of `Predictions.from_…`"""


LOGITS = {"event": np.log(P / (1 - P)), "classes": np.log(ROWS)}


def forecasts_of(kind: str, **changes: Any) -> Any:
    """Forecasts of a kind from good data, some of it replaced."""
    return getattr(cal.Predictions, f"from_{kind}")(**(FORECASTS[kind] | changes))


def bad_variance() -> dict[str, Any]:
    spoiled = {"zero": changed(VARIANCE, 0.0), "negative": changed(VARIANCE, -1.0), "all zero": VARIANCE * 0}
    return NO_ARRAYS | bad_numbers(VARIANCE) | spoiled


def bad_levels() -> dict[str, Any]:
    rows = ("another index", "other rows", "one row", "one row more")  # which levels have not
    found = {name: bad for name, bad in bad_numbers(np.linspace(0.1, 0.9, N)).items() if name not in rows}
    return (
        NO_ARRAYS | found | {"falling": LEVELS[::-1], "zero": [0, 0.5, 0.9], "one": [0.1, 0.5, 1], "twice": [0.1] * 3}
    )


def bad_matrix(good: Any) -> dict[str, Any]:
    return NO_ARRAYS | bad_numbers(good) | {"words": good.astype(str).astype(object) + "x"}


BAD_FORECASTS: dict[str, dict[str, Any]] = {
    "labels": NO_ARRAYS | bad_numbers(LABELS) | {"two columns": np.ones((N, 2)), "words": ["a"] * N},
    "mean": NO_ARRAYS | bad_numbers(MEAN) | {"two columns": np.ones((N, 2)), "words": ["a"] * N},
    "variance": bad_variance(),
    "levels": bad_levels(),
    "values": bad_matrix(FORECASTS["quantiles"]["values"])
    | {"crossing": FORECASTS["quantiles"]["values"][:, ::-1], "a column missing": np.zeros((N, 2))},
    "samples": bad_matrix(FORECASTS["samples"]["samples"]),
    "counts": bad_counts(),
    "weights": bad_weights(),
    "groups": bad_groups(),
}

NO_FORECASTS = NO_ARRAYS | {"None": None, "predictions": cal.Predictions(EVENT, P), "labels": LABELS, "a world": World}


class OfForecasts(Call):
    """A callable that takes forecasts of a real number, or the columns that make them."""

    def __init__(
        self, name: str, function: Callable[..., Any], takes: Any = None, kinds: Any = FORECASTS, **given: Any
    ) -> None:
        parameters = inspect.signature(takes or function).parameters
        super().__init__(name, function, takes, **given)
        self.allowed, self.wrapper = tuple(kinds), next((each for each in ("forecasts",) if each in parameters), None)
        self.data = [each for each in BAD_FORECASTS if each in parameters or self.wrapper]
        self.options = [each for each in self.options if each not in (*self.data, "forecasts", "labels")]

    def __call__(self, kind: str, /, **changes: Any) -> Any:
        if self.wrapper is None:
            return self.function(**(FORECASTS[kind] | self.given | changes))
        data = {name: changes.pop(name) for name in BAD_FORECASTS if name in changes and name not in self.options}
        return self.function(**({"forecasts": forecasts_of(kind, **data)} | self.given | changes))

    def bad(self, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Columns of the constructor and of a fit; one thing that is no forecasts of every function of them."""
        for name, value in NO_FORECASTS.items() if self.wrapper else ():
            yield self.wrapper or "", name, {"forecasts": value}
        for argument in () if self.wrapper else self.data:
            for name, value in BAD_FORECASTS[argument].items() if argument in self.columns(kind) else ():
                yield argument, name, {argument: value} | self._beside(kind, argument, value)

    def _beside(self, kind: str, argument: str, value: Any) -> dict[str, Any]:
        """Beside a column with an index, another with the default one."""
        other = next(each for each in FORECASTS[kind] if each in self.columns(kind) - {argument, "levels"})
        return {other: pd.DataFrame(FORECASTS[kind][other])} if isinstance(value, pd.Series | pd.DataFrame) else {}

    def columns(self, kind: str) -> set[str]:
        """The data that this kind has."""
        return set(self.data) & {*FORECASTS[kind], "counts", "weights", "groups"}

    def edges(self, kind: str) -> dict[str, dict[str, Any]]:
        found = {
            f"{name}: {title}": {name: value}
            for name in FORECASTS[kind] if name != "levels"
            for title, value in _edges(FORECASTS[kind][name]).items()
        } | {
            "one row": {name: value if name == "levels" else value[:1] for name, value in FORECASTS[kind].items()},
            "two rows": {name: value if name == "levels" else value[:2] for name, value in FORECASTS[kind].items()},
            "one weight": {"weights": np.eye(N)[0]},
            "weights far apart": {"weights": np.logspace(-12, 12, N)},
            "tiny weights": {"weights": np.linspace(1e-300, 3e-300, N)},
            "huge weights": {"weights": np.linspace(1e300, 1e307, N)},
            "one count": {"counts": np.eye(N)[0]},
            "one group": {"groups": ["a"] * N},
        }  # fmt: skip
        return {name: changes for name, changes in found.items() if self.wrapper or set(changes) <= self.columns(kind)}

    def forms(self, kind: str) -> dict[str, dict[str, Any]]:
        columns = (
            FORECASTS[kind]
            if self.wrapper
            else {n: FORECASTS[kind][n] for n in self.columns(kind) if n in FORECASTS[kind]}
        )
        return {
            name: {k: v for k, v in same_probs(good).items() if k != "longdouble"} for name, good in columns.items()
        }


def _edges(good: Any) -> dict[str, Any]:
    return {
        "all equal": np.repeat(good[3:4], N, axis=0),
        "huge": good * 1e200,
        "one huge": changed(good, 1e300),
        "tiny": good * 1e-300,
        "zero": good * 0,
    }


class OfOptions(Call):
    """A callable without rows of data: every argument is an option."""

    allowed = ("options",)

    def __init__(self, name: str, function: Callable[..., Any], takes: Any = None, /, **given: Any) -> None:
        super().__init__(name, function, takes, **given)
        self.data, self.wrapper = [], None
        self.options = [*self.options, *(set(inspect.signature(takes or function).parameters) & {"weights", "labels"})]

    def __call__(self, kind: str, /, **changes: Any) -> Any:
        return self.function(**(self.given | changes))

    def bad(self, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        return iter(())

    def edges(self, kind: str) -> dict[str, dict[str, Any]]:
        return {}

    def forms(self, kind: str) -> dict[str, dict[str, Any]]:
        return {}


class OfLogits(Call):
    """The constructor from logits, of which any finite number is one."""

    def __call__(self, kind: str, /, **changes: Any) -> Any:
        data = {"labels": DATA[kind][0], "probs": LOGITS[kind]} | changes
        return self.function(logits=data.pop("probs"), **data)

    def bad(self, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        allowed = NO_ARRAYS | bad_numbers(LOGITS[kind])
        for argument, name, changes in super().bad(kind):
            if argument != "probs":
                yield argument, name, changes
        for name, value in allowed.items():
            index = isinstance(value, pd.Series | pd.DataFrame)
            yield "logits", name, {"probs": value} | ({"labels": pd.Series(DATA[kind][0])} if index else {})

    def edges(self, kind: str) -> dict[str, dict[str, Any]]:
        return {name: changes for name, changes in super().edges(kind).items() if "probs" not in changes} | {
            name: {"probs": value} for name, value in _edges(LOGITS[kind]).items()
        }

    def forms(self, kind: str) -> dict[str, dict[str, Any]]:
        return super().forms(kind) | {"probs": same_probs(LOGITS[kind])}


def _then(make: Callable[..., Any], use: Callable[[Any], Any]) -> Callable[..., Any]:
    """Make an object and use it, so that what is made of a bad option is not only not looked at."""

    def made(**options: Any) -> Any:
        return use(make(**options))

    return made


@cache
def more_calls() -> tuple[Call, ...]:
    """Every public callable that is in none of the other lists."""
    return (*_of_rows(), *_of_forecasts(), *_of_options())


def _of_rows() -> Iterator[Call]:
    """Logits; and the recipes that are made of others, which no register has."""
    yield OfLogits("from_logits", cal.Predictions.from_logits)
    given = {"OneVsRest": {"method": cal.Platt()}, "TopLabel": {"method": cal.Platt()}}
    given["Auto"] = {"candidates": ("identity", "platt")}
    registered = [each.function for each in methods("map").values()]
    for name in cal.__all__:
        recipe = getattr(cal, name)
        if hasattr(recipe, "fit_predictions") and recipe not in registered:
            yield Call(f"recipe {name}", *_then_called(recipe, "fit"), **given[name])


def _of_forecasts() -> Iterator[Call]:
    for kind in FORECASTS:
        yield OfForecasts(f"from_{kind}", getattr(cal.Predictions, f"from_{kind}"), None, (kind,))
    kinds: tuple[Any, ...] = ("forecast estimator", "forecast test")
    functions = {f"{kind} {name}": each.function for kind in kinds for name, each in methods(kind).items()}
    known = [*functions.values()]
    scores = {n: f for n, f in vars(cal.regression).items() if inspect.isfunction(f) and f not in known}
    for name, function in (functions | scores).items():
        yield OfForecasts(name, function)
    for name, each in methods("forecast score").items():
        yield OfForecasts(f"forecast score {name}", *_then_called(each.function, "score"))
    for name, each in methods("forecast map").items():
        yield OfForecasts(f"forecast map {name}", *_then_called(each.function, "fit"), ("gaussian",))
        yield from _applied(name, each.function().fit(forecasts_of("gaussian")))


def _applied(name: str, fitted: Any) -> Iterator[Call]:
    """A fitted map applied to forecasts; and to their columns, if it takes them."""

    def applied(forecasts: Any) -> Any:
        return fitted.apply(forecasts)

    yield OfForecasts(f"{name} of forecasts", applied, None, ("gaussian",))
    if "variance" in inspect.signature(fitted.apply).parameters:
        yield OfForecasts(
            f"{name} of columns", lambda labels, **columns: fitted.apply(**columns), fitted.apply, ("gaussian",)
        )


def _then_called(make: Any, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Make an object and call its method, all by keyword; and what has the parameters of both."""
    own, taken = (inspect.signature(each).parameters for each in (make, getattr(make, name)))

    def called(**given: Any) -> Any:
        made = make(**{key: value for key, value in given.items() if key in own})
        return getattr(made, name)(**{key: value for key, value in given.items() if key not in own})

    def signed() -> None: ...

    both = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in ({**taken, **own}).values() if each.name != "self"
    ]
    signed.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    return called, signed


NEEDED: dict[str, dict[str, Any]] = {
    "Edges": {"edges": (0.0, 0.5, 1.0)},
    "BetaWorld": {"alpha": 2.0, "beta": 1.0},
    "EmpiricalWorld": {"values": P},
    "DirichletWorld": {"concentration": [0.5, 0.5, 0.5]},
    "LogisticNormalWorld": {"classes": 3},
    "ShapeWorld": {"shape": "square"},
    "MapCurve": {"map": cal.Platt().fit(EVENT, P)},
}
"""What has no default."""

WORLD = cal.simulate.BetaWorld(2.0, 1.0, cal.simulate.PowerCurve(2.0))

SIMULATED: dict[str, dict[str, Any]] = {
    "bent_world": {"error": 0.05},
    "power_world": {"error": 0.05},
    "calibrated_world": {"scores": (2.0, 1.0)},
    "named_world": {"name": "resnet110_c10"},
    "bias": {"estimator": cal.ece, "world": WORLD, "n": 20},
    "bias_grid": {"world": WORLD, "sizes": [20], "n_bins": [2]},
    "bias_test": {
        "rows": [row for n in (20, 30) for row in cal.simulate.bias(["ece", "sweep"], WORLD, [n], 4)],
        "first": "ece",
        "second": "sweep",
    },
    "detection": {"estimator": cal.ece, "world": WORLD, "n": 20, "n_data_sets": 20},
    "map_divergence": {"map": np.sqrt, "world": WORLD, "n": 20},
    "map_quality": {"maps": ["platt"], "world": WORLD, "n": 20},
    "rank_correlation": {
        "estimators": [cal.ece],
        "worlds": [cal.simulate.ShapeWorld("square", error) for error in (0.0, 0.05, 0.1)],
        "n": 20,
    },
}


def _of_options() -> Iterator[Call]:
    for each in methods("binning").values():
        name = each.function.__name__
        use = _then(each.function, lambda rule: cal.binned_error(EVENT, P, bins=rule))
        yield OfOptions(name, use, each.function, **NEEDED.get(name, {}))
    for name in cal.simulate.__all__:
        made = getattr(cal.simulate, name)
        if not (inspect.isclass(made) and issubclass(made, World | Scores | TrueCurve)) or inspect.isabstract(made):
            continue
        yield OfOptions(name, _then(made, _used), made, **NEEDED.get(name, {}))
        if issubclass(made, World):
            world = made(**NEEDED.get(name, {}))
            yield OfOptions(f"{name}.sample", world.sample, n=3, seed=0)
            if not isinstance(world, cal.simulate.LogisticNormalWorld):  # one truth takes seconds
                yield OfOptions(f"{name}.truth", world.truth)
    for name, given in SIMULATED.items():
        yield OfOptions(name, getattr(cal.simulate, name), **given)
    yield OfOptions("plan", cal.plan, error=0.2, world=WORLD, n_data_sets=3)
    yield OfOptions(
        "plan of rows", cal.plan, cal.plan, error=0.2, predictions=cal.Predictions(EVENT, P), check=True, n_data_sets=3
    )
    yield OfOptions("plan_validation", cal.plan_validation, prevalence=0.2, c_statistic=0.8)
    yield OfOptions("plan_validation of rows", cal.plan_validation, predictions=cal.Predictions(EVENT, P))
    yield OfOptions("Monitor", _then(cal.Monitor, lambda monitor: monitor.update(EVENT, P)), cal.Monitor)


def _used(made: Any) -> Any:
    if isinstance(made, World):
        return made.sample(3, seed=0)
    p = np.array([0.2, 0.5])
    return made.rates(p, 1 - p) if isinstance(made, TrueCurve) else made.draw(3, 0)
