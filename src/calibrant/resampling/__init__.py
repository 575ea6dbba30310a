"""The one machine behind exact p-values: rows under a null, null draws, statistics, ranks.

Used by tests, `where` and `audit`.
"""
