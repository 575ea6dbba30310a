"""The table of bad inputs for losses, and for maps as torch modules and ONNX models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import calibrant as cal
from bad_calls import FORECASTS, LOGITS, OfForecasts, OfOptions
from bad_inputs import CODES, DATA, EVENT, NO_ARRAYS, ROWS, Call, P, bad_numbers
from bad_uses import OfFiles
from calibrant.adapt import losses
from calibrant.adapt.onnx import to_onnx
from calibrant.adapt.torch import Meter, to_module

ALLOWED = ("another index", "other rows", "far apart")
"""a tensor has no index; and losses take no squares of weights"""
SHARES = {"event": ("fractions", "the probabilities"), "classes": ("the probabilities",)}
"""labels that are shares of the classes, as losses take them"""


def number(loss: Any) -> Any:
    """A loss as an answer with a value."""
    return SimpleNamespace(value=float(loss.sum()))


def as_tensor(value: Any) -> Any:
    """An array of numbers as a tensor; nothing else is one, and a tensor has no mask."""
    if isinstance(value, np.ma.MaskedArray) or not isinstance(value, np.ndarray) or value.dtype.kind not in "iufcb":
        return value
    return torch.tensor(value)


class OfTensors(Call):
    """A loss, whose outputs are a tensor; labels and weights are what they are elsewhere."""

    def __init__(self, name: str, function: Callable[..., Any], takes: Any = None, /, **given: Any) -> None:
        super().__init__(name, function, takes, **given)
        self.data, self.wrapper, self.outputs = ["labels", "probs", "weights"], None, DATA

    def __call__(self, kind: str, /, **changes: Any) -> Any:
        good = {"labels": DATA[kind][0], "probs": torch.tensor(self.outputs[kind][1])}
        return number(self.function(**(good | self.given | changes)))

    def bad(self, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for argument, name, changes in super().bad(kind):
            if name in ALLOWED or (argument == "labels" and name in SHARES[kind]):
                continue
            yield argument, name, {argument: changes[argument]}
            if argument == "probs":
                yield argument, f"tensor, {name}", {argument: as_tensor(changes[argument])}

    def edges(self, kind: str) -> dict[str, dict[str, Any]]:
        return {
            name: {key: as_tensor(value) if key == "probs" else value for key, value in changes.items()}
            for name, changes in super().edges(kind).items()
        }

    def forms(self, kind: str) -> dict[str, dict[str, Any]]:
        return {"labels": super().forms(kind)["labels"]}


class OfLogitTensors(OfTensors):
    """A loss of logits, of which any finite number is one."""

    def __init__(self, name: str, function: Callable[..., Any], takes: Any = None, /, **given: Any) -> None:
        super().__init__(name, function, takes, **given)
        self.outputs = {kind: (DATA[kind][0], LOGITS[kind]) for kind in DATA}

    def bad(self, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        yield from (each for each in super().bad(kind) if each[0] != "probs")
        for name, value in (NO_ARRAYS | bad_numbers(LOGITS[kind])).items():
            yield "probs", name, {"probs": as_tensor(value)}

    def edges(self, kind: str) -> dict[str, dict[str, Any]]:
        found = {name: changes for name, changes in super().edges(kind).items() if "probs" not in changes}
        z = torch.tensor(LOGITS[kind])
        return found | {"huge": {"probs": z * 1e200}, "equal": {"probs": z * 0}, "tiny": {"probs": z * 1e-300}}


class OfForecastTensors(OfForecasts):
    """A loss of means and variances, which are tensors."""

    def __call__(self, kind: str, /, **changes: Any) -> Any:
        good = {name: value if name == "labels" else torch.tensor(value) for name, value in FORECASTS[kind].items()}
        return number(self.function(**(good | self.given | changes)))

    def bad(self, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for argument, name, changes in super().bad(kind):
            if name not in ALLOWED:
                value = changes[argument]
                yield argument, name, {argument: as_tensor(value) if argument in ("mean", "variance") else value}

    def edges(self, kind: str) -> dict[str, dict[str, Any]]:
        return {
            name: {key: as_tensor(value) if key in ("mean", "variance") else value for key, value in changes.items()}
            for name, changes in super().edges(kind).items()
        }

    def forms(self, kind: str) -> dict[str, dict[str, Any]]:
        return {"labels": super().forms(kind)["labels"]}


def network_calls(folder: Path) -> Iterator[Call]:
    """Every public callable of the adapters for torch and ONNX."""
    yield from _of_functions()
    yield from _of_modules()
    yield from _of_meters()
    event, classes = cal.Platt().fit(EVENT, P), cal.Temperature().fit(CODES, ROWS)
    yield OfOptions("to_module", to_module, map=event)
    yield OfFiles("to_onnx", to_onnx, map=event, path=folder / "model.onnx")
    for name, fitted in {"event": event, "classes": classes}.items():
        module = OfOptions(f"a module of {name}", to_module(fitted), lambda: ..., logits=torch.tensor(LOGITS[name]))
        module.options = ["logits"]
        yield module


def _of_meters() -> Iterator[Call]:
    """Options of a meter and of what it is asked for; which rows it refuses is counted on the device and told later."""
    rows = torch.tensor(EVENT), torch.tensor(P)
    yield OfOptions("Meter", lambda **options: Meter(**options)(*rows), Meter)
    meter = Meter(buckets=True)
    meter.update(*rows)
    yield OfOptions("Meter.compute", meter.compute)
    yield OfOptions("Meter.to_state", meter.to_state)


def _of_functions() -> Iterator[Call]:
    given = {"canonical_loss": {"bandwidth": 0.1}, "skce_loss": {"bandwidth": 0.5}}
    for name in ("brier_loss", "mmce_loss", "skce_loss", "canonical_loss"):
        function = getattr(losses, name)
        yield OfTensors(name, function, **given.get(name, {}))
        yield OfLogitTensors(f"{name} of logits", _of_logits(function), function, **given.get(name, {}))
    yield OfLogitTensors("log_loss", _of_logits(losses.log_loss), losses.log_loss)
    yield OfForecastTensors("dawid_sebastiani_loss", losses.dawid_sebastiani_loss, None, ("gaussian",))


def _of_logits(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*, labels: Any, probs: Any, **options: Any) -> Any:
        return function(labels, logits=probs, **options)

    return called


def _of_modules() -> Iterator[Call]:
    given = {"CanonicalLoss": {"bandwidth": 0.1}, "SKCELoss": {"bandwidth": 0.5}}
    for name in ("BrierLoss", "LogLoss", "MMCELoss", "SKCELoss", "CanonicalLoss"):
        make = getattr(losses, name)
        kind = OfLogitTensors if name == "LogLoss" else OfTensors
        inputs = {"inputs": "probs"} if "inputs" in inspect.signature(make).parameters else {}
        yield kind(name, _forward(make), make, **inputs, **given.get(name, {}))


def _forward(make: Any) -> Callable[..., Any]:
    def called(*, labels: Any, probs: Any, weights: Any = None, **options: Any) -> Any:
        return make(**options)(probs, labels, weights)

    return called
