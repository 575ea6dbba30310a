"""How fast are the maps fitted, against other packages that reach the same optimum? One run, all warm.

dirichletcal asks for Python 3.12 but runs on 3.11: `pip install --no-deps --ignore-requires-python dirichletcal` with jax and autograd.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks.harness import Report, best

PACKAGES = ("scipy", "torch", "netcal", "probmetrics", "scikit-learn", "dirichletcal", "jax", "pwlf")
SAME = 1e-5
"""Nats by which a peer's mean loss may lie above the lowest and still count as the same optimum."""


def world(n: int, k: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """An over-confident model: the truth is at temperature 2, with offsets and scales of its own for each class."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, k)) * 3
    truth = z / 2 * (1 + 0.1 * rng.normal(size=k)) + 0.3 * rng.normal(size=k)
    return (truth + rng.gumbel(size=z.shape)).argmax(axis=1), z.astype(dtype)


def temperature_loss(labels: np.ndarray, logits: np.ndarray, temperature: float) -> float:
    """Mean log loss. Packages store T or 1/T: the better of the two is meant."""
    return min(_loss(labels, logits, t) for t in (temperature, 1 / temperature))


def _loss(labels: np.ndarray, logits: np.ndarray, temperature: float) -> float:
    z = logits.astype(np.float64) / temperature
    z -= z.max(axis=1, keepdims=True)
    return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(z)), labels]).mean())


def temperatures(labels: np.ndarray, logits: np.ndarray) -> dict[str, Callable[[], float]]:
    """Fits by name; each returns the temperature it found."""
    found: dict[str, Callable[[], float]] = {
        "calibrant": lambda: cal.Temperature().fit(labels, logits=logits).temperature
    }
    try:
        import torch
    except ImportError:
        return found
    z, y = torch.from_numpy(logits), torch.from_numpy(labels)

    def torch_lbfgs() -> float:
        t = torch.nn.Parameter(torch.ones(1))
        search = torch.optim.LBFGS([t], lr=0.1, max_iter=100, line_search_fn="strong_wolfe")

        def closure() -> Any:
            search.zero_grad()
            loss = torch.nn.functional.cross_entropy(z / t, y)
            loss.backward()
            return loss

        search.step(closure)
        return float(t.detach())

    found["LBFGS loop in PyTorch"] = torch_lbfgs
    try:
        from probmetrics.calibrators import get_calibrator
        from probmetrics.distributions import CategoricalLogits
    except ImportError:
        pass
    else:

        def probmetrics() -> float:
            fitted = get_calibrator("temp-scaling").fit_torch(CategoricalLogits(z), y)
            first = fitted.predict_proba_torch(CategoricalLogits(z[:1])).get_logits()[0].double()
            return float((z[0, 0] - z[0, 1]) / (first[0] - first[1]))

        found["probmetrics"] = probmetrics
    try:
        from netcal.scaling import TemperatureScaling
    except ImportError:
        pass
    else:
        wide = logits.astype(np.float64)  # in float32 its finite differences vanish, and it stays at T = 1
        probs = np.exp(wide - wide.max(axis=1, keepdims=True))
        probs /= probs.sum(axis=1, keepdims=True)

        def netcal() -> float:
            fitted = TemperatureScaling()
            fitted.fit(probs, labels)
            return float(np.ravel(fitted.temperature)[0])

        found["netcal (float64)"] = netcal
    try:
        from sklearn.calibration import _TemperatureScaling
    except ImportError:
        pass
    else:
        found["scikit-learn"] = lambda: float(_TemperatureScaling().fit(logits, labels).beta_)
    return found


def temperature_rows(report: Report) -> None:
    for n, k in ((50_000, 100), (50_000, 1000)):
        labels, logits = world(n, k)
        floor = best(lambda z=logits: z.sum())  # type: ignore[misc]
        fits = temperatures(labels, logits)
        times, losses = {}, {}
        for name, fit in fits.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    losses[name] = temperature_loss(labels, logits, fit())
                    times[name] = best(fit, seconds=1.0, least=2)
                except Exception as error:
                    report.findings.append(f"temperature {n:,} × {k}: {name} failed: {error!r:.80}")
        lowest = min(losses.values())
        ours = times["calibrant"]
        for name, took in times.items():
            same = "yes" if losses[name] <= lowest + SAME else f"no, +{losses[name] - lowest:.1e}"
            report.add(f"temperature, {n:,} × {k} float32", name, took, took / ours, same)
        rivals = [t for name, t in times.items() if name != "calibrant" and losses[name] <= lowest + SAME]
        memory = peak(lambda y=labels, z=logits: cal.Temperature().fit(y, logits=z)) / logits.nbytes  # type: ignore[misc]
        fastest = f"{min(rivals) / ours:.1f} × the fastest peer at the same optimum" if rivals else "no peer at hand"
        torch_loop = times.get("LBFGS loop in PyTorch")
        loop = f"{torch_loop / ours:.1f} × the LBFGS loop (goal 10)" if torch_loop else "no PyTorch for its loop"
        report.findings.append(
            f"temperature {n:,} × {k}: {fastest} (goal 3), {loop}, "
            f"{ours / floor:.1f} sums of the logits, peak memory {memory:.2f} × the logits beside them (goal 2)"
        )


def peak(call: Callable[[], Any]) -> float:
    """Most bytes that a call held."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def isotonic_rows(report: Report) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1_000_000)
    y = (rng.random(len(p)) < p**1.3).astype(np.uint8)
    recipe = cal.Isotonic(bounded=False)
    ours = best(lambda: recipe.fit(y, p))
    report.add("isotonic, 10⁶", "calibrant", ours, 1.0, "yes")
    try:
        from sklearn.isotonic import IsotonicRegression
    except ImportError:
        return
    theirs = best(lambda: IsotonicRegression(out_of_bounds="clip").fit(p, y))
    worst = np.abs(recipe.fit(y, p).apply(p) - IsotonicRegression(out_of_bounds="clip").fit(p, y).predict(p)).max()
    report.add("isotonic, 10⁶", "scikit-learn", theirs, theirs / ours, f"largest difference {worst:.0e}")
    report.findings.append(f"isotonic 10⁶: {theirs / ours:.1f} × scikit-learn (goal 5)")


def multi_class_rows(report: Report) -> None:
    labels, logits = world(10_000, 100, np.float64)
    for recipe in (
        cal.maps.VectorScaling(),
        cal.maps.StructuredVector(),
        cal.maps.StructuredMatrix(),
        cal.maps.OrderPreserving(),
    ):
        took = best(lambda r=recipe: r.fit(labels, logits=logits), seconds=1.0, least=2)  # type: ignore[misc]
        report.add("10,000 × 100", type(recipe).__name__, took, "", "")
    try:
        import torch
        from probmetrics.calibrators import get_calibrator
        from probmetrics.distributions import CategoricalLogits
    except ImportError:
        return
    z, y = torch.from_numpy(logits), torch.from_numpy(labels)
    for name in ("svs", "sms"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                took = best(lambda n=name: get_calibrator(n).fit_torch(CategoricalLogits(z), y), seconds=0.5, least=1)  # type: ignore[misc]
            except Exception as error:
                report.findings.append(f"probmetrics {name} failed: {error!r:.80}")
                continue
        report.add("10,000 × 100", f"probmetrics {name}", took, "", "")


GRID = tuple(10.0**power for power in range(0, -7, -1))


def dirichlet_rows(report: Report) -> None:
    labels, logits = world(2_000, 10, np.float64)
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    recipe = cal.Dirichlet()
    ours = best(lambda: recipe.fit(labels, probs), seconds=1.0, least=2)
    report.add("Dirichlet ODIR with penalty search, 2,000 × 10", "calibrant", ours, 1.0, "")
    try:
        from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator
        from sklearn.model_selection import KFold
    except ImportError:
        report.findings.append("dirichletcal is not installed")
        return
    pairs = {(s, s) for s in GRID} | {(recipe.fit(labels, probs).penalty["strength"], i) for i in GRID}
    start = time.perf_counter()
    fits = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for strength, intercept in sorted(pairs)[:2]:
            for train, _ in list(KFold(5).split(probs))[:2]:
                FullDirichletCalibrator(reg_lambda=strength, reg_mu=intercept).fit(probs[train], labels[train])
                fits += 1
    one = (time.perf_counter() - start) / fits * 1e3
    whole = one * (5 * len(pairs) + 1)
    text = f"{fits} fits timed, {one:,.0f} ms each, times the {5 * len(pairs) + 1} fits of the same search"
    report.add("Dirichlet ODIR with penalty search, 2,000 × 10", "dirichletcal", whole, whole / ours, text)
    report.findings.append(f"Dirichlet: {whole / ours:,.0f} × dirichletcal (goal 10); {text}")


LINES = {
    "PL, n_pieces='cv'": cal.maps.PiecewiseLinear("probability", n_pieces="cv"),
    "PL, n_pieces='average'": cal.maps.PiecewiseLinear("probability"),
    "PL3, n_pieces='cv'": cal.maps.PiecewiseLinear(n_pieces="cv"),
    "PL3, n_pieces='average'": cal.maps.PiecewiseLinear(),
    "GaussianProcessMap": cal.maps.GaussianProcessMap(),
}
GOALS = {("PL", 4): 50, ("PL", 5): 100, ("PL", 6): 500, ("GP", 4): 150}
"""Milliseconds on one core at n = 10 to the power."""


def one_event(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform predictions of an event that happens less often."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return (rng.random(n) < p**1.3).astype(np.uint8), p


def line_times() -> list[tuple[int, str, float]]:
    """Power of ten, map and milliseconds: ten folds of up to 16 pieces and the choice or the mean."""
    found = []
    for power in (4, 5, 6):
        y, p = one_event(10**power)
        for name, recipe in LINES.items():
            found.append((power, name, best(lambda r=recipe: r.fit(y, p), seconds=1.0)))  # type: ignore[misc]  # noqa: B023
    return found


def one_line_times() -> list[tuple[str, float, float]]:
    """Who, milliseconds and Brier score of one fit of four pieces at n = 10⁴, the knots searched."""
    y, p = one_event(10_000)
    recipe = cal.maps.PiecewiseLinear("probability", "brier", 4)
    ours = best(lambda: recipe.fit(y, p), seconds=1.0)
    found = [("calibrant", ours, float(np.mean((recipe.fit(y, p).apply(p) - y) ** 2)))]
    try:
        import pwlf
    except ImportError:
        return found
    peer = pwlf.PiecewiseLinFit(p, y, seed=0)
    return [
        *found,
        ("pwlf", best(lambda: peer.fit(4), seconds=0.0, least=2), float(np.mean((peer.predict(p) - y) ** 2))),
    ]


def pinned(function: str) -> Any:
    """What a function of this module finds in a process that has one core from its first import on."""
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        f"import json; from benchmarks import maps; print(json.dumps(maps.{function}()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def line_rows(report: Report) -> None:
    slowest: dict[tuple[str, int], float] = {}
    for power, name, took in pinned("line_times"):
        kind = "PL" if name.startswith("PL") else "GP"
        what = "10 folds × up to 16 pieces" if kind == "PL" else "100 priors"
        report.add(f"{what}, {10**power:,}, one core", name, took, "", "")
        slowest[kind, power] = max(took, slowest.get((kind, power), 0.0))
    told = [
        f"{'PL and PL3' if kind == 'PL' else 'Gaussian process'} at {10**power:,} {slowest[kind, power]:.0f} ms (goal {goal})"
        for (kind, power), goal in GOALS.items()
    ]
    report.findings.append(f"in a process pinned to one core, the slowest row of each: {', '.join(told)}")
    fits = pinned("one_line_times")
    for name, took, brier in fits:
        report.add("one fit of 4 pieces, 10,000, one core", name, took, took / fits[0][1], f"Brier score {brier:.6f}")
    if len(fits) == 1:
        report.findings.append("pwlf is not installed")


def main() -> None:
    columns = ("case", "fit by", "ms", "× calibrant's time", "same optimum")
    report = Report("maps", "How fast is every map fitted? Best of several calls, all in one run.", columns)
    for rows in (temperature_rows, isotonic_rows, multi_class_rows, dirichlet_rows, line_rows):
        rows(report)
    report.write(PACKAGES)


if __name__ == "__main__":
    main()
