"""What an engine answers, and what it was asked: values, shared by all engines."""

import dataclasses
import enum
from collections.abc import Mapping

from qlab.graph import Graph
from qlab.qtypes import Array

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")


class RunStatus(enum.StrEnum):
    """How a run ended. All but OK are results to show, not exceptions."""

    OK = "ok"
    REJECTED = "rejected"  # the engine refused the model (session creation) or cannot run it
    FAILED = "failed"  # the model loaded and the run raised
    CRASHED = "crashed"  # the worker process ended by a signal or exit
    TIMED_OUT = "timed_out"


@dataclasses.dataclass(frozen=True)
class SessionConfig:
    """How ONNX Runtime is to run a case.

    Attributes:
        level: ONNX Runtime's own literal, one of ``LEVELS``.
        entries: session config entries, such as ``session.x64quantprecision`` → ``"1"``.
        disabled_optimizers: names of passes to switch off.
    """

    level: str = "ORT_ENABLE_ALL"
    entries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    disabled_optimizers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class EngineRun:
    """One engine's answer to one case.

    Attributes:
        engine: ``onnxruntime`` or ``onnx_reference``.
        version: of the engine, ``1.32.0``.
        status: how it ended; ``message`` says why in the engine's own words where it is not OK.
        outputs: name → array; empty unless status is OK.
        graph: the graph that the engine really ran, where it writes it out (ONNX Runtime).
        repeatable: False where two runs of the same session gave different outputs.
        passes: the optimizer passes that changed the graph, in their order, by ONNX Runtime's own log.
        cpu: the arithmetic class that the CPU shows: ``avx2``, ``sse``, ``vnni`` or ``arm64``.
        avx512: whether the float32 Softmax ran on AVX-512; None where that is not known.
        emulated: True where that CPU is emulated by qemu-user.
        notes: what the engine had to change to run the case (opset converted, output cast).
        seconds: wall time of the request.
    """

    engine: str
    version: str
    config: SessionConfig
    status: RunStatus
    message: str = ""
    outputs: Mapping[str, Array] = dataclasses.field(default_factory=dict)
    graph: Graph | None = None
    repeatable: bool = True
    passes: tuple[str, ...] = ()
    cpu: str = ""
    avx512: bool | None = None
    emulated: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
