"""Tests of calibration, one per file: how often would a calibrated model show as much? `calibrant.methods` lists them all."""
