"""Finished answers as one file: HTML for people, JSON for machines."""

from calibrant.report.page import page, save, write

__all__ = ["page", "save", "write"]
