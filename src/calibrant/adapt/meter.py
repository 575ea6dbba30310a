"""Calibration watched while a network is trained: a module whose buffers are the state."""

from __future__ import annotations

from typing import Any, Literal
from uuid import uuid4

import numpy as np

from calibrant.adapt.batch import one_of, torch
from calibrant.adapt.image_groups import image_error, image_numbers, image_states, of_all_ranks, per_image
from calibrant.bins import EqualWidth
from calibrant.estimate.binned import Options, finish
from calibrant.inputs import check_choice, check_count
from calibrant.kernels.rows.buckets import FIRST, HALF, SHIFT
from calibrant.kernels.rows.cells import N_CELLS, N_INDICES
from calibrant.kernels.sums.device_bins import bin_sums, group_bin_sums
from calibrant.norms import Norm
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.state.pooled import Pooled
from calibrant.state.state import State

VIEWS = ("auto", "binary", "top", "classwise")


@checked
class Meter(torch.nn.Module):  # type: ignore[misc]
    """Sums of calibration over batches, on the device of the network: 480 bytes, however many rows.

    Rows are summed in equal-width bins (Σ1, Σp, Σp², Σy in float64); nothing is kept of them, and no update waits for
    the device. Under `torch.distributed` the sums of all ranks are added when they are asked for.

    Parameters
    ----------
    view
        Which events are counted: `"binary"`, for one column; `"top"`, is the most probable class right?; or
        `"classwise"`, each class on its own. `"auto"` is `binary` for one column and `top` for several.
    n_bins
        Number of equal-width bins.
    buckets
        Also keep fine buckets of the predictions (1 MB), from which `to_state` makes a state that every estimator, test
        and report takes. For `binary` and `top`.
    ignore
        A label whose rows do not count, such as 255 in segmentation.
    n_classes
        Number of columns, 1 for an event. None: that of the first batch; give it with `"classwise"` where a saved
        meter is loaded, or where a rank may see no batch.
    groups
        `"image"`: also keep the sums of every image, an entry of the batch, as pixels of one image are not
        independent (480 bytes per image). The noise floor and the interval of the error are then those of independent
        images, and `to_state` gives a state per image. For `binary` and `top`, without `buckets`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.adapt.torch import Meter
    >>> meter = Meter()
    >>> for _ in range(3):
    ...     meter.update(torch.tensor([0, 1]), torch.tensor([[0.8, 0.2], [0.3, 0.7]]))
    >>> round(float(meter.compute()), 6), meter.n
    (0.25, 6)
    """

    sums: Any
    refused: Any
    cells: Any
    ends: Any
    images: Any
    numbers: Any

    def __init__(
        self,
        view: Literal["auto", "binary", "top", "classwise"] = "auto",
        *,
        n_bins: int = 15,
        buckets: bool = False,
        ignore: int | None = None,
        n_classes: int | None = None,
        groups: Literal["image"] | None = None,
    ) -> None:
        super().__init__()
        self.view = check_choice("view", view, VIEWS)
        self.n_bins, self.buckets, self.ignore = check_count(n_bins, "n_bins"), buckets, ignore
        if ignore is not None and not -(2**63) <= ignore < 2**63:
            raise InputError("ignore", "must be a label, a whole number of 64 bits", f"it is {ignore:.3g}")
        if buckets and view == "classwise":
            raise InputError("buckets", "must be False with view='classwise'", "they are of one event")
        if n_classes is not None:
            check_count(n_classes, "n_classes")
        if groups is not None:
            check_choice("groups", groups, ("image",))
            if buckets or view == "classwise":
                given = "buckets=True" if buckets else "view='classwise'"
                raise InputError("groups", f"must be None with {given}", "images are kept as bins of one event")
        self.groups = groups
        self.n_classes = n_classes or 0
        """columns of the predictions; 0 until they are known"""
        events = self.n_classes if view == "classwise" and n_classes else 1
        self.register_buffer("sums", torch.zeros(events, n_bins, 4, dtype=torch.float64))
        self.register_buffer("refused", torch.zeros(1, dtype=torch.float64))
        if buckets:
            self.register_buffer("cells", torch.zeros(N_INDICES, 3, dtype=torch.float64))
            self.register_buffer("ends", torch.full((N_INDICES, 2), -2.0, dtype=torch.float64))
        if groups is not None:
            self._forget_images()

    def _forget_images(self) -> None:
        device = self.sums.device
        self.register_buffer("images", torch.zeros(0, self.n_bins, 4, dtype=torch.float64, device=device))
        self.register_buffer("numbers", torch.zeros(0, dtype=torch.int64, device=device))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Room for as many images as were saved."""
        for name in ("images", "numbers") if self.groups is not None else ():
            if prefix + name in state_dict:
                setattr(self, name, torch.zeros_like(state_dict[prefix + name], device=self.sums.device))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def get_extra_state(self) -> int:
        """What a saved meter holds beside its sums: the number of columns."""
        return self.n_classes

    def set_extra_state(self, state: int) -> None:
        """The number of columns of a saved meter.

        Parameters
        ----------
        state
            What `get_extra_state` returned.
        """
        self.n_classes = state

    def reset(self) -> None:
        """Forget all rows."""
        for name, buffer in self.named_buffers():
            buffer.fill_(-2.0 if name == "ends" else 0.0)
        if self.groups is not None:
            self._forget_images()

    def forward(self, labels: Any, probs: Any = None, *, logits: Any = None, groups: Any = None) -> Estimate:
        """The error of one batch, which is also taken in.

        Parameters
        ----------
        labels, probs, logits, groups
            As in `update`.
        """
        alone = Meter(self.view, n_bins=self.n_bins, ignore=self.ignore, groups=self.groups).to(self.sums.device)
        for each in (alone, self):
            each.update(labels, probs, logits=logits, groups=groups)
        return alone.compute(reduce=False)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def update(self, labels: Any, probs: Any = None, *, logits: Any = None, groups: Any = None) -> None:
        """Take in a batch. Values that are no probabilities are counted, and refused when the error is asked for.

        Parameters
        ----------
        labels
            Class indices `(n,)`, or `(n, …)` beside predictions `(n, K, …)`, as in segmentation.
        probs
            Probabilities `(n,)`, `(n, K)` or `(n, K, …)`; half precision is read as float32.
        logits
            Logits, in place of probabilities.
        groups
            With `groups="image"`: a whole number for every entry of the batch, where several of them belong together, as
            the slices of a scan do, or come in several batches. By default each is a group of its own.
        """
        name, given = one_of("probs", probs, "logits", logits)
        for argument, value in (("labels", labels), (name, given)):
            if not isinstance(value, torch.Tensor):
                raise InputError(argument, "must be a tensor", f"it is a {type(value).__name__}")
        if groups is not None and self.groups is None:
            raise InputError("groups", "must be left out", "this meter keeps none", "Use Meter(groups='image')")
        rows, y, images = self._rows(labels, given, name)
        p = self._probabilities(rows, name == "logits")
        self.refused += (~((p >= 0) & (p <= 1))).sum()  # NaN is neither
        if p.ndim == 1 or self.view == "top" or (self.view == "auto" and p.ndim == 2):
            p, hit = _event(p, y)
            if images is None:
                self.sums += bin_sums(p, hit, self.n_bins)
            else:
                self._add_images(labels, group_bin_sums(p, hit, self.n_bins, images, len(labels)), groups)
            if self.buckets:
                self._add_to_buckets(p.double(), hit)
        else:
            found = bin_sums(p, y, self.n_bins)
            self.sums = found if len(self.sums) != len(found) else self.sums + found

    def _add_images(self, labels: Any, found: Any, groups: Any) -> None:
        numbers = image_numbers(groups, tuple(labels.shape), self.numbers)
        self.images, self.numbers = torch.cat([self.images, found]), torch.cat([self.numbers, numbers])
        self.sums += found.sum(dim=0)

    def _rows(self, labels: Any, given: Any, name: str) -> tuple[Any, Any, Any]:
        """Predictions as `(n,)` or `(n, K)`, labels and places of the images as `(n,)`, on the device of the sums."""
        rows = given.detach().to(self.sums.device)
        rows = rows if rows.dtype in (torch.float32, torch.float64) else rows.float()
        y = labels.detach().to(self.sums.device)
        if rows.ndim > 2:  # (n, K, …) → (n·…, K)
            rows = rows.movedim(1, -1).reshape(-1, rows.shape[1])
        rows = rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
        images = None
        if self.groups is not None:
            images = torch.arange(len(y), device=y.device).repeat_interleave(y[0].numel() if len(y) else 1)
        y = y.reshape(-1)
        if len(y) != len(rows):
            raise InputError(
                "labels", f"must have one label for each of the {len(rows)} predictions", f"there are {len(y)}"
            )
        if rows.ndim == 1 and self.view in ("top", "classwise"):
            raise InputError(name, f"must have a column per class for view={self.view!r}", "there is one column")
        columns = 1 if rows.ndim == 1 else rows.shape[1]
        if self.n_classes not in (0, columns):
            raise InputError(name, f"must have {self.n_classes} columns as the meter", f"there are {columns}")
        if self.view == "binary" and columns > 2:
            raise InputError(name, "must have one or two columns for view='binary'", f"there are {columns}")
        self.n_classes = columns
        if self.ignore is not None:
            kept = y != self.ignore
            rows, y = rows[kept], y[kept]
            images = None if images is None else images[kept]
        most = max(columns - 1, 1)
        self.refused += ((y < 0) | (y > most)).sum()
        return rows, y.clamp(0, most), images

    def _probabilities(self, rows: Any, from_logits: bool) -> Any:
        if from_logits:
            rows = torch.sigmoid(rows) if rows.ndim == 1 else torch.softmax(rows, dim=1)
        return rows[:, 1] if self.view == "binary" and rows.ndim == 2 else rows

    def _add_to_buckets(self, p: Any, hit: Any) -> None:
        near = torch.minimum(p, 1 - p).nan_to_num(0.0).clamp(min=0.0)
        place = (near.view(torch.int64) >> SHIFT) - FIRST
        place = torch.maximum(place, (near > 0).long()).clamp(max=HALF)
        place = torch.where(p < 0.5, place, 2 * HALF - place)
        cell = (p.nan_to_num(0.0).clamp(0.0, 1.0) * N_CELLS).floor()
        place = place + (cell - (cell / N_CELLS >= p).double()).clamp(min=0.0).long()  # as in `find_cells`
        self.cells.index_add_(0, place, torch.stack([torch.ones_like(p), p, hit.double()], dim=1))
        both = torch.stack([-p, p], dim=1)
        self.ends.scatter_reduce_(0, place[:, None].expand(-1, 2), both, "amax")

    def _reduced(self, reduce: bool) -> dict[str, Any]:
        """The buffers, added up over all ranks."""
        found = dict(self.named_buffers())
        distributed = torch.distributed
        if not (reduce and distributed.is_available() and distributed.is_initialized()):
            return found
        images = of_all_ranks(found.pop("images"), found.pop("numbers")) if self.groups is not None else ()
        names = [name for name in found if name != "ends"]
        joined = torch.cat([found[name].reshape(-1) for name in names])
        distributed.all_reduce(joined)
        parts = joined.split([found[name].numel() for name in names])
        summed = {name: part.reshape(found[name].shape) for name, part in zip(names, parts, strict=True)}
        if "ends" in found:
            summed["ends"] = found["ends"].clone()
            distributed.all_reduce(summed["ends"], distributed.ReduceOp.MAX)
        return summed | dict(zip(("images", "numbers"), images, strict=False))

    def _checked(self, reduce: bool) -> dict[str, Any]:
        found = self._reduced(reduce)
        if found["refused"].item():
            values = f"{found['refused'].item():.0f} values were not"
            raise InputError(
                "probs", "must lie in [0, 1], and labels be classes", values, "Look for NaN in the network"
            )
        if not found["sums"][0, :, 0].sum().item():
            raise InputError("labels", "must hold at least one row", "none was taken in", "Call update first")
        return found

    @property
    def n(self) -> int:
        """Rows taken in by this rank."""
        return int(self.sums[0, :, 0].sum().item())

    @checked
    def compute(self, *, norm: Norm = 1, debiased: bool = False, reduce: bool = True) -> Estimate:
        """The binned calibration error of all rows so far, an `Estimate`, which is a number.

        Parameters
        ----------
        norm, debiased
            As in `binned_error`. The debiased square has an interval; with `groups="image"` it is that of independent
            images, and so is the noise floor.
        reduce
            Add the sums of all ranks, where there are several.
        """
        found = self._checked(reduce)
        sums, options = found["sums"].cpu().numpy(), Options(norm, debiased)
        n = round(float(sums[0, :, 0].sum()))
        state = EqualWidth(self.n_bins).state_of(sums, n)
        classwise = self.view == "classwise"
        view = self.view if self.view != "auto" else "binary" if self.n_classes == 1 else "top"
        if self.groups is not None:
            return image_error(per_image(found["images"], found["numbers"])[0], view, options)
        classes = tuple(range(len(sums))) if classwise else ()
        return finish(state, view, classes, options)

    @checked
    def to_state(self, *, part: str | None = None, reduce: bool = True) -> State | dict[str, State]:
        """A state that `diagnose`, every estimator, test and map of one event take. Needs `buckets=True`.

        With `groups="image"` a dict with a state per image, which is taken in the same places as rows in groups:
        `mean_gap(states, cluster=True)`, `diagnose(states, cluster="any")`, and `audit(states)` for the images that are
        wrong. The pixels of a bin then count at their mean prediction. Of several classes the event is that the most
        probable one is right.

        Parameters
        ----------
        part
            A name for these rows within the state, such as that of the epoch.
        reduce
            Add the sums of all ranks, where there are several.
        """
        if not self.buckets and self.groups is None:
            raise InputError(
                "buckets", "must be True for a state", "this meter keeps bins only", "Use Meter(buckets=True)"
            )
        found, named = self._checked(reduce), part if part is not None else uuid4().hex[:12]
        if self.groups is not None:
            return image_states(*per_image(found["images"], found["numbers"]), named)
        cells, ends = found["cells"].cpu().numpy(), found["ends"].cpu().numpy()
        cells, ends = cells[cells[:, 0] > 0], ends[cells[:, 0] > 0]
        weight, low, high = cells[:, 0], np.maximum(-ends[:, 0], 0.0), ends[:, 1]
        table = Pooled(np.clip(cells[:, 1] / weight, low, high), weight, cells[:, 2], low=low, high=high)
        classes = (False, True)  # did the event occur, or was the top class right?
        return State(round(table.total), classes, True, {"binary": [table]}, parts=(named,), max_distinct=1)


def _event(p: Any, y: Any) -> tuple[Any, Any]:
    """Probability and outcome of the event, or of the top class."""
    if p.ndim == 1:
        return p, y == 1
    top = p.max(dim=1)
    return top.values, top.indices == y
