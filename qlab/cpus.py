"""Which CPU changes a result: what ort_cpu predicts for each class, where it has been checked on this one."""

import dataclasses

from qlab.case import Case
from qlab.compare import Comparison
from qlab.engines.results import EngineRun, RunStatus
from qlab.errors import TraceError
from qlab.graph import same_outputs
from qlab.matrix import Column
from qlab.reference import Reference
from qlab.schemes.ort_cpu import CPUS, OrtCpu
from qlab.trace import Trace, trace


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What ort_cpu computes for one class of CPU on the graph that ran here. Predicted, not run.

    Attributes:
        of: the release, level and session entries whose graph it is: ``1.32.0 ORT_ENABLE_ALL``.
    """

    cpu: str
    of: str
    trace: Trace
    comparisons: tuple[Comparison, ...]


def predictions(case: Case, run: EngineRun, reference: Reference) -> tuple[Prediction, ...]:
    """One for each class of CPU; () where the model does not predict this very run code for code.

    Args:
        run: of ONNX Runtime on this CPU, with the graph that it ran.
    """
    if run.graph is None or run.status is not RunStatus.OK or not run.repeatable:
        return ()
    column = Column(run.config.level, entries=tuple(run.config.entries.items()))
    of = f"{run.version} {column.label}"
    found = []
    for cpu in CPUS:
        wide = run.avx512 if cpu == run.cpu else None
        try:
            traced = trace(run.graph, case.inputs, OrtCpu(cpu, version=run.version, avx512=wide))
        except TraceError:
            continue  # some kernels are modelled for some CPUs only
        if any(node.opaque for node in traced.nodes):
            return ()
        found.append(
            Prediction(cpu, of, traced, reference.compare(f"ort_cpu ({cpu})", traced.outputs))
        )
    here = next((p for p in found if p.cpu == run.cpu), None)
    explained = here is not None and same_outputs(here.trace.outputs, run.outputs)
    return tuple(found) if explained else ()
