"""Commands for inference: test, where, audit, monitor, trust, plan."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path
from typing import Any

import click

import calibrant as cal
from calibrant import files
from calibrant.cli import options as opt
from calibrant.cli.data import Source, is_lake, read, say, scan_lake, show, write_report
from calibrant.cli.group import Refused, failed, main
from calibrant.methods import methods
from calibrant.problems import MapError
from calibrant.progress import watched
from calibrant.results import saved_text
from calibrant.writing import locked, write_text

DEPENDENCE = "Rows of a group share one outcome, may depend in any way, or do not depend."
cluster = opt.option("--cluster", "same|any|no", f"{DEPENDENCE}  [default: no, with a warning]")


@main.command(short_help="Which estimator can I believe at my sample size?")
@opt.file_argument
@click.option("--norm", type=click.Choice(["1", "2"]), default="1", help="Mean gap, or its RMS.")
@click.option("--data-sets", "n_data_sets", type=click.IntRange(2), default=200, help="Simulated data sets.")
@opt.seed
@opt.view
@opt.report
@opt.column_options()
@opt.as_json
def trust(
    file: Path,
    norm: str,
    n_data_sets: int,
    seed: int,
    view: str,
    report: Path | None,
    force: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """Which estimator of the calibration error can I believe, with as many rows as I have?

    Every estimator is tried on data sets of your size, with your scores and with curves
    that your data leave possible, whose true errors are known: how far is it off, how
    much does it scatter, and does its interval contain the truth? The most accurate
    comes first. If no curve describes your data, the answer says so.

    \b
    Examples:
      calibrant trust test.csv
      calibrant trust test.csv --norm 2 --data-sets 1000
      calibrant trust test.parquet --view top --json
    """
    predictions, source = read(file, columns)
    options: dict[str, Any] = {"norm": int(norm), "n_data_sets": n_data_sets, "seed": seed, "view": view}
    found = cal.trust(predictions, **options, progress=not as_json)
    if report is not None:
        whole = cal.examine(predictions, view=view, name=file.name, answers=(found,))
        write_report(report, force, predictions, source, whole)
    show(found, file.name, source, as_json)


@main.command(short_help="Could a calibrated model have made these predictions?")
@opt.file_argument
@click.option("--test", "name", type=opt.Registered("test"), help="A single test.  [default: several, combined]")
@opt.view_option("canonical, binary, top, or 'class NAME'.  [default: by the columns]")
@click.option(
    "--draws", "n_draws", type=click.IntRange(1), metavar="N", help="Null draws of the labels.  [default: by the rows]"
)
@opt.seed
@cluster
@click.option("--fail-below", type=click.FloatRange(0, 1), metavar="P", help="Exit with 1 if the p-value is at most P.")
@opt.report
@opt.column_options()
@opt.as_json
def test(
    file: Path,
    name: str | None,
    view: str,
    n_draws: int | None,
    seed: int,
    cluster: str | None,
    fail_below: float | None,
    report: Path | None,
    force: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """Could a calibrated model have made these predictions?

    One exact p-value from several statistics, or one test by name.

    \b
    Examples:
      calibrant test test.csv
      calibrant test test.csv --test spiegelhalter
      calibrant test test.parquet --view canonical
      calibrant test answers.csv --groups question --cluster same
      calibrant test test.csv --json --fail-below 0.01
    """
    function = cal.is_calibrated if name is None else methods("test")[name].function
    given = {"view": None if view == "auto" else view, "n_draws": n_draws, "cluster": cluster}
    taken = signature(function).parameters
    for option, value in given.items():
        if value is not None and option not in taken:
            raise click.UsageError(f"The test {name} takes no --{option.removeprefix('n_')}.")
    predictions, source = read(file, columns)
    options = {"view": view, "n_draws": n_draws, "cluster": checked_cluster(cluster, predictions), "seed": seed}
    with watched(not as_json, "null draws"):
        found = function(predictions, **{option: value for option, value in options.items() if option in taken})
    write_report(report, force, predictions, source, found)
    show(found, file.name, source, as_json)
    if fail_below is not None and found.p_value <= fail_below:
        failed(f"{cal.results.p_words(found.p_value, found.least_p)} is at most {fail_below:g}.")


@main.command(short_help="Where is it wrong?")
@opt.file_argument
@opt.view
@cluster
@opt.report
@opt.column_options()
@opt.as_json
def where(
    file: Path, view: str, cluster: str | None, report: Path | None, force: bool, as_json: bool, **columns: Any
) -> None:
    """Over which predictions do errors pile up most, which way, and how sure is that?

    \b
    Examples:
      calibrant where test.csv
      calibrant where test.parquet --view top --json
      calibrant where answers.csv --groups question --cluster same
    """
    predictions, source = read(file, columns)
    found = cal.where(predictions, view=view, cluster=checked_cluster(cluster, predictions))
    write_report(report, force, predictions, source, found)
    show(found, file.name, source, as_json)


@main.command(short_help="In which segments is it wrong?")
@opt.file_argument
@click.option("--by", metavar="NAMES", help="Columns to cut segments from, joined by commas.  [default: all others]")
@opt.option(
    "--statistic",
    "both|gap|range|kuiper",
    "gap: predictions too high or too low; range: also errors that cancel.",
    "both",
)
@click.option("--depth", type=click.IntRange(1, 3), default=3, help="Conditions of a segment, at most.")
@click.option("--min-size", type=click.IntRange(1), default=50, help="Rows of a segment, at least.")
@opt.option("--margin", click.FloatRange(0, 1, min_open=True), "The error that matters to you.", 0.05, metavar="X")
@opt.option("--cluster", "same|any|no", DEPENDENCE, "no")
@opt.view
@opt.report
@opt.column_options()
@opt.as_json
@click.option("--fail-if-wrong", is_flag=True, help="Exit with 1 if any segment is called wrong.")
def audit(
    file: Path,
    by: str | None,
    cluster: str,
    report: Path | None,
    force: bool,
    as_json: bool,
    fail_if_wrong: bool,
    **options: Any,
) -> None:
    """In which segments of the data is the model wrong?

    Segments are cut from the other columns of the file: values of categories, quantile
    bins of numbers, and up to three of these combined. Among many segments some look
    bad by chance; the probability that any is called wrong by mistake is at most 5 %.

    \b
    Examples:
      calibrant audit test.csv --by age,sex,country
      calibrant audit test.parquet --label y --probs 'prob_*' --by site --min-size 200
      calibrant audit answers.csv --by topic --groups question --cluster any
      calibrant audit test.csv --by age,sex --json --fail-if-wrong > audit.json
    """
    columns, predictions = taken_columns(options), None
    if is_lake(file):
        found, source = _audit_lake(file, by, columns, options)
    else:
        predictions, chosen = files.read_with_columns(file, **columns)
        depend = checked_cluster(cluster, predictions)
        features = files.read_features(file, by, chosen, files.Style.taken(dict(columns)))
        found = cal.audit(predictions, features, cluster=depend, **options)
        source = Source(str(file), chosen, tuple(getattr(features, "column_names", features)))
    write_report(report, force, predictions, source, found)
    show(found, file.name, source, as_json)
    if fail_if_wrong and found.found:
        failed(f"{len(found.found)} segments are called wrong.")


def _audit_lake(file: Path, by: str | None, columns: dict[str, Any], options: dict[str, Any]) -> tuple[Any, Source]:
    """The segments of one column of many files, each summed up in a state."""
    if by is None or "," in by:
        raise click.UsageError("Of many files, name one column of segments: --by NAME.")
    states, chosen = scan_lake(file, columns, segments=by)
    return cal.audit(states, **options), Source(str(file), chosen, (by,))


@main.command(short_help="Is it still calibrated? Watch rows as they come.")
@opt.file_argument
@click.option(
    "--state", type=opt.STATE, metavar="PATH", help="What was seen before; read if it is there, then written."
)
@opt.alpha_option("Share of calibrated streams on which there may ever be an alarm.")
@click.option("--fail-on-alarm", is_flag=True, help="Exit with 1 if there is an alarm.")
@opt.report
@opt.column_options()
@opt.as_json
def monitor(
    file: Path,
    state: Path | None,
    alpha: float,
    fail_on_alarm: bool,
    report: Path | None,
    force: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """Is it still calibrated?

    Rows in the order of time; look as often as you like, the error of an alarm does not
    grow.

    \b
    Examples:
      calibrant monitor monday.csv --state watch.json
      calibrant monitor tuesday.csv --state watch.json --fail-on-alarm
    """
    predictions, source = read(file, columns)
    watch = updated_monitor(state, predictions, file.name)
    change = watch.since(alpha)
    write_report(report, force, predictions, source, watch.answer(alpha))
    if as_json:
        plain: dict[str, Any] = {"schema": cal.results.SCHEMA, "summary": watch.summary(alpha)}
        plain |= {name: getattr(watch, name) for name in ("n", "e_value", "p_value")}
        plain |= {"alarm": watch.alarm(alpha), "direction": watch.direction(), "since": change and change.to_data()}
        plain |= {"cautions": list(watch.cautions), "input": source.to_dict()}
        say(json.dumps(plain, indent=2, ensure_ascii=False))
    else:
        say(f"{source}\n{watch!r}" + ("" if change is None else f"\n{change!r}"))
    if fail_on_alarm and change is not None:
        failed(f"an alarm at {alpha:g}.")


def updated_monitor(state: Path | None, predictions: cal.Predictions, mark: str) -> cal.Monitor:
    """The monitor with these rows; its state, if it has a file, is held until it is written."""
    if state is None:
        return cal.Monitor().update(predictions, mark=mark)
    with locked(state):
        old = saved_text(state, "monitor state") if state.exists() else ""
        try:
            watch = cal.Monitor.from_json(old) if old else cal.Monitor()
        except MapError as error:
            raise MapError(f"{str(state)!r} is not the saved state of a monitor: {error}") from error
        watch.update(predictions, mark=mark)
        write_text(state, watch.to_json(), "monitor state")
    return watch


@main.command(short_help="How many rows does it take?")
@click.argument("file", type=opt.FILE, required=False)
@click.option("--error", type=float, metavar="X", help="The true error to detect, or to assume with --width.")
@click.option("--width", type=float, metavar="X", help="The width that an interval should have.")
@click.option("--n", "rows", type=int, metavar="N", help="Rows there are: what can they show?")
@opt.option(
    "--statistic",
    opt.Registered("score", also=("is_calibrated", "binned", "kuiper", "range", "mean_gap", "rate")),
    "What will be computed.  [default: is_calibrated; with --width binned]",
)
@click.option("--norm", type=click.Choice(["1", "2"]), default="2", help="Mean gap, or its RMS.")
@click.option("--power", type=float, default=0.8, metavar="X", help="Probability to detect the error.")
@opt.alpha_option("Rate of false alarms of the test; an interval has confidence 1 − alpha.")
@click.option("--mean-variance", type=float, metavar="X", help="Mean of p(1 − p), where there is no FILE.")
@click.option("--check", is_flag=True, help="Also simulate the plan on other data sets.")
@click.option("--data-sets", "n_data_sets", type=int, default=1000, metavar="N", help="Data sets to simulate.")
@opt.seed
@opt.view
@opt.report
@opt.column_options()
@opt.as_json
def plan(
    file: Path | None,
    error: float | None,
    rows: int | None,
    norm: str,
    report: Path | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """How many rows does it take to detect an error, or to estimate it precisely?

    Rows are planned for the test that diagnose runs, or for the interval of the
    calibration error, by simulation; other statistics by formula. FILE holds
    predictions like those to come; without it say --mean-variance, or nothing for the
    most rows. With --alpha 0.05 a test has 5 % false alarms and an interval 95 %
    confidence.

    \b
    Examples:
      calibrant plan --error 0.03 --mean-variance 0.12
      calibrant plan test.csv --error 0.03 --check
      calibrant plan test.csv --n 2000
      calibrant plan test.csv --width 0.02 --statistic brier
    """
    columns = taken_columns(options)
    predictions, source = (None, Source()) if file is None else read(file, columns)
    options |= {"norm": int(norm), "progress": not as_json}
    found = cal.plan(error, n=rows, predictions=predictions, **options)
    write_report(report, force, predictions, source, found)
    show(found, "" if file is None else file.name, source, as_json)


def taken_columns(options: dict[str, Any]) -> dict[str, Any]:
    """The options that name columns, taken out of the others."""
    if options.pop("checkpoint", None) is not None:
        raise click.UsageError("--checkpoint cannot be used here: there is more than one state.")
    return {name: options.pop(name) for name in opt.ALL_COLUMNS}


def checked_cluster(cluster: str | None, predictions: cal.Predictions) -> Any:
    """The value of --cluster as the functions take it."""
    if cluster in ("same", "any") and predictions.groups is None:
        raise Refused("--cluster needs groups; the predictions have none. Name their column with --groups.")
    return False if cluster == "no" else cluster
