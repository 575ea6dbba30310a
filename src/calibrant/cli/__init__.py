"""The command line; commands are listed in the order of these imports."""

from calibrant.cli import measuring, recalibrating, inference, language, states, making, serving, studying  # isort: skip
from calibrant.cli.group import main

__all__ = ["inference", "language", "main", "making", "measuring", "recalibrating", "serving", "states", "studying"]
