"""C helpers of exact arithmetic that ends as a real: name → text and the helpers that it calls.

Their sums are multiples of 2^-172, the smallest that ``frexpf`` can make of a float and 24 bits of its mantissa.
"""

UNIT = 172

TEXTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "add_real": (
        """\
/* sum += factor * value * denominator, in units of 2^-172; value is finite. */
static void add_real(uint32_t *sum, const uint32_t *denominator, float value, int64_t factor)
{
    int exponent;
    const int64_t mantissa = (int64_t)ldexpf(frexpf(value, &exponent), 24);
    uint32_t term[LIMBS] = {0};
    add_product(term, denominator, mantissa);
    shift_left(term, exponent + 148);
    add_product(sum, term, factor);
}""",
        ("add_product", "shift_left"),
    ),
    "ratio_bits": (
        """\
/* |sum / denominator| in units of 2^-172, rounded half to even once to a format: its bits in [0, end], by halving. */
static uint32_t ratio_bits(const uint32_t *sum, const uint32_t *denominator, int precision, int smallest, uint32_t end)
{
    const uint32_t hidden = (uint32_t)1 << (precision - 1);
    const int negative = sign(sum) < 0;
    uint32_t low = 0;
    while (low < end) {
        const uint32_t bits = end - (end - low) / 2;
        const int exponent = (int)((bits - 1) >> (precision - 1)); /* of the number below */
        const uint32_t fraction = (bits - 1) & (hidden - 1);
        uint32_t middle[LIMBS] = {0}; /* between that number and this one */
        add_product(middle, denominator, 2 * (int64_t)(exponent > 0 ? fraction + hidden : fraction) + 1);
        shift_left(middle, (exponent > 0 ? exponent : 1) - 1 + smallest - precision + 172);
        uint32_t rest[LIMBS] = {0};
        add_product(rest, sum, negative ? -1 : 1);
        add_product(rest, middle, -1);
        const int above = sign(rest);
        if (above > 0 || (above == 0 && bits % 2 == 0)) {
            low = bits;
        } else {
            end = bits - 1;
        }
    }
    return low;
}""",
        ("add_product", "shift_left", "sign"),
    ),
    "rounded_real": (
        """\
/* sum / denominator in units of 2^-172 as a float, rounded half to even once. */
static float rounded_real(const uint32_t *sum, const uint32_t *denominator)
{
    const uint32_t bits = ratio_bits(sum, denominator, 24, -126, 0x7f800000u);
    const float value = bits == 0x7f800000u ? INFINITY : (float)magnitude(bits, 24, -126);
    return sign(sum) < 0 ? -value : value;
}""",
        ("ratio_bits", "magnitude", "sign"),
    ),
}
