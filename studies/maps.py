"""Which repair helps on a real model? Every map fitted on one file and judged on another.

`--data VALID --data TEST` are two files in any format that `calibrant recalibrate` reads; without them the embedded example is used.

A map counts as worse than identity when the 95 % interval of its paired difference in log score lies above 0.
"""

from __future__ import annotations

import time

import calibrant as cal
from calibrant.methods import methods
from studies.frame import Job, Page, table


def recipes() -> dict[str, object]:
    """Every map by name, and the variants that the papers compare."""
    made = {name: each.function() for name, each in methods("map").items()}
    return made | {
        "matrix, no penalty": cal.maps.MatrixScaling(penalty=None),
        "dirichlet, L2": cal.Dirichlet(penalty="l2"),
        "beta, am": cal.Beta("am"),
        "beta, ab": cal.Beta("ab"),
        "isotonic, centred": cal.maps.CenteredIsotonic(),
        "spline, cubic": cal.maps.Spline("cubic"),
        "spline, parabolic": cal.maps.Spline("parabolic"),
        "order_preserving, diagonal": cal.maps.OrderPreserving("diagonal"),
        "order_preserving, invariant": cal.maps.OrderPreserving("invariant"),
        "top label: beta": cal.TopLabel(cal.Beta()),
        "top label: isotonic": cal.TopLabel(cal.Isotonic()),
        "auto": cal.Auto(),
    }


def measured(name: str, recipe: object, valid: cal.Predictions, test: cal.Predictions) -> tuple[object, ...]:
    start = time.perf_counter()
    fitted = cal.recalibrate(valid, recipe)
    took = time.perf_counter() - start
    repaired = fitted.apply(test)
    change = cal.compare(test, repaired, score="log")
    interval = change.difference.interval
    view = "binary" if test.is_binary else "top"
    debiased = cal.binned_error(repaired, bins=cal.EqualMass(15), norm=2, debiased=True, view=view)
    return (
        name if fitted.fit.choice is None else f"{name}: {fitted.fit.choice.chosen}",
        f"{cal.log_score(repaired).value:.5f}",
        f"{change.difference.value:+.5f} ({interval.low:+.5f}, {interval.high:+.5f})",
        change.verdict,
        f"{cal.brier_score(repaired).value:.5f}",
        f"{cal.ece(repaired).value:.5f}",
        f"{debiased.value:.5f}",
        f"{fitted.n_parameters:,}",
        "yes" if fitted.injective else "no",
        f"{1e3 * took:,.0f}",
    )


COLUMNS = (
    "map",
    "log loss",
    "change (95 %)",
    "verdict",
    "Brier",
    "ECE-15",
    "debiased L2",
    "parameters",
    "injective",
    "fit, ms",
)


def run(job: Job) -> Page:
    valid, test = (cal.read(path) for path in job.data[:2]) if len(job.data) >= 2 else cal.example()
    cal.recalibrate(
        valid.rows(slice(0, 100)), "piecewise_linear" if valid.is_binary else "temperature"
    )  # compile first
    tried = {name: each for name, each in recipes().items() if not (valid.is_binary and name.startswith("top label"))}
    if job.quick:
        tried = {name: tried[name] for name in ("identity", "temperature")}
    rows = list(job.parts(measured, {name: (name, recipe, valid, test) for name, recipe in tried.items()}).values())
    rows.sort(key=lambda row: float(str(row[1])))
    stems = [path.stem for path in job.data[:2]] or ["the embedded example, first half", "its second half"]
    worse = ", ".join(str(row[0]) for row in rows if row[3] == "worse") or "none"
    text = f"""Fitted on `{stems[0]}` ({valid.n:,} rows, {valid.n_classes} classes), judged on `{stems[1]}` ({test.n:,} rows). Changes are paired
differences in log loss from the model as it is: negative is better.

{table(COLUMNS, rows)}

Worse than identity beyond the interval: {worse}."""
    return Page("Every map on a real model", text)
