"""One call of an operator: traced with a scheme, run by ONNX Runtime, run by the ONNX reference evaluator."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qlab.case import Case
from qlab.engines.onnx_reference import run_reference
from qlab.engines.ort import run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.graph import Graph, Node
from qlab.ops import operators
from qlab.qtypes import DTYPES, Array
from qlab.schemes import DEFAULT as SCHEMES
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import Trace, trace

Tensors = Mapping[str, Array]
MOVED_TYPES = [d for d in DTYPES if d not in ("bool", "int2", "uint2")]  # hold the tests' values


def f32(*values: Any) -> Array:
    """``f32(2)`` is a scalar, ``f32([2])`` a vector."""
    return np.asarray(values[0] if len(values) == 1 else values, np.float32)


def tensor(dtype: str, values: Any) -> Array:
    """Codes or floats of a type by its ONNX name, int4 and bfloat16 too."""
    return np.asarray(values).astype(DTYPES[dtype])


def call(
    op_type: str, tensors: Tensors, *, domain: str = "", outputs: tuple[str, ...] = ("out",), opset: int = 21,
    **attributes: Any,
) -> Case:  # fmt: skip
    """A case of one node; ``tensors`` are its inputs by the schema's names, what is left out is absent."""
    names = operators()[domain, op_type].names(30)
    assert set(tensors) <= set(names), f"{op_type} has {names}"
    last = max(names.index(name) for name in tensors)
    inputs = tuple(name if name in tensors else "" for name in names[: last + 1])
    node = Node(op_type, inputs, outputs, domain, attributes)
    present = tuple(name for name in names if name in tensors)
    graph = Graph((node,), {}, present, outputs, {"": opset, "com.microsoft": 1})
    return Case(graph, dict(tensors))


def traced(case: Case, name: str = "exact", cpu: str = "avx2") -> Trace:
    """The trace of a case in one scheme."""
    return trace(case.graph, case.inputs, OrtCpu(cpu) if name == "ort_cpu" else scheme(name))


def result(case: Case, name: str = "exact", cpu: str = "avx2") -> Array:
    """The first output in one scheme."""
    return traced(case, name, cpu).outputs[case.graph.outputs[0]]


def step(case: Case, step_name: str, name: str = "exact", cpu: str = "avx2") -> Array:
    """The value of one step of the only node."""
    return next(s.value for s in traced(case, name, cpu).nodes[0].steps if s.name == step_name)


def returned(case: Case, level: str = "ORT_DISABLE_ALL") -> Array:
    """The first output of the installed ONNX Runtime."""
    run = run_ort(case, SessionConfig(level))
    assert run.status is RunStatus.OK, run.message
    return run.outputs[case.graph.outputs[0]]


def evaluated(case: Case) -> Array:
    """The first output of the ONNX reference evaluator."""
    run = run_reference(case)
    assert run.status is RunStatus.OK, run.message
    return run.outputs[case.graph.outputs[0]]


def equal(actual: Array, expected: Any, dtype: str = "") -> None:
    """Same shape, same type where one is given, same bits (NaN is NaN)."""
    if dtype:
        assert actual.dtype == DTYPES[dtype], f"{actual.dtype} is not {dtype}"
    expected = np.asarray(expected)
    assert actual.shape == expected.shape, f"{actual.shape} is not {expected.shape}"
    np.testing.assert_array_equal(actual.astype(np.float64), expected.astype(np.float64))


def everywhere(case: Case, expected: Any, dtype: str = "", *, ort: bool = True) -> None:
    """All schemes, and ONNX Runtime unless it has no such kernel, give this."""
    for name in SCHEMES:
        equal(result(case, name), expected, dtype)
    if ort:
        equal(returned(case), expected, dtype)
