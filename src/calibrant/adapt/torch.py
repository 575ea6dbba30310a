"""Maps as torch modules: the last layer of a network."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from calibrant.adapt import combined_formulas  # noqa: F401  (it registers the formulas)
from calibrant.adapt.formulas import Outputs, finished, formula
from calibrant.adapt.meter import Meter
from calibrant.inputs import check_choice
from calibrant.maps import CalibrationMap
from calibrant.options import checked
from calibrant.problems import InputError, MissingExtra

try:
    import torch
    from torch.nn import functional
except ImportError as error:
    raise MissingExtra("torch", "torch", "calibrant.adapt.torch") from error

__all__ = ["CalibrationModule", "Meter", "to_module"]

OUTPUTS = ("probs", "log_probs", "logits")
PRECISIONS: dict[Any, Any] = {torch.float32: np.float32, torch.float64: np.float64}


@checked
def to_module(
    map: CalibrationMap,  # noqa: A002
    *,
    output: Literal["probs", "log_probs", "logits"] = "probs",
    trainable: bool = False,
    dtype: Any = None,
) -> CalibrationModule:
    """A fitted map as a module that takes logits and returns recalibrated probabilities.

    Logits are `(…, K)`, or of any shape for a map of a single event. The module works on any
    device, under autocast's half precision too: logits are cast to its `dtype`.

    Parameters
    ----------
    map
        A fitted map.
    output
        What the module returns: `"probs"`, `"log_probs"` or `"logits"`.
    trainable
        Make the map's numbers parameters for further training; else they are buffers. Maps
        that look up a table (isotonic, histogram, …) pass gradients to the logits where they
        have a slope, but have nothing to train.
    dtype
        `torch.float32` or `torch.float64`; torch's default if `None`.

    Examples
    --------
    >>> import calibrant as cal, torch
    >>> from calibrant.adapt.torch import to_module
    >>> valid, test = cal.example()
    >>> head = to_module(cal.recalibrate(valid, "temperature"))
    >>> head(torch.tensor([[2.0] + [0.0] * 9])).sum().item().__round__(5)
    1.0
    """
    return CalibrationModule(map, output, trainable, torch.get_default_dtype() if dtype is None else dtype)


class CalibrationModule(torch.nn.Module):  # type: ignore[misc]
    """A map as a module; made by `to_module`."""

    def __init__(self, fitted: CalibrationMap, output: str, trainable: bool, dtype: Any) -> None:
        super().__init__()
        self.map, self.output, self.trainable = fitted, check_choice("output", output, OUTPUTS), trainable
        if not isinstance(dtype, torch.dtype) or dtype not in PRECISIONS:
            raise InputError("dtype", "must be torch.float32 or torch.float64", f"it is {dtype}")
        self.precision = PRECISIONS[dtype]
        self._formula = formula(fitted, self.precision)
        if trainable and not self._formula.learned:
            raise InputError("trainable", f"needs a map with numbers to train; {fitted.method} has none")
        for name, value in self._formula.constants.items():
            tensor = torch.tensor(value)
            if trainable and name in self._formula.learned:
                self.register_parameter(name, torch.nn.Parameter(tensor))
            else:
                self.register_buffer(name, tensor)

    def forward(self, logits: Any) -> Any:
        """Logits to what `output` names."""
        if not isinstance(logits, torch.Tensor) or logits.is_complex():
            what = logits.dtype if isinstance(logits, torch.Tensor) else f"a {type(logits).__name__}"
            raise InputError("logits", "must be a tensor of real numbers", f"it is {what}")
        constants = {name: getattr(self, name) for name in self._formula.constants}
        wide = next((c.dtype for c in constants.values()), logits.dtype)
        outputs = Outputs(OPERATIONS, logits.to(wide), "logits", self.map.single)
        if not self.map.single and logits.shape[-1:] != (len(self.map.classes),):
            wanted = f"must have {len(self.map.classes)} columns, as this map was fitted"
            raise InputError("logits", wanted, f"its shape is {tuple(logits.shape)}")
        return finished(OPERATIONS, self._formula.of(constants, outputs), self.map.single, self.output, self.precision)

    def extra_repr(self) -> str:
        """The map and the output."""
        return f"{self.map.method}, {len(self.map.classes)} classes, output={self.output!r}"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_formula"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._formula = formula(self.map, self.precision)


class TorchOperations:
    """torch's own names for what formulas need."""

    log = staticmethod(torch.log)
    exp = staticmethod(torch.exp)
    sigmoid = staticmethod(torch.sigmoid)
    clip = staticmethod(torch.clamp)
    maximum = staticmethod(torch.maximum)
    where = staticmethod(torch.where)
    times = staticmethod(functional.linear)
    softmax = staticmethod(partial(torch.softmax, dim=-1))
    log_softmax = staticmethod(partial(torch.log_softmax, dim=-1))
    stack = staticmethod(partial(torch.stack, dim=-1))
    total = staticmethod(partial(torch.sum, dim=-1, keepdim=True))
    largest = staticmethod(partial(torch.amax, dim=-1, keepdim=True))

    def softplus(self, x: Any) -> Any:
        """−ln σ(−x): exact in both tails, where `functional.softplus` cuts one off."""
        return -functional.logsigmoid(-x)

    def is_top(self, x: Any) -> Any:
        return x.argmax(dim=-1, keepdim=True) == torch.arange(x.shape[-1], device=x.device)

    def column(self, x: Any, k: int) -> Any:
        return x[..., k]

    def n_below(self, x: Any, cuts: Any) -> Any:
        return torch.bucketize(x.detach().contiguous(), cuts)

    def n_up_to(self, x: Any, cuts: Any) -> Any:
        return torch.bucketize(x.detach().contiguous(), cuts, right=True)

    def pick(self, table: Any, places: Any) -> Any:
        return table[places]

    def as_places(self, x: Any) -> Any:
        return x.detach().long()

    def as_floats(self, places: Any) -> Any:
        return places  # torch mixes integers and floats

    def ranked(self, x: Any) -> Any:
        return torch.sort(x, dim=-1, descending=True, stable=True)

    def unranked(self, x: Any, order: Any) -> Any:
        return torch.gather(x, -1, torch.argsort(order, dim=-1))


OPERATIONS = TorchOperations()
