"""com.microsoft DynamicQuantizeMatMul: A quantized to uint8 over its own range, then MatMulIntegerToFloat."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.matmulintegertofloat import product_as_floats
from qlab.ops.parameters import reals
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    steps = list(scheme.dynamic_quantize(reals(call, "A"), ("", "", "")))
    # The names of DynamicQuantizeLinear's results are those of A here.
    names = {"y_scale": "a_scale", "y_zero_point": "a_zero_point", "output": "A_codes"}
    found = {}
    for step in steps:
        found[step.name] = step.value
        name = names.get(step.name, step.name)
        formula = step.formula
        for old, new in names.items():
            formula = formula.replace(old, new) if old != "output" else formula
        yield Step(name, formula, step.value, note=step.note, decides=step.decides)
    yield from product_as_floats(
        call,
        scheme,
        found["output"].astype(np.int64),
        np.asarray(found["y_scale"]),
        found["y_zero_point"].astype(np.int64),
        pairs=call.dtype("B") == "int8",
    )


OPERATOR = Operator(
    "DynamicQuantizeMatMul",
    "com.microsoft",
    ("A", "B", "b_scale", "b_zero_point", "bias"),
    "com.microsoft DynamicQuantizeMatMul, onnxruntime 1.32.0",
    _steps,
)
