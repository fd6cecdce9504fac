"""What a person pastes: C arrays, tables, hexadecimal, .npy; and each wrong value gets one line."""

import io
import time

import numpy as np
import pytest

from qlab.errors import CaseError
from qlab.formats.output_values import values_from_bytes, values_from_file, values_from_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2 -3 4", [1, 2, -3, 4]),
        ("static const int8_t out[4] = {1, 2, -3, 4}; // of 4", [1, 2, -3, 4]),
        ("int8_t y[2][2] = { { 1, 2 }, /* row 1: 9 */ { -3, 4, }, };", [1, 2, -3, 4]),
        ("[[1, 2], [-3, 4]]", [1, 2, -3, 4]),
        ("1,2\r\n-3,4\r\n", [1, 2, -3, 4]),
        ("# codes\n1;2;−3;4", [1, 2, -3, 4]),
        ("| 1 | 2 | -3 | 4 |", [1, 2, -3, 4]),
        ("0x01u 0x7F 0xA8 -0x1", [1, 127, -88, -1]),
        ("1.0 2. -3e0 4.000e+00", [1, 2, -3, 4]),
        ("int8_t y[] = {(int8_t)1, (signed char) 2, INT8_C(-3), (int)4};", [1, 2, -3, 4]),
        ("y = np.array([[1, 2], [-3, 4]], dtype=np.int8)", [1, 2, -3, 4]),
        ("[np.int8(1), np.int8(2), np.int8(-3), np.int8(4)]", [1, 2, -3, 4]),
        ("tensor([[1, 2], [-3, 4]], dtype=torch.int8)", [1, 2, -3, 4]),
        ("y,other name\n1,2\n-3,4", [1, 2, -3, 4]),
        ("0xFFFFFFA8 0xFFA8 0xA8 0x4", [-88, -88, -88, 4]),
    ],
)
def test_what_people_paste(text, expected):
    found = values_from_text(text, "int8", (2, 2))
    assert found.dtype == np.int8
    assert found.reshape(-1).tolist() == expected


def test_reals():
    found = values_from_text("{1.5f, -2e-3F, nan, -INFINITY}", "float32", (4,))
    np.testing.assert_array_equal(found, np.array([1.5, -2e-3, np.nan, -np.inf], np.float32))
    assert values_from_text("2.5 -3 72 .5", "float8_e4m3fn", (4,)).tolist() == [2.5, -3, 72, 0.5]
    assert values_from_text("0x1.8p3, -0x1p-1", "float32", (2,)).tolist() == [12, -0.5]


@pytest.mark.parametrize(
    ("text", "dtype", "words"),
    [
        ("", "int8", "no values are given; the tensor has 4 (2 × 2)"),
        ("1 2 3", "int8", "3 values are given; the tensor has 4 (2 × 2)"),
        ("1 2 3 4 5", "int8", "5 values are given; the tensor has 4"),
        (
            "1 2 3 128",
            "int8",
            "value 4 is 128; int8 has -128 to 127; the bits of 128 are -128 in int8",
        ),
        ("1 2 3 256", "int8", "value 4 is 256; int8 has -128 to 127"),
        ("1 2 3 0xFFFFFFFF", "uint8", "value 4 is 4294967295; uint8 has 0 to 255"),
        ("1 2 1e9 4", "float16", "value 3 is 1e+09, too large for float16"),
        ("1 2 0x1.8q 4", "float32", "value 3 is '0x1.8q', which is no number"),
        ("1 -2 3 4", "uint8", "value 2 is -2; uint8 has 0 to 255"),
        ("1 2.5 3 4", "int8", "value 2 is '2.5', which is no integer"),
        ("1 2 x 4", "int8", "value 3 is 'x', which is no integer"),
        ("1 2 0x100 4", "int8", "value 3 is 256; int8 has -128 to 127"),
        ("1 2 inf 4", "int8", "value 3 is 'inf', which is no integer"),
        (f"1 2 {'9' * 5000} 4", "int8", "value 3 has 5,000 characters"),
        (f"1 2 {'1' * 50_000}x 4", "float32", "value 3 has 50,001 characters"),
        ("1 2 1e999999999 4", "int8", "value 3 is '1e999999999', which is no integer"),
        (
            "1 2 2.4 4",
            "float8_e4m3fn",
            "value 3 is 2.4, which float8_e4m3fn does not have; 2.5 is next to it",
        ),
        ("1 0 2 1", "bool", "value 3 is '2'; bool has 0 and 1, or true and false"),
        ("1 2 1.2.3 4", "float32", "value 3 is '1.2.3', which is no number"),
        ("int a[] = {1}; int b[] = {2};", "int8", "2 arrays are given; give the one"),
    ],
)
def test_each_wrong_value_gets_one_line(text, dtype, words):
    with pytest.raises(CaseError) as raised:
        values_from_text(text, dtype, (2, 2))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def npy(values) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=True)
    return stream.getvalue()


def test_npy_of_any_numbers_that_are_codes():
    for values in (np.array([[1, 2], [-3, 4]], np.int64), np.array([1, 2, -3, 4], np.float32)):
        found = values_from_bytes(npy(values), "out.npy", "int8", (1, 2, 2))
        assert found.tolist() == [[[1, 2], [-3, 4]]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npy(np.array([1, 2, 300, 4])), "value 3 is 300; int8 has the integers -128 to 127"),
        (npy(np.array([1, 2, np.nan, 4])), "value 3 is nan"),
        (npy(np.array([[1, 2, 3, 4]])), "out.npy has the shape [1, 4]; the tensor has [2, 2]"),
        (npy(np.array([1, 2, 3])), "3 values are given"),
        (npy(np.array([{}])), "out.npy is no .npy file that can be read"),
        (npy(np.array(["a"])), "out.npy holds no array of numbers"),
        (npy(np.array([1, 2, 3, 4]))[:-3], "out.npy is no .npy file that can be read"),
        (b"\x93NUMPY", "out.npy is no .npy file that can be read"),
    ],
)
def test_wrong_npy(content, words):
    with pytest.raises(CaseError) as raised:
        values_from_bytes(content, "out.npy", "int8", (2, 2))
    assert words in str(raised.value)


def test_files(tmp_path):
    (tmp_path / "out.csv").write_text("\ufeff1,2\n3,4\n", encoding="utf-8")
    assert values_from_file(tmp_path / "out.csv", "uint8", (4,)).tolist() == [1, 2, 3, 4]
    (tmp_path / "out.bin").write_bytes(b"\xff\xfe\x00")
    for name, words in (("none", "cannot be read: No such file"), ("out.bin", "neither .npy nor")):
        with pytest.raises(CaseError, match=words):
            values_from_file(tmp_path / name, "uint8", (4,))
    with pytest.raises(CaseError, match="it is no path"):
        values_from_file("a\0b", "uint8", (4,))


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04garbage",
        b"\x93NUMPY\x01\x00v\x00{{{{{",
        b"\x93NUMPY\x01\x00\x46\x00{'descr':'|i1','fortran_order':False,'shape':(True,)}".ljust(90),
        b"\x93NUMPY\x01\x00\x46\x00{'descr':('i4',),'fortran_order':False,'shape':(1,)}".ljust(90),
    ],
)
def test_a_hostile_npy_is_one_line(content):
    with pytest.raises(CaseError, match=r"no \.npy file that can be read|no array of numbers"):
        values_from_bytes(content, "x.npy", "int8", (1,))


def test_the_largest_uint64_is_a_code():
    assert values_from_text("0xFFFFFFFFFFFFFFFF 1", "uint64", (2,)).tolist() == [2**64 - 1, 1]


def test_an_octal_number_is_not_taken_for_a_decimal_one():
    with pytest.raises(CaseError, match="octal in C"):
        values_from_text("uint8_t y[1] = {010};", "uint8", (1,))


def test_a_text_far_too_long_is_refused_before_it_is_read():
    with pytest.raises(CaseError, match="characters, more than"):
        values_from_text("1," * 1_000_000, "int8", (1,))


def test_what_is_no_file_is_not_read():
    with pytest.raises(CaseError, match="no regular file"):
        values_from_file("/dev/zero", "int8", (1,))


def test_what_each_type_reads():
    assert values_from_text("true, 0", "bool", (2,)).tolist() == [True, False]
    assert values_from_text("9007199254740993.0", "int64", (1,)).tolist() == [9007199254740993]
    assert values_from_text("0xFD 0xD", "int4", (2,)).tolist() == [-3, -3]
    assert values_from_text("{}", "int8", (0, 3)).shape == (0, 3)
    pasted = "torch.tensor([1, 2], device='cuda:0', dtype=torch.int8)"
    assert values_from_text(pasted, "int8", (2,)).tolist() == [1, 2]
    assert values_from_text("np.array([1, 2]).astype(np.int8)", "int8", (2,)).tolist() == [1, 2]


@pytest.mark.parametrize("text", ["1" + "\n" * 24_000, "(" * 24_000, ", " * 24_000])
def test_hostile_text_takes_no_time(text):
    """A regular expression that takes the square of a length would hold every session of the server."""
    begun = time.perf_counter()
    with pytest.raises(CaseError):
        values_from_text(text, "int8", (65536,))
    assert time.perf_counter() - begun < 0.5


def test_the_bits_of_a_signed_type_are_named(tmp_path):
    np.save(tmp_path / "y.npy", np.array([168], np.uint8))
    with pytest.raises(CaseError, match=r"where these are its bits, save array.view\('int8'\)"):
        values_from_file(tmp_path / "y.npy", "int8", (1,))
