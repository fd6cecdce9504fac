"""The only place with colours: one colour and one sign each, for what a number is and for who computed it.

Every colour is a pair, for the light and for the dark theme, with a contrast of at least 4.5 to 1 on the page's
background; the page takes it as a CSS variable (``var(--q-scale)``). Nothing rests on colour alone: each has a sign.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Mark:
    """A colour for each theme and the sign that goes with it."""

    light: str
    dark: str
    sign: str = ""


# What a number is.
ROLES: dict[str, Mark] = {
    "code": Mark("#1d4f91", "#8ab8ff", "#"),
    "zero_point": Mark("#7a3e9d", "#d0a2f0", "∅"),
    "scale": Mark("#855300", "#f0b95a", "×"),
    "accumulator": Mark("#0f6b3d", "#6fd19b", "Σ"),
    "rounded": Mark("#a12a5e", "#ff9cc6", "≈"),
    "real": Mark("#3c4650", "#c3ccd6", "ℝ"),
}

# Who computed it.
SCHEMES: dict[str, Mark] = {
    "exact": Mark("#111111", "#f4f4f4", "●"),
    "float64": Mark("#51606f", "#a9b8c7", "▲"),
    "float32": Mark("#9a4a00", "#ffb066", "◆"),
    "ort_cpu": Mark("#0b6e99", "#5cc3ee", "■"),
    "onnxruntime": Mark("#0b6e99", "#5cc3ee", "⬢"),
    "onnx_reference": Mark("#51606f", "#a9b8c7", "○"),
}

# How two results stand to each other.
STATES: dict[str, Mark] = {
    "equal": Mark("#17643a", "#7fd6a2", "="),
    "differs": Mark("#b3261e", "#ff9a90", "≠"),
    "failed": Mark("#8a4b00", "#ffbf66", "!"),
    "unknown": Mark("#51606f", "#a9b8c7", "?"),
}

# Surfaces: backgrounds, lines and quiet text.
SURFACES: dict[str, Mark] = {
    "text": Mark("#111111", "#f0f2f5"),
    "quiet": Mark("#4d5660", "#a8b2bd"),
    "line": Mark("#d9dee3", "#333b45"),
    "rule": Mark("#8b96a1", "#7a8592"),
    "panel": Mark("#f6f8f9", "#171c24"),
    "page": Mark("#ffffff", "#0e1117"),
    "field": Mark("#ffffff", "#0a0d12"),
    "accent": Mark("#0b6e99", "#5cc3ee"),
    "equal-bg": Mark("#eef7f1", "#12241a"),
    "differs-bg": Mark("#fdeeec", "#331a18"),
    "failed-bg": Mark("#fdf3e4", "#2e2312"),
    "unknown-bg": Mark("#f1f3f5", "#1b212a"),
    "pick-bg": Mark("#e3f1f8", "#12303f"),
    # One diverging scale for differences, neutral at 0.
    "below-bg": Mark("#fde3d3", "#43240f"),
    "above-bg": Mark("#f9dcea", "#401a2e"),
}


def css_variables() -> str:
    """A style rule that defines ``--q-NAME`` for every colour above, for both themes."""
    pairs = [
        (f"--q-{name.replace('_', '-')}", mark)
        for group in (ROLES, SCHEMES, STATES, SURFACES)
        for name, mark in group.items()
    ]
    declared = "".join(f"{name}:light-dark({mark.light},{mark.dark});" for name, mark in pairs)
    return f":root{{{declared}}}"


# The steps' names by role; any other is a code.
STEPS = {
    "accumulator": (
        *("accumulator", "raw_sum", "zero_point_part", "product", "wide_product", "centered"),
        *("wrapped", "with_bias", "count", "below", "nudged", "narrowed"),
        *("quantized_multiplier", "right_shift", "shift"),
    ),
    "rounded": ("rounded", "biased"),
    "real": (
        *("multiplier", "scaled", "sum", "part", "fixed", "clamped", "minimum", "maximum"),
        *("real", "real_sum", "shifted", "exponential", "total", "mean", "value", "probability"),
        *("factor", "reciprocal", "interpolated", "with_magic", "scaled_by_alpha"),
    ),
}


def role_of(name: str) -> str:
    """The role that a name of the field has: ``A_scale`` is a scale, ``raw_sum`` an accumulator."""
    lowered = name.lower()
    if "zero_point" in lowered and lowered != "zero_point_part":
        return "zero_point"
    if "scale" in lowered and lowered not in ("scaled", "rescaled"):
        return "scale"
    return next((role for role, names in STEPS.items() if lowered in names), "code")
