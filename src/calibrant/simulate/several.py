"""Worlds of several classes, with known true distributions; true errors come from very many draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from calibrant.inputs import check_count, check_positive, check_seed, check_weights, floats, generator_of
from calibrant.kernels.logits import probabilities
from calibrant.norms import Norm, check_norm, rooted
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Estimate, Record, kind, number
from calibrant.simulate.world import World, true_estimate
from calibrant.types import Floats, Seed

ENTRIES = 40_000_000
"""Number of probabilities drawn for a true error."""

MOST_ROWS = 2_000_000
N_BINS = 1000
"""Equal-mass bins in which one half of the draws estimates the mean distance for the other half."""


class ClassWorld(World, ABC):
    """A world of several classes, with the true distribution of the label per row.

    Predictions are `(n, K)`; the distribution is that given all K probabilities. Views:
    `top`, `class k`, `classwise` (the mean over classes, root after the mean) and
    `canonical`. Norms: any number from 1 to 100.
    """

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @abstractmethod
    def rows(self, n: int, seed: Seed) -> tuple[Floats, Floats]:
        """Predictions and true distributions, each `(n, K)`.

        Parameters
        ----------
        n
            Number of rows.
        seed
            A seed or a NumPy generator.
        """

    def sample(self, n: int, seed: Seed) -> Predictions:
        """Labels drawn from the true distributions."""
        generator = generator_of(seed)
        probs, rates = self.rows(check_count(n, "n"), generator)
        sums = np.cumsum(rates, axis=1)
        labels = (sums < generator.random((n, 1)) * sums[:, -1:]).sum(axis=1)
        return Predictions.borrowed(labels, probs)

    @checked
    def truth(self, norm: Norm = 1, view: str = "auto") -> Estimate:
        """From very many draws, always the same ones, with the standard error. Cached, so that asking again is free."""
        norm = check_norm(norm)
        if norm == "max":
            raise InputError("norm", "must be a number for worlds of several classes", "it is 'max'")
        name = self._view(view)
        value, error, n = _true_power(self.to_json(indent=None), float(norm), name)
        if norm > 1:
            value = float(rooted(max(value, 0.0), norm))
            error = error / (norm * value ** (norm - 1)) if value else float(rooted(error, norm))
        return true_estimate(value, norm, name, n, error)

    def _view(self, view: str) -> str:
        """A view that worlds of several classes have."""
        name = "top" if view == "auto" else view
        if name not in ("top", "classwise", "canonical", *(f"class {k}" for k in range(self.n_classes))):
            needed = "must be 'auto', 'top', 'classwise', 'canonical' or 'class k' with k a class"
            raise InputError("view", needed, f"it is {view!r}")
        return name


@lru_cache(maxsize=256)
def _true_power(text: str, norm: float, view: str) -> tuple[float, float, int]:
    """E|distance|^norm, its standard error, and the number of draws."""
    world: Any = Record.from_json(text)
    n = 2 * (min(MOST_ROWS, max(2 * N_BINS, ENTRIES // world.n_classes)) // 2)
    if view == "canonical":
        powers = np.concatenate([(np.abs(p - rates) ** norm).sum(axis=1) for p, rates in _blocks(world, n)])
        return float(powers.mean()), float(powers.std() / np.sqrt(n)), n
    p, rates = (np.concatenate(parts) for parts in zip(*(_columns(*b, view) for b in _blocks(world, n)), strict=True))
    values, errors = zip(*(_conditional(*each, norm) for each in zip(p.T, rates.T, strict=True)), strict=True)
    return float(np.mean(values)), float(np.sqrt(np.mean(np.square(errors)))), n  # classes share the draws


BLOCK = 4_000_000
"""Probabilities drawn at a time."""


def _blocks(world: ClassWorld, n: int) -> Iterator[tuple[Floats, Floats]]:
    """The draws for a true error, some rows at a time."""
    generator, step = np.random.default_rng(0), max(1, BLOCK // world.n_classes)
    for start in range(0, n, step):
        yield world.rows(min(step, n - start), generator)


def _columns(probs: Floats, rates: Floats, view: str) -> tuple[Floats, Floats]:
    """Prediction and true rate of the view's event, one column; for `classwise` one column per class."""
    if view == "classwise":
        return probs, rates
    at = probs.argmax(axis=1) if view == "top" else np.full(len(probs), int(view.removeprefix("class ")))
    return np.take_along_axis(probs, at[:, None], axis=1), np.take_along_axis(rates, at[:, None], axis=1)


def _conditional(p: Floats, rates: Floats, norm: float) -> tuple[float, float]:
    """E|E[rate − p | p]|^norm and its standard error.

    One half of the draws estimates the mean distance in narrow bins, which is then
    applied to the other half. The error is of second order in the noise for norm 1 (a
    sign is wrong only where the distance is near 0) and for norms beyond 2; there is no
    bias for norm 2.
    """
    half, parts = len(p) // 2, []
    cuts = np.linspace(0, half, N_BINS + 1).astype(np.intp)[:-1]
    for known, fresh in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        order = np.argsort(p[known])
        means = np.add.reduceat((rates[known] - p[known])[order], cuts) / np.diff(np.append(cuts, half))
        expected = means[np.searchsorted(p[known][order][cuts[1:]], p[fresh], side="right")]
        parts.append(np.sign(expected) * np.abs(expected) ** (norm - 1) * (rates[fresh] - p[fresh]))
    both = np.concatenate(parts)
    return float(both.mean()), float(both.std() / np.sqrt(len(both)))


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class DirichletWorld(ClassWorld):
    """Predictions from a Dirichlet distribution, or a mixture of several.

    The true distribution is p^power, scaled to sum to 1, mixed with labels drawn
    uniformly. With power 1 and random 0 the predictions are calibrated.

    Parameters
    ----------
    concentration
        Parameters of the Dirichlet distribution, `(K,)`, or `(m, K)` for a mixture.
    power
        Below 1 it makes the predictions over-confident.
    random
        Share of labels drawn uniformly, which also makes the predictions
        over-confident.
    shares
        Of the parts of a mixture; equal if not given.

    Examples
    --------
    >>> from calibrant.simulate import DirichletWorld
    >>> world = DirichletWorld([0.5, 0.5, 0.5], random=0.2)
    >>> world.sample(4, seed=0)
    Predictions(4 rows, 3 classes, float64)
    >>> abs(world.true_error(2, "canonical") - 0.2 * (4 / 15) ** 0.5) < 1e-3
    True
    """

    concentration: Floats
    power: float = 1.0
    random: float = 0.0
    shares: Floats = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        table = np.atleast_2d(floats(self.concentration, "concentration").astype(np.float64))
        if table.shape[1] < 2 or not (np.isfinite(table) & (table > 0)).all():
            raise InputError("concentration", "must be positive, with a column for each of two or more classes")
        shares = np.ones(len(table)) if not np.size(self.shares) else check_weights(self.shares, len(table), "shares")
        check_positive("power", self.power)
        if not 0 <= self.random <= 1:
            raise InputError("random", "must lie in [0, 1]", f"it is {self.random!r}")
        object.__setattr__(self, "concentration", table)
        object.__setattr__(self, "shares", shares / shares.sum())
        super().__post_init__()

    @property
    def n_classes(self) -> int:
        return int(self.concentration.shape[1])

    def rows(self, n: int, seed: Seed) -> tuple[Floats, Floats]:
        """Predictions, then their true distributions."""
        generator, parts = generator_of(seed), len(self.shares)
        part = generator.choice(parts, size=n, p=self.shares) if parts > 1 else np.zeros(n, np.intp)
        probs = generator.standard_gamma(self.concentration[part])
        total = probs.sum(axis=1, keepdims=True)
        lost = total[:, 0] == 0  # all underflow: one class gets all
        if lost.any():
            probs[lost] = np.eye(self.n_classes)[generator.integers(self.n_classes, size=int(lost.sum()))]
            total[lost] = 1.0
        probs /= total
        return probs, self.rates(probs)

    def rates(self, probs: Floats) -> Floats:
        """The true distributions for predictions.

        Parameters
        ----------
        probs
            Predictions `(n, K)`.
        """
        rates = probs
        if self.power != 1:
            raised = (probs / probs.max(axis=1, keepdims=True)) ** self.power  # 1 at the largest, so that none is lost
            rates = raised / raised.sum(axis=1, keepdims=True)
        return rates if self.random == 0 else (1 - self.random) * rates + self.random / self.n_classes

    def describe(self) -> str:
        """Classes and distortion."""
        parts = len(self.shares)
        what = "a Dirichlet distribution" if parts == 1 else f"a mixture of {parts} Dirichlet distributions"
        distorted = [f"true power {number(self.power)}"] if self.power != 1 else []
        distorted += [f"{self.random:.3g} of the labels random"] if self.random else []
        return f"{self.n_classes} classes from {what}, " + (", ".join(distorted) or "perfectly calibrated")


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class LogisticNormalWorld(ClassWorld):
    """Normal logits with inverse-Wishart covariance; labels follow their softmax.

    This is how Gruber & Buettner (2022, appendix G.1) simulate a network on 100
    classes: scale matrix 100·I, labels drawn from the softmax of the logits,
    predictions the softmax of the logits divided by `temperature`. They do not print
    the degrees of freedom: as many as classes gives their accuracy of about 88 % on
    average over covariances, and the default `seed` chooses a covariance that does.

    Parameters
    ----------
    classes
        Number of classes.
    temperature
        Of the predictions; 1 is calibrated, below 1 over-confident.
    scale
        Of the covariance.
    degrees
        Degrees of freedom of the Wishart distribution; as many as classes if None.
    seed
        Of the covariance.

    Examples
    --------
    >>> from calibrant.simulate import LogisticNormalWorld
    >>> LogisticNormalWorld(temperature=0.5).sample(10, seed=0)
    Predictions(10 rows, 100 classes, float64)
    >>> LogisticNormalWorld(10).true_error()
    0.0
    """

    classes: int = 100
    temperature: float = 1.0
    scale: float = 100.0
    degrees: int | None = None
    seed: int = 24

    def __post_init__(self) -> None:
        check_count(self.classes, "classes", 2)
        check_positive("temperature", self.temperature)
        check_positive("scale", self.scale)
        if self.degrees is not None:
            check_count(self.degrees, "degrees", self.classes)
        object.__setattr__(self, "seed", check_seed(self.seed))

    @property
    def n_classes(self) -> int:
        return self.classes

    @property
    def covariance(self) -> Floats:
        """scale · W⁻¹, with W the cross-products of as many normal rows as degrees of freedom."""
        normal = np.random.default_rng(self.seed).normal(size=(self.degrees or self.classes, self.classes))
        return np.asarray(self.scale * np.linalg.inv(normal.T @ normal), dtype=np.float64)

    def rows(self, n: int, seed: Seed) -> tuple[Floats, Floats]:
        """Softmax of the logits at the temperature, and at temperature 1."""
        root = np.linalg.cholesky(self.covariance)
        logits = generator_of(seed).normal(size=(n, self.classes)) @ root.T
        rates = probabilities(logits)
        return (rates if self.temperature == 1 else probabilities(logits / self.temperature)), rates

    def describe(self) -> str:
        """Classes and temperature."""
        distorted = f"predicted at temperature {number(self.temperature)}"
        how = "perfectly calibrated" if self.temperature == 1 else distorted
        return f"{self.classes} classes, logistic-normal, {how}"


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class HiddenErrorWorld(ClassWorld):
    """Every top-label and class-wise error is 0, and yet the predictions are not calibrated.

    This is the model of Gruber & Buettner 2022, proposition 3.2: class k is predicted
    with probability α and every other with (1−α)/(K−1); in truth it is k with
    probability α, and otherwise always the class before it. The true errors are exact.

    Parameters
    ----------
    classes
        Number of classes K, at least three.
    confidence
        α, between ½ and 1.

    Examples
    --------
    >>> from calibrant.simulate import HiddenErrorWorld
    >>> world = HiddenErrorWorld(classes=10, confidence=0.51)
    >>> world.true_error(2, "top"), world.true_error(2, "classwise")
    (0.0, 0.0)
    >>> round(world.true_error(2, "canonical"), 10) == round((1 - 1 / 9) ** 0.5 * 0.49, 10)
    True
    """

    classes: int = 10
    confidence: float = 0.51

    def __post_init__(self) -> None:
        check_count(self.classes, "classes", 3)
        if isinstance(self.confidence, bool) or not 0.5 < self.confidence < 1:
            raise InputError("confidence", "must lie between 0.5 and 1", f"it is {self.confidence!r}")

    @property
    def n_classes(self) -> int:
        return self.classes

    def rows(self, n: int, seed: Seed) -> tuple[Floats, Floats]:
        """The class predicted is drawn uniformly."""
        top, rest = generator_of(seed).integers(self.classes, size=n), 1 - self.confidence
        at, rates = np.arange(n), np.zeros((n, self.classes))
        probs = np.full((n, self.classes), rest / (self.classes - 1))
        probs[at, top] = rates[at, top] = self.confidence
        rates[at, top - 1] = rest
        return probs, rates

    @checked
    def truth(self, norm: Norm = 1, view: str = "auto") -> Estimate:
        """0, but for the canonical error, in closed form."""
        norm, name = check_norm(norm), self._view(view)
        rest = 1 - self.confidence
        far, near = rest * (self.classes - 2) / (self.classes - 1), rest / (self.classes - 1)
        if name != "canonical":
            value = 0.0
        elif norm == "max":
            value = far
        else:
            value = float(rooted(far**norm + (self.classes - 2) * near**norm, norm))
        return true_estimate(value, norm, name)

    def describe(self) -> str:
        """Classes and confidence."""
        return f"{self.classes} classes predicted with {number(self.confidence)}, the rest always one other class"
