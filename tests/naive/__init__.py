"""Slow, obvious twins of what calibrant computes: plain loops, written from the definitions."""
