"""Fits: the arithmetic behind recalibration maps and fitted curves."""
