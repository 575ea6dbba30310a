"""Work spread over cores must survive the ways in which users start processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
