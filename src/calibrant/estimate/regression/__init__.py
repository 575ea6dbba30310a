"""Calibration errors of forecasts of a real number, by what they look at."""
