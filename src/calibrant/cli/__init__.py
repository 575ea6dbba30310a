"""The command line: arguments in, one public call, the result printed or saved."""

from calibrant.cli.commands import main

__all__ = ["main"]
