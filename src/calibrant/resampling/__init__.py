"""The machinery of exact tests: rows under a null, draws from it, statistics, ranks."""
