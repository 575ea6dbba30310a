"""What every verb returns: an answer that is printed, drawn, and saved as HTML or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from calibrant.options import checked
from calibrant.problems import visible
from calibrant.results.flat import flat
from calibrant.results.frames import Framed, by_column
from calibrant.results.notebook import Shown
from calibrant.results.record import Record, plain
from calibrant.results.tables import Table

NOTES = {"assumes": "assumptions", "caution": "cautions", "advice": "advice"}
"""How the fields that hold lists of sentences are announced, in the order in which they are shown."""


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Shown, Framed, Record):
    """The answer to a question, in words and tables.

    A subclass states its `question`, `sentence()` and `tables()`, and has a field or property `cautions`; `advice` and
    `assumptions` are shown where there are such fields.
    """

    printed_tables: ClassVar[int | None] = None
    """how many of the tables are printed with the sentence; None: all of them"""

    summary_keys: ClassVar[tuple[str, ...]] = ()
    """which of the numbers are in the summary; all if empty"""

    if TYPE_CHECKING:  # fields or class attributes of the subclasses; a default here would become theirs

        @property
        def question(self) -> str: ...
        @property
        def cautions(self) -> tuple[str, ...]: ...

    @property
    def heading(self) -> str:
        """One line on the data that were looked at; empty where the sentence says enough."""
        return ""

    def sentence(self) -> str:
        """The answer in words."""
        raise NotImplementedError

    def tables(self) -> tuple[Table, ...]:
        """The tables behind the answer, which the terminal, the notebook and the report show."""
        return ()

    def notes(self) -> dict[str, tuple[str, ...]]:
        """Assumptions, warnings and advice, each under its word; empty ones left out."""
        found = {word: tuple(getattr(self, name, ())) for word, name in NOTES.items()}
        return {word: texts for word, texts in found.items() if texts}

    def to_dict(self) -> dict[str, float]:
        """The numbers under flat keys, for loggers: `ece`, `ece/low`, `ece/high`, `ece/noise_floor`, …"""
        return {key: float(value) for key, value in flat(self.named_figures()).items()}

    def named_figures(self) -> Mapping[str, Any]:
        """The numbers by name; an answer that is one number has a name for it here."""
        return self.figures()

    def summary(self) -> dict[str, Any]:
        """Question, answer in words, verdict, main numbers and warnings: what JSON starts with."""
        numbers, answer = self.named_figures(), self.sentence()
        main = {name: numbers[name] for name in self.summary_keys or numbers if name in numbers}
        verdicts = {name: getattr(self, name) for name in ("calibrated", "verdict") if hasattr(self, name)}
        told = {name: value for name, value in verdicts.items() if value != answer}
        facts = {"question": self.question, "answer": answer, **told, "numbers": plain(flat(main))}
        return facts | {"cautions": list(self.notes().get("caution", ()))}

    def rows_of_frame(self) -> Iterable[Mapping[str, Any]]:
        """The rows of `to_frame`; a single one unless the answer is a list."""
        return [self.as_row()]

    def columns_of_rows(self) -> dict[str, Any]:
        """The same rows as columns."""
        return by_column(self.rows_of_frame())

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the answer and return the Axes; refused for answers without a picture.

        Parameters
        ----------
        ax
            The Axes to draw on; new ones if None.
        **options
            Options of the function of `calibrant.plot` that draws such an answer.
        """
        from calibrant.plot import draw  # drawing and reports lie above the verbs: these are the only ways up

        return draw(self, ax=ax, **options)

    def to_html(self) -> str:
        """One HTML page that needs no other file, no network and no script."""
        from calibrant.report import page

        return page(self)

    @checked
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the answer: `.html` is a page, `.json` is data, which `from_json` reads back.

        Parameters
        ----------
        path
            The file; its ending is the format. It is written completely or not at all.
        overwrite
            May a file of another kind be replaced? A report may be replaced anyway.
        """
        from calibrant.report import save

        save(path, {".html": self.to_html, ".json": self.to_json}, overwrite=overwrite)

    def _head(self) -> list[str]:
        """The lines that are printed above tables and notes."""
        return [*([self.heading] if self.heading else []), self.sentence()]

    def __repr__(self) -> str:
        head = "\n".join(self._head())
        tables = [table.to_text() for table in self.tables()[: self.printed_tables]]
        notes = "\n".join(f"  {word}: {text}" for word, texts in self.notes().items() for text in texts)
        separator = "\n\n" if tables else "\n"
        return visible(separator.join(filter(None, [head, *tables, notes])))
