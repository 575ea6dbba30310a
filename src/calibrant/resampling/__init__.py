"""The one machine behind exact p-values: rows under a null, null draws, statistics, ranks; used by tests, `where` and `audit`."""
