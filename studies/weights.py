"""Do intervals hold the truth, and tests their level, where rows have weights? Worlds in which the truth is known.

python -m studies.weights [data sets per cell]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import calibrant as cal

SIZES = (100, 1000)
TRUTH_ROWS = 2_000_000


def _uniform(rng: np.random.Generator, n: int) -> Any:
    return rng.random(n)


def _confident(rng: np.random.Generator, n: int) -> Any:
    return rng.beta(8, 0.8, n)


SCORES: dict[str, Callable[..., Any]] = {"uniform": _uniform, "confident": _confident}
RATES: dict[str, Callable[..., Any]] = {
    "calibrated": lambda p: p,
    "overconfident": lambda p: p**1.5,
    "waves": lambda p: np.clip(p + 0.1 * np.sin(9 * p), 0, 1),
}
WEIGHTS: dict[str, Callable[..., Any]] = {
    "lognormal": lambda rng, p: rng.lognormal(0, 1, len(p)),
    "rising with p": lambda rng, p: 0.05 + p**3,  # noqa: ARG005
    "few heavy": lambda rng, p: np.where(rng.random(len(p)) < 0.05, 20.0, 1.0),
    "heavy where p is low": lambda rng, p: np.where(p < np.quantile(p, 0.2), rng.exponential(8, len(p)), 1.0),
}


def truths(scores: str, rate: str, weights: str) -> dict[str, float]:
    """What the weighted population has, from many rows."""
    rng = np.random.default_rng(12345)
    p = SCORES[scores](rng, TRUTH_ROWS)
    q, w = RATES[rate](p), WEIGHTS[weights](rng, p)
    order = np.argsort(p)
    running = np.cumsum((w * (p - q))[order]) / w.sum()

    def mean(x: Any) -> float:
        return float(np.average(x, weights=w))

    return {
        "mean_gap": mean(p - q),
        "brier": mean(2 * (q * (1 - p) ** 2 + (1 - q) * p**2)),
        "log": mean(-(q * np.log(p) + (1 - q) * np.log1p(-p))),
        "L1": mean(np.abs(p - q)),
        "L2": mean((p - q) ** 2) ** 0.5,
        "KS": float(np.abs(running).max()),
    }


def intervals(y: Any, p: Any, w: Any) -> dict[str, Any]:
    """The intervals that are checked."""
    rows = cal.Predictions(y, p, weights=w)
    return {
        "mean_gap": cal.mean_gap(rows).interval,
        "brier": cal.brier_score(rows).interval,
        "log": cal.log_score(rows).interval,
        "L1": cal.calibration_error_interval(rows),
        "L2": cal.calibration_error_interval(rows, norm=2),
        "KS": cal.cumulative_interval(rows),
    }


def cell(scores: str, rate: str, weights: str, n: int, n_data_sets: int, seed: int) -> dict[str, float]:
    """Share of data sets whose interval holds the truth, and in which a test at 5 % rejects."""
    true, rng, held, rejected = truths(scores, rate, weights), np.random.default_rng(seed), {}, 0
    for _ in range(n_data_sets):
        p = SCORES[scores](rng, n)
        y = rng.random(n) < RATES[rate](p)
        w = WEIGHTS[weights](rng, p)
        for name, found in intervals(y, p, w).items():
            held[name] = held.get(name, 0) + (found.low <= true[name] <= found.high)
        if rate == "calibrated":
            rejected += cal.is_calibrated(y, p, weights=w, n_draws=199, seed=int(rng.integers(1 << 30))).rejects()
    shares = {name: count / n_data_sets for name, count in held.items()}
    return shares | ({"false alarms": rejected / n_data_sets} if rate == "calibrated" else {})


def main(n_data_sets: int = 400, seed: int = 7) -> None:
    """The table, in Markdown."""
    names = ["mean_gap", "brier", "log", "L1", "L2", "KS", "false alarms"]
    print("| scores | rate | weights | n |", " | ".join(names), "|")
    print("|---" * (len(names) + 4) + "|")
    for scores in SCORES:
        for rate in RATES:
            for weights in WEIGHTS:
                for n in SIZES:
                    found = cell(scores, rate, weights, n, n_data_sets, seed)
                    shown = [f"{100 * found[name]:.1f}" if name in found else "" for name in names]
                    print(f"| {scores} | {rate} | {weights} | {n} |", " | ".join(shown), "|", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
