"""From an ONNX model to a program."""
