"""Statistics of one event that are sums over pairs of rows."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.draws.null_sums import fading_pairs, pairs_between
from calibrant.resampling.draw import Statistic
from calibrant.resampling.rows import Atoms
from calibrant.resampling.statistics import collected, linear
from calibrant.types import Floats


def multi_scale(atoms: Atoms, levels: range) -> list[Statistic]:
    """T-Cal at each scale: Σ over 2^level equal bins of (products of different rows) / rows, over n."""
    made = []
    for level in levels:
        cell = np.minimum(np.floor(atoms.p * 2.0**level), 2.0**level - 1)
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(cell)) + 1, [len(cell)]]).astype(np.intp)
        scale = 1 / np.add.reduceat(atoms.weight, cuts[:-1]) / atoms.total
        collect = collected(pairs_between, None, *squared_error(atoms), cuts, scale)
        made.append(Statistic(f"2^{level} bins", f"{2**level} bins", collect))
    return made


def squared_error(atoms: Atoms) -> tuple[Floats, Floats]:
    """c and f such that c + f·e is the sum of the rows' squared errors: w²p(1−p) − w(1−2p)·e."""
    return atoms.variance, -atoms.unit * (1 - 2 * atoms.p)


def laplace_pairs(atoms: Atoms, bandwidth: float, estimator: str, flipped: bool = False) -> Statistic:
    """SKCE of one event with a Laplace kernel: 2 Σ e e' exp(−|p − p'|/ν) over all pairs or different rows.

    `flipped` is for errors whose signs are flipped, which leaves their squares as they
    are.
    """
    pair_sums = collected(fading_pairs, None, np.exp(-np.diff(atoms.p, prepend=atoms.p[:1]) / bandwidth))
    constant, factor = (atoms.errors**2, 0 * atoms.p) if flipped else squared_error(atoms)
    own, slope, total = float(constant.sum()), linear(factor), atoms.total
    pairs = total * (total - 1) if estimator == "unbiased" else total**2

    def collect(errors: Floats) -> Floats:
        squares = own + slope(errors) if estimator == "unbiased" else np.zeros((len(errors), 1))
        return np.hstack([pair_sums(errors), squares])

    return Statistic("skce", "SKCE", collect, lambda states: 2 * (states[:, 0] - states[:, 1]) / pairs)
