"""Dask: states of DataFrames equal those of one pass, on threads and on a cluster that loses a worker."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

import calibrant as cal

dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

from calibrant.engines import dask  # noqa: E402


def frame(n: int = 60_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 0.9, n)
    return pd.DataFrame({"label": (rng.random(n) < p**1.2).astype(int), "prob": p, "site": rng.integers(0, 3, n)})


def same(one: cal.State, other: cal.State) -> None:
    assert one.n == other.n
    first, second = one.pooled("binary"), other.pooled("binary")
    np.testing.assert_array_equal(first.weight, second.weight)
    np.testing.assert_array_equal(first.hits, second.hits)
    np.testing.assert_allclose(first.values, second.values, rtol=1e-12)


@pytest.mark.parametrize("max_distinct", [None, 1000])
def test_a_frame_gives_the_state_of_one_pass(max_distinct):
    rows = frame()
    found = dask.scan(dd.from_pandas(rows, npartitions=7), max_distinct=max_distinct)
    same(found, cal.collect(rows.label, rows.prob, max_distinct=max_distinct))


def test_segments_have_states_of_their_own():
    rows = frame(3000)
    found = dask.scan(dd.from_pandas(rows, npartitions=4), segments="site")
    assert list(found) == [0, 1, 2]
    for site, state in found.items():
        own = rows[rows.site == site]
        same(state, cal.collect(own.label, own.prob))
    with pytest.raises(cal.InputError, match=r"segments must name a column of the DataFrame; 'ward' is none"):
        dask.scan(dd.from_pandas(rows, npartitions=2), segments="ward")


def test_a_map_is_applied():
    rows = frame(2000)
    fitted = cal.recalibrate(cal.Predictions(rows.label, rows.prob), "platt")
    better = dask.apply(fitted, dd.from_pandas(rows, npartitions=3), "prob").compute()
    np.testing.assert_allclose(better.prob, fitted.apply(rows.prob.to_numpy()), rtol=1e-12)
    assert list(better.columns) == list(rows.columns)


def test_bad_input():
    with pytest.raises(cal.InputError, match=r"data must be a Dask DataFrame; it is a DataFrame"):
        dask.scan(frame(10))
    rows = frame(100)
    rows.loc[50, "prob"] = np.nan
    with pytest.raises(cal.InputError, match=r"'prob'.*row \d+"):
        dask.scan(dd.from_pandas(rows, npartitions=2))


def slowly(part: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.5)
    return part


def test_a_worker_killed_while_it_works_changes_nothing():
    rows = frame()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())

        def kill():
            time.sleep(1.5)
            os.kill(workers[0], signal.SIGKILL)

        threading.Thread(target=kill, daemon=True).start()
        slow = dd.from_pandas(rows, npartitions=10).map_partitions(slowly, meta=rows.iloc[:0])
        same(dask.scan(slow), cal.collect(rows.label, rows.prob))
        assert workers[0] not in client.run(os.getpid).values()
