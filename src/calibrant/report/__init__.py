"""Finished answers as one file: HTML for people, JSON for machines."""

from calibrant.report.page import page
from calibrant.report.write import save, write

__all__ = ["page", "save", "write"]
