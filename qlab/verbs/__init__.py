"""Verbs of the command line that have many options of their own, one file each."""

CASE = "a gallery name, a JSON file, an ONNX test-case folder or its .zip, or a link"
SIDES = "exact, any other scheme, ort, ort:DISABLE_ALL, ort:1.27.0:ALL:avx2 or onnx_reference"
