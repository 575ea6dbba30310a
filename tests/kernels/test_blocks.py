"""Work spread over cores must survive the ways in which users start processes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from calibrant.kernels.rows import blocks

FORKED = """
import os, time
import numpy as np
from calibrant.kernels.rows import blocks
def work(rows): return float(rows.stop - rows.start)
assert blocks.added_over_blocks(100, work, 10) == 100
child = os.fork()
if child == 0:
    blocks.added_over_blocks(100, work, 10)
    os._exit(0)
until = time.monotonic() + 5
while time.monotonic() < until:
    if os.waitpid(child, os.WNOHANG)[0]:
        raise SystemExit(0)
    time.sleep(0.01)
os.kill(child, 9)
os.waitpid(child, 0)
raise SystemExit("the child hangs")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_can_compute_after_its_parent_has():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_blocks_within_blocks_do_not_wait_for_each_other():
    def inner(rows):
        return rows.stop - rows.start

    def outer(rows):
        return blocks.added_over_blocks(40, inner, 10) + rows.start

    assert list(blocks.over_blocks(64, outer, 1)) == [40 + i for i in range(64)]


@pytest.mark.parametrize("block", [1, 3, 10, 11])
def test_row_by_row_gives_every_row_once(block):
    rows = np.arange(30.0).reshape(10, 3)
    seen = []

    def twice(some):
        seen.append(len(some))
        return some * 2

    assert np.array_equal(blocks.row_by_row(twice, rows, block), rows * 2)
    assert sum(seen) == 10 + (block < 10)  # one row tells the precision
    assert max(seen) <= block
