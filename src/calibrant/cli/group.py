"""The group of all commands: its help, its errors and its exit codes."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

import calibrant as cal
from calibrant.cli.options import in_options
from calibrant.problems import CalibrantError, InputError

FAILURES = "--fail-above, --fail-if-worse, --fail-below, --fail-if-wrong, --fail-on-alarm"
EXIT_CODES = {
    "0": "Fine.",
    "1": f"The data failed a condition you set: {FAILURES}.",
    "2": "The command was not understood.",
    "3": "The input cannot be used: a bad file or bad values.",
}


class Refused(click.ClickException):
    """The input cannot be used."""

    exit_code = 3


def failed(text: str) -> NoReturn:
    """End with 1: the data failed a condition."""
    click.echo(f"Failed: {text}", err=True)
    click.get_current_context().exit(1)


class Calibrant(click.Group):
    """Commands in the order of use, help that lists the methods, errors in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """As they are defined: the order in which one uses them."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; expected errors come without a traceback."""
        _speak_unicode()
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader has seen enough; click ends quietly
        except (CalibrantError, OSError) as error:
            if isinstance(error, InputError) and error.argument in ("view", "score", "method"):
                raise click.UsageError(in_options(error)) from error
            raise Refused(in_options(error)) from error

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The registered methods, and the exit codes."""
        from calibrant.methods import methods

        recipes = [*methods("map").values(), *methods("forecast map").values()]
        sections = {
            "Maps (--method)": [(each.name, each.summary) for each in recipes],
            "Measures": [(each.name, f"{each.title}: {each.quantity}") for each in methods("estimator").values()],
            "Tests (--test)": [(each.name, f"{each.title}: {each.quantity}") for each in methods("test").values()],
            "Exit codes": list(EXIT_CODES.items()),
        }
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _speak_unicode() -> None:
    """Output can hold → and ●, also where a pipe has another encoding."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and "utf" not in (stream.encoding or "").lower():
            stream.reconfigure(encoding="utf-8")


@click.group(cls=Calibrant, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(cal.__version__, message="calibrant %(version)s")
def main() -> None:
    """Is a model calibrated, how is it recalibrated, and did that help?

    A file of predictions holds one row per case, with its label and its predicted
    probabilities: CSV, Parquet, Arrow/Feather, NPZ or JSON lines. Columns are found by
    their names (label, prob, prob_cat, logit_0 …) or given with options.

    \b
    A quick tour:
      calibrant demo                                  see it all on an example
      calibrant diagnose test.csv                     is it calibrated?
      calibrant measure test.csv sweep smECE          the estimators you name
      calibrant recalibrate valid.csv -o map.json     fit a recalibration map
      calibrant compare test.csv map.json             does it help on other data?
      calibrant decompose test.csv                    where does the score come from?
      calibrant test test.csv                         could a calibrated model have made these?
      calibrant where test.csv                        where is it wrong?
      calibrant trust test.csv                        which estimator to believe at this size?
      calibrant plan test.csv --error 0.03            how many rows does it take?
      calibrant apply map.json new.csv -o better.csv  use it; needs no labels

    `calibrant COMMAND --help` explains a command with examples.
    """
