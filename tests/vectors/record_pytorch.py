"""Record what PyTorch's quantized operators return, with the engines fbgemm and qnnpack, into pytorch.json.

    python tests/vectors/record_pytorch.py

needs the package torch; nothing else of the project needs it. Sizes are multiples of the vector length, as the last
elements of another size take a scalar path of PyTorch's own.
"""

import platform
import warnings
from pathlib import Path

import numpy as np
import torch

try:
    from tests.vectors import parameters as p
except ImportError:
    import parameters as p

HERE = Path(__file__).parent
EXTREMES = [1e30, -1e30, 0.0, -0.0, np.inf, -np.inf, np.nan]
TYPES = {"uint8": torch.quint8, "int8": torch.qint8}
RAW = {"uint8": torch.uint8, "int8": torch.int8}


def quantized(codes, scale, zero_point, dtype):
    raw = torch.tensor(np.asarray(codes).tolist(), dtype=RAW[dtype])
    return torch._make_per_tensor_quantized_tensor(raw, scale, zero_point)


def flat(tensor):
    return tensor.int_repr().reshape(-1).tolist()


def elementwise(rng, engine, op, dtype, pairs, size):
    """quantized::add or quantized::mul."""
    torch.backends.quantized.engine = engine
    points = [p.zero_points(rng, dtype, len(pairs)) for _ in range(3)]
    for (a_scale, b_scale, y_scale), za, zb, zy in zip(pairs, *points, strict=True):
        a, b = p.codes(rng, dtype, size), p.codes(rng, dtype, size)
        y = getattr(torch.ops.quantized, op)(
            quantized(a, a_scale, za, dtype), quantized(b, b_scale, zb, dtype), y_scale, zy
        )
        yield {
            "engine": engine, "op": op, "dtype": dtype, "a": a.tolist(), "b": b.tolist(),
            "a_scale": a_scale, "b_scale": b_scale, "y_scale": y_scale,
            "a_zero_point": za, "b_zero_point": zb, "y_zero_point": zy, "y": flat(y),
        }  # fmt: skip


def linear(rng, engine, dtype, count, directed, per_channel):
    """quantized::linear: rows of 2 codes times 4 columns, one scale for each column or for all."""
    torch.backends.quantized.engine = engine
    for a, b, a_scale, b_scale, y_scale, za, zy in p.products(
        rng, dtype, count, directed, per_channel
    ):
        raw = torch.tensor(b.T.tolist(), dtype=torch.int8)
        scales = [p.f32(b_scale * f) for f in (1, 0.7, 0.5, 0.3)] if per_channel else [b_scale]
        if per_channel:
            weight = torch._make_per_channel_quantized_tensor(
                raw, torch.tensor(scales), torch.zeros(4, dtype=torch.int64), 0
            )
        else:
            weight = torch._make_per_tensor_quantized_tensor(raw, b_scale, 0)
        packed = torch.ops.quantized.linear_prepack(weight, None)
        y = torch.ops.quantized.linear(quantized(a, a_scale, za, dtype), packed, y_scale, zy)
        yield {
            "engine": engine, "op": "linear", "dtype": dtype, "a": a.tolist(), "b": b.tolist(),
            "a_scale": a_scale, "b_scale": scales, "y_scale": y_scale,
            "a_zero_point": za, "y_zero_point": zy, "y": flat(y),
        }  # fmt: skip


def overflowing(rng):
    """quantized::mul with products far beyond an int32 after the multiplier."""
    scales = [(1.0, p.f32(1e6), p.f32(1e-3)), (1.0, p.f32(7e5), 1.0)]
    yield from elementwise(rng, "fbgemm", "mul", "uint8", scales, 64)


def quantize(rng, dtype, count):
    """quantize_per_tensor."""
    for zero_point in p.zero_points(rng, dtype, count):
        scale = p.f32(np.exp2(rng.uniform(-8, 2)))
        x = p.reals(rng, scale, zero_point, dtype, 128, EXTREMES)
        y = torch.quantize_per_tensor(torch.tensor(x), scale, zero_point, TYPES[dtype])
        yield {
            "engine": "fbgemm", "op": "quantize", "dtype": dtype, "x": x,
            "y_scale": scale, "y_zero_point": zero_point, "y": flat(y),
        }  # fmt: skip


def average_pool(rng, engine, dtype, count, window):
    """avg_pool2d: output scale and zero point are those of the input."""
    torch.backends.quantized.engine = engine
    for zero_point in p.zero_points(rng, dtype, count):
        scale = p.f32(np.exp2(rng.uniform(-8, 2)))
        x = p.codes(rng, dtype, (1, 64, *window))
        layout = quantized(x, scale, zero_point, dtype).contiguous(
            memory_format=torch.channels_last
        )
        y = torch.nn.functional.avg_pool2d(layout, window)
        yield {
            "engine": engine, "op": "average_pool", "dtype": dtype,
            "x": x.reshape(64, -1).tolist(), "y_scale": scale, "y_zero_point": zero_point, "y": flat(y),
        }  # fmt: skip


def every(rng):
    """All cases, in a fixed order."""
    for engine, types in (("fbgemm", ("uint8", "int8")), ("qnnpack", ("uint8", "int8"))):
        for dtype in types:
            yield from elementwise(rng, engine, "add", dtype, p.sum_scales(rng, 16), 64)
        if engine == "fbgemm":
            for dtype in types:
                yield from elementwise(rng, engine, "mul", dtype, p.scale_pairs(rng, 16), 64)
        for per_channel in (False, True):
            yield from linear(rng, engine, "uint8", 8, 8, per_channel)
        for window in ((2, 2), (3, 3)):
            yield from average_pool(rng, engine, "uint8", 4, window)
    yield from overflowing(rng)
    for dtype in ("uint8", "int8"):
        yield from quantize(rng, dtype, 8)


def main():
    """Write pytorch.json."""
    warnings.simplefilter("ignore")
    p.write(HERE / "pytorch.json", list(every(np.random.default_rng(p.SEED))), {
        "library": f"PyTorch {torch.__version__}",
        "cpu": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "script": "tests/vectors/record_pytorch.py",
    })  # fmt: skip


if __name__ == "__main__":
    main()
