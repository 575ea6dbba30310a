"""One pass over the predictions: the scores of a block of rows are computed in a core's cache, summed and forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.interval.mean import CACHED_ROWS, Moments, moments, moments_of, pooled, quick_moments
from calibrant.kernels.compiled import COMPILE_FROM
from calibrant.kernels.rows.blocks import BLOCK_ROWS, over_blocks
from calibrant.predictions import DevicePredictions, Predictions
from calibrant.types import Array, Floats

if TYPE_CHECKING:
    from calibrant.score.score import Score

Scores = Floats
Kernel = Callable[[Array, Array, Scores], None]
"""Takes probabilities, labels, and the array to write the scores to."""

FEW_ROWS = 1 << 14
"""Rows whose scores and temporary arrays need no memory from the system, which takes longer than the scores."""

CACHED_NUMBERS, BLOCK_NUMBERS = 1 << 20, 1 << 21
"""Entries scored at a time where rows have many, and entries that a core takes at a time in a compiled loop."""


@dataclass(frozen=True, slots=True)
class Quick:
    """A score's compiled loops: for labels, for an event as a problem of two classes, and for an event as one question;
    and its formula for tensors."""

    labels: Kernel
    event: Kernel
    question: Kernel
    tensors: Callable[[Any, Any], Any]
    """of rows of probabilities and labels on an accelerator"""

    def of_event(self, view: Any) -> Kernel | None:
        """The loop for a view of an event; None for a view that asks something else."""
        if type(view) is not str:
            return None
        return self.event if view == "canonical" else self.question if view in ("binary", "auto") else None

    def of_few(self, view: Any) -> Kernel | None:
        """Its form in NumPy; None where it has none."""
        return in_numpy(self.of_event(view))


def score_moments(score: Score, predictions: Predictions, view: Any) -> Moments:
    """Mean and spread of the rows' scores."""
    there = isinstance(predictions, DevicePredictions) and score.quick is not None and view == "canonical"
    if predictions.squares is not None or (there and not predictions.is_binary):
        return moments_of(score.rows(predictions, view), predictions.weights, predictions.squares)
    return _swept((_class_side(score, predictions, view),))[0]


def paired_moments(score: Score, before: Predictions, after: Predictions) -> tuple[Moments, ...]:
    """Mean and spread of the scores before, of those after, and of after − before, row by row."""
    if before.squares is not None:
        old, new = score.rows(before), score.rows(after)
        with np.errstate(invalid="ignore"):  # ∞ − ∞, which the means already show
            return tuple(moments_of(each, before.weights, before.squares) for each in (old, new, new - old))
    return _swept(tuple(_class_side(score, side, "canonical") for side in (before, after)))


@dataclass(frozen=True, slots=True)
class _Side:
    """Predictions, how a part of them is scored, and the compiled loop for any rows, where there is one."""

    data: Any
    score: Callable[[Any], Scores]
    loop: Callable[[slice, Scores], None] | None = None

    def fill(self, rows: slice, out: Scores) -> None:
        if self.loop is None:
            out[:] = self.score(self.data.rows(rows))
        else:
            self.loop(rows, out)


def _class_side(score: Score, predictions: Predictions, view: Any) -> _Side:
    if predictions.logits is not None and not score.reads_logits:
        assert predictions.probs is not None  # computed from the logits once, before threads ask for it
    kernel, rows = _kernel(score, predictions, view), partial(score.rows, view=view)
    if kernel is None:
        return _Side(predictions, rows)
    probs, labels = predictions.probs, predictions.labels
    return _Side(predictions, rows, lambda some, out: kernel(probs[some], labels[some], out))


def _kernel(score: Score, predictions: Predictions, view: Any) -> Kernel | None:
    """The compiled loop for these predictions, or its form in NumPy for few rows; None where there is none."""
    quick, from_logits = score.quick, predictions.logits is not None and score.reads_logits
    few = predictions.outputs.size < COMPILE_FROM
    if quick is None or predictions.soft or from_logits:
        return None
    if predictions.is_binary:
        return quick.of_few(view) if few else quick.of_event(view)
    if few:
        return None
    return quick.labels if view == "canonical" and predictions.probs.flags.c_contiguous else None


@cache
def in_numpy(kernel: Any) -> Kernel | None:
    """A loop's form in NumPy, of the same first arguments; None where there is none."""
    if isinstance(kernel, partial):
        form = in_numpy(kernel.func)
        return form and partial(form, *kernel.args)
    return getattr(kernel, "numpy", None)


def _swept(sides: tuple[_Side, ...]) -> tuple[Moments, ...]:
    first, quick = sides[0].data, all(side.loop is not None for side in sides)
    n, w = len(first.outputs), first.weights
    width = first.outputs.size // n
    fast = quick and first.outputs.size >= COMPILE_FROM
    cached = min(CACHED_ROWS, max(1, (BLOCK_NUMBERS if quick else CACHED_NUMBERS) // width))
    if n <= (FEW_ROWS if quick else cached):
        return _measured([side.score(side.data) for side in sides], w, moments)
    block = min(BLOCK_ROWS, max(1, BLOCK_NUMBERS // width)) if quick else cached

    def part(rows: slice) -> list[tuple[Moments, ...]]:
        buffers, found = np.empty((len(sides), min(cached, rows.stop - rows.start))), []
        for start in range(rows.start, rows.stop, cached):
            few = slice(start, min(start + cached, rows.stop))
            weights = None if w is None else w[few]
            if weights is None or weights.any():
                scores = [out[: few.stop - few.start] for out in buffers]
                fills = [partial(side.fill, few, out) for side, out in zip(sides, scores, strict=True)]
                for fill in fills:
                    fill()
                again = fills[0] if len(sides) == 1 else None
                found.append(_measured(scores, weights, quick_moments if fast else moments, again))
        return found

    parts = [measured for found in over_blocks(n, part, block) for measured in found]
    return tuple(pooled(column) for column in zip(*parts, strict=True))


def _measured(
    scores: list[Scores], weights: Array | None, of: Callable[..., Moments], again: Callable[[], None] | None = None
) -> tuple[Moments, ...]:
    """Of each side, and of their difference where there are two; `again` writes the scores of a single side."""
    found = [of(each, weights, again) for each in scores]
    if len(scores) == 2:
        with np.errstate(invalid="ignore"):  # ∞ − ∞, which the means already show
            found.append(of(scores[1] - scores[0], weights))
    return tuple(found)
