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

FILE_ROWS = 2_000_000

MEASURE = """
import json, resource, statistics, sys, time
import pyarrow.parquet as parquet
import calibrant as cal
from pathlib import Path
what, paths = sys.argv[1], [Path(p) for p in sys.argv[2:]]
cal.diagnose(cal.scan(paths[:1], progress=False))  # compile and load first
def spent(call):
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - wall, time.process_time() - cpu
def read():
    for path in paths:
        with parquet.ParquetFile(path) as file:
            for _ in file.iter_batches(1 << 20, columns=["label", "prob"]):
                pass
call = read if what == "read" else lambda: cal.scan(paths, progress=False)
runs = [spent(call) for _ in range(5)]
state, wall, cpu = runs[-1][0], *(statistics.median(run[k] for run in runs) for k in (1, 2))
more = {}
if what == "scan":
    found, _, more["diagnose"] = spent(lambda: cal.diagnose(state))
print(json.dumps({"wall": wall, "cpu": cpu, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, **more}))
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


def measured(what: str, paths: list[Path]) -> dict[str, float]:
    """In a process of its own, so that its memory is its own."""
    command = [sys.executable, "-c", MEASURE, what, *map(str, paths)]
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
        "Parquet files of two million rows with three columns, of which two are read; `python -m benchmarks.lake`. CPU seconds,",
        "as the machine may be shared, medians of five runs; `diagnose` is that of the scanned state.",
        "",
        "| rows | pyarrow reads | `scan` | of pyarrow's speed | peak memory, GiB | `diagnose` |",
        "|---|---|---|---|---|---|",
    ]
    n = FILE_ROWS
    while n <= given.rows:
        paths = make(folder, n // FILE_ROWS)
        read, scan = measured("read", paths), measured("scan", paths)
        share = f"{read['cpu'] / scan['cpu']:.0%}"
        lines.append(
            f"| {n:,} | {read['cpu']:.2f} | {scan['cpu']:.2f} | {share} | {scan['peak']:.2f} | {scan['diagnose']:.1f} |"
        )
        print(lines[-1], flush=True)
        n = n * 5 if n * 5 <= given.rows or n == given.rows else given.rows
    if given.output is not None:
        given.output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
