"""One vocabulary: what arguments are called, and that errors advise no argument that a function lacks."""

from __future__ import annotations

import inspect
import re
from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant import regression, simulate
from calibrant.maps.calibration_map import SavedMap
from calibrant.methods import methods

OLD = {
    "rng", "replications", "draws", "n_simulations", "folds", "pieces", "knots", "most_bins", "points", "alarms",
    "recipe", "by", "split",
}  # fmt: skip
KINDS = (
    "estimator",
    "clinical estimator",
    "forecast estimator",
    "test",
    "forecast test",
    "score",
    "forecast score",
    "map",
    "forecast map",
)
MODULES = (cal, cal.detect, cal.maps, cal.plot, cal.score, regression, simulate)
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in MODULES
    for name in getattr(module, "__all__", dir(module))
    if not name.startswith("_") and callable(getattr(module, name))
} | {f"{kind} {name}": each.function for kind in KINDS for name, each in methods(kind).items()}
NOT_CALLED = (Exception, SavedMap)
"""Fitted maps are made by fits, and their fields are what was fitted."""
CALLABLES = {
    name: each
    for name, each in PUBLIC.items()
    if getattr(each, "__module__", "").startswith("calibrant")
    and not (isinstance(each, type) and issubclass(each, NOT_CALLED))
}
METHODS = {
    f"{name}.{part}": getattr(each, part)
    for name, each in CALLABLES.items()
    if isinstance(each, type)
    for part in dir(each)
    if not part.startswith("_") and inspect.isfunction(getattr(each, part))
}


def parameters(function):
    return inspect.signature(function).parameters


def with_parameter(name):
    return {path: each for path, each in (CALLABLES | METHODS).items() if name in parameters(each)}


def defaults(name):
    """The default of a parameter of this name, wherever it is a number."""
    found = {path: parameters(each) for path, each in with_parameter(name).items()}
    return {path: each for path, each in found.items() if isinstance(each[name].default, float)}


def test_arguments_are_called_what_they_are_called_everywhere():
    assert len(CALLABLES | METHODS) > 1000
    assert not {path for path, each in (CALLABLES | METHODS).items() if OLD & parameters(each).keys()}


def test_a_level_is_a_confidence_and_alpha_a_rate_of_false_alarms():
    assert not {path for path, found in defaults("level").items() if found["level"].default < 0.5}
    rates = {path: found["alpha"].default for path, found in defaults("alpha").items() if "beta" not in found}
    assert rates
    assert not {path for path, alpha in rates.items() if alpha > 0.5}


Y, P = np.tile([0, 1, 1, 0, 1], 8), np.linspace(0.05, 0.95, 40)
GAUSSIAN = regression.GaussianForecasts(np.linspace(-1, 1, 20), np.zeros(20), np.ones(20))
MATRIX = np.stack([1 - P, P], axis=1)
TEST = cal.detect.spiegelhalter_test(Y, P)

CALLED = {
    "diagnose": cal.diagnose,
    "trust": partial(cal.trust, n_data_sets=2, workers=1),
    "recalibrate": cal.recalibrate,
    "decompose": cal.decompose,
    "where": cal.where,
    "collect": cal.collect,
    "audit": partial(cal.audit, segments={"first": np.arange(40) < 20}),
    "compare": lambda labels, probs, **more: cal.compare(labels, probs, probs, **more),
    "interval_of": partial(cal.interval_of, cal.ece),
    "fit_world": simulate.fit_world,
    "check_world": partial(simulate.check_world, simulate.power_world(0.1), n_data_sets=2),
    "Monitor.update": lambda labels, probs: cal.Monitor().update(labels, probs),
    "assess_answers": cal.assess_answers,
    "clinical": cal.clinical,
    "selective_risk": cal.selective_risk,
    "calibration_error_interval": cal.calibration_error_interval,
    "simultaneous_band": cal.simultaneous_band,
} | {
    f"{kind} {name}": each.function
    for kind in ("estimator", "clinical estimator", "test")
    for name, each in methods(kind).items()
    if name != "sampled"
} | {f"fit of {name}": each.function().fit for name, each in methods("map").items()}  # fmt: skip

DOOR = {
    "rows that do not sum to 1": (Y, MATRIX * 1.1 / 1.05 - 0.02),
    "rows of other sums": (Y, MATRIX * [0.9, 0.8]),
    "fractions": (Y / 2, P),
    "names": (np.where(Y == 1, "yes", "no"), P),
    "names for columns": (np.where(Y == 1, "yes", "no"), MATRIX),
    "other numbers": (Y + 1, P),
    "other classes": (Y + 1, MATRIX),
    "percentages": (Y, P * 100),
    "missing": (Y, np.where(P > 0.5, np.nan, P)),
    "lengths": (Y[:-1], P),
    "labels alone": (Y, None),
}


@pytest.mark.parametrize("function", CALLED.values(), ids=CALLED)
def test_errors_advise_no_argument_that_a_function_lacks(function):
    taken = set(parameters(function.func if isinstance(function, partial) else function))
    for case, (labels, probs) in DOOR.items():
        with pytest.raises(cal.InputError) as caught:
            function(labels, probs)
        text = re.sub(
            r"Predictions(\.from_logits)?\(labels, (probs|logits), \w+=(\([^()]*\)|\w+)\)", "", str(caught.value)
        )
        assert set(re.findall(r"\b(\w+)=", text)) <= taken, case


LINES = {
    "normalize": (Y, MATRIX * [0.9, 0.8]),
    "soft": (Y / 2, P),
}


@pytest.mark.parametrize("case", LINES.values(), ids=LINES)
def test_the_line_of_an_error_can_be_pasted(case):
    labels, probs = case
    with pytest.raises(cal.InputError) as caught:
        cal.ece(labels, probs)
    line = re.search(r"Predictions\(labels, probs, \w+=True\)", str(caught.value))[0]
    made = eval(line, {"Predictions": cal.Predictions, "labels": labels, "probs": probs})
    assert cal.ece(made).value >= 0


ALARMS = {
    "plan": partial(cal.plan, 0.1),
    "plan_validation": partial(cal.plan_validation, 0.2, 0.8),
    "alarm": cal.Monitor().update(Y, P).alarm,
    "since": cal.Monitor().update(Y, P).since,
    "rejects": TEST.rejects,
    "detection": partial(simulate.detection, cal.ece, simulate.power_world(0.1), 20, n_data_sets=20),
}


@pytest.mark.parametrize("function", ALARMS.values(), ids=ALARMS)
def test_a_confidence_is_not_taken_for_a_rate_of_false_alarms(function):
    for alpha in (0, -0.1, 0.95, 1, "5%", True, None, float("nan")):
        with pytest.raises(cal.InputError, match=r"alpha must be positive and at most 0\.5; it is .*1 − level"):
            function(alpha=alpha)


CLUSTERED = {name: each for name, each in with_parameter("cluster").items() if "labels" in parameters(each)}


@pytest.mark.parametrize("function", CLUSTERED.values(), ids=CLUSTERED)
def test_cluster_is_checked_in_one_place(function):
    more = {"features": {"half": np.arange(40) < 20}} if function is cal.audit else {}
    call = partial(function, **more)
    if function is cal.compare:
        call = lambda data, **options: cal.compare(data, data, **options)  # noqa: E731
    if "self" in parameters(function):
        call = partial(function, cal.score.BrierScore())
    said = cal.Predictions(Y, P, groups=np.arange(40) // 2)
    for wrong in ("some", 1, "True", 0.5):
        with pytest.raises(cal.InputError, match=r"cluster must be one of 'any', 'same'; it is"):
            call(said, cluster=wrong)
    with pytest.raises(cal.InputError, match=r"cluster needs groups.*Pass Predictions\(labels, probs, groups=groups\)"):
        call(cal.Predictions(Y, P), cluster="same")


SEEDED = {
    "plan": partial(cal.plan, 0.3, mean_variance=0.2, n_data_sets=10),
    "is_calibrated": partial(cal.is_calibrated, Y, P, n_draws=19),
    "skce": partial(cal.skce, Y, P),
    "where": partial(cal.where, Y, P, n_draws=19),
    "audit": partial(cal.audit, Y, P, {"x": np.arange(40) // 10}, n_draws=19, min_size=5),
    "consistency_band": partial(cal.consistency_band, Y, P, n_draws=20),
    "interval_of": partial(cal.interval_of, cal.ece, Y, P, n_draws=50),
    "decision_regret": partial(cal.decision_regret, Y, P, method="platt", n_draws=2),
    "crossvalidated_error": partial(cal.crossvalidated_error, Y, P, max_bins=3),
    "bias": partial(simulate.bias, cal.ece, simulate.power_world(0.1), 20, 4),
    "detection": partial(simulate.detection, cal.ece, simulate.power_world(0.1), 20, n_data_sets=20),
    "sample": lambda seed: cal.ece(simulate.power_world(0.1).sample(30, seed)),
    "scores": lambda seed: simulate.BetaScores(2, 3).draw(5, seed)[0].tolist(),
    "pit_test": partial(regression.pit_test, GAUSSIAN),
    "spread_test": partial(regression.spread_test, GAUSSIAN, n_draws=19, n_bins=3),
    "marginal_error": partial(regression.marginal_error, GAUSSIAN, n_draws=9, n_points=5),
    "Spline": lambda seed: cal.maps.Spline(seed=seed).fit(Y, P).apply(P).tolist(),
}


@pytest.mark.slow
@pytest.mark.parametrize("function", SEEDED.values(), ids=SEEDED)
def test_a_seed_is_a_number_or_a_generator(function):
    assert function(seed=3) is not None
    first, second = (function(seed=np.random.default_rng(5)) for _ in range(2))
    without_time = (lambda found: found.rmse) if hasattr(first, "rmse") else (lambda found: found)
    assert without_time(first) == without_time(second)
    for wrong in (-1, 1.5, "0", True, None):
        with pytest.raises(cal.InputError, match="seed must be a whole number, at least 0, or a NumPy Generator"):
            function(seed=wrong)


BOTH = {
    "ks_error": partial(cal.ks_error, Y, P),
    "cumulative_test": partial(cal.detect.cumulative_test, Y, P, n_draws=19),
    "cumulative_interval": partial(cal.cumulative_interval, Y, P),
    "pit_test": partial(regression.pit_test, GAUSSIAN),
    "calibration_test": partial(cal.calibration_test, Y, P, n_draws=19),
    "plan": partial(cal.plan, 0.1),
    "audit": partial(cal.audit, Y, P, {"x": np.arange(40) // 10}, n_draws=19, min_size=5),
}


@pytest.mark.parametrize("name", BOTH)
def test_kuiper_has_two_names(name):
    assert BOTH[name](statistic="kuiper") == BOTH[name](statistic="range")
    if name not in ("plan", "audit"):
        assert BOTH[name](statistic="ks") == BOTH[name](statistic="max")
