"""Spark: states of DataFrames equal those of one pass, on a local session and on a cluster that loses a worker."""

from __future__ import annotations

import shutil
import signal
import threading
import time

import numpy as np
import pytest

import calibrant as cal

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java (on Debian: apt-get install default-jre-headless)", allow_module_level=True)

from benchmarks.engines import kill_group, spark_cluster, spark_session  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

from calibrant.engines import spark  # noqa: E402

pytestmark = [  # Spark warns of the pandas that is installed, and leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def rows(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.9, n)
    return {"label": (rng.random(n) < p**1.2).astype(np.int64), "prob": p, "site": rng.integers(0, 3, n)}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    import pyarrow as pa
    from pyarrow import parquet

    folder = tmp_path_factory.mktemp("lake")
    for k in range(6):
        parquet.write_table(pa.table(rows(20_000, k)), folder / f"{k}.parquet")
    return folder


@pytest.fixture(scope="module", autouse=True)
def stopped_at_the_end():
    yield
    stop()


def stop() -> None:
    """Stop the session, if there is one: its master cannot be changed."""
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()


@pytest.fixture
def local():
    """A session on this machine: that of the test before, unless that test stopped it."""
    return spark_session("local[2]")


def same(one: cal.State, other: cal.State) -> None:
    assert one.n == other.n
    first, second = one.pooled(one.views[0]), other.pooled(one.views[0])
    np.testing.assert_array_equal(first.weight, second.weight)
    np.testing.assert_array_equal(first.hits, second.hits)
    np.testing.assert_allclose(first.values, second.values, rtol=1e-12)


@pytest.mark.parametrize("max_distinct", [None, 1000])
def test_a_frame_gives_the_state_of_one_pass(local, lake, max_distinct):
    frame = local.read.parquet(str(lake)).repartition(5)
    same(spark.scan(frame, max_distinct=max_distinct), cal.scan(lake, max_distinct=max_distinct, progress=False))


def test_segments_have_states_of_their_own(local, lake):
    found = spark.scan(local.read.parquet(str(lake)), segments="site")
    expected = cal.scan(lake, segments="site", progress=False)
    assert list(found) == list(expected) == [0, 1, 2]
    for site, state in found.items():
        same(state, expected[site])


def test_several_classes(local):
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), 500)
    labels = (probs.cumsum(axis=1) < rng.random((500, 1))).sum(axis=1)
    columns = {"label": labels} | {f"prob_{name}": probs[:, k] for k, name in enumerate(("cat", "cow", "dog"))}
    frame = local.createDataFrame(list(zip(*(c.tolist() for c in columns.values()), strict=True)), list(columns))
    found = spark.scan(frame.repartition(3))
    assert found.classes == ("cat", "cow", "dog")
    whole = cal.collect(labels, probs)
    assert cal.brier_score(found).value == pytest.approx(cal.brier_score(whole).value, rel=1e-12)
    assert cal.ece(found).value == pytest.approx(cal.ece(whole).value, rel=1e-12)


def test_a_map_is_applied(local, lake):
    frame = local.read.parquet(str(lake / "0.parquet"))
    given = rows(20_000, 0)
    fitted = cal.recalibrate(cal.Predictions(given["label"], given["prob"]), "platt")
    better = spark.apply(fitted, frame, "prob")
    assert better.columns == frame.columns
    found = np.array([row["prob"] for row in better.select("prob").collect()])
    np.testing.assert_allclose(found, fitted.apply(given["prob"]), rtol=1e-12)


def test_bad_input(local, lake):
    frame = local.read.parquet(str(lake / "0.parquet"))
    with pytest.raises(cal.InputError, match=r"data must be a Spark DataFrame; it is a list"):
        spark.scan([1])
    with pytest.raises(cal.InputError, match=r"probs must name columns of 'label', 'prob', 'site'; 'q' is none"):
        spark.apply(cal.recalibrate(cal.Predictions([0, 1, 1], [0.2, 0.4, 0.7]), "platt"), frame, "q")
    with pytest.raises(Exception, match=r"must lie in \[0, 1\]"):
        spark.scan(frame.withColumn("prob", frame["prob"] * 2))


@pytest.fixture
def cluster(tmp_path):
    """A master and two workers as processes; the workers can be killed."""
    stop()
    with spark_cluster(2, tmp_path) as (master, (_, worker, _)):
        yield master, worker


def test_a_worker_killed_while_it_works_changes_nothing(cluster, lake, tmp_path):
    master, worker = cluster
    settings = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.task.maxFailures": "8"}
    found = spark_session(master, **settings)
    begun = tmp_path / "begun"

    def slowly(batches):
        begun.touch()
        for batch in batches:
            time.sleep(1.0)
            yield batch

    def kill():
        while not begun.exists():
            time.sleep(0.1)
        time.sleep(1.0)
        kill_group(worker)

    threading.Thread(target=kill, daemon=True).start()
    frame = found.read.parquet(str(lake)).repartition(12)
    frame = frame.mapInArrow(slowly, frame.schema)
    try:
        same(spark.scan(frame), cal.scan(lake, progress=False))
        assert worker.wait(10) == -signal.SIGKILL
    finally:
        found.stop()
