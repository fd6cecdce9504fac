"""A recorded case of another library, predicted by a scheme; the vectors are in tests/vectors."""

import importlib
import json
from pathlib import Path

import numpy as np

from qlab.schemes import Target
from qlab.trace import trace
from tests.ops.calls import call, f32, tensor

VECTORS = Path(__file__).parent.parent / "vectors"


def load(name):
    """The cases of one recording."""
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["cases"]


def finish(steps):
    """The value that a generator of steps returns, and the steps."""
    seen = []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as stop:
            return np.asarray(stop.value), seen


def predict(scheme, c, **options):
    """The codes that a scheme gives for a recorded case, flat. ``options`` go to its average pool."""
    if c["op"] == "average_pool":
        return pooled(scheme.name, c, **options)
    case = as_case(c)
    with np.errstate(all="ignore"):
        return trace(case.graph, case.inputs, scheme).outputs["out"].reshape(-1)


def pooled(name, c, **options):
    x, zero_point = np.asarray(c["x"], np.int64), np.asarray(c["y_zero_point"], np.int64)
    scale = f32(c["y_scale"])
    target = Target("y", scale, zero_point, c["dtype"], "y")
    module = importlib.import_module(f"qlab.schemes.{name}")
    sums = (x - zero_point).sum(-1)
    count = np.asarray(x.shape[-1], np.int64)
    steps = module.average_pool(sums, count, scale, zero_point, target, **options)
    return finish(steps)[0].reshape(-1)


def as_case(c):
    """The ONNX operator that means the same."""
    dtype = c["dtype"]
    if c["op"] == "quantize":
        tensors = {"x": f32(c["x"]), "y_scale": f32(c["y_scale"])}
        return call("QuantizeLinear", {**tensors, "y_zero_point": tensor(dtype, c["y_zero_point"])})
    if c["op"] in ("add", "mul"):
        tensors = {}
        for n, s in zip("ABC", "aby", strict=True):
            tensors[f"{n}_scale"] = f32(c[f"{s}_scale"])
            tensors[f"{n}_zero_point"] = tensor(dtype, c[f"{s}_zero_point"])
        tensors |= {"A": tensor(dtype, c["a"]), "B": tensor(dtype, c["b"])}
        return call(f"QLinear{c['op'].title()}", tensors, domain="com.microsoft")
    scales = f32(c["b_scale"])
    scales = scales.reshape(()) if scales.size == 1 else scales
    tensors = {
        "a": tensor(dtype, c["a"]),
        "b": tensor("int8", c["b"]),
        "a_scale": f32(c["a_scale"]),
        "a_zero_point": tensor(dtype, c["a_zero_point"]),
        "b_scale": scales,
        "b_zero_point": tensor("int8", np.zeros(scales.shape)),
        "y_scale": f32(c["y_scale"]),
        "y_zero_point": tensor(dtype, c["y_zero_point"]),
    }
    return call("QLinearMatMul", tensors)
