"""Odd cases of every kind: whatever can be stored is run, and gives a report or one line, nothing else."""

import json
import random

import pytest

from qlab.builder import build, buildable
from qlab.element import element_nodes, graph_of
from qlab.errors import QlabError
from qlab.formats.case_json import case_from_json, case_to_json
from qlab.formats.report_json import report_to_json
from qlab.forms import to_qdq, to_qoperator
from qlab.gallery import gallery_case, gallery_names
from qlab.session import run
from qlab.signs import switchable_types
from qlab.views.outputs import default_pick, table_data
from qlab.views.terminal import report_text, trace_text

GIVEN = [json.loads(case_to_json(gallery_case(name))) for name in gallery_names()]
GIVEN += [
    json.loads(case_to_json(build(b.op_type, form=form, dtype=b.dtypes[0])))
    for b in buildable()
    for form in b.forms
]
VALUES = (0, 1, -1, 2, 127, 255, 1e-45, 1e30, "nan", "inf", "-inf", 0.5, -0.0)
TYPES = (
    *("int8", "uint8", "int32", "float32", "float16", "bfloat16", "int4", "uint4", "int16"),
    *("uint16", "float64", "bool", "int64", "float8_e4m3fn"),
)
ATTRIBUTES = (
    *("axis", "block_size", "strides", "pads", "dilations", "group", "auto_pad", "kernel_shape"),
    *(
        "alpha",
        "beta",
        "transA",
        "perm",
        "to",
        "channels_last",
        "output_dtype",
        "precision",
        "name",
    ),
)
SETTINGS = (
    0,
    1,
    -1,
    99,
    -99,
    "X",
    "SAME_UPPER",
    [1],
    [0, 0],
    [-1, -1],
    [1, 1, 1, 1],
    0.5,
    "",
    [],
    10**12,
)
OPERATORS = (
    *("Relu", "Softmax", "Conv", "QLinearConv", "MatMul", "Gemm", "Clip", "Reshape", "Transpose"),
    *("Cast", "Loop", "If", "QLinearAdd", "Foo", "DequantizeLinear", "QuantizeLinear", "TopK"),
)
OPSETS = (
    {"": 1},
    {"": 8},
    {"": 13},
    {"": 21},
    {"": 25},
    {"": 999},
    {},
    {"": 13, "com.microsoft": 1},
)


def tensor(draw: random.Random, name: str):
    def value():
        given = draw.choice(VALUES)
        if name == "bool":
            return bool(draw.randint(0, 1))
        if name[0] in "iu":
            return 0 if isinstance(given, str) else max(0, min(7, int(given)))
        return given

    shape = draw.randint(0, 4)
    if shape == 0:
        return {name: value()}
    if shape == 1:
        return {name: [value() for _ in range(draw.randint(1, 5))]}
    if shape == 2:
        return {name: [], "shape": draw.choice(([0], [2, 0], [0, 3], [1, 0, 2, 2]))}
    if shape == 3:
        return {name: [[value() for _ in range(3)] for _ in range(draw.randint(1, 3))]}
    return {name: [[[[value(), value()], [value(), value()]]]]}


def odd(draw: random.Random):
    document = json.loads(json.dumps(draw.choice(GIVEN)))
    for _ in range(draw.randint(1, 3)):
        node = draw.choice(document["nodes"])
        names = [*document["constants"], *document["inputs"]]
        what = draw.randint(0, 9)
        if what < 4:
            group = draw.choice(("constants", "inputs"))
            for name in draw.sample(sorted(document[group]), min(1, len(document[group]))):
                document[group][name] = tensor(draw, draw.choice(TYPES))
        elif what < 6:
            node.setdefault("attributes", {})[draw.choice(ATTRIBUTES)] = draw.choice(SETTINGS)
        elif what == 6 and node["inputs"]:
            node["inputs"][draw.randrange(len(node["inputs"]))] = draw.choice(["", *names])
        elif what == 7:
            node["inputs"] = node["inputs"][: draw.randint(0, len(node["inputs"]))]
        elif what == 8:
            node["op_type"] = draw.choice(OPERATORS)
            node["domain"] = draw.choice(("", "com.microsoft", "foo"))
        else:
            document["opset"] = draw.choice(OPSETS)
            node["outputs"] = [*node["outputs"], draw.choice(("another", ""))]
    return json.dumps(document)


@pytest.mark.parametrize("seed", range(8))
def test_a_report_or_one_line(seed):
    draw = random.Random(seed)
    for _ in range(40):
        text = odd(draw)
        try:
            case = case_from_json(text)
            report = run(case)
        except QlabError as error:
            assert "\n" not in str(error)
            continue
        # Everything that shows a report must be able to.
        json.dumps(report_to_json(report))
        assert report_text(report)
        output, index, source = default_pick(report)
        for name in case.graph.outputs:
            table_data(report, name, index if name == output else (), source)
        for other in (to_qdq(case), to_qoperator(case), *(f.fixed for f in report.findings)):
            if other is not None:
                case_to_json(other)
        switchable_types(case)
        try:
            trace_text(element_nodes(report, output, index, graph_of(report, source)))
        except QlabError as error:
            assert "\n" not in str(error)
        # Our model may say that it does not know; it never says something wrong of what repeats.
        assert report.ort_explained is not False or not all(
            r.repeatable for r in report.ort_runs
        ), text
