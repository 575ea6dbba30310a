"""Piecewise lines and parabolas by differential evolution: least squares against a dense solver, the choice of pieces."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.kernels.fit.evolved_knots import evolved, held_out, solved, sums_of


def bent(rng, n=400):
    probs = rng.random(n)
    return (rng.random(n) < np.interp(probs, [0, 0.4, 0.6, 1], [0.1, 0.2, 0.8, 0.9])).astype(int), probs


def dense(x, t, degree):
    """The design matrix of hats and bubbles."""
    j = np.searchsorted(t[1:-1], x, side="right")
    u = (x - t[j]) / (t[j + 1] - t[j])
    rows = np.zeros((len(x), len(t) + (degree - 1) * (len(t) - 1)))
    at = np.arange(len(x))
    rows[at, j], rows[at, j + 1] = 1 - u, u
    if degree == 2:
        rows[at, len(t) + j] = u * (1 - u)
    return rows


@pytest.mark.parametrize("degree", [1, 2])
def test_heights_and_bends_are_those_of_least_squares(rng, degree):
    labels, probs = bent(rng)
    x, y, w = np.sort(probs) - 0.5, labels[np.argsort(probs)].astype(float), rng.random(400)
    t = np.array([x[0], -0.2, 0.05, 0.3, x[-1]])
    h, bends, left = solved(sums_of(x, y, w), t[None], degree)
    root = np.sqrt(w)
    rows = dense(x, t, degree)
    best, squares, *_ = np.linalg.lstsq(rows * root[:, None], y * root)
    assert np.concatenate([h[0], *([bends[0]] if degree == 2 else [])]) == pytest.approx(best, abs=1e-5)
    assert left == pytest.approx(squares, rel=1e-9)


@pytest.mark.parametrize("degree", [1, 2])
def test_evolution_is_no_worse_than_a_grid(rng, degree):
    labels, probs = bent(rng)
    x, y = np.sort(probs) - 0.5, labels[np.argsort(probs)].astype(float)
    sums, ends = sums_of(x, y, np.ones(400)), (x[0], x[-1])
    found = evolved(sums, ends, 3, degree, 0)
    grid = np.array(
        [[ends[0], a, b, ends[1]] for a in np.arange(-0.45, 0.5, 0.05) for b in np.arange(a + 0.05, 0.5, 0.05)]
    )
    left = np.sum((found.at(x) - y) ** 2)
    assert left == pytest.approx(held_out(sums, found), rel=1e-6)  # powers cancel in short pieces
    assert left < solved(sums, grid, degree)[2].min() * 1.001  # the tolerance of the evolution


def test_one_piece_is_a_straight_line(rng):
    labels, probs = bent(rng)
    fitted = cal.maps.EvolvedPieces(n_pieces=1, bounded=False).fit(labels, probs)
    line = np.polyval(np.polyfit(probs, labels, 1), [0.0, 0.3, 1.0])
    assert fitted.apply([0.0, 0.3, 1.0]) == pytest.approx(np.clip(line, 0, 1), abs=1e-6)


def test_folds_choose_the_pieces_and_all_rows_fit_them(rng):
    labels, probs = bent(rng, 1500)
    recipe = cal.maps.EvolvedPieces(n_pieces="cv", max_pieces=3, n_folds=3)
    fitted = recipe.fit(labels, probs)
    assert len(fitted.bends) > 1
    assert fitted == cal.maps.EvolvedPieces(n_pieces=len(fitted.bends)).fit(labels, probs)
    assert fitted == recipe.fit(labels[::-1], probs[::-1])
    assert (
        len(cal.maps.EvolvedPieces(n_pieces="cv", max_pieces=2, n_folds=2, tolerance=0.9).fit(labels, probs).bends) == 1
    )


@pytest.mark.parametrize("degree", [1, 2])
def test_odd_data_give_probabilities(degree):
    for labels, probs in (([1], [0.4]), ([0, 1] * 150, [0.3] * 300), ([0] * 300, np.linspace(0, 1, 300))):
        for n_pieces in ("cv", 3):
            fitted = cal.maps.EvolvedPieces(degree, n_pieces, n_folds=2, max_pieces=2).fit(labels, probs)
            mended = fitted.apply(np.linspace(0, 1, 11))
            assert ((mended > 0) & (mended < 1)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 3}, "degree must be one of 1, 2; it is 3"),
        ({"n_pieces": "average"}, "n_pieces must be one of 'cv'; it is 'average'"),
        ({"n_pieces": 0}, "n_pieces must be a whole number"),
        ({"max_pieces": 0}, "max_pieces must be a whole number"),
        ({"n_folds": 1}, "n_folds must be a whole number"),
        ({"tolerance": 2}, "tolerance must lie in"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        cal.maps.EvolvedPieces(**options)
