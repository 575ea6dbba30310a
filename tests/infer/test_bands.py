"""Bands of reliability diagrams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

import calibrant as cal
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from calibrant.infer import Band, band_of_bins, confidence_band, consistency_band, simultaneous_band
from calibrant.infer.bands import _envelope, _rounded
from calibrant.interval import wilson
from tolerances import ROUNDING, STANDARD_ERRORS


def sample(rng, n=300, power=1.5):
    p = rng.random(n)
    return rng.random(n) < p**power, p


def test_the_simultaneous_band_run_by_run(rng):
    y, p = sample(rng, 40)
    band = simultaneous_band(y, p, level=0.9)
    order = np.argsort(p)
    hits, chance = y[order].astype(float), 0.1 / (40 * 41)
    low = [0.0] * 40
    high = [1.0] * 40
    for j in range(40):
        for i in range(j, 40):
            s, m = hits[j : i + 1].sum(), i + 1 - j
            below = beta.ppf(chance, s, m - s + 1) if s else 0.0
            above = beta.ppf(1 - chance, s + 1, m - s) if s < m else 1.0
            low[i:] = [max(v, below) for v in low[i:]]
            high[: j + 1] = [min(v, above) for v in high[: j + 1]]
    assert band.x.tolist() == p[order].tolist()
    assert band.low == pytest.approx(low, abs=1e-9)  # quantiles by another routine
    assert band.high == pytest.approx(high, abs=1e-9)
    x = p[order]
    assert band.certified == pytest.approx(max(np.max(np.array(high) - x), np.max(x - np.array(low))), abs=1e-9)


def test_steps_hold_between_points(rng):
    band = simultaneous_band(*sample(rng))
    middle = (band.x[1:] + band.x[:-1]) / 2
    low, high = band.at(middle)
    assert low.tolist() == band.low[:-1].tolist()
    assert high.tolist() == band.high[1:].tolist()
    assert band.at(band.x)[0].tolist() == band.low.tolist()
    assert [float(v[0]) for v in band.at([band.x[0] / 2])] == [0.0, band.high[0]]
    assert [float(v[0]) for v in band.at([(1 + band.x[-1]) / 2])] == [band.low[-1], 1.0]


def test_the_drawn_curve_is_the_band(rng):
    band = simultaneous_band(*sample(rng))
    drawn = band.curve()
    assert (np.diff(drawn.x) >= 0).all()
    for p in np.linspace(band.x[0], band.x[-1], 400)[1:-1]:
        if p in band.x:
            continue
        i = np.searchsorted(drawn.x, p)
        assert (drawn.low[i], drawn.high[i]) == (drawn.low[i - 1], drawn.high[i - 1])  # level there
        assert (drawn.low[i], drawn.high[i]) == tuple(float(v) for v in band.at(p))
    assert drawn.support.sum() == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize("options", [{"n_pools": 10}, {"n_pools": 40}, {"n_digits": 1}, {"n_digits": 2}], ids=str)
def test_pooled_rows_are_counted_on_the_safe_side(rng, options):
    """The rates of all rows above a bound and all below it must allow the bound: no pooled band may claim more than its runs allow."""
    y, p = sample(rng, 150)
    band = simultaneous_band(y, p, **options)
    order = np.argsort(p)
    p, hits = p[order], np.append(0, np.cumsum(y[order]))
    low, high = band.at(p)
    n_pools = options.get("n_pools") or len(np.unique(_rounded(p, options["n_digits"], up=True)))
    best, chance = 0.0, 0.05 / (n_pools * (n_pools + 1))
    for i in range(150):
        s, m = hits[i + 1] - hits[: i + 1], i + 1 - np.arange(i + 1)
        best = max(best, float(np.where(s > 0, beta.ppf(chance, np.maximum(s, 1), m - s + 1), 0).max()))
        assert low[i] <= best + 1e-9
    assert (low <= high).all()


def test_a_falling_rate_gives_a_warning():
    band = simultaneous_band([1] * 400 + [0] * 400, [0.2] * 400 + [0.8] * 400)
    assert "does not rise" in band.cautions[0]


def test_where_it_is_proven_wrong():
    band = simultaneous_band([0] * 500 + [1] * 500, [0.3] * 500 + [0.7] * 500)
    assert band.excluded() == ((0.3, 0.3, "predicts too high"), (0.7, 0.7, "predicts too low"))
    assert "predicts too high from 0.3000" in repr(band)
    assert "certified" in repr(band)


def test_bins_have_exact_ranges(rng):
    y, p = sample(rng)
    table = cal.binned_error(y, p, bins=EqualMass(6)).parts["bins"]
    around = consistency_band(y, p, bins=EqualMass(6), level=0.9)
    assert around == band_of_bins(table, "consistency", 0.9)
    low, high = binom.interval(0.9, table.weight, table.mean_prob)
    assert (around.low * table.weight).tolist() == pytest.approx(low.tolist(), abs=1e-9)
    assert (around.high * table.weight).tolist() == pytest.approx(high.tolist(), abs=1e-9)
    mine = confidence_band(y, p, bins=EqualMass(6), level=0.9)
    assert mine.low.tolist() == wilson(table.label_rate, table.weight, 0.9)[0].tolist()
    wide = confidence_band(y, p, bins=EqualMass(6), level=0.9, everywhere=True)
    assert wide.low.tolist() == wilson(table.label_rate, table.weight, 0.9 ** (1 / 6))[0].tolist()


def test_the_simultaneous_band_of_bins_stands_on_their_ends():
    table = cal.binned_error([0] * 50 + [1] * 50, [0.2] * 50 + [0.9] * 50, bins=EqualWidth(2)).parts["bins"]
    band = band_of_bins(table, "simultaneous")
    assert band.x.tolist() == [0.0, 0.5, 1.0]
    chance = 0.05 / 6
    assert band.low == pytest.approx([0, 0, beta.ppf(chance, 50, 1)], abs=1e-9)
    assert band.high == pytest.approx([beta.ppf(1 - chance, 1, 50), 1, 1], abs=1e-9)


def test_an_envelope_holds_a_further_curve(rng):
    """Drawn anew each time: nine of ten further curves, no fewer and not many more."""
    held = []
    for _ in range(400):
        curves = np.cumsum(rng.normal(size=(301, 8)), axis=1)
        low, high = _envelope(curves[1:], 0.9)
        held.append(((curves[0] >= low) & (curves[0] <= high)).all())
    assert abs(np.mean(held) - 0.9) < STANDARD_ERRORS * np.sqrt(0.09 / 400)


def test_a_band_everywhere_is_wider(rng):
    y, p = sample(rng)
    point, everywhere = (consistency_band(y, p, everywhere=e, n_draws=200) for e in (False, True))
    assert (everywhere.low <= point.low).all()
    assert (everywhere.high >= point.high).all()
    assert consistency_band(y, p, n_draws=200) == point  # the seed is fixed


@pytest.mark.slow
@given(st.floats(0, 1), st.integers(1, 4))
def test_rounding_goes_one_way(value, digits):
    p = np.array([value])
    up, down = (_rounded(p, digits, up)[0] for up in (True, False))
    assert down - 1e-8 <= value <= up + 1e-8
    assert up - down <= 10.0**-digits + 1e-9
    grid = np.arange(10**digits + 1) / 10**digits
    for up in (True, False):
        assert _rounded(grid, digits, up) == pytest.approx(grid, abs=ROUNDING)


def test_a_band_travels_as_json(rng):
    band = simultaneous_band(*sample(rng, 30))
    assert Band.from_json(band.to_json()) == band


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(InputError, match="yes or no"):
        simultaneous_band(Predictions([0.2, 0.4], [0.5, 0.6], soft=True))
    with pytest.raises(InputError, match="whole numbers"):
        consistency_band([0, 1], [0.5, 0.6], counts=[0.5, 1.2])
    with pytest.raises(InputError, match="needs bins"):
        confidence_band([0, 1], [0.5, 0.6], everywhere=True)
    with pytest.raises(InputError, match="level"):
        simultaneous_band([0, 1], [0.5, 0.6], level=1.0)


def test_where_rates_fall_nothing_is_certified_or_excluded():
    p, y = np.repeat([0.45, 0.55], 300), np.repeat([1, 0], 300)
    band = simultaneous_band(y, p)
    assert band.certified is None
    assert band.excluded() == ()
    assert "does not rise everywhere, as the ends cross" in band.cautions[0]
    assert "certified" not in repr(band)
