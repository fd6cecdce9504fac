"""A TensorFlow Lite model of one operator, as bytes; the package ai_edge_litert has the schema as Python objects."""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {"int8": "INT8", "uint8": "UINT8", "int32": "INT32", "float32": "FLOAT32"}


def tensor(name, shape, dtype, scales=None, zero_points=None, axis=0, data=None):
    """A tensor's description; ``data`` makes it a constant."""
    return name, list(shape), dtype, scales, zero_points, axis, data


def model(operator, version, options, inputs, outputs):
    """A flatbuffer.

    Args:
        operator: the builtin's name, ``ADD``. options: an object such as ``AddOptionsT``, or None.
        inputs, outputs: made by `tensor`; those without data are the model's.
    """
    made = schema.ModelT()
    made.version = 3
    made.buffers = [schema.BufferT()]
    graph = schema.SubGraphT()
    graph.tensors, graph.inputs, graph.outputs = [], [], []
    node = schema.OperatorT()
    node.inputs, node.outputs = [], []
    for kind, described in ((node.inputs, inputs), (node.outputs, outputs)):
        for name, shape, dtype, scales, zero_points, axis, data in described:
            t = schema.TensorT()
            t.name, t.shape = name, shape
            t.type = getattr(schema.TensorType, TYPES[dtype])
            if scales is not None:
                t.quantization = schema.QuantizationParametersT()
                t.quantization.scale = [float(s) for s in scales]
                t.quantization.zeroPoint = [int(z) for z in zero_points]
                t.quantization.quantizedDimension = axis
            t.buffer = 0
            if data is not None:
                buffer = schema.BufferT()
                buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
                t.buffer = len(made.buffers)
                made.buffers.append(buffer)
            index = len(graph.tensors)
            kind.append(index)
            graph.tensors.append(t)
            if kind is node.outputs:
                graph.outputs.append(index)
            elif data is None:
                graph.inputs.append(index)
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, operator)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    code.version = version
    made.operatorCodes = [code]
    node.opcodeIndex = 0
    if options is not None:
        kind_of = type(options).__name__.removesuffix("T")
        node.builtinOptionsType = getattr(schema.BuiltinOptions, kind_of)
        node.builtinOptions = options
    graph.operators = [node]
    made.subgraphs = [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    return bytes(builder.Output())
