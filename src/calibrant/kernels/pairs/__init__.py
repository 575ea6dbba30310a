"""Sums over pairs of rows."""
