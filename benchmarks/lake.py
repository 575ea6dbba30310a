"""Files of many rows: seconds and memory of `scan` against reading the columns alone, and of `diagnose` on the state.

Run: python -m benchmarks.lake [--rows 100000000] [--folder FOLDER] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FILE_ROWS = 1_000_000

MEASURE = """
import json, resource, statistics, sys, time
import pyarrow.parquet as parquet
import calibrant as cal
from pathlib import Path
paths = [Path(p) for p in sys.argv[1:]]
cal.diagnose(cal.scan(paths[:1], progress=False))  # compile and load first
def spent(call):
    cpu = time.process_time()
    found = call()
    return time.process_time() - cpu, found
def read():
    for path in paths:
        with parquet.ParquetFile(path) as file:
            for _ in file.iter_batches(1 << 20, columns=["label", "prob"]):
                pass
runs = [(spent(read)[0], *spent(lambda: cal.scan(paths, progress=False))) for _ in range(9)]
found = {name: statistics.median(run[k] for run in runs) for k, name in enumerate(("read", "scan"))}
found["share"] = statistics.median(run[0] / run[1] for run in runs)
found["diagnose"] = spent(lambda: cal.diagnose(runs[-1][2]))[0]
print(json.dumps(found | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
"""


def make(folder: Path, n_files: int, file_rows: int = FILE_ROWS) -> list[Path]:
    """Files of calibrated and miscalibrated predictions, made where they are missing."""
    import pyarrow as pa
    from pyarrow import parquet

    paths = [folder / f"{k:03}.parquet" for k in range(n_files)]
    for k, path in enumerate(paths):
        if not path.exists():
            rng = np.random.default_rng(k)
            probs = rng.random(file_rows) ** 1.5
            labels = (rng.random(file_rows) < probs**1.1).astype(np.int8)
            columns = {"label": labels, "prob": probs, "other": rng.integers(0, 9, file_rows)}
            parquet.write_table(pa.table(columns), path)
    return paths


def measured(paths: list[Path]) -> dict[str, float]:
    """In a process of its own, so that its memory is its own; reading alone and `scan` take turns."""
    command = [sys.executable, "-c", MEASURE, *map(str, paths)]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout))


def main() -> None:
    """Print the table, and write it to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--output", type=Path, default=None)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    lines = [
        "# Files of many rows",
        "",
        "Parquet files of a million rows with three columns, of which two are read; `python -m benchmarks.lake`. CPU seconds,",
        "as the machine may be shared, medians of nine runs by turns; `diagnose` is that of the scanned state.",
        "",
        "| rows | pyarrow reads | `scan` | of pyarrow's speed | peak memory, GiB | `diagnose` |",
        "|---|---|---|---|---|---|",
    ]
    n = FILE_ROWS
    while n <= given.rows:
        paths = make(folder, n // FILE_ROWS)
        found = measured(paths)
        lines.append(
            f"| {n:,} | {found['read']:.3f} | {found['scan']:.3f} | {found['share']:.0%} |"
            f" {found['peak']:.2f} | {found['diagnose']:.1f} |"
        )
        print(lines[-1], flush=True)
        n = n * 5 if n * 5 <= given.rows or n == given.rows else given.rows
    if given.output is not None:
        given.output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
