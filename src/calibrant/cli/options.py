"""Options that several commands share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from calibrant.cli.stdin import Input, shown
from calibrant.files.formats import ENDINGS
from calibrant.problems import FileError, InputError
from calibrant.writing import check_target

F = TypeVar("F", bound=Callable[..., Any])

FILE = Input()


class Target(click.Path):
    """A file to write, checked before any work: what it is, its endings, and whether one of its kind may be replaced."""

    def __init__(self, what: str, endings: tuple[str, ...], replace: bool = True, read: bool = False) -> None:
        super().__init__(path_type=Path)
        self.what, self.endings, self.replace, self.read = what, endings, replace, read

    def check(self, path: Path, force: bool | None, read: tuple[Path, ...]) -> None:
        """Refuse a path that cannot be written, or that holds what would be lost; `force` is None where there is none.

        A file that is read first and then written cannot be forced: nothing else could be read from it.
        """
        force = None if self.read else force
        try:
            check_target(path, self.what, endings=self.endings, overwrite=bool(force), replace=self.replace, kept=read)
        except FileError as error:
            raise FileError(
                str(error).replace(", or pass overwrite=True", "" if force is None else ", or pass --force")
            ) from error


SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
ALPHA = click.FloatRange(0, 0.5, min_open=True)


def option(name: str, of: Any, text: str, default: Any = None, **more: Any) -> Callable[[F], F]:
    """An option with its type, or with the choices that `|` separates, its help and its default."""
    given = {} if default is None else {"default": default}
    return click.option(
        name, type=click.Choice(of.split("|")) if isinstance(of, str) else of, help=text, **given, **more
    )


def view_option(text: str, default: str = "auto") -> Callable[[F], F]:
    """The option --view with its own help."""
    return option("--view", None, text, default, show_default=False, metavar="VIEW")


def alpha_option(text: str) -> Callable[[F], F]:
    """The option --alpha with its own help."""
    return option("--alpha", ALPHA, text, 0.05, metavar="X")


file_argument = click.argument("file", type=FILE)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else.")
force = click.option("--force", is_flag=True, help="Overwrite existing files, also those of another kind.")
MAP = Target("map", (".json",), replace=False)
PREDICTIONS = Target("file of predictions", ENDINGS, replace=False)
REPORT = Target("report", (".html", ".json"))
STATE = Target("monitor state", (".json",), read=True)
COLLECTED = Target("state", (".json", ".arrow"))
checkpoint = option(
    "--checkpoint", COLLECTED, "Of many files: saved after each; what it holds is not read again.", metavar="PATH"
)
_report = option("--report", REPORT, "Also write a report: .html for people, .json for machines.", metavar="PATH")


full = click.option("--full", is_flag=True, help="In the report also all repairs, the simulated plan and trust: slow.")


def report(command: F) -> F:
    """The options --report and --force."""
    return _report(force(command))


seed = option("--seed", click.IntRange(0), "Same seed, same result.", 0)
view = view_option("binary, top, or 'class NAME'.  [default: by the columns]")

COLUMN_OPTIONS = {
    "label": ("NAME", "Column of labels."),
    "probs": ("NAMES", "Column or columns of probabilities: a name, names joined by commas, a prefix, or 'prob_*'."),
    "logits": ("NAMES", "Column or columns of logits, named likewise."),
    "pred": ("NAME", "Column of the predicted class beside confidences: the event is that it is right."),
    "counts": ("NAME", "Column of counts, how often each row occurred; none is used unless it is named here."),
    "weights": ("NAME", "Column of weights, how much each row matters; none is used unless it is named here."),
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
STYLE_OPTIONS: dict[str, tuple[Any, str, str]] = {
    "sep": (str, "CHAR", "Of a text table: what separates fields, such as ';' or tab.  [default: , or a tab in .tsv]"),
    "decimal": (click.Choice([".", ","]), "[.|,]", "Of a text table: the decimal mark.  [default: .]"),
    "missing": (
        click.Choice(["error", "drop"]),
        "[error|drop]",
        "Rows without a value in a column in use: refuse the file, or drop and count them.  [default: error]",
    ),
    "encoding": (str, "NAME", "Of a text file: latin-1, utf-16 …  [default: utf-8, or by its byte-order mark]"),
}
FLAGS = {
    "normalize": "Divide rows of probabilities by their sum.",
    "soft": "Labels are probabilities of the event, not classes.",
    "percent": "Probabilities are in per cent: 95, or 95%.",
}
OTHERS = ("view", "score", "method", "by", "models", "abstentions")
"""Further options that errors name as arguments."""
ALL_COLUMNS = (*COLUMN_OPTIONS, *FLAGS, *STYLE_OPTIONS)
"""The options that say which columns are read, and how."""


class Registered(click.ParamType):  # type: ignore[type-arg]  # generic in recent versions only
    """The name of a registered method; the register is read when it is needed."""

    name = "name"

    def __init__(self, *kinds: Any, also: tuple[str, ...] = ()) -> None:
        self.kinds, self.also = kinds, also

    def names(self) -> tuple[str, ...]:
        """All names that are accepted."""
        from calibrant.methods import methods

        return (*self.also, *(name for kind in self.kinds for name in methods(kind)))

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """The names, as click prints those of a choice."""
        return f"[{'|'.join(self.names())}]"

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
        """The names that begin as typed."""
        return completed(self.names(), incomplete)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself, refused if there is no such method."""
        if value not in self.names():
            self.fail(f"{value!r} is not one of {', '.join(map(repr, self.names()))}.", param, ctx)
        return str(value)


def completed(names: Iterable[str], incomplete: str) -> list[Any]:
    """Names for the shell to complete, whatever their case.

    Parameters
    ----------
    names
        All that there are.
    incomplete
        What was typed.
    """
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.lower().startswith(incomplete.lower())]


def column_options(*names: str, hidden: bool = False) -> Callable[[F], F]:
    """The options that name columns, all unless some are given; hidden ones are refused."""

    def add(command: F) -> F:
        if not names:
            command = checkpoint(command)
        for name in reversed(names or ALL_COLUMNS):
            if name in FLAGS:
                command = click.option(f"--{name}", is_flag=True, help=FLAGS[name])(command)
            elif name in STYLE_OPTIONS:
                of, metavar, text = STYLE_OPTIONS[name]
                command = click.option(f"--{name}", type=of, metavar=metavar, help=text)(command)
            else:
                metavar, text = (COLUMN_OPTIONS | FORECAST_OPTIONS)[name]
                command = click.option(f"--{name}", metavar=metavar, help=text, hidden=hidden)(command)
        return command

    return add


def in_options(error: Exception) -> str:
    """An error text with arguments such as `label='y'` written as `--label y`."""
    text = shown(str(error))
    names = "|".join((*COLUMN_OPTIONS, *FORECAST_OPTIONS, *STYLE_OPTIONS, *OTHERS))
    if isinstance(error, InputError) and re.fullmatch(names, error.argument) and text.startswith(error.argument):
        text = f"--{text}"
    text = re.sub(r"Predictions(?:\.from_\w+)?\(labels, \w+, (\w+=(?:\([^()]*\)|\w+))\)", r"\1", text)
    text = text.replace("overwrite=True", "--force").replace("classes=classes", "--classes A,B,…")
    text = re.sub(r"classes=\(([^()]*)\)", lambda found: f"--classes {found[1].replace(', ', ',')}", text)
    text = re.sub(r"\b(normalize|soft|percent)=True", r"--\1", text)
    text = re.sub(rf"\b({names})='([^']*)'", lambda found: f"--{found[1]} {shlex.quote(found[2])}", text)
    text = re.sub(rf"\b({names})=(?=\w)", r"--\1 ", text)
    return re.sub(rf"\b({names})=", r"--\1", text)
