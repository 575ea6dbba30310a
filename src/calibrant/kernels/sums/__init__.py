"""Sums over rows, bins, classes and segments."""
