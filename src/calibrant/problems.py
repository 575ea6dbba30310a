"""What can go wrong, as a tree.

CalibrantError
├── InputError (ValueError)        an argument is not what it should be
├── FileError (OSError)            a file cannot be read as predictions, or written
├── MapError (ValueError)          a saved map or result cannot be understood
└── MissingExtra (ImportError)     an optional library is needed and not installed
"""

from __future__ import annotations


class CalibrantError(Exception):
    """Every error that calibrant raises on purpose."""


class InputError(CalibrantError, ValueError):
    """An argument is not what it should be: the text says which, what arrived and what to do."""

    def __init__(self, argument: str, expected: str, found: str = "", advice: str = "") -> None:
        self.argument = argument
        parts = [f"{argument} {expected}"]
        if found:
            parts[0] += f"; {found}"
        super().__init__(
            ". ".join([parts[0], *([advice] if advice else [])]) + ("" if advice.endswith(("?", ".")) else ".")
        )


class FileError(CalibrantError, OSError):
    """A file cannot be read as predictions, or cannot be written."""


class MapError(CalibrantError, ValueError):
    """Saved data cannot be understood as a map or a result."""


class MissingExtra(CalibrantError, ImportError):
    """An optional library is needed: the text says how to install it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}. Install it with: pip install 'calibrant[{extra}]'")
