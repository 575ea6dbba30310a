"""Any norm of at least 1, and the largest, for every error that has one."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

import calibrant as cal
from calibrant import simulate
from calibrant.norms import check_norm, noise_power, norm_of_name
from naive import binned, binning, canonical, sweep
from tolerances import ROUNDING

RNG = np.random.default_rng(7)
P = RNG.beta(1.2, 0.8, 300).round(3)
Y = (RNG.random(300) < P**1.4).astype(int)
ERRORS = {
    "binned": partial(cal.binned_error, bins=7),
    "label-binned": partial(cal.label_binned_error, bins=7),
    "sweep": cal.sweep_error,
    "cross-validated": partial(cal.crossvalidated_error, max_bins=6),
    "density": cal.density_error,
    "integrated density": partial(cal.density_error, method="integrated"),
    "fitted": partial(cal.fitted_error, method="platt"),
    "canonical": cal.canonical_error,
}
NORMS = (1, 1.5, 2, 3, 8.0)
each = pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)


@pytest.mark.slow
@each
def test_the_mean_power_and_its_root_belong_together(error):
    for norm in NORMS:
        power, root = error(Y, P, norm=norm, root=False).value, error(Y, P, norm=norm).value
        assert root**norm == pytest.approx(power, abs=ROUNDING)


@pytest.mark.parametrize("name", sorted(ERRORS.keys() - {"canonical"}))
def test_means_of_higher_power_are_larger_and_end_at_the_largest(name):
    values = [ERRORS[name](Y, P, norm=norm).value for norm in (*NORMS, 60, "max")]
    assert values == sorted(values)
    assert values[-2] > 0.8 * values[-1]


@pytest.mark.parametrize("norm", [1.5, 3])
@pytest.mark.parametrize("options", [{}, {"root": False}], ids=str)
def test_binned_errors_are_those_of_plain_loops(norm, options):
    found = cal.binned_error(Y, P, bins=cal.EqualWidth(5), norm=norm, **options).value
    which = np.clip(np.ceil(P * 5) - 1, 0, 4)
    power = sum((which == k).mean() * abs(P[which == k].mean() - Y[which == k].mean()) ** norm for k in set(which))
    assert found == pytest.approx(power if options else power ** (1 / norm), abs=ROUNDING)


def test_the_noise_floor_is_the_moment_of_a_normal_variable():
    x = np.linspace(-12, 12, 200_001)
    for norm in NORMS:
        expected = np.trapezoid(np.abs(0.3 * x) ** norm * np.exp(-(x**2) / 2), x) / math.sqrt(2 * math.pi)
        assert noise_power(np.array([0.09]), norm)[0] == pytest.approx(expected, rel=1e-8)


def test_true_errors_have_any_norm():
    world = simulate.power_world(0.05)
    p, _, rates = world.draw(200_000, 1, 3)
    for norm in NORMS:
        assert world.true_error(norm) == pytest.approx(np.mean(np.abs(p - rates) ** norm) ** (1 / norm), rel=0.02)
    calibrated = simulate.GaussianWorld(factor=1.0, exponent=1.0)
    assert calibrated.true_error(3) == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("view", ["canonical", "class 1"])
def test_true_errors_of_several_classes_have_any_norm(view):
    world = simulate.DirichletWorld([1.0, 2.0, 3.0], power=1.5)
    values = [world.true_error(norm, view) for norm in (1, 1.5, 2, 2.5)]
    assert view == "canonical" or values == sorted(values)
    assert values[1] == pytest.approx((values[0] * values[2]) ** 0.5, rel=0.1)
    with pytest.raises(cal.InputError, match="norm must be a number for worlds of several classes"):
        world.true_error("max", view)


@pytest.mark.parametrize("bad", [0.5, 0, -1, True, "2", "maximum", float("nan"), float("inf"), None, [1]])
def test_what_is_no_norm_is_refused(bad):
    with pytest.raises(cal.InputError, match="norm must be a number from 1 to 100, or 'max'; it is "):
        check_norm(bad)
    with pytest.raises(cal.InputError, match="norm must be"):
        cal.binned_error(Y, P, norm=bad)


def test_corrections_exist_for_norms_1_and_2():
    with pytest.raises(cal.InputError, match="debiased is defined for norms 1 and 2; norm is 3"):
        cal.binned_error(Y, P, norm=3, debiased=True)
    with pytest.raises(cal.InputError, match="cross_fitted is defined for norms 1 and 2; norm is 3"):
        cal.fitted_error(Y, P, norm=3, cross_fitted=True)


def test_names():
    assert [norm_of_name(norm) for norm in (1, 2, 3, 1.5, "max")] == ["", "RMS ", "L3 ", "L1.5 ", "largest "]
    assert [norm_of_name(norm, root=False) for norm in (2, 3)] == ["squared ", "mean-power-3 "]


def test_the_bias_of_any_norm_is_simulated():
    found = simulate.bias(partial(cal.binned_error, norm=3), simulate.power_world(0.05), 200, 20)
    assert found.truth == pytest.approx(simulate.power_world(0.05).true_error(3))
    assert found.bias > 0


FEW, FEW_Y = P[:40].round(2), Y[:40]


@pytest.mark.parametrize("norm", [1.5, 3])
def test_every_error_of_one_event_is_that_of_plain_loops(norm):
    bins = binning.equal_mass(FEW, 7)
    expected = {"binned": binned.power(bins, FEW, FEW_Y, None, norm)}
    expected["label-binned"] = binned.label_power(bins, FEW, FEW_Y, None, norm)
    swept = sweep.mass_bins(FEW.tolist(), sweep.n_bins(FEW, FEW_Y, "mass"))
    expected["sweep"] = binned.power(swept, FEW, FEW_Y, None, norm)
    fitted = cal.Platt().fit(FEW_Y, FEW).apply(FEW)
    expected["fitted"] = math.fsum(abs(c - p) ** norm for c, p in zip(fitted, FEW, strict=True)) / len(FEW)
    for name, power in expected.items():
        assert ERRORS[name](FEW_Y, FEW, norm=norm).value == pytest.approx(power ** (1 / norm), abs=ROUNDING), name


@pytest.mark.parametrize("norm", [1.5, 3])
def test_the_canonical_error_is_that_of_plain_loops(norm):
    rng = np.random.default_rng(3)
    probs, labels = rng.dirichlet([1, 2, 1], 12), rng.integers(0, 3, 12)
    found = cal.canonical_error(labels, probs, norm=norm, bandwidth=0.1)
    power = canonical.power(probs.tolist(), np.eye(3)[labels].tolist(), 0.1, norm)
    assert found.value == pytest.approx(power ** (1 / norm), rel=1e-9)


@pytest.mark.parametrize("norm", [1.5, 3])
def test_true_errors_are_integrals(norm):
    world = simulate.BetaWorld(2.0, 1.5, simulate.PowerCurve(1.7))
    power = quad(lambda p: abs(p - p**1.7) ** norm * beta.pdf(p, 2.0, 1.5), 0, 1, epsabs=1e-12)[0]
    assert world.true_error(norm) == pytest.approx(power ** (1 / norm), rel=1e-8)
    shape = simulate.ShapeWorld("square", 0.1)
    power = quad(lambda c: abs(shape.predicted(np.array([c]))[0] - c) ** norm, 0, 1)[0]
    assert shape.true_error(norm) == pytest.approx(power ** (1 / norm), rel=1e-8)
