"""MatMulNBits at accuracy level 4 as C: blocks of A in int8, sums of integers in lanes, then of blocks in float32."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from qlab.c.emission import Emission, Operand, indices, line, loops, position
from qlab.c.recorder import Primitive
from qlab.c.text import plain
from qlab.c.weights import Weights, parameters
from qlab.errors import ExportError
from qlab.kernels.lanes import Lane, schedule
from qlab.kernels.matmulnbits import LARGEST_BLOCK
from qlab.operands import BlockedWeights

SHORT = {16: 2, 32: 4, 64: 4}  # block size → codes that a lane takes of a block that is left over


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The steps of one sum as loops: groups of blocks (or parts of one block), then blocks that are left over.

    Attributes:
        group: lanes of a step of a group: block in it, first and second run of four codes. Empty where there is none.
        together: blocks of a group. part: codes of a block that one step takes; 0 where it takes whole blocks.
        grouped: blocks in groups. rest: lanes of a block that is left over.
    """

    group: tuple[tuple[int, int, int], ...]
    together: int
    part: int
    grouped: int
    rest: int

    @property
    def halved(self) -> bool:
        """Sixteen lanes of a group become eight before what is left over."""
        return len(self.group) == 16 and self.grouped > 0 and self.rest == 8

    def steps(self, blocks: int, size: int) -> list[tuple[Lane, ...]]:
        """What the loops add up, as the kernel's schedule has it."""
        made = []
        for block in range(0, self.grouped, self.together):
            for start in range(0, size, self.part or size):
                made.append(
                    tuple((block + b, _runs(start + i, start + j, 4)) for b, i, j in self.group)
                )
        for block in range(self.grouped, blocks):
            length = SHORT[size]
            made.append(
                tuple(
                    (block, _runs(at, at + length // 2, length // 2))
                    for at in range(0, size, length)
                )
            )
        return made


def _runs(first: int, second: int, length: int) -> tuple[int, ...]:
    return (*range(first, first + length), *range(second, second + length))


def _plan(plan: list[tuple[Lane, ...]], blocks: int, size: int) -> _Plan:
    """The kernel's schedule as loops. Raises ExportError where they would add in another order."""
    lanes = len(plan[0])
    long = size not in SHORT or (size == 64 and lanes == 8)
    together = 1 if long else max(block for block, _ in plan[0]) + 1
    short = not long and together == 1
    grouped = 0 if short else blocks // together * together
    part = 8 * lanes if long else 0
    group = () if short else tuple((b, places[0], places[4]) for b, places in plan[0])
    made = _Plan(group, together, part, grouped, 0 if long else size // SHORT[size])
    if made.steps(blocks, size) != plan:
        raise ExportError(f"the order in which blocks of {size} are added is not written in C")
    return made


def accumulated(e: Emission, p: Primitive) -> list[str]:
    """The body of the node's function."""
    given: BlockedWeights = p["weights"]
    w, packed = given.split(LARGEST_BLOCK), Weights(e, given)
    cpu, shape, a = e.file.scheme.cpu, e.shape(), e.data("A")
    blocks, size = w.scale.shape[1], w.block_size
    rows = math.prod(shape[:-1])
    centered = p.find("zero_point_part") is None
    steps = schedule(blocks, size, w.bits, cpu, one_by_one=centered and w.explicit)
    plan = _plan(list(steps), blocks, size)
    variables = indices(shape)
    row, column = position(shape[:-1], shape[:-1], variables[:-1]), variables[-1]
    row = f"({row})" if " " in row else row
    lanes = len(plan.group) or plan.rest
    block_of = f"block / {given.block_size // size}" if size < given.block_size else "block"
    arrays = packed.arrays(zero_points=centered)
    add_lane = _add_lane(e, packed, arrays, size, block_of, centered=centered)
    called = ", ".join(item.array for item in arrays)
    head = [
        f"    static int8_t A_codes[{rows * blocks * size}]; /* 0 beyond K */",
        f"    static float A_scale[{rows * blocks}];",
        *_quantized(e, a.array, rows, w, sums=not centered),
    ]
    body = [
        f"const int8_t *a = A_codes + {row} * {blocks * size};",
        f"const float *a_scale = A_scale + {row} * {blocks};",
        f"float lane[{lanes}] = {{0.0f}};",
        *_lanes(e, plan, blocks, size, f"{add_lane}(lane[l], a, a_scale, {called}, {column}"),
    ]
    left = 8 if plan.halved else lanes
    body.append(line("float", "accumulator", _folded(e, w, rows, row, column, left)))
    name = "accumulator"
    if e.tensor("bias"):
        body.append(line("float", "with_bias", f"accumulator + {e.data('bias').array}[{column}]"))
        name = "with_bias"
    if not centered:
        part = p.step("zero_point_part")
        zero = packed.middle
        if w.explicit and not part.note:  # which says that they are not read
            zero = packed.zero_point(column, block_of, e.data("zero_points").array)
        scale = packed.scale(column, block_of, e.data("scales").array)
        sums = [
            line("float", "offset", f"-({scale} * (float){zero})", "-scales * zero_points"),
            f"zero_point_part = fmaf(A_sum[{row} * {blocks} + block], offset, zero_point_part);",
        ]
        body += [
            f"float zero_point_part = 0.0f; /* {plain(part.formula)} */",
            *loops((blocks,), ("block",), sums, 0),
        ]
        name = f"{name} + zero_point_part"
    out = e.output()
    body.append(f"{out.array}[{position(shape, shape, variables)}] = {name};")
    return [*head, *loops(shape, variables, body)]


def _quantized(e: Emission, a: str, rows: int, w: BlockedWeights, *, sums: bool) -> list[str]:
    """Each block of A to int8, with its scale and, where the zero points need it, its sum."""
    function, size, blocks = e.file.names.new("quantize_block"), w.block_size, w.scale.shape[1]
    e.file.definitions.append(
        """\
/* A block of A in int8; returns its scale. */
static float NAME(const float *x, size_t count, int8_t *codes)
{
    float largest = 0.0f; /* max |A| */
    for (size_t k = 0; k < count; k++) {
        largest = fabsf(x[k]) > largest ? fabsf(x[k]) : largest;
    }
    const float inverse = largest == 0.0f ? 0.0f : 127.0f / largest;
    for (size_t k = 0; k < count; k++) {
        codes[k] = (int8_t)rintf(x[k] * inverse); /* half to even */
    }
    return largest / 127.0f;
}""".replace("NAME", function)
    )
    left = f"start < {w.k} ? {w.k} - start : 0"
    if blocks * size == w.k:
        left = f"{size}"
    inner = [
        line("size_t", "start", f"block * {size}"),
        line("size_t", "left", left),
        line("size_t", "count", f"left < {size} ? left : {size}"),
        f"const float *x = {a} + row * {w.k} + (count > 0 ? start : 0);",
        f"int8_t *codes = A_codes + row * {blocks * size} + start;",
        line("size_t", "place", f"row * {blocks} + block"),
        f"A_scale[place] = {function}(x, count, codes);",
    ]
    if blocks * size == w.k:
        inner[1:3] = [line("size_t", "count", f"{size}")]
        inner[2] = f"const float *x = {a} + row * {w.k} + start;"
    declared = []
    if sums:
        declared = [f"    static float A_sum[{rows * blocks}]; /* A_scale * sum of A_codes */"]
        inner += [
            "int32_t sum = 0;",
            *loops((size,), ("k",), ["sum += codes[k];"], 0),
            "A_sum[place] = A_scale[place] * (float)sum;",
        ]
    return [*declared, *loops((rows, blocks), ("row", "block"), inner)]


def _add_lane(
    e: Emission, packed: Weights, arrays: list[Operand], size: int, block_of: str, *, centered: bool
) -> str:
    """The function that adds two runs of codes to a lane; its name."""
    name = e.file.names.new("add_to_lane")
    zero, code = [], "{}"
    if centered:
        zero = [line("int32_t", "zero", packed.zero_point("n", block_of))]
        code = "({} - zero)"
    b = [code.format(packed.code("n", at)) for at in ("i", "j")]
    scale = f"a_scale[block] * {packed.scale('n', block_of)}"
    body = [
        *zero,
        "int32_t sum = 0;",
        "for (size_t k = 0; k < length; k++) {",
        f"    const size_t i = block * {size} + first + k;",
        f"    const size_t j = block * {size} + second + k;",
        f"    sum += a[i] * {b[0]} + a[j] * {b[1]};",
        "}",
        line("float", "scale", scale, "f32(A_scale * scales)"),
        "return fmaf((float)sum, scale, lane);",
    ]
    lines = "\n".join(f"    {item}" for item in body)
    e.file.definitions.append(
        "/* A lane plus the scaled sum of A_codes * B over two runs of codes in one block. */\n"
        f"static float {name}(float lane, const int8_t *a, const float *a_scale, {parameters(arrays)},\n"
        "    size_t n, size_t block, size_t first, size_t second, size_t length)\n"
        f"{{\n{lines}\n}}"
    )
    return name


def _lanes(e: Emission, plan: _Plan, blocks: int, size: int, call: str) -> list[str]:
    """The loops over groups of blocks or parts of one, then over blocks that are left over."""
    lines: list[str] = []
    lanes = len(plan.group)
    if plan.grouped:
        columns = [np.asarray([entry[i] for entry in plan.group], np.uint8) for i in range(3)]
        first, second = (
            e.file.array(name, value, "uint8_t")
            for name, value in zip(("lane_first", "lane_second"), columns[1:], strict=True)
        )
        block = "block"
        if plan.together > 1:
            block += f" + {e.file.array('lane_block', columns[0], 'uint8_t')}[l]"
        parts = size // plan.part if plan.part else 1
        start = "start + " if parts > 1 else ""
        one = f"lane[l] = {call}, {block}, {start}{first}[l], {start}{second}[l], 4);"
        inner = loops((lanes,), ("l",), [one], 0)
        if start:
            head = f"for (size_t start = 0; start < {size}; start += {plan.part}) {{"
            inner = [head, *(f"    {item}" for item in inner), "}"]
        step = f"block += {plan.together}" if plan.together > 1 else "block++"
        head = f"for (size_t block = 0; block < {plan.grouped}; {step}) {{"
        lines += [head, *(f"    {item}" for item in inner), "}"]
    if plan.halved:
        lines += loops((8,), ("l",), ["lane[l] = lane[l] + lane[l + 8];"], 0)
    if plan.grouped < blocks:
        length = SHORT[size]
        one = (
            f"lane[l] = {call}, block, {length} * l, {length} * l + {length // 2}, {length // 2});"
        )
        head = f"for (size_t block = {plan.grouped}; block < {blocks}; block++) {{"
        lines += [head, *(f"    {i}" for i in loops((plan.rest,), ("l",), [one], 0)), "}"]
    return lines


def in_fours(
    e: Emission, conditions: Sequence[str], columns: int, column: str, count: int, tail: str
) -> str:
    """The lanes' sum: of columns that are taken four at once in quarters, of the others as ``tail`` has it."""
    fours = columns // 4 * 4
    if not fours:
        return tail
    needed = [*conditions, *([f"{column} < {fours}"] if fours < columns else [])]
    whole = f"{e.file.use('in_quarters')}(lane, {count})"
    return f"{' && '.join(needed)} ? {whole} : {tail}" if needed else whole


def _folded(e: Emission, w: BlockedWeights, rows: int, row: str, column: str, lanes: int) -> str:
    """The sum of the lanes; on AVX-512 rows in pairs are folded in halves."""
    tail = f"{e.file.use('in_halves')}(lane, {lanes})"
    conditions = []
    if e.file.scheme.cpu == "vnni" and w.block_size >= (64 if w.bits == 4 else 128):
        if rows % 2 == 0:
            return tail
        conditions = [f"{row} == {rows - 1}"] if rows > 1 else []
    return in_fours(e, conditions, w.codes.shape[0], column, lanes, tail)
