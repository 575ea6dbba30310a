"""The command `answers`: confidences of language models, of one or of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import calibrant as cal
from calibrant import files
from calibrant.cli import options as opt
from calibrant.cli.data import Source, is_lake, read, show, write_report
from calibrant.cli.group import main
from calibrant.problems import InputError

TIES = "Few answers leave few p-values: err on the safe side, or draw within their steps."
ABSTENTIONS = (
    "Answers without a confidence: refuse the file, count them as abstentions, or drop them.  [default: refuse]"
)


@main.command(short_help="Can a language model's confidences be believed?")
@click.argument("file", nargs=-1, required=True, type=opt.FILE, metavar="FILES…")
@click.option("--models", metavar="NAME", help="Column that names the model of each answer: they are compared.")
@opt.option("--abstentions", "refuse|count|drop", ABSTENTIONS, metavar="[refuse|count|drop]")
@click.option("--source", metavar="TEXT", help="What the confidences are, for the report.  [default: by the format]")
@opt.option("--ties", "count|random", TIES, "count")
@click.option(
    "--samples",
    "n_samples",
    type=click.IntRange(2),
    metavar="M",
    help="Confidences are shares of M samples that agree.",
)
@opt.column_options()
@opt.report
@opt.as_json
def answers(
    file: tuple[Path, ...],
    models: str | None,
    abstentions: str | None,
    source: str | None,
    ties: Any,
    n_samples: int | None,
    report: Path | None,
    force: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """Can the confidences that came with answers be believed?

    Level by level, exactly, and what keeping unsure ones back would save. The label says
    whether an answer was right, the probability how sure the model was; --groups names
    the question where some were asked several times. Nested fields of JSON are named by
    their path, as in --label grade.score.

    Logs are read as they are: samples of lm-evaluation-harness (samples_*.jsonl), Inspect
    logs (.eval, .json), and chat completions with log-probabilities (.jsonl).

    Several models, in one file with --models or in a file each, are compared pair by
    pair, with intervals that hold for all pairs at once.

    \b
    Examples:
      calibrant answers answers.csv --label correct --probs confidence
      calibrant answers answers.jsonl --label grade.score --percent --abstentions count
      calibrant answers answers.csv --models model --groups question --report models.html
      calibrant answers samples_arc_easy_2025-01-01.jsonl --report arc.html
      calibrant answers model_a.eval model_b.eval
      calibrant answers answers.csv --samples 10
    """
    title = f"{len(file)} files" if len(file) > 1 else file[0].name
    alone: dict[str, Any] = {"ties": ties, "n_samples": n_samples}
    found: Any
    if len(file) == 1 and (columns["checkpoint"] is not None or is_lake(file[0])):
        _refuse({"models": models, "abstentions": abstentions}, "for single files")
        predictions, taken = read(file[0], columns)
        found = cal.assess_answers(predictions, **alone, name=title, source=source or "")
    else:
        found, taken = _assessed(file, models, columns, alone, abstentions or "refuse", source)
    write_report(report, force, None, taken, found)
    show(found, title, taken, as_json)


def _assessed(
    paths: tuple[Path, ...],
    models: str | None,
    columns: dict[str, Any],
    alone: dict[str, Any],
    abstentions: str,
    source: str | None,
) -> tuple[Any, Source]:
    """The answers of one model assessed, those of several compared; and where they were found."""
    columns = {name: value for name, value in columns.items() if name != "checkpoint"}
    found = [files.read_answers(path, models=models, abstentions=abstentions, **columns) for path in paths]
    taken = Source(", ".join(map(str, paths)), found[0].columns, models=models)
    options: dict[str, Any] = {"abstentions": abstentions, "source": source or found[0].columns.meaning}
    if len(found) == 1 and models is None:
        (one,) = found
        given = {role: getattr(one, role) for role in ("groups", "counts", "weights")}
        name = one.model or paths[0].name
        return cal.assess_answers(one.labels, one.probs, **given, **alone, **options, name=name), taken
    _refuse({"ties": alone["ties"] != "count", "samples": alone["n_samples"]}, "for the answers of one model")
    return cal.compare_answers(**_joined(paths, found), **options), taken


def _refuse(options: dict[str, Any], place: str) -> None:
    """Refuse options that are for something else."""
    for name, given in options.items():
        if given:
            raise click.UsageError(f"--{name} is {place}.")


def _joined(paths: tuple[Path, ...], read: list[files.Answers]) -> dict[str, Any]:
    """The answers of all files, with the model and the question of each."""
    if any(each.counts is not None or each.weights is not None for each in read):
        raise InputError("weights", "and counts cannot be used where models are compared", advice="Leave them out")
    own = [each.model or path.stem for path, each in zip(paths, read, strict=True)]
    names = own if len(set(own)) == len(own) else [str(path) for path in paths]
    models = [
        np.full(len(each.labels), name, dtype=object) if each.models is None else each.models.astype(object)
        for name, each in zip(names, read, strict=True)
    ]
    questions = [each.questions for each in read]
    paired = all(each is not None for each in questions)
    return {
        "labels": np.concatenate([each.labels for each in read]),
        "probs": np.concatenate([each.probs for each in read]),
        "models": np.concatenate(models),
        "groups": np.concatenate([np.asarray(each).astype(str) for each in questions]) if paired else None,
    }
