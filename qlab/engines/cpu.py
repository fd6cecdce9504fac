"""Which arithmetic a CPU shows: found by running probes in the worker, not by reading flags."""

import functools
import platform
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from qlab.engines.pool import QEMU_MODELS, worker
from qlab.engines.results import RunStatus, SessionConfig
from qlab.graph import Graph, Node, to_model
from qlab.qtypes import Array
from qlab.runtimes.store import MissingRuntimeError

RELEVANT_FLAGS = (
    *("sse4_1", "avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx_vnni", "amx_int8"),
    *("asimd", "asimddp", "i8mm", "sve"),
)

# 255·127 + 255·127 = 64,770 does not fit the 16 bits in which AVX2 adds a pair of products.
SATURATED = 32_767

# QLinearAdd on which the three families part: A, B, and what each returns, with fused
# multiply-add, without, and in fixed point. Found by a search: all lie at a tie.
ADD_A = (-14, -14, 7, 28, -119, -119, -98, -98)
ADD_B = (-126, 34, 4, -10, -124, 36, -58, 102)
ADD_SCALES = (1 / 24, 1 / 16, 1 / 8)
ADD_ZERO_POINTS = (-23, -33, 15)
ADD_FUSED = (-29, 51, 43, 43, -63, 17, -23, 57)
ADD_UNFUSED = (-28, 52, 44, 44, -62, 18, -22, 58)
ADD_FIXED_POINT = (-29, 51, 43, 43, -62, 18, -22, 58)

# exp(-95) is 5.5e-42: the float32 Softmax gives 0 for it on registers of 256 bits (exp ends at -88.4), and on those
# of 512 bits, whose VSCALEFPS reaches the smallest float32, what it is.
SOFTMAX_X = (0.0, -95.0)

_classes: dict[tuple[str, str], str] = {}
_wide: dict[tuple[str, str], bool] = {}
_classes_lock = threading.Lock()


def cpu_class(cpu: str = "this", version: str = "") -> str:
    """The class of the worker's CPU, as the scheme ort_cpu names it; probed once and remembered.

    ``avx2``: pairs of uint8 × int8 products saturate. ``vnni``: the accumulator is exact and
    QLinearAdd uses fused multiply-add. ``sse``: exact, without. ``arm64``: QLinearAdd in fixed
    point. "" where the probes give none of them, or ONNX Runtime does not run.
    """
    with _classes_lock:
        if (cpu, version) not in _classes:
            probes = (_product_probe(), _add_probe())
            found = classify(*(_probe(cpu, version, probe) for probe in probes))
            if not found:
                return ""
            _classes[cpu, version] = found
        return _classes[cpu, version]


def has_avx512(cpu: str = "this", version: str = "") -> bool | None:
    """True where ONNX Runtime's float32 Softmax runs on AVX-512, which no class of `cpu_class` tells.

    A CPU with AVX-512 and no VNNI is of the class ``avx2``, one with AVX-VNNI and no AVX-512 of ``vnni``. None where
    ONNX Runtime does not run. Probed once and remembered.
    """
    with _classes_lock:
        if (cpu, version) not in _wide:
            found = _probe(cpu, version, _softmax_probe())
            if found is None:
                return None
            _wide[cpu, version] = bool(found[-1] > 0)
        return _wide[cpu, version]


def classify(product: Array | None, add: Array | None) -> str:
    """The class by the answers to the two probes; None where a probe failed."""
    if product is None or add is None:
        return ""
    codes = tuple(add.tolist())
    if codes == ADD_FIXED_POINT:
        return "arm64"
    if product.item() == SATURATED:
        return "avx2"
    return "vnni" if codes == ADD_FUSED else "sse" if codes == ADD_UNFUSED else ""


@functools.cache
def cpu_name(cpu: str = "this") -> str:
    """The model name: ``AMD Ryzen 7 5800X``, or ``Haswell, emulated by qemu``."""
    if cpu != "this":
        return f"{QEMU_MODELS.get(cpu, 'ARM64 max')}, emulated by qemu"
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


@functools.cache
def cpu_flags() -> tuple[str, ...]:
    """What this CPU has that chooses ONNX Runtime's kernels; () where it cannot be read."""
    info = _cpuinfo()
    flags = (info.get("flags") or info.get("Features") or "").split()
    return tuple(flag for flag in RELEVANT_FLAGS if flag in flags)


def _cpuinfo() -> dict[str, str]:
    """The first processor's entries of /proc/cpuinfo; {} on other systems than Linux."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _probe(cpu: str, version: str, probe: tuple[Graph, Mapping[str, Array]]) -> Array | None:
    try:
        process = worker(cpu, version)
    except MissingRuntimeError:
        return None
    graph, inputs = probe
    model = to_model(graph, inputs).SerializeToString()
    answer = process.ask(model, inputs, SessionConfig(level="ORT_DISABLE_ALL"), timeout=20.0)
    return answer.outputs["y"] if answer.status is RunStatus.OK else None


def _product_probe() -> tuple[Graph, Mapping[str, Array]]:
    node = Node("MatMulInteger", ("a", "b"), ("y",))
    inputs = {"a": np.full((1, 2), 255, np.uint8), "b": np.full((2, 1), 127, np.int8)}
    return Graph((node,), {}, ("a", "b"), ("y",), {"": 13}), inputs


def _softmax_probe() -> tuple[Graph, Mapping[str, Array]]:
    inputs = {"x": np.array(SOFTMAX_X, np.float32)}
    node = Node("Softmax", ("x",), ("y",), attributes={"axis": 0})
    return Graph((node,), {}, ("x",), ("y",), {"": 13}), inputs


def _add_probe() -> tuple[Graph, Mapping[str, Array]]:
    names = (
        "a",
        "a_scale",
        "a_zero_point",
        "b",
        "b_scale",
        "b_zero_point",
        "y_scale",
        "y_zero_point",
    )
    node = Node("QLinearAdd", names, ("y",), "com.microsoft")
    constants: dict[str, Array] = {}
    for name, scale, zero_point in zip("aby", ADD_SCALES, ADD_ZERO_POINTS, strict=True):
        constants[f"{name}_scale"] = np.array(scale, np.float32)
        constants[f"{name}_zero_point"] = np.array(zero_point, np.int8)
    inputs = {"a": np.array(ADD_A, np.int8), "b": np.array(ADD_B, np.int8)}
    return Graph((node,), constants, ("a", "b"), ("y",), {"": 13, "com.microsoft": 1}), inputs
