"""Kernels of ONNX Runtime's CPU execution provider that are more than a formula, one file each: what ort_cpu is made of."""
