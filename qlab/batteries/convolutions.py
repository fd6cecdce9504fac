"""QLinearConv and ConvInteger over geometries, with and without bias and per-channel parameters."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.inputs import (
    Tensors,
    codes,
    one_node,
    scale,
    tie_multipliers,
    zero_point,
)
from qlab.case import Case
from qlab.qtypes import Array
from qlab.schemes import scheme as scheme_of
from qlab.trace import trace


def _sums(tensors: Tensors, attributes: dict[str, object], m: int) -> Array:
    """The exact sums of a QLinearConv with its bias: (channels, positions)."""
    names = ("x", "w", "zx", "zw")
    case = one_node(
        "ConvInteger", names, {k: tensors[k] for k in names}, ("x",), attributes=attributes
    )
    sums = trace(case.graph, case.inputs, scheme_of("exact")).outputs["y"].reshape(m, -1)
    bias = tensors.get("bias", np.zeros(m, np.int64))
    return sums.astype(np.int64) + bias.astype(np.int64)[:, None]


# group, input channels per group, output channels per group, spatial, kernel, attributes
CONVOLUTIONS: tuple[tuple[int, int, int, tuple[int, ...], tuple[int, ...], dict[str, object]], ...] = (
    (1, 1, 8, (40, 40), (1, 1), {}),
    (1, 3, 16, (40, 40), (3, 3), {"pads": (1, 1, 1, 1)}),
    (1, 8, 16, (40, 40), (3, 3), {"pads": (0, 1, 2, 1), "strides": (1, 1), "dilations": (2, 1)}),
    (2, 3, 8, (30, 30), (3, 2), {"strides": (1, 2)}),
    (8, 1, 1, (40, 40), (3, 3), {"pads": (1, 1, 1, 1)}),
    (4, 1, 2, (30, 30), (2, 2), {"auto_pad": "SAME_LOWER"}),
    (1, 5, 8, (31, 33), (4, 3), {"auto_pad": "SAME_UPPER", "strides": (2, 1)}),
    (1, 4, 8, (700,), (3,), {"pads": (1, 1)}),
    (3, 2, 4, (400,), (5,), {"dilations": (2,), "auto_pad": "VALID"}),
)  # fmt: skip


def conv_cases(
    op_type: str, x_dtype: str, w_dtype: str, seed: int, *, channels_last: bool = False
) -> Iterator[Case]:
    """QLinearConv and ConvInteger over the geometries, with and without bias and per-channel parameters."""
    rng = np.random.default_rng(seed)
    for number, (group, cin, mout, spatial, kernel, attributes) in enumerate(CONVOLUTIONS * 2):
        if channels_last and len(spatial) != 2:
            continue
        m = group * mout
        x = codes(rng, x_dtype, (1, group * cin, *spatial))
        w = codes(rng, w_dtype, (m, cin, *kernel))
        per_channel = number >= len(CONVOLUTIONS)
        zx = zero_point(rng, x_dtype)
        zw = zero_point(rng, w_dtype, (m,) if per_channel and number % 2 else ())
        if per_channel and not number % 2:
            zw = np.full((m,), zw)
        tensors: Tensors = {"x": x, "w": w, "zx": zx, "zw": zw}
        given = dict(attributes) | {"group": group, "kernel_shape": kernel}
        if op_type == "ConvInteger":
            if per_channel:
                tensors["zw"] = zw.reshape(-1)[:1].reshape(())
            yield one_node(op_type, ("x", "w", "zx", "zw"), tensors, ("x",), attributes=given)
            continue
        tensors |= {
            "sx": scale(rng), "sy": scale(rng), "zy": zero_point(rng, x_dtype), "sw": scale(rng, (), -12, -4),
        }  # fmt: skip
        if number % 3:
            # A third are large: float32 has not every integer beyond 2^24, and int32 wraps.
            size = 2**30 if number % 3 == 1 and per_channel else 20_000
            tensors["bias"] = rng.integers(-size, size, (m,)).astype(np.int32)
        if per_channel:  # one scale for each channel that ties the sum at one of its positions
            unit = float(tensors["sy"]) / float(tensors["sx"])
            sums = _sums(tensors, given, m)
            tensors["sw"] = tie_multipliers(rng, sums[:, int(rng.integers(sums.shape[1]))], unit)
        names = ("x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "bias")
        if channels_last:
            tensors["x"] = np.ascontiguousarray(np.moveaxis(x, 1, -1))
            given["channels_last"] = 1
        yield one_node(
            op_type,
            names,
            tensors,
            ("x",),
            attributes=given,
            domain="com.microsoft" if channels_last else "",
        )


TYPES = (("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
BATTERIES = Batteries(
    Battery(op_type, f"{a} × {b}", "QOperator", functools.partial(conv_cases, op_type, a, b))
    for op_type, types in (
        ("QLinearConv", TYPES),
        ("ConvInteger", (*TYPES, ("int8", "uint8"))),
    )
    for a, b in types
)
