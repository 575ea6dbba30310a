"""In which direction does a model err? Shift, slope and stretches of its log-odds, compared and put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.kernels.fit.newton import fit_logistic
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.kernels.rows.pooling import pooled_cuts
from calibrant.predictions import Event
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices

CELLS = 40
"""Cells of equal mass; equal predictions are never split."""

SHIFT, FREE_END, LINE = 2.0, 3.0, 4.0
"""Nats that a description must gain in log-likelihood: a shift of all log-odds, each end of a stretch that is searched
for (about the logarithm of its possible places), a line with intercept and slope."""

SEEN, CLEAR = 1.0, 2.0
"""Standard errors by which a part of the predictions must be off before its direction is named; a small part by more."""

EDGE, SMALL = 0.05, 0.1
"""Cells at an end that hold less than this share of the variance belong to the stretch beside them; what is small."""

STEPS, LONGEST, FARTHEST, STILL = 30, 2.0, 12.0, 1e-9
"""Newton steps, their length, log-odds beyond which they are taken as that, and the step of a shift that has converged."""

ONLY = 3.0
"""Nats by which stretches must be ahead of a line before the rest of the predictions is said to be right."""

SIMPLER = 1.5
"""Nats by which a shift of all log-odds may be behind the others and is still preferred, or a line behind several
stretches: the simplest that will do."""

QUIET, WIDE = 2.6, 4
"""Standard deviations by which the χ² of the other cells may exceed its mean, one by one and several joined."""

NEAR = 0.25
"""Share of the rows between the middle and where the error changes its sign, up to which predictions are over- or
under-confident."""

MOST_PLACES = 3
"""Stretches that are listed."""

Kind = Literal["shift", "slope", "shape", "unclear"]


@dataclass(frozen=True, slots=True)
class Fault:
    """How predictions are off: what would repair it, and the words for it."""

    kind: Kind
    words: str


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring cells that are too high (1) or too low (−1), from `start` to before `stop`."""

    start: int
    stop: int
    sign: int


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Predictions of one event in cells, each with its rows and hits; those of 0 and 1 are left out."""

    low: Floats
    high: Floats
    rows: Floats
    hits: Floats
    expected: Floats
    variance: Floats

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def places(self) -> Floats:
        """Log-odds of the mean prediction of each cell."""
        return np.clip(log_odds(self.expected / self.rows), -FARTHEST, FARTHEST)

    def off(self, start: int, stop: int) -> float:
        """How far the predictions from one cell to before another are too high, in standard errors."""
        variance = float(self.variance[start:stop].sum())
        error = float((self.expected - self.hits)[start:stop].sum())
        return error / variance**0.5 if variance > 0 else 0.0

    def shows(self, run: Run) -> bool:
        """Are the rows of a run off in its direction?"""
        small = self.variance[run.start : run.stop].sum() < SMALL * self.variance.sum()
        return run.sign * self.off(run.start, run.stop) >= (CLEAR if small else SEEN)

    def edge(self, cell: int) -> float:
        """A prediction between a cell and the one before."""
        return float(self.high[cell - 1] + self.low[cell]) / 2


def fault_of(event: Event, confidence: bool = False) -> Fault:
    """What is wrong with predictions that are not calibrated.

    Three descriptions compete by their likelihood, each at its price: all log-odds are
    shifted; they follow a line with another slope; they are shifted over some stretches.
    A direction is named only where the rows of that part are off in it.

    Parameters
    ----------
    event
        The yes/no question.
    confidence
        Are predictions the confidence in an answer? Then they are over- or under-confident
        rather than too high or too low.
    """
    cells = _cells(event)
    if not len(cells):
        return Fault("unclear", "")
    stretches, of_stretches = _stretches(cells)
    line, of_line = _line(cells)
    best = max(of_stretches, of_line)
    if best <= 0:
        return Fault("unclear", "")
    shift, of_shift = _shift(cells)
    if of_shift > max(0.0, best - SIMPLER):
        stretches, of_line = shift, -np.inf
    sloped = of_line > max(0.0, of_stretches - SIMPLER * (len(stretches) > 1))
    kept = _joined(cells, [run for run in (line if sloped else stretches) if cells.shows(run)])
    if not kept:
        return Fault("unclear", "")
    local = of_stretches - of_line > ONLY
    kind: Kind = "slope" if sloped else "shift" if _whole(cells, kept) else "shape" if local else "unclear"
    if sloped and len(kept) == 1 and not _whole(cells, kept):
        return Fault(kind, _tilted(cells, kept[0], stretches, confidence))
    return Fault(kind, _words(cells, kept, confidence, local))


def _whole(cells: Cells, runs: list[Run]) -> bool:
    """Is it one run over all cells?"""
    return len(runs) == 1 and (runs[0].start, runs[0].stop) == (0, len(cells))


def _cells(event: Event) -> Cells:
    pooled = event.pooled
    inside = slice(np.searchsorted(pooled.values, 0.0, "right"), np.searchsorted(pooled.values, 1.0))
    values, weight, hits = (each[inside] for each in (pooled.values, pooled.weight, pooled.hits))
    if not len(values):
        return Cells(*(np.zeros(0),) * 6)
    starts = np.unique(pooled_cuts(Pooled(values, weight, hits, pooled.integral, pooled.single), CELLS))[:-1]
    spread = pooled.spread[inside]
    # weighted rows count as equal ones that tell as much
    factor = np.add.reduceat(weight, starts) / np.add.reduceat(spread, starts)
    rows, hits, expected, variance = (
        factor * np.add.reduceat(each, starts)
        for each in (weight, hits, weight * values, weight * values * (1 - values))
    )
    last = np.append(starts[1:], len(values)) - 1
    return Cells(values[starts], values[last], rows, hits, expected, variance)


def _stretches(cells: Cells) -> tuple[list[Run], float]:
    """The best stretches to shift, by dynamic programming over the cells, and their gain after the price."""
    m = len(cells)
    starts, stops = (each.ravel() for each in np.meshgrid(np.arange(m), np.arange(1, m + 1), indexing="ij"))
    valid = starts < stops
    starts, stops = starts[valid], stops[valid]
    gain, shift = _shifted(cells, starts, stops)
    gain -= SHIFT + FREE_END * ((starts > 0) * 1.0 + (stops < m))
    best, last = np.zeros(m + 1), np.full(m + 1, -1)
    for stop in range(1, m + 1):
        best[stop] = best[stop - 1]
        ending = np.flatnonzero(stops == stop)
        totals = best[starts[ending]] + gain[ending]
        if totals.max() > best[stop]:
            best[stop], last[stop] = totals.max(), ending[int(totals.argmax())]
    runs, stop = [], m
    while stop > 0:
        if last[stop] < 0:
            stop -= 1
            continue
        at = last[stop]
        runs.append(Run(int(starts[at]), stop, int(-np.sign(shift[at]))))
        stop = int(starts[at])
    return runs[::-1], float(best[m])


def _shift(cells: Cells) -> tuple[list[Run], float]:
    """One shift of all log-odds, and its gain after the price."""
    gain, shift = _shifted(cells, np.array([0]), np.array([len(cells)]))
    return [Run(0, len(cells), int(-np.sign(shift[0])))], float(gain[0]) - SHIFT


def _shifted(cells: Cells, starts: Indices, stops: Indices) -> tuple[Floats, Floats]:
    """Gain in log-likelihood from one shift of the log-odds of each stretch, and the shift."""
    z, cell = cells.places, np.arange(len(cells))
    inside = (cell >= starts[:, None]) & (cell < stops[:, None])
    rows, hits = inside * cells.rows, (inside * cells.hits).sum(axis=1)
    shift, moving = np.zeros(len(starts)), np.arange(len(starts))
    for _ in range(STEPS):
        mean, own = sigmoid(z + shift[moving, None]), rows[moving]
        slope, curvature = hits[moving] - (own * mean).sum(axis=1), (own * mean * (1 - mean)).sum(axis=1)
        step = np.clip(slope / np.maximum(curvature, 1e-12), -LONGEST, LONGEST)
        before = shift[moving]
        shift[moving] = np.clip(before + step, -3 * FARTHEST, 3 * FARTHEST)
        moving = moving[np.abs(shift[moving] - before) > STILL]
        if not len(moving):
            break
    growth = np.logaddexp(0.0, z + shift[:, None]) - np.logaddexp(0.0, z)
    return hits * shift - (rows * growth).sum(axis=1), shift


def _line(cells: Cells) -> tuple[list[Run], float]:
    """Where a line through the log-odds lies below and above them, and its gain after the price."""
    z, m = cells.places, len(cells)
    if m < 2:
        return [], -np.inf
    centred = z - z.mean()
    fit = fit_logistic(np.stack([np.ones(m), centred], axis=1), cells.rows, cells.hits)
    eta = fit.coefficients[0] + fit.coefficients[1] * centred
    gain = float(cells.hits @ (eta - z) - cells.rows @ (np.logaddexp(0.0, eta) - np.logaddexp(0.0, z)))
    signs = np.sign(z - eta).astype(int)
    cuts = np.flatnonzero(np.diff(signs)) + 1
    ends = zip(np.append(0, cuts), np.append(cuts, m), strict=True)
    return [Run(int(a), int(b), int(signs[a])) for a, b in ends if signs[a]], gain - LINE


def _joined(cells: Cells, runs: list[Run]) -> list[Run]:
    """Runs of one sign as one where little lies between them that is not off the other way; the last reach the ends."""
    total, m = float(cells.variance.sum()), len(cells)
    found: list[Run] = []
    for run in runs:
        before = found[-1] if found and found[-1].sign == run.sign else None
        if before is not None and _near(cells, before, run):
            found[-1] = Run(before.start, run.stop, run.sign)
        else:
            found.append(run)
    if found and float(cells.variance[: found[0].start].sum()) < EDGE * total:
        found[0] = Run(0, found[0].stop, found[0].sign)
    if found and float(cells.variance[found[-1].stop :].sum()) < EDGE * total:
        found[-1] = Run(found[-1].start, m, found[-1].sign)
    return found


def _near(cells: Cells, first: Run, then: Run) -> bool:
    """Is less between two runs than in them, and nothing that is off the other way?"""
    between = float(cells.variance[first.stop : then.start].sum())
    own = float(cells.variance[first.start : then.stop].sum()) - between
    return between <= own / 2 and -first.sign * cells.off(first.stop, then.start) < SEEN


def _ways(confidence: bool) -> tuple[str, str]:
    """What is said of predictions above and below the observed rate."""
    return ("over-confident", "under-confident") if confidence else ("too high", "too low")


def _on_average(run: Run, confidence: bool) -> str:
    words = _ways(confidence)[run.sign < 0]
    return f"{words if confidence else f'predicts {words}'} on average"


def _tilted(cells: Cells, run: Run, stretches: list[Run], confidence: bool) -> str:
    """A line of which one side shows: where it crosses is not known well, so the clearest stretch is named."""
    same = [each for each in stretches if each.sign == run.sign and cells.shows(each)]
    clear = max(same, key=lambda each: abs(cells.off(each.start, each.stop)), default=run)
    where = "" if _whole(cells, [clear]) else f", most clearly {_place(cells, clear)}"
    return _on_average(run, confidence) + where


def _words(cells: Cells, runs: list[Run], confidence: bool, local: bool) -> str:
    """The runs in words; `local` says that no line describes them as well."""
    high, low = _ways(confidence)
    first, signs = runs[0], {run.sign for run in runs}
    if _whole(cells, runs):
        throughout = all(first.sign * cells.off(*third) >= SEEN for third in _thirds(cells))
        words = _on_average(first, confidence)
        return words.removesuffix(" on average") if throughout else words
    places = _places(cells, runs if len(runs) <= MOST_PLACES else _clearest(cells, runs), high, low)
    if len(signs) > 1 and len(runs) > 2:
        return f"{high} in some places and {low} in others, most clearly {places}"
    if not _quiet(cells, runs):
        also = len(signs) == 1 and first.sign * _rest_off(cells, runs) >= SEEN
        clear = " and ".join(_place(cells, run) for run in runs)
        return (
            f"{_on_average(first, confidence)}, most clearly {clear}" if also else f"in places, most clearly {places}"
        )
    extreme = "" if confidence else _extreme(cells, runs)
    if len(signs) > 1:
        return f"{extreme}, {places}" if extreme else places
    return f"{extreme} only, {places}" if extreme and local else f"{places}, elsewhere no error to be seen"


def _quiet(cells: Cells, runs: list[Run]) -> bool:
    """Do the cells outside the runs scatter as those of a calibrated model do?

    The cells next to a run are left out: its ends are known to a cell. Nor may they be off
    together.
    """
    m = len(cells)
    starts, stops = [0], []
    for run in runs:
        stops.append(max(run.start - 1, starts[-1]))
        starts.append(min(run.stop + 1, m))
    gaps = list(zip(starts, [*stops, m], strict=True))
    for width in (1, WIDE):
        parts = [(start, min(start + width, stop)) for first, stop in gaps for start in range(first, stop, width)]
        squares = [cells.off(*part) ** 2 for part in parts]
        if sum(squares) > len(squares) + QUIET * (2 * len(squares)) ** 0.5:
            return False
    return abs(_rest_off(cells, runs)) < CLEAR


def _rest_off(cells: Cells, runs: list[Run]) -> float:
    """How far the predictions outside the runs are too high together, in standard errors."""
    outside = np.ones(len(cells), bool)
    for run in runs:
        outside[run.start : run.stop] = False
    variance = float(cells.variance[outside].sum())
    return float((cells.expected - cells.hits)[outside].sum()) / variance**0.5 if variance > 0 else 0.0


def _extreme(cells: Cells, runs: list[Run]) -> str:
    """Over- or under-confidence, where the signs amount to that; at which end, where it is one end only."""
    first, last, m = runs[0], runs[-1], len(cells)
    at_bottom, at_top = first.start == 0, last.stop == m
    if len(runs) == 2:
        named = first.sign != last.sign and at_bottom and at_top and _around_the_middle(cells, last.start)
        return ("over-confident" if first.sign < 0 else "under-confident") if named else ""
    edge = cells.edge(first.start if at_top else first.stop) if at_bottom or at_top else 0.5
    if at_bottom == at_top or edge == 0.5 or (edge < 0.5) == at_top:
        return ""
    over = (first.sign > 0) == at_top
    return f"{'over' if over else 'under'}-confident at the {'top' if at_top else 'bottom'}"


def _around_the_middle(cells: Cells, cut: int) -> bool:
    """Do few rows lie between a cut and ½, or between it and the observed rate?

    Beyond the cut from both, predictions that are too high are too near to what they
    should be far from: neither over- nor under-confident says what is wrong with them.
    """
    share = np.cumsum(cells.rows) / cells.rows.sum()
    at = float(share[cut - 1])
    middles = (0.5, float(cells.hits.sum() / cells.rows.sum()))
    below = [float(cells.rows[cells.expected / cells.rows < middle].sum() / cells.rows.sum()) for middle in middles]
    return min(abs(at - each) for each in below) <= NEAR


def _places(cells: Cells, runs: list[Run], high: str, low: str) -> str:
    """Where predictions are too high and too low, each direction once."""
    ways = {sign: [_place(cells, run) for run in runs if run.sign == sign] for sign in (run.sign for run in runs)}
    told = [f"{high if sign > 0 else low} {' and '.join(places)}" for sign, places in ways.items()]
    below, above = told[0], told[-1]
    if "below" in below and above.endswith(f" above {below.rpartition(' below ')[2]}"):
        told[-1] = f"{above.rpartition(' ')[0]} it"
    return " and ".join(told)


def _thirds(cells: Cells) -> list[tuple[int, int]]:
    """Lower, middle and upper cells, with about equal variance; fewer parts where there are fewer cells."""
    share = np.cumsum(cells.variance) / cells.variance.sum()
    cuts = np.unique([0, *(int(np.argmin(np.abs(share - k / 3))) + 1 for k in (1, 2)), len(cells)])
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def _clearest(cells: Cells, runs: list[Run]) -> list[Run]:
    """The runs that are most clearly off, in their order."""
    ranked = sorted(runs, key=lambda run: -abs(cells.off(run.start, run.stop)))[:MOST_PLACES]
    return [run for run in runs if run in ranked]


def _place(cells: Cells, run: Run) -> str:
    start, stop, m = run.start, run.stop, len(cells)
    if start == 0 and stop < m:
        return f"below {_number(cells.edge(stop))}"
    if stop == m and start > 0:
        return f"above {_number(cells.edge(start))}"
    low, high = _number(float(cells.low[start])), _number(float(cells.high[stop - 1]))
    return f"at {low}" if low == high else f"between {low} and {high}"


def _number(p: float) -> str:
    """Two digits of the probability or of its complement, whichever is smaller."""
    digits = max(2, int(np.ceil(-np.log10(min(p, 1 - p)))) + (min(p, 1 - p) < 0.01))
    return f"{p:.{min(digits, 12)}f}"
