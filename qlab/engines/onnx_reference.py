"""The ONNX reference evaluator as an engine: what the specification's own Python code computes."""

import math
import time
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import shape_inference, version_converter
from onnx.reference import ReferenceEvaluator

from qlab.case import Case
from qlab.engines.results import EngineRun, RunStatus, SessionConfig
from qlab.errors import QlabError, TraceError
from qlab.graph import Graph, Node, to_model
from qlab.qtypes import DTYPES, Array, dtype_name

CONVERTED_OPSET = 21
# Kernels of QuantizeLinear and DequantizeLinear begin here (onnx.reference.ops.op_quantize_linear).
QUANTIZE_SINCE = 19
# It runs in this process and cannot be stopped, so what would take seconds is refused.
LARGEST_TENSOR = 4_000_000  # elements
MOST_PRODUCTS = 200_000_000  # about 0.6 s of QLinearConv


def run_reference(case: Case) -> EngineRun:
    """Run a case in the ONNX reference evaluator. Whatever it raises is in the result's message.

    Below opset 19 it has no QuantizeLinear and DequantizeLinear; a model that needs them is
    converted, and ``notes`` say so. A model too large for it is refused.
    """
    started = time.perf_counter()
    status, message, outputs, notes = _run(case)
    return EngineRun(
        engine="onnx_reference",
        version=onnx.__version__,
        config=SessionConfig(level=""),
        status=status,
        message=message,
        outputs=outputs,
        notes=notes,
        seconds=time.perf_counter() - started,
    )


def opaque(node: Node, arrays: Sequence[Array | None], opset: Mapping[str, int]) -> list[Array]:
    """Evaluate one node.

    Args:
        arrays: its inputs in order, None where one is absent.
        opset: domain → version.

    Returns:
        The outputs in order.

    Raises:
        TraceError: the evaluator does not know the operator, or it raised.
    """
    if not onnx.defs.has(node.op_type, node.domain):
        raise TraceError(
            f"{node.qualified_name} has no arithmetic here and is not an ONNX operator"
        )
    present = {
        name: np.asarray(value)
        for name, value in zip(node.inputs, arrays, strict=False)
        if name and value is not None
    }
    outputs = tuple(name for name in node.outputs if name)
    try:
        # As constants, so that the size of what Expand or Tile makes of them is inferred before it is made.
        model = to_model(Graph((node,), present, (), outputs, opset), {})
        _refuse_large(model)
        with np.errstate(all="ignore"):
            values = ReferenceEvaluator(model).run(None, {})
        named = dict(zip(outputs, (_array(value) for value in values), strict=True))
    except Exception as error:
        raise TraceError(f"{node.qualified_name} cannot be evaluated: {_words(error)}") from error
    return [named.get(name, np.zeros(0, np.float32)) for name in node.outputs]


def _run(case: Case) -> tuple[RunStatus, str, dict[str, Array], tuple[str, ...]]:
    foreign = next((n for n in case.graph.nodes if not onnx.defs.has(n.op_type, n.domain)), None)
    if foreign:
        message = f"cannot run this: {foreign.qualified_name} is not an ONNX operator"
        return RunStatus.REJECTED, message, {}, ()
    notes: tuple[str, ...] = ()
    try:
        model = case.model()
        version = case.graph.opset.get("", 1)
        if version < QUANTIZE_SINCE and any(_quantizes(node) for node in case.graph.nodes):
            model = version_converter.convert_version(model, CONVERTED_OPSET)
            notes = (f"opset converted {version} → {CONVERTED_OPSET}",)
        _refuse_large(model)
        evaluator = ReferenceEvaluator(model)
    except Exception as error:
        return RunStatus.REJECTED, f"cannot run this: {_words(error)}", {}, notes
    try:
        with np.errstate(all="ignore"):
            values = evaluator.run(
                None, {name: np.asarray(case.inputs[name]) for name in case.graph.inputs}
            )
        outputs = {
            name: _array(value) for name, value in zip(case.graph.outputs, values, strict=True)
        }
    except Exception as error:
        return RunStatus.FAILED, _words(error), {}, notes
    return RunStatus.OK, "", outputs, notes


def _quantizes(node: Node) -> bool:
    return node.op_type in ("QuantizeLinear", "DequantizeLinear")


def _array(value: object) -> Array:
    if not isinstance(value, np.ndarray | np.generic):
        raise QlabError(f"the output is a {type(value).__name__}, not a tensor")
    array = np.asarray(value)
    if dtype_name(array.dtype) not in DTYPES:
        raise QlabError(f"the output is of {array.dtype}, which is no number")
    return array


def _words(error: Exception) -> str:
    """The evaluator's words on one line, with the exception's name where they say too little."""
    text = " ".join(str(error).split())
    plain = isinstance(error, QlabError | RuntimeError | ValueError) and text
    return text if plain else f"{type(error).__name__}: {text}".rstrip(": ")


def _refuse_large(model: onnx.ModelProto) -> None:
    """Raise QlabError where the shapes, as far as they can be inferred, make long work."""
    try:
        inferred = shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:
        inferred = model.graph  # the evaluator has the word
    sizes: dict[str, tuple[int, ...]] = {t.name: tuple(t.dims) for t in inferred.initializer}
    for item in (*inferred.input, *inferred.value_info, *inferred.output):
        sizes[item.name] = tuple(d.dim_value for d in item.type.tensor_type.shape.dim)
    for name, shape in sizes.items():
        if math.prod(shape) > LARGEST_TENSOR:
            limit = f"at most {LARGEST_TENSOR:,} are evaluated"
            raise QlabError(f"{name} has {math.prod(shape):,} elements; {limit}")
    for node in inferred.node:
        products = _products(node, sizes)
        if products > MOST_PRODUCTS:
            limit = f"at most {MOST_PRODUCTS:,} are evaluated"
            raise QlabError(f"{node.op_type} {node.output[0]} needs {products:,} products; {limit}")


def _products(node: onnx.NodeProto, sizes: Mapping[str, tuple[int, ...]]) -> int:
    """Multiplications of a convolution or matrix product; 0 for others and for unknown shapes."""
    if "Conv" not in node.op_type and "MatMul" not in node.op_type and node.op_type != "Gemm":
        return 0
    outputs = math.prod(sizes.get(node.output[0], ()))
    if "Conv" in node.op_type:
        weight = node.input[3 if node.op_type == "QLinearConv" else 1]
        return outputs * math.prod(sizes.get(weight, ())[1:])
    lhs = sizes.get(node.input[0], ()) or (1,)
    return outputs * (max(lhs) if node.op_type == "Gemm" else lhs[-1])  # Gemm may transpose it
