"""Worlds of several classes: the true distribution of every row is known, and the errors follow by very many draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice, check_count, check_positive, floats
from calibrant.kernels.logits import probabilities
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Estimate, Record, kind, number
from calibrant.simulate.world import Norm, World, true_estimate

Floats = NDArray[np.float64]

ENTRIES = 40_000_000
"""Probabilities drawn for a true error."""

MOST_ROWS = 2_000_000
N_BINS = 1000
"""Equal-mass bins in which half of the draws tell the mean distance to the other half."""


class ClassWorld(World, ABC):
    """A world of several classes: what is said, `(n, K)`, and the true distribution of the label given all of it.

    Views: `top`, `class k`, `classwise` (the mean over classes, root after the mean) and `canonical`. Norms: 1 and 2.
    """

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """How many."""

    @abstractmethod
    def rows(self, n: int, rng: Any) -> tuple[Floats, Floats]:
        """What is said and the true distributions, each `(n, K)`."""

    def sample(self, n: int, rng: Any) -> Predictions:
        """Labels drawn from the true distributions."""
        generator = np.random.default_rng(rng)
        said, rates = self.rows(check_count(n, "n"), generator)
        sums = np.cumsum(rates, axis=1)
        labels = (sums < generator.random((n, 1)) * sums[:, -1:]).sum(axis=1)
        return Predictions(labels, said)

    def truth(self, norm: Norm = 1, view: str = "auto") -> Estimate:
        """By very many draws, always the same ones, with the standard error. Kept, so that asking again is free."""
        check_choice("norm", norm, (1, 2))
        name = self._view(view)
        value, error, n = _true_power(self.to_json(indent=None), int(norm), name)
        if norm == 2:
            value = float(np.sqrt(max(value, 0.0)))
            error = error / (2 * value) if value else float(np.sqrt(error))
        return true_estimate(value, norm, name, n, error)

    def _view(self, view: Any) -> str:
        name = "top" if view == "auto" else view
        names = ("top", "classwise", "canonical", *(f"class {k}" for k in range(self.n_classes)))
        if name not in names:
            raise InputError(
                "view", "must be 'auto', 'top', 'classwise', 'canonical' or 'class k' with k a class", f"it is {view!r}"
            )
        return str(name)


@lru_cache(maxsize=256)
def _true_power(text: str, norm: int, view: str) -> tuple[float, float, int]:
    """E|distance|^norm, its standard error, and the number of draws."""
    world: Any = Record.from_json(text)
    n = min(MOST_ROWS, max(2 * N_BINS, ENTRIES // world.n_classes)) // 2
    if view == "canonical":
        powers = np.concatenate([(np.abs(said - rates) ** norm).sum(axis=1) for said, rates in _blocks(world, 2 * n)])
        return float(powers.mean()), float(powers.std() / np.sqrt(len(powers))), len(powers)
    values, errors = zip(*(_conditional(p, rates, norm) for p, rates in _pairs(world, 2 * n, view)), strict=True)
    return float(np.mean(values)), float(np.sqrt(np.mean(np.square(errors)))), 2 * n  # classes share the draws


BLOCK = 4_000_000
"""Probabilities drawn at a time."""


def _blocks(world: ClassWorld, n: int) -> Iterator[tuple[Floats, Floats]]:
    """The draws for a true error, some rows at a time."""
    rng, step = np.random.default_rng(0), max(1, BLOCK // world.n_classes)
    for start in range(0, n, step):
        yield world.rows(min(step, n - start), rng)


def _pairs(world: ClassWorld, n: int, view: str) -> Iterator[tuple[Floats, Floats]]:
    """What is said of the event and its true rate; for `classwise` once for each class."""
    blocks = []
    for said, rates in _blocks(world, n):
        if view == "classwise":
            blocks.append((said, rates))
            continue
        at = said.argmax(axis=1) if view == "top" else np.full(len(said), int(view.removeprefix("class ")))
        each = np.arange(len(said))
        blocks.append((said[each, at], rates[each, at]))
    said, rates = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    if view == "classwise":
        yield from zip(said.T, rates.T, strict=True)
    else:
        yield said, rates


def _conditional(p: Floats, rates: Floats, norm: int) -> tuple[float, float]:
    """E|E[rate − p | p]|^norm and its standard error.

    One half of the draws tells the mean distance in narrow bins, the other is judged by it: of the second order in the noise for
    norm 1 (a sign is wrong only where the distance is near 0), without bias for norm 2.
    """
    half = len(p) // 2
    parts = []
    for known, judged in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        order = np.argsort(p[known])
        cuts = np.linspace(0, half, N_BINS + 1).astype(np.intp)[:-1]
        means = np.add.reduceat((rates[known] - p[known])[order], cuts) / np.diff(np.append(cuts, half))
        edges = p[known][order][cuts[1:]]
        expected = means[np.searchsorted(edges, p[judged], side="right")]
        distance = rates[judged] - p[judged]
        parts.append((np.sign(expected) if norm == 1 else expected) * distance)
    both = np.concatenate(parts)
    return float(both.mean()), float(both.std() / np.sqrt(len(both)))


@kind
@dataclass(frozen=True, eq=False, repr=False)
class DirichletWorld(ClassWorld):
    """Predictions from a Dirichlet distribution, or a mixture of several; what happens is a known function of what is said.

    The true distribution is p^power, scaled to sum to 1, mixed with `random`, the share of labels drawn evenly. Below 1, `power` makes
    the predictions over-confident, as `random` does; with 1 and 0 they are calibrated.

    Examples
    --------
    >>> from calibrant.simulate import DirichletWorld
    >>> world = DirichletWorld([0.5, 0.5, 0.5], random=0.2)
    >>> world.sample(4, rng=0)
    Predictions(4 rows, 3 classes, float64)
    >>> abs(world.true_error(2, "canonical") - 0.2 * (4 / 15) ** 0.5) < 1e-3
    True
    """

    concentration: Floats
    """`(K,)`, or `(m, K)` for a mixture"""
    power: float = 1.0
    random: float = 0.0
    shares: Floats = ()  # type: ignore[assignment]
    """of the parts of a mixture; equal if not given"""

    def __post_init__(self) -> None:
        table = np.atleast_2d(floats(np.asarray(self.concentration, dtype=np.float64), "concentration"))
        if table.shape[1] < 2 or not (np.isfinite(table) & (table > 0)).all():
            raise InputError("concentration", "must be positive, with a column for each of two or more classes")
        shares = np.ones(len(table)) if not np.size(self.shares) else np.asarray(self.shares, dtype=np.float64)
        if shares.shape != (len(table),) or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
            raise InputError("shares", f"must be {len(table)} positive numbers", f"they are {self.shares!r}")
        check_positive("power", self.power)
        if not 0 <= self.random <= 1:
            raise InputError("random", "must lie in [0, 1]", f"it is {self.random!r}")
        object.__setattr__(self, "concentration", table)
        object.__setattr__(self, "shares", shares / shares.sum())
        self._hold("concentration", "shares")

    @property
    def n_classes(self) -> int:
        return int(self.concentration.shape[1])

    def rows(self, n: int, rng: Any) -> tuple[Floats, Floats]:
        """Predictions, then what follows them."""
        generator = np.random.default_rng(rng)
        part = (
            generator.choice(len(self.shares), size=n, p=self.shares) if len(self.shares) > 1 else np.zeros(n, np.intp)
        )
        said = generator.standard_gamma(self.concentration[part])
        total = said.sum(axis=1, keepdims=True)
        lost = total[:, 0] == 0  # all below the smallest float: one class has it all
        if lost.any():
            said[lost] = np.eye(self.n_classes)[generator.integers(self.n_classes, size=int(lost.sum()))]
            total[lost] = 1.0
        said /= total
        return said, self.rates(said)

    def rates(self, said: Floats) -> Floats:
        """The true distributions for predictions."""
        raised = said if self.power == 1 else said**self.power
        if self.power != 1:
            raised = raised / raised.sum(axis=1, keepdims=True)
        return raised if self.random == 0 else (1 - self.random) * raised + self.random / self.n_classes

    def describe(self) -> str:
        """Classes and distortion."""
        parts = len(self.shares)
        what = "a Dirichlet distribution" if parts == 1 else f"a mixture of {parts} Dirichlet distributions"
        told = [f"true power {number(self.power)}"] if self.power != 1 else []
        told += [f"{self.random:.3g} of the labels random"] if self.random else []
        return f"{self.n_classes} classes from {what}, " + (", ".join(told) or "perfectly calibrated")


@kind
@dataclass(frozen=True, eq=False, repr=False)
class LogisticNormalWorld(ClassWorld):
    """Logits from a normal distribution whose covariance is inverse-Wishart; labels follow their softmax, said at a temperature.

    As Gruber & Buettner (2022, appendix G.1) simulate a network on 100 classes: scale matrix 100·I, labels drawn from the softmax
    of the logits, and predictions the softmax of the logits divided by `temperature`. They do not print the degrees of
    freedom: as many as classes gives their accuracy of about 88 % on average over covariances, and `seed` chooses one that does.

    Examples
    --------
    >>> from calibrant.simulate import LogisticNormalWorld
    >>> LogisticNormalWorld(temperature=0.5).sample(10, rng=0)
    Predictions(10 rows, 100 classes, float64)
    >>> LogisticNormalWorld(10).true_error()
    0.0
    """

    classes: int = 100
    temperature: float = 1.0
    scale: float = 100.0
    degrees: int | None = None
    """of freedom; as many as classes if None"""
    seed: int = 24
    """of the covariance"""

    def __post_init__(self) -> None:
        check_count(self.classes, "classes", 2)
        check_positive("temperature", self.temperature)
        check_positive("scale", self.scale)
        if self.degrees is not None:
            check_count(self.degrees, "degrees", self.classes)
        check_count(self.seed, "seed", 0)

    @property
    def n_classes(self) -> int:
        return self.classes

    @property
    def covariance(self) -> Floats:
        """scale · W⁻¹, with W the cross-products of as many normal rows as degrees of freedom."""
        normal = np.random.default_rng(self.seed).normal(size=(self.degrees or self.classes, self.classes))
        result: Floats = self.scale * np.asarray(np.linalg.inv(normal.T @ normal), dtype=np.float64)
        return result

    def rows(self, n: int, rng: Any) -> tuple[Floats, Floats]:
        """Softmax of the logits at the temperature, and as they are."""
        root = np.linalg.cholesky(self.covariance)
        logits = np.random.default_rng(rng).normal(size=(n, self.classes)) @ root.T
        rates = probabilities(logits)
        return (rates if self.temperature == 1 else probabilities(logits / self.temperature)), rates

    def describe(self) -> str:
        """Classes and temperature."""
        told = "perfectly calibrated" if self.temperature == 1 else f"said at temperature {number(self.temperature)}"
        return f"{self.classes} classes, logistic-normal, {told}"
