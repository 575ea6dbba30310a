"""Candidates, classes, estimators and criteria beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant.inputs import check_count
from calibrant.maps.choice import Choice
from calibrant.options import checked
from calibrant.plot.axes import COLORS, OVER, UNDER, measured, rows_in_words
from calibrant.plot.content import part
from calibrant.plot.forest import Row, forest, in_words
from calibrant.problems import InputError
from calibrant.results import ClassTable, Estimate, Interval, number
from calibrant.results.tables import row_count
from calibrant.simulate.bias import Bias
from calibrant.verbs.answer_models import AnswerComparison
from calibrant.verbs.class_findings import ClassFindings
from calibrant.verbs.classes import Classes
from calibrant.verbs.comparison import Comparisons
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.optimism import OptimismReport
from calibrant.verbs.planning.validation import ValidationPlan
from calibrant.verbs.trust import Trust

BETTER, WORSE, OPEN = UNDER, OVER, COLORS[4]
"""Of the lines: their interval lies below 0, above it, or holds it."""


@checked
def candidates(result: Comparisons | Choice | AnswerComparison, *, ax: Any = None) -> Any:
    """Which repairs help? A line per candidate, lowest score first. Returns the Axes.

    Left of 0 the candidate is better than the predictions as they are.

    Parameters
    ----------
    result
        The result of `compare` with several candidates, the choice of `auto`,
        `map.fit.choice`, or the result of `compare_answers`: the differences of each pair
        of models.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> found = cal.compare(test, {name: cal.recalibrate(valid, name) for name in ("temperature", "vector")})
    >>> found.plot().get_xlabel()
    'change in Brier score (negative is better)'
    """
    if isinstance(result, AnswerComparison):
        apart = [(pair.name, each) for pair in result.pairs for each in pair.differences]
        rows = [_candidate(f"{name}, {each.title}", each.value, each.interval, "") for name, each in apart]
        about = f"{result.heading}; intervals at {result.level:.0%}".replace("%", " %")
        return forest(rows, ax, "first model − second model", about)
    if isinstance(result, Comparisons):
        first = next(iter(result.candidates.values())).before
        found = [
            (name, each.difference.value, each.difference.interval, each.verdict)
            for name, each in result.ranked().items()
        ]
        about = f"{len(result.better)} of {len(found)} candidates help, {rows_in_words(first.n)}; intervals at {result.level:.0%}, simultaneous"
        title, rows = first.title, [_candidate(*each) for each in found]
    else:
        title, about = result.title, f"chosen: {result.chosen}"
        every = (*result.candidates, *(() if result.procedure is None else (result.procedure,)))
        if not every:
            raise InputError("result", "must hold candidates", f"none was tried: {result.reason}")
        rows = [
            _candidate(c.name, c.change, c.change_interval, "" if c.weight is None else f"weight {c.weight:.2f}")
            for c in every
        ]
    return forest(rows, ax, f"change in {title} (negative is better)", about.replace("%", " %"))


def _candidate(name: str, change: float, interval: Interval | None, more: str) -> Row:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    sure = low is not None and high is not None and not low <= 0 <= high
    color, mark = ((BETTER, "o") if change < 0 else (WORSE, "s")) if sure else (OPEN, "D")
    return Row(name, change, low, high, ", ".join(filter(None, (in_words(change, interval), more))), color, marker=mark)


@checked
def classes(result: Estimate | Diagnosis | Classes, *, most: int = 20, ax: Any = None) -> Any:
    """Which classes are worst? A bar per class with its interval, worst first. Returns the Axes.

    Parameters
    ----------
    result
        An estimate per class, such as `static_error`, `classwise_error` or
        `binned_error(view="classwise")`, or a diagnosis that tested all classes, of which
        it holds those that are most clearly wrong; or the classes of an examination.
    most
        How many classes to draw.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.static_error(test).plot().get_xlabel()
    'error of the class'
    """
    check_count(most, "most")
    if isinstance(result, Classes):
        return _all_classes(result, most, ax)
    if isinstance(result, Diagnosis) and result.classes is not None:
        return _tested_classes(result, result.classes, most, ax)
    table = part(result, "classes", ClassTable)
    if table is None:
        what = result.title if isinstance(result, Estimate) else "a diagnosis of one event"
        raise InputError("result", "must be an estimate per class", f"it is {what}", "Pass static_error(…)")
    rows = [_class_row(table, k) for k in np.argsort(-table.values, kind="stable")[:most].tolist()]
    assert isinstance(result, Estimate)
    more = f"; the {len(rows)} worst of {len(table.classes)} classes" if len(rows) < len(table.classes) else ""
    return forest(rows, ax, "error of the class", measured(result) + more, bars=True)


def _all_classes(result: Classes, most: int, ax: Any) -> Any:
    known = (result.classes, result.error.tolist(), result.mean_prob.tolist(), result.label_rate.tolist())
    rows = [
        Row(f"class {name}", error, words=f"{number(error, 3)}, predicted {p:.3f}, observed {y:.3f}")
        for name, error, p, y in zip(*known, strict=True)
    ]
    return forest(rows[:most], ax, "class-wise ECE", result.sentence(), bars=True)


def _tested_classes(result: Diagnosis, tested: ClassFindings, most: int, ax: Any) -> Any:
    gaps = (tested.mean_prob - tested.label_rate).tolist()
    rows = [
        Row(
            f"class {name}",
            gap,
            words=f"predicted {p:.3f}, observed {y:.3f}{', ' + text.partition(', ')[0] if text else ''}",
            color=(OVER if gap > 0 else UNDER) if text else OPEN,
            marker="o" if text else "D",
        )
        for name, gap, p, y, text in zip(
            tested.classes, gaps, tested.mean_prob, tested.label_rate, tested.findings, strict=True
        )
    ]
    about = f"{result.name}: {tested.n_wrong} of {tested.n_classes} classes wrong, {rows_in_words(result.n)}"
    return forest(rows[:most], ax, "mean prediction − observed rate", about, bars=True)


def _class_row(table: ClassTable, k: int) -> Row:
    value = float(table.values[k])
    ends: tuple[float | None, float | None] = None, None
    if table.low is not None and table.high is not None:
        ends = float(table.low[k]), float(table.high[k])
    interval = "" if ends[0] is None else f" ({number(ends[0], 3)} to {number(ends[1], 3)})"
    return Row(f"class {table.classes[k]}", value, *ends, f"{number(value, 3)}{interval}, {row_count(table.n[k])} rows")


@checked
def trust_plot(result: Trust, *, ax: Any = None) -> Any:
    """How far is each estimator off on data like these? The most accurate first. Returns the Axes.

    The point is the bias, the thick line one standard deviation either way, the thin line
    the range of the bias over the curves that the data leave possible.

    Parameters
    ----------
    result
        The result of `trust`.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.trust(cal.example()[1], estimators=["ece", "sweep"], n_data_sets=20)
    >>> found.plot().get_xlabel()
    'estimate − true error'
    """
    rows = [
        Row(
            row.estimator,
            row.bias,
            *result.ranges[row.estimator],
            f"{number(row.bias, 3)} ± {number(row.sd, 3)}, RMSE {number(row.rmse, 3)}",
            inner=(row.bias - row.sd, row.bias + row.sd),
        )
        for row in result.rows
    ]
    about = f"{rows_in_words(result.n)}, true error {number(result.truth, 3)} on average, {result.best.n_data_sets} data sets"
    return forest(rows, ax, "estimate − true error", about)


@checked
def estimator_plot(result: Bias | Sequence[Bias], *, ax: Any = None) -> Any:
    """Mean and spread of estimators in worlds, against the truth. Returns the Axes.

    The thin line holds 95 % of the estimates, the thick one half of them.

    Parameters
    ----------
    result
        What `simulate.bias` returned: one, or several of them.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import bias, power_world
    >>> bias(cal.ece, power_world(0.05), 200, n_data_sets=20).plot().get_xlabel()
    'estimate − true error'
    """
    found = [result] if isinstance(result, Bias) else list(result)
    if not found:
        raise InputError("result", "must hold a Bias", "it is empty")
    rows = []
    for each in found:
        low, first, _, third, high = (end - each.truth for end in each.quantiles)
        words = f"bias {number(each.bias, 3)} ± {number(each.mean_error, 3)}, RMSE {number(each.rmse, 3)}"
        rows.append(Row(f"{each.estimator}, n = {each.n:,}", each.bias, low, high, words, inner=(first, third)))
    about = f"{found[0].world}, true error {number(found[0].truth, 3)}, {found[0].n_data_sets:,} data sets"
    return forest(rows, ax, "estimate − true error", about)


@checked
def optimism_plot(result: OptimismReport, *, ax: Any = None) -> Any:
    """What is left of a model's numbers once its optimism is taken off? Returns the Axes.

    The point is the corrected value with its interval; the pale line reaches to the value
    on the rows that the model was fitted to.

    Parameters
    ----------
    result
        The result of `optimism`.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 5)), rng.random(100) < 0.4
    >>> cal.optimism(LogisticRegression(), X, y, measures=["c_statistic"], n_draws=5).plot().get_xlabel()
    'corrected value'
    """
    rows = []
    for each in result.estimates:
        low, high = (None, None) if each.interval is None else (each.interval.low, each.interval.high)
        apparent = each.parts["apparent"]
        words = f"{in_words(each.value, each.interval)}, {apparent + 0.0:z.3f} before"
        rows.append(Row(each.title, each.value, low, high, words, inner=(each.value, apparent)))
    about = f"{result.name}: corrected for optimism, {rows_in_words(result.n)}, {result.events:,} events"
    return forest(rows, ax, "corrected value", about, zero=None)


@checked
def validation_plot(result: ValidationPlan, *, ax: Any = None) -> Any:
    """How many rows does each criterion of a validation take? Returns the Axes.

    Parameters
    ----------
    result
        The result of `plan_validation`.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.plan_validation(0.1, 0.8).plot().get_xlabel()
    'rows'
    """
    ranked = sorted(result.criteria, key=lambda each: -each.n)
    rows = [
        Row(each.name, each.n, words=f"{each.n:,} rows for a width of {number(each.width, 2)}", color=color)
        for each, color in zip(ranked, [OVER, *[COLORS[0]] * len(ranked)], strict=False)
    ]
    about = f"{result.n:,} rows with about {result.events:,} events; prevalence {number(result.prevalence, 3)}"
    return forest(rows, ax, "rows", about, zero=None, bars=True)
