"""The one table of calls, filled by the files that hold them."""

from benchmarks.field import calls, calls_more, claims, fits

CALLS, FLOOR, number = calls.CALLS, calls.FLOOR, calls.number
FILES = (calls, calls_more, fits, claims)
