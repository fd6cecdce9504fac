"""What ONNX Runtime ran, as a case and the scheme that predicted it: its model is written only where it was checked."""

import dataclasses

from qlab.case import Case
from qlab.compare import differing
from qlab.engines.results import EngineRun, RunStatus
from qlab.errors import ExportError
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace

MOST = 200  # characters of a message


def as_ran(case: Case, run: EngineRun) -> tuple[Case, OrtCpu, str]:
    """The case with the graph that ran, the scheme that predicts it, and a sentence that says so.

    Raises:
        ExportError: the run gave no output, or another one than predicted. TraceError: it is not modelled.
    """
    where = f"onnxruntime {run.version} at {run.config.level}"
    if run.status is not RunStatus.OK:
        raise ExportError(
            f"{where} gives no output for this case, so there is nothing to hold ort_cpu against; "
            f"take exact or another scheme. It says: {run.message.splitlines()[0][:MOST] if run.message else run.status}"
        )
    ran = dataclasses.replace(case, graph=run.graph or case.graph)
    scheme = OrtCpu(run.cpu, version=run.version, avx512=run.avx512)
    predicted = trace(ran.graph, case.inputs, scheme).outputs
    if any(differing(predicted[name], actual).any() for name, actual in run.outputs.items()):
        raise ExportError(
            f"ort_cpu does not predict what {where} returned for this case; take exact or another scheme"
        )
    return (
        ran,
        scheme,
        f"{where} on {run.cpu} ran this graph and returned these codes for the case's inputs.",
    )
