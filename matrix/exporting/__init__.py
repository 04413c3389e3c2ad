"""From a program to other formats: ONNX for inference, and weights under each framework's usual names."""
