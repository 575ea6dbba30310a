"""Word and draw finished results as one file: HTML for people, JSON for machines."""

from calibrant.report.page import page
from calibrant.report.write import write

__all__ = ["page", "write"]
