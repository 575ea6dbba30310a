"""Candidates judged by their predictions of held-out rows: weights of an average, or the simplest good one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from calibrant.interval import ClusterMean, LimitedMean, Moments, cluster_mean, design_effect, moments_of
from calibrant.kernels.logits import log_probabilities, two_columns
from calibrant.predictions import Predictions
from calibrant.score.logarithmic import LogScore
from calibrant.score.possible import ScoredRows, few, scored_rows
from calibrant.score.score import Score, check_score
from calibrant.types import Array, Bools, Floats

TRUST, TRUSTED_FROM = {"one event": (0.25, 0.25), "several classes": (0.25, 0.5)}, 1000.0
"""τ: how much a held-out nat counts in the weights of an average, with few rows and with many, half-way between at so
many; below 1, as the folds share most of their rows, and as a mean of several maps errs less than one of them. These, the
prices and the rule of no repair (`Judged.doubted`) were chosen on other data sets than those that studies/arena.py reports;
but that τ rises with the rows, and that the price is the same for both kinds, was settled after a look at its page."""

DOUBT, DOUBTED_UP_TO = 2.0, 80.0
"""With no rows, the prior of the identity would weigh as much as this power of the number of the other maps; with so
many rows as its square root; with many as one of them."""

PIECES, PIECES_FROM = 8.0, 200.0
"""A priori piecewise-linear maps of n rows weigh 1 + n/200 times as much as another map, at most so much: with many rows
they are nearest to the truth most often, with few hardly more than others."""

SEVERAL_OTHERS = 6
"""Fewer other maps count as so many."""

NEGLIGIBLE = 1e-9
"""A candidate of a smaller weight changes nothing."""

Mean = LimitedMean | Moments | ClusterMean

ONE_ERROR = 0.6827
"""Level of the intervals that decide, by default, which maps are as good as the best: one standard error to either side."""


def trusted(kind: str, n: float) -> float:
    """τ for so many rows."""
    few, many = TRUST[kind]
    return many - (many - few) / (1 + n / TRUSTED_FROM)


def effect_of_groups(rows: Predictions) -> float:
    """How many rows of groups tell as much as one independent row, by the errors of the predictions."""
    if rows.groups is None:
        return 1.0
    groups, classes = rows.groups, np.arange(2 if rows.is_binary else rows.n_classes)

    def found() -> float:
        if rows.is_binary:
            return design_effect(rows.event("binary").outcomes - rows.probs, rows.weights, rows.squares, groups)
        shares = rows.labels if rows.soft else rows.labels[:, None] == classes
        return design_effect(shares - rows.probs, rows.weights, rows.squares, groups)

    effect: float = rows.kept("effect of groups", found)
    return effect


@dataclass(slots=True)
class Judged:
    """Log-probabilities of held-out rows `(n, K)` by candidate, and what follows from them."""

    rows: Predictions
    before: Floats
    """those of the predictions as they are"""
    held: dict[str, Floats]
    rule: Score
    scored: dict[str, ScoredRows] = field(init=False)
    """log loss of each row, and of each outcome it could have had"""
    base: ScoredRows = field(init=False)
    """by the rule, of the predictions as they are"""
    plain: Floats = field(init=False)
    """log loss of each row by the predictions as they are"""
    guards: dict[str, float] = field(init=False)
    """the worst credible change of the log loss of one more row"""

    def __post_init__(self) -> None:
        log, self.scored, self.guards = check_score("log"), {}, {}
        small, base = few(self.rows), self._scored(self.before, log)
        self.plain, self.base = (
            base.values,
            base if type(self.rule) is type(log) else self._scored(self.before, self.rule),
        )
        for name, logs in self.held.items():
            self.scored[name] = mine = self._scored(logs, log)
            self.guards[name] = _worst(mine.blended(base, 1.0, -1.0)) if small and logs is not self.before else 0.0

    def weights(self, used: Bools | slice = slice(None)) -> dict[str, float]:
        """Shares ∝ prior · exp(−τ·(summed loss and the guard) − price) of the candidates, by some of the rows."""
        kind, mass = "one event" if self.rows.is_binary else "several classes", np.zeros(len(self.plain))
        mass[used] = self._mass()[used]
        trust = trusted(kind, float(mass.sum()))
        loss = {name: float(mass @ each.values) + self.guards[name] for name, each in self.scored.items()}
        score = {name: -trust * value for name, value in loss.items()}
        price = (
            DOUBT * np.log(max(len(score) - 1, SEVERAL_OTHERS)) * DOUBTED_UP_TO / (DOUBTED_UP_TO + float(mass.sum()))
        )
        extra = np.log(min(PIECES, 1 + float(mass.sum()) / PIECES_FROM))
        score = {
            name: value - price * (name != "identity") + extra * (name == "piecewise_linear")
            for name, value in score.items()
        }
        best = max(score.values())
        shares = {name: float(np.exp(value - best)) for name, value in score.items()}
        return {name: share / sum(shares.values()) for name, share in shares.items()}

    def simplest(
        self, sizes: dict[str, int], used: Bools | slice = slice(None), level: float | None = None
    ) -> tuple[str, str]:
        """The fewest parameters among those as good as the best, by the score and some of the rows, and the reason."""
        total = self._mass()[used]
        shown = {name: self._scored(logs, self.rule) for name, logs in self.held.items()}
        values = {name: float(total @ each.values[used] / total.sum()) for name, each in shown.items()}
        cost = {name: value + self.guards[name] / float(total.sum()) for name, value in values.items()}
        best = min(cost, key=cost.__getitem__)

        def near(name: str) -> bool:
            interval = self._mean(shown[name].blended(shown[best], 1.0, -1.0), used).interval(level or ONE_ERROR)[0]
            return name == best or interval is None or interval.low <= 0

        good = [name for name in cost if near(name)]
        name = min(good, key=lambda each: (each != "identity", sizes[each], cost[each]))
        return name, _why_simple(name, best, sizes, len(good))

    def crossed(self, masks: list[Bools], logs: Callable[[Bools, Bools], Floats]) -> Floats:
        """Log-probabilities of the procedure: each fold by what the other folds decide, which `logs` is given first."""
        found = np.empty_like(self.before)
        for test in masks:
            found[test] = logs(~test, test)
        return found

    def mixed(self, weights: dict[str, float], rows: Bools) -> Floats:
        """Log-probabilities of the average of some rows."""
        total = np.zeros((np.count_nonzero(rows), self.before.shape[1]))
        for name, weight in weights.items():
            if weight > NEGLIGIBLE:
                total += weight * self.held[name][rows]
        return log_probabilities(total)

    def doubted(self, logs: Floats, level: float | None = None) -> Callable[[Bools | slice], bool]:
        """By some of the rows: are these not shown to be better than the predictions as they are?

        They are shown to be if their gain outlasts one more row with the worst change that is still credible, or as many
        as tell as much together where there are groups, and one more group as bad as the worst; with a level, if also the
        interval of the change lies below 0. Predictions that call an outcome impossible cannot be kept.
        """
        if "identity" not in self.held or bool((self._columns() <= np.finfo(np.float64).tiny).any()):
            return lambda used: False  # noqa: ARG005
        mine, worst = self._scored(logs, check_score("log")), 0.0
        change = self._mass() * (mine.values - self.plain)
        if few(self.rows):
            worst = _worst(mine.blended(self.scored["identity"], 1.0, -1.0))
        if self.rows.groups is not None:
            worst = max(worst, float(np.bincount(np.unique(self.rows.groups, return_inverse=True)[1], change).max()))

        def unsure(used: Bools | slice, level: float) -> bool:
            """Does the interval of the mean change of rows, or of groups, reach 0?"""
            interval = self._moments(mine.values - self.plain, used).interval(level)[0]
            return interval is None or interval.high >= 0

        return lambda used: float(change[used].sum()) + worst >= 0 or (level is not None and unsure(used, level))

    def measured(self, logs: Floats) -> tuple[Mean, Mean]:
        """The mean score and its change from the predictions as they are."""
        logarithmic = type(self.rule) is type(check_score("log"))
        known = [self.scored[name] for name, each in self.held.items() if each is logs and logarithmic]
        mine = known[0] if known else self._scored(logs, self.rule)
        change = mine.blended(self.base, 1.0, -1.0)
        if few(self.rows):
            return self._mean(mine), self._mean(change)
        return self._moments(mine.values), self._moments(change.values)

    def _columns(self) -> Array:
        return two_columns(self.rows.probs) if self.rows.is_binary else self.rows.probs

    def _mass(self) -> Floats:
        """Of each row, in independent rows."""
        weights = self.rows.weights
        mass = np.ones(len(self.rows.labels)) if weights is None else np.asarray(weights, dtype=np.float64)
        return mass / effect_of_groups(self.rows)

    def _mean(self, scored: ScoredRows, used: Bools | slice = slice(None)) -> Mean:
        """The mean of scores of some rows, with the limits of what they could have been; of groups without these."""
        if self.rows.groups is not None:
            return self._moments(scored.values, used)
        return _some(scored, used).mean()

    def _moments(self, values: Floats, used: Bools | slice = slice(None)) -> Moments | ClusterMean:
        weights, squares, groups = (
            None if each is None else each[used] for each in (self.rows.weights, self.rows.squares, self.rows.groups)
        )
        return (
            moments_of(values[used], weights, squares)
            if groups is None
            else cluster_mean(values[used], weights, groups)
        )

    def _scored(self, logs: Floats, rule: Score) -> ScoredRows:
        probs = np.exp(logs)
        if isinstance(rule, LogScore) and not self.rows.soft:
            values, mass = -logs[np.arange(len(logs)), self.rows.labels], (self.rows.weights, self.rows.squares)
            return ScoredRows(values, -logs, probs, *mass, rule.limited)
        return scored_rows(rule, self.rows.with_probs(probs[:, 1] if self.rows.is_binary else probs))


def _worst(change: ScoredRows) -> float:
    """The change of one more row at the credible limit, and what is expected beyond it, as sums over the rows."""
    moments = moments_of(change.values, change.weights, change.squares)
    if not (moments.rows and np.isfinite(moments.mean)):
        return 0.0
    limits = change.upper_limit(moments)
    return max(limits.upper, 0.0) + limits.above * moments.weight


def _some(scored: ScoredRows, used: Bools | slice) -> ScoredRows:
    weights, squares = (None if each is None else each[used] for each in (scored.weights, scored.squares))
    rows = scored.values[used], scored.possible[used], scored.chances[used]
    return ScoredRows(*rows, weights, squares, scored.limited)


def _why_simple(name: str, best: str, sizes: dict[str, int], n_good: int) -> str:
    if name == best:
        rest = (
            "none is simpler"
            if sizes[name] == min(sizes.values())
            else "every simpler map is worse by more than chance"
        )
        return f"{name}: the best score on held-out rows, and {rest}."
    if name == "identity":
        return f"identity: {best} scores best, but by no more than chance, which is no ground to change the model."
    less = f"needs {sizes[name]} parameters instead of {sizes[best]}"
    return f"{name}: {best} scores best, but by no more than chance, and {name} {less}; {n_good} maps are as good."
