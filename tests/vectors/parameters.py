"""Parameters and codes of recorded cases: directed ties and saturating edges first, then random ones.

Only numpy, so that a recording script can use it beside a library that has no room for anything else.
"""

import json

import numpy as np

SEED = 20261203
# Ratios whose products of codes fall on ties, on saturation and next to them.
TIES = (0.5, 0.25, 1.5, 0.75, 2.5 / 64, 1 / 128, 0.4999999701976776, 0.5000000596046448)
# (a_scale, b_scale, y_scale, sums) whose codes tell whether a · b was multiplied in float32 or in float64: found by
# a search, for ties that go up (matrix products of ruy) and away from zero.
PRODUCT_TYPES = [
    (0.219504252076149, 0.0747944563627243, 1.2020436525344849, [-6407]),
    (0.7215898633003235, 0.02384142205119133, 1.4691897630691528, [5593]),
    (0.7215898633003235, 0.02384142205119133, 1.4691897630691528, [-5593, 5593]),
    (0.3285008370876312, 0.1783386766910553, 4.286673545837402, [-5964]),
    (0.4361453354358673, 0.04820913076400757, 0.8966565728187561, [4541]),
    (0.4361453354358673, 0.04820913076400757, 0.8966565728187561, [-4541, 4541]),
    (0.20248308777809143, 0.6112653017044067, 15.311859130859375, [13298]),
    (0.20248308777809143, 0.6112653017044067, 15.311859130859375, [-13298, 13298]),
    (0.4337714910507202, 0.2182464897632599, 1.6279776096343994, [-1660]),
    (0.02805902808904648, 0.07191530615091324, 0.22609210014343262, [-5323]),
    (0.17747542262077332, 0.5153086185455322, 8.762436866760254, [-4456]),
    (0.2680579125881195, 0.6703951358795166, 14.505132675170898, [4802]),
    (0.2680579125881195, 0.6703951358795166, 14.505132675170898, [-4802, 4802]),
]
RANGES = {"int8": (-128, 127), "uint8": (0, 255)}


def f32(value):
    """The float32 nearest to a number, as a Python float: what JSON keeps exactly."""
    return float(np.float32(value))


def codes(rng, dtype, shape):
    """Codes over the whole range; the ends are there."""
    low, high = RANGES[dtype]
    values = rng.integers(low, high + 1, shape)
    flat = values.reshape(-1)
    flat[:2] = (low, high)
    return values


def zero_points(rng, dtype, count):
    """The middle and the ends first, then any."""
    low, high = RANGES[dtype]
    middle = (low + high + 1) // 2
    first = [middle, low, high, middle + 3]
    return [*first, *(int(v) for v in rng.integers(low, high + 1, max(count - 4, 0)))][:count]


def scale_pairs(rng, count):
    """(a_scale, b_scale, y_scale): a ratio a·b / y of a tie first, then over some powers of two."""
    found = [(1.0, f32(r), 1.0) for r in TIES]
    while len(found) < count:
        a, b = np.exp2(rng.uniform(-6, 0, 2))
        found.append((f32(a), f32(b), f32(a * b * np.exp2(rng.uniform(-1, 7)))))
    return found[:count]


def near_ties(rng, count):
    """(a_scale, b_scale, y_scale, sums): the 32 sums 127·q + r whose quotients are nearest to a tie."""
    sums = np.arange(-16000, 16001)
    found = []
    for _ in range(count):
        best = None
        for _ in range(200):
            a, b = (f32(v) for v in np.exp2(rng.uniform(-6, 0, 2)))
            y = f32(a * b * np.exp2(rng.uniform(3, 7)))
            scaled = sums * (a * b / y)
            far = np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5)
            far[np.abs(scaled) > 120] = 1
            # One that is nearer than float32 can tell shows where that was used.
            if best is None or far.min() < best[0]:
                best = far.min(), (a, b, y, sums[np.argsort(far)[:32]])
        found.append(best[1])
    return found


def rows_of(sums, zero_point):
    """Rows of 2 codes, and 4 columns, whose products are the sums."""
    q = np.rint(sums / 127).astype(int)
    rows = np.stack([q, sums - 127 * q], axis=1)
    columns = np.repeat([[127], [1]], 4, axis=1)
    return rows + zero_point, columns


def products(rng, dtype, count, directed, per_channel):
    """Everything of a matrix product but its output: (a, b, scales of a, b and y, zero points of a and y)."""
    pairs = scale_pairs(rng, count)
    points = (zero_points(rng, dtype, count) for _ in range(2))
    for (a_scale, b_scale, y_scale), za, zy in zip(pairs, *points, strict=True):
        a, b = codes(rng, dtype, (32, 2)), rng.integers(-127, 128, (2, 4))
        yield a, b, a_scale, b_scale, y_scale, za, zy
    middle = sum(RANGES[dtype]) + 1 >> 1
    found = [] if per_channel else PRODUCT_TYPES
    for a_scale, b_scale, y_scale, sums in [*near_ties(rng, directed), *found]:
        a, b = rows_of(np.asarray(sums), middle)
        yield a, b, a_scale, b_scale, y_scale, middle, middle


def sum_scales(rng, count):
    """(a_scale, b_scale, y_scale) of a sum: ties of halves first and sums beyond an int16, then ratios from 1/8 to 8."""
    found = [(1.0, 1.0, 2.0), (0.5, 0.25, 0.5), (0.5, 0.5, 1.0), (1.0, 0.125, 0.25), (0.1, 0.1, 0.2), (3.0, 1.0, 2.0), (200.0, 150.0, 1.0)]  # fmt: skip
    found = [tuple(f32(v) for v in scales) for scales in found]
    while len(found) < count:
        a = np.exp2(rng.uniform(-8, 0))
        found.append((f32(a), f32(a * np.exp2(rng.uniform(-3, 3))), f32(a * np.exp2(rng.uniform(-1, 3)))))  # fmt: skip
    return found[:count]


def reals(rng, scale, zero_point, dtype, count, extremes):
    """Reals around the codes' halves, which are ties of x / scale, beyond both ends, and any; then ``extremes``."""
    low, high = RANGES[dtype]
    halves = (rng.integers(low - 3, high + 4, count // 2) - zero_point + 0.5) * scale
    rest = rng.normal(0, (high - low) * scale / 2, count - len(halves) - len(extremes))
    values = np.concatenate([halves, rest, extremes]).astype(np.float32)
    return [float(v) for v in values]


def write(path, cases, head):
    """One line for each case: a diff shows which one changed."""
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    path.write_text(f'{json.dumps(head)[:-1]}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(
        f"{len(cases)} cases, {sum(len(c['y']) for c in cases):,} outputs, {path.stat().st_size:,} bytes"
    )
