"""Predictions that lie on an accelerator: checked there, and copied from there only as far as they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.arrays import device_of, read_only, to_numpy
from calibrant.inputs import LOW_PRECISION, ROW_SUM_TOLERANCE, FloatArray, floats
from calibrant.kernels.logits import HUGE
from calibrant.kernels.rows.device_rows import is_event, top_of_rows
from calibrant.predictions.event import Event
from calibrant.predictions.mass import check_mass
from calibrant.predictions.predictions import Predictions
from calibrant.types import Array, Floats

BLOCK_NUMBERS = 1 << 26
"""Probabilities scored at a time: 512 MB of float64."""


class DevicePredictions(Predictions):
    """Rows of probabilities or logits on an accelerator with their labels, of which nothing is wrong."""

    __slots__ = ("_copied_labels", "_copied_logits", "_tensor", "_top", "codes", "given")

    def __init__(
        self, codes: Any, given: Any, counts: Any, weights: Any, *, logits: bool, top: tuple[Any, Any] | None = None
    ) -> None:
        self.codes, self.given, self._top = codes, given, top
        self._tensor = None if logits else given
        self.classes = tuple(range(given.shape[1] if given.ndim == 2 else 2))
        self._copied_labels: Array | None = None
        self._copied_logits: FloatArray | None = None
        self._probs = self.groups = self.index = self.source = None
        self._weigh(check_mass(counts, weights, len(given)))
        for array in (self.weights, self.squares):
            if array is not None:
                read_only(array)
        self._events: dict[str, Any] = {}

    is_confidence = soft = False

    @property
    def tensor(self) -> Any:
        """The probabilities there."""
        if self._tensor is None:
            z = self.logit_tensor
            self._tensor = z.sigmoid() if z.ndim == 1 else z.softmax(dim=1)
        return self._tensor

    @property
    def logit_tensor(self) -> Any:
        """The logits there, half precision as float32; None where probabilities were given."""
        return None if self._tensor is self.given else _wide(self.given)

    @property
    def labels(self) -> Array:  # type: ignore[override]
        """The labels, copied on first use."""
        if self._copied_labels is None:
            few = self.codes.byte() if self.is_binary else self.codes.int()
            self._copied_labels = read_only(to_numpy(few, "labels"))
        return self._copied_labels

    @property
    def probs(self) -> FloatArray:
        """The probabilities, copied on first use."""
        if self._probs is None:
            self._probs = read_only(_copied(self.tensor))
        return self._probs

    @property
    def logits(self) -> FloatArray | None:  # type: ignore[override]
        """The logits if they were given, copied on first use."""
        if self._copied_logits is None and self.logit_tensor is not None:
            self._copied_logits = read_only(_copied(self.logit_tensor))
        return self._copied_logits

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.given.shape)

    @property
    def precision(self) -> str:
        return str(_wide(self.given).dtype).removeprefix("torch.")

    @property
    def n(self) -> int:
        """Number of rows, repeated ones included."""
        return int(self.given.shape[0]) if self.counted is None else self.counted

    @property
    def is_binary(self) -> bool:
        return bool(self.given.ndim == 1)

    def asked(self, view: Any) -> tuple[Any, Any]:
        """Probability and outcome of a view's yes/no question, as tensors.

        Parameters
        ----------
        view
            `binary`, `top`, or `class k`.
        """
        name, p = self.view(view), _wide(self.tensor)
        if name == "top":
            if self._top is None:
                top = p.max(dim=1)  # the lowest class index wins a tie
                self._top = top.values, top.indices == self.codes
            return self._top
        k = 1 if name == "binary" else self._class_index(name[6:])
        zeros_and_ones = k == 1 and p.ndim == 1 and not self.codes.is_floating_point()
        hits = self.codes if zeros_and_ones else self.codes == k
        return (p[:, k] if p.ndim == 2 else p if k else 1 - p), hits

    def log_columns(self) -> Any:
        """Logits or ln p, a tensor `(n, K)`; None where rows have weights, or a number is 0 or huge and needs care."""
        import torch

        z = self.logit_tensor
        if self.weights is not None or (z is not None and bool(z.abs().max() > HUGE)):
            return None
        if z is not None:
            return z if z.ndim == 2 else torch.stack([torch.zeros_like(z), z], dim=1)
        p = _wide(self.tensor)
        p = p if p.ndim == 2 else torch.stack([1 - p, p], dim=1)
        return p.log() if bool((p > 0).all()) else None

    def scored(self, score: Callable[[Any, Any], Any]) -> Floats:
        """The score of each row; only these are copied.

        Parameters
        ----------
        score
            Takes rows of probabilities in float64 and class indices, and gives the scores.
        """
        import torch

        few = max(1, BLOCK_NUMBERS // self.shape[1])
        parts = zip(self.tensor.split(few), self.codes.split(few), strict=True)
        return to_numpy(torch.cat([score(p.double(), y) for p, y in parts]), "probs")

    def _make_event(self, name: str) -> Event:
        return self._event(name)

    def _class_event(self, k: int, name: str) -> Event:  # noqa: ARG002
        return self._event(name)

    def _event(self, name: str) -> Event:
        p, hits = self.asked(name)
        return self._asked(_copied(p), to_numpy(hits.byte(), "labels"), name)

    def _copy(self) -> Predictions:
        """A copy is of rows that are here."""
        other = object.__new__(Predictions)
        other._probs = None if self.logits is not None else self.probs
        for name in (*self.held, *self.told):
            if name != "_probs":
                setattr(other, name, getattr(self, name))
        other._events, other.source = {}, None
        return other


def on_device(
    labels: Any, outputs: Any, counts: Any, weights: Any, *, logits: bool = False
) -> DevicePredictions | None:
    """Predictions whose probabilities or logits lie on an accelerator, checked there.

    None where there is anything to refuse, which the other checks name by its value and
    place; and of all other kinds of input.
    """
    if device_of(outputs) is None or not all(map(_is_array, (labels, counts, weights))):
        return None
    given, top = outputs.detach(), None
    if not logits and given.is_cuda and _is_plain(labels, given):
        codes, top = labels, top_of_rows(given, labels, ROW_SUM_TOLERANCE)
    if top is None:
        codes = labels_on_device(labels, given, logits=logits)
    if codes is None:
        return None
    return DevicePredictions(codes, given, counts, weights, logits=logits, top=top)


def shares_on_device(predictions: DevicePredictions) -> tuple[Any, Any]:
    """Probabilities and one-hot labels `(n, K)`, as tensors of float64 where the probabilities lie."""
    import torch

    p = predictions.tensor.double()
    p = torch.stack([1 - p, p], dim=1) if p.ndim == 1 else p
    return p, torch.nn.functional.one_hot(predictions.codes.long(), p.shape[1]).double()


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
    if not (logits or soft) and outputs.ndim == 1 and y.shape == outputs.shape and _is_whole(y):
        y = y.byte() if y.dtype == torch.bool else y
        right = is_event(outputs, y) if outputs.is_cuda else None
        if right is None:
            ends = [torch.stack(each.aminmax()).tolist() for each in (outputs, y)]
            right = all(low >= 0 and high <= 1 for low, high in ends)  # NaN is both if there is one
        return y if right else None
    found, right = (y, _are_shares(y)) if soft and y.shape == outputs.shape else _codes(y, outputs)
    if found is None:
        return None
    sound = torch.isfinite(torch.stack(list(outputs.aminmax()))).all() if logits else _are_shares(outputs)
    return found if bool(right & sound) else None


def _is_plain(labels: Any, given: Any) -> bool:
    """Rows of float32 for several classes, and class indices as integers beside them."""
    if not (given.ndim == 2 and given.shape[1] > 1 and given.numel() and str(given.dtype) == "torch.float32"):
        return False
    there = getattr(labels, "device", None) == given.device and labels.shape == given.shape[:1]
    return bool(there and str(labels.dtype).startswith("torch.int"))


def _is_array(values: Any) -> bool:
    """Something without an index, whose values can be checked as numbers; or nothing."""
    return values is None or hasattr(values, "detach") or type(values) is np.ndarray


def _is_whole(y: Any) -> bool:
    return not (y.is_floating_point() or y.is_complex())


def _are_shares(p: Any) -> Any:
    """Do all entries lie in [0, 1] and all rows sum to 1, as `check_matrix` would have them?"""
    import torch

    ends = p.aminmax()  # NaN is both if there is one
    inside = (ends.min >= 0) & (ends.max <= 1)
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
    if y.ndim != 1 or len(y) != len(outputs) or y.is_complex():
        return None, None
    if y.is_floating_point():  # as losses of one event take them
        return (y, ((y == 0) | (y == 1)).all()) if outputs.ndim == 1 else (None, None)
    ends = (y.byte() if y.dtype == torch.bool else y).aminmax()
    return y, (ends.min >= 0) & (ends.max < classes)


def _wide(values: Any) -> Any:
    """Half precision as float32."""
    return values.float() if str(values.dtype).removeprefix("torch.") in LOW_PRECISION else values


def _copied(values: Any) -> FloatArray:
    """A tensor here; half precision as float32."""
    return floats(values, "probs")
