"""Simulations call the same small things many times."""

from collections.abc import Iterator

import pytest

from calibrant.kernels.compiled import many_calls


@pytest.fixture(autouse=True)
def compiled_from_the_first_row() -> Iterator[None]:
    """Kernels are compiled once and pay off over thousands of data sets."""
    with many_calls():
        yield
