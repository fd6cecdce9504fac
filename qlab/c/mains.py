"""``main`` of a C file: inputs and what the trace has for them as arrays, and the loop that compares."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qlab.c import text
from qlab.c.checks import Elements
from qlab.c.emission import File
from qlab.c.format_texts import DECODE
from qlab.c.helpers import HELPERS
from qlab.case import Case
from qlab.qtypes import Array, dtype_name
from qlab.trace import Trace

if TYPE_CHECKING:
    from qlab.c.program import Parameter


COMPARE = {
    False: """\
static void compare(double actual, double expected, const char *what, long number, const char *name, long i)
{
    compared++;
    if (!same(actual, expected) && differ++ == 0) {
        printf("%s %ld: %s[%ld] is %.17g, the trace has %.17g\\n", what, number, name, i, actual, expected);
    }
}""",
    True: """\
/* Not every int64_t is a double. */
static void compare_int64(int64_t actual, int64_t expected, const char *what, long number, const char *name, long i)
{
    compared++;
    if (actual != expected && differ++ == 0) {
        printf("%s %ld: %s[%ld] is %lld, the trace has %lld\\n", what, number, name, i, (long long)actual,
               (long long)expected);
    }
}""",
}
"""What compares one element, by whether it is an int64_t."""


def main_function(
    file: File, function: str, parameters: Sequence["Parameter"], checks: Sequence[tuple[Case, Trace]],
    tested: Elements | None, element: str, inputs: Sequence[str],
) -> str:  # fmt: skip
    """The part of the file below ``#ifndef QLAB_NO_MAIN``.

    Args:
        element: the function on single elements, ``inputs``: the tensors that it takes, in order.
    """
    arrays: list[str] = []
    calls: list[str] = []
    compared: list[str] = []
    decoders: list[str] = []
    for p in parameters:
        size = int(np.prod(p.shape))
        values = [
            (made.outputs if p.output else case.inputs)[p.tensor].reshape(-1)
            for case, made in checks
        ]
        table = file.names.new(f"{'expected' if p.output else 'given'}_{p.name}")
        arrays.append(_table(file, table, values, p.kind))
        offset = f"{table} + run * {size}"
        if not p.output:
            calls.append(offset)
            continue
        result = file.names.new(f"result_{p.name}")
        arrays.append(f"static {p.kind} {result}[{size}];")
        calls.append(result)
        number = _reader(values[0], file, decoders)
        compared += [
            f"        for (long i = 0; i < {size}; i++) {{",
            f"            {_compare(p)}({number(f'{result}[i]')}, {number(f'{table}[run * {size} + i]')},"
            f' "run", run, "{p.name}", i);',
            "        }",
        ]
    body = [
        f"    for (long run = 0; run < {len(checks)}; run++) {{",
        f"        {function}({', '.join(calls)});",
        *compared,
        "    }",
    ]
    if tested is not None:
        out = next(p for p in parameters if p.output)
        names: list[str] = []
        for tensor in dict.fromkeys(inputs):
            kind = next(p.kind for p in parameters if p.tensor == tensor)
            names.append(file.names.new(f"element_{len(names)}"))
            arrays.append(_table(file, names[-1], [tested.inputs[tensor]], kind))
        table = file.names.new("expected_element")
        arrays.append(_table(file, table, [tested.expected.reshape(-1)], out.kind))
        by_tensor = dict(zip(dict.fromkeys(inputs), names, strict=True))
        given = ", ".join(f"{by_tensor[t]}[i]" for t in inputs)
        cast = f"({out.kind})"
        number = _reader(tested.expected, file, decoders)
        body += [
            f"    for (long i = 0; i < {tested.expected.size}; i++) {{",
            f"        {_compare(out)}({number(f'{cast}{element}({given})')}, {number(f'{table}[i]')},"
            f' "element", i, "{out.name}", i);',
            "    }",
        ]
    wide = {p.kind == "int64_t" for p in parameters if p.output}
    compare = [*([HELPERS["same"].text] if False in wide else []), "static long compared, differ;"]
    compare += [COMPARE[kind] for kind in sorted(wide)]
    main = "\n".join(
        [
            "int main(void)",
            "{",
            *body,
            '    printf("%ld of %ld codes differ\\n", differ, compared);',
            "    return differ != 0;",
            "}",
        ]
    )
    parts = ["#ifndef QLAB_NO_MAIN", *decoders, *arrays, *compare, main, "#endif"]
    return "\n\n".join(parts)


def _compare(p: "Parameter") -> str:
    return "compare_int64" if p.kind == "int64_t" else "compare"


def _reader(values: Array, file: File, decoders: list[str]) -> Callable[[str], str]:
    """How the expression of a stored value is compared: as a number, not as its bits.

    Functions for that which the file does not have are added to ``decoders``.
    """
    name = DECODE.get(dtype_name(values.dtype))
    if name is None:
        return lambda expression: expression
    for needed in (*HELPERS[name].needs, name):
        if needed not in file.helpers and HELPERS[needed].text not in decoders:
            decoders.append(HELPERS[needed].text)
    return lambda expression: f"{name}({expression})"


def _table(file: File, name: str, values: Sequence[Array], kind: str) -> str:
    joined = np.concatenate([np.atleast_1d(v) for v in values])
    file.count(joined)
    return text.array(name, joined, kind)
