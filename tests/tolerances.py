"""The tolerances of all tests. Any other needs a comment."""

ROUNDING = 1e-12
OPTIMISER = 1e-6
STANDARD_ERRORS = 5
"""Monte-Carlo claims: |mean − truth| within this many standard errors, computed in the test"""
