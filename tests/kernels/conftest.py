"""The forms of a kernel that has a NumPy form too."""

from __future__ import annotations

import pytest

from calibrant.kernels.compiled import many_calls


@pytest.fixture(params=["compiled", "plain", "numpy"])
def run(request):
    """A kernel in one of its forms; a small input is NumPy's unless there are many."""
    with many_calls(request.param == "compiled"):
        yield (lambda kernel: kernel.plain) if request.param == "plain" else (lambda kernel: kernel)
