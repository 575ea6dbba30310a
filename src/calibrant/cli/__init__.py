"""The command line: arguments in, one public call, result shown."""

from calibrant.cli import inference as inference
from calibrant.cli.commands import main

__all__ = ["main"]
