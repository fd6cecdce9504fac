"""Cases in files and links: JSON, share link, ONNX test-case folder."""
