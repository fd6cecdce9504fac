"""Runtimes: isolated environments with a released onnxruntime each, made on demand in the user's cache folder."""
