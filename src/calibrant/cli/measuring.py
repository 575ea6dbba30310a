"""Commands that measure: diagnose, measure, clinical, decompose."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import click

import calibrant as cal
from calibrant.cli import forecasts
from calibrant.cli import options as opt
from calibrant.cli.data import read, say_json, show, write_report
from calibrant.cli.gates import Gate, GateType, check_gate, measure_names
from calibrant.cli.group import main
from calibrant.cli.stdin import DASH, shown
from calibrant.methods import Method, find_measure, methods

FAIL_ABOVE = (
    "Exit with 1 if the interval of the calibration error, or of the estimator NAME, lies above X; "
    "of one without an interval, if its value does."
)


def complete_measures(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Names and acronyms of estimators, for the shell."""
    return opt.completed(measure_names(), incomplete)


@main.command(short_help="Is it calibrated?")
@opt.file_argument
@opt.column_options()
@opt.column_options(*opt.FORECAST_OPTIONS)
@opt.view
@opt.report
@opt.full
@opt.as_json
@opt.option("--fail-above", GateType(), FAIL_ABOVE)
def diagnose(
    file: Path,
    view: str,
    report: Path | None,
    force: bool,
    full: bool,
    as_json: bool,
    fail_above: Gate | None,
    **columns: Any,
) -> None:
    """Is the model calibrated, how far off is it, and how much of that is noise?

    With one column of probabilities the question is whether the event occurs as often
    as predicted. With one column per class it is whether the top class is right as
    often as predicted (--view top); --view 'class cat' asks about one class. With
    --mean and --variance (or --std), --quantiles or --samples it is about forecasts of
    a real number. Columns called q05, q0.5 or quantile_0.95 are found where none is
    named for probabilities.

    \b
    Examples:
      calibrant diagnose test.csv
      calibrant diagnose test.parquet --label y --probs 'prob_*' --report report.html
      calibrant diagnose scores.csv --probs score --classes no,yes
      calibrant diagnose test.npz --json --fail-above 0.05 > diagnosis.json
      calibrant diagnose test.csv --quiet --fail-above smooth=0.05
      calibrant diagnose prices.csv --label price --mean mu --variance var
      calibrant diagnose prices.csv --label price --quantiles low=0.05,middle=0.5,high=0.95
      calibrant diagnose prices.csv --label price --quantiles 'q*'
      calibrant diagnose weather.parquet --label degrees --samples 'member_*'
    """
    named = forecasts.forecast_columns(columns, file)
    given: Any
    given, source = read(file, columns, in_batches=True) if named is None else forecasts.read(file, named)
    measures = () if fail_above is None or fail_above.measure is None else (fail_above.measure,)
    if measures and named is not None:
        raise click.UsageError("--fail-above NAME=X is for probabilities of classes: leave out the name.")
    asked: Any = {"view": view if named is None else "auto", "name": file.name, "measures": measures}
    whole = cal.examine(given, full=full, **asked) if report is not None else None
    found: Any = cal.diagnose(given, **asked) if whole is None else whole.diagnosis
    write_report(report, force, given, source, whole)
    if as_json:
        say_json(found, source)
    else:
        from calibrant.cli import screen

        terminal, following = screen.terminal(), f"-o map.json; calibrant compare {shown(str(file), DASH)} map.json"
        screen.show_answer(terminal, found, source=str(source))
        if named is None and found.calibrated is False:
            terminal.print(f"Next: calibrant recalibrate VALIDATION_FILE {following}")
    if fail_above is not None:
        error = found.estimates[-1] if measures else found["calibration_error" if named is None else "pit_error"]
        check_gate(fail_above, error, beyond_noise=not measures)


@main.command(short_help="Measure with the estimators you name.")
@opt.file_argument
@click.argument("measures", nargs=-1, required=True, metavar="MEASURES", shell_complete=complete_measures)
@opt.column_options()
@opt.view_option("binary, top, 'class NAME' or classwise, where it applies.")
@opt.report
@opt.as_json
def measure(
    file: Path,
    measures: tuple[str, ...],
    view: str,
    report: Path | None,
    force: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """Measure the calibration error with the estimators you name; `calibrant --help` lists them.

    Acronyms are understood: smECE, ECE_sweep, TACE, RBS and so on.

    \b
    Examples:
      calibrant measure test.csv ece sweep smooth
      calibrant measure test.npz TACE CWCE
      calibrant measure test.parquet sweep --view classwise --json
    """
    chosen = [known_measure(name) for name in measures]
    predictions, source = read(file, columns)
    found = tuple(each.function(predictions, **view_option(each, view)) for each in chosen)
    write_report(report, force, predictions, source, *found)
    if as_json:
        say_json(list(found), source)
        return
    from calibrant.cli import screen
    from calibrant.results import estimate_table

    terminal = screen.terminal()
    terminal.print(str(source), style="dim")
    screen.show_table(terminal, estimate_table(found))
    cautions = tuple(f"{estimate.title}: {caution}" for estimate in found for caution in estimate.cautions)
    screen.show_list(terminal, "Caution", cautions, "yellow")


def known_measure(name: str) -> Method:
    """An estimator by its name or acronym."""
    found = find_measure(name)
    if found is None:
        known = ", ".join((*methods("estimator"), *methods("clinical estimator")))
        raise click.UsageError(f"There is no measure {name!r}. There are: {known}.")
    return found


def view_option(chosen: Method, view: str) -> dict[str, str]:
    """The view as an argument, for the estimators that take one."""
    if view == "auto":
        return {}
    if "view" not in signature(chosen.function).parameters:
        raise click.UsageError(f"{chosen.name} takes no --view: it is always {' or '.join(chosen.views)}.")
    return {"view": view}


@main.command(short_help="The numbers of a clinical validation study.")
@opt.file_argument
@opt.option("--threshold", opt.SHARE, "Risk from which on one would act.  [default: the rate of events]", metavar="X")
@opt.option("--level", opt.SHARE, "Confidence of the intervals.", 0.95, metavar="X")
@opt.view
@opt.report
@opt.column_options()
@opt.as_json
def clinical(
    file: Path,
    threshold: float | None,
    level: float,
    view: str,
    report: Path | None,
    force: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """Does a clinical prediction model hold? Each number with its interval.

    O/E, calibration intercept and slope, ICI, E50, E90 and Emax, the c-statistic, and
    the standardised net benefit at a threshold.

    \b
    Examples:
      calibrant clinical validation.csv --label died --probs risk
      calibrant clinical validation.csv --threshold 0.1 --report validation.html
      calibrant clinical validation.parquet --json
    """
    predictions, source = read(file, columns)
    found = cal.clinical(predictions, threshold=threshold, level=level, view=view, name=file.name)
    if report is not None:
        whole = cal.examine(predictions, view=view, name=file.name, answers=(found,))
        write_report(report, force, predictions, source, whole)
    show(found, file.name, source, as_json)


@main.command(short_help="Where does the score come from?")
@opt.file_argument
@click.option("--score", type=opt.Registered("score"), default="brier", help="The proper score.")
@opt.option("--method", opt.Registered("map", also=("auto",)), "The map that recalibrates the predictions.", "isotonic")
@click.option("--cross-fitted", is_flag=True, help="Judge each row by a map that has not seen it.")
@opt.view_option("canonical (all classes), binary, top, or 'class NAME'.", "canonical")
@opt.report
@opt.column_options()
@opt.as_json
def decompose(file: Path, report: Path | None, force: bool, as_json: bool, **options: Any) -> None:
    """Where does the score come from: a hard task, little knowledge, or miscalibration?

    Splits a proper score into miscalibration − discrimination + uncertainty.
    Miscalibration is what recalibration would save, discrimination what the model knows
    beyond the overall rates, uncertainty what those rates score.

    \b
    Examples:
      calibrant decompose test.csv
      calibrant decompose test.csv --score log --method temperature
      calibrant decompose test.parquet --view top --cross-fitted --json
    """
    asked = {name: options.pop(name) for name in ("score", "method", "cross_fitted", "view")}
    predictions, source = read(file, options)
    found = cal.decompose(predictions, **asked)
    write_report(report, force, predictions, source, found)
    show(found, f"{file.name}: {predictions.n:,} rows", source, as_json)
