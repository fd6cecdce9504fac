"""A case as one C99 file that computes what a scheme's trace has, and checks itself."""

import dataclasses
from collections.abc import Sequence

import numpy as np

import qlab
from qlab.c import rational, text, wholes
from qlab.c.checks import elements, runs
from qlab.c.emission import Emission, File, loops
from qlab.c.exact import definition
from qlab.c.families import family
from qlab.c.helpers import HELPERS
from qlab.c.mains import main_function
from qlab.c.operators import OPERATORS, data_inputs
from qlab.c.rational_operators import WRITERS, has_wholes
from qlab.c.recorder import record
from qlab.case import Case
from qlab.errors import ExportError
from qlab.graph import Graph
from qlab.ops import operators
from qlab.qtypes import is_float, is_float8
from qlab.schemes import Scheme, variants
from qlab.trace import Index, Trace

COMPILE = "cc -std=c99 -O2 -ffp-contract=off -Wall -Wextra -Werror -pedantic"
WRITTEN = f"Written by qlab {qlab.__version__}."
INCLUDES = """\
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if !defined(FLT_EVAL_METHOD) || (FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16)
#error "a float must be computed in float (FLT_EVAL_METHOD 0): on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif
#ifdef __FAST_MATH__
#error "-ffast-math changes results: compile without it"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif"""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of the file's function: its C name and type, the graph's tensor, and whether it is written."""

    name: str
    kind: str
    tensor: str
    shape: Index
    output: bool

    @property
    def declaration(self) -> str:
        """``const int8_t *A``."""
        return f"{'' if self.output else 'const '}{self.kind} *{self.name}"


@dataclasses.dataclass(frozen=True)
class Program:
    """The file and what to call in it.

    Attributes:
        source: the whole file. function_only: the same without ``main`` and what it compares with.
        fixed: inputs of the graph that are constants of the file.
    """

    source: str
    function_only: str
    function: str
    parameters: tuple[Parameter, ...]
    fixed: tuple[str, ...]


def c_source(case: Case, scheme: Scheme, note: str = "") -> str:
    """A C99 file that computes the same codes as the trace, with a ``main`` that checks it.

    Args:
        note: a paragraph of its first comment.

    Raises:
        TraceError: the scheme cannot compute the case.
        ExportError: an operator, scheme or type that is not written in C; one line says which.
    """
    return c_program(case, scheme, note).source


def c_program(case: Case, scheme: Scheme, note: str = "") -> Program:
    """`c_source` with the name and the parameters of its function."""
    file = File(scheme, family(scheme))
    given, fixed = _with_fixed_parameters(case)
    for node in given.graph.nodes:
        if (node.domain, node.op_type) not in OPERATORS:
            known = ", ".join(sorted({name for _, name in OPERATORS}))
            raise ExportError(f"{node.qualified_name} is not written in C; {known} are")
    made = {name for node in given.graph.nodes for name in node.outputs}
    for name in given.graph.outputs:
        if name not in made:
            raise ExportError(f"the output {name!r} is made by no node: nothing is to be computed")
    trace, primitives = record(given, scheme)
    _refuse(given.graph, trace, file)
    if file.family.between:
        file.given = rational.given_reals(given, trace)
        file.whole = bool(file.given) or rational.are_between(given.graph, trace)
        for name in file.given:
            file.rationals[name] = wholes.GIVEN
            file.need(wholes.GIVEN)
    emitted = []
    for node, called in zip(given.graph.nodes, primitives, strict=True):
        if len(given.graph.nodes) > 1:  # the names of its parameters are numbered
            read = ", ".join(name for name in node.inputs if name)
            computed = text.plain(f"{', '.join(node.outputs)} = {node.op_type}({read})")
            file.definitions.append(f"/* Of {computed}: */")
        operator = operators()[node.domain, node.op_type]
        e = Emission(file, given.graph, node, operator, called, trace)
        writer = WRITERS.get((node.domain, node.op_type)) if has_wholes(e) else None
        emitted.append((e, (writer or OPERATORS[node.domain, node.op_type])(e)))
    single = len(emitted) == 1 and not file.given
    functions, function, parameters = (_one if single else _several)(file, given.graph, emitted)
    tested = elements(given, scheme) if single and len(emitted[0][0].functions) == 1 else None
    element = emitted[0][0].functions[0] if tested else None
    if element is not None and any(o.name not in emitted[0][0].pointers for o in element.operands):
        tested = element = None
    pointers = emitted[0][0].pointers if single else {}
    inputs = [pointers[o.name][1] for o in element.operands] if element else []
    checks = [c for c in runs(given, scheme, trace) if not rational.not_finite(c[0], file.given)]
    main = main_function(
        file, function, parameters, checks, tested, element.name if element else "", inputs
    )
    empty = [n for n in given.graph.outputs if not trace.tensors[n].size]
    about = _about(case, given, scheme, function, parameters, fixed, empty, note)
    limbs = [f"#define LIMBS {file.limbs}"] if file.limbs > 1 else []
    limbs += [wholes.TYPE] if file.whole else []
    big = [definition(n, v, file.limbs, n in file.whole_arrays) for n, v in file.big]
    helpers = [h.text for name, h in HELPERS.items() if name in file.helpers]
    parts = [*limbs, *big, *helpers, *file.definitions, *functions]
    with_main = text.comment(*about, *_of_main(len(checks), tested), WRITTEN)
    without = text.comment(*about, f"Compile: {COMPILE} -c FILE.c", WRITTEN)
    unprinted = INCLUDES.replace("#include <stdio.h>\n", "")
    source = "\n\n".join([with_main, INCLUDES, *parts, main]) + "\n"
    function_only = "\n\n".join([without, unprinted, *parts]) + "\n"
    return Program(source, function_only, function, parameters, fixed)


def _one(
    file: File, graph: Graph, emitted: Sequence[tuple[Emission, list[str]]]
) -> tuple[list[str], str, tuple[Parameter, ...]]:
    """The only node's function, with the schema's names."""
    e, body = emitted[0]
    name = file.names.new(f"qlab_{e.node.op_type.lower()}")
    parameters = tuple(
        Parameter(n, kind, tensor, e.trace.tensors[tensor].shape, output)
        for output, pointers in ((False, e.pointers), (True, e.outputs))
        for n, (kind, tensor) in pointers.items()
    )
    return [_function("void", name, [p.declaration for p in parameters], body)], name, parameters


def _several(
    file: File, graph: Graph, emitted: Sequence[tuple[Emission, list[str]]]
) -> tuple[list[str], str, tuple[Parameter, ...]]:
    """A function for each node, and one that calls them in order over static buffers."""
    tensors, outputs = emitted[0][0].trace.tensors, emitted[0][0].trace.outputs
    fed = [
        n for n in graph.inputs if any(n == t for e, _ in emitted for _, t in e.pointers.values())
    ]
    made = [n for n in graph.outputs if tensors[n].size]  # what has no elements is not written
    names = {name: file.names.new(f"t_{name}") for name in (*fed, *made)}
    kinds: dict[str, str] = {}
    functions, calls, buffers, first = [], [], [], []
    declared_names = dict(names)
    for name in (n for n in fed if n in file.given):
        names[name] = file.names.new(f"number_{name}")
        size = max(int(np.prod(tensors[name].shape)), 1)
        buffers.append(f"static whole {names[name]}[{size}];")
        value = f"{file.use('from_float')}({declared_names[name]}[i])"
        first += loops((size,), ("i",), [f"{names[name]}[i] = {value};"])
    for e, body in emitted:
        kinds |= {t: kind for kind, t in (*e.pointers.values(), *e.outputs.values())}
        for kind, tensor in e.outputs.values():
            if tensor not in names:
                names[tensor] = file.names.new(f"t_{tensor}")
                size = max(int(np.prod(tensors[tensor].shape)), 1)
                buffers.append(f"static {kind} {names[tensor]}[{size}];")
        name = file.names.new(e.node.op_type.lower())
        declared = [f"const {kind} *{n}" for n, (kind, _) in e.pointers.items()]
        declared += [f"{kind} *{n}" for n, (kind, _) in e.outputs.items()]
        functions.append(_function("static void", name, declared, body))
        given = [names[t] for _, t in (*e.pointers.values(), *e.outputs.values())]
        calls.append(f"    {name}({', '.join(given)});")
    for name in made:
        rounded = kinds[name] in ("float", "double") and text.ctype(outputs[name].dtype)
        if graph.consumers(name) and (
            kinds[name] == "whole" or (rounded and rounded != kinds[name])
        ):
            raise ExportError(
                f"{name!r} is an output and is read by a node too, which reads it before it is rounded; "
                f"in {file.scheme.name} only one of both is written in C"
            )
    kinds |= dict.fromkeys(file.given, "float")
    parameters = tuple(
        Parameter(declared_names[n], kinds[n], n, tensors[n].shape, n in graph.outputs)
        for n in (*fed, *made)
    )
    function = file.names.new("qlab_graph")
    body = [f"    {b}" for b in buffers] + first + calls
    functions.append(_function("void", function, [p.declaration for p in parameters], body))
    return functions, function, parameters


def _function(kind: str, name: str, parameters: Sequence[str], body: Sequence[str]) -> str:
    head = text.filled(f"{kind} {name}(", parameters or ["void"], ")")
    return "\n".join([head, "{", *body, "}"])


def _with_fixed_parameters(case: Case) -> tuple[Case, tuple[str, ...]]:
    """Inputs that are no data (scales, zero points, shapes) become constants with the case's values."""
    graph, data = case.graph, set()
    for node in graph.nodes:
        found = operators().get((node.domain, node.op_type))
        if found is not None:
            count = len(node.inputs)
            roles = zip(found.names(count), node.inputs, strict=False)
            data |= {tensor for role, tensor in roles if role in data_inputs(node.op_type, count)}
    fixed = tuple(n for n in graph.inputs if n not in data)
    constants = {**graph.constants, **{n: case.inputs[n] for n in fixed}}
    left = tuple(n for n in graph.inputs if n not in fixed)
    changed = dataclasses.replace(graph, constants=constants, inputs=left)
    return dataclasses.replace(case, graph=changed, inputs={n: case.inputs[n] for n in left}), fixed


def _refuse(graph: Graph, trace: Trace, file: File) -> None:
    """Raises ExportError for what no operator can be written with."""
    empty = {n for n in graph.outputs if trace.tensors[n].size == 0}
    for node in graph.nodes:
        for name in node.outputs:
            value = trace.tensors.get(name)
            if value is None:
                continue
            if value.size == 0 and (graph.consumers(name) or empty == set(graph.outputs)):
                raise ExportError(f"{name!r} has no elements: there is nothing to compute in C")
            real = value.dtype == object or (is_float(value.dtype) and not is_float8(value.dtype))
            if real and graph.consumers(name) and not file.family.keeps_reals:
                raise ExportError(
                    f"{name!r} is a rational number between two nodes in {file.scheme.name}, which C has no type for; "
                    "take the case in its fused form, or float64"
                )


def _about(
    case: Case, given: Case, scheme: Scheme, function: str, parameters: Sequence[Parameter],
    fixed: Sequence[str], empty: Sequence[str], note: str,
) -> list[str]:  # fmt: skip
    """What the file computes."""
    names = ", ".join(node.qualified_name for node in given.graph.nodes)
    labels = (label for label, known in variants().items() if known == scheme)
    called = f"{scheme.name} ({scheme.cpu})" if scheme.cpu else next(labels, scheme.name)
    shapes = "; ".join(
        f"{p.name} {'out' if p.output else 'in'}, {p.kind}, shape {list(p.shape)}"
        for p in parameters
    )
    about = [
        f"{names} as {called} computes it, code for code.",
        f"{function}: {shapes}.",
        f"Case: {case.title}" if case.title else "",
        f"Source of the case: {case.source}" if case.source else "",
        f"Source of the arithmetic: {scheme.source}",
        note,
        f"Constants here, inputs in the case: {', '.join(fixed)}." if fixed else "",
        f"No elements, so left out: {', '.join(empty)}." if empty else "",
    ]
    return [*filter(None, about), ""]


def _of_main(checks: int, tested: object) -> list[str]:
    own = f"the case's inputs and {checks - 1} further ones" if checks > 1 else "the case's inputs"
    pairs = f", then {len(tested.expected):,} single elements" if tested else ""  # type: ignore[attr-defined]
    return [
        f"Compile: {COMPILE} FILE.c -lm",
        f"main computes {own}{pairs}, and counts what differs from qlab's own step-by-step trace of them; exit status 1 "
        "if anything does.",
        "With -DQLAB_NO_MAIN there is no main.",
    ]
