"""A large output as a heat map of its differences from exact, in quantization steps."""

import math

import numpy as np
import plotly.graph_objects as go

from qlab.report import Report
from qlab.views.palette import SURFACES

LARGEST = 65_536  # elements
SCALE = ((0.0, "#b35806"), (0.5, "#f2f2f2"), (1.0, "#542788"))  # below, equal, above


def difference_map(report: Report, output: str, source: str) -> go.Figure | None:
    """The differences of one source (else of ONNX Runtime's last level); None where all agree, or too many.

    Rows are all axes but the last; columns the last.
    """
    labels = [source] if source else []
    labels += [c.actual for run in reversed(report.ort_runs) for c in report.comparisons_of(run)]
    compared = next(
        (
            c
            for label in labels
            for c in report.comparisons
            if c.actual == label and c.output == output and c.size > 0
        ),
        None,
    )
    if compared is None or not compared.mismatches or compared.size > LARGEST:
        return None
    columns = compared.differences.shape[-1] if compared.differences.ndim else 1
    if columns == 1 or compared.differences.ndim == 1:
        columns = math.isqrt(compared.size)
    rows = math.ceil(compared.size / columns)
    flat = np.zeros(rows * columns, np.int64)
    flat[: compared.size] = compared.differences.reshape(-1)
    limit = min(compared.max_difference, 127)
    # One byte an element: the browser gets 64 kB and not half a megabyte.
    values = np.clip(flat, -limit, limit).astype(np.int8).reshape(rows, columns)
    figure = go.Figure(
        go.Heatmap(
            z=values,
            zmin=-limit,
            zmax=limit,
            colorscale=SCALE,
            hovertemplate="row %{y}, column %{x}: %{z:+d} steps<extra></extra>",
            colorbar={"title": {"text": "steps"}, "thickness": 12},
        )
    )
    figure.update_yaxes(autorange="reversed", title="all other axes, in order")
    figure.update_xaxes(title="last axis")
    figure.update_layout(
        title={
            "text": f"{compared.mismatches:,} of {compared.size:,} differ: {compared.actual}",
            "font": {"size": 13},
        },
        height=360,
        margin={"l": 10, "r": 10, "t": 36, "b": 10},
        font={"color": SURFACES["quiet"].light},
    )
    return figure
