"""The TensorFlow target."""
