"""What other releases of ONNX Runtime are known to do with a case: measured facts, each with the releases run.

Found by `python -m qlab versions` on x86-64, over the releases from 1.15.0 to 1.32.0.
"""

import numpy as np

from qlab.case import Case
from qlab.graph import Node


def known_releases(case: Case) -> tuple[str, ...]:
    """One sentence for each known change between releases that this case meets."""
    return tuple(sentence for node in case.graph.nodes for sentence in _of_node(case, node))


def _of_node(case: Case, node: Node) -> tuple[str, ...]:
    if node.op_type == "QLinearConv":
        zero_points = case.tensor(node.input(5))
        if zero_points is not None and np.unique(zero_points.astype(np.int64)).size > 1:
            return (
                "ONNX Runtime 1.26.0 and older refuse it (RUNTIME_EXCEPTION: zero point of per-channel filter must "
                "be same); 1.27.0 is the first release that runs it",
            )
    if node.op_type == "QLinearSoftmax":
        x = case.tensor(node.input(0))
        if x is not None and x.dtype == np.int8:
            return (
                "Up to 1.28.0 codes of 128 and more wrap to negative ones here; from 1.29.0 they saturate",
            )
    if node.op_type == "QuantizeLinear":
        x = case.tensor(node.input(0))
        if x is not None and x.dtype == np.float16:
            return (
                "Up to 1.29.0 float16 input is truncated toward zero; from 1.30.0 it is rounded half to even",
            )
    return ()
