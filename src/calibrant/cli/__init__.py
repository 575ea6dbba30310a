"""The command line; commands are listed in the order of these imports."""

from calibrant.cli import measuring, recalibrating, inference, states, studying  # isort: skip
from calibrant.cli.group import main

__all__ = ["inference", "main", "measuring", "recalibrating", "states", "studying"]
