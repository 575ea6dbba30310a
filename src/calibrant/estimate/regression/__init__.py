"""Calibration errors of forecasts of a real number, one per file."""
