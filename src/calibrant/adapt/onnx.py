"""Maps as ONNX models: recalibration in any runtime, without Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import calibrant
from calibrant.adapt import combined_formulas  # noqa: F401  (it registers the formulas)
from calibrant.adapt.formulas import Outputs, finished, formula
from calibrant.inputs import check_choice, check_count
from calibrant.maps import CalibrationMap
from calibrant.options import checked
from calibrant.problems import MissingExtra
from calibrant.writing import whole_or_nothing

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    raise MissingExtra("onnx", "onnx", "calibrant.adapt.onnx") from error

OLDEST_OPSET = 13
AXES_AS_INPUT = 18
"""From this opset on ReduceMax takes its axes as an input, as ReduceSum does from 13 on."""


@checked
def to_onnx(
    map: CalibrationMap,  # noqa: A002
    path: str | Path | None = None,
    *,
    input: Literal["logits", "probs"] = "logits",  # noqa: A002
    dtype: Literal["float32", "float64"] = "float32",
    opset: int = 18,
    overwrite: bool = False,
) -> Any:
    """A fitted map as an ONNX model.

    It has one input, named after `input`, and one output, `repaired`: `(batch, K)`, or
    `(batch,)` for a map of a single event. Step functions and steep lines magnify the
    rounding of a softmax, in which runtimes differ by a last digit: a probability that lies
    on a cut may then fall on the other side. Given the same probabilities, the model and the
    map agree. The metadata hold calibrant's version, the method and the classes.

    Parameters
    ----------
    map
        A fitted map.
    path
        The file to write, if any.
    input
        What the model takes: `"logits"` or `"probs"`.
    dtype
        Precision of all numbers: `"float32"` or `"float64"`.
    opset
        Version of the ONNX operators, at least 13.
    overwrite
        May a file of another kind be replaced? A model that calibrant wrote may be
        replaced anyway.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.adapt.onnx import to_onnx
    >>> model = to_onnx(cal.Platt().fit([0, 1, 1, 0], [0.1, 0.9, 0.6, 0.7]))
    >>> [found.name for found in model.graph.input], [found.name for found in model.graph.output]
    (['logits'], ['repaired'])
    """
    check_choice("input", input, ("logits", "probs"))
    check_choice("dtype", dtype, ("float32", "float64"))
    check_count(opset, "opset", OLDEST_OPSET)
    precision = np.dtype(dtype).type
    found = formula(map, precision)
    graph = Graph(precision, opset)
    constants = {name: graph.constant(value, name) for name, value in found.constants.items()}
    answer = found.of(constants, Outputs(graph, Node(graph, input), input, map.single))
    model = graph.model(input, finished(graph, answer, map.single, "probs", precision), map)
    if path is not None:
        with whole_or_nothing(path, "model", overwrite=overwrite) as partial:
            partial.write_bytes(model.SerializeToString())
    return model


def _operator(operation: str, swapped: bool = False) -> Any:
    """A method of `Node` that adds an operation on it and another value."""
    return lambda node, other: node.graph.add(operation, *((other, node) if swapped else (node, other)))


class Node:
    """A value in a graph, that can be added, multiplied and compared."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    __add__, __radd__ = _operator("Add"), _operator("Add", swapped=True)
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", swapped=True)
    __mul__, __rmul__ = _operator("Mul"), _operator("Mul", swapped=True)
    __truediv__, __le__ = _operator("Div"), _operator("LessOrEqual")

    def __neg__(self) -> Node:
        return self.graph.add("Neg", self)


def _adds(operation: str, **attributes: Any) -> Any:
    """A method of `Graph` that adds an operation on its arguments."""
    return lambda graph, *inputs: graph.add(operation, *inputs, **attributes)


class Graph:
    """The operations of formulas as nodes of an ONNX graph."""

    def __init__(self, precision: Any, opset: int) -> None:
        self.precision, self.opset = precision, opset
        self.nodes: list[Any] = []
        self.tables: dict[str, Any] = {}

    def constant(self, value: Any, name: str = "") -> Node:
        """A number or a table; equal numbers are kept once."""
        array = value if isinstance(value, np.ndarray) else np.asarray(value, self.precision)
        name = name or f"{array.dtype}_{array.tolist()}"
        if name not in self.tables:
            self.tables[name] = numpy_helper.from_array(array.copy(), name)
        return Node(self, name)

    def add(self, operation: str, *inputs: Any, also: str = "", **attributes: Any) -> Node:
        """The result of an operation; `also` names a second one."""
        names = [(v if isinstance(v, Node) else self.constant(v)).name for v in inputs]
        result = f"{operation.lower()}_{len(self.nodes)}"
        results = [result, f"{result}_{also}"] if also else [result]
        self.nodes.append(helper.make_node(operation, names, results, **attributes))
        return Node(self, result)

    log, exp = _adds("Log"), _adds("Exp")
    softmax, log_softmax = _adds("Softmax", axis=-1), _adds("LogSoftmax", axis=-1)
    maximum, where, pick = _adds("Max"), _adds("Where"), _adds("Gather")
    as_places = _adds("Cast", to=TensorProto.INT64)

    def softplus(self, x: Node) -> Node:
        """max(x, 0) + ln(1 + e^−|x|): runtimes have the other form in single precision only."""
        return self.add("Relu", x) + self.log(1.0 + self.exp(-self.add("Abs", x)))

    def sigmoid(self, x: Node) -> Node:
        """e^min(x, 0)/(1 + e^−|x|): runtimes approximate the tails of theirs."""
        return self.exp(-self.add("Relu", -x)) / (1.0 + self.exp(-self.add("Abs", x)))

    def total(self, x: Node) -> Node:
        return self.add("ReduceSum", x, LAST, keepdims=1)

    def largest(self, x: Node) -> Node:
        if self.opset < AXES_AS_INPUT:
            return self.add("ReduceMax", x, axes=[-1], keepdims=1)
        return self.add("ReduceMax", x, LAST, keepdims=1)

    def is_top(self, x: Node) -> Node:
        place = self.add("ArgMax", x, axis=-1, keepdims=1)
        width = self.add("Gather", self.add("Shape", x), np.array(-1))
        return self.add("Equal", place, self.add("Range", np.array(0), width, np.array(1)))

    def clip(self, x: Node, low: float | None, high: float | None) -> Node:
        found = x if low is None else self.add("Max", x, low)
        return found if high is None else self.add("Min", found, high)

    def times(self, x: Node, matrix: Node) -> Node:
        return self.add("MatMul", x, self.add("Transpose", matrix))

    def stack(self, columns: list[Node]) -> Node:
        return self.add("Concat", *(self.add("Unsqueeze", column, LAST) for column in columns), axis=-1)

    def column(self, x: Node, k: int) -> Node:
        return self.add("Gather", x, np.array(k), axis=-1)

    def n_below(self, x: Node, cuts: Node, comparison: str = "Greater") -> Node:
        yes = self.add(comparison, self.add("Unsqueeze", x, LAST), cuts)
        return self.add("ReduceSum", self.as_places(yes), LAST, keepdims=0)

    def n_up_to(self, x: Node, cuts: Node) -> Node:
        return self.n_below(x, cuts, "GreaterOrEqual")

    def ranked(self, x: Node) -> tuple[Node, Node]:
        width = self.add("Slice", self.add("Shape", x), LAST, np.array([2**31]))
        values = self.add("TopK", x, width, also="order")
        return values, Node(self, f"{values.name}_order")

    def unranked(self, x: Node, order: Node) -> Node:
        _, back = self.ranked(self.add("Neg", order))
        return self.add("GatherElements", x, back, axis=-1)

    def as_floats(self, places: Node) -> Node:
        return self.add("Cast", places, to=self._type)

    @property
    def _type(self) -> int:
        return int(helper.np_dtype_to_tensor_dtype(np.dtype(self.precision)))

    def model(self, given: str, result: Node, fitted: CalibrationMap) -> Any:
        """The checked model from the input of this name to this result."""
        shape = ["batch"] if fitted.single else ["batch", len(fitted.classes)]
        self.nodes.append(helper.make_node("Identity", [result.name], ["repaired"]))
        ends = [helper.make_tensor_value_info(name, self._type, shape) for name in (given, "repaired")]
        graph = helper.make_graph(
            self.nodes, f"calibrant_{fitted.method}".replace(" ", "_"), ends[:1], ends[1:], [*self.tables.values()]
        )
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(
            graph,
            opset_imports=[opset],
            ir_version=helper.find_min_ir_version_for([opset]),
            producer_name="calibrant",
            producer_version=calibrant.__version__,
        )
        classes = json.dumps(fitted.classes, default=str)
        facts = {"version": calibrant.__version__, "method": fitted.method, "classes": classes}
        helper.set_model_props(model, {f"calibrant.{name}": text for name, text in facts.items()})
        onnx.checker.check_model(model, full_check=True)
        return model


LAST: NDArray[np.int64] = np.array([-1])
