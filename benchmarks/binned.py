"""How fast is binned ECE? 10⁷ float32 probabilities and uint8 labels, 15 equal-width bins, one run."""

from __future__ import annotations

import numpy as np

import calibrant as cal
from benchmarks.harness import Report, best

ROWS = 10_000_000


def main() -> None:
    rng = np.random.default_rng(1)
    probs = rng.random(ROWS, dtype=np.float32)
    labels = (rng.random(ROWS, dtype=np.float32) < probs).astype(np.uint8)
    report = Report(
        "binned",
        "Binned ECE, 15 equal-width bins, 10⁷ float32 probabilities and uint8 labels. Goals: at most 5 × `np.sum` over both "
        "arrays, at least 5 × less than torchmetrics and netcal.",
        ("what", "ms", "× np.sum of both", "× calibrant.ece", "value"),
    )
    floor = best(lambda: (np.sum(probs), np.sum(labels)))
    ours = best(lambda: cal.ece(labels, probs))
    report.add("np.sum of both arrays", floor, 1.0, floor / ours, "")
    report.add("calibrant.ece, checks included", ours, ours / floor, 1.0, f"{cal.ece(labels, probs).value:.7f}")
    for name, call in peers(labels, probs).items():
        took = best(call, seconds=1)
        report.add(name, took, took / floor, took / ours, f"{float(call()):.7f}")
    mass = best(lambda: cal.binned_error(labels, probs, bins=cal.EqualMass(15)))
    sort = best(lambda: np.sort(probs))
    report.add("np.sort of the probabilities", sort, sort / floor, sort / ours, "")
    report.add("calibrant.binned_error, 15 equal-mass bins", mass, mass / floor, mass / ours, "")
    report.write(("torch", "torchmetrics", "netcal"))


def peers(labels: np.ndarray, probs: np.ndarray) -> dict[str, object]:
    import torch
    from netcal.metrics import ECE
    from torchmetrics.functional.classification import binary_calibration_error

    p, y = torch.from_numpy(probs), torch.from_numpy(labels.astype(np.int64))
    return {
        "torchmetrics, functional": lambda: binary_calibration_error(p, y, n_bins=15),
        "torchmetrics, without its checks": lambda: binary_calibration_error(p, y, n_bins=15, validate_args=False),
        "netcal": lambda: ECE(15).measure(probs, labels),
    }


if __name__ == "__main__":
    main()
