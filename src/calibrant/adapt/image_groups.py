"""Sums of bins per image: pixels of one image depend on each other, images do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.adapt.batch import torch
from calibrant.arrays import to_numpy
from calibrant.bins import EqualWidth
from calibrant.estimate.binned import Options, finish
from calibrant.interval.mean import FEW_ROWS
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.state.pooled import Pooled
from calibrant.state.state import State
from calibrant.types import Floats, Indices

WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)

OWN = -1
"""Images without a number are numbered downwards from here."""


def image_numbers(given: Any, shape: tuple[int, ...], taken: Any) -> Any:
    """The number of every image of a batch, which the next batches go on from.

    Parameters
    ----------
    given
        Whole numbers of the user, one per image; or None.
    shape
        Of the labels: the first axis is that of the images.
    taken
        Numbers of the images so far.
    """
    if given is None:
        return OWN - len(taken) - torch.arange(shape[0], device=taken.device)
    numbers = given if isinstance(given, torch.Tensor) else to_numpy(given, "groups")
    whole = numbers.dtype in WHOLE if isinstance(numbers, torch.Tensor) else numbers.dtype.kind in "iu"
    if not whole or tuple(numbers.shape) != shape[:1]:
        found = f"its dtype is {numbers.dtype}, its shape {tuple(numbers.shape)}"
        raise InputError("groups", f"must hold one whole number per image, {shape[0]} in all", found)
    numbers = torch.as_tensor(np.array(numbers, np.int64) if isinstance(numbers, np.ndarray) else numbers)
    if (numbers < 0).any():
        first = int((numbers < 0).nonzero()[0])
        raise InputError("groups", "must not be negative", f"groups[{first}] is {int(numbers[first])}")
    return numbers.to(taken.device, torch.int64)


def of_all_ranks(sums: Any, numbers: Any) -> tuple[Any, Any]:
    """The images of all ranks; those without a number of the user stay apart.

    One `all_reduce` says how many each rank has, another one fills in their sums.
    """
    distributed = torch.distributed
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    sizes = torch.zeros(ranks, dtype=torch.int64, device=sums.device)
    sizes[rank] = len(sums)
    distributed.all_reduce(sizes)
    counts = sizes.tolist()
    first, width = sum(counts[:rank]), sums.shape[1] * sums.shape[2]
    own = slice(first, first + len(sums))
    joined = torch.zeros(sum(counts), width + 1, dtype=torch.float64, device=sums.device)
    joined[own, :width] = sums.reshape(len(sums), width)
    joined[own, width] = torch.where(numbers < 0, numbers - first, numbers).double()  # whole up to 2⁵³
    distributed.all_reduce(joined)
    return joined[:, :width].reshape(-1, *sums.shape[1:]), joined[:, width].long()


def per_image(sums: Any, numbers: Any) -> tuple[Floats, Indices]:
    """(G, B, 4) sums of the images that hold pixels, and their numbers: parts of one image added up."""
    rows, named = sums.cpu().numpy(), numbers.cpu().numpy()
    found, at = np.unique(named, return_inverse=True)
    added = np.zeros((len(found), *rows.shape[1:]))
    np.add.at(added, at.ravel(), rows)
    filled = added[..., 0].sum(axis=1) > 0
    order = np.argsort(np.where(found < 0, OWN - found, found), kind="stable")  # as they came
    order = order[filled[order]]
    return added[order], found[order]


def image_error(sums: Floats, view: str, options: Options) -> Estimate:
    """The binned error of all pixels, with the noise floor, the correction and the interval of independent images.

    Each bin is given the number of independent rows that would tell as much of its rate as its images do, by the
    spread of the images' errors; never more than it has pixels.
    """
    total = sums.sum(axis=0)
    bins, n = EqualWidth(len(total)), round(float(total[:, 0].sum()))
    rows, noise = _rows_and_noise(sums)
    scaled = total * rows.sum() / total[:, 0].sum()  # the shares of the bins, and as many rows in all
    squares = np.zeros_like(total)
    squares[:, 0] = np.divide(scaled[:, 0] ** 2, rows, out=squares[:, 0], where=rows > 0)
    squares[:, 1] = noise * (rows.sum() / total[:, 0].sum()) ** 2  # Σwp − Σwp² of calibrated rows: their variance
    found = finish(bins.state_of(scaled[None], n, squares[None]), view, (), options)
    parts = {**found.parts, "bins": bins.state_of(total[None], n).table()}
    few = f"{len(sums)} {'image is' if len(sums) == 1 else 'images are'} few to tell how much images differ"
    interval = None if found.interval is None else replace(found.interval, method=f"{found.interval.method}, images")
    cautions = (*found.cautions, *[few] * (len(sums) < FEW_ROWS))
    return replace(found, interval=interval, parts=parts, cautions=cautions)


def _rows_and_noise(sums: Floats) -> tuple[Floats, Floats]:
    """(B,) each: the rows that tell as much as the images of a bin, and the variance of its Σ(p − y) if calibrated.

    Images are independent, so that variance is Σ over images of (Σ(p − y))², however their pixels depend on each
    other. That of the rate is taken around the bin's own gap, as that of any ratio over clusters.
    """
    count, error = sums[..., 0], sums[..., 1] - sums[..., 3]
    n, images = count.sum(axis=0), (count > 0).sum(axis=0)
    safe = np.maximum(n, 1.0)
    gap, rate = error.sum(axis=0) / safe, sums[..., 3].sum(axis=0) / safe
    apart = ((error - count * gap) ** 2).sum(axis=0) * images / np.maximum(images - 1, 1)
    told = np.divide(rate * (1 - rate) * n**2, apart, out=images.astype(np.float64), where=(apart > 0) & (images > 1))
    return np.clip(told, np.minimum(n, 1.0), n), (error**2).sum(axis=0)


def image_states(sums: Floats, numbers: Indices, part: str) -> dict[str, State]:
    """A state per image: the pixels of a bin at their mean prediction."""
    found = {}
    for image, number in zip(sums, numbers.tolist(), strict=True):
        name = f"image {OWN - number}" if number < 0 else str(number)
        weight, probs, _, hits = image[image[:, 0] > 0].T
        table = Pooled(np.clip(probs / weight, 0.0, 1.0), weight, hits)
        found[name] = State(round(table.total), (False, True), True, {"binary": [table]}, parts=(f"{part}, {name}",))
    return found
