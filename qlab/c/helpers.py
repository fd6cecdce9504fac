"""C functions that several primitives need; a file holds those that it uses, in this order."""

import dataclasses

from qlab.c import exact_texts, format_texts, lane_texts, wholes


@dataclasses.dataclass(frozen=True)
class Helper:
    """The text of a C function, and the names of those that it calls."""

    text: str
    needs: tuple[str, ...] = ()


def _round_sum(rounding: str, words: str, halves: str, equal: str) -> Helper:
    """The code of a quotient of whole numbers. A quotient of at least ``halves`` / 2 rounds to ``rounded`` or more."""
    return Helper(
        f"""\
/* The code of round {words}(sum / denominator + before) + after in [low, high], found by halving the range. */
static int64_t round_{rounding}(const uint32_t *sum, const uint32_t *denominator, int64_t before, int64_t after,
                         int64_t low, int64_t high)
{{
    while (low < high) {{
        const int64_t code = high - (high - low) / 2;
        const int64_t rounded = code - after;
        const int64_t quotient = rounded - before; /* what sum / denominator must round to */
        if (reaches(sum, denominator, {halves}, {equal})) {{
            low = code;
        }} else {{
            high = code - 1;
        }}
    }}
    return low;
}}""",
        ("reaches",),
    )


HELPERS = {
    "clamp": Helper("""\
static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}"""),
    "wrap32": Helper("""\
/* What an int32 register holds of a sum; a conversion of what does not fit would be up to the compiler. */
static int32_t wrap32(int64_t value)
{
    const uint32_t bits = (uint32_t)value;
    return bits <= INT32_MAX ? (int32_t)bits : -(int32_t)(UINT32_MAX - bits) - 1;
}"""),
    "wrap": Helper("""\
/* What a register of so many bits, at most 63, holds of an integer, in two's complement. */
static int64_t wrap(int64_t value, int bits)
{
    const uint64_t range = (uint64_t)1 << bits;
    const uint64_t code = (uint64_t)value & (range - 1);
    return code < range / 2 ? (int64_t)code : (int64_t)code - (int64_t)range;
}"""),
    "to_integer": Helper("""\
/* A rounded real as an integer; NaN has none and becomes the lowest, what is too large the nearest end. */
static int64_t to_integer(double value)
{
    if (!(value > -0x1p62)) {
        return -((int64_t)1 << 62);
    }
    return value < 0x1p62 ? (int64_t)value : (int64_t)1 << 62;
}"""),
    **{
        f"half_up{suffix}": Helper(f"""\
/* Half up. Adding one half first would be wrong: the sum itself is rounded. */
static {kind} half_up{suffix}({kind} value)
{{
    const {kind} below = floor{suffix}(value);
    return value - below >= 0.5{suffix} ? below + 1.0{suffix} : below; /* infinities and NaN stay */
}}""")
        for kind, suffix in (("float", "f"), ("double", ""))
    },
    "cvtps2dq": Helper("""\
/* CVTPS2DQ of x86-64: rounds half to even; what does not fit int32, NaN too, is INT32_MIN. */
static int32_t cvtps2dq(float value)
{
    return value >= -0x1p31f && value < 0x1p31f ? (int32_t)rintf(value) : INT32_MIN;
}"""),
    "vcvtnq_s32": Helper("""\
/* FCVTNS of ARM64: rounds half to even, saturates to int32; NaN is 0. */
static int32_t vcvtnq_s32(float value)
{
    if (value != value) {
        return 0;
    }
    if (value >= 0x1p31f) {
        return INT32_MAX;
    }
    return value > -0x1p31f ? (int32_t)rintf(value) : INT32_MIN;
}"""),
    "floor_shift": Helper("""\
/* floor(value / 2^shift); C99 leaves shifts of negative numbers to the compiler. */
static int64_t floor_shift(int64_t value, int shift)
{
    return value >= 0 ? value >> shift : -((-1 - value) >> shift) - 1;
}"""),
    "wrap16": Helper("""\
/* What an int16 register holds of a sum. */
static int32_t wrap16(int64_t value)
{
    const int32_t bits = (int32_t)((uint32_t)value & 0xFFFFu);
    return bits <= INT16_MAX ? bits : bits - 65536;
}"""),
    "shift_half_up": Helper(
        """\
/* value / 2^shift, shift at least 1, rounded; a tie goes up. */
static int64_t shift_half_up(int64_t value, int shift)
{
    return floor_shift(value + ((int64_t)1 << (shift - 1)), shift);
}""",
        ("floor_shift",),
    ),
    "shift_half_away": Helper(
        """\
/* value / 2^shift, rounded; a tie goes away from zero. */
static int64_t shift_half_away(int64_t value, int shift)
{
    return shift == 0 ? value : floor_shift(value - (value < 0) + ((int64_t)1 << (shift - 1)), shift);
}""",
        ("floor_shift",),
    ),
    "sqrdmulh": Helper(
        """\
/* SQRDMULH of ARM: (2 * a * b + 2^31) / 2^32, rounded down; lowest * lowest saturates. */
static int32_t sqrdmulh(int32_t a, int32_t b)
{
    const int64_t high = floor_shift((int64_t)a * b + ((int64_t)1 << 30), 31);
    return high > INT32_MAX ? INT32_MAX : (int32_t)high;
}""",
        ("floor_shift",),
    ),
    "float_as_int": Helper("""\
/* The 32 bits of a float that is not negative. */
static int32_t float_as_int(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}"""),
    "pair_int16": Helper(
        """\
/* VPMADDUBSW of AVX2: the sum of two adjacent products, saturated to int16. */
static int64_t pair_int16(int64_t first, int64_t second)
{
    return clamp(first + second, -32768, 32767);
}""",
        ("clamp",),
    ),
    "fold_lanes": Helper("""\
/* Eight sums added up, in the order of the kernel that makes four, two or one results at once. */
static float fold_lanes(const float *lane, int at_once)
{
    const float *half = lane + 4;
    if (at_once == 4) {
        return (((lane[0] + lane[1]) + lane[2]) + lane[3]) + (((half[0] + half[1]) + half[2]) + half[3]);
    }
    if (at_once == 2) {
        return ((lane[0] + lane[2]) + (half[0] + half[2])) + ((lane[1] + lane[3]) + (half[1] + half[3]));
    }
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((half[0] + half[1]) + (half[2] + half[3]));
}"""),
    **{name: Helper(*given) for name, given in {**lane_texts.TEXTS, **format_texts.TEXTS}.items()},
    "add_product": Helper("""\
/* sum += factor * value over whole numbers of LIMBS * 32 bits in two's complement, lowest limb first. */
static void add_product(uint32_t *sum, const uint32_t *factor, int64_t value)
{
    const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const uint32_t half[2] = {(uint32_t)size, (uint32_t)(size >> 32)};
    uint32_t product[LIMBS] = {0};
    uint64_t carry;
    for (int h = 0; h < 2; h++) {
        carry = 0;
        for (int i = 0; i + h < LIMBS; i++) {
            carry += (uint64_t)factor[i] * half[h] + product[i + h];
            product[i + h] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    carry = value < 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)sum[i] + (uint32_t)(value < 0 ? ~product[i] : product[i]);
        sum[i] = (uint32_t)carry;
        carry >>= 32;
    }
}"""),
    "shift_left": Helper("""\
/* sum *= 2^bits, of the same whole numbers. */
static void shift_left(uint32_t *sum, int bits)
{
    for (int i = LIMBS - 1; i >= 0; i--) {
        const int from = i - bits / 32;
        const uint64_t high = from >= 0 ? sum[from] : 0;
        const uint64_t low = from >= 1 ? sum[from - 1] : 0;
        sum[i] = (uint32_t)((high << 32 | low) << bits % 32 >> 32);
    }
}"""),
    "sign": Helper("""\
/* -1, 0 or 1, of the same whole numbers. */
static int sign(const uint32_t *sum)
{
    for (int i = 0; i < LIMBS; i++) {
        if (sum[i] != 0) {
            return sum[LIMBS - 1] >> 31 ? -1 : 1;
        }
    }
    return 0;
}"""),
    "reaches": Helper(
        """\
/* Is sum / denominator above halves / 2? Where it equals that, `equal` is the answer. */
static int reaches(const uint32_t *sum, const uint32_t *denominator, int64_t halves, int equal)
{
    uint32_t rest[LIMBS] = {0}; /* 2 * sum - halves * denominator */
    add_product(rest, sum, 2);
    add_product(rest, denominator, -halves);
    const int above = sign(rest);
    return above > 0 || (above == 0 && equal);
}""",
        ("add_product", "sign"),
    ),
    **{
        f"round_{rounding}": _round_sum(rounding, words, halves, equal)
        for rounding, words, halves, equal in (
            ("half_to_even", "half to even", "2 * quotient - 1", "rounded % 2 == 0"),
            ("half_away", "half away from zero", "2 * quotient - 1", "rounded > 0"),
            ("half_up", "half up", "2 * quotient - 1", "1"),
            (
                "toward_zero",
                "toward zero",
                "rounded > 0 ? 2 * quotient : 2 * (quotient - 1)",
                "rounded > 0",
            ),
            ("floor", "down", "2 * quotient", "1"),
        )
    },
    "maxps": Helper("""\
/* MAXPS of x86-64: the second where one is NaN or both are equal. */
static float maxps(float a, float b)
{
    return a > b ? a : b;
}"""),
    "fmax_arm64": Helper("""\
/* FMAX of ARM64: NaN where one is, +0 rather than -0. */
static float fmax_arm64(float a, float b)
{
    if (a != a || b != b) {
        return NAN;
    }
    return a == 0.0f && b == 0.0f ? a + b : a > b ? a : b;
}"""),
    "std_max": Helper("""\
/* std::max of C++: the first unless it is smaller. */
static float std_max(float a, float b)
{
    return a < b ? b : a;
}"""),
    **{name: Helper(*given) for name, given in exact_texts.TEXTS.items()},
    **{name: Helper(*given) for name, given in wholes.HELPERS.items()},
    "same": Helper("""\
/* Equal, or both NaN. */
static int same(double a, double b)
{
    return a == b || (a != a && b != b);
}"""),
}
