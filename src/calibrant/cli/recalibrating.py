"""Commands that recalibrate: recalibrate, apply, compare, and the demonstration of all three."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import calibrant as cal
from calibrant import files
from calibrant.cli import forecasts
from calibrant.cli import options as opt
from calibrant.cli.data import (
    Source,
    batches_of,
    load_class_map,
    order_of,
    read,
    read_after,
    say,
    say_json,
    show,
    write_report,
)
from calibrant.cli.group import failed, main
from calibrant.problems import InputError


@main.command(short_help="Fit a recalibration map and save it.")
@opt.file_argument
@click.option("-o", "--output", type=opt.MAP, metavar="PATH", help="Where to save the map, as JSON.")
@click.option(
    "--method",
    type=opt.Registered("map", "forecast map", also=("auto",)),
    help="The map.  [default: auto, chosen by cross-validation; for forecasts variance_platt]",
)
@opt.column_options()
@opt.column_options(*opt.GAUSSIAN_OPTIONS)
@opt.column_options(*opt.MANY_OPTIONS, hidden=True)
@opt.report
@opt.as_json
def recalibrate(
    file: Path,
    output: Path | None,
    method: str | None,
    report: Path | None,
    force: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """Fit a map that recalibrates the model's probabilities, and save it.

    Fit on validation data: rows that the model was not trained on, and other rows than
    those you judge it by. Without -o, --json prints the map.

    \b
    Examples:
      calibrant recalibrate valid.csv -o map.json
      calibrant recalibrate valid.parquet --logits 'logit_*' -o map.json
      calibrant recalibrate valid.npz --method platt -o map.json
      calibrant recalibrate valid.npz --method temperature --json > map.json
      calibrant recalibrate valid.csv --label price --mean mu --std sigma -o map.json
      calibrant recalibrate 'lake/*.parquet' --method temperature -o map.json
    """
    if output is None and not as_json:
        raise click.UsageError("Say where to save the map: -o map.json. Or print it with --json.")
    named = forecasts.forecast_columns(columns, file)
    fit = _fit_classes if named is None else forecasts.recalibrate
    fitted, source = fit(file, columns if named is None else named, method or "auto")
    if output is not None:
        fitted.save(output, overwrite=force)
    write_report(report, force, None, source, fitted=fitted)
    if as_json:
        say_json(fitted, source)
        return
    from calibrant.cli import screen

    terminal = screen.terminal()
    terminal.print(str(source), style="dim")
    screen.show_map(terminal, fitted)
    terminal.print(f"Saved as {output}. Next, on other data: calibrant compare TEST {output}")


def _fit_classes(file: Path, columns: dict[str, Any], method: str) -> tuple[Any, Source]:
    """A map of the probabilities in a file, and where they were found; of several classes in many files, by passes."""
    batches = batches_of(file, columns)
    if batches is not None:
        return cal.recalibrate(batches, method), Source(str(file))
    predictions, source = read(file, columns)
    if method != "auto":
        return cal.recalibrate(predictions, method), source
    return cal.recalibrate(predictions, cal.Auto(progress=True)), source


WRITTEN = "Where to write; the ending is the format."


@main.command(short_help="Recalibrate the probabilities in a file.")
@click.argument("map_file", metavar="MAP", type=opt.FILE)
@opt.file_argument
@click.option("-o", "--output", required=True, type=opt.PREDICTIONS, metavar="PATH", help=WRITTEN)
@opt.column_options("probs", "logits", "classes", "normalize", "percent", "sep", "decimal", *opt.GAUSSIAN_OPTIONS)
@opt.column_options(*opt.MANY_OPTIONS, hidden=True)
@opt.force
def apply(map_file: Path, file: Path, output: Path, force: bool, **columns: Any) -> None:
    """Recalibrate the probabilities in a file with a saved map. Labels are not needed.

    All columns are kept. The recalibrated probabilities take the place of the old ones,
    or of the logits (logit_cat becomes prob_cat). The output may have another format
    than the input. A map of forecasts recalibrates the column of variances or of
    standard deviations.

    \b
    Examples:
      calibrant apply map.json new.csv -o better.csv
      calibrant apply map.json new.parquet -o better.arrow --probs 'p_*'
      calibrant apply map.json new.npz -o new.npz --force
    """
    style = {name: columns[name] for name in ("sep", "decimal")}
    named = forecasts.forecast_columns(columns) or {}
    for name in filter(named.get, opt.MANY_OPTIONS):
        raise forecasts.no_map(name)
    fitted = cal.load_map(map_file)
    if isinstance(fitted, cal.maps.RegressionMap):
        forecasts.apply(fitted, file, named | style, output, force)
        return
    given = files.read_predicted(file, **columns)
    order = None if given.values.ndim == 1 or given.classes is None else order_of(fitted, given.classes)
    if order is not None:
        given = files.read_predicted(file, **columns | {"classes": order})
    with files.worded(str(file), given.columns):
        recalibrated = fitted.apply(**{"logits" if "logits" in given.columns.described() else "probs": given.values})
    files.write(output, given, recalibrated, overwrite=force)
    source = Source(str(file), given.columns)
    say(f"{source}\nWrote {output}: {len(given.values):,} rows recalibrated by {fitted.method}.")


@main.command(short_help="Did recalibration help?")
@click.argument("before", type=opt.FILE)
@click.argument("after", type=opt.FILE)
@click.option(
    "--score",
    type=opt.Registered("score", "forecast score", also=("auto",)),
    default="auto",
    show_default=False,
    help="The proper score.  [default: brier; for forecasts dawid_sebastiani, for quantiles pinball, for samples crps]",
)
@click.option("--level", type=opt.SHARE, default=0.95, metavar="X", help="Confidence of the interval.")
@opt.column_options()
@opt.column_options(*opt.FORECAST_OPTIONS)
@opt.report
@opt.as_json
@click.option(
    "--injective/--not-injective",
    default=None,
    help="AFTER was made of BEFORE by a map that keeps different predictions different.  [default: known of maps only]",
)
@click.option("--fail-if-worse", is_flag=True, help="Exit with 1 if AFTER is detectably worse.")
def compare(
    before: Path,
    after: Path,
    report: Path | None,
    force: bool,
    as_json: bool,
    fail_if_worse: bool,
    score: str,
    level: float,
    injective: bool | None,
    **columns: Any,
) -> None:
    """Did recalibration help, and by how much?

    AFTER is a file with the same rows in the same order, or a saved map (.json), which
    is applied to BEFORE. The result is the difference in a proper score, after −
    before, with its interval: negative is better. Options for columns hold for both
    files; if AFTER lacks the columns that --probs or --logits names, they are found by
    name.

    A map that keeps different predictions different changes calibration alone. Two files
    do not show that there is such a map between them: unless --injective says so, the
    change may be calibration, sharpness or both, and the parts are estimated.

    \b
    Examples:
      calibrant compare test.csv map.json
      calibrant compare test.csv better.csv --injective --score log
      calibrant compare old_model.parquet new_model.parquet --fail-if-worse --json
      calibrant compare prices.csv map.json --label price --mean mu --variance var
      calibrant compare old.csv new.csv --label price --quantiles 'q*'
      calibrant compare old.parquet new.parquet --label degrees --samples 'member_*'
    """
    named = forecasts.forecast_columns(columns, before)
    pair = _pair_of_classes if named is None else forecasts.pair
    first, second, fitted, source = pair(before, after, columns if named is None else named)
    if source.after is not None and (source.dropped or source.after.dropped):
        found = f"{source.dropped} rows of {before.name} and {source.after.dropped} of {after.name} have missing values"
        raise InputError("missing", "cannot be 'drop' for two files whose rows are paired", found, "Fill them")
    found = cal.compare(first, second, score=score, level=level, injective=injective)
    if report is not None:
        old, new = cal.diagnose(first, name=before.name), cal.diagnose(second, name=after.name)
        write_report(report, force, first, source, old, after=new, comparison=found, fitted=fitted)
    show(found, f"{before.name} → {after.name}: {first.n:,} rows", source, as_json)
    if fail_if_worse and found.verdict == "worse":
        failed(f"{after} is worse than {before}.")


def _pair_of_classes(before: Path, after: Path, columns: dict[str, Any]) -> tuple[Any, Any, Any, Source]:
    """Predictions before and after, the map between them, and where the first were found."""
    fitted = load_class_map(after) if after.suffix.lower() == ".json" else None
    first, source = read(before, columns, fitted)
    if fitted is not None:
        return first, fitted.apply(first), fitted, source
    second, taken = read_after(after, columns)
    return first, second, None, replace(source, after=taken)


@main.command(short_help="See it all on an example.")
@click.option("-o", "--output", type=opt.REPORT, metavar="PATH", help="Also write the report: .html or .json.")
@opt.force
def demo(output: Path | None, force: bool) -> None:
    """See it all on an example: an over-confident network for handwritten digits.

    Diagnoses its predictions on test data, chooses and fits a map on validation data,
    and asks whether that helped.

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
    terminal.rule("2  How is it recalibrated?  fitted = recalibrate(valid)", align="left")
    fitted = cal.recalibrate(valid)
    screen.show_map(terminal, fitted)
    terminal.rule("3  Did it help?  compare(test, fitted.apply(test))", align="left")
    recalibrated = fitted.apply(test)
    found = cal.compare(test, recalibrated)
    screen.show_answer(terminal, found)
    after = cal.diagnose(recalibrated, name="digits, recalibrated")
    terminal.print(f"Afterwards: {after.verdict}\n", style="bold")
    screen.show_reliability(terminal, after)
    if output is None:
        terminal.print("For a page with diagrams: calibrant demo --output report.html")
    else:
        write_report(output, force, test, Source(), before, after=after, comparison=found, fitted=fitted)
    terminal.print("With your own predictions: calibrant diagnose FILE")
