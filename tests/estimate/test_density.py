"""Kernel density error: by hand, against every row and its mirror images, and the integral itself."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.estimate import density
from naive import binned, data
from naive import density as naive
from naive.rows import counted, written_out
from tolerances import ROUNDING

SUMS = 1e-11
"""Sums of the kernel are differences of prefix sums of its moments: a few hundred rounding units, not one."""


def test_two_rows_by_hand():
    # h = ½: u = 0.4, K = (1 − 0.16)³; the mirror images, nearest at −0.4 and 1.4, are out of reach
    k = 0.84**3
    found = cal.density_error([0, 1], [0.6, 0.4], bandwidth=0.5)
    assert found.value == pytest.approx((abs(0.6 - k / (1 + k)) + abs(0.4 - 1 / (1 + k))) / 2, abs=ROUNDING)


def test_a_mirror_image_counts_at_the_ends():
    # h = 1: the row at 0 is its own image, so it weighs 2 against (K(½) + K(½)) of the other at 0.5
    k = 0.75**3
    found = cal.density_error([0, 1], [0.0, 0.5], bandwidth=1.0)
    at_0 = 2 * k / (2 + 2 * k)
    at_half = 1 / (1 + k + k)  # the images of 0.5 at −0.5 and 1.5 are just out of reach, those of 0 at 2 too
    assert found.value == pytest.approx((abs(0 - at_0) + abs(0.5 - at_half)) / 2, abs=ROUNDING)


def test_the_rule_of_thumb_by_hand():
    found = cal.density_error([0, 1], [0.4, 0.6])
    assert found.settings["bandwidth"] == pytest.approx(1.06 * 0.1 * 2**-0.2, abs=ROUNDING)


def ordinary(probs):
    """Spread enough that the bandwidth is not itself a matter of rounding; narrow data have their own test."""
    h = naive.bandwidth(probs)
    assume(h > 1e-3)
    return h


@given(data.events(most=25).map(counted), st.sampled_from([1, 2]))
def test_pointwise_is_that_of_plain_loops(said, norm):
    y, p = written_out(said.labels, said.probs, said.weights)
    h = ordinary(p)
    found = cal.density_error(said.labels, said.probs, norm=norm, root=False, counts=said.weights)
    assert found.settings["bandwidth"] == pytest.approx(h, rel=ROUNDING)
    assert found.value == pytest.approx(naive.pointwise(p, y, h, norm), abs=SUMS)


@given(data.events(most=20).map(counted), st.sampled_from([0.02, 0.3, 1.0]))
def test_any_bandwidth_is_that_of_plain_loops(said, h):
    y, p = written_out(said.labels, said.probs, said.weights)
    found = cal.density_error(said.labels, said.probs, bandwidth=h, counts=said.weights)
    assert found.value == pytest.approx(naive.pointwise(p, y, h, 1), abs=SUMS)


@given(data.events(most=8).map(counted), st.sampled_from([0.02, 0.3, 1.0]), st.sampled_from([1, 2]))
def test_integrated_is_the_trapezoid_rule_of_plain_loops(said, h, norm):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(density, "NODES", 129)  # so that plain loops can keep up
        nodes = density.spread_nodes(made.event().pooled, h).tolist()
        found = cal.density_error(made, method="integrated", bandwidth=h, norm=norm, root=False)
    y, p = written_out(said.labels, said.probs, said.weights)
    assert found.value == pytest.approx(naive.integrated(p, y, h, norm, nodes), abs=SUMS)


@pytest.mark.parametrize("norm", [1, 2])
def test_integrated_is_the_integral(rng, norm):
    p = rng.beta(2, 1, 40)
    y = (rng.random(40) < p**2).astype(int)
    h = naive.bandwidth(p)

    def integrand(x):
        mass, hits = naive.at(x, p, y, h)
        return mass * abs(x - hits / mass) ** norm if mass > 0 else 0.0

    breaks = np.sort(np.concatenate([p - h, p + h]))
    breaks = breaks[(breaks > 0) & (breaks < 1)]
    expected = math.fsum(quad(integrand, a, b)[0] for a, b in pairwise([0, *breaks, 1]))
    found = cal.density_error(y, p, method="integrated", norm=norm, root=False).value
    assert found == pytest.approx(expected, rel=1e-4)  # 4097 nodes and a kink at every zero of x − π̂(x)


@given(data.matrices(most=12))
def test_the_top_view_is_that_of_plain_loops(said):
    p, y = binned.top(said.labels, said.probs)
    found = cal.density_error(Predictions(said.labels, said.probs), norm=2, root=False, bandwidth=0.1)
    assert found.value == pytest.approx(naive.pointwise(p, y, 0.1, 2), abs=SUMS)


def test_the_curve_is_the_rate_of_plain_loops(rng):
    p = rng.beta(2, 2, 30)
    y = (rng.random(30) < p).astype(int)
    found = cal.density_error(y, p)
    curve, h = found.parts["curve"], found.settings["bandwidth"]
    for x, rate in list(zip(curve.x, curve.y, strict=True))[::7]:
        mass, hits = naive.at(float(x), p, y, h)
        if mass > 1e-6:  # at the very end of a kernel's reach the rate is 0/0
            assert rate == pytest.approx(hits / mass, abs=1e-9)


def test_compiled_and_plain_sums_give_the_same_error(monkeypatch, rng):
    p = rng.beta(2, 1, 150).round(3)
    y = rng.random(150) < p
    plain = [cal.density_error(y, p, method=method).value for method in ("pointwise", "integrated")]
    monkeypatch.setattr("calibrant.kernels.fit.smooth_rate.COMPILE_FROM_POINTS", 1)
    compiled = [cal.density_error(y, p, method=method).value for method in ("pointwise", "integrated")]
    assert compiled == pytest.approx(plain, abs=SUMS)


@pytest.mark.parametrize(("probs", "width"), [([0.5] * 3, "0"), ([0.5, 0.5, np.nextafter(0.5, 1)], "5.45")])
def test_predictions_too_close_to_smooth_are_reported(probs, width):
    found = cal.density_error([0, 1, 1], probs)
    rate = 2 / 3 if width == "0" else [0.5, 0.5, 1]
    assert found.value == pytest.approx(np.abs(np.array(probs) - rate).mean(), abs=ROUNDING)
    assert found.cautions[0].startswith(f"a bandwidth of {width}")
    assert found.cautions[0].endswith("smooths nothing: rates of equal predictions are taken as they are")


@pytest.mark.parametrize("place", [0.0, 0.5])
@pytest.mark.parametrize("spread", [1e-4, 1e-8, 1e-12])
def test_predictions_close_together_are_measured_as_well_as_they_are_known(spread, place):
    p, y, h = place + spread * np.array([0, 1, 2, 3, 5, 8]), [0, 1, 0, 1, 1, 0], 3 * spread
    found = cal.density_error(y, p, norm=2, root=False, bandwidth=h)
    # p/h is known to a rounding unit of p over h
    assert found.value == pytest.approx(naive.pointwise(p, y, h, 2), abs=SUMS + 1e-15 * place / h)


@pytest.mark.parametrize("spread", [1e-4, 1e-8])
def test_the_integral_over_predictions_close_together_is_an_average_of_their_gaps(spread):
    p, y = 0.5001 + spread * np.array([0, 1, 2, 3]), [0, 1, 1, 0]
    found = cal.density_error(y, p, method="integrated", norm=2, root=False)
    rates = [hits / mass for mass, hits in (naive.at(float(x), p, y, found.settings["bandwidth"]) for x in p)]
    assert min(rates) - 0.5002 < 0 < max(rates) - 0.5002
    assert 0 < found.value < max((0.5001 - rate) ** 2 for rate in [0, 1, *rates])


@pytest.mark.parametrize("h", [1e-3, 1e-4, 1e-5, 1e-7])
@pytest.mark.parametrize("steps", [10, 64, 100])
def test_a_kernel_narrower_than_the_steps_of_the_predictions_sees_each_alone(rng, steps, h):
    which = np.minimum(rng.geometric(0.1, 2000), steps)  # some are rare
    p = which / steps
    y = (rng.random(2000) < p**2).astype(int)
    options = {"norm": 2, "root": False}
    alone = cal.binned_error(y, p, bins=cal.EqualMass(2000), **options).value
    found = cal.density_error(y, p, method="integrated", bandwidth=h, **options).value
    assert found == pytest.approx(alone, rel=0.02, abs=2 * h)  # 16 steps of the trapezoid rule across a kernel


@pytest.mark.parametrize("bandwidth", [0, -0.1, 1.5, float("nan")])
def test_a_bandwidth_lies_between_zero_and_one(bandwidth):
    with pytest.raises(InputError, match=r"bandwidth must lie in \(0, 1\]; it is"):
        cal.density_error([0, 1], [0.2, 0.7], bandwidth=bandwidth)


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="norm must be a number from 1 to 100, or 'max'; it is 'most'"):
        cal.density_error([0, 1], [0.2, 0.7], norm="most")
    with pytest.raises(InputError, match="method must be one of 'pointwise', 'integrated'; it is 'fft'"):
        cal.density_error([0, 1], [0.2, 0.7], method="fft")


@pytest.mark.parametrize("norm", [1, 1.5, 2])
def test_the_published_code_is_followed_step_by_step(norm):
    rng = np.random.default_rng(4)
    p = np.append(rng.beta(4, 0.7, 10), [0.0, 1.0, 0.5])
    y = np.append((rng.random(10) < p[:10] ** 2).astype(int), [0, 1, 1])
    found = cal.density_error(y, p, norm=norm, compat="zhang")
    assert found.value == pytest.approx(naive.as_zhang(p, y, norm), rel=1e-8)
    assert found.settings["root"] is False
    assert found.settings["bandwidth"] == pytest.approx(3 * p[y == 1].std() * (2 * 13) ** -0.2)


def test_no_root_makes_the_square_of_the_other_kind(rng):
    p = rng.beta(3, 0.5, 3000)
    y = (rng.random(3000) < p**3).astype(int)
    theirs = cal.density_error(y, p, norm=2, compat="zhang").value
    ours = cal.density_error(y, p, norm=2, method="integrated").value
    assert theirs == pytest.approx(ours**2, rel=0.3)


def test_what_the_published_code_has_of_its_own_is_refused():
    with pytest.raises(InputError, match="compat has a method and a bandwidth of its own"):
        cal.density_error([0, 1, 1], [0.2, 0.4, 0.7], compat="zhang", bandwidth=0.1)
    with pytest.raises(InputError, match="norm must be a number with compat='zhang'"):
        cal.density_error([0, 1, 1], [0.2, 0.4, 0.7], compat="zhang", norm="max")
    for labels in ([0, 0, 0], [0, 1, 0]):
        with pytest.raises(InputError, match="labels must hold events with different predictions"):
            cal.density_error(labels, [0.2, 0.4, 0.7], compat="zhang")
    with pytest.raises(InputError, match="compat must be"):
        cal.density_error([0, 1, 1], [0.2, 0.4, 0.7], compat="kumar")


@pytest.mark.parametrize("norm", [1.5, 3])
def test_any_norm_is_that_of_plain_loops(norm):
    rng = np.random.default_rng(8)
    p = rng.random(25).round(2)
    y = rng.integers(0, 2, 25)
    h = naive.bandwidth(p)
    found = cal.density_error(y, p, norm=norm)
    assert found.value == pytest.approx(naive.pointwise(p, y, h, norm) ** (1 / norm), rel=1e-9)
