"""States: what methods need to know of rows, small, mergeable and saved as JSON or Arrow.

`Pooled` is one event's rows by distinct prediction, `BinSums` four sums per bin, `State` what `calibrant.collect` returns.
"""
