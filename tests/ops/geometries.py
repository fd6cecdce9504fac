"""Convolutions of every kind, shared by the tests of Conv, QLinearConv and ConvInteger."""

GEOMETRIES = {  # shape of x, shape of w, attributes
    "one by one": ((1, 2, 3, 3), (3, 2, 1, 1), {}),
    "pads": ((2, 2, 4, 5), (3, 2, 3, 3), {"pads": (1, 0, 2, 1)}),
    "strides": ((1, 2, 7, 6), (2, 2, 3, 2), {"strides": (2, 3)}),
    "dilations": ((1, 2, 7, 6), (2, 2, 3, 2), {"dilations": (2, 3)}),
    "groups": ((1, 4, 4, 4), (6, 2, 2, 2), {"group": 2}),
    "depthwise": ((1, 3, 4, 4), (3, 1, 2, 2), {"group": 3}),
    "depth multiplier": ((1, 2, 4, 4), (6, 1, 2, 2), {"group": 2}),
    "same upper": ((1, 2, 5, 4), (2, 2, 2, 3), {"auto_pad": "SAME_UPPER", "strides": (2, 1)}),
    "same lower": ((1, 2, 5, 4), (2, 2, 2, 3), {"auto_pad": "SAME_LOWER", "strides": (1, 2)}),
    "valid": ((1, 2, 5, 4), (2, 2, 2, 3), {"auto_pad": "VALID"}),
    "one axis": ((2, 2, 9), (3, 2, 3), {"pads": (2, 1), "strides": (2,), "dilations": (2,)}),
    "three axes": ((1, 2, 3, 4, 3), (2, 2, 2, 2, 3), {"pads": (1, 0, 0, 0, 1, 1)}),
    "an output of one": ((1, 2, 3, 2), (2, 2, 3, 2), {}),
}
