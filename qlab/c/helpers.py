"""C functions that several primitives need; a file holds those that it uses, in this order."""

import dataclasses

from qlab.c import exact_texts, format_texts, lane_texts


@dataclasses.dataclass(frozen=True)
class Helper:
    """The text of a C function, and the names of those that it calls."""

    text: str
    needs: tuple[str, ...] = ()


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
    "to_integer": Helper("""\
/* A rounded real as an integer; NaN has none and becomes the lowest, what is too large the nearest end. */
static int64_t to_integer(double value)
{
    if (!(value > -0x1p62)) {
        return -((int64_t)1 << 62);
    }
    return value < 0x1p62 ? (int64_t)value : (int64_t)1 << 62;
}"""),
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
/* Does sum / denominator round to `step` at least? Half way below it, a tie, it does where `tie` says so. */
static int reaches(const uint32_t *sum, const uint32_t *denominator, int64_t step, int tie)
{
    uint32_t rest[LIMBS] = {0}; /* 2 * sum - (2 * step - 1) * denominator */
    add_product(rest, sum, 2);
    add_product(rest, denominator, 1 - 2 * step);
    const int above = sign(rest);
    return above > 0 || (above == 0 && tie);
}""",
        ("add_product", "sign"),
    ),
    "round_sum": Helper(
        """\
/* The code of round half to even(sum / denominator + before) + after in [low, high], found by halving the range. */
static int64_t round_sum(const uint32_t *sum, const uint32_t *denominator, int64_t before, int64_t after,
                         int64_t low, int64_t high)
{
    while (low < high) {
        const int64_t code = high - (high - low) / 2;
        if (reaches(sum, denominator, code - before - after, (code - after) % 2 == 0)) {
            low = code;
        } else {
            high = code - 1;
        }
    }
    return low;
}""",
        ("reaches",),
    ),
    **{name: Helper(*given) for name, given in exact_texts.TEXTS.items()},
    "same": Helper("""\
/* Equal, or both NaN. */
static int same(double a, double b)
{
    return a == b || (a != a && b != b);
}"""),
}
