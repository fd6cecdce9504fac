"""float32: the specification's formulas read literally in float32, each operation rounded."""

from qlab.arithmetic import FLOAT32
from qlab.schemes.specification import Specification, variants_of

SCHEME = Specification(
    FLOAT32, "ONNX operator specification, opset 23; com.microsoft schemas of onnxruntime 1.32.0"
)
VARIANTS = variants_of(SCHEME, reciprocals=(False, True))
