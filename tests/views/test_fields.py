"""What is typed into a field → the stored value, or one line."""

import ml_dtypes
import numpy as np
import pytest

from qlab.errors import CaseError
from qlab.views.fields import describe_stored, parse_index, parse_value, step_value


@pytest.mark.parametrize(
    ("typed", "dtype", "bits"),
    [
        ("0.008010663", np.float32, 0x3C033F28),
        ("0x3c033f28", np.float32, 0x3C033F28),
        ("0x1.067e5p-7", np.float32, 0x3C033F28),
        ("−0", np.float32, 0x80000000),
        ("1e-45", np.float32, 1),
        ("inf", np.float32, 0x7F800000),
        ("-∞", np.float32, 0xFF800000),
        ("0x7fc00001", np.float32, 0x7FC00001),
        ("1.0009765625", np.float16, 0x3C01),
        ("0x3f81", ml_dtypes.bfloat16, 0x3F81),
        # Halfway between two float32: to the even one, from the decimal itself and not through float64.
        ("1.00000017881393432617187499", np.float32, 0x3F800001),
        ("1.000000178813934326171875", np.float32, 0x3F800002),
    ],
)
def test_a_real_is_stored_bit_for_bit(typed, dtype, bits):
    assert int.from_bytes(parse_value(typed, dtype).tobytes(), "little") == bits


@pytest.mark.parametrize(
    ("typed", "dtype", "code"),
    [
        ("−128", np.int8, -128),
        ("0xff", np.uint8, 255),
        (" 7 ", ml_dtypes.int4, 7),
        ("1_000", np.int16, 1000),
    ],
)
def test_a_code(typed, dtype, code):
    assert int(parse_value(typed, dtype)) == code


@pytest.mark.parametrize(
    ("typed", "dtype", "words"),
    [
        ("500", np.int8, "500 is outside int8: −128 to 127"),
        ("8", ml_dtypes.int4, "8 is outside int4: −8 to 7"),
        ("1.5", np.int8, "'1.5' is not an integer: int8 takes an integer from −128 to 127"),
        ("", np.uint8, "empty: uint8 takes an integer from 0 to 255"),
        ("0,5", np.float32, "the decimal sign is a point"),
        ("1e39", np.float32, "write inf for infinity"),
        ("abc", np.float16, "4 hex digits of bits"),
    ],
)
def test_what_cannot_be_stored_is_one_line_that_says_what_can(typed, dtype, words):
    with pytest.raises(CaseError, match=r".") as caught:
        parse_value(typed, dtype)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_stepper_goes_to_the_neighbour_and_back_over_zero(dtype):
    zero = np.zeros((), dtype)[()]
    up, down = step_value(zero, 1), step_value(zero, -1)
    assert up > 0 > down
    assert step_value(up, -1) == 0 == step_value(down, 1)
    one = np.ones((), dtype)[()]
    assert step_value(step_value(one, 1), -1) == one
    assert step_value(one, 1) > one


def test_a_code_stays_at_the_end_of_its_type():
    assert int(step_value(np.int8(127), 1)) == 127
    assert int(step_value(np.uint8(0), -1)) == 0


def test_an_index():
    assert parse_index("[0, 3]", (1, 4)) == (0, 3)
    assert parse_index("", ()) == ()
    with pytest.raises(CaseError, match="4 is outside axis 1, which has 4 entries"):
        parse_index("0,4", (1, 4))
    with pytest.raises(CaseError, match="write e.g. 0,0"):
        parse_index("0", (1, 4))


def test_a_stored_float_shows_its_bits():
    assert describe_stored(np.float32(0.5)) == "0x1p-1 · 0x3f000000".replace("-", "−", 1)
    assert describe_stored(np.int8(3)) == ""
