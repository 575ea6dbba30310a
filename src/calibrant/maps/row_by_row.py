"""How a map treats many rows: block by block, as each row is treated by itself."""

from __future__ import annotations

from dataclasses import fields

from calibrant.kernels.logits import BLOCK
from calibrant.kernels.rows.blocks import row_by_row
from calibrant.types import Array


class RowByRow:
    """What a map does to predictions, none of which depends on another row."""

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Recalibrated probabilities of checked probabilities or logits."""
        raise NotImplementedError

    def from_probs(self, probs: Array) -> Array:
        """Recalibrated probabilities of checked probabilities."""
        return self._by_blocks(probs, are_logits=False)

    def from_logits(self, logits: Array) -> Array:
        """Recalibrated probabilities of checked logits."""
        return self._by_blocks(logits, are_logits=True)

    @property
    def own_blocks(self) -> bool:
        """Does it share the cores itself, as products of matrices do, or is it made of maps that do?"""
        held = (getattr(self, each.name) for each in fields(self))  # type: ignore[arg-type]
        parts = (part for value in held for part in (value if isinstance(value, tuple) else (value,)))
        return any(part.own_blocks for part in parts if isinstance(part, RowByRow))

    def _by_blocks(self, predictions: Array, are_logits: bool) -> Array:
        """Block by block: rows stay in a core's cache from one step to the next, and the cores share the blocks."""
        block = len(predictions)
        if predictions.size > BLOCK and not self.own_blocks:
            block = max(1, BLOCK * 8 // predictions[0].nbytes)
        return row_by_row(lambda rows: self.recalibrated(rows, are_logits), predictions, block)
