"""Split makes parts along an axis, an output each."""

import numpy as np
import pytest

from qlab.engines.ort import run_ort
from qlab.engines.results import SessionConfig
from qlab.errors import TraceError
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, result, tensor, traced

X = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    x = tensor(dtype, X)
    for name in SCHEMES:
        equal(
            result(
                call("Split", {"input": x}, outputs=("out", "rest"), axis=0, num_outputs=2), name
            ),
            X[:1],
            dtype,
        )


def split(outputs, lengths=None, *, opset=21, **attributes):
    tensors = {"input": tensor("int8", np.arange(5))}
    tensors |= {} if lengths is None else {"split": np.array(lengths)}
    return call("Split", tensors, outputs=outputs, opset=opset, **attributes)


@pytest.mark.parametrize(
    ("case", "sizes"),
    [
        (split(("a", "b"), num_outputs=2), (3, 2)),
        (split(("a", "b", "c"), [1, 0, 4]), (1, 0, 4)),
        (split(("a", "b"), opset=11, split=(2, 3)), (2, 3)),
    ],
)
def test_lengths(case, sizes):
    run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"))
    for name in SCHEMES:
        outputs = traced(case, name).outputs
        assert [len(v) for v in outputs.values()] == list(sizes)
        equal(np.concatenate(list(outputs.values())), np.arange(5), "int8")
        for output, value in outputs.items():
            equal(run.outputs[output], value, "int8")


def test_bad_calls():
    with pytest.raises(TraceError, match="5 entries do not make 2 equal parts"):
        result(split(("a", "b"), opset=13))
    with pytest.raises(TraceError, match=r"split \[1, 2\] does not make 2 parts of an axis of 5"):
        result(split(("a", "b"), [1, 2]))
