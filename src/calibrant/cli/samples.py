"""The sample files of `calibrant examples`: small, and the same every time."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from calibrant.types import Array

DECIMALS = 6
"""Of probabilities, so that text files stay small."""

COMMANDS = (
    "calibrant diagnose predictions.csv --report report.html",
    "calibrant measure predictions.csv sweep smECE",
    "calibrant recalibrate valid.parquet -o map.json",
    "calibrant compare test.parquet map.json",
    "calibrant apply map.json new.parquet -o recalibrated.parquet",
    "calibrant decompose test.csv",
    "calibrant test test.csv",
    "calibrant where test.csv",
    "calibrant trust test.parquet",
    "calibrant plan test.parquet --error 0.03",
    "calibrant clinical validation.csv --threshold 0.2",
    "calibrant audit validation.csv --by age,sex,site",
    "calibrant answers answers.csv --percent --abstentions count --models model --groups question",
    "calibrant diagnose prices.csv --label price --mean mu --std sigma",
    "calibrant monitor monday.csv --state watch.json",
    "calibrant monitor tuesday.csv --state watch.json",
)
"""In the order of use: some read what those before wrote."""


def sample_files() -> dict[str, dict[str, Array]]:
    """The columns of each file, by its name."""
    rng = np.random.default_rng(20)
    valid, test = map(_digits, cal.example())
    new = {name: column for name, column in test.items() if name != "label"}
    made = {"predictions.csv": test, "valid.parquet": valid, "test.parquet": test, "new.parquet": new}
    made |= {"valid.csv": valid, "test.csv": test, "new.csv": new, "validation.csv": _patients(rng, 1500)}
    made |= {"answers.csv": _answers(rng, 300), "prices.csv": _prices(rng, 500)}
    return made | {"monday.csv": _day(rng, 800, 1.0), "tuesday.csv": _day(rng, 800, 0.6)}


def _digits(rows: cal.Predictions) -> dict[str, Array]:
    probs = np.round(np.asarray(rows.probs, dtype=np.float64), DECIMALS)
    probs /= probs.sum(axis=1, keepdims=True)
    return {"label": np.asarray(rows.labels)} | {f"prob_{k}": np.round(column, 9) for k, column in enumerate(probs.T)}


def _rate(log_odds: Any) -> Array:
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def _patients(rng: np.random.Generator, n: int) -> dict[str, Array]:
    """Risks of a model that is too extreme, and too low for old patients of one hospital."""
    age, sex, site = rng.integers(30, 90, n), rng.choice(["f", "m"], n), rng.choice(["north", "south", "west"], n)
    odds = -2.0 + 0.04 * (age - 60) + 0.3 * (sex == "m") + rng.normal(0, 0.8, n)
    missed = 1.0 * ((site == "south") & (age > 70))
    return {
        "died": (rng.random(n) < _rate(odds + missed)).astype(np.int64),
        "risk": np.round(_rate(-2.0 + 1.4 * (odds + 2.0)), DECIMALS),
        "age": age,
        "sex": sex,
        "site": site,
    }


def _answers(rng: np.random.Generator, n: int) -> dict[str, Array]:
    """Two models on the same questions: stated confidences, some of them missing."""
    ease = rng.normal(1.0, 1.2, n)
    columns: dict[str, list[Any]] = {"model": [], "question": [], "correct": [], "confidence": []}
    for model, skill, boast in (("model-a", 0.0, 1.0), ("model-b", 0.2, 1.8)):
        stated = np.clip(np.round(20 * _rate(boast * (ease + skill) + 0.3)) * 5, 5, 100).astype(int)
        silent = rng.random(n) < 0.05
        columns["model"] += [model] * n
        columns["question"] += [f"q{k:03d}" for k in range(n)]
        columns["correct"] += (rng.random(n) < _rate(ease + skill)).astype(int).tolist()
        columns["confidence"] += ["" if skip else f"{value}%" for value, skip in zip(stated, silent, strict=True)]
    return {name: np.array(values) for name, values in columns.items()}


def _prices(rng: np.random.Generator, n: int) -> dict[str, Array]:
    """Forecasts whose spread is too small."""
    mean, spread = rng.normal(100, 20, n), rng.gamma(4, 2, n)
    price = rng.normal(mean, 1.5 * spread)
    return {"price": np.round(price, 3), "mu": np.round(mean, 3), "sigma": np.round(spread, 3)}


def _day(rng: np.random.Generator, n: int, slope: float) -> dict[str, Array]:
    """Rows of a stream; with a slope below 1 the model has become too extreme."""
    odds = rng.normal(0, 1.5, n)
    return {"label": (rng.random(n) < _rate(slope * odds)).astype(np.int64), "prob": np.round(_rate(odds), DECIMALS)}
