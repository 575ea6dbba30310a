"""The group of all commands: its help, its errors and its exit codes."""

from __future__ import annotations

import gc
import shlex
import sys
from typing import Any, NoReturn

import click

import calibrant as cal
from calibrant.cli.options import FILE, Target, in_options
from calibrant.cli.running import BROKEN_PIPE, Ended, is_quiet, quietened, running, set_quiet, stop_workers
from calibrant.problems import CalibrantError, InputError, visible

FAILURES = "--fail-above, --fail-if-worse, --fail-below, --fail-if-wrong, --fail-on-alarm"
EXIT_CODES = {
    "0": "Fine.",
    "1": f"The data failed a condition you set: {FAILURES}.",
    "2": "The command was not understood.",
    "3": "A file or its values cannot be used, or a file cannot be written.",
    "70": "calibrant failed: a bug, please report it.",
    "130, 143": "Interrupted (Ctrl-C), or ended by a signal (128 + its number).",
    "141": "Nobody read the output to its end; files were written all the same.",
}


CRASH, INTERRUPTED = 70, 130
"""As sysexits.h and the shells have them."""


class Refused(click.ClickException):
    """The input cannot be used."""

    exit_code = 3


def worded(error: Exception) -> str:
    """The text of an error that a user may have caused; any other is raised."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, MemoryError):
        return f"There is not enough memory for this: {error}".rstrip(": ") + "."
    if isinstance(error, CalibrantError | OSError):
        return in_options(error)
    raise error


class Checked(click.Command):
    """A command whose targets are checked before it runs, and that can be quiet."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        text = "Print nothing but errors and, with --json, the result; files are written all the same."
        self.params.append(
            click.Option(["-q", "--quiet"], is_flag=True, help=text, expose_value=False, callback=set_quiet)
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse what could not be written, or would be lost, then run."""
        given = [(param.type, ctx.params.get(param.name or "")) for param in self.params]
        several = (
            path if isinstance(path, tuple) else (path,) for of, path in given if of is FILE and path is not None
        )
        read = tuple(path for each in several for path in each)
        for of, path in given:
            if isinstance(of, Target) and path is not None:
                of.check(path, ctx.params.get("force"), read)
        if not is_quiet():
            return super().invoke(ctx)
        with quietened(bool(ctx.params.get("as_json"))):
            return super().invoke(ctx)


def failed(text: str) -> NoReturn:
    """End with 1: the data failed a condition."""
    click.echo(f"Failed: {text}", err=True)
    click.get_current_context().exit(1)


class Calibrant(click.Group):
    """Commands in the order of use, help that lists the methods, errors in one line."""

    command_class = Checked

    def main(self, args: Any = None, prog_name: Any = None, *, standalone_mode: bool = True, **more: Any) -> Any:  # type: ignore[override]
        """Run the command line; what nobody expected ends with a code of its own, after its traceback."""
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **more)
        given = sys.argv[1:] if args is None else list(args)
        if args is None:
            gc.freeze()  # what was imported lasts until the end: it is not looked through for garbage
        with running(" ".join(["calibrant", *given[:1]])) as output:
            try:
                super().main(given, prog_name, **{"obj": shlex.join(["calibrant", *given])} | more)
            except Exception as error:
                import traceback

                click.echo(visible("".join(traceback.format_exception(error))), err=True, nl=False)
                click.echo(
                    f"This is a bug in calibrant {cal.__version__}: please report it, with these lines.", err=True
                )
                sys.exit(CRASH)
            except Ended:
                stop_workers()
                raise
            except SystemExit as end:
                output.flush()
                sys.exit(end.code or (BROKEN_PIPE if output.left else 0))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """As they are defined: the order in which one uses them."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; expected errors come without a traceback."""
        _speak_unicode()
        try:
            return super().invoke(ctx)
        except (CalibrantError, OSError, MemoryError) as error:
            if isinstance(error, InputError) and error.argument in ("view", "score", "method", "study"):
                raise click.UsageError(worded(error)) from error
            raise Refused(worded(error)) from error
        except KeyboardInterrupt:
            stop_workers()
            ctx.exit(INTERRUPTED)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The registered methods, and the exit codes."""
        from calibrant.methods import methods

        recipes = [*methods("map").values(), *methods("forecast map").values()]
        measures = [*methods("estimator").values(), *methods("clinical estimator").values()]
        sections = {
            "Maps (--method)": [(each.name, each.summary) for each in recipes],
            "Measures": [(each.name, f"{each.title}: {each.quantity}") for each in measures],
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
      calibrant clinical test.csv                     slope, O/E, c-statistic …
      calibrant recalibrate valid.csv -o map.json     fit a recalibration map
      calibrant compare test.csv map.json             does it help on other data?
      calibrant decompose test.csv                    where does the score come from?
      calibrant test test.csv                         could a calibrated model have made these?
      calibrant where test.csv                        where is it wrong?
      calibrant trust test.csv                        which estimator to believe at this size?
      calibrant plan test.csv --error 0.03            how many rows does it take?
      calibrant apply map.json new.csv -o better.csv  use it; needs no labels
      calibrant examples try_it                       small files to try all this on
      calibrant serve                                 a page in the browser for all this

    `calibrant COMMAND --help` explains a command with examples. FILE may be `-`, standard
    input. Completion of names in the shell: docs/command_line.md.
    """
