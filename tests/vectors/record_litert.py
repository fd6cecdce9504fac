"""Record what LiteRT (TensorFlow Lite) returns, with each of its kernels, into litert.json.

    python tests/vectors/record_litert.py

needs the packages ai_edge_litert and flatbuffers; nothing else of the project needs them. The kernels: ``reference``,
``optimized`` (ruy, no delegate) and ``xnnpack`` (the default delegate on a CPU).
"""

import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

try:
    from tests.vectors import parameters as p
    from tests.vectors.tflite_model import model, tensor
except ImportError:
    import parameters as p
    from tflite_model import model, tensor

HERE = Path(__file__).parent
# None whose quotient leaves an int32: LiteRT converts those without clamping, which C++ leaves undefined.
EXTREMES = [1e6, -1e6, 0.0, -0.0]
KERNELS = {
    "reference": OpResolverType.BUILTIN_REF,
    "optimized": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "xnnpack": OpResolverType.AUTO,
}


def invoke(content, kernel, *inputs):
    """The model's only output."""
    interpreter = Interpreter(
        model_content=content, experimental_op_resolver_type=KERNELS[kernel], num_threads=1
    )
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).reshape(-1).tolist()


def elementwise(rng, kernel, op, dtype, scales, size):
    """ADD or MUL."""
    points = [p.zero_points(rng, dtype, len(scales)) for _ in range(3)]
    for (a_scale, b_scale, y_scale), za, zb, zy in zip(scales, *points, strict=True):
        a, b = (p.codes(rng, dtype, (1, size)) for _ in range(2))
        content = model(
            op.upper(), 2, getattr(schema, f"{op.title()}OptionsT")(),
            [tensor("a", (1, size), dtype, [a_scale], [za]), tensor("b", (1, size), dtype, [b_scale], [zb])],
            [tensor("y", (1, size), dtype, [y_scale], [zy])],
        )  # fmt: skip
        yield {
            "engine": kernel, "op": op, "dtype": dtype, "a": a.reshape(-1).tolist(), "b": b.reshape(-1).tolist(),
            "a_scale": a_scale, "b_scale": b_scale, "y_scale": y_scale,
            "a_zero_point": za, "b_zero_point": zb, "y_zero_point": zy,
            "y": invoke(content, kernel, a.astype(dtype), b.astype(dtype)),
        }  # fmt: skip


def product(rng, kernel, op, count, directed, per_channel):
    """FULLY_CONNECTED or CONV_2D (1 × 1): rows of 2 codes times 4 columns, int8."""
    for a, b, a_scale, b_scale, y_scale, za, zy in p.products(
        rng, "int8", count, directed, per_channel
    ):
        b_scales = [p.f32(b_scale * f) for f in (1, 0.7, 0.5, 0.3)] if per_channel else [b_scale]
        weight = b.T.astype(np.int8)
        n = len(a)
        shape, out = (n, 2), (n, 4)
        if op == "conv":
            options, name, weight = schema.Conv2DOptionsT(), "CONV_2D", weight.reshape(4, 1, 1, 2)
            options.strideW = options.strideH = 1
            options.dilationWFactor = options.dilationHFactor = 1
            options.padding = schema.Padding.VALID
            shape, out = (1, n, 1, 2), (1, n, 1, 4)
        else:
            options, name = schema.FullyConnectedOptionsT(), "FULLY_CONNECTED"
        bias_scales = [p.f32(np.float32(a_scale) * np.float32(s)) for s in b_scales]
        content = model(
            name, 5, options,
            [
                tensor("x", shape, "int8", [a_scale], [za]),
                tensor("w", weight.shape, "int8", b_scales, [0] * len(b_scales), 0, weight),
                tensor("bias", (4,), "int32", bias_scales, [0] * len(b_scales), 0, np.zeros(4, np.int32)),
            ],
            [tensor("y", out, "int8", [y_scale], [zy])],
        )  # fmt: skip
        yield {
            "engine": kernel, "op": op, "dtype": "int8", "a": a.tolist(), "b": b.tolist(),
            "a_scale": a_scale, "b_scale": b_scales, "y_scale": y_scale,
            "a_zero_point": za, "y_zero_point": zy,
            "y": invoke(content, kernel, a.reshape(shape).astype(np.int8)),
        }  # fmt: skip


def quantize(rng, kernel, dtype, count):
    """QUANTIZE of reals."""
    for zero_point in p.zero_points(rng, dtype, count):
        scale = p.f32(np.exp2(rng.uniform(-8, 2)))
        x = p.reals(rng, scale, zero_point, dtype, 64, EXTREMES)
        content = model(
            "QUANTIZE", 1, schema.QuantizeOptionsT(),
            [tensor("x", (1, 64), "float32")], [tensor("y", (1, 64), dtype, [scale], [zero_point])],
        )  # fmt: skip
        y = invoke(content, kernel, np.asarray([x], np.float32))
        yield {
            "engine": kernel, "op": "quantize", "dtype": dtype, "x": x,
            "y_scale": scale, "y_zero_point": zero_point, "y": y,
        }  # fmt: skip


def average_pool(rng, kernel, dtype, count, window):
    """AVERAGE_POOL_2D of one window."""
    h, w = window
    options = schema.Pool2DOptionsT()
    options.strideW = options.strideH = 1
    options.filterHeight, options.filterWidth = h, w
    options.padding = schema.Padding.VALID
    for zero_point in p.zero_points(rng, dtype, count):
        scale = p.f32(np.exp2(rng.uniform(-8, 2)))
        x = p.codes(rng, dtype, (64, h * w))
        shape = (1, h, w, 64)
        content = model(
            "AVERAGE_POOL_2D", 2, options,
            [tensor("x", shape, dtype, [scale], [zero_point])],
            [tensor("y", (1, 1, 1, 64), dtype, [scale], [zero_point])],
        )  # fmt: skip
        y = invoke(content, kernel, np.ascontiguousarray(x.T.reshape(shape)).astype(dtype))
        yield {
            "engine": kernel, "op": "average_pool", "dtype": dtype, "x": x.tolist(),
            "y_scale": scale, "y_zero_point": zero_point, "y": y,
        }  # fmt: skip


def every(rng):
    """All cases, in a fixed order."""
    for kernel in KERNELS:
        for dtype in ("int8", "uint8"):
            yield from elementwise(rng, kernel, "add", dtype, p.sum_scales(rng, 9), 48)
            yield from elementwise(rng, kernel, "mul", dtype, p.scale_pairs(rng, 10), 48)
            yield from quantize(rng, kernel, dtype, 3)
        for op in ("conv", "fully_connected"):
            for per_channel in (False, True):
                yield from product(rng, kernel, op, 8, 3, per_channel)
        if kernel != "xnnpack":
            for window in ((2, 2), (3, 3)):
                yield from average_pool(rng, kernel, "int8", 3, window)


def main():
    """Write litert.json."""
    p.write(HERE / "litert.json", list(every(np.random.default_rng(p.SEED))), {
        "library": f"ai_edge_litert {version('ai_edge_litert')}",
        "cpu": platform.machine(),
        "script": "tests/vectors/record_litert.py",
    })  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
