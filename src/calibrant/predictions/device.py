"""Predictions that lie on an accelerator: checked there, and copied from there only as far as they are used."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.arrays import device_of, read_only, to_numpy
from calibrant.inputs import LOW_PRECISION, ROW_SUM_TOLERANCE, FloatArray, floats
from calibrant.predictions.event import Event
from calibrant.predictions.mass import check_mass
from calibrant.predictions.predictions import Predictions
from calibrant.types import Array


class DevicePredictions(Predictions):
    """Rows of probabilities on an accelerator with their labels, of which nothing is wrong."""

    __slots__ = ("tensor",)

    def __init__(self, codes: Array, tensor: Any, counts: Any, weights: Any) -> None:
        self.tensor = tensor
        self.classes, self.labels = tuple(range(tensor.shape[1])), codes
        self._probs = self.logits = self.groups = self.index = self.source = None
        self._weigh(check_mass(counts, weights, len(codes)))
        self._events: dict[str, Event] = {}
        self._hold(read_only)

    is_binary = is_confidence = False

    @property
    def probs(self) -> FloatArray:
        """The probabilities, copied on first use."""
        if self._probs is None:
            self._probs = read_only(_copied(self.tensor))
        return self._probs

    @property
    def n(self) -> int:
        """Number of rows, repeated ones included."""
        return len(self.labels) if self.counted is None else self.counted

    def _make_event(self, name: str) -> Event:
        if name != "top" or self._probs is not None:
            return super()._make_event(name)
        most, top = self.tensor.max(dim=1)  # the lowest class index wins a tie
        return self._asked(_copied(most), (_copied(top) == self.labels).view(np.uint8), name)

    def _class_event(self, k: int, name: str) -> Event:
        if self._probs is not None:
            return super()._class_event(k, name)
        return self._asked(_copied(self.tensor[:, k]), (self.labels == k).view(np.uint8), name)

    def _copy(self) -> Predictions:
        """A copy is of rows that are here."""
        other = object.__new__(Predictions)
        other._probs = self.probs
        for name in (*self.held, *self.told):
            setattr(other, name, getattr(self, name))
        other._events, other.source = {}, None
        return other


def on_device(labels: Any, probs: Any, counts: Any, weights: Any) -> DevicePredictions | None:
    """Predictions of a matrix on an accelerator, checked there.

    None where there is anything to refuse, which the other checks name by its value and
    place; and of all other kinds of input.
    """
    if device_of(probs) is None or probs.ndim != 2 or not all(map(_is_array, (labels, counts, weights))):
        return None
    codes = labels_on_device(labels, probs.detach())
    return (
        None if codes is None else DevicePredictions(_copied(codes).astype(np.int32), probs.detach(), counts, weights)
    )


def labels_on_device(labels: Any, outputs: Any, *, logits: bool = False, soft: bool = False) -> Any:
    """Class indices, or shares if `soft`, beside outputs on an accelerator; None if not all is as it should be.

    All checks are done there, and one number is copied: whether they passed.

    Parameters
    ----------
    labels
        A tensor or an array of numbers: classes, one-hot rows, or shares.
    outputs
        Probabilities or logits, a tensor `(n,)` or `(n, K)`.
    logits
        Are the outputs logits?
    soft
        Are the labels shares?
    """
    import torch

    if (
        not (outputs.is_floating_point() and outputs.numel())
        or outputs.ndim not in (1, 2)
        or outputs.shape[-1:] == (1,)
    ):
        return None
    if labels is None or (type(labels) is np.ndarray and labels.dtype.kind not in "biu"):
        return None
    y = labels.detach() if hasattr(labels, "detach") else torch.as_tensor(labels.astype(np.int64))
    y = (y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y).to(outputs.device)
    found, right = (y, _are_shares(y)) if soft and y.shape == outputs.shape else _codes(y, outputs)
    if found is None:
        return None
    sound = torch.isfinite(outputs).all() if logits else _are_shares(outputs)
    return found if bool(right & sound) else None


def _is_array(values: Any) -> bool:
    """Something without an index, whose values can be checked as numbers; or nothing."""
    return values is None or hasattr(values, "detach") or type(values) is np.ndarray


def _are_shares(p: Any) -> Any:
    """Do all entries lie in [0, 1] and all rows sum to 1, as `check_matrix` would have them?"""
    import torch

    inside = (p >= 0).all() & (p <= 1).all()  # NaN is neither
    if p.ndim == 1:
        return inside
    tolerance = ROW_SUM_TOLERANCE
    if (low := LOW_PRECISION.get(str(p.dtype).removeprefix("torch."))) is not None:
        tolerance = max(tolerance, low[1] / 2 * (1 + np.log2(p.shape[1])))
    return inside & ((p.sum(dim=1, dtype=torch.float64) - 1).abs() <= tolerance).all()


def _codes(y: Any, outputs: Any) -> tuple[Any, Any]:
    """Labels as class indices, and whether all of them are classes; None where that is not for the device to say."""
    import torch

    classes = outputs.shape[1] if outputs.ndim == 2 else 2
    if y.ndim == 2 and y.shape == outputs.shape and not y.is_complex():
        return y.to(torch.uint8).argmax(dim=1), ((y == 0) | (y == 1)).all() & (y.sum(dim=1) == 1).all()
    if y.ndim != 1 or len(y) != len(outputs) or y.is_floating_point() or y.is_complex():
        return None, None
    return y, (y >= 0).all() & (y < classes).all()


def _copied(values: Any) -> Array:
    """A tensor here; half precision as float32."""
    return floats(values, "probs") if values.is_floating_point() else to_numpy(values, "labels")
