"""Tests of calibration, one a file: how often would chance alone show as much?"""
