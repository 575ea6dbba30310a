"""Conditions on an error: `--fail-above 0.05`, or of a named estimator `--fail-above smooth=0.05`."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from calibrant.cli.group import failed
from calibrant.cli.options import completed
from calibrant.methods import find_measure, methods
from calibrant.results import Estimate


class Gate(NamedTuple):
    """What must not be exceeded."""

    limit: float
    measure: str | None = None


class GateType(click.ParamType):  # type: ignore[type-arg]  # generic in recent versions only
    """`X`, or `NAME=X` with the name of an estimator."""

    name = "gate"

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """As it is printed in help."""
        return "[NAME=]X"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Gate:
        """The gate; refused if the number is none, or the estimator unknown."""
        if isinstance(value, Gate):
            return value
        name, _, text = str(value).rpartition("=")
        try:
            limit = float(text)
        except ValueError:
            self.fail(f"{value!r} is not a number, nor NAME=NUMBER.", param, ctx)
        if not limit >= 0:
            self.fail(f"{text} is not in the range x>=0.", param, ctx)
        if name and find_measure(name) is None:
            self.fail(f"there is no measure {name!r}; `calibrant --help` lists them.", param, ctx)
        return Gate(limit, name or None)

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
        """The estimators, each with its equals sign."""
        return completed([f"{name}=" for name in measure_names()], incomplete)


def measure_names() -> tuple[str, ...]:
    """Every name and acronym of an estimator of classes."""
    known = [*methods("estimator").values(), *methods("clinical estimator").values()]
    return tuple(dict.fromkeys(name for each in known for name in (each.name, *each.also_called)))


def check_gate(gate: Gate, error: Estimate, *, beyond_noise: bool = False) -> None:
    """End with 1 if an error exceeds its limit: by the lower end of its interval, or by its value if it has none.

    Parameters
    ----------
    gate
        The limit.
    error
        The estimate that it is of.
    beyond_noise
        Where there is no interval, the expected value of a calibrated model is subtracted.
    """
    if error.interval is not None:
        if error.interval.low > gate.limit:
            failed(f"{error.title} {error.value:.4f}: its {error.interval.in_words()} lies above {gate.limit:g}.")
        return
    floor = (error.noise_floor or 0.0) if beyond_noise else 0.0
    if error.value - floor > gate.limit:
        noise = f", less {floor:.4f} that calibrated ones would show," if floor else ""
        failed(f"{error.title} {error.value:.4f}{noise} is above {gate.limit:g}; it has no interval.")
