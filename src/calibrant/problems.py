"""The errors that calibrant raises.

CalibrantError
├── InputError (ValueError)        an argument is not what it should be
├── FileError (OSError)            a file cannot be read as predictions, or written
├── MapError (ValueError)          a saved map or result cannot be understood
└── MissingExtra (ImportError)     an optional library is needed and not installed
"""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys instead of showing, that reorder what stands beside them, or that no file can hold."""


def visible(text: str) -> str:
    """A text in which control characters stand as `\\u001b`: shown, not obeyed. Line breaks and tabs stay.

    Names of classes, columns and files come from elsewhere. Everything that is printed or
    put on a page goes through here; the form is that of JSON, so that JSON stays JSON.
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class CalibrantError(Exception):
    """Every error that calibrant raises on purpose."""

    def __str__(self) -> str:
        return visible(super().__str__())


class InputError(CalibrantError, ValueError):
    """An argument is not what it should be: the text says which one, what arrived and what to do.

    Parameters
    ----------
    argument
        The name of the argument.
    expected
        What it must be, such as "must lie in [0, 1]".
    found
        What arrived instead.
    advice
        What to do about it.
    """

    def __init__(self, argument: str, expected: str, found: str = "", advice: str = "") -> None:
        self.argument = argument
        fact = f"{argument} {expected}" + (f"; {found}" if found else "")
        text = f"{fact}. {advice}" if advice else fact
        super().__init__(text if advice.endswith(("?", ".")) else f"{text}.")


class FileError(CalibrantError, OSError):
    """A file cannot be read as predictions, or cannot be written."""


class MapError(CalibrantError, ValueError):
    """Saved data cannot be understood as a map or a result."""


class MissingExtra(CalibrantError, ImportError):
    """An optional library is needed: the text says how to install it.

    Parameters
    ----------
    library
        Its name.
    extra
        The extra of calibrant that installs it.
    purpose
        What needs it.
    """

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}. Install it with: pip install 'calibrant[{extra}]'")
