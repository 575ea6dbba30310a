"""The commands, in the order in which one uses them."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import calibrant as cal
from calibrant import files
from calibrant.about import find
from calibrant.cli import forecasts
from calibrant.cli.forecasts import forecast_columns
from calibrant.cli.group import FAILED, FORECAST_OPTIONS, GAUSSIAN_OPTIONS, MANY_OPTIONS, Calibrant, column_options
from calibrant.estimate import ESTIMATORS
from calibrant.maps import METHODS, REGRESSION_METHODS, CalibrationMap, RegressionMap
from calibrant.methods import Method as About
from calibrant.problems import FileError, InputError
from calibrant.results import SCHEMA, Answer, estimate_table
from calibrant.score import FORECAST_SCORES, SCORES

if TYPE_CHECKING:
    from calibrant.predictions import Predictions
    from calibrant.verbs.diagnose import Diagnosis

FILE = click.Path(path_type=Path)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else.")
force = click.option("--force", is_flag=True, help="Overwrite what is there.")


@click.group(cls=Calibrant, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(cal.__version__, message="calibrant %(version)s")
def main() -> None:
    """Is a model calibrated, how is it repaired, and did the repair help?

    A file of predictions holds, row by row, what happened and what the model said: CSV, Parquet, Arrow/Feather, NPZ or
    JSON lines. Columns are found by their names (label, prob, prob_cat, logit_0 …) or given with options.

    \b
    A quick tour:
      calibrant demo                                  see it all on an example
      calibrant diagnose test.csv                     is it calibrated?
      calibrant measure test.csv sweep smECE          the estimators you name
      calibrant recalibrate valid.csv -o map.json     fit a repair
      calibrant compare test.csv map.json             does it help on other data?
      calibrant decompose test.csv                    where does the score come from?
      calibrant test test.csv                         could a calibrated model have made these?
      calibrant where test.csv                        where is it wrong?
      calibrant trust test.csv                        which estimator to believe at this size?
      calibrant plan test.csv --error 0.03            how many rows does it take?
      calibrant apply map.json new.csv -o better.csv  use it; needs no labels

    `calibrant COMMAND --help` explains a command with examples.
    """


@main.command(short_help="Is it calibrated?")
@click.argument("file", type=FILE)
@column_options()
@column_options(*FORECAST_OPTIONS)
@click.option("--view", default="auto", metavar="VIEW", help="binary, top, or 'class NAME'.  [default: by the columns]")
@click.option("--report", type=FILE, metavar="PATH", help="Also write a report: .html for people, .json for machines.")
@as_json
@click.option(
    "--fail-above",
    type=click.FloatRange(min=0),
    metavar="X",
    help="Exit with 1 if the ECE exceeds X (PIT error for forecasts).",
)
def diagnose(
    file: Path, view: str, report: Path | None, as_json: bool, fail_above: float | None, **columns: Any
) -> None:
    """Is the model calibrated, how far off is it, and how much of that is noise?

    With one column of probabilities the question is whether the event happens as often as said. With a column for each
    class it is whether the top class is right as often as said (--view top); --view 'class cat' asks about one class.
    With --mean and --variance (or --std), --quantiles or --samples it is about forecasts of a real number. Columns called
    q05, q0.5 or quantile_0.95 are found where none is named for probabilities.

    \b
    Examples:
      calibrant diagnose test.csv
      calibrant diagnose test.parquet --label y --probs 'prob_*' --report report.html
      calibrant diagnose scores.csv --probs score --classes no,yes
      calibrant diagnose test.npz --json --fail-above 0.05 > diagnosis.json
      calibrant diagnose prices.csv --label price --mean mu --variance var
      calibrant diagnose prices.csv --label price --quantiles low=0.05,middle=0.5,high=0.95
      calibrant diagnose prices.csv --label price --quantiles 'q*'
      calibrant diagnose weather.parquet --label degrees --samples 'member_*'
    """
    told = forecast_columns(columns, file)
    if told is not None:
        forecasts.diagnose(file, told, report, as_json, fail_above)
        return
    predictions, source = read(file, columns)
    found = cal.diagnose(predictions, view=view, name=file.name)
    if as_json:
        click.echo(found.to_json())
    else:
        show_next(found, file, source)
    if report is not None:
        write_report(report, file, found)
    error = found["ECE"]
    if fail_above is not None and error.value > fail_above:
        click.echo(f"Failed: {error.title} {error.value:.4f} is above {fail_above:g}.", err=True)
        click.get_current_context().exit(FAILED)


@main.command(short_help="Measure with the estimators you name.")
@click.argument("file", type=FILE)
@click.argument("measures", nargs=-1, required=True, metavar="MEASURES")
@column_options()
@click.option(
    "--view", default="auto", metavar="VIEW", help="binary, top, 'class NAME' or classwise, where it applies."
)
@as_json
def measure(file: Path, measures: tuple[str, ...], view: str, as_json: bool, **columns: Any) -> None:
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
    found = tuple(about.function(predictions, **view_option(about, view)) for about in chosen)
    if as_json:
        click.echo(
            json.dumps([{"schema": SCHEMA} | estimate.to_dict() for estimate in found], indent=2, ensure_ascii=False)
        )
        return
    from calibrant.cli import screen

    terminal = screen.terminal()
    terminal.print(source, style="dim")
    screen.show_table(terminal, estimate_table(found))
    cautions = tuple(f"{estimate.title}: {caution}" for estimate in found for caution in estimate.cautions)
    screen.show_list(terminal, "Caution", cautions, "yellow")


def known_measure(name: str) -> About:
    """An estimator by its name or acronym."""
    about = find(ESTIMATORS, name)
    if about is None:
        raise click.UsageError(f"There is no measure {name!r}. There are: {', '.join(ESTIMATORS)}.")
    return about


def view_option(about: About, view: str) -> dict[str, str]:
    """The view as an argument, for the estimators that take one."""
    if view == "auto":
        return {}
    if "view" not in signature(about.function).parameters:
        raise click.UsageError(f"{about.name} takes no --view: it is always {' or '.join(about.views)}.")
    return {"view": view}


@main.command(short_help="Fit a repair and save it.")
@click.argument("file", type=FILE)
@click.option("-o", "--output", type=FILE, metavar="PATH", help="Where to save the map, as JSON.")
@click.option(
    "--method",
    type=click.Choice(["auto", *METHODS, *REGRESSION_METHODS]),
    help="The repair; auto chooses by cross-validation.  [default: temperature, for forecasts variance_platt]",
)
@column_options()
@column_options(*GAUSSIAN_OPTIONS)
@column_options(*MANY_OPTIONS, hidden=True)
@force
@as_json
def recalibrate(
    file: Path, output: Path | None, method: str | None, force: bool, as_json: bool, **columns: Any
) -> None:
    """Fit a map that repairs the model's probabilities, and save it.

    Fit on validation data: rows that the model was not trained on, and other rows than those you judge it by.
    Without -o, --json prints the map.

    \b
    Examples:
      calibrant recalibrate valid.csv -o map.json
      calibrant recalibrate valid.parquet --logits 'logit_*' -o map.json
      calibrant recalibrate valid.npz --method auto -o map.json
      calibrant recalibrate valid.npz --method temperature --json > map.json
      calibrant recalibrate valid.csv --label price --mean mu --std sigma -o map.json
    """
    if output is None and not as_json:
        raise click.UsageError("Say where to save the map: -o map.json. Or print it with --json.")
    told = forecast_columns(columns, file)
    fitted: CalibrationMap | RegressionMap
    if told is not None:
        fitted, source = forecasts.recalibrate(file, told, method or "usual")
    else:
        fitted, source = recalibrated(file, columns, method or "usual")
    if output is not None:
        check_free(output, force)
        fitted.save(output)
    if as_json:
        click.echo(fitted.to_json())
        return
    from calibrant.cli import screen

    terminal = screen.terminal()
    terminal.print(source, style="dim")
    screen.show_map(terminal, fitted)
    terminal.print(f"Saved as {output}. Next, on other data: calibrant compare TEST {output}")


def recalibrated(file: Path, columns: dict[str, Any], method: str) -> tuple[CalibrationMap, str]:
    """A map of the probabilities in a file, and where they were found."""
    predictions, source = read(file, columns)
    if method != "auto":
        return cal.recalibrate(predictions, method), source
    from calibrant.cli import screen

    with screen.progress("Trying maps") as tell:
        return cal.recalibrate(predictions, cal.Auto(progress=tell)), source


def load_class_map(path: Path) -> CalibrationMap:
    """A saved map of class probabilities."""
    fitted = cal.load_map(path)
    if not isinstance(fitted, CalibrationMap):
        raise click.UsageError(f"{path} is a map of forecasts of a number, not of probabilities.")
    return fitted


@main.command(short_help="Repair the probabilities in a file.")
@click.argument("map_file", metavar="MAP", type=FILE)
@click.argument("file", type=FILE)
@click.option(
    "-o", "--output", required=True, type=FILE, metavar="PATH", help="Where to write; the ending is the format."
)
@column_options("probs", "logits", "classes", "normalize", *GAUSSIAN_OPTIONS)
@column_options(*MANY_OPTIONS, hidden=True)
@force
def apply(map_file: Path, file: Path, output: Path, force: bool, **columns: Any) -> None:
    """Repair the probabilities in a file with a saved map. Labels are not needed.

    All columns are kept. The repaired probabilities take the place of the old ones, or of the logits (logit_cat becomes
    prob_cat). The output may have another format than the input. A map of forecasts repairs the column of variances or of
    standard deviations.

    \b
    Examples:
      calibrant apply map.json new.csv -o better.csv
      calibrant apply map.json new.parquet -o better.arrow --probs 'p_*'
      calibrant apply map.json new.npz -o new.npz --force
    """
    told = forecast_columns(columns) or {}
    for name in MANY_OPTIONS:
        if told.get(name):
            raise forecasts.no_map(name)
    found = cal.load_map(map_file)
    if isinstance(found, RegressionMap):
        forecasts.apply(found, file, told, output, force)
        return
    fitted = load_class_map(map_file)
    said = files.read_predicted(file, **columns)
    order = None if said.values.ndim == 1 or said.classes is None else order_of(fitted, said.classes)
    if order is not None:
        said = files.read_predicted(file, **columns | {"classes": order})
    with files.worded(str(file), said.columns):
        repaired = fitted.apply(**{"logits" if "logits" in said.columns.described() else "probs": said.values})
    files.write(output, said, repaired, overwrite=force)
    click.echo(f"Wrote {output}: {len(said.values):,} rows repaired by {fitted.method}.")


@main.command(short_help="Did the repair help?")
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option(
    "--score",
    type=click.Choice(["auto", *SCORES, *FORECAST_SCORES]),
    default="auto",
    help="The proper score.  [default: brier; for forecasts dawid_sebastiani, for quantiles pinball, for samples crps]",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    metavar="X",
    help="Confidence of the interval.",
)
@column_options()
@column_options(*FORECAST_OPTIONS)
@click.option("--report", type=FILE, metavar="PATH", help="Also write a report: .html for people, .json for machines.")
@as_json
@click.option("--fail-if-worse", is_flag=True, help="Exit with 1 if AFTER is detectably worse.")
def compare(
    before: Path,
    after: Path,
    score: str,
    level: float,
    report: Path | None,
    as_json: bool,
    fail_if_worse: bool,
    **columns: Any,
) -> None:
    """Did the repair help, and by how much?

    AFTER is a file with the same rows in the same order, or a saved map (.json), which is applied to BEFORE. The answer is
    the difference in a proper score, after − before, with its interval: negative is better. Options for columns hold for
    both files; if AFTER lacks the columns that --probs or --logits names, they are found by name.

    \b
    Examples:
      calibrant compare test.csv map.json
      calibrant compare test.csv better.csv --score log
      calibrant compare old_model.parquet new_model.parquet --fail-if-worse --json
      calibrant compare prices.csv map.json --label price --mean mu --variance var
      calibrant compare old.csv new.csv --label price --quantiles 'q*'
      calibrant compare old.parquet new.parquet --label degrees --samples 'member_*'
    """
    told = forecast_columns(columns, before)
    options = {"score": score, "level": level}
    if told is not None:
        first, second, fitted, found, source = forecasts.compared(before, after, told, **options)
    else:
        first, second, fitted, found, source = compared(before, after, columns, **options)
    if as_json:
        click.echo(found.to_json())
    else:
        from calibrant.cli import screen

        title = f"{before.name} → {after.name}: {first.n:,} rows"
        screen.show_answer(screen.terminal(), found, title, source)
    if report is not None:
        repaired = cal.diagnose(second, name=after.name)
        write_report(
            report, before, cal.diagnose(first, name=before.name), after=repaired, comparison=found, fitted=fitted
        )
    if fail_if_worse and found.verdict == "worse":
        click.echo(f"Failed: {after} is worse than {before}.", err=True)
        click.get_current_context().exit(FAILED)


@main.command(short_help="Where does the score come from?")
@click.argument("file", type=FILE)
@click.option("--score", type=click.Choice(list(SCORES)), default="brier", show_default=True, help="The proper score.")
@click.option(
    "--by",
    type=click.Choice(["auto", *METHODS]),
    default="isotonic",
    show_default=True,
    help="The map that mends the predictions.",
)
@click.option("--cross-fitted", is_flag=True, help="Judge each row by a map that has not seen it.")
@click.option(
    "--view", default="canonical", metavar="VIEW", help="canonical (all classes), binary, top, or 'class NAME'."
)
@column_options()
@as_json
def decompose(file: Path, score: str, by: str, cross_fitted: bool, view: str, as_json: bool, **columns: Any) -> None:
    """Where does the score come from: a hard task, a model that knows little, or one that says it badly?

    Splits a proper score into miscalibration − discrimination + uncertainty. Miscalibration is what a repair would save,
    discrimination what the model knows beyond the overall rates, uncertainty what those rates score.

    \b
    Examples:
      calibrant decompose test.csv
      calibrant decompose test.csv --score log --by temperature
      calibrant decompose test.parquet --view top --cross-fitted --json
    """
    predictions, source = read(file, columns)
    found = cal.decompose(predictions, score=score, by=by, cross_fitted=cross_fitted, view=view)
    if as_json:
        click.echo(found.to_json())
        return
    from calibrant.cli import screen

    screen.show_answer(screen.terminal(), found, f"{file.name}: {predictions.n:,} rows", source)


@main.command(short_help="See it all on an example.")
@click.option("-o", "--output", type=FILE, metavar="PATH", help="Also write the report: .html or .json.")
def demo(output: Path | None) -> None:
    """See it all on an example: a network for handwritten digits that is too sure of itself.

    Diagnoses its predictions on test data, fits a temperature on validation data, and asks whether that helped.

    \b
    Examples:
      calibrant demo
      calibrant demo --output report.html
    """
    from calibrant.cli import screen

    valid, test = cal.example()
    terminal = screen.terminal()
    terminal.rule("1  Is it calibrated?  diagnose(test)", align="left")
    before = cal.diagnose(test, name="digits")
    screen.show_answer(terminal, before)
    terminal.rule("2  How is it repaired?  fitted = recalibrate(valid)", align="left")
    fitted = cal.recalibrate(valid)
    screen.show_map(terminal, fitted)
    terminal.rule("3  Did it help?  compare(test, fitted.apply(test))", align="left")
    repaired = fitted.apply(test)
    found = cal.compare(test, repaired)
    screen.show_answer(terminal, found)
    after = cal.diagnose(repaired, name="digits, repaired")
    terminal.print(f"Afterwards: {after.verdict}\n", style="bold")
    screen.show_reliability(terminal, after)
    if output is None:
        terminal.print("For a page with diagrams: calibrant demo --output report.html")
    else:
        write_report(output, None, before, after=after, comparison=found, fitted=fitted)
    terminal.print("With your own predictions: calibrant diagnose FILE")


def compared(before: Path, after: Path, columns: dict[str, Any], **options: Any) -> tuple[Any, Any, Any, Any, str]:
    """Predictions before and after, the map between if there is one, the comparison, and where the first were found."""
    fitted = load_class_map(after) if after.suffix.lower() == ".json" else None
    first, source = read(before, columns, fitted)
    second = read_after(after, columns) if fitted is None else fitted.apply(first)
    return first, second, fitted, cal.compare(first, second, **options), source


def read(file: Path, columns: dict[str, Any], fitted: CalibrationMap | None = None) -> tuple[Predictions, str]:
    """The predictions in a file, in the order of a map's classes, and where they were found."""
    predictions, chosen = files.read_with_columns(file, **columns)
    order = None if fitted is None or predictions.is_binary else order_of(fitted, predictions.classes)
    if order is not None:
        predictions, chosen = files.read_with_columns(file, **columns | {"classes": order})
    return predictions, f"{str(chosen)[:1].upper()}{str(chosen)[1:]}"


def read_after(file: Path, columns: dict[str, Any]) -> Predictions:
    """The predictions to compare with; columns named for the first file may have been renamed, as `apply` does."""
    try:
        return read(file, columns)[0]
    except files.UnknownColumn:
        return read(file, columns | {"probs": None, "logits": None})[0]


def order_of(fitted: CalibrationMap, found: tuple[Any, ...]) -> tuple[str, ...] | None:
    """The map's classes where a file has them in another order; None where the orders agree or one has only numbers."""
    wanted, have = [str(c) for c in fitted.classes], [str(c) for c in found]
    counted = [str(k) for k in range(len(have))]
    if wanted == have or len(wanted) != len(have) or counted in (wanted, have):
        return None
    if set(wanted) == set(have):
        return tuple(wanted)
    raise InputError("classes", f"must be those of the map, {', '.join(wanted)}", f"the file has {', '.join(have)}")


def show_next(found: Diagnosis, file: Path, source: str) -> None:
    """A diagnosis on the terminal, and what to do about it."""
    from calibrant.cli import screen

    terminal = screen.terminal()
    screen.show_answer(terminal, found, source=source)
    if found.calibrated is False:
        terminal.print(f"Next: calibrant recalibrate VALIDATION_FILE -o map.json; calibrant compare {file} map.json")


def write_report(path: Path, source: Path | None, *answers: Answer, **more: Any) -> None:
    """The report, never over the predictions themselves."""
    from calibrant.report import write

    if source is not None and path.exists() and path.samefile(source):
        raise InputError("report", "must not be the file of predictions", f"it is {path}")
    write(path, *answers, **more)
    click.echo(f"Wrote {path}", err=True)


def check_free(path: Path, force: bool) -> None:
    """Nothing is overwritten unless the user says so."""
    if path.exists() and not force:
        raise FileError(f"{str(path)!r} exists already. Choose another name, or pass overwrite=True.")
