"""Tests of calibration, one per file.

How often would a calibrated model show as much? `calibrant.methods` lists them all.
"""
