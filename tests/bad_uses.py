"""The last part of the table of bad inputs: methods of states and monitors, files, plots, reports, adapters, and verbs given forecasts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import calibrant as cal
from bad_calls import WORLD, OfForecasts, OfOptions, forecasts_of
from bad_inputs import DATA, EVENT, Call, P
from calibrant import plot, report
from calibrant.adapt import sklearn as adapters

FOLDER = Path(tempfile.mkdtemp())
"""where good calls write and read"""


class OfFiles(OfOptions):
    """A callable of a file or of its text, which are arguments like others here."""

    def __init__(self, name: str, function: Any, takes: Any = None, /, **given: Any) -> None:
        super().__init__(name, function, takes, **given)
        self.options = [*given, *(each for each in self.options if each not in given)]


@cache
def uses() -> tuple[Call, ...]:
    """Every public callable that works on what others have made."""
    mpl.use("Agg")
    of_rows = (*_of_states(), *_of_monitors(), *_of_files(), *_of_models(), *_of_verbs())
    return (*of_rows, *_of_plots(), *_of_reports(), *_of_adapters())


def _of_states() -> Iterator[Call]:
    def state() -> cal.State:
        return cal.collect(EVENT, P, part="monday")

    yield Call("State.update", lambda **data: _fresh(data).update(**data), cal.State.update)
    other = cal.collect(EVENT, P, part="tuesday")
    yield OfOptions("State.merge", lambda **given: state().merge(**given), cal.State.merge, other=other)
    yield OfOptions("State.pooled", lambda **given: state().pooled(**given), cal.State.pooled, view="binary")
    yield OfOptions("State.to_json", lambda **given: state().to_json(**given), cal.State.to_json)
    yield OfFiles("State.from_json", cal.State.from_json, text=state().to_json())
    yield OfFiles("State.from_data", cal.State.from_data, data=state().to_data())
    yield OfOptions("scan", lambda **given: cal.scan([{"label": EVENT, "prob": P}], **given), cal.scan, progress=False)
    state().save(FOLDER / "state.json")
    yield OfFiles("State.load", cal.State.load, path=FOLDER / "state.json")
    yield OfFiles("State.save", lambda **given: state().save(**given), cal.State.save, path=FOLDER / "new.json")


def _fresh(data: dict[str, Any]) -> cal.State:
    """A state of the same columns, whatever is to be taken in."""
    probs = data["probs"]
    several = len(getattr(probs, "shape", ())) == 2 or (isinstance(probs, list) and np.ndim(probs[:1]) == 2)
    return cal.collect(*DATA["classes" if several else "event"])


def _of_models() -> Iterator[Call]:
    from sklearn.linear_model import LogisticRegression

    given = {"X": np.column_stack([P, P**2]), "labels": EVENT, "measures": ("brier_score",), "n_draws": 2}
    yield OfOptions("optimism", cal.optimism, model=LogisticRegression(), progress=False, **given)


def _of_monitors() -> Iterator[Call]:
    watch, other = cal.Monitor().update(EVENT, P), cal.Monitor().update(EVENT, P)
    yield OfOptions("Monitor.merge", watch.merge, other=other)
    for name in ("alarm", "answer", "since", "sentence", "summary"):
        yield OfOptions(f"Monitor.{name}", getattr(watch, name))
    yield OfOptions("Monitor.plot", watch.plot)
    yield OfOptions("Monitor.to_json", watch.to_json)
    yield OfFiles("Monitor.from_json", cal.Monitor.from_json, text=watch.to_json())


def _of_files() -> Iterator[Call]:
    table, saved = FOLDER / "table.csv", FOLDER / "map.json"
    table.write_text("label,prob\n" + "".join(f"{y},{p}\n" for y, p in zip(EVENT, P, strict=True)), encoding="utf-8")
    fitted = cal.recalibrate(EVENT, P, "platt")
    fitted.save(saved)
    yield OfFiles("read", cal.read, path=table)
    yield OfFiles("files.read_batches", cal.files.read_batches, source=table)
    yield OfFiles("load_map", cal.load_map, path=saved)
    yield OfFiles("map.save", fitted.save, path=FOLDER / "again.json")
    yield OfOptions("map.to_json", fitted.to_json)
    yield OfFiles("Estimate.from_json", cal.results.Estimate.from_json, text=cal.ece(EVENT, P).to_json())
    yield OfFiles("Predictions.with_groups", cal.Predictions(EVENT, P).with_groups, groups=EVENT)


def _of_plots() -> Iterator[Call]:
    one, several = cal.diagnose(EVENT, P), cal.ece(EVENT, P)
    world = cal.simulate.UniformWorld()
    rows = cal.Predictions(EVENT, P)
    bent = cal.Platt().fit(rows)
    given: dict[str, dict[str, Any]] = {
        "reliability": {"result": one},
        "draw": {"answer": several},
        "decision": {"result": cal.decision_regret(EVENT, P, n_draws=0, method="platt")},
        "risk_coverage": {"result": cal.selective_risk(EVENT, P)},
        "evidence": {"monitor": cal.Monitor().update(EVENT, P)},
        "forecast_plot": {"result": cal.diagnose(forecasts_of("gaussian"))},
        "power_curve": {"result": cal.plan(error=0.1, world=WORLD, n_data_sets=20)},
        "miss_rates": {"rows": [cal.simulate.detection(cal.ece, WORLD, 20, n_data_sets=20)]},
        "bias_grid": {"grid": cal.simulate.bias_grid(world, [20], [2], n_data_sets=4)},
        "curves": {"what": cal.Platt().fit(EVENT, P)},
        "bias_curves": {"rows": [cal.simulate.bias(cal.ece, world, 20, n_data_sets=4)]},
        "candidates": {"result": cal.compare(rows, {"a": bent, "b": cal.maps.Identity().fit(rows)})},
        "classes": {"result": cal.static_error(*DATA["classes"])},
        "clinical_plot": {"result": cal.clinical(rows)},
        "confidences": {"result": cal.assess_answers(EVENT, P)},
        "cumulative": {"result": cal.ks_error(EVENT, P)},
        "estimator_plot": {"result": cal.simulate.bias(cal.ece, world, 20, n_data_sets=4)},
        "grid": {"results": {"a": several}},
        "optimism_plot": {"result": cal.results.OptimismReport("m", 12, 7, 5, 0.95, (_corrected(),))},
        "score_change": {"result": cal.compare(rows, bent)},
        "score_parts": {"result": cal.decompose(EVENT, P)},
        "trust_plot": {"result": cal.trust(rows, estimators=["ece"], n_data_sets=4)},
        "validation_plot": {"result": cal.plan_validation(0.1, 0.8)},
        "segments": {"audit": cal.audit(EVENT, P, {"f": P > 0.5}, min_size=2, n_draws=19)},
    }
    for name in plot.__all__:
        yield OfOptions(f"plot.{name}", _closed(getattr(plot, name)), getattr(plot, name), **given[name])


def _corrected() -> cal.results.Estimate:
    return cal.results.Estimate("c_statistic", "c-statistic", 0.7, 12, parts={"apparent": 0.8})


def _closed(draw: Any) -> Any:
    def drawn(**given: Any) -> Any:
        from matplotlib import pyplot as plt

        try:
            return draw(**given)
        finally:
            plt.close("all")

    return drawn


def _of_reports() -> Iterator[Call]:
    one = cal.diagnose(EVENT, P)

    def of(function: Any, first: bool) -> Any:
        def called(answers: Any = one, **given: Any) -> Any:
            return function(given.pop("path"), answers, **given) if first else function(answers, **given)

        return called

    yield OfFiles("report.page", of(report.page, False), report.page, answers=one)
    yield OfFiles("report.write", of(report.write, True), report.write, path=FOLDER / "report.html", answers=one)
    yield OfFiles("Answer.save", one.save, type(one).save, path=FOLDER / "one.html")


def _of_adapters() -> Iterator[Call]:
    """Their own options; scikit-learn checks X, y, weights, folds and models in its own words."""
    x = np.column_stack([P, EVENT * 0.5 + P])

    def fitted(make: Any, data: Any) -> Any:
        return lambda **options: make(**options).fit(data, EVENT)

    model = OfOptions("CalibratedModel", fitted(adapters.CalibratedModel, x), adapters.CalibratedModel, cv=2)
    model.options = ["method", "prefit", "ensemble", "response"]
    yield model
    yield OfOptions("MapTransformer", fitted(adapters.MapTransformer, P[:, None]), adapters.MapTransformer)
    display = adapters.CalibrationDisplay(cal.diagnose(EVENT, P))
    yield OfOptions("CalibrationDisplay", adapters.CalibrationDisplay, diagnosis=display.diagnosis)
    yield OfOptions("CalibrationDisplay.plot", _closed(display.plot), display.plot)
    yield OfOptions("scorer", lambda *, measure: adapters.scorer(measure), measure="ece")
    yield OfOptions("scorers", lambda *, measures: adapters.scorers(measures), measures="ece")


def _of_verbs() -> Iterator[Call]:
    """Forecasts where predictions are usual, and the check of a world."""
    before = forecasts_of("gaussian")
    fitted = cal.recalibrate(before, "std_scaling")
    yield Call("check_world", cal.simulate.check_world, world=WORLD, n_data_sets=4)
    given: dict[str, dict[str, Any]] = {
        "diagnose": {},
        "recalibrate": {"method": "std_scaling"},
        "compare": {"before": fitted},
        "decompose": {},
    }
    for name, options in given.items():
        verb = getattr(cal, name)
        yield OfEither(f"{name} of forecasts", partial(_called, verb, options), lambda forecasts: ...)
        beside = OfOptions(f"{name} beside forecasts", verb, labels=before, **options)
        beside.options = [each for each in beside.options if each not in ("labels", "after", "weights")]
        yield beside


def _called(verb: Any, options: dict[str, Any], forecasts: Any) -> Any:
    return verb(forecasts, **options)


class OfEither(OfForecasts):
    """A verb that takes predictions of classes too."""

    def bad(self, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        return (each for each in super().bad(kind) if each[1] != "predictions")
