"""Bring your own model: from a framework to an ONNX file that stays trainable, and the traps on the way."""
