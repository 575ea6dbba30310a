"""How the command line behaves as a whole: its help, its errors and its exit codes."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from calibrant.problems import CalibrantError, InputError

EXIT_CODES = (
    ("0", "Fine."),
    (
        "1",
        "The data failed a condition you set: --fail-above, --fail-if-worse, --fail-below, --fail-if-wrong, --fail-on-alarm.",
    ),
    ("2", "The command was not understood."),
    ("3", "The input cannot be used: a bad file or bad values."),
)
FAILED = 1
"""The data failed a condition."""

F = TypeVar("F", bound=Callable[..., Any])


class Refused(click.ClickException):
    """The input cannot be used."""

    exit_code = 3


class Calibrant(click.Group):
    """Commands in the order of use, help that lists the methods, our errors in a line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """As they are defined: the order in which one uses them."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors made on purpose, and those of the file system, come without a traceback."""
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
        """What the tables of methods say about themselves, and the exit codes."""
        from calibrant.estimate import ESTIMATORS
        from calibrant.maps import METHODS, REGRESSION_METHODS

        recipes = [(name, _first_line(recipe.__doc__)) for name, recipe in (METHODS | REGRESSION_METHODS).items()]
        measures = [(about.name, f"{about.title}: {about.quantity}") for about in ESTIMATORS.values()]
        sections = {"Repairs (--method)": recipes, "Measures": measures, "Exit codes": list(EXIT_CODES)}
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _speak_unicode() -> None:
    """Output can hold → and ●, also where a pipe has another encoding."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and "utf" not in (stream.encoding or "").lower():
            stream.reconfigure(encoding="utf-8")


COLUMN_OPTIONS = {
    "label": ("NAME", "Column of what happened."),
    "probs": ("NAMES", "Column or columns of probabilities: a name, names joined by commas, a prefix, or 'prob_*'."),
    "logits": ("NAMES", "Column or columns of logits, named likewise."),
    "pred": ("NAME", "Column of the predicted class beside confidences: the event is that it is right."),
    "weights": ("NAME", "Column of weights; 'none' ignores a column called weight."),
    "groups": ("NAME", "Column of groups; 'none' ignores a column called group."),
    "classes": ("A,B,…", "Classes in the order of the columns; for a single event negative,positive."),
}
GAUSSIAN_OPTIONS = {
    "mean": ("NAME", "Column of forecast means of a real number; then the label is a number too."),
    "variance": ("NAME", "Column of forecast variances."),
    "std": ("NAME", "Column of forecast standard deviations, in place of variances."),
}
MANY_OPTIONS = {
    "quantiles": ("NAMES", "Columns of forecast quantiles: q05=0.05,q95=0.95, or 'q*' where names state their level."),
    "samples": ("NAMES", "Columns of samples or of an ensemble: names joined by commas, a prefix, or 'member_*'."),
}
FORECAST_OPTIONS = GAUSSIAN_OPTIONS | MANY_OPTIONS
FLAGS = {
    "normalize": "Divide rows of probabilities by their sum.",
    "soft": "Labels are probabilities of the event, not classes.",
}


def column_options(*names: str, hidden: bool = False) -> Callable[[F], F]:
    """The options that say what the columns mean, all of them unless some are named; hidden ones are only refused."""

    def add(command: F) -> F:
        for name in reversed(names or (*COLUMN_OPTIONS, *FLAGS)):
            if name in FLAGS:
                command = click.option(f"--{name}", is_flag=True, help=FLAGS[name])(command)
            else:
                metavar, text = (COLUMN_OPTIONS | FORECAST_OPTIONS)[name]
                command = click.option(f"--{name}", metavar=metavar, help=text, hidden=hidden)(command)
        return command

    return add


def in_options(error: Exception) -> str:
    """An error text with `label='y'` and `normalize=True` put as `--label y` and `--normalize`."""
    text = str(error)
    names = "|".join((*COLUMN_OPTIONS, *FORECAST_OPTIONS, "view", "score", "method", "by"))
    if isinstance(error, InputError) and re.fullmatch(names, error.argument) and text.startswith(error.argument):
        text = f"--{text}"
    text = text.replace("overwrite=True", "--force").replace(
        "classes=(negative, positive)", "--classes negative,positive"
    )
    text = re.sub(r"\b(normalize|soft)=True", r"--\1", text)
    text = re.sub(rf"\b({names})='([^']*)'", lambda found: f"--{found[1]} {shlex.quote(found[2])}", text)
    text = re.sub(rf"\b({names})=(?=\w)", r"--\1 ", text)
    return re.sub(rf"\b({names})=", r"--\1", text)
