"""Engines: what other people's code computes for a case. Importing them loads no ONNX Runtime."""
