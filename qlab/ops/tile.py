"""Tile: repeated along each axis; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import refuse_large
from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import moved
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data = call["input"]
    repeats = tuple(int(n) for n in call["repeats"].reshape(-1))
    if len(repeats) != data.ndim or min(repeats, default=0) < 0:
        raise TraceError(
            f"repeats is {list(repeats)}; {data.ndim} entries of at least 0 are needed, one for each axis"
        )
    refuse_large(tuple(n * r for n, r in zip(data.shape, repeats, strict=True)))
    yield moved(call, "input", "input repeated", np.tile(data, repeats))


OPERATOR = Operator("Tile", "", ("input", "repeats"), "ai.onnx Tile, opsets 6 to 13", _steps)
