"""What every measure of forecasts must do, read from the table."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.methods import find, methods
from calibrant.problems import InputError
from calibrant.results import Estimate
from kinds_of_forecasts import every_kind
from tolerances import ROUNDING

each = pytest.mark.parametrize("about", methods("forecast estimator").values(), ids=lambda about: about.name)


def suited(about, rng, n=60):
    """Forecasts of every kind that the measure takes."""
    return {kind: said for kind, said in every_kind(rng, n).items() if kind in about.views}


@each
def test_the_order_of_the_rows_does_not_matter(about, rng):
    order = rng.permutation(60)
    for kind, said in suited(about, rng).items():
        if kind == "Gaussian" and about.name != "marginal_error":  # the others draw a PIT, this one labels, row by row
            there, back = about.function(said).value, about.function(said.rows(order)).value
            assert there == pytest.approx(back, abs=ROUNDING)


@each
def test_a_result_knows_its_rows_and_survives_as_json(about, rng):
    for kind, said in suited(about, rng).items():
        found = about.function(said)
        assert (found.name, found.n) == (about.name, 60)
        assert about.title in found.title
        assert np.isfinite(found.value)
        assert found.noise_floor is not None
        assert found.settings.get("forecasts", kind) == kind
        assert Estimate.from_json(found.to_json()) == found


@each
def test_one_row_is_measured_or_refused(about, rng):
    for said in suited(about, rng, 1).values():
        if about.name == "gaussian_skce":
            with pytest.raises(InputError, match="at least two rows"):
                about.function(said)
        else:
            assert np.isfinite(about.function(said).value)


@each
def test_what_is_no_forecast_is_refused(about):
    with pytest.raises(InputError, match="forecasts must be forecasts of a real number; it is a list"):
        about.function([1.0, 2.0])


@each
def test_acronyms_are_known(about):
    assert all(find("forecast estimator", name) is about for name in (about.name, *about.also_called))


@each
def test_calling_twice_gives_the_same(about, rng):
    for said in suited(about, rng).values():
        assert about.function(said) == about.function(said)
