"""Everything that calibrant saves, small; what its answers must be; and ways to damage it.

Declared damage breaks one constraint of one field, as its declaration says; blind damage changes anything anywhere.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial, singledispatch
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

import calibrant as cal
from calibrant.detect import spiegelhalter_test
from calibrant.maps import uninformative
from calibrant.problems import CalibrantError
from calibrant.results import Answer, Record
from calibrant.results.constraints import (
    AtMost,
    Constraint,
    Distinct,
    Holds,
    Like,
    OneOf,
    Rising,
    Shape,
    SumsTo,
    Within,
)
from calibrant.state.state import SavedState
from made_once import MadeOnce
from registered import FORECAST_METHODS, METHODS

N, K = 40, 3

MULTILABEL = [[1, 1], [0, 1], [0, 0], [1, 0]] * 5, [[0.9, 0.6], [0.2, 0.7], [0.1, 0.4], [0.3, 0.5]] * 5


def _rows():
    rng = np.random.default_rng(20261115)
    p = rng.beta(1.2, 1, N).round(2)
    z = rng.normal(size=(N, K)) * 2
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    return ((rng.random(N) < p**1.5).astype(int), p), (labels, probs), z


@cache
def saved_maps() -> Mapping[str, Any]:
    """A fitted map of every registered recipe, for one event and for several classes, and of every way to combine them."""
    event, classes, logits = _rows()
    halves = {"first": np.arange(N) < N // 2}
    pair = np.stack([1 - event[1], event[1]], axis=1)
    labels = cal.Predictions.from_multilabel(*MULTILABEL)
    given = {"matrix": {"strength": 0.01, "intercept": 0.01}, "dirichlet": {"strength": 0.01, "intercept": 0.01}}
    recipes = {name: method(**given.get(name, {})) for name, method in METHODS.items()}
    found = {f"{name}, event": partial(recipe.fit, *event) for name, recipe in recipes.items()}
    found |= {f"{name}, classes": partial(recipe.fit, *classes) for name, recipe in recipes.items()}
    found |= {f"top {name}": partial(cal.TopLabel(name).fit, *classes) for name in ("platt", "isotonic", "venn_abers")}
    found |= {f"labels, {name}": partial(cal.recalibrate, labels, name) for name in ("platt", "temperature")}
    found |= {
        "vector of logits": lambda: cal.maps.VectorScaling().fit(classes[0], logits=logits),
        "piecewise in probabilities": lambda: cal.maps.PiecewiseLinear("probability", n_pieces=2).fit(*event),
        "centred isotonic": lambda: cal.maps.CenteredIsotonic(bounded=False).fit(*event),
        "scaled by bins of bins": lambda: cal.maps.ScalingBinning(method=cal.maps.ScalingBinning()).fit(*event),
        "two classes": lambda: cal.Temperature().fit(event[0], pair),
        "chosen": lambda: cal.Auto(candidates=("identity", "platt"), prefer="simple").fit(*event),
        "mixture": lambda: cal.Auto(candidates=("identity", "platt")).fit(*event),
        "segmented": lambda: cal.maps.Segmented("temperature").fit(*event, segments=np.arange(N) % 2),
        "multicalibration": lambda: cal.maps.Multicalibration("identity", n_bins=2, min_size=2).fit(
            1 - (event[1] > 0.5), event[1], segments=halves
        ),
        "top accuracy": lambda: uninformative.TopAccuracy().fit(*classes),
        "label frequencies": lambda: uninformative.LabelFrequencies().fit(*classes),
    }
    return MadeOnce(found)


@cache
def saved_forecast_maps() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        name: method().fit(rng.normal(size=20), np.zeros(20), np.ones(20)) for name, method in FORECAST_METHODS.items()
    }


@cache
def saved_states() -> dict[str, Any]:
    event, (labels, probs), _ = _rows()
    pair = np.stack([1 - event[1], event[1]], axis=1)
    certain = np.where(np.arange(K) == (labels[:, None] + 1) % K, 1.0, 0.0)
    return {
        "one column": cal.collect(*event, part="a"),
        "one column, counted": cal.collect(*event, counts=np.arange(N) % 3, part="a"),
        "two columns": cal.collect(event[0], pair, n_cells=4, part="a"),
        "several columns": cal.collect(labels, probs, views=["top", "class 1"], n_cells=4, part="a"),
        "infinite scores": cal.collect(labels, certain, n_cells=2, part="a"),
    }


@cache
def saved_monitors() -> dict[str, Any]:
    event, classes, _ = _rows()
    return {
        "no rows": cal.Monitor(),
        "one event": cal.Monitor().update(*event, mark="monday").update(*event, mark=2),
        "top class": cal.Monitor().update(*classes),
    }


@cache
def saved_results() -> Mapping[str, Any]:
    event, classes, _ = _rows()
    before = cal.Predictions(*event)
    return MadeOnce(
        {
            "estimate": lambda: cal.ece(*event),
            "estimate of classes": lambda: cal.binned_error(*classes, view="classwise"),
            "infinite estimate": lambda: cal.log_score([1, 0], [0.0, 0.5]),
            "score": lambda: cal.brier_score(*event),
            "test": lambda: cal.calibration_test(*event),
            "diagnosis": lambda: cal.diagnose(*event),
            "comparison": lambda: cal.compare(before, saved_maps()["platt, event"].apply(before)),
            "decomposition": lambda: cal.decompose(*event),
            "table": lambda: cal.results.Table("t", ("a", "b"), ((1, 2.5), ("x", math.nan)), "note"),
            "where": lambda: cal.where(*event),
        }
    )


SAVED = {
    "map": saved_maps,
    "forecast map": saved_forecast_maps,
    "state": saved_states,
    "monitor": saved_monitors,
    "result": saved_results,
}


def data_of(saved: Any) -> dict[str, Any]:
    """Plain data, as they are in the file."""
    return copy.deepcopy(saved.state.to_data() if isinstance(saved, cal.Monitor) else saved.to_data())


def read_back(saved: Any, data: Any) -> Any:
    """What the data are read as; raises only what a user should see."""
    if isinstance(saved, cal.State):
        return cal.State.from_data(data)
    if isinstance(saved, cal.Monitor):
        return cal.Monitor(state=type(saved.state).from_data(data))
    return Record.from_data(data)


# what answers must be

P = np.array([0.0, 1e-300, 1e-17, 0.1, 0.37, 0.5, 0.9, 1 - 1e-16, 1.0])
Z = np.array([0.0, 1e-3, -2.0, 30.0, -30.0, 800.0, -800.0, 1e30, -1e300])
ROWS = np.array([[1, 0, 0], [0, 0.5, 0.5], [0.2, 0.3, 0.5], [1 - 1e-16, 1e-16, 0], [0.3, 0.4, 0.3]])
ROW_Z = np.array([[0, 0, 0], [1, -2, 3], [800, 0, -800], [1e300, -1e300, 0], [1e-3, 0, 0]])


def probabilities(found: Any, shape: tuple[int, ...], per_label: bool = False) -> bool:
    found = np.asarray(found)
    inside = found.shape == shape and bool(((found >= 0) & (found <= 1)).all())
    return inside and (found.ndim == 1 or per_label or bool(np.abs(found.sum(axis=1, dtype=float) - 1).max() < 1e-5))


def _segments_of(fitted: Any, n: int) -> dict[str, Any]:
    """What maps of segments need beside the predictions: all rows are in the first segment, or in every one."""
    if isinstance(fitted, cal.maps.SegmentedMap):
        return {"segments": [fitted.segments[0]] * n}
    return {"segments": {name: [True] * n for name in fitted.segments}} if hasattr(fitted, "segments") else {}


def check_map(fitted: Any) -> None:
    """Probabilities for every input, and facts that can be shown."""
    k = len(fitted.classes)
    if fitted.single:
        probs, logits = P, Z
    else:
        wide = np.zeros((len(ROWS), max(k, 3)))
        wide[:, :3] = ROWS
        probs, logits = wide[:, :k] / wide[:, :k].sum(axis=1, keepdims=True), np.resize(ROW_Z, (5, k))
        probs = np.nan_to_num(probs, nan=1 / k)
    for dtype in (np.float64, np.float32):
        few = np.clip(logits, -3e38, 3e38) if dtype is np.float32 else logits
        for given in ({"probs": probs.astype(dtype)}, {"logits": few.astype(dtype)}):
            try:
                found = fitted.apply(**given, **_segments_of(fitted, len(probs)))
            except CalibrantError:
                assert getattr(fitted, "space", "") == "logits"
                continue
            assert probabilities(found, probs.shape, fitted.per_label), (given, found)
            assert found.dtype == dtype
        new = fitted.new_logits(few.astype(dtype))
        assert new is None or np.isfinite(new).all()
    assert isinstance(repr(fitted), str)
    assert {type(fact) for fact in (fitted.injective, fitted.keeps_ranking, fitted.keeps_accuracy)} == {bool}
    assert fitted.n_parameters >= 0
    assert isinstance(fitted.method, str)


def check_forecast_map(fitted: Any) -> None:
    mean, variance = np.array([-1e10, 0.0, 3.0]), np.array([1e-150, 1.0, 1e150])
    if isinstance(fitted, cal.regression.StdScaling().fit([1.0], [0.0], [1.0]).__class__.__mro__[1]):
        found = fitted.apply(mean, variance)[1]
        assert (np.isfinite(found) & (found > 0)).all()
    else:
        assert probabilities(fitted.apply_pit([0.0, 0.3, 1.0]), (3,))
        assert probabilities(fitted.cdf(mean, mean, variance), (3,))
    assert isinstance(repr(fitted), str)


def check_state(state: Any) -> None:
    """Estimates are finite and p-values lie in [0, 1]."""
    for view in state.views:
        event = cal.ece(state, view=view, bins=2), cal.ks_error(state, view=view), cal.sweep_error(state, view=view)
        assert all(math.isfinite(each.value) for each in event), event
        assert 0 <= spiegelhalter_test(state, view=view).p_value <= 1
    if state.grid is not None:
        assert math.isfinite(cal.static_error(state, bins=state.grid.sums.shape[1]).value)
    for score in (cal.brier_score, cal.log_score):
        found = score(state)
        assert not math.isnan(found.value)
        assert found.interval is None or found.interval.low <= found.interval.high
    assert state.merge(cal.State.from_data(data_of(state) | {"parts": ["another"]})).n == 2 * state.n
    assert isinstance(repr(state), str)


def check_monitor(monitor: Any) -> None:
    assert 0 <= monitor.p_value <= 1
    assert 0 <= monitor.e_value < math.inf
    assert isinstance(repr(monitor) + monitor.direction(), str)
    assert np.isfinite(monitor.course().y).all()
    if monitor.state.view in ("auto", "binary"):
        after = monitor.merge(cal.Monitor().update([0, 1], [0.2, 0.7])).update([1], [0.5])
        assert after.n == monitor.n + 3
        assert 0 <= after.p_value <= 1


def check_result(record: Any) -> None:
    assert isinstance(repr(record), str)
    if isinstance(record, Answer):
        assert record.to_html()
    for each in _records(record):
        for name in ("p_value", "level"):
            value = getattr(each, name, None)
            assert not isinstance(value, float) or 0 <= value <= 1
        assert not isinstance(each, cal.results.Interval) or each.low <= each.high
    assert Record.from_json(record.to_json()) == record


def _records(value: Any) -> list[Any]:
    inner = [getattr(value, f.name) for f in fields(value)] if is_dataclass(value) else []
    if isinstance(value, dict) or type(value).__name__ == "mappingproxy":
        inner = list(value.values())
    if isinstance(value, tuple):
        inner = list(value)
    return [value] * is_dataclass(value) + [found for each in inner for found in _records(each)]


CHECKS = {"map": check_map, "forecast map": check_forecast_map, "state": check_state, "monitor": check_monitor, "result": check_result}  # fmt: skip


# blind damage

DEEP: Any = 0
for _ in range(3000):
    DEEP = [DEEP]
BLIND = [-1, 0, 0.5, 2, 1e308, -1e308, 1e-320, math.nan, math.inf, 1 << 70, "x", True, None, [], {}, [[1.0]], {"kind": "float", "value": "nan"}, {"kind": "Fit"}]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to every value; of long lists to the first two, the middle and the last."""
    found = [path]
    if isinstance(data, dict):
        return found + [each for key in data for each in places(data[key], (*path, key))]
    if isinstance(data, list) and data:
        kept = sorted({0, min(1, len(data) - 1), len(data) // 2, len(data) - 1})
        found += [each for i in kept for each in places(data[i], (*path, i))]
    return found


def blind(data: Any) -> list[tuple[tuple[Any, ...], str, Any]]:
    """Every blind damage as (path, what, value)."""
    found = []
    for path in places(data)[1:]:
        found += [(path, "set", value) for value in BLIND]
        found += [(path, "deep", None)] if len(path) < 2 else []
        value = at(data, path)
        if isinstance(value, list) and value:
            found += [(path, what, None) for what in CHANGES if what != "deep"]
        found += [(path, what, None) for what in ("delete", "rename")] if isinstance(path[-1], str) else []
    return found


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def damaged(data: Any, path: tuple[Any, ...], what: str, value: Any) -> Any:
    """The data with one damage; what lies beside the path is shared with the original."""
    step, *rest = path
    data = data.copy()
    if rest:
        data[step] = damaged(data[step], tuple(rest), what, value)
        return data
    old = data.pop(step) if isinstance(data, dict) else data[step]
    if what == "rename":
        data[f"{step}_"] = old
    elif what != "delete":
        data[step] = CHANGES[what](old) if what in CHANGES else value
    return data


CHANGES = {
    "drop": lambda old: old[1:],
    "drop last": lambda old: old[:-1],
    "repeat": lambda old: [*old, old[-1]],
    "reverse": lambda old: old[::-1],
    "swap": lambda old: [*old[:2][::-1], *old[2:]],
    "wrap": lambda old: [old],
    "deep": lambda old: DEEP,
}


# declared damage


@singledispatch
def violations(constraint: Constraint, value: Any, values: dict[str, Any]) -> list[Any]:
    """Values that break the constraint and little else; those of a kind of constraint that has no entry here are missing."""
    raise NotImplementedError(type(constraint))


def _with(value: Any, number: float) -> list[Any]:
    """The number itself, or the list with it first and last."""
    if not isinstance(value, list):
        return [number]
    if not value:
        return []
    if isinstance(value[0], list):
        return [[inner, *value[1:]] for inner in _with(value[0], number)]
    return [[number, *value[1:]], [*value[:-1], number]]


@violations.register
def _(constraint: Within, value, values):
    beyond = [constraint.low - abs(constraint.low) - 0.5] if constraint.low > -1e300 else []
    beyond += [constraint.high * 2 + 0.5] if constraint.high < 1e300 else []
    beyond += [math.inf] if constraint.high < math.inf else []
    return [changed for number in [*beyond, math.nan] for changed in _with(value, number)]


@violations.register
def _(constraint: Rising, value, values):
    return [value[::-1]] if len(set(value)) > 1 else []


@violations.register
def _(constraint: Shape, value, values):
    if isinstance(value, dict):
        return []
    return [[], value + value[-1:], [value]] if value and constraint.sizes != (None,) else [[value, value]]


@violations.register
def _(constraint: OneOf, value, values):
    return [not value] if isinstance(value, bool) else [value + 1] if isinstance(value, int) else [f"{value}_", ""]


@violations.register
def _(constraint: SumsTo, value, values):
    return (
        [[[each / 2 for each in value[0]], *value[1:]]]
        if isinstance(value[0], list)
        else [[each / 2 for each in value]]
    )


@violations.register
def _(constraint: AtMost, value, values):
    other = values[constraint.other]
    return [[b + 1 for b in other]] if isinstance(other, list) else [other + 1]


@violations.register
def _(constraint: Distinct, value, values):
    return [[*value[:-1], value[0]], [*value[:-1], None]] if len(value) > 1 else []


@violations.register
def _(constraint: Like, value, values):
    other = {"classes": [*value["classes"][:-1], "another"], "single": not value["single"]}
    return [value | {name: other[name]} for name in constraint.names if name != "single" or len(value["classes"]) == 2]


@violations.register
def _(constraint: Holds, value, values):
    return []  # a condition of its own: blind damage reaches it


def declared(data: dict[str, Any], record: type | None = None) -> list[tuple[tuple[Any, ...], str, Any]]:
    """Damage to each field that breaks one of its declared constraints, as (path, "set", value)."""
    record = record or cal.results.record_class(data["kind"])
    hints, found = get_type_hints(record, include_extras=True), []
    for field in fields(record):
        value = data[field.name]
        for hint in (hints[field.name], *get_args(hints[field.name])):
            if get_origin(hint) is Annotated and value is not None:
                for constraint in hint.__metadata__:
                    found += [((field.name,), "set", bad) for bad in violations(constraint, value, data)]
        inner = value if isinstance(value, list) else [value]
        for i, each in enumerate(inner):
            if isinstance(each, dict) and each.get("kind") not in (None, "float"):
                path = (field.name, i) if isinstance(value, list) else (field.name,)
                found += [((*path, *rest), what, bad) for rest, what, bad in declared(each)]
    return found


def record_of(saved: Any) -> type | None:
    return SavedState if isinstance(saved, cal.State) else None
