"""The five shapes: errors as chosen, labels shared, curves inverted."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import InputError
from calibrant.simulate import ShapeWorld
from calibrant.simulate.shapes import SHAPES, largest_error, published_draw
from tolerances import ROUNDING

C = np.linspace(0.001, 0.999, 301)


@pytest.mark.some(5)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("level", [round(0.005 * k, 3) for k in range(21)])  # of the published derivates
def test_every_published_level_is_reached(shape, level):
    assert ShapeWorld(shape, level).true_error() == pytest.approx(level, abs=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_rises_from_0_to_1(shape):
    c = np.linspace(0, 1, 2001)
    predicted = SHAPES[shape](c)
    assert predicted[[0, -1]] == pytest.approx([0, 1], abs=ROUNDING)
    assert (np.diff(predicted) >= -ROUNDING).all()


def test_shapes_by_hand():
    assert largest_error("square") == pytest.approx(1 / 6, abs=1e-10)
    assert largest_error("sqrt") == pytest.approx(1 / 6, abs=1e-10)
    assert float(SHAPES["beta1"](np.array(0.4))) == pytest.approx(0.5)
    assert float(SHAPES["beta2"](np.array(0.48))) == pytest.approx(0.5)
    a, b, c, x = 2, 2.2, 2.2 * np.log(0.52) - 2 * np.log(0.48), 0.3
    assert float(SHAPES["beta2"](np.array(x))) == pytest.approx(1 / (1 + 1 / (np.exp(c) * x**a / (1 - x) ** b)))

    def step(v):
        return v - np.sin(v)

    def stairs(v):
        return step(step(3 * v * np.pi)) / (3 * np.pi)

    assert float(SHAPES["stairs"](np.array(x))) == pytest.approx(stairs(x + 1 / 3) - stairs(1 / 3))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_curve_undoes_what_is_said(shape):
    world = ShapeWorld(shape, 0.05)
    np.testing.assert_allclose(world.curve(world.predicted(C)), C, atol=1e-9)  # stairs are almost flat in places
    np.testing.assert_allclose(world.predicted(world.curve(C)), C, atol=ROUNDING)


def test_labels_are_shared_between_derivates():
    first = ShapeWorld("stairs", 0.0).draw(50, 4, seed=3)
    for shape in SHAPES:
        probs, outcomes, rates = ShapeWorld(shape, 0.08).draw(50, 4, seed=3)
        np.testing.assert_array_equal(outcomes, first[1])
        np.testing.assert_array_equal(rates, first[2])
        np.testing.assert_allclose(probs, ShapeWorld(shape, 0.08).predicted(rates), atol=ROUNDING)


def test_published_data_are_drawn_again():
    rates, labels = published_draw(1000, 0)
    assert (np.diff(rates) >= 0).all()
    state = np.random.RandomState(1000)
    expected = np.sort(state.dirichlet((1, 1), 1000)[:, 0])
    np.testing.assert_array_equal(rates, expected)
    np.testing.assert_array_equal(labels, state.binomial(1, expected))


def test_a_shape_describes_itself():
    assert (
        ShapeWorld("sqrt", 0.02).describe() == "the shape sqrt with expected absolute error 0.0200, true rates uniform"
    )


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="shape must be one of 'square'"):
        ShapeWorld("cube")
    with pytest.raises(InputError, match=r"error must lie in \[0, 0.1033\] for 'beta2'"):
        ShapeWorld("beta2", 0.11)
