"""exact: true rational arithmetic of the stored values, rounded half to even once, where the specification rounds.

Real tensors between two nodes stay rational: only codes and the graph's outputs are rounded.
"""

from qlab.arithmetic import EXACT
from qlab.schemes.specification import Specification, variants_of

SCHEME = Specification(
    EXACT, "ONNX operator specification, opset 23; com.microsoft schemas of onnxruntime 1.32.0"
)
VARIANTS = variants_of(SCHEME)
