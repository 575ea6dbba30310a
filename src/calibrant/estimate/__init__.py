"""Calibration errors, one estimator per file; each is registered beside its function (`calibrant.methods`)."""
