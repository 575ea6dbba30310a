from __future__ import annotations

import pytest


@pytest.fixture
def ax():
    """Axes of a figure that no window shows."""
    return pytest.importorskip("matplotlib.figure").Figure().subplots()
