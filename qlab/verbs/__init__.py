"""Verbs of the command line that have many options of their own, one file each."""

CASE = "a gallery name, a JSON file, an ONNX test-case folder or its .zip, or a link"
