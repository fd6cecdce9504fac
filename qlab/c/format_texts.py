"""C helpers of number formats that C99 does not have, stored as their bits: name → text and the helpers that it calls."""

# ONNX's name → precision in bits, smallest normal exponent, bits of the largest number, of what is beyond it, of NaN.
FORMATS = {
    "float16": (11, -14, 0x7BFF, 0x7C00, 0x7E00),
    "bfloat16": (8, -126, 0x7F7F, 0x7F80, 0x7FC0),
    "float8_e4m3fn": (4, -6, 0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": (4, -7, 0x7F, 0x80, 0x80),
    "float8_e5m2": (3, -14, 0x7B, 0x7C, 0x7F),
    "float8_e5m2fnuz": (3, -15, 0x7F, 0x80, 0x80),
}
DECODE = {"float16": "half_to_float", "bfloat16": "bfloat16_to_float"}
ENCODE = {"float16": "float_to_half", "bfloat16": "float_to_bfloat16"}
for _name in FORMATS:
    DECODE.setdefault(_name, f"{_name}_to_float")
    ENCODE.setdefault(_name, f"to_{_name}")


def _decoder(name: str) -> str:
    precision, smallest, largest, beyond, nan = FORMATS[name]
    kind, sign = ("uint16_t", 0x8000) if name in ("float16", "bfloat16") else ("uint8_t", 0x80)
    special = f"    if (rest > 0x{largest:x}) {{\n        return NAN;\n    }}\n"
    if beyond < nan:
        value = f"rest > 0x{beyond:x} ? NAN : bits & 0x{sign:x} ? -INFINITY : INFINITY"
        special = f"    if (rest > 0x{largest:x}) {{\n        return {value};\n    }}\n"
    if nan == sign:  # of the types without a negative zero
        special = f"    if (bits == 0x{nan:x}) {{\n        return NAN;\n    }}\n"
    return f"""\
/* The number that the bits of a {name} stand for. */
static float {DECODE[name]}({kind} bits)
{{
    const uint32_t rest = bits & 0x{sign - 1:x};
{special}    const double value = magnitude(rest, {precision}, {smallest});
    return (float)(bits & 0x{sign:x} ? -value : value);
}}"""


def _encoder(name: str) -> str:
    precision, smallest, largest, beyond, nan = FORMATS[name]
    wide = name in ("float16", "bfloat16")
    kind, sign = ("uint16_t", 0x8000) if wide else ("uint8_t", 0x80)
    given = "double value" if wide else "double value, int saturate"
    words = "" if wide else "; `saturate`: what is beyond the largest number becomes that number"
    end = f"0x{beyond:x}" if wide else f"saturate ? 0x{largest:x} : 0x{beyond:x}"
    signed = "value < 0 && bits != 0" if nan == sign else "signbit(value)"
    return f"""\
/* The bits of a {name}, rounded half to even{words}. */
static {kind} {ENCODE[name]}({given})
{{
    if (value != value) {{
        return 0x{nan:x};
    }}
    uint32_t bits = value - value == 0 ? magnitude_bits(value, {precision}, {smallest}) : UINT32_MAX;
    if (bits > 0x{largest:x}) {{
        bits = {end};
    }}
    return ({kind})({signed} ? bits | 0x{sign:x} : bits);
}}"""


TEXTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "magnitude": (
        """\
/* What bits without the sign stand for: a format of `precision` bits whose smallest normal number is 2^smallest. */
static double magnitude(uint32_t bits, int precision, int smallest)
{
    const int exponent = (int)(bits >> (precision - 1));
    const uint32_t fraction = bits & (((uint32_t)1 << (precision - 1)) - 1);
    const uint32_t whole = exponent > 0 ? fraction + ((uint32_t)1 << (precision - 1)) : fraction;
    return ldexp(whole, (exponent > 0 ? exponent : 1) - 1 + smallest - precision + 1);
}""",
        (),
    ),
    "magnitude_bits": (
        """\
/* The bits of |value| in such a format, rounded half to even once; what is too large goes on counting. */
static uint32_t magnitude_bits(double value, int precision, int smallest)
{
    int exponent;
    if (value == 0) {
        return 0;
    }
    (void)frexp(value, &exponent);
    exponent = exponent - 1 > smallest ? exponent - 1 : smallest;
    const double steps = rint(ldexp(fabs(value), precision - 1 - exponent));
    return ((uint32_t)(exponent - smallest) << (precision - 1)) + (uint32_t)steps;
}""",
        (),
    ),
    **{DECODE[name]: (_decoder(name), ("magnitude",)) for name in FORMATS},
    **{ENCODE[name]: (_encoder(name), ("magnitude_bits",)) for name in FORMATS},
    "cvttps2dq": (
        """\
/* CVTTPS2DQ of x86-64: truncates; what does not fit int32, NaN too, is INT32_MIN. */
static int32_t cvttps2dq(float value)
{
    return value >= -0x1p31f && value < 0x1p31f ? (int32_t)truncf(value) : INT32_MIN;
}""",
        (),
    ),
}
