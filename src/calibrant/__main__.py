"""`python -m calibrant` is the command line."""

from calibrant.cli import main

main(prog_name="calibrant")
