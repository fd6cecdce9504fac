"""The weights of MatMulNBits as C: functions that unpack a code and a zero point and dequantize a weight."""

from qlab.c.emission import Emission, Operand
from qlab.operands import BlockedWeights


class Weights:
    """Packed weights of one node; a function is defined when it is first used.

    Attributes:
        k, block_size, blocks, bits: as the node has them, blocks for each column.
    """

    def __init__(self, e: Emission, w: BlockedWeights) -> None:
        self._e = e
        self.k, self.block_size, self.bits = w.k, w.block_size, w.bits
        self.blocks = w.scale.shape[1]
        self._explicit = w.explicit
        self._functions: dict[str, str] = {}

    def arrays(self, *, zero_points: bool) -> list[Operand]:
        """B and scales, and zero_points where they are given and wanted."""
        names = ["B", "scales", *(["zero_points"] if zero_points and self._explicit else [])]
        return [self._e.data(name) for name in names]

    def code(self, n: str, k: str) -> str:
        """The code of a weight, in a function with a parameter B."""
        row = self.blocks * self.block_size * self.bits // 8
        return f"{self._unpack('code', 'B', row)}(B, {n}, {k})"

    def zero_point(self, n: str, block: str, array: str = "zero_points") -> str:
        """The zero point of a block, in a function with a parameter zero_points or of another array."""
        if not self._explicit:
            return self.middle
        row = -(-self.blocks * self.bits // 8)
        return f"{self._unpack('zero_point', 'zero_points', row)}({array}, {n}, {block})"

    @property
    def middle(self) -> str:
        """The zero point where none is given."""
        return str(1 << (self.bits - 1))

    def scale(self, n: str, block: str, array: str = "scales") -> str:
        """The scale of a block."""
        row = f"{n} * {self.blocks} + " if n != "0" else ""
        return f"{array}[{row}{block}]"

    def real(self, n: str, k: str) -> str:
        """The dequantized weight of column n and row k, in the node's function."""
        arrays = self.arrays(zero_points=True)
        if "weight" not in self._functions:
            file, real = self._e.file, self._e.file.real
            centered = f"{self.code('n', 'k')} - {self.zero_point('n', 'block')}"
            scale = self.scale("n", "block")
            result = f"return ({real})centered * {scale}; /* centered * scales */"
            if real == "whole":
                add = f"{file.use('add_product')}(weight.limb, {scale}.limb, centered);"
                result = f"whole weight = {{{{0}}}};\n    {add} /* centered * scales */\n    return weight;"
            self._functions["weight"] = file.names.new("weight")
            file.definitions.append(
                f"""\
static {real} {self._functions["weight"]}({parameters(arrays)}, size_t n, size_t k)
{{
    const size_t block = k / {self.block_size};
    const int32_t centered = {centered}; /* B - zero_points */
    {result}
}}"""
            )
        return f"{self._functions['weight']}({', '.join(a.array for a in arrays)}, {n}, {k})"

    def _unpack(self, wanted: str, array: str, row: int) -> str:
        if wanted not in self._functions:
            name, each = self._e.file.names.new(wanted), 8 // self.bits
            value = f"{array}[n * {row} + k]"
            if each > 1:
                shift = f"{self.bits} * (k % {each})"
                value = f"{array}[n * {row} + k / {each}] >> {shift} & {(1 << self.bits) - 1}"
            self._functions[wanted] = name
            self._e.file.definitions.append(
                f"/* {array}[n][k]; the first code is in the lowest bits of a byte. */\n"
                f"static int32_t {name}(const uint8_t *{array}, size_t n, size_t k)\n"
                f"{{\n    return {value};\n}}"
            )
        return self._functions[wanted]


def parameters(arrays: list[Operand]) -> str:
    """Arrays as parameters of a function, by the schema's names."""
    return ", ".join(f"const {a.kind} *{a.name}" for a in arrays)
