"""Spark and Dask on one machine: seconds of their `scan` with one and two workers, beside the plain reader.

Run where both are installed (make engines) and there is Java: python -m benchmarks.engines [--rows 1000000 5000000 20000000]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, setting
from benchmarks.lake import make, measured

FILE_ROWS = 500_000
"""A file is a partition."""
REPEATS = 3
WORKERS = (1, 2)
HEAD = """# Spark and Dask beside the plain reader

`python -m benchmarks.engines`: Parquet files of {file_rows:,} rows with three columns, of which two are read into a state.
**One machine with {cores} cores**, so this is what an engine costs, not what a cluster of many machines gains: workers have one
core each, and share the machine with the driver and, for Spark, the master. Seconds are medians of {repeats} runs after one that
loads and compiles; CPU seconds are those of the driver and all its workers together, and the ones to compare, as the machine may be
shared. Every state was held equal to that of the plain reader. *Overhead* is CPU beyond `calibrant.scan` of the same files.
"""


@contextmanager
def spark_cluster(n_workers: int, folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a Spark master, and the processes of the master and of workers with one core each."""
    import pyspark

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> None:
        environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *arguments]
        with (folder / f"{len(started)}.log").open("w") as log:
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True))

    master, here = f"spark://127.0.0.1:{port}", ["--host", "127.0.0.1", "--webui-port", "0"]
    start("org.apache.spark.deploy.master.Master", *here, "--port", str(port))
    for k in range(n_workers):
        of = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{k}"), master]
        start("org.apache.spark.deploy.worker.Worker", *here, *of)
    try:
        yield master, started
    finally:
        for each in started:
            kill_group(each)
            each.wait(10)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a group, with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def spark_session(master: str, **settings: str) -> Any:
    """A session on a master, without a page of its own."""
    from pyspark.sql import SparkSession

    from calibrant.engines import spark

    spark.use_this_python()
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    for name, value in {"spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g", **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def on_spark(n_workers: int, folder: Path) -> Iterator[Callable[[list[Path]], Any]]:
    """`scan` of files by Spark, one partition per file."""
    from calibrant.engines import spark

    settings = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.log.level": "ERROR"}
    settings |= {"spark.sql.files.openCostInBytes": str(2**30)}  # no two files in one partition
    with spark_cluster(n_workers, folder) as (master, _):
        session = spark_session(master, **settings)
        while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < n_workers + 1:  # and the driver
            time.sleep(0.2)
        yield lambda paths: spark.scan(session.read.parquet(*map(str, paths)))
        session.stop()


@contextmanager
def on_dask(n_workers: int, folder: Path) -> Iterator[Callable[[list[Path]], Any]]:
    """`scan` of files by Dask, one partition per file."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from calibrant.engines import dask

    settings: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "local_directory": str(folder)}
    with LocalCluster(n_workers=n_workers, **settings) as cluster, Client(cluster):
        yield lambda paths: dask.scan(dd.read_parquet([str(path) for path in paths]))


ENGINES = {"Dask": on_dask, "Spark": on_spark}


def cpu_seconds() -> float:
    """Of this process and all that it started, whether they still run or not."""
    import psutil

    total, own = 0.0, psutil.Process()
    for each in [own, *own.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            spent = each.cpu_times()
            total += spent.user + spent.system + spent.children_user + spent.children_system
    return total


def spent(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call returned, its seconds and its CPU seconds."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    found = call()
    return found, time.perf_counter() - wall, cpu_seconds() - cpu


def measure(engine: str, n_workers: int, folder: Path, sizes: list[int]) -> dict[str, Any]:
    """Seconds to start and of the first scan, then of files of each size; in a process of its own."""
    import numpy as np

    import calibrant as cal

    paths = sorted(folder.glob("*.parquet"))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as work, ENGINES[engine](n_workers, Path(work)) as scan:
        found: dict[str, Any] = {"start": time.perf_counter() - began}
        found["first"] = spent(lambda: scan(paths[:2]))[1]
        for rows in sizes:
            some = paths[: rows // FILE_ROWS]
            runs = [spent(lambda some=some: scan(some)) for _ in range(REPEATS)]
            state, plain = runs[0][0].pooled("binary"), cal.scan(some, progress=False).pooled("binary")
            for name, tolerance in (("weight", 0.0), ("hits", 0.0), ("values", 1e-12)):
                np.testing.assert_allclose(getattr(state, name), getattr(plain, name), rtol=tolerance)
            found[str(rows)] = {
                "wall": statistics.median(r[1] for r in runs),
                "cpu": statistics.median(r[2] for r in runs),
            }
    return found


def in_a_process(engine: str, n_workers: int, folder: Path, sizes: list[int]) -> dict[str, Any]:
    """`measure` with nothing running beside it that it did not start."""
    command = [sys.executable, "-m", "benchmarks.engines", "--folder", str(folder), "--measure", engine, str(n_workers)]
    found = subprocess.run([*command, "--rows", *map(str, sizes)], stdout=subprocess.PIPE, check=True, text=True)
    return dict(json.loads(found.stdout.strip().splitlines()[-1]))


def record(folder: Path, sizes: list[int]) -> list[str]:
    """The lines of the page."""
    make(folder, max(sizes) // FILE_ROWS, FILE_ROWS)
    paths = sorted(folder.glob("*.parquet"))
    lines: dict[int, list[str]] = {rows: [] for rows in sizes}
    plain: dict[int, dict[str, float]] = {}

    def add(rows: int, reader: str, workers: Any, wall: float, cpu: float) -> None:
        own = plain[rows]["cpu"]
        over = f"{cpu / own:.1f} | {1e9 * (cpu - own) / rows:,.0f}" if reader in ENGINES else " | "
        lines[rows].append(f"| {rows:,} | {reader} | {workers} | {wall:.2f} | {cpu:.2f} | {over} |")
        print(lines[rows][-1], flush=True)

    for rows in sizes:
        some = paths[: rows // FILE_ROWS]
        read, *scans = measured("read", some), *(measured("scan", some) for _ in range(REPEATS))
        plain[rows] = {name: statistics.median(each[name] for each in scans) for name in ("wall", "cpu")}
        add(rows, "pyarrow reads the columns", "", read["wall"], read["cpu"])
        add(rows, "`calibrant.scan`", "", **plain[rows])
    starts = ["", "| engine | workers | start, wall s | first scan of two files, wall s |", "|---|---|---|---|"]
    for engine in ENGINES:
        for n_workers in WORKERS:
            found = in_a_process(engine, n_workers, folder, sizes)
            for rows in sizes:
                add(rows, engine, n_workers, **found[str(rows)])
            starts.append(f"| {engine} | {n_workers} | {found['start']:.1f} | {found['first']:.1f} |")
    head = [
        "| rows | reader | workers | wall s | CPU s | CPU / `scan` | overhead, CPU µs per 1000 rows |",
        "|---|---|---|---|---|---|---|",
    ]
    return head + [line for each in lines.values() for line in each] + starts


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000, 20_000_000])
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--output", type=Path, default=RESULTS / "engines.md")
    parser.add_argument("--measure", nargs=2, metavar=("ENGINE", "WORKERS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = sorted({max(rows // FILE_ROWS, 1) * FILE_ROWS for rows in given.rows})
    if given.measure:
        engine, n_workers = given.measure
        print(json.dumps(measure(engine, int(n_workers), given.folder, sizes)))
        return
    if shutil.which("java") is None:
        raise SystemExit("Spark needs Java (on Debian: apt-get install default-jre-headless)")
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        folder.mkdir(exist_ok=True)
        lines = record(folder, sizes)
    where = setting(("numpy", "numba", "pyarrow", "pyspark", "dask"))
    head = HEAD.format(file_rows=FILE_ROWS, cores=os.cpu_count(), repeats=REPEATS)
    load = os.getloadavg()[2]  # of the last quarter of an hour
    text = f"Measured {where['date']}: {where['text']}; load average {load:.0f}, so wall seconds are those of a machine that is "
    text += f"{'shared with other work' if load > 3 else 'quiet'}."
    given.output.write_text("\n".join([head, *lines, "", text, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
