"""Calibration errors; each is registered beside its function (`calibrant.methods`)."""
