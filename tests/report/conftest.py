from __future__ import annotations

import pytest

import calibrant as cal
from calibrant.results import Record


@pytest.fixture(scope="session")
def results() -> dict[str, Record]:
    valid, test = cal.example()
    fitted = cal.recalibrate(valid, "temperature")
    after = cal.diagnose(fitted.apply(test), name="repaired")
    return {
        "diagnosis": cal.diagnose(test, name="digits"),
        "after": after,
        "comparison": cal.compare(test, fitted),
        "fitted": fitted,
    }
