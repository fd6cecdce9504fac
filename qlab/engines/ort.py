"""ONNX Runtime as an engine: a case in, an `EngineRun` out. It runs in a worker process only."""

import dataclasses
import time
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from qlab.case import Case
from qlab.engines.cpu import cpu_class, has_avx512
from qlab.engines.pool import Answer, emulated_cpus, worker
from qlab.engines.results import LEVELS, EngineRun, RunStatus, SessionConfig
from qlab.errors import CaseError, QlabError
from qlab.graph import Graph, from_model
from qlab.qtypes import DTYPES, Array, is_float8
from qlab.runtimes.store import MissingRuntimeError, installed_version

__all__ = ["emulated_cpus", "ort_version", "run_ort", "run_ort_each"]

# What ONNX Runtime's Python interface cannot pass, with the type that holds every value of it.
CARRIERS = {
    name: np.dtype(np.int8 if name[0] == "i" else np.uint8 if name[0] == "u" else np.float32)
    for name in DTYPES
    if name in ("int2", "uint2", "int4", "uint4", "bfloat16") or is_float8(name)
}


def run_ort(
    case: Case,
    config: SessionConfig | None = None,
    *,
    cpu: str = "this",
    version: str = "",
    timeout: float = 20.0,
) -> EngineRun:
    """Run a case in ONNX Runtime, twice, in the worker process. Any failure is a result.

    Args:
        cpu: ``this`` machine's, or ``avx2``, ``sse`` or ``arm64`` under qemu-user.
        version: the release, which must be on this machine; "" is the installed one.
        timeout: seconds for the request, after which the process is ended.

    Raises:
        CaseError: the case is no model: it cannot be written as a ModelProto.
        QlabError: an unknown level or cpu.
    """
    config = config or SessionConfig()
    if config.level not in LEVELS:
        raise QlabError(f"unknown level {config.level!r}; there are {', '.join(LEVELS)}")
    started = time.perf_counter()
    try:
        process = worker(cpu, version)
    except MissingRuntimeError as error:
        named = version or ort_version()
        return EngineRun("onnxruntime", named, config, RunStatus.REJECTED, str(error))
    model, inputs, notes = _sendable(case)
    answer = process.ask(model.SerializeToString(), inputs, config, timeout)
    cast = {name: _dtype_name(kind) for name, kind in answer.cast.items()}
    if cast:
        other = next((name for name, kind in cast.items() if kind not in CARRIERS), "")
        if other:
            message = f"{other} is {answer.cast[other]}, which numpy cannot hold"
            answer = Answer(answer.version, RunStatus.FAILED, message)
        else:
            notes += _append_casts(model, cast)
            answer = process.ask(model.SerializeToString(), inputs, config, timeout)
    seconds = time.perf_counter() - started
    run = _result(case, config, answer, cast, notes)
    return dataclasses.replace(
        run,
        cpu=cpu_class(cpu, version),
        avx512=has_avx512(cpu, version),
        emulated=cpu != "this",
        seconds=seconds,
    )


def run_ort_each(
    case: Case,
    feeds: Sequence[Mapping[str, Array]],
    config: SessionConfig,
    *,
    cpu: str = "this",
    version: str = "",
    timeout: float = 20.0,
) -> list[EngineRun]:
    """Run a case with several sets of inputs, each once, in one session: what many inputs cost least.

    Neither the graph that ran nor the passes are known then, nor whether an output is repeatable. A set whose run
    ends otherwise than well has that as its result, as in `run_ort`.

    Args:
        feeds: each of the same names and dtypes as ``case.inputs``. Where they are not of one shape the model declares
            none, which can keep an optimizer from what depends on it.
        timeout: seconds for all.
    """
    cases = [dataclasses.replace(case, inputs=feed, expected={}) for feed in feeds]

    def alone() -> list[EngineRun]:
        return [run_ort(c, config, cpu=cpu, version=version, timeout=timeout) for c in cases]

    shapes = {tuple(np.shape(feed[name]) for name in case.graph.inputs) for feed in feeds}
    if not cases or not case.graph.inputs:
        return alone()
    model, _, notes = _sendable(cases[0], free_shapes=len(shapes) > 1)
    if notes:  # what has to be sent as a constant needs a model of its own
        return alone()
    started = time.perf_counter()
    try:
        process = worker(cpu, version)
    except MissingRuntimeError:
        return alone()
    sent = [{name: np.asarray(feed[name]) for name in case.graph.inputs} for feed in feeds]
    answer = process.ask_each(model.SerializeToString(), sent, config, timeout)
    if answer.status is not RunStatus.OK:
        return alone()
    seconds = (time.perf_counter() - started) / len(cases)
    kind, wide = cpu_class(cpu, version), has_avx512(cpu, version)
    return [
        EngineRun(
            engine="onnxruntime",
            version=answer.version,
            config=config,
            status=RunStatus.OK,
            outputs={name: outputs[name] for name in case.graph.outputs},
            cpu=kind,
            avx512=wide,
            emulated=cpu != "this",
            seconds=seconds,
        )
        for outputs in answer.each
    ]


def ort_version() -> str:
    """The installed release, ``1.32.0``; "" where there is none."""
    return installed_version() or worker().version()


def _sendable(
    case: Case, *, free_shapes: bool = False
) -> tuple[onnx.ModelProto, dict[str, Array], tuple[str, ...]]:
    """The model, the arrays to feed, and what was changed: unpassable inputs become constants.

    With ``free_shapes`` the model does not declare its inputs' shapes, so that any may be fed.
    """
    try:
        model = case.model()
    except QlabError:
        raise
    except Exception as error:
        raise CaseError(f"the case is no ONNX model: {' '.join(str(error).split())}") from error
    inputs = {name: np.asarray(case.inputs[name]) for name in case.graph.inputs}
    fixed = {name: value for name, value in inputs.items() if value.dtype.name in CARRIERS}
    if fixed:
        kept = [item for item in model.graph.input if item.name not in fixed]
        del model.graph.input[:]
        model.graph.input.extend(kept)
        model.graph.initializer.extend(
            numpy_helper.from_array(value, name) for name, value in fixed.items()
        )
    for item in model.graph.input if free_shapes else ():
        item.type.tensor_type.ClearField("shape")
    notes = tuple(
        f"{name} was sent as a constant: Python cannot feed {value.dtype.name} to ONNX Runtime"
        for name, value in fixed.items()
    )
    return model, {name: value for name, value in inputs.items() if name not in fixed}, notes


def _append_casts(model: onnx.ModelProto, cast: dict[str, str]) -> tuple[str, ...]:
    """Return each of these outputs through a Cast; ``cast`` is output → its type."""
    for output in model.graph.output:
        if output.name in cast:
            to = helper.np_dtype_to_tensor_dtype(CARRIERS[cast[output.name]])
            carried = _carried(output.name)
            model.graph.node.append(helper.make_node("Cast", [output.name], [carried], to=to))
            output.CopyFrom(helper.make_empty_tensor_value_info(carried))
    return tuple(
        f"{name} was cast to {CARRIERS[kind].name} and back: "
        f"Python cannot read {kind} from ONNX Runtime"
        for name, kind in cast.items()
    )


def _carried(name: str) -> str:
    return f"{name}/carried"


def _dtype_name(kind: str) -> str:
    """ONNX Runtime's ``tensor(float8e4m3fn)`` is ``float8_e4m3fn``."""
    return kind.removeprefix("tensor(").removesuffix(")").replace("float8e", "float8_e")


def _result(
    case: Case, config: SessionConfig, answer: Answer, cast: dict[str, str], notes: tuple[str, ...]
) -> EngineRun:
    outputs = {}
    for name in case.graph.outputs if answer.status is RunStatus.OK else ():
        if name in cast:
            outputs[name] = answer.outputs[_carried(name)].astype(DTYPES[cast[name]])
        else:
            outputs[name] = answer.outputs[name]
    graph = None
    if answer.status is RunStatus.OK and not answer.model:
        notes += ("ONNX Runtime could not write out the graph that it ran",)
    elif answer.model:
        try:
            graph = _without_casts(from_model(onnx.ModelProto.FromString(answer.model)), cast)
        except Exception as error:
            notes += (
                f"the graph that ONNX Runtime ran cannot be read: {' '.join(str(error).split())}",
            )
    return EngineRun(
        engine="onnxruntime",
        version=answer.version,
        config=config,
        status=answer.status,
        message=answer.message,
        outputs=outputs,
        graph=graph,
        repeatable=answer.repeatable,
        passes=answer.passes,
        notes=notes,
    )


def _without_casts(graph: Graph, cast: dict[str, str]) -> Graph:
    """The graph that ran, less the casts that only returned its outputs."""
    constants, nodes, outputs = dict(graph.constants), list(graph.nodes), list(graph.outputs)
    for name, kind in cast.items():
        carried = _carried(name)
        producer = graph.producer(carried)
        if carried in constants:
            constants[name] = constants.pop(carried).astype(DTYPES[kind])
        elif producer and producer.op_type == "Cast" and producer.inputs[0] == name:
            nodes.remove(producer)
        else:
            continue  # fused into something else: its output keeps the name that ran
        outputs[outputs.index(carried)] = name
    return dataclasses.replace(
        graph, nodes=tuple(nodes), constants=constants, outputs=tuple(outputs)
    )
