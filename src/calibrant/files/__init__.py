"""Predictions from files of every common format, and repaired probabilities back into them."""

from calibrant.files.columns import NAMES, NONE, Columns, UnknownColumn, choose
from calibrant.files.reading import Said, read, read_said, read_with_columns
from calibrant.files.saving import write
from calibrant.files.wording import worded

__all__ = [
    "NAMES",
    "NONE",
    "Columns",
    "Said",
    "UnknownColumn",
    "choose",
    "read",
    "read_said",
    "read_with_columns",
    "worded",
    "write",
]
