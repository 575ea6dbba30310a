"""Any statistic as a test: its value ranked among those of labels drawn from the predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.estimate.mean_gap import mean_gap
from calibrant.inputs import SAME_STATISTIC, listed
from calibrant.methods import EVERY_VIEW, find, method, method_of, methods
from calibrant.predictions import Mass, Predictions, admit
from calibrant.problems import InputError
from calibrant.resampling.classes import class_rows
from calibrant.resampling.draw import Statistic
from calibrant.resampling.exact import Exact, exact_result
from calibrant.resampling.null import hypothesis_of
from calibrant.resampling.rows import Atoms, atoms_of
from calibrant.results import TestResult
from calibrant.types import Cluster, Floats, Seed


@method(
    "test",
    name="calibration_test",
    title="exact test of any statistic",
    views=(*EVERY_VIEW, "canonical"),
    ways=("exact",),
    also_called=("test", "monte carlo"),
)
def calibration_test(
    labels: Any,
    probs: Any = None,
    statistic: Any = "binned",
    *,
    view: Any = "auto",
    n_draws: int | None = None,
    ties: str = "random",
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
    seed: Seed = 0,
    **options: Any,
) -> TestResult:
    """How often would a calibrated model show an error as large as this? Exact at every sample size.

    If the model is calibrated, labels are draws from its predictions. So labels are
    drawn `n_draws` times, with the predictions held fixed, and the p-value is (1 +
    #{drawn ≥ observed}) / (n_draws + 1). No approximation, whatever the statistic.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    statistic
        An estimator or its name (`"binned"`, `"ks"`, `"smooth"`, `cal.sweep_error`, …),
        a registered statistic (`"spiegelhalter"`, `"cox"`, `"kuiper"`,
        `"hosmer_lemeshow"`, `"two_part"`, `"scan"`, `"atb"`, `"neyman"`,
        `"rank_polynomials"`, `"waves"`, `"rank_kernel"`, `"isotonic_ratio"`), or any
        function of (labels, probs) that grows with miscalibration. Registered ones,
        binned errors, KS and mean gap are computed for all draws at once; others are
        called on each draw.
    view
        `"auto"` is the estimator's own. With `"canonical"` and `"classwise"`, classes
        are drawn from the predicted distributions.
    n_draws, ties, cluster, seed
        As in `is_calibrated`.
    **options
        Passed on to the statistic, such as `bins=`; `method=Exact(...)` takes the place
        of `n_draws`, `ties` and `seed`.

    Notes
    -----
    Power against: what its statistic has power against.
    Cost: rows times draws: 1 s for a binned error, 10⁵ rows and 10 000 draws.
    Source: Monte-Carlo test of Barnard 1963; predictions held fixed.

    Examples
    --------
    >>> import calibrant as cal
    >>> labels, probs = [0] * 15 + [1] * 15, [0.2] * 15 + [0.8] * 15
    >>> cal.calibration_test(labels, probs, "ece").rejects()  # 0.2 should happen sometimes
    True
    >>> gap = lambda y, p: abs((y - p).mean())
    >>> cal.calibration_test(labels, probs, gap, n_draws=99, ties="count").p_value
    1.0
    """
    chosen = options.pop("method") if isinstance(options.get("method"), Exact) else "exact"
    exact = Exact.asked(chosen, n_draws, seed, ties)
    return statistic_test(
        admit(labels, probs, counts=counts, weights=weights), statistic, exact, view, cluster, options
    )


calibration_test.__test__ = False  # type: ignore[attr-defined]  # not a test case, under whatever name it is imported


def statistic_test(
    predictions: Predictions, named: Any, exact: Exact, view: Any, cluster: Any, options: dict[str, Any]
) -> TestResult:
    """The exact test of a statistic, given by name or as a function."""
    name, make, function = resolved(named)
    settings = {"statistic": name} | options
    if make is not None:
        atoms = atoms_of(predictions, view, cluster)
        return exact_result(hypothesis_of(atoms), make(atoms, **options), exact, name, settings=settings)
    about, parameters = method_of(function), inspect.signature(function).parameters
    if view == "auto" and about is not None:
        own = parameters.get("view")
        view = about.views[0] if len(about.views) == 1 else view if own is None else own.default
    takes_view = {"view": view} if "view" in parameters else {}
    title = name if about is None else function(predictions, **takes_view, **options).title
    if view in ("canonical", "classwise") and not predictions.is_binary:
        rows = class_rows(predictions, cluster)
        called = _called(name, function, takes_view | options, rows.with_labels)
        return exact_result(rows.hypothesis, called, exact, name, title, {"view": view} | settings)
    atoms = atoms_of(predictions, "auto" if view == "canonical" else view, cluster)
    statistic = _fast_form(function, atoms, options)
    if statistic is None:
        if atoms.dependence == "any":
            expected = "'any' needs a statistic that is computed from errors"
            advice = "Use cluster='same', or a binned error, KS, Kuiper or is_calibrated"
            raise InputError("cluster", expected, f"{name} is computed from labels", advice)
        counted = predictions.weights is not None
        statistic = _called(name, function, options, lambda errors: with_errors(atoms, errors, counted))
    return exact_result(hypothesis_of(atoms), statistic, exact, name, title, settings)


def resolved(statistic: Any) -> tuple[str, Callable[..., Statistic] | None, Any]:
    """Name, and the maker of a registered statistic or a function of predictions."""
    if callable(statistic) and not isinstance(statistic, type):
        about = method_of(statistic)
        return about.name if about else getattr(statistic, "__name__", "statistic"), None, statistic
    if not isinstance(statistic, str):
        raise InputError("statistic", "must be a name or a function of (labels, probs)", f"it is {statistic!r}")
    named = {name: each.function for name, each in methods("statistic").items() if each.of is None}
    for word in (statistic.lower(), SAME_STATISTIC.get(statistic.lower(), "")):
        if word in named:
            return word, named[word], None
        if (about := find("estimator", word)) is not None:
            return about.name, None, about.function
    known = listed(sorted({*named, *methods("estimator")}), 40)
    raise InputError("statistic", f"must be one of {known} or a function", f"it is {statistic!r}")


def _fast_form(function: Callable[..., Any], atoms: Atoms, options: dict[str, Any]) -> Statistic | None:
    """The registered statistic that computes an estimator for all draws at once, if it takes the options."""
    form = next((each.function for each in methods("statistic").values() if each.of is function), None)
    if form is None or not (
        "options" in (taken := inspect.signature(form).parameters) or options.keys() <= taken.keys()
    ):
        return None
    found: Statistic | None = form(atoms, **options)
    return found


def _called(
    name: str, function: Callable[..., Any], options: dict[str, Any], data: Callable[[Any], Predictions]
) -> Statistic:
    """A function called on one draw after the other, as it may use all cores itself.

    Functions that are no estimators are given (labels, probs).
    """
    ours = method_of(function) is not None

    def value(drawn: Predictions) -> float:
        found = float(function(drawn, **options) if ours else function(drawn.labels, drawn.probs, **options))
        if not np.isfinite(found):
            raise InputError("statistic", "must give a finite number on every draw", f"{name} gave {found}")
        return abs(found) if function is mean_gap else found

    return Statistic(name, name, lambda draws: np.array([[value(data(each))] for each in draws]), serial=True)


def with_errors(atoms: Atoms, errors: Floats, counted: bool) -> Predictions:
    """Predictions that have these errors: single rows, or rows with counts and weights where they were given."""
    hits = np.round(atoms.count * atoms.p - errors / atoms.unit)
    if not counted:
        return Predictions.borrowed(atoms.labels(hits), np.repeat(atoms.p, atoms.count))
    counts, unit = np.concatenate([hits, atoms.count - hits]), np.tile(atoms.unit, 2)
    labels, kept = np.repeat(np.array([1, 0], np.uint8), len(atoms.p)), counts > 0
    mass = Mass(counts * unit, counts * unit**2 if atoms.fixed else None)
    return Predictions.borrowed(labels, np.tile(atoms.p, 2)).with_mass(mass).rows(kept)
